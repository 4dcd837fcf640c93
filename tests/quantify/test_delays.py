"""Delays and Theiler windows where they are known."""

import warnings

import numpy as np
import pytest

from quantify import QuantifyError, delays
from quantify.delays import autocorrelation, choose_delay, nearest_delay
from quantify.systems import AR2, AutoRegressive, Henon, Lorenz, QuasiPeriodic, UniformNoise
from quantify.theiler import space_time_separation, theiler_window
from tests import naive


def test_mutual_information_equals_the_naive_one():
    codes = np.random.default_rng(1).integers(0, 5, 300)
    codes[1:] = np.where(np.arange(299) % 3, codes[:-1], codes[1:])
    for lag in (0, 1, 7):
        expected = naive.mutual_information(codes[: len(codes) - lag], codes[lag:])
        tables = delays._tables(codes, lag, 5, 3)
        assert delays._information(tables.sum(axis=0)) == pytest.approx(expected, abs=1e-12)


def test_autocorrelation_equals_its_definition():
    x = np.random.default_rng(2).standard_normal(50).cumsum()
    centred = x - x.mean()
    expected = [np.sum(centred[: 50 - lag] * centred[lag:]) / np.sum(centred**2) for lag in range(12)]
    np.testing.assert_allclose(autocorrelation(x, 11), expected, atol=1e-12)


def test_lorenz_has_the_delay_that_the_paper_states():
    found = choose_delay(Lorenz().sample(200_000, 1)[:, 0])
    assert found.rule == "minimum of the mutual information"
    # The paper gives 18; the minimum is flat (.88 to .90 nats between 15 and 19) and moves by 1 with the
    # histogram. Of the delays to choose from, 16 is the nearest.
    assert abs(found.minimum - 18) <= 1 and found.tau == 16
    assert found.mutual_information[0] == pytest.approx(np.log(32), abs=1e-3)  # 32 equally filled classes


def test_alternatives_follow_the_known_autocorrelation():
    process = AutoRegressive((0.9,))
    found = choose_delay(process.sample(100_000, 1))
    # rho = .9^lag crosses 1/e at lag 9.5; the estimate is good to .01 there, half a step.
    assert found.below_e in (9, 10, 11) and found.tau == 10
    assert found.minimum is None and found.rule == "autocorrelation below 1/e"
    rho = process.autocovariance(30) / process.autocovariance(0)
    np.testing.assert_allclose(found.autocorrelation[:31], rho, atol=0.03)
    zero = np.flatnonzero(AR2.autocovariance(100) < 0)[0]
    # The autocorrelation falls by .05 per lag there.
    assert abs(choose_delay(AR2.sample(200_000, 1)).zero - zero) <= 1


@pytest.mark.parametrize("system", [Henon(), UniformNoise()], ids=repr)
def test_maps_and_noise_have_delay_one(system):
    x = system.sample(20_000, 1)
    assert choose_delay(x if x.ndim == 1 else x[:, 0]).tau == 1


def test_a_map_that_stays_on_one_side_for_a_while_has_delay_one():
    """Holmes' cubic map has an autocorrelation of .76, .62, ... that falls below 1/e after a dozen steps; by
    then its chaos has forgotten everything, and it looked like noise.
    """
    x = [0.1, 0.2]
    while len(x) < 20_000:
        x.append(-0.2 * x[-2] + 2.77 * x[-1] - x[-1] ** 3)
    found = choose_delay(np.array(x))
    assert found.tau == 1 and found.below_e > 8 and found.rule == "every sample is new"


def test_periodic_signals_get_a_fraction_of_their_period():
    # The mutual information of a pure sine is flat, so the autocorrelation decides: cos = 1/e after .19
    # periods.
    assert choose_delay(np.sin(2 * np.pi * np.arange(10_000) / 50)).tau == 10
    # About a quarter of the periods of 62 and 100 samples.
    assert 10 <= choose_delay(QuasiPeriodic().sample(20_000, 1)).tau <= 25


def test_the_delay_of_a_short_series_is_that_of_a_long_one():
    """200,000 samples of Lorenz have their minimum at 17, with 32 classes as here. The valley is flat: 20
    classes would give 18 to 26 for these seeds.
    """
    minima = [choose_delay(Lorenz().sample(20_000, seed)[:, 0]).minimum for seed in range(6)]
    assert all(abs(minimum - 17) <= 1 for minimum in minima)


def test_delays_are_three_to_an_octave():
    every = [nearest_delay(lag) for lag in range(1, 200)]
    assert sorted(set(every)) == [
        1,
        2,
        3,
        4,
        5,
        6,
        8,
        10,
        13,
        16,
        20,
        25,
        32,
        40,
        51,
        64,
        81,
        102,
        128,
        161,
        203,
    ]
    # Half a step is 2^(1/6); rounding to whole samples adds a little where they are few.
    assert all(abs(np.log2(tau / lag)) <= 1 / 6 + 0.06 for lag, tau in enumerate(every, 1))


def test_delay_does_not_depend_on_unit_and_offset():
    x = Lorenz().sample(20_000, 1)[:, 0]
    expected = choose_delay(x)
    for mapped in (-3 * x + 5, np.exp(x / 10)):  # ranks are kept, so the mutual information is the same
        assert choose_delay(mapped).minimum == expected.minimum


def test_slow_series_warns():
    with pytest.warns(RuntimeWarning, match="hardly changes within max_lag = 20"):
        found = choose_delay(np.linspace(0, 1, 1000) ** 2, max_lag=20)
    assert found.tau == 20 and found.rule == "slow series"


def test_space_time_separation_of_a_ramp_is_the_ramp():
    # x = t: after a lag all pairs are exactly lag apart, in any embedding.
    plot = space_time_separation(np.arange(2000.0), tau=5, m=3)
    np.testing.assert_array_equal(plot.distance, np.tile(plot.lags, (5, 1)))


def test_space_time_separation_of_noise_is_the_triangular_distribution():
    # |u - v| of uniform values has the quantile function 1 - sqrt(1 - q).
    plot = space_time_separation(UniformNoise().sample(100_000, 1), tau=1, m=1, quantiles=(0.1, 0.5))
    expected = 1 - np.sqrt(1 - plot.quantiles)
    # 2,000 pairs: sd of a quantile is sqrt(q (1 - q) / 2000) / density = .004 and .008; about 200 lags, so
    # 4.5 sd.
    np.testing.assert_allclose(plot.distance, np.tile(expected[:, None], len(plot.lags)), atol=0.036)


def test_theiler_windows_follow_the_memory_of_the_series():
    assert theiler_window(UniformNoise().sample(20_000, 1)) <= 3
    assert theiler_window(Henon().sample(20_000, 1)[:, 0]) <= 3
    # A quarter to half an orbit (75 samples) of Lorenz, and the same number of samples if only every second
    # is taken.
    x = Lorenz().sample(200_000, 1)[:, 0]
    fine, coarse = theiler_window(x), theiler_window(x[::2])
    assert 8 <= fine <= 40
    assert fine / coarse == pytest.approx(2, rel=0.3)
    # Slower processes have longer windows: memory 10 and 100.
    slow = [AutoRegressive((np.exp(-1 / memory),)).sample(200_000, 1) for memory in (10, 100)]
    short, long = (theiler_window(x, m=1) for x in slow)
    assert long / short == pytest.approx(10, rel=0.5)


def test_theiler_window_of_several_observables():
    x = Lorenz().sample(50_000, 1)
    assert isinstance(theiler_window(x), int)
    assert 5 <= theiler_window(x) <= 40


def test_long_series_take_no_longer_and_give_the_same():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = Lorenz().sample(400_000, 1)[:, 0]
        middle = x[100_000:300_000]
    assert choose_delay(x).minimum == choose_delay(middle).minimum


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: choose_delay(np.arange(30.0)), "30 samples are too few"),
        (lambda: choose_delay(np.ones(100)), "different value"),
        (lambda: choose_delay(np.where(np.arange(100) == 3, np.nan, np.arange(100.0))), "sample 3"),
        (lambda: choose_delay(np.arange(100.0), max_lag=0), "max_lag = 0"),
        (lambda: choose_delay(np.arange(100.0), max_lag=90), "max_lag = 90"),
        (lambda: space_time_separation(np.arange(100.0), tau=0), "tau = 0"),
        (lambda: space_time_separation(np.arange(100.0), tau=1, m=0), "m = 0"),
        (lambda: space_time_separation(np.arange(100.0), tau=60, m=3), "leave 0 delay vectors"),
        (lambda: space_time_separation(np.arange(100.0), tau=1, quantiles=(1.0,)), "between 0 and 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(QuantifyError, match=message):
        call()


def test_the_scatter_of_a_delay_is_what_realisations_scatter_by():
    # Of few samples: the delay of 20,000 hardly scatters.
    series = [Lorenz().sample(6000, seed)[:, 0] for seed in range(6)]
    found = [choose_delay(x) for x in series]
    actual = np.std(np.log([delay.tau for delay in found]), ddof=1)
    again = [delays.delay_draws(x, delay) for x, delay in zip(series, found, strict=True)]
    claimed = np.mean([np.std(np.log(taus)) for taus in again])
    # A standard deviation of six is known to 30 %.
    assert 0.3 < claimed / actual < 3
    noise = UniformNoise().sample(3000, 1)
    assert len(delays.delay_draws(noise, choose_delay(noise))) == 0


def test_chance_in_a_delay_knows_the_other_valleys():
    # The first valley of y is shallow: one of four short series takes the next one, three times as far away.
    series = [Lorenz().sample(4000, seed)[:, 1] for seed in range(4)]
    found = [choose_delay(x) for x in series]
    assert sorted(delay.tau > 50 for delay in found) == [False, False, False, True]
    for x, delay in zip(series, found, strict=True):
        drawn = delays.delay_draws(x, delay)
        assert (drawn > 50).any()
        assert (drawn < 30).any()
