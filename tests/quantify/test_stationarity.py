"""The stationarity test is quiet on stationary series and hears the changes that matter."""

import dataclasses
import json

import numpy as np
import pytest

from quantify import QuantifyError, stationarity, stationarity_verdict
from quantify.systems import AR2, AutoRegressive, Henon, Lorenz, QuasiPeriodic, UniformNoise


@pytest.mark.parametrize(
    "sample",
    [
        lambda seed: AR2.sample(20_000, seed),
        lambda seed: AutoRegressive((0.95,)).sample(20_000, seed),
        lambda seed: Lorenz().sample(20_000, seed)[:, 0],
        lambda seed: Henon().sample(5_000, seed),
        lambda seed: UniformNoise().sample(500, seed),
        lambda seed: QuasiPeriodic().sample(10_000, seed),
    ],
    ids=["ar2", "ar1", "lorenz", "henon", "noise", "quasi-periodic"],
)
def test_stationary_series_pass(sample):
    found = [stationarity(sample(seed)) for seed in range(20)]
    # At level .01 one false alarm in 20 has a probability of 18 %, three have one of .1 %.
    assert sum(not f.stationary for f in found) < 3
    assert all(f.transient == 0 for f in found if f.stationary)


@pytest.mark.parametrize("process", [AR2, AutoRegressive((0.99,))], ids=["ar2", "slow ar1"])
def test_small_p_values_are_no_more_frequent_than_they_say(process):
    p = np.array([stationarity(process.sample(20_000, seed)).p_value for seed in range(100)])
    # Of 100 values 10 +- 3 fall below .1 and 5 +- 2.2 below .05, fewer if features say the same.
    assert np.sum(p < 0.1) <= 19 and np.sum(p < 0.05) <= 11


@pytest.mark.parametrize("period", [20, 20.001, 33.37, 250.1, 2500.5])
def test_exact_periods_pass(period):
    """Samples of a period that slip past a quantile one by one are no change."""
    for phase in range(10):
        angle = 2 * np.pi * np.arange(20_000) / period + phase
        assert stationarity(np.sin(angle)).stationary and stationarity(np.cos(angle) ** 3).stationary


def test_memory_of_a_fiftieth_of_the_series_is_no_change():
    """Amplitudes that rise and fall over 1 / (1 - r²) = 400 of 20,000 samples."""
    r = 0.99875
    process = AutoRegressive((2 * r * np.cos(0.1), -(r**2)))
    found = [stationarity(process.sample(20_000, seed)).stationary for seed in range(40)]
    assert sum(found) >= 37  # at most 5 % false alarms; one is allowed for chance


N = 20_000
TIME = np.arange(N) / N


def still(x):
    x[N // 2 :] = x[N // 2]
    return x


@pytest.mark.guard
@pytest.mark.parametrize(
    "base",
    [
        lambda seed: Lorenz().sample(N, seed)[:, 0],
        lambda seed: AutoRegressive((0.9,)).sample(N, seed),
        lambda seed: np.random.default_rng(seed).uniform(size=N),
    ],
    ids=["lorenz", "ar1", "noise"],
)
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x + 0.1 * np.ptp(x) * TIME,
        lambda x: x + 0.05 * np.ptp(x) * np.sin(2 * np.pi * 2.3 * TIME),
        still,
    ],
    ids=["drift of a tenth of the range", "slow sine", "half constant"],
)
def test_slow_changes_are_heard_in_most_runs(base, change):
    found = [stationarity(change(base(seed))).stationary for seed in range(12)]
    assert sum(found) <= 2  # 80 % and more are to be heard


def test_random_walks_are_heard_in_most_runs():
    walks = [np.cumsum(np.random.default_rng(seed).standard_normal(N)) for seed in range(40)]
    assert sum(stationarity(x).stationary for x in walks) <= 8


def test_verdict_says_the_threshold_beside_p():
    x = np.random.default_rng(1).standard_normal(400_000)
    assert "; a change is called one below 0.01)" in stationarity_verdict({0: x}, ["a"])["verdict"]
    moved = stationarity_verdict({0: x + np.linspace(0, 1, len(x))}, ["a"])["verdict"]
    assert "NOT stationary: mean changes" in moved and moved.endswith(", below 0.01)")
    tiny = stationarity_verdict({0: x + np.linspace(0, 0.06, len(x))}, ["a"])["verdict"]
    assert "too small to matter, which begins at 0.1" in tiny


RNG = np.random.default_rng(0)
BASE = AutoRegressive((0.9,)).sample(20_000, 1)
RAMP = np.linspace(0, 1, 20_000)


@pytest.mark.parametrize(
    ("series", "feature"),
    [
        (BASE + 4 * RAMP, "mean"),
        (BASE * (1 + RAMP), "spread"),
        (BASE + np.where(RAMP > 0.7, 3.0, 0.0), "mean"),
        # Equal mean and variance, other shape: two-sided instead of normal.
        (np.where(RAMP < 0.5, RNG.standard_normal(20_000), RNG.choice([-1, 1], 20_000)), "share"),
        # Equal distribution, faster: every value white instead of correlated.
        (np.concatenate([BASE[:10_000], RNG.permutation(BASE[:10_000])]), "increments"),
    ],
    ids=["drift", "growth", "step", "shape", "speed"],
)
def test_changes_are_heard(series, feature):
    found = stationarity(series)
    assert not found.stationary and found.p_value < 0.01 and found.effect > 0.1
    if feature == "increments":  # the other changes show in more than one feature
        assert feature in found.feature


def test_effect_is_the_height_of_the_wave():
    x = RNG.standard_normal(N) + 0.5 * np.cos(np.pi * 3 * TIME)
    found = stationarity(x)
    # From +.5 to -.5, in standard deviations of all; noise moves the coefficient by sqrt(2 / N) = .01.
    assert found.feature == "mean" and found.effect == pytest.approx(1 / x.std(), abs=0.06)


def test_a_tiny_change_of_one_feature_does_not_hide_a_large_one_of_another():
    """The mean of a sine hardly varies, so that a tiny ramp is more certain than that it grows by half."""
    x, ramp = np.sin(np.arange(N) / 5), 0.03 * TIME
    assert stationarity(x + ramp).stationary and stationarity(x + ramp).p_value < 1e-9
    found = stationarity(np.where(TIME < 0.5, x, 1.5 * x) + ramp)
    assert not found.stationary and found.feature != "mean"


def test_least_effect_is_in_units_of_the_mean_for_higher_powers_as_well():
    """A shift by .04 of a sine whose standard deviation is .7; its seventh power moves by far more."""
    x = np.sin(np.arange(N) / 5) + np.where(TIME < 0.5, 0, 0.04)
    assert stationarity(x).stationary and not stationarity(x, least_effect=0.05).stationary


def test_one_wild_sample_does_not_make_it_deaf():
    x = BASE + 4 * RAMP
    x[777] = 1e9
    assert not stationarity(x).stationary


def test_a_tiny_change_is_significant_but_harmless():
    x = RNG.standard_normal(1_000_000) + np.where(np.arange(1_000_000) < 500_000, 0.0, 0.03)
    found = stationarity(x)
    assert found.p_value < 0.01 and found.effect < 0.1 and found.stationary


def test_place_of_the_change_and_length_of_the_transient():
    x = AutoRegressive((0.9,)).sample(32_000, 2)
    x[:5000] += 5 * np.exp(-np.arange(5000) / 2000)
    found = stationarity(x)
    assert not found.stationary
    # Blocks hold 1,000 samples. The push of two standard deviations has decayed to a fifth of one at 5,000.
    assert 1000 <= found.change <= 6000
    assert found.transient is not None and 2000 <= found.transient <= 7000
    assert stationarity(x[found.transient :]).stationary


def test_a_lasting_drift_has_no_transient():
    assert stationarity(BASE + 20 * RAMP).transient is None


def test_one_drifting_observable_of_two_is_named():
    x = np.stack([BASE, AutoRegressive((0.9,)).sample(20_000, 9) + 5 * RAMP], axis=1)
    found = stationarity(x)
    assert not found.stationary and "observable 1" in found.feature


def test_result_is_plain():
    assert json.loads(json.dumps(dataclasses.asdict(stationarity(BASE))))["blocks"] == 32


def test_does_not_depend_on_unit_and_offset():
    moving = BASE + 4 * RAMP
    a = stationarity(moving)
    for other in (1e3 * moving - 7, moving * 1e-300, moving * 1e300):
        b = stationarity(other)
        assert b.statistic == pytest.approx(a.statistic) and b.effect == pytest.approx(a.effect)
        assert (b.change, b.feature, b.transient) == (a.change, a.feature, a.transient)


@pytest.mark.parametrize(
    ("series", "settings", "message"),
    [
        (BASE[:50], {}, "50 samples are too few"),
        (np.ones(500), {}, "different value"),
        (BASE, {"alpha": 0}, "alpha = 0"),
        (BASE, {"least_effect": -1}, "least_effect = -1"),
    ],
)
def test_bad_input_is_refused(series, settings, message):
    with pytest.raises(QuantifyError, match=message):
        stationarity(series, **settings)
