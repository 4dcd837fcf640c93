"""Data that would spoil the numbers: many sensors, wild samples, magnitudes, drifting series."""

import numpy as np
import pytest

from quantify import QuantifyError, quantify
from quantify.systems import ARMA, AutoRegressive, Henon, Logistic, Lorenz

N = 20_000
CHANGE = {"stationary": False, "feature": "mean", "change": 1000, "transient": 2000}


@pytest.mark.guard
def test_two_observables_of_one_system():
    """x and z of Lorenz: the slopes sum to min(d, D) = 2; after division by d, kappa is near 0."""
    q = quantify(Lorenz().sample(N, 1)[:, [0, 2]], tau=10, m_max=6)
    assert q.sums.d == 2 and q.range.kappa == pytest.approx(0, abs=0.15)
    # 2.06 is approached from below: the range lies at large scales.
    assert q.D.value == pytest.approx(2.06, abs=0.25)


def test_a_doubled_observable_changes_nothing():
    """Determinism is measured against the slope of H_1, which a copy does not change."""
    x = Lorenz().sample(3000, 1)[:, 0]
    kw = {"tau": 10, "m_max": 6, "theiler": 100, "replicates": 0, "stationarity": False, "choices": False}
    one, two = quantify(x, **kw), quantify(np.stack([x, x], axis=1), **kw)
    assert np.array_equal(one.sums.C, two.sums.C)
    # H_1 of one observable counts as 1 where its local slope is a little above or below that.
    small = one.decomposition.eps < 4
    assert two.decomposition.kappa[small] == pytest.approx(one.decomposition.kappa[small], abs=0.15)
    assert any("column 1" in text for text in two.caveats)


@pytest.mark.parametrize("columns", [1, 3, 6, 12])
def test_noise_in_many_columns_is_noise(columns):
    x = np.random.default_rng(1).standard_normal((3000, columns))
    q = quantify(x, tau=1, m_max=3, replicates=0, choices=False)
    assert not q.scaling_region


def test_a_gait_seen_by_twelve_sensors_is_deterministic():
    t = np.arange(4000)[:, None]
    q = quantify(np.sin(0.2017 * t + np.arange(12) * np.pi / 6), tau=5, m_max=6, replicates=0, choices=False)
    assert q.scaling_region and q.range.kappa < 0.1 and q.D.value == pytest.approx(1, abs=0.1)


def test_a_perfect_cycle_has_no_stochastic_scales():
    """It has so few distances that small scales tell nothing new: no slope, but no noise either."""
    t = np.arange(20_000)[:, None]
    q = quantify(np.sin(t / 5 + np.arange(2) * np.pi / 6), replicates=0, choices=False)
    assert q.decomposition.kappa[-1] > 0.5  # what the slopes alone would say
    assert q.scaling_region and q.stochastic_below is None and q.PI is None


@pytest.mark.parametrize(
    ("system", "n"), [(Henon(), 600), (Henon(), 1000), (Logistic(), 600), (Lorenz(), 1000)]
)
def test_a_short_series_of_a_map_or_a_flow_is_not_called_stochastic(system, n):
    """Ten steps reach scales near the size of all, where everything looks stochastic; few steps tell."""
    x = system.sample(n, 1).reshape(n, -1)[:, 0]
    q = quantify(x, replicates=0, choices=False, stationarity=False)
    assert not q.scaling_region and q.stochastic_below is None and q.E is None and q.PI is None
    assert "whether it is noise cannot be told" in q.summary()


@pytest.mark.parametrize(
    "process", [AutoRegressive((1.6, -0.8)), AutoRegressive((0.6,)), ARMA((), (0.9, 0.5))]
)
def test_a_short_series_of_a_process_with_noise_has_its_limit(process):
    q = quantify(process.sample(1000, 1), replicates=20, choices=False, stationarity=False)
    assert q.stochastic_below is not None
    # A thousand samples: PI scatters by .02 to .07 over realisations.
    assert q.PI.value == pytest.approx(process.PI(5), abs=0.2)


def test_one_system_in_many_mixes_is_the_same_system():
    """Lorenz as 3, 6 and 12 mixes of its coordinates: one verdict, one complexity, redundant columns named.
    (One mix alone shows less of it at this length.)"""
    state = Lorenz().sample(10_000, 1)
    mixes = (state / state.std(axis=0)) @ np.random.default_rng(1).standard_normal((3, 12))
    mixes /= mixes.std(axis=0)
    found = {d: quantify(mixes[:, :d], tau=10, m_max=6, replicates=30, choices=False) for d in (3, 6, 12)}
    for d, q in found.items():
        assert q.scaling_region and abs(q.range.kappa) < 0.1
        # From below: the ranges lie on scales of a tenth of the attractor.
        assert q.D.value == pytest.approx(2.06, abs=0.25)
        # Two intervals of ± .1 each.
        assert all(abs(q.E_core.value - other.E_core.value) < 0.15 for other in found.values())
        assert any(f"{d - 3} of {d} columns tell nothing new" in text for text in q.caveats) == (d > 3)


def torus(n: int, seed: int, wander: float) -> np.ndarray:
    """Three angles in 18 mixes, with noise of 1 % on each; their phases wander by so much in a step."""
    rng = np.random.default_rng(seed)
    frequencies = 0.31 * np.array([1.0, 2**0.5, (1 + 5**0.5) / 2])
    angles = frequencies * np.arange(n)[:, None] + rng.uniform(0, 2 * np.pi, 3)
    angles += np.cumsum(wander * rng.standard_normal((n, 3)), axis=0)
    x = np.hstack([np.sin(angles), np.cos(angles)]) @ rng.standard_normal((6, 18))
    return x / x.std(axis=0) + 0.01 * rng.standard_normal((n, 18))


@pytest.mark.guard
@pytest.mark.parametrize("seed", [1, 2])
def test_a_torus_in_eighteen_noisy_channels_has_three_dimensions(seed):
    q = quantify(torus(15_000, seed, wander=0.02), tau=2, m_max=3, replicates=0, choices=False)
    assert q.scaling_region and abs(q.range.kappa) < 0.1
    assert q.D.value == pytest.approx(3, abs=0.15)


@pytest.mark.guard
def test_a_torus_without_chance_has_three_dimensions():
    """Its distances depend on the lag alone, N of them instead of N^2 / 2: it takes more samples."""
    q = quantify(torus(60_000, 1, wander=0.0), tau=2, m_max=3, replicates=0, choices=False)
    assert q.scaling_region and q.D.value == pytest.approx(3, abs=0.15)


def test_a_random_walk_has_no_scaling_region():
    """Its delay is so long that no stretch can come back."""
    q = quantify(np.cumsum(np.random.default_rng(1).standard_normal(N)), replicates=0, choices=False)
    assert not q.scaling_region and any("too short for anything" in text for text in q.caveats)


def test_without_a_scaling_region_there_is_no_dimension():
    """Of 400 samples of a flow, no range of scales can be told from noise, and none is stochastic either."""
    q = quantify(Lorenz().sample(400, 1)[:, 0], replicates=0, choices=False)
    assert not q.scaling_region and q.stochastic_below is None and np.isnan(q.D.value)
    assert q.E_core.value > 0


def test_one_wild_sample_moves_nothing_in_silence():
    x = Lorenz().sample(N, 1)[:, 0]
    one = quantify(x, tau=18, choices=False)
    x = x.copy()
    x[N // 3] = 20 * x.max()
    two = quantify(x, tau=18, choices=False)
    assert abs(two.E_core.value - one.E_core.value) < one.E_core.sampling
    assert any("far from all others" in text for text in two.caveats)


@pytest.mark.parametrize("factor", [2.0**-990, 2.0**900])
def test_magnitude_does_not_matter(factor):
    x = Henon().sample(3000, 1)[:, 0]
    settings = {"tau": 1, "m_max": 4, "replicates": 20, "choices": False}
    one, two = quantify(x, **settings), quantify(x * factor, **settings)
    # ln eps is rounded at another size: 1e-16 of 700.
    assert two.E_core.value == pytest.approx(one.E_core.value, abs=1e-9)
    assert two.range.lo == pytest.approx(one.range.lo * factor)


def test_unit_and_sign_of_the_series_do_not_matter():
    x = Lorenz().sample(5000, 3)[:, 0]
    one, two = (quantify(s, tau=10, m_max=8, replicates=20) for s in (x, -4 * x))
    assert two.range.lo == pytest.approx(4 * one.range.lo)
    for name in ("E_state", "E_mem", "E_core", "D"):
        a, b = getattr(one, name), getattr(two, name)
        assert (b.value, b.sampling, b.spread) == pytest.approx((a.value, a.sampling, a.spread), abs=1e-9)


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (np.r_[np.zeros(10), np.nan, np.ones(500)], "nan"),
        (np.ones(1000), "only 1"),
        (np.zeros((3, 4, 5)), "shape"),
        (np.random.default_rng(0).normal(size=30), "too few"),
        (np.random.default_rng(5).integers(0, 4, 2000), "quantised in steps of 1"),
    ],
)
def test_bad_series(series, words):
    with pytest.raises(QuantifyError, match=words):
        quantify(series, tau=5, m_max=10)
