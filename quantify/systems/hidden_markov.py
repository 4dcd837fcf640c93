"""Hidden Markov chains seen through Gaussian noise: order-2 entropies exactly, Shannon's by filtering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.special import ndtr

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.systems.checks import check_length, check_order
from quantify.systems.known import KnownEntropies


@dataclass(frozen=True)
class HiddenMarkov(KnownEntropies):
    """A Markov chain of hidden states s_n, of which one sees x_n = means[s_n] + noise * xi_n.

    Two independent stretches that go through the states s and s' differ by a Gaussian of variance 2 noise²
    around means[s] - means[s'], step by step. So the correlation sum is a product of matrices over the pairs
    of states, with the probability to be within eps as a weight w of each pair:

        C_m(eps) = (pi x pi)' w [(T x T) w]^(m-1) 1

    It is exact for every m and eps, and so is its limit H_m of small scales.

    Attributes
    ----------
    transitions : tuple of tuples of float
        Row s holds the probabilities of the next state after s.
    means : tuple of float
        What each state shows. Different states may show the same.
    noise : float
        Standard deviation of the Gaussian noise.

    Examples
    --------
    A bit that is kept with probability .9:

    >>> from quantify.systems import HiddenMarkov
    >>> process = HiddenMarkov(((0.9, 0.1), (0.1, 0.9)), means=(0, 1), noise=0.25)
    >>> [f"{process.PI(m):.3f}" for m in (1, 2, 10)]
    ['0.467', '0.488', '0.488']
    >>> value, error = process.shannon_PI(2, samples=1000)
    >>> 0.25 < value < 0.45, error < 0.04
    (True, True)
    """

    transitions: tuple[tuple[float, ...], ...]
    means: tuple[float, ...]
    noise: float

    def __post_init__(self) -> None:
        T = np.array(self.transitions, dtype=float)
        k = len(self.means)
        if T.shape != (k, k):
            raise QuantifyError(f"transitions of shape {T.shape} for {k} means; one row and column for each.")
        if not (T >= 0).all() or not np.allclose(T.sum(axis=1), 1):
            raise QuantifyError("transitions must hold probabilities that add up to 1 in each row.")
        if not self.noise > 0:
            raise QuantifyError(f"noise = {self.noise} must be positive: without it there is no density.")
        if np.sum(np.abs(np.linalg.eigvals(T)) > 1 - 1e-9) != 1:
            raise QuantifyError("transitions split the states into parts or a cycle; make them mix.")

    @property
    def stationary(self) -> Floats:
        """Probabilities of the states at any time."""
        T = np.array(self.transitions, dtype=float)
        equations = np.vstack([T.T - np.eye(len(T)), np.ones(len(T))])
        return np.asarray(np.linalg.lstsq(equations, np.eye(len(T) + 1)[-1], rcond=None)[0])

    def _steps(self, tau: int) -> Floats:
        return np.linalg.matrix_power(np.array(self.transitions, dtype=float), tau)

    def sample(self, n: int, rng: Rng) -> Floats:
        """A series of n values, stationary from the first one on."""
        n = check_length(n)
        rng = np.random.default_rng(rng)
        start = rng.choice(len(self.means), p=self.stationary)
        states = _chain(
            start, np.cumsum(np.array(self.transitions, dtype=float), axis=1), rng.uniform(size=n)
        )
        return np.asarray(np.array(self.means, dtype=float)[states] + self.noise * rng.standard_normal(n))

    def C(self, m: int, eps: ArrayLike, *, tau: int = 1) -> Floats:
        """Correlation sums C_m(eps): the probability that two independent stretches are within eps."""
        gap = np.subtract.outer(self.means, self.means)[..., None] / (np.sqrt(2) * self.noise)
        e = np.atleast_1d(np.asarray(eps, dtype=float)) / (np.sqrt(2) * self.noise)
        within = np.moveaxis(ndtr(e - gap) - ndtr(-e - gap), -1, 0)
        return np.asarray(np.exp([self._ln_pairs(w, m, tau) for w in within]))

    def H(self, m: int, *, tau: int = 1) -> float:
        """Block entropy of order 2 of m values tau apart, -ln of the mean density."""
        check_order(m, 0, tau)
        if m == 0:
            return 0.0
        gap = np.subtract.outer(self.means, self.means)
        return -self._ln_pairs(np.exp(-((gap / (2 * self.noise)) ** 2)), m, tau) + m * float(
            np.log(2 * np.sqrt(np.pi) * self.noise)
        )

    def _ln_pairs(self, weight: Floats, m: int, tau: int) -> float:
        """ln of the mean over pairs of state sequences of the product of the pairs' weights."""
        check_order(m, 1, tau)
        T = self._steps(tau)
        pairs = np.outer(self.stationary, self.stationary) * weight
        total = 0.0
        for _ in range(m - 1):
            size = pairs.sum()
            total += np.log(size)
            pairs = T.T @ (pairs / size) @ T * weight
        return float(total + np.log(pairs.sum()))

    def log_density(self, x: Floats, *, tau: int = 1) -> Floats:
        """ln p_m of each row of x, by filtering forwards: the probabilities of the states given the past."""
        T, means = self._steps(tau), np.array(self.means, dtype=float)
        states = np.broadcast_to(self.stationary, (len(x), len(means)))
        total = np.full(len(x), -x.shape[1] * np.log(np.sqrt(2 * np.pi) * self.noise))
        for column in x.T:
            exponent = -(((column[:, None] - means) / self.noise) ** 2) / 2
            top = exponent.max(axis=1)
            states = states * np.exp(exponent - top[:, None])
            size = states.sum(axis=1)
            total += np.log(size) + top
            states = states / size[:, None] @ T
        return np.asarray(total)


@njit(cache=True)
def _chain(state, cumulative, draws):  # type: ignore[no-untyped-def]
    """States from a start on; each draw decides about the next."""
    out = np.empty(len(draws), np.int64)
    last = cumulative.shape[1] - 1
    for i in range(len(draws)):
        out[i] = state
        following = 0
        while following < last and draws[i] >= cumulative[state, following]:
            following += 1
        state = following
    return out


GOLDEN_MEAN = HiddenMarkov(((0.5, 0.5), (1.0, 0.0)), means=(0.0, 1.0), noise=0.2)
"""Zeros and ones, never two ones in a row, seen through noise."""

EVEN = HiddenMarkov(((0.5, 0.5, 0.0), (0.0, 0.0, 1.0), (0.5, 0.5, 0.0)), means=(0.0, 1.0, 1.0), noise=0.2)
"""Runs of ones of even length between zeros, seen through noise: no finite past tells the state for sure."""
