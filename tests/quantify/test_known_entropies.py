"""The systems that know their entropies: against sums written out, textbook values and their own series."""

import numpy as np
import pytest
from scipy.special import logsumexp

from quantify import correlation_sums
from quantify.systems import (
    ARMA,
    EVEN,
    GOLDEN_MEAN,
    AutoRegressive,
    FractionalNoise,
    Henon,
    HiddenMarkov,
    Ikeda,
    Logistic,
    Noisy,
    QuasiPeriodic,
    Roessler,
    SkewTent,
    VectorAutoRegressive,
    flows,
    hidden_markov,
    linear,
    maps,
    noisy,
)
from tests import naive

CHAIN = HiddenMarkov(((0.7, 0.2, 0.1), (0.0, 0.5, 0.5), (0.3, 0.3, 0.4)), (0.0, 1.0, 1.5), 0.4)
CYCLE = QuasiPeriodic((0.05 * 2**0.5,), (1.0,), noise=0.3)
TORUS = QuasiPeriodic((0.05 * 2**0.5, 0.11 * 3**0.5), (1.0, 0.5), noise=0.4)
# Coarse, but it is a mixture around its own stretches all the same.
NOISY = Noisy(Henon(), 0.2, points=400, runs=4)


# --- kernels and their slow twins ---


def test_roessler_kernel_equals_the_naive_integration():
    arguments = (np.array([1.0, 2.0, 0.5]), 30, 5, 0.2, 0.2, 5.7, 0.01)
    # Only the order of additions differs, and 1.5 time units multiply that by little.
    np.testing.assert_allclose(flows._roessler(*arguments), naive.roessler(*arguments), rtol=1e-12)


def test_maps_equal_their_naive_twins():
    # Rounding differs and grows by the maps' slopes: 4^20 and 2.5^20 at most for one value, less for a plane.
    logistic = naive.orbit(lambda x: 4 * x * (1 - x), 0.3, 20)
    np.testing.assert_allclose(maps._logistic(0.3, 20, 4.0), logistic, atol=1e-6)
    tent = naive.orbit(lambda x: x / 0.4 if x < 0.4 else (1 - x) / 0.6, 0.3, 20)
    np.testing.assert_allclose(maps._skew_tent(0.3, 20, 0.4), tent, atol=1e-6)
    ikeda = naive.orbit(lambda state: naive.ikeda(state, 0.9), (0.1, 0.2), 20)
    np.testing.assert_allclose(maps._ikeda(0.1, 0.2, 20, 0.9), ikeda, atol=1e-6)


def test_hidden_chain_equals_its_naive_twin():
    draws = np.random.default_rng(1).uniform(size=500)
    cumulative = np.cumsum(CHAIN.transitions, axis=1)
    fast = hidden_markov._chain(1, cumulative, draws)
    np.testing.assert_array_equal(fast, naive.hidden_chain(1, CHAIN.transitions, draws))


def test_vector_autoregression_equals_the_equation():
    A, x = np.array([[0.5, 0.4], [-0.3, 0.2]]), np.random.default_rng(1).standard_normal((50, 2))
    found = linear._vector_autoregression(x.copy(), A)
    np.testing.assert_allclose(found[1:], found[:-1] @ A.T + x[1:], atol=1e-12)


def test_gaussian_sums_equal_their_naive_twin():
    a, b = np.random.default_rng(1).standard_normal((2, 30, 3)) * 2
    # What is left out beyond far = 50 is below 30 e^-50.
    np.testing.assert_allclose(noisy._gaussian_sums(a, b, 50.0), naive.gaussian_sums(a, b), atol=1e-18)


# --- hidden Markov chains ---


@pytest.mark.parametrize(("m", "tau"), [(1, 1), (2, 1), (4, 1), (3, 2)])
def test_hidden_markov_entropies_equal_the_sum_over_all_pairs_of_paths(m, tau):
    transitions = np.linalg.matrix_power(CHAIN.transitions, tau)
    paths = [
        (np.array(CHAIN.means)[list(p)], w) for p, w in naive.hidden_paths(transitions, CHAIN.stationary, m)
    ]
    x, w = np.array([p for p, _ in paths]), np.array([w for _, w in paths])
    square = ((x[:, None] - x) ** 2).sum(axis=2)
    mean = w @ np.exp(-square / (4 * 0.4**2)) @ w / (4 * np.pi * 0.4**2) ** (m / 2)
    assert CHAIN.H(m, tau=tau) == pytest.approx(-np.log(mean), abs=1e-10)
    values = np.random.default_rng(1).normal(0.5, 1, (20, m))
    exponent = -((values[:, None] - x) ** 2).sum(axis=2) / (2 * 0.4**2)
    density = logsumexp(exponent, b=w, axis=1) - m / 2 * np.log(2 * np.pi * 0.4**2)
    np.testing.assert_allclose(CHAIN.log_density(values, tau=tau), density, atol=1e-10)


@pytest.mark.long
def test_hidden_markov_correlation_sums_tend_to_their_limit_and_are_those_of_the_series():
    eps = 1e-3
    # The next order in eps is eps² / noise² = 6e-6.
    assert -np.log(CHAIN.C(3, eps)[0]) == pytest.approx(CHAIN.H(3) - 3 * np.log(2 * eps), abs=1e-4)
    grid = np.array([1.0, 0.5, 0.25])
    found = correlation_sums(CHAIN.sample(20_000, 1), tau=1, m_max=3, theiler=20, eps=grid, exact=True)
    for m in (1, 2, 3):
        # sd over twelve seeds: .016 of C_3 at the smallest scale.
        np.testing.assert_allclose(found.C[m - 1], CHAIN.C(m, found.eps), rtol=0.06)


def test_golden_mean_and_even_process_have_their_textbook_excess_entropy():
    # With little noise every symbol is seen. Shannon: golden mean H(1/3) - 2/3 ln 2 = .1744 from m = 1 on;
    # even process ln 3 - 2/3 ln 2 = .6365 in the limit, and 2 H_m - H_2m of its words for finite m.
    golden = HiddenMarkov(GOLDEN_MEAN.transitions, GOLDEN_MEAN.means, 0.05)
    even = HiddenMarkov(EVEN.transitions, EVEN.means, 0.05)
    for process, m, expected in (
        (golden, 1, np.log(3) - 4 / 3 * np.log(2)),
        (golden, 4, np.log(3) - 4 / 3 * np.log(2)),
        (even, 4, word_information(EVEN, 4)),
        (even, 20, np.log(3) - 2 / 3 * np.log(2)),
    ):
        value, error = process.shannon_PI(m, samples=10_000)
        assert error < 0.01
        assert value == pytest.approx(expected, abs=4 * error)


def word_information(process, m):
    """2 H_m - H_2m of the words of a noiseless chain, Shannon's."""

    def H(length):
        words = {}
        for path, probability in naive.hidden_paths(process.transitions, process.stationary, length):
            word = tuple(process.means[s] for s in path)
            words[word] = words.get(word, 0.0) + probability
        p = np.array([v for v in words.values() if v > 0])
        return -(p * np.log(p)).sum()

    return 2 * H(m) - H(2 * m)


def test_a_chain_with_one_mean_is_white_noise():
    process = HiddenMarkov(CHAIN.transitions, (1.0, 1.0, 1.0), 0.3)
    assert process.PI(3) == pytest.approx(0, abs=1e-12) and process.E(5) == pytest.approx(0, abs=1e-12)
    assert process.H(2) == pytest.approx(2 * AutoRegressive((0.0,), 0.3).H(1) - (1 - np.log(2)))


# --- mixtures ---


@pytest.mark.parametrize("process", [CHAIN, CYCLE, TORUS, NOISY], ids=["chain", "cycle", "torus", "noisy"])
def test_density_is_one_and_its_square_is_the_entropy(process):
    # On a grid of half a standard deviation of the noise the trapezoidal rule is exact to 1e-10.
    axis = np.arange(-4, 5, process.noise / 2)
    x = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = np.exp(process.log_density(x)) * (axis[1] - axis[0]) ** 2
    assert density.sum() == pytest.approx(1, abs=0.01 if process is NOISY else 1e-6)
    # NOISY: 1,600 clean stretches against 4 x 400 x 400 pairs of them; its error says how far these differ.
    error = 5 * process.standard_error("H", 2) + 0.02 if process is NOISY else 1e-6
    assert -np.log((density**2).sum() / (axis[1] - axis[0]) ** 2) == pytest.approx(process.H(2), abs=error)


def test_noisy_cycle_is_a_mean_over_phases():
    # Written out by random phases: 4e5 pairs, whose mean is known to .3 % (sd .5 % of H at most).
    phases = np.random.default_rng(1).uniform(0, 2 * np.pi, (2, 400_000, 1))
    a, b = np.sin(phases + 2 * np.pi * CYCLE.frequencies[0] * 2 * np.arange(3))
    mean = np.exp(-((a - b) ** 2).sum(axis=1) / (4 * 0.3**2)).mean() / (4 * np.pi * 0.3**2) ** 1.5
    assert CYCLE.H(3, tau=2) == pytest.approx(-np.log(mean), abs=0.02)


def test_excess_entropy_of_a_noisy_cycle_grows_as_half_the_logarithm_of_m():
    # One phase, known ever better; the correction falls as 1 / m.
    assert CYCLE.E(64) - CYCLE.E(32) == pytest.approx(0.5 * np.log(2), abs=0.02)


def test_noisy_system_converges_to_the_stated_error():
    # The stretches of a torus are known for sure, those of Noisy are drawn.
    clean = QuasiPeriodic(CYCLE.frequencies, CYCLE.amplitudes)
    drawn = Noisy(clean, CYCLE.noise, points=1000, runs=8)
    for curve in ("E", "PI"):
        error = drawn.standard_error(curve, 3, tau=2)
        assert error < 0.05
        exact = getattr(CYCLE, curve)(3, tau=2)
        assert getattr(drawn, curve)(3, tau=2) == pytest.approx(exact, abs=4 * error)
    value, error = drawn.shannon_PI(3, tau=2, samples=2000)
    expected, small = CYCLE.shannon_PI(3, tau=2, samples=20_000)
    assert value == pytest.approx(expected, abs=4 * np.hypot(error, small))


def test_both_orders_differ_except_for_gaussian_processes():
    assert abs(CYCLE.shannon_PI(2, samples=20_000)[0] - CYCLE.PI(2)) > 0.03


# --- linear processes ---


def test_arma_contains_its_special_cases():
    ar = AutoRegressive((0.5, -0.3), 2.0)
    assert ARMA(ar.a, sigma=2.0).E(4) == pytest.approx(ar.E(4))
    ma = ARMA(b=(0.8, 0.3), sigma=2.0)
    assert ma.autocovariance(4) == pytest.approx(4 * np.array([1 + 0.64 + 0.09, 0.8 + 0.24, 0.3, 0, 0]))
    # AR(1) seen through white noise: r_k = a^k / (1 - a²) + noise² [k = 0], which is ARMA(1, 1).
    a, noise = 0.8, 0.5
    r = a ** np.arange(4) / (1 - a**2) + noise**2 * (np.arange(4) == 0)
    # (1 + b B) xi has the covariances of xi + noise (1 - a B) zeta: two equations for b and sigma.
    middle, side = 1 + noise**2 * (1 + a**2), -a * noise**2
    b = (middle - np.sqrt(middle**2 - 4 * side**2)) / (2 * side)
    assert ARMA((a,), (b,), np.sqrt(side / b)).autocovariance(3) == pytest.approx(r)


def test_fractional_noise_has_its_partial_autocorrelations():
    process = FractionalNoise(0.3)
    k = np.arange(1, 30)
    gain = -0.5 * np.log(1 - (0.3 / (k - 0.3)) ** 2)
    found = [process.h(i - 1) - process.h(i) for i in k]
    assert found == pytest.approx(gain, abs=1e-10)
    assert process.E(30) == pytest.approx((k * gain).sum())


@pytest.mark.parametrize("process", [ARMA((0.5, -0.3), (0.8, 0.4), 2.0), FractionalNoise(0.3, 2.0)], ids=repr)
def test_series_have_the_stated_autocovariance_from_the_first_sample_on(process):
    starts = np.array([process.sample(5, seed) for seed in range(4000)])
    expected = process.autocovariance(4)
    # sd of a mean of products over 4,000 series: variance * sqrt(2 / 4000).
    close = 4 * expected[0] * np.sqrt(2 / 4000)
    assert np.mean(starts * starts[:, :1], axis=0) == pytest.approx(expected, abs=close)
    assert np.mean(starts**2, axis=0) == pytest.approx(expected[0], abs=close)


def test_vector_process_contains_the_scalar_one_and_has_its_covariance():
    ar = AutoRegressive((0.8,), 0.5)
    both = VectorAutoRegressive(((0.8, 0.0), (0.0, 0.8)), ((0.25, 0.0), (0.0, 0.25)))
    assert both.E(3, tau=2) == pytest.approx(2 * ar.E(3, tau=2))
    assert both.H(2) == pytest.approx(2 * ar.H(2))
    process = VectorAutoRegressive(((0.5, 0.4), (-0.3, 0.2)), ((1.0, 0.3), (0.3, 0.5)))
    x = process.sample(200_000, 1)
    pairs = np.hstack([x[:-2], x[2:]])
    # sd of the entries .01.
    np.testing.assert_allclose(np.cov(pairs.T), process.covariance(2, tau=2), atol=0.05)
    starts = np.array([process.sample(1, seed)[0] for seed in range(1000)])
    # sd of the entries .05.
    np.testing.assert_allclose(np.cov(starts.T), process.covariance(1), atol=0.2)


# --- deterministic systems ---


def test_skew_tent_has_its_exact_correlation_sums():
    tent = SkewTent(0.4)
    x = tent.sample(20_000, 1)
    assert np.histogram(x, 4, (0, 1))[0] / len(x) == pytest.approx(0.25, abs=0.02)
    found = correlation_sums(x, tau=1, m_max=5, theiler=1, eps=[0.008, 0.004], exact=True)
    for m in (1, 3, 5):
        # Pairs on both sides of the fold take .5 eps m from H, .02 here; sd over twelve seeds .013.
        np.testing.assert_allclose(-np.log(found.C[m - 1]), tent.H(m, found.eps), atol=0.06)
    assert tent.E(4, 0.01) == pytest.approx(-np.log(0.02) - tent.K)
    assert tent.PI(3, 0.01) == pytest.approx(-np.log(0.02) - tent.K)


def test_attractors_have_their_known_numbers():
    x = Logistic().sample(100_000, 1)
    # <ln |4 - 8 x|> = ln 2; the density is that of sin².
    assert np.log(np.abs(4 - 8 * x)).mean() == pytest.approx(np.log(2), abs=0.01)
    assert np.mean(x < 0.25) == pytest.approx(1 / 3, abs=0.01)
    assert np.linalg.norm(Ikeda().sample(10_000, 1), axis=1).max() < 2.6
    x, y, z = Roessler().sample(100_000, 1).T
    # Averages of derivatives vanish: <dx/dt> = <dy/dt> = 0, up to a boundary term of 30 / 10,000.
    assert np.mean(-y - z) == pytest.approx(0, abs=0.01)
    assert np.mean(x + 0.2 * y) == pytest.approx(0, abs=0.01)
    turns = np.sum((x[1:] > 0) & (x[:-1] <= 0) & (y[1:] < 0))
    assert 100_000 * 0.1 / turns == pytest.approx(5.88, abs=0.05)  # mean period
