"""The stationarity test is quiet on stationary series and hears the changes that matter."""

import dataclasses
import json

import numpy as np
import pytest

from quantify import QuantifyError, stationarity
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


def test_p_values_are_uniform_for_a_correlated_process():
    p = np.array([stationarity(AR2.sample(20_000, seed)).p_value for seed in range(100)])
    # Of 100 values 10 +- 3 fall below .1 and 50 +- 5 below .5.
    assert np.sum(p < 0.1) <= 20
    assert 30 <= np.sum(p < 0.5) <= 70


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


def test_result_is_reproducible_and_plain():
    found = stationarity(BASE, rng=5)
    assert found == stationarity(BASE, rng=np.random.default_rng(5))
    assert json.loads(json.dumps(dataclasses.asdict(found)))["blocks"] == 32


def test_does_not_depend_on_unit_and_offset():
    a, b = stationarity(BASE), stationarity(1e3 * BASE - 7)
    assert a.p_value == b.p_value and a.effect == pytest.approx(b.effect)


@pytest.mark.parametrize(
    ("series", "settings", "message"),
    [
        (BASE[:50], {}, "50 samples are too few"),
        (np.ones(500), {}, "different value"),
        (BASE, {"alpha": 0}, "alpha = 0"),
        (BASE, {"least_effect": -1}, "least_effect = -1"),
        (BASE, {"replicates": 50}, "replicates = 50 cannot show"),
    ],
)
def test_bad_input_is_refused(series, settings, message):
    with pytest.raises(QuantifyError, match=message):
        stationarity(series, **settings)
