"""How far chance moves correlation sums: the error of a degenerate U-statistic, from counts by time block.

C is a mean over pairs. What chance adds to it has two parts: one of the single points (a stretch of the
series that happens to lie in crowded places counts in all its pairs), and one of the pairs themselves. Blocks
of the time axis that are drawn again show the first with the second in it twice: a bootstrap overstates the
error where pairs are few. Here the two are told apart by an analysis of variance of the counts of pairs of
blocks,

    share of close pairs in the blocks a, b = f(b - a) + u_a + u_b + e_ab

where f is what a stationary series has at this distance in time. It is constant for a chaotic one; a
quasi-periodic one repeats itself, and what looks like scatter between its blocks is no chance at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quantify.aliases import Floats


@dataclass(frozen=True)
class Noise:
    """Errors of ln C.

    Attributes
    ----------
    influence : (B, m_max, n_eps) float64
        What each block does to ln C.
    sd : (m_max, n_eps) float64
        Standard error of ln C.
    of_points, of_pairs : (m_max, n_eps) float64
        Its two parts, as variances.
    """

    influence: Floats
    sd: Floats
    of_points: Floats
    of_pairs: Floats

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the standard errors."""
        return len(self.influence) - 1

    @property
    def shrink(self) -> Floats:
        """By how much the blocks' influences, drawn at random, exceed the standard error, inverted."""
        raw = np.sqrt((self.influence**2).sum(axis=0) * _correction(len(self.influence)))
        return np.divide(self.sd, raw, out=np.zeros_like(raw), where=raw > 0)

    def draw(self, rng: np.random.Generator) -> Floats:
        """An error of ln C, (m_max, n_eps), smooth over scales and dimensions as the real one."""
        return self.error(self.weights(rng))

    def weights(self, rng: np.random.Generator) -> Floats:
        """How much every block counts more or less in one draw: normal values that add up to 0."""
        weights = rng.standard_normal(len(self.influence))
        return np.asarray(weights - weights.mean())

    def error(self, weights: Floats) -> Floats:
        """The error of ln C, (m_max, n_eps), that these weights make."""
        error = np.tensordot(weights, self.influence, axes=1) * np.sqrt(_correction(len(weights)))
        return np.asarray(error * self.shrink)


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
    inside = chance[np.arange(B), np.arange(B)]
    both = chance + chance.swapaxes(0, 1)
    both[np.arange(B), np.arange(B)] = 0.0
    rows = both.sum(axis=1)
    influence = rows + inside
    influence = influence - influence.mean(axis=0)
    if B < 4:  # too few for an analysis of variance: take it all as of the points
        variance = (influence**2).sum(axis=0) * _correction(B)
        return Noise(influence, np.sqrt(variance), variance, np.zeros_like(variance))
    # The least-squares fit u_a + u_b to all a < b; what it leaves has B parameters less freedom.
    u = (rows - rows.sum(axis=0) / (2 * (B - 1))) / (B - 2)
    i, j = np.triu_indices(B, 1)
    of_pairs = ((both[i, j] - u[i] - u[j]) ** 2).sum(axis=0) * len(i) / (len(i) - B)
    seen = (influence**2).sum(axis=0) * _correction(B)
    of_points = np.maximum(seen - 2 * of_pairs, 0.0)
    return Noise(influence, np.sqrt(np.minimum(of_points + of_pairs, seen)), of_points, of_pairs)


def _correction(n: int) -> float:
    """Divisor n - 1 in place of n."""
    return n / (n - 1)
