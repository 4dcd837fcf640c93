"""Each surrogate keeps what it should keep and destroys the rest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantify import QuantifyError, surrogates
from quantify.delays import autocorrelation
from quantify.systems import AutoRegressive, Henon, Lorenz

KINDS = [surrogates.shuffle, surrogates.phase, surrogates.iaaft]


def power(x):
    return np.abs(np.fft.rfft(x, axis=0)) ** 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(500,), (501,), (500, 1), (501, 3)])
def test_shape_seed_and_input_are_respected(kind, shape):
    x = np.random.default_rng(0).standard_normal(shape)
    before = x.copy()
    made = kind(x, 1)
    assert made.shape == x.shape and made.dtype == np.float64
    np.testing.assert_array_equal(made, kind(x, np.random.default_rng(1)))
    assert not np.array_equal(made, kind(x, 2)) and not np.array_equal(made, x)
    np.testing.assert_array_equal(x, before)


@settings(max_examples=30, deadline=None)
@given(st.integers(10, 300), st.integers(0, 100))
def test_distribution_is_kept_exactly_by_shuffle_and_iaaft(n, seed):
    x = np.random.default_rng(seed).exponential(size=n)
    for kind in (surrogates.shuffle, surrogates.iaaft):
        np.testing.assert_array_equal(np.sort(kind(x, seed)), np.sort(x))


@settings(max_examples=30, deadline=None)
@given(st.integers(10, 300), st.integers(0, 100))
def test_spectrum_and_mean_are_kept_exactly_by_phase(n, seed):
    x = np.random.default_rng(seed).exponential(size=n).cumsum()
    made = surrogates.phase(x, seed)
    np.testing.assert_allclose(power(made), power(x), rtol=1e-9, atol=1e-9 * power(x).max())
    assert made.mean() == pytest.approx(x.mean())


def test_phase_keeps_the_linear_relations_between_observables():
    x = Lorenz().sample(2000, 1)
    made = surrogates.phase(x, 1)
    cross = [np.fft.rfft(v[:, 0]) * np.conj(np.fft.rfft(v[:, 1])) for v in (x, made)]
    np.testing.assert_allclose(cross[1], cross[0], rtol=1e-8, atol=1e-8 * np.abs(cross[0]).max())


def test_shuffle_keeps_samples_together():
    x = np.arange(200.0).reshape(100, 2)
    made = surrogates.shuffle(x, 1)
    np.testing.assert_array_equal(made[:, 1] - made[:, 0], 1.0)


def test_iaaft_keeps_the_spectrum_nearly():
    # A skewed series with memory: the exponential of an AR(1) process.
    x = np.exp(AutoRegressive((0.9,)).sample(10_000, 1) / 4)

    def error(made):
        return np.sum((np.sqrt(power(made)) - np.sqrt(power(x))) ** 2) / np.sum(power(x - x.mean()))

    # One round leaves .06 of the power wrong; measured after convergence: 1.3e-6.
    assert error(surrogates.iaaft(x, 1, iterations=1)) > 1e-2
    made = surrogates.iaaft(x, 1)
    assert error(made) < 1e-4
    # An error of 1e-4 of the power moves no autocorrelation by more than 2 sqrt(1e-4).
    np.testing.assert_allclose(autocorrelation(made, 20), autocorrelation(x, 20), atol=0.02)


def test_shuffle_destroys_the_memory():
    x = AutoRegressive((0.9,)).sample(10_000, 1)
    # An independent series of 10,000 has autocorrelations of sd .01; 20 of them stay below 4 sd.
    assert np.abs(autocorrelation(surrogates.shuffle(x, 1), 20)[1:]).max() < 0.04


@pytest.mark.parametrize("kind", KINDS)
def test_the_determinism_of_henon_is_destroyed(kind):
    def surprise(x):
        """What is left of x_{n+1} when 1 - 1.4 x_n² + .3 x_{n-1} is taken away."""
        return (x[2:] - 1 + 1.4 * x[1:-1] ** 2 - 0.3 * x[:-2]).std()

    x = Henon().sample(2000, 1)[:, 0]
    assert surprise(x) < 1e-12
    assert surprise(kind(x, 1)) > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_refused(kind):
    with pytest.raises(QuantifyError, match="sample 4"):
        kind(np.where(np.arange(50) == 4, np.nan, np.arange(50.0)), 0)
    with pytest.raises(QuantifyError, match="different value"):
        kind(np.zeros(50), 0)


def test_iterations_must_be_positive():
    with pytest.raises(QuantifyError, match="iterations = 0"):
        surrogates.iaaft(np.arange(50.0), 0, iterations=0)
