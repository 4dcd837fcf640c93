"""The known systems have the properties they are known for."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from quantify import QuantifyError, systems
from quantify.systems import (
    AR2,
    ARMA,
    EVEN,
    AutoRegressive,
    FractionalNoise,
    Henon,
    HiddenMarkov,
    Ikeda,
    Logistic,
    Lorenz,
    Noisy,
    QuasiPeriodic,
    Roessler,
    SkewTent,
    UniformNoise,
    VectorAutoRegressive,
)
from tests import naive

SYSTEMS = [
    *(Lorenz(), Lorenz(noise=0.01), Roessler(), Henon(), Logistic(), SkewTent(), Ikeda()),
    *(AR2, ARMA((0.5,), (0.4, 0.3)), FractionalNoise(0.3), VectorAutoRegressive(((0.5, 0.4), (-0.4, 0.5)))),
    *(UniformNoise(), QuasiPeriodic(), QuasiPeriodic(noise=0.1), EVEN, Noisy(Henon(), 0.1)),
]


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
def test_equal_seeds_give_equal_series_and_other_seeds_others(system):
    x = system.sample(50, 7)
    assert len(x) == 50 and x.dtype == np.float64
    np.testing.assert_array_equal(x, system.sample(50, np.random.default_rng(7)))
    assert not np.array_equal(x, system.sample(50, 8))


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
@pytest.mark.parametrize("n", [0, -3, 2.5])
def test_impossible_lengths_are_refused(system, n):
    with pytest.raises(QuantifyError, match=r"n = .* at least 1"):
        system.sample(n, 0)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_lorenz_kernel_equals_the_naive_integration(noise):
    arguments = (np.array([1.0, 2.0, 20.0]), 30, 5, 10.0, 28.0, 8 / 3, 1e-3, noise)
    fast = systems.flows._lorenz(*arguments, np.random.default_rng(1))
    slow = naive.lorenz(*arguments, np.random.default_rng(1))
    # Only the order of additions differs; over .15 time units chaos multiplies rounding by less than 10.
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


def test_lorenz_follows_the_differential_equation():
    def slope(_, u):
        return [10 * (u[1] - u[0]), 28 * u[0] - u[1] - u[0] * u[2], u[0] * u[1] - 8 / 3 * u[2]]

    x = Lorenz().sample(101, 3)
    times = np.linspace(0, 1, 101)
    reference = solve_ivp(slope, (0, 1), x[0], method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times)
    # The local error of the method is about step^5 times the fifth derivative (1e-16 * 1e7); 2,000 steps,
    # growth e^.9.
    np.testing.assert_allclose(x, reference.y.T, atol=1e-6)


def test_lorenz_attractor_has_its_known_moments():
    x, y, z = Lorenz().sample(400_000, 1).T
    # On any invariant measure <d(x²)/dt> = 0 and <dz/dt> = 0, so <x²> = <xy> = b <z>. Over the time T = 4,000
    # what is left is a boundary term, (x² at the end - x² at the start) / (2 s T) < .01.
    assert np.mean(x * x) == pytest.approx(np.mean(x * y), abs=0.05)
    assert np.mean(x * y) == pytest.approx(8 / 3 * np.mean(z), abs=0.05)
    # Ergodic averages of the standard attractor: <z> = 23.55; spread .02 between seeds at this length.
    assert np.mean(z) == pytest.approx(23.55, abs=0.08)
    assert abs(np.mean(x)) < 0.6  # the two wings are visited equally: spread .2 between seeds


def test_lorenz_noise_is_dynamic_and_of_the_stated_strength():
    # Without drift (s = r = b = 0 leaves dy/dt = -y - xz, so look at x alone) x is a random walk.
    x = Lorenz(s=0, r=0, b=0, step=0.01, sampling=0.05, noise=0.1).sample(20_001, 2, transient=0)[:, 0]
    increments = np.diff(x)
    # 5 steps of sd .1 each; the sd of 20,000 values is known to .5 %.
    assert increments.std() == pytest.approx(0.1 * 5**0.5, rel=0.02)


def test_henon_kernel_equals_the_naive_map():
    arguments = (0.1, 0.0, 40, 1.4, 0.3)
    # a x² and a (x x) may round differently; 40 steps multiply that by e^(.42 * 40) at most.
    np.testing.assert_allclose(systems.maps._henon(*arguments), naive.henon(*arguments), atol=1e-8)


def test_henon_attractor_has_its_known_numbers():
    x = Henon().sample(200_000, 1)[:, 0]
    assert -1.2850 < x.min() < -1.28 and 1.27 < x.max() < 1.2730  # extent of the attractor
    # Lyapunov exponent .4192, from the derivative's action on a tangent vector; its sd over 2e5 steps is
    # below .001.
    u, v, growth = 1.0, 0.0, 0.0
    for value in x[:-1]:
        u, v = -2.8 * value * u + v, 0.3 * u
        norm = np.hypot(u, v)
        growth += np.log(norm)
        u, v = u / norm, v / norm
    assert growth / (len(x) - 1) == pytest.approx(0.4192, abs=0.003)


@pytest.mark.parametrize("system", [Henon(a=3.0), Lorenz(step=0.2, sampling=0.2)], ids=repr)
def test_divergence_is_an_error(system):
    with pytest.raises(QuantifyError, match="diverged at sample"):
        system.sample(1000, 0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Lorenz(step=0.02), "at most the sampling time"),
        (lambda: Lorenz(step=0.003), "whole number of steps"),
        (lambda: Lorenz(noise=-1), "cannot be negative"),
        (lambda: Lorenz(noise=np.nan), "cannot be negative"),
        (lambda: AutoRegressive((1.0,)), "not stationary"),
        (lambda: AutoRegressive((0.5, np.nan)), "finite coefficient"),
        (lambda: AutoRegressive(()), "at least one"),
        (lambda: AutoRegressive((0.5,), sigma=0), "sigma = 0"),
        (lambda: ARMA(b=(np.inf,)), "finite coefficients"),
        (lambda: ARMA(a=(1.2,)), "not stationary"),
        (lambda: FractionalNoise(0.5), "d = 0.5"),
        (lambda: FractionalNoise(0.2, sigma=-1), "sigma = -1"),
        (lambda: VectorAutoRegressive(((0.5, 0.1),)), "square"),
        (lambda: VectorAutoRegressive(((1.1, 0.0), (0.0, 0.1))), "not stationary"),
        (lambda: VectorAutoRegressive(((0.5,),), ((-1.0,),)), "positive eigenvalues"),
        (lambda: HiddenMarkov(((1.0,),), (0.0, 1.0), 0.1), "shape"),
        (lambda: HiddenMarkov(((0.5, 0.6), (0.5, 0.5)), (0.0, 1.0), 0.1), "add up to 1"),
        (lambda: HiddenMarkov(((0.0, 1.0), (1.0, 0.0)), (0.0, 1.0), 0.1), "make them mix"),
        (lambda: HiddenMarkov(((1.0, 0.0), (0.0, 1.0)), (0.0, 1.0), 0.1), "make them mix"),
        (lambda: HiddenMarkov(((0.5, 0.5), (0.5, 0.5)), (0.0, 1.0), 0.0), "noise = 0"),
        (lambda: Noisy(Henon(), 0.0), "noise = 0"),
        (lambda: Noisy(Henon(), 0.1, runs=1), "runs = 1"),
        (lambda: QuasiPeriodic(noise=-0.1), "cannot be negative"),
        (lambda: QuasiPeriodic().PI(1), "Without noise"),
        (lambda: QuasiPeriodic(noise=1e-3).PI(1), "stretches, of 50,000"),
        (lambda: AR2.shannon_PI(1), "does not know its density"),
        (lambda: Logistic(4.1), "r = 4.1"),
        (lambda: SkewTent(0.5), "a = 0.5"),
        (lambda: Roessler(step=0.03), "whole number of steps"),
        (lambda: UniformNoise(1, 1), "below high"),
        (lambda: QuasiPeriodic((0.1,), (1.0, 2.0)), "one amplitude for each"),
        (lambda: AR2.H(-1), "m = -1"),
        (lambda: AR2.PI(0), "m = 0"),
        (lambda: AR2.E(2, tau=0), "tau = 0"),
    ],
)
def test_impossible_parameters_are_refused(build, message):
    with pytest.raises(QuantifyError, match=message):
        build()


def test_ar1_has_the_textbook_entropies():
    # x' = a x + xi: variance sigma²/(1-a²); one step of memory, I = -ln(1-a²)/2.
    a, sigma = 0.8, 0.3
    process = AutoRegressive((a,), sigma)
    variance = sigma**2 / (1 - a**2)
    assert process.autocovariance(3) == pytest.approx(variance * a ** np.arange(4))
    assert process.H(1) == pytest.approx(0.5 * np.log(2 * np.pi * np.e * variance))
    assert process.h(4) == pytest.approx(0.5 * np.log(2 * np.pi * np.e * sigma**2))
    for m in (1, 2, 5):
        assert process.PI(m) == pytest.approx(-0.5 * np.log(1 - a**2))
    assert process.E(1) == pytest.approx(0)
    assert process.E(2, tau=3) == pytest.approx(-0.5 * np.log(1 - a**6))  # again AR(1), with a³


def test_ar2_has_the_published_values():
    # All digits of the published values; the last ones are the true ones at delay 10, where the process has
    # order > 2.
    assert [AR2.PI(m) for m in (1, 2, 3)] == pytest.approx([2.9120, 7.4793, 7.4793], abs=5e-5)
    assert [AR2.E(m) for m in (3, 4)] == pytest.approx([7.4793, 7.4793], abs=5e-5)
    assert [AR2.PI(m, tau=10) for m in (1, 2)] == pytest.approx([0.6666, 3.3587], abs=5e-5)
    assert [AR2.E(m, tau=10) for m in (3, 4)] == pytest.approx([3.3276, 3.4211], abs=5e-5)
    assert AR2.E(40, tau=10) == pytest.approx(3.4310, abs=5e-5)
    assert AR2.PI(40, tau=10) == pytest.approx(3.4310, abs=5e-5)


def test_ar_entropies_do_not_depend_on_the_scale_except_by_a_shift():
    wide = AutoRegressive(AR2.a, sigma=5.0)
    assert wide.H(3) == pytest.approx(AR2.H(3) + 3 * np.log(5))
    assert wide.E(4, tau=7) == pytest.approx(AR2.E(4, tau=7))


def test_ar_series_has_the_stated_autocovariance_from_the_first_sample_on():
    process = AutoRegressive((0.5, -0.3, 0.2), sigma=2.0)
    starts = np.array([process.sample(5, seed) for seed in range(4000)])
    expected = process.autocovariance(4)
    # Products of Gaussians with variance 5.7: sd of a mean over 4,000 series is below 5.7 * sqrt(2 / 4000) =
    # .13.
    assert np.mean(starts * starts[:, :1], axis=0) == pytest.approx(expected, abs=0.5)
    assert np.mean(starts**2, axis=0) == pytest.approx(expected[0], abs=0.5)


def test_ar_recursion_equals_the_equation():
    process = AutoRegressive((0.5, -0.3, 0.2), sigma=2.0)
    x = process.sample(200, 0)
    rng = np.random.default_rng(0)
    rng.standard_normal(3)
    innovations = 2.0 * rng.standard_normal(197)
    np.testing.assert_allclose(x[3:] - 0.5 * x[2:-1] + 0.3 * x[1:-2] - 0.2 * x[:-3], innovations, atol=1e-12)


def test_uniform_noise_fills_its_interval():
    x = UniformNoise(-2, 3).sample(10_000, 0)
    assert -2 <= x.min() < -1.99 and 2.99 < x.max() < 3
    assert x.mean() == pytest.approx(0.5, abs=0.1)  # sd of the mean .014


def test_quasi_periodic_spectrum_is_two_lines():
    system = QuasiPeriodic((0.05, 0.05 * 2**0.5), (1.0, 0.5))
    power = np.abs(np.fft.rfft(system.sample(20_000, 0) * np.hanning(20_000))) ** 2
    frequency = np.fft.rfftfreq(20_000)
    near = np.min(np.abs(frequency[:, None] - system.frequencies), axis=1) < 3 / 20_000
    assert power[near].sum() > 0.999 * power.sum()
