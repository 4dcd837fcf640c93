"""Excess entropy and predictive information of an AR(2) process against their exact values."""

import numpy as np
import pytest
from scipy.special import erf
from scipy.stats import multivariate_normal

from quantify import CorrelationSums, QuantifyError, correlation_sums, entropies, small_scale_limit
from quantify.systems import AR2  # the linear model of the Lorenz system of the paper's appendix

CURVES = [("E", 2), ("E", 3), ("E", 4), ("PI", 1), ("PI", 2), ("PI", 3), ("PI", 4)]


def exact_sums(eps: np.ndarray, tau: int, m_max: int = 8) -> CorrelationSums:
    """What infinitely many samples would give, m = 1..m_max."""
    C = np.array([AR2.C(m, eps, tau=tau) for m in range(1, m_max + 1)])
    total = 10**15
    pairs = np.rint(C * total).astype(np.int64)
    return CorrelationSums(eps, C, pairs, np.full(C.shape, total), np.zeros(C.shape))


# ---- the exact values themselves


def test_exact_sum_of_one_value() -> None:
    """The difference of two values is Gaussian with twice their variance."""
    sigma = np.sqrt(AR2.autocovariance(0)[0])
    eps = sigma * np.array([0.01, 0.1, 1.0])
    np.testing.assert_allclose(AR2.C(1, eps), erf(eps / (2 * sigma)), rtol=1e-3)


@pytest.mark.parametrize("tau", [1, 10])
def test_exact_sum_of_three_values(tau) -> None:
    r = AR2.autocovariance(2 * tau)[::tau]
    K = r[np.abs(np.subtract.outer(range(3), range(3)))]
    for eps in (0.3, 1.0):
        gaussian = multivariate_normal(np.zeros(3), 2 * K, allow_singular=True, seed=0)
        box = gaussian.cdf(np.full(3, eps), lower_limit=np.full(3, -eps))
        # Both integrals are quasi-random; they agree to .1 % each.
        assert AR2.C(3, eps, tau=tau)[0] == pytest.approx(box, rel=3e-3)


# ---- the limit eps -> 0


@pytest.mark.parametrize("tau", [1, 10])
@pytest.mark.parametrize(("curve", "m"), CURVES)
def test_limit_of_exact_curves(curve, m, tau) -> None:
    """Without any noise of counting, the form of the fit is all that can be wrong: .02 nats."""
    # Where 5e11 pairs, those of a million samples, leave 1e4 close ones.
    dimension = m if curve == "E" else 2 * m
    grid = 2.0 ** np.arange(7, -4, -0.125)
    smallest = grid[AR2.C(dimension, grid, tau=tau) * 5e11 >= 1e4].min()
    sums = exact_sums(smallest * 2.0 ** np.arange(2, -0.01, -0.125), tau, dimension)
    found = small_scale_limit(sums, curve, m)
    assert found.value == pytest.approx(getattr(AR2, curve)(m, tau=tau), abs=0.02)
    assert found.eps == pytest.approx((smallest, 4 * smallest))


def test_limit_is_straight_where_nothing_bends() -> None:
    eps = 2.0 ** np.arange(2, -1, -0.125)
    H = np.array([np.ones_like(eps), 3 - 0.01 * eps**2])  # E_2 = 2 H_1 - H_2
    sums = CorrelationSums(
        eps, np.exp(-H), np.full(H.shape, 10**6), np.full(H.shape, 10**7), np.zeros(H.shape)
    )
    found = small_scale_limit(sums, "E", 2)
    assert found.value == pytest.approx(-1, abs=1e-9) and found.bend == np.inf
    assert found.residual < 1e-9


@pytest.mark.parametrize(
    ("curve", "m", "more", "message"),
    [
        ("E", 1, {}, "m = 1: E_m is there for m = 2..8"),
        ("PI", 5, {}, r"m = 5: PI_m is there for m = 1..4"),
        ("h", 2, {}, "curve = 'h'"),
        ("E", 2, {"min_pairs": 1e30}, "0 scales have 1e[+]30 pairs in 2 dimensions"),
    ],
)
def test_limits_that_cannot_be_had(curve, m, more, message) -> None:
    sums = exact_sums(2.0 ** -np.arange(0, 2, 0.125), 1)
    with pytest.raises(QuantifyError, match=message):
        small_scale_limit(sums, curve, m, **more)


# ---- estimates


def deviations(tau: int, n: int, seed: int, m_max: int) -> tuple[np.ndarray, np.ndarray]:
    """Estimates minus exact values, for each curve: in the limit eps -> 0, and where 1e6 pairs are close."""
    sums = correlation_sums(AR2.sample(n, seed), tau=tau, m_max=m_max, theiler=1000)
    total = sums.blocks.total.sum()
    limit, finite = [], []
    for curve, m in CURVES:
        dimension = m if curve == "E" else 2 * m
        if dimension > m_max:
            continue
        limit.append(small_scale_limit(sums, curve, m).value - getattr(AR2, curve)(m, tau=tau))
        k = np.flatnonzero(sums.C[dimension - 1] * total >= 1e6)[-1:]
        estimate = getattr(entropies(sums), curve)[m - 1, k]
        exact = getattr(entropies(exact_sums(sums.eps[k], tau)), curve)[m - 1]
        finite.append((estimate - exact)[0])
    return np.array(limit), np.array(finite)


@pytest.mark.guard
def test_one_short_realisation() -> None:
    """Realisations of 2e5 samples scatter by .09 (the .04 of 1e6 samples, five times as short)."""
    limit, finite = deviations(10, 200_000, 1, 4)
    np.testing.assert_allclose(limit, 0, atol=0.2)
    np.testing.assert_allclose(finite, 0, atol=0.2)


@pytest.mark.long
@pytest.mark.parametrize("tau", [1, 10])
def test_a_million_samples(tau) -> None:
    """The mean of realisations 1..15 is within .03 of exact, for E_2..E_4 and PI_1..PI_4.

    The process remembers some 400 samples, so that a million are few: at finite eps realisations scatter by
    .02 about the exact curve, in the limit by up to .035, and PI_4 at delay 10, where eight dimensions leave
    few pairs, by .065: one realisation, or five, would not tell .03 from 0.
    """
    runs = [deviations(tau, 1_000_000, seed, 8) for seed in range(1, 16)]
    for kind in (0, 1):
        off = np.abs(np.mean([run[kind] for run in runs], axis=0))
        assert off.max() < 0.03, off
        spread = np.std([run[kind] for run in runs], axis=0)
        assert spread.max() < (0.08, 0.04)[kind], spread
