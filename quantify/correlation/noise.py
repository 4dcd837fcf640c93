"""How far chance moves correlation sums: the error of a degenerate U-statistic, from counts by time block.

C is a mean over pairs. What chance adds to it has two parts: one of the single points (a stretch of the
series that happens to lie in crowded places counts in all its pairs), and one of the pairs themselves. Blocks
of the time axis that are drawn again show the first with the second in it twice: a bootstrap overstates the
error where pairs are few. Here the two are told apart by an analysis of variance of the counts of pairs of
blocks,

    share of close pairs in the blocks a, b = f(b - a) + u_a + u_b + e_ab

where f is what a stationary series has at this distance in time. It is constant for a chaotic one; a
quasi-periodic one repeats itself, and what looks like scatter between its blocks is no chance at all.

The analysis is that of a *number* made of the correlation sums, to which every pair of blocks adds something,
not of the correlation sums one by one: errors of neighbouring dimensions and scales mostly cancel in
entropies, those of the points more than those of the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from quantify.aliases import Counts, Floats

# Variances of how much blocks, and pairs of blocks, count in a draw: one and a half times the error by the
# points and three and a half times that by the pairs, about twice the size of the real one.
OF_BLOCKS, OF_PAIRS = 1.5, 0.5
SIZE = 2.0
"""Variance of the errors that are drawn, in units of the real one, roughly."""
WIDER = (SIZE + 2 / 3) / SIZE
"""Variance of the second, wider set of errors in units of that of the first; see `Noise.errors`."""


class Variances(NamedTuple):
    """Variance of numbers by the pairs, and what a bootstrap of blocks sees: twice that, and the points."""

    pairs: Floats
    seen: Floats

    @property
    def points(self) -> Floats:
        """Variance by the points."""
        return np.maximum(self.seen - 2 * self.pairs, 0.0)

    @property
    def total(self) -> Floats:
        """Variance of the numbers."""
        return np.maximum(self.seen - self.pairs, self.pairs)


class Design(NamedTuple):
    """The analysis of variance of what P = B (B + 1) / 2 pairs of blocks a <= b add to a number.

    Attributes
    ----------
    a, b : (P,) int64
    influence : (B, P) float64
        What every block adds: the sum of squares is the variance that a bootstrap of blocks sees.
    rest : (., P) float64
        What u_a + u_b leaves of the pairs a < b: the sum of squares is the variance by the pairs.
    """

    a: Counts
    b: Counts
    influence: Floats
    rest: Floats


@lru_cache(maxsize=8)
def design(B: int) -> Design:
    """The analysis of variance of B blocks; for fewer than four all is taken as of the points."""
    a, b = np.triu_indices(B)
    P = len(a)
    member = np.zeros((B, P))
    member[a, np.arange(P)] = member[b, np.arange(P)] = 1.0
    influence = (member - member.mean(axis=0)) * np.sqrt(_correction(B))
    apart = np.flatnonzero(a < b)
    rest = np.zeros((0 if B < 4 else len(apart), P))
    if B >= 4:
        fit = member[:, apart].T
        # The fit has B parameters.
        leave = np.eye(len(apart)) - fit @ np.linalg.pinv(fit)
        rest[:, apart] = leave * np.sqrt(len(apart) / (len(apart) - B))
    return Design(a, b, influence, rest)


def variances(z: Floats, B: int, again: Floats | None = None) -> Variances:
    """Variances of numbers to which pairs of blocks add z, (P, ...).

    With a second, independent estimate `again` of z, products take the place of squares, and what estimating
    adds by chance averages out.
    """
    plan = design(B)
    again = z if again is None else again

    def product(part: Floats) -> Floats:
        return np.asarray((np.tensordot(part, z, axes=1) * np.tensordot(part, again, axes=1)).sum(axis=0))

    return Variances(product(plan.rest), product(plan.influence))


def covariance(z: Floats, B: int) -> Floats:
    """Covariance, (n, n), of n numbers to which pairs of blocks add z, (P, n): points and pairs.

    In directions in which the blocks say less than twice what the pairs do, the points add nothing.
    """
    from scipy.linalg import eigh  # slow to import, so only where it is needed

    plan = design(B)
    seen, pairs = (part.T @ part for part in (plan.influence @ z, plan.rest @ z))
    size = np.trace(seen) + np.trace(pairs)
    if not len(plan.rest) or not size > 0:
        return np.asarray(seen)
    pairs += 1e-9 * size * np.eye(len(pairs))
    times, directions = eigh(seen, pairs)  # directions.T @ pairs @ directions = 1
    back = pairs @ directions
    return np.asarray(back * (1 + np.maximum(times - 2, 0.0)) @ back.T)


@dataclass(frozen=True)
class Noise:
    """Errors of ln C.

    Attributes
    ----------
    chance : (P, m_max, n_eps) float64
        What chance in each pair of blocks a <= b does to ln C.
    blocks : int
        Number B of blocks; P = B (B + 1) / 2.
    """

    chance: Floats
    blocks: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the standard errors."""
        return self.blocks - 1

    @cached_property
    def variances(self) -> Variances:
        """Of ln C at every dimension and scale."""
        return variances(self.chance, self.blocks)

    @property
    def sd(self) -> Floats:
        """Standard error of ln C, (m_max, n_eps)."""
        return np.sqrt(self.variances.total)

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """Independent normal values, (n, P), that make n errors."""
        return rng.standard_normal((n, len(self.chance)))

    def errors(self, draws: Floats, size: float = 1.0) -> Floats:
        """The errors of ln C, (n, m_max, n_eps), that these draws make, `size` times the usual variance."""
        return np.tensordot(np.sqrt(size) * draws @ root(self.blocks), self.chance, axes=1)

    def added(self, draws: Floats, numbers: Floats, size: float = 1.0) -> Floats:
        """What every pair of blocks adds to numbers, (P, k), if these errors make of them `numbers`, (n, k).

        The slope of the numbers over the draws, by regression. For normal errors that is the gradient of
        their mean over all errors of this size (Stein). Draws may be fewer than the pairs of blocks: there
        is a penalty, small on what the blocks add and larger on what only pairs do. It takes away the same
        share in all directions of either kind, which is given back.
        """
        blocks = together(self.blocks)
        alone = np.eye(len(blocks)) - blocks
        penalty = blocks + len(blocks) * alone
        inverse = np.linalg.solve(draws.T @ draws + penalty, draws.T)
        found, kept = inverse @ numbers, inverse @ draws
        slope = sum(part @ found * np.trace(part) / np.sum(part * kept) for part in (blocks, alone))
        return np.asarray(np.linalg.solve(root(self.blocks), slope) / np.sqrt(size))


@lru_cache(maxsize=8)
def together(B: int) -> Floats:
    """Projection, (P, P), of what pairs of blocks add onto what is a sum over the blocks."""
    plan = design(B)
    member = np.zeros((len(plan.a), B))
    member[np.arange(len(plan.a)), plan.a] = member[np.arange(len(plan.a)), plan.b] = 1.0
    return np.asarray(member @ np.linalg.pinv(member))


@lru_cache(maxsize=8)
def root(B: int) -> Floats:
    """Symmetric square root, (P, P), of the covariance of how much pairs of blocks count in a draw."""
    plan = design(B)
    member = np.zeros((len(plan.a), B))
    member[np.arange(len(plan.a)), plan.a] = member[np.arange(len(plan.a)), plan.b] = 1.0
    values, vectors = np.linalg.eigh(OF_BLOCKS * member @ member.T + OF_PAIRS * np.eye(len(plan.a)))
    return np.asarray(vectors * np.sqrt(values) @ vectors.T)


def noise_of(close: Floats, total: Floats) -> Noise:
    """The noise of correlation sums with these counts.

    Parameters
    ----------
    close : (B, B, m_max, n_eps) float64
        Close pairs by blocks a <= b of their points.
    total : (B, B) float64
        All pairs.
    """
    B = len(total)
    C = close.sum(axis=(0, 1)) / total.sum()
    scale = np.divide(1.0, C, out=np.zeros_like(C), where=C > 0) / total.sum()
    chance = np.zeros_like(close)
    for lag in range(B - 1):  # the two ends of the series are but one pair, which cannot show any scatter
        a = np.arange(B - lag)
        pairs = total[a, a + lag][:, None, None]
        share = np.divide(close[a, a + lag], pairs, out=np.zeros((B - lag, *C.shape)), where=pairs > 0)
        chance[a, a + lag] = (share - share.mean(axis=0)) * np.sqrt(_correction(B - lag)) * pairs * scale
    plan = design(B)
    return Noise(chance[plan.a, plan.b], B)


def _correction(n: int) -> float:
    """Divisor n - 1 in place of n."""
    return n / (n - 1)
