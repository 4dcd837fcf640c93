"""Excess entropy and predictive information of an AR(2) process against their exact values."""

import numpy as np
import pytest

from quantify import correlation_sums, entropies
from quantify.systems import AutoRegressive

AR2 = AutoRegressive((1.991843, -0.994793))  # the linear model of the Lorenz system of the paper's appendix


def at_zero(y: np.ndarray, sums, m: int, degree: int = 1, min_pairs: float = 1e4) -> float:
    """Limit eps -> 0: a polynomial in eps^2 on the two smallest octaves with enough pairs in m dimensions.

    The density is smooth, so that H_m(eps) + m ln(2 eps) departs from its limit by terms of eps^2, eps^4, ...
    """
    enough = sums.C[m - 1] * sums.blocks.total.sum() >= min_pairs
    eps, y = sums.eps[enough], y[enough]
    near = eps <= 4 * eps[-1]
    return float(np.polynomial.Polynomial.fit(eps[near] ** 2, y[near], degree).convert().coef[0])


def estimates(tau: int, n: int, seed: int) -> tuple[list[float], list[float]]:
    """E_2, E_3, E_4 and PI_1, PI_2, PI_3."""
    sums = correlation_sums(AR2.sample(n, seed), tau=tau, m_max=6, theiler=1000)
    curves = entropies(sums)
    E = [at_zero(curves.E[m - 1], sums, m) for m in (2, 3, 4)]
    # Six coordinates leave few pairs at small eps, so the next order is needed and fewer pairs must do.
    PI = [at_zero(curves.PI[m - 1], sums, 2 * m) for m in (1, 2)]
    return E, [*PI, at_zero(curves.PI[2], sums, 6, degree=2, min_pairs=3e3)]


def exact(tau: int) -> tuple[list[float], list[float]]:
    return [AR2.E(m, tau=tau) for m in (2, 3, 4)], [AR2.PI(m, tau=tau) for m in (1, 2, 3)]


def test_one_short_realisation() -> None:
    """Realisations of 2e5 samples scatter by .09 (the .04 of 1e6 samples, five times as short)."""
    E, PI = estimates(10, 200_000, 1)
    np.testing.assert_allclose(E, exact(10)[0], atol=0.2)
    np.testing.assert_allclose(PI[:2], exact(10)[1][:2], atol=0.2)


@pytest.mark.long
@pytest.mark.parametrize("tau", [1, 10])
def test_a_million_samples(tau) -> None:
    """A realisation scatters by up to .04, being 400 samples long in memory; the mean of five by .02."""
    runs = [estimates(tau, 1_000_000, seed) for seed in range(1, 6)]
    for kind in (0, 1):
        mean = np.mean([run[kind] for run in runs], axis=0)
        np.testing.assert_allclose(mean, exact(tau)[kind], atol=0.03)
