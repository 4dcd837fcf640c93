"""The decomposition against its slow twin, its identities, ranges, defaults and errors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantify import QuantifyError, correlation_sums, decompose, default_eps_min, fit_scaling
from quantify.decomposition.ranges import deterministic_runs, weigh_ranges
from quantify.decomposition.terms import round_half_even
from quantify.systems import Roessler
from tests import naive
from tests.known_sums import ideal_sums, make_sums

QUALITY = ["kappa", "deterministic", "no_fit", "extrapolated", "negative"]
FIELDS = ["E_state", "E_eps", "E_mem", "E_raw", "m_l", "m_u", *QUALITY]


def random_sums(rng, M=6, n=60, missing=True):
    """Sums whose conditional entropies are piecewise straight, noisy, and end at small scales."""
    eps = np.geomspace(10, 1e-2, n)
    x = np.log(eps[0] / eps)
    h = np.array([np.interp(x, [0, 2, 4, 7], np.cumsum(rng.uniform(0, 2.5 / (m + 1), 4))) for m in range(M)])
    H = np.cumsum(h + rng.normal(0, 0.003, h.shape) * x, axis=0)
    C = np.exp(-np.maximum(H, 0))
    if missing:
        C[rng.choice([1e-4, 1e-6]) > C] = 0
    return make_sums(eps, C)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    s_min=st.sampled_from([0.05, 0.1]),
    kappa_max=st.sampled_from([0.45, 0.5]),
    p=st.sampled_from([0.1, 0.25, 0.5]),
    remove_negative=st.booleans(),
    d=st.integers(1, 2),
)
def test_equals_the_naive_twin(seed, s_min, kappa_max, p, remove_negative, d):
    sums = random_sums(np.random.default_rng(seed))
    sums = make_sums(sums.eps, sums.C, d=d)
    parts = decompose(
        sums,
        eps_min=0.02,
        s_min=s_min,
        kappa_max=kappa_max,
        fit_points=10,
        quantile=p,
        remove_negative=remove_negative,
    )
    keep = sums.eps >= 0.02
    expected, fits = naive.decompose(
        sums.eps[keep],
        sums.C[:, keep],
        s_min=s_min,
        det_thresh=1 - kappa_max,
        L=10,
        p=p,
        remove_negative=remove_negative,
        d=d,
    )
    for name in FIELDS:
        # 30 nats times k = 5, and slopes from fits of a hundred points: a few of 16 digits are lost.
        assert getattr(parts, name) == pytest.approx(
            [row[name] for row in expected], abs=1e-8, nan_ok=True
        ), name
    assert [[f.i for f in row] for row in parts.fits] == [
        [(a, b) for a, b, _, _ in row] for row in fits.values()
    ]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), remove_negative=st.booleans())
def test_the_parts_sum_to_the_whole(seed, remove_negative):
    parts = decompose(random_sums(np.random.default_rng(seed)), eps_min=0.0, remove_negative=remove_negative)
    k = np.arange(1, 6)[:, None]
    assert parts.E_state + parts.E_eps + parts.E_mem == pytest.approx(
        (k * parts.delta_h).sum(axis=0), abs=1e-10
    )
    assert np.array_equal(parts.E_core, parts.E_state + parts.E_mem)
    if remove_negative:
        assert (parts.delta_h >= 0).all() and (parts.plateau >= 0).all()


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), factor=st.sampled_from([2.0**-7, 0.25, 2.0, 1024.0]))
def test_a_change_of_unit_moves_eps_and_nothing_else(seed, factor):
    sums = random_sums(np.random.default_rng(seed))
    one, two = (
        decompose(sums, eps_min=0.05),
        decompose(make_sums(sums.eps * factor, sums.C), eps_min=0.05 * factor),
    )
    assert two.eps == pytest.approx(one.eps * factor, rel=1e-14)
    for name in FIELDS:
        assert getattr(two, name) == pytest.approx(getattr(one, name), abs=1e-8, nan_ok=True), name
    assert two.best_range() is None or two.best_range().lo == pytest.approx(one.best_range().lo * factor)


def test_an_ideal_system_gives_what_was_put_in():
    """D = 2.3: terms 2 and 3 carry the slopes .7 and .3; state .4 (m = 1), memory 5 * .1, no drift."""
    parts = decompose(ideal_sums(), s_min=0.07)
    r = parts.over(0.01, 0.25)
    assert r.terms == (2, 3) and r.deterministic == 1
    # The flat fits reach a few points over the corner at eps = 1, within their tolerated error.
    assert (r.E_state, r.E_core) == pytest.approx((0.4, 0.9), abs=0.02)
    # Noiseless, so that only rounding is left.
    assert (r.E_mem, r.kappa, r.drift, r.D) == pytest.approx((0.5, 0, 0, 2.3), abs=1e-6)
    assert parts.E_raw[-1] == pytest.approx(2.3 * np.log(2**8) + 0.9, abs=1e-6)


def test_grid_independence():
    """Half as many scales at the same width in octaves: the same result."""
    fine = ideal_sums(n=241)
    coarse = make_sums(fine.eps[::2], fine.C[:, ::2])
    a, b = decompose(fine).over(0.01, 0.25), decompose(coarse).over(0.01, 0.25)
    # The corner falls between other points, see above.
    assert (b.E_state, b.E_mem, b.D) == pytest.approx((a.E_state, a.E_mem, a.D), abs=0.02)
    assert decompose(fine).settings["fit_points"] == 2 * decompose(coarse).settings["fit_points"]


def test_several_observables_divide_the_slopes():
    """With d = 2 and D = 2 the slopes of one term sum to 2: kappa is 0 after division by d, -1 without."""
    eps = np.geomspace(16, 2**-8, 121)
    x = np.maximum(0, -np.log(eps))
    h = np.vstack([0.5 + 2 * x, *[0.1 + 0 * x] * 5])
    C = np.exp(-np.cumsum(h, axis=0))
    assert decompose(make_sums(eps, C, d=2)).over(0.01, 0.25).kappa == pytest.approx(0, abs=1e-6)
    assert decompose(make_sums(eps, C, d=1)).over(0.01, 0.25).kappa == pytest.approx(-1, abs=1e-6)


def test_independent_noise_is_stochastic_and_has_no_range():
    eps = np.geomspace(1, 1e-3, 80)
    parts = decompose(make_sums(eps, np.stack([(2 * eps - eps**2) ** m for m in range(1, 5)])))
    assert not parts.deterministic.any() and parts.kappa == pytest.approx(np.ones(len(parts.eps)), abs=1e-9)
    assert parts.best_range() is None and parts.ranges() == ()
    assert parts.E_core == pytest.approx(np.zeros(len(parts.eps)), abs=1e-9)


def test_threshold_is_closed_and_exact():
    """Slopes that sum to .55 are deterministic at kappa_max = .45, in spite of 1 - .45's last bit."""
    eps = 2.0 ** -np.arange(40)
    x = np.log(eps[0] / eps)
    h = np.vstack([9 + 0.55 * x, 3 + 0 * x])
    parts = decompose(make_sums(eps, np.exp(-np.cumsum(h, axis=0))), eps_min=0, kappa_max=0.45 - 1e-9)
    assert parts.deterministic.sum() in (0, 40)
    parts = decompose(make_sums(eps, np.exp(-np.cumsum(h, axis=0))), eps_min=0, kappa_max=0.45 + 1e-9)
    assert parts.deterministic.all()


def test_over_counts_every_scale_once_and_includes_both_ends():
    parts = decompose(random_sums(np.random.default_rng(5)), eps_min=0.02)
    lo, hi = parts.eps[30], parts.eps[10]
    r = parts.over(lo, hi)
    assert (r.lo, r.hi, r.n) == (lo, hi, 21)
    i = slice(10, 31)
    assert r.E_state == pytest.approx(parts.E_state[i].mean()) and r.E_mem == pytest.approx(
        parts.E_mem[i].mean()
    )
    assert r.E_core_sd == pytest.approx(parts.E_state[i].std(ddof=1) + parts.E_mem[i].std(ddof=1))
    assert r.drift == pytest.approx(np.polyfit(np.log(parts.eps[i]), parts.E_core[i], 1)[0])
    with pytest.raises(QuantifyError, match="No scale of the grid"):
        parts.over(1000, 2000)


def test_ranges_and_default():
    parts = decompose(ideal_sums())
    candidates = parts.ranges()
    assert sum(r.default for r in candidates) == 1
    best = parts.best_range()
    assert best.octaves > 2 and best.deterministic == pytest.approx(1, abs=0.05)
    assert best.E_core == pytest.approx(0.9, abs=0.02) and pytest.approx(2.3, abs=0.1) == best.D


def test_an_interval_of_s_min_averages_the_parts():
    sums = random_sums(np.random.default_rng(3))
    mean = decompose(sums, eps_min=0.05, s_min=(0.05, 0.1))
    middles = 0.05 + 0.05 * (np.arange(12) + 0.5) / 12
    each = [decompose(sums, eps_min=0.05, s_min=float(s)) for s in middles]
    for name in ("E_state", "E_mem", "E_eps", "E_core", "kappa"):
        assert getattr(mean, name) == pytest.approx(np.mean([getattr(p, name) for p in each], axis=0)), name


def test_the_average_over_s_min_is_an_integral():
    """A step of height J between two of 12 middles moves it by J / 24 at most; with both ends among six
    thresholds it moved by up to J / 6.
    """
    sums = correlation_sums(Roessler(sampling=1.0).sample(8000, 1)[:, 0], tau=1, m_max=8, theiler=5)
    fine = np.array(
        [decompose(sums, s_min=float(s)).E_core for s in 0.05 + 0.05 * (np.arange(600) + 0.5) / 600]
    )
    steps = np.abs(np.diff(fine, axis=0)).sum(axis=0)
    assert steps.max() > 0.5  # there is something to average
    off = np.abs(decompose(sums, s_min=(0.05, 0.1)).E_core - fine.mean(axis=0))
    assert (off <= steps * (1 / 24 + 1 / 600) + 1e-12).all()


def test_slow_noise_has_no_scaling_region():
    """A dimension well below 1 is no motion: E_M grows by .6 per e-fold at all scales."""
    eps = 2.0 ** (-np.arange(64) / 8)
    x = -np.log(eps)
    h = np.vstack([0.5 + 0.6 * x, *[0.2 + 0 * x] * 5])
    parts = decompose(make_sums(eps, np.exp(-np.cumsum(h, axis=0))), eps_min=0)
    assert parts.deterministic.all() and pytest.approx(0.6, abs=0.05) == parts.plausible().D
    assert parts.best_range() is None


def test_runs():
    yes = np.array([1, 1, 1, 0, 1, 1, 1, 1, 0, 1], bool)
    m_l = np.array([1, 1, 2, 2, 2, 2, 2, 2, 2, 1])
    m_u = np.array([2, 2, 2, 2, 3, 3, 4, 4, 4, 4])
    assert list(deterministic_runs(yes, m_l, m_u)) == [(0, 1), (4, 5), (6, 7)]


@pytest.mark.parametrize("seed", range(5))
def test_weights_of_ranges_equal_the_naive_ones(seed):
    rng = np.random.default_rng(seed)
    x = np.log(2.0 ** (-np.arange(30) / 8 + rng.uniform(-0.01, 0.01, 30)))
    E_core, E_raw = rng.uniform(0, 3, 30), np.cumsum(rng.uniform(0, 0.3, 30))
    determinism = np.clip(rng.uniform(-0.5, 1.5, 30), 0, 1)
    found = weigh_ranges(x, E_core, E_raw, determinism)
    expected = naive.weigh_ranges(x, E_core, E_raw, determinism)
    assert found.scales == pytest.approx(expected["scales"], abs=1e-12)
    for name in ("lo", "hi", "D", "drift", "octaves"):
        assert getattr(found, name) == pytest.approx(expected[name], rel=1e-9), name


def test_nothing_deterministic_has_no_weights():
    x = -np.arange(30) / 10
    assert (
        weigh_ranges(x, x, x, np.zeros(30)) is None and weigh_ranges(x[:2], x[:2], x[:2], np.ones(2)) is None
    )


def test_flat_and_long_ranges_count_most():
    """E_core is flat below scale 20 and rough above: the scales of the plateau carry the weight."""
    x = -np.arange(40) * np.log(2) / 8
    E = np.where(np.arange(40) < 20, np.arange(40) % 7, 1.0)
    weights = weigh_ranges(x, E, -x, np.ones(40)).scales
    assert weights[20:].sum() > 0.8 and weights @ E == pytest.approx(1.0, abs=0.35)


def test_round_half_even():
    assert [round_half_even(total, 10) for total in (4, 5, 6, 15, 25, 26, 35)] == [0, 0, 1, 2, 2, 3, 4]


def test_eps_min_from_pairs():
    eps = 2.0 ** -np.arange(20)
    C = np.stack([eps, eps**2])  # 1e12 pairs: 1e4 of them closer than 1e-4 = 2**-13.3
    assert default_eps_min(make_sums(eps, C)) == (2.0**-13, "pairs")
    assert default_eps_min(make_sums(eps[:10], C[:, :10])) == (2.0**-9, "grid")
    parts = decompose(make_sums(eps, C))
    assert parts.settings["eps_min"] == 2.0**-13 and parts.settings["eps_min_from"] == "pairs"
    assert len(parts.eps) == 14


def test_of_a_random_share_pairs_must_have_been_counted():
    """At 2**-13 there are 15,000 pairs among all, and in a hundredth of them 10,000 at 2**-9."""
    eps = 2.0 ** -np.arange(20)
    sums = make_sums(eps, np.stack([eps, eps**2]))
    assert default_eps_min(sums) == (2.0**-13, "pairs")
    share = np.where(eps >= 2.0**-11, sums.examined // 100, sums.examined // 1000)
    assert default_eps_min(replace(sums, examined=share)) == (2.0**-9, "pairs")


@pytest.mark.parametrize(("between", "end"), [(6.6e-4, 2.0**-13), (6.5e-4, 2.0**-7)])
def test_a_share_that_is_small_in_between(between, end):
    """Of 3.8e6 pairs at 2**-9 a share has 2,518 or 2,480: a quarter of 10,000, or less."""
    eps = 2.0 ** -np.arange(20)
    sums = make_sums(eps, np.stack([eps, eps**2]))
    small = (eps < 2.0**-7) & (eps > 2.0**-10)
    examined = np.where(small, between * sums.examined, sums.examined).astype(np.int64)
    assert default_eps_min(replace(sums, examined=examined)) == (end, "pairs")


def test_eps_min_from_resolution():
    """Steps of the grid become finer than the data's resolution at eps (1 - 1/2) < .01."""
    eps = 2.0 ** -np.arange(20)
    assert default_eps_min(make_sums(eps, np.stack([eps, eps]), resolution=0.01)) == (2.0**-6, "resolution")


def test_short_series_need_a_share_of_the_pairs():
    """5,000 pairs in all: 1 % of them are enough."""
    eps = 2.0 ** -np.arange(20)
    assert default_eps_min(make_sums(eps, np.stack([eps, eps**2]), total=5000)) == (2.0**-3, "pairs")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"s_min": 0.0}, "s_min"),
        ({"s_min": float("nan")}, "s_min"),
        ({"kappa_max": 1.5}, "kappa_max"),
        ({"eps_min": -1.0}, "eps_min"),
        ({"eps_min": float("nan")}, "eps_min"),
        ({"eps_min": 9.9}, "at least three"),
        ({"fit_octaves": 0.0}, "fit_octaves"),
        ({"fit_points": 1}, "at least 2"),
        ({"derivative_points": 1}, "derivative_points"),
        ({"average_points": 0}, "average_points"),
    ],
)
def test_bad_settings(setting, words):
    with pytest.raises(QuantifyError, match=words):
        decompose(random_sums(np.random.default_rng(0)), **setting)


def test_bad_sums():
    eps = np.geomspace(1, 0.01, 10)
    with pytest.raises(QuantifyError, match="at least 2 embedding"):
        decompose(make_sums(eps, eps[None]))
    with pytest.raises(QuantifyError, match="descending"):
        decompose(make_sums(eps[::-1], np.stack([eps, eps**2])))
    with pytest.raises(QuantifyError, match="at least three"):
        decompose(make_sums(eps[:2], np.stack([eps, eps**2])[:, :2]))
    with pytest.raises(QuantifyError, match="10,000 close pairs: use more data"):
        decompose(make_sums(eps, np.stack([eps, eps * 1e-12])))


def test_fit_scaling_of_an_ideal_system():
    fits = fit_scaling(ideal_sums())
    # The curve is noiseless: its pieces are found up to the corner.
    assert (
        pytest.approx(2.3, abs=0.01) == fits[-1].D and fits[-1].n_points == fits[-1].i[1] - fits[-1].i[0] + 1
    )
    # E_M = 2.3 x + 0.4 + 0.5 below eps = 1.
    assert fits[-1].const == pytest.approx(0.9, abs=0.03)


# ---- means over given scales, whatever the size of the series


@pytest.fixture(scope="module")
def circle():
    x = np.sin(np.arange(4000) * 0.37) + 0.01
    return decompose(correlation_sums(x, tau=4, m_max=5))


def test_a_range_inside_the_series_is_a_plain_mean(circle):
    found, expected = circle.over_scales(0.2, 0.8), circle.over(0.2, 0.8)
    for name in ("E_core", "E_state", "E_mem", "D", "kappa"):
        assert found[name] == getattr(expected, name)
    assert (found["lo"], found["hi"], found["covered"]) == (0.2, 0.8, 1.0)


def test_scales_larger_than_the_series_count_as_zero(circle):
    top = float(circle.eps[0])
    assert circle.over_scales(2 * top, 8 * top) == {
        **{"lo": 2 * top, "hi": 8 * top, "covered": 1.0},
        **{"E_core": 0.0, "E_state": 0.0, "E_mem": 0.0, "D": 0.0, "kappa": None},
    }
    # Half of the octaves lie above the largest distance.
    half = circle.over_scales(top / 4, 4 * top)
    assert half["E_core"] == pytest.approx(circle.over(top / 4, top).E_core / 2)
    assert half["covered"] == 1.0


def test_scales_below_the_reliable_ones_are_left_out_and_said_to_be(circle):
    bottom = float(circle.eps[-1])
    partly = circle.over_scales(bottom / 2, 2 * bottom)
    assert partly["covered"] == pytest.approx(0.5)
    assert partly["E_core"] == circle.over(bottom, 2 * bottom).E_core
    nothing = circle.over_scales(bottom / 8, bottom / 2)
    assert nothing == {"lo": bottom / 8, "hi": bottom / 2, "covered": 0.0}


@pytest.mark.parametrize(("lo", "hi"), [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (np.nan, 1.0)])
def test_scales_must_be_a_range(circle, lo, hi):
    with pytest.raises(QuantifyError, match="0 < lo < hi"):
        circle.over_scales(lo, hi)


def test_repr_is_one_line():
    parts = decompose(ideal_sums())
    assert repr(parts).startswith("<Decomposition: m = 1..8, ") and len(repr(parts)) < 120
    assert f"{parts.deterministic.sum()} of them deterministic" in repr(parts)
