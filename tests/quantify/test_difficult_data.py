"""Data that would spoil the numbers: many sensors, wild samples, magnitudes, drifting series."""

import numpy as np
import pytest

from quantify import QuantifyError, quantify
from quantify.systems import Henon, Lorenz

N = 20_000
CHANGE = {"stationary": False, "feature": "mean", "change": 1000, "transient": 2000}


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


def test_a_random_walk_has_no_scaling_region():
    """Its delay is so long that no stretch can come back."""
    q = quantify(np.cumsum(np.random.default_rng(1).standard_normal(N)), replicates=0, choices=False)
    assert not q.scaling_region and any("too short for anything" in text for text in q.caveats)


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
