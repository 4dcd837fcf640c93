"""Signals seen through Gaussian noise: their densities are mixtures around clean stretches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numba import njit

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.systems.checks import check_length, check_order
from quantify.systems.known import KnownEntropies

# A pair that is farther than this many e-folds is left out: 1e-22 of one that is close.
FAR = 50.0


def mean_density(a: Floats, b: Floats, noise: float) -> float:
    """Mean density <p_m> of stretches that are noise around the rows of a or b: over all pairs of rows,

    (4 pi noise²)^(-m/2) exp(-|a_i - b_j|² / (4 noise²))
    """
    sums = _gaussian_sums(a / (2 * noise), b / (2 * noise), FAR)
    return float(sums.mean() / len(b) * (4 * np.pi * noise**2) ** (-a.shape[1] / 2))


def log_mixture(x: Floats, clean: Floats, noise: float) -> Floats:
    """ln p_m of each row of x, p_m being noise around the rows of `clean`, each as probable as the others."""
    width = np.sqrt(2) * noise
    sums = _gaussian_sums(x / width, clean / width, FAR)
    with np.errstate(divide="ignore"):  # far from everything the density is 0
        return np.asarray(np.log(sums / len(clean)) - x.shape[1] * np.log(np.sqrt(np.pi) * width))


@njit(cache=True)
def _gaussian_sums(a, b, far):  # type: ignore[no-untyped-def]
    """Sum over j of exp(-|a_i - b_j|²), for each i; terms with an exponent beyond `far` are left out."""
    out = np.zeros(len(a))
    for i in range(len(a)):
        for j in range(len(b)):
            square = 0.0
            for k in range(a.shape[1]):
                square += (a[i, k] - b[j, k]) ** 2
                if square > far:
                    break
            else:
                out[i] += np.exp(-square)
    return out


@dataclass(frozen=True)
class Noisy(KnownEntropies):
    """One observable of any system, seen through Gaussian noise: x_n = clean_n + noise * xi_n.

    However deterministic the system is, its stretches then have a density, a mean of Gaussians around the
    clean stretches, and E and PI are finite:

        <p_m> = (4 pi noise²)^(-m/2) < exp(-|z - z'|² / (4 noise²)) >   over independent clean stretches z, z'

    The mean is taken over pairs of `runs` times two clean series of `points` stretches, always the same ones;
    `standard_error` says how well it has converged.

    Attributes
    ----------
    system
        Anything with ``sample(n, rng)``.
    noise : float
        Standard deviation of the noise.
    column : int
        Which observable, if there are several.
    points, runs : int

    Examples
    --------
    >>> from quantify.systems import Henon, Noisy
    >>> process = Noisy(Henon(), noise=0.2, points=500, runs=4)
    >>> process.sample(100, rng=1).shape
    (100,)
    >>> abs(process.PI(1) - 0.5) < 5 * process.standard_error("PI", 1) < 0.2
    True
    """

    system: Any
    noise: float
    column: int = 0
    points: int = 4096
    runs: int = 16

    def __post_init__(self) -> None:
        if not self.noise > 0:
            raise QuantifyError(f"noise = {self.noise} must be positive: without it E and PI are infinite.")
        if self.points < 2 or self.runs < 2:
            raise QuantifyError(f"points = {self.points} and runs = {self.runs} must be at least 2.")

    def sample(self, n: int, rng: Rng) -> Floats:
        """n noisy values."""
        rng = np.random.default_rng(rng)
        return self._clean(check_length(n), rng) + self.noise * rng.standard_normal(n)

    def _clean(self, n: int, rng: Rng) -> Floats:
        x = self.system.sample(n, rng)
        return np.ascontiguousarray(x if x.ndim == 1 else x[:, self.column])

    def _stretches(self, m: int, tau: int, points: int, seed: Sequence[int]) -> Floats:
        """Clean stretches of m values, one starting at every tau-th sample."""
        x = self._clean((points + m - 1) * tau, np.random.default_rng(seed))[::tau]
        return np.lib.stride_tricks.sliding_window_view(x, m)

    def H(self, m: int, *, tau: int = 1) -> float:
        """Block entropy of order 2 of m values tau apart, -ln of the mean density."""
        return float(-np.log(_mean_densities(self, m, tau).mean()))

    def standard_error(self, curve: Literal["H", "E", "PI"], m: int, *, tau: int = 1) -> float:
        """Standard error of H_m, E_m or PI_m, by leaving out one run after the other."""
        terms = {"H": {m: 1}, "E": {m - 1: m, m: 1 - m}, "PI": {m: 2, 2 * m: -1}}[curve]
        without: Any = 0.0
        for length, factor in terms.items():
            p = _mean_densities(self, length, tau)
            without = without - factor * np.log((p.sum() - p) / (self.runs - 1))
        return float(np.sqrt((self.runs - 1) * np.var(without)))

    def log_density(self, x: Floats, *, tau: int = 1) -> Floats:
        """ln p_m of each row of x, from points * runs clean stretches; halves of them correct the bias."""
        m = x.shape[1]
        halves = [
            log_mixture(
                x, self._stretches(m, tau, self.points * self.runs // 2, (self.runs, half)), self.noise
            )
            for half in (0, 1)
        ]
        both = np.logaddexp(*halves) - np.log(2)
        # The ln of a mean over n is too small by const / n: twice that with half of n.
        known = np.isfinite(halves).all(axis=0)
        both[known] += both[known] - np.mean(halves, axis=0)[known]
        return np.asarray(both)


@lru_cache(maxsize=64)
def _mean_densities(process: Noisy, m: int, tau: int) -> Floats:
    """<p_m> of each run; equal seeds make the errors of different m cancel."""
    check_order(m, 0, tau)
    if m == 0:
        return np.ones(process.runs)
    values = []
    for run in range(process.runs):
        a, b = (process._stretches(m, tau, process.points, (run, half)) for half in (0, 1))
        values.append(mean_density(a, b, process.noise))
    return np.array(values)
