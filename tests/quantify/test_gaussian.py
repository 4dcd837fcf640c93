"""The Gaussian process with the autocovariances of a series: its entropies at every scale."""

import math
from dataclasses import replace

import numpy as np
import pytest

from quantify import correlation_sums, decompose, entropies, gaussian, quantify, small_scale_limit
from quantify.gaussian import GaussianTwin, gaussian_twin
from quantify.quantification.stochastic import limits, shows_noise
from quantify.systems import ARMA, AutoRegressive, Henon, VectorAutoRegressive
from tests import naive


def exact_twin(process, m_max):
    """With the autocovariances of the process itself."""
    K = process.covariance(m_max)
    sd = np.sqrt(np.diag(K))
    return GaussianTwin(sd[: len(K) // m_max], K / sd[:, None] / sd)


def test_correlations_equal_their_naive_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "CHUNK", 100)
    x = VectorAutoRegressive(((0.6, 0.4), (-0.4, 0.6))).sample(300, 1)
    twin = gaussian_twin(np.ascontiguousarray(x.T), tau=3, m_max=4)
    sd, correlations = naive.vector_correlations(x, 3, 4)
    np.testing.assert_allclose(twin.sd, sd, rtol=1e-12)
    np.testing.assert_allclose(twin.correlations, correlations, atol=1e-12)
    assert twin.covariance(2, 1.0)[0, 3] == pytest.approx(sd[0] * sd[1] * correlations[0, 3])


def test_many_sensors_take_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the delay vectors is enough: here their products scatter by 1 / sqrt(1000)."""
    x = np.random.default_rng(0).standard_normal((3, 10_000))
    monkeypatch.setattr(gaussian, "MOST_PRODUCTS", 1000 * 6**2)
    np.testing.assert_allclose(gaussian_twin(x, 1, 2).correlations, np.eye(6), atol=5 / 1000**0.5)


def test_independent_values_are_exact() -> None:
    """C_m of m independent normal values is erf(eps / 2 sd)^m, at any scale."""
    eps = np.array([4.0, 1.0, 0.25])
    twin = GaussianTwin(np.array([1.5]), np.eye(6))
    for m in (1, 6):
        H, limit = twin.entropies(m, eps)
        C = np.array([math.erf(e / 3) ** m for e in eps])
        np.testing.assert_allclose(H - m * np.log(2 * eps / np.sqrt(2 * np.pi)), -np.log(C), atol=1e-12)
        assert limit == pytest.approx(m * np.log(1.5 * 2**0.5))


@pytest.mark.parametrize(
    "process",
    [AutoRegressive((1.6, -0.8)), ARMA(b=(1.0, 0.5)), VectorAutoRegressive(((0.6, 0.4), (-0.4, 0.6)))],
)
def test_correlation_sums_of_gaussian_processes(process) -> None:
    """Where quasi-random numbers know them to .1 %: up to the spread of the least variable combination."""
    twin, m = exact_twin(process, 4), 4
    K = process.covariance(m)
    eps = np.sqrt(np.linalg.eigvalsh(K)[0]) * np.array([1.0, 0.5, 0.1])
    H, _ = twin.entropies(m, eps)
    exact = -np.log(process.C(m, eps))
    approximate = H - len(K) * np.log(2 * eps / np.sqrt(2 * np.pi))
    # The Gaussian part alone is off by up to .02 at the largest of these scales.
    np.testing.assert_allclose(approximate, exact, atol=0.003)


def test_a_gaussian_process_has_nothing_left_to_continue() -> None:
    """E_6 and PI_4 of an AR(5) process, looked at with a resolution that hides some of them."""
    process = AutoRegressive((0.5, -0.4, 0.3, -0.3, 0.2))
    sums = correlation_sums(process.sample(10_000, 2), tau=1, m_max=8, theiler=8)
    for curve, m, exact in (("E", 6, process.E(6)), ("PI", 4, process.PI(4))):
        with_twin = small_scale_limit(sums, curve, m)
        # Over 20 series the standard deviations are .025 and .014 (.075 and .03 without the twin).
        assert abs(with_twin.value - exact) < {"E": 0.075, "PI": 0.042}[curve]
        assert np.isinf(with_twin.bend)


def test_limits_of_an_ar_process_scatter_less_with_its_twin() -> None:
    process = AutoRegressive((0.5, -0.4, 0.3, -0.3, 0.2))
    errors = {True: [], False: []}
    for seed in range(6):
        sums = correlation_sums(process.sample(5000, seed), tau=1, m_max=10, theiler=8, blocks=16)
        for known in errors:
            found = limits(sums if known else replace(sums, twin=None), 100, np.random.default_rng(0))
            errors[known].append(found["E"].value - process.E(10))
    with_twin, without = (np.sqrt(np.mean(np.square(errors[known]))) for known in (True, False))
    assert with_twin < 0.06 and with_twin < 0.8 * without


@pytest.mark.parametrize(
    ("process", "tau", "margin"),
    # Standard deviations over a hundred series of 20,000 samples are .023, .018, .017 and .014.
    [
        (AutoRegressive((1.6, -0.8)), 3, 0.15),
        (AutoRegressive((0.5, -0.3, 0.2, -0.1, 0.3)), 1, 0.12),
        (ARMA(b=(0.9, 0.5)), 1, 0.1),
        (AutoRegressive((0.6, 0.3, -0.4)), 1, 0.1),
    ],
)
def test_all_by_itself_a_linear_process_has_its_excess_entropy(process, tau, margin) -> None:
    """The limit is that of delay 1, whatever the delay that is chosen."""
    q = quantify(process.sample(5000, 3), choices=False)
    assert q.settings["tau"] == tau and q.settings["limit_tau"] == 1 and not q.scaling_region
    assert abs(q.E_core.value - process.PI(q.PI.m)) < margin  # three standard deviations at this length


def test_scales_of_ones_own_may_lie_anywhere() -> None:
    """Not in octaves, and not evenly: noise shows, a deterministic map does not."""
    for x, noisy in ((AutoRegressive((0.5,)).sample(3000, 1), True), (Henon().sample(3000, 1)[:, 0], False)):
        for eps in ([0.9, 0.5, 0.12, 0.07], [0.8, 0.4, 0.1]):
            sums = correlation_sums(x, tau=1, m_max=4, theiler=5, eps=eps)
            assert shows_noise(decompose(sums, eps_min=eps[-1]), entropies(sums)) == noisy


@pytest.mark.guard
def test_noise_shows_at_delay_1_whatever_straight_piece_a_term_takes() -> None:
    """Of this series two terms take pieces of larger scales: their slopes leave a kappa of .27 at delay 1."""
    process = AutoRegressive((1.6, -0.8))
    q = quantify(process.sample(100_000, 37), choices=False, stationarity=False)
    assert q.settings["limit_tau"] == 1
    assert q.E_core.value == pytest.approx(1.802, abs=0.04)  # four standard deviations


def test_units_do_not_matter() -> None:
    x = AutoRegressive((0.6,)).sample(500, 1)[None]
    eps = np.array([1.0, 0.5])
    usual = gaussian_twin(x, 1, 4).hidden("PI", 2, eps)
    for unit in (2.0**-400, 2.0**400):
        np.testing.assert_allclose(gaussian_twin(x * unit, 1, 4).hidden("PI", 2, eps * unit), usual)


def test_what_has_no_density_has_no_limit() -> None:
    eps = np.array([1.0, 0.5])
    x = np.random.default_rng(0).standard_normal(300)
    twice = gaussian_twin(np.array([x, x]), 1, 3)
    assert twice.entropies(1, eps) is None
    np.testing.assert_array_equal(twice.hidden("E", 2, eps), 0.0)
    assert gaussian_twin(np.array([x, np.ones(300)]), 1, 3) is None
    assert gaussian_twin(1e300 * x[None], 1, 3) is None  # squares beyond all numbers
