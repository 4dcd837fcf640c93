"""Correlation sums: known answers, the exact count against the naive one, invariances, bad input."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantify import QuantifyError, entropies
from quantify.correlation import correlation_sums
from quantify.correlation.bins import CELL_SHIFT, LEAST, UNSETTLED, make_bins, make_cells
from quantify.systems import Henon, Lorenz
from tests import naive
from tests.known_sums import geometric, random_shares

# ---- known answers


def test_two_points() -> None:
    sums = correlation_sums([0.0, 1.0, 3.0], tau=1, m_max=1, eps=[3.0, 2.0, 1.0], theiler=1, exact=True)
    np.testing.assert_array_equal(sums.pairs, [[1, 0, 0]])  # only 0 and 3 are more than 1 apart in time


def test_equality_counts_as_close() -> None:
    sums = correlation_sums([0.0, 1.0, 2.0, 3.0], tau=1, m_max=1, eps=[2.0, 1.0], theiler=0, exact=True)
    np.testing.assert_array_equal(sums.pairs, [[5, 3]])


def test_lattice() -> None:
    """A permuted lattice 0..n-1: the pairs within eps = k number sum over l = 1..k of n - l."""
    n = 200
    x = np.random.default_rng(0).permutation(n)
    sums = correlation_sums(x, tau=1, m_max=1, eps=[5.0, 3.0, 1.0], theiler=0, exact=True)
    np.testing.assert_array_equal(sums.pairs[0], [sum(n - l for l in range(1, k + 1)) for k in (5, 3, 1)])


def test_circle_has_dimension_one() -> None:
    """sin and cos of an irrational rotation: C grows as eps at small eps."""
    t = 2 * np.pi * np.arange(5000) * (np.sqrt(5) - 1) / 2
    x = np.stack([np.cos(t), np.sin(t)], axis=1)
    sums = correlation_sums(x, tau=1, m_max=1, eps=[0.2, 0.05], theiler=0, exact=True)
    dimension = np.log(sums.C[0, 0] / sums.C[0, 1]) / np.log(4)
    # The max norm replaces the arc by its larger projection, which bends C by O(eps^2) only.
    assert dimension == pytest.approx(1, abs=0.02)


def test_uniform_noise_fills_every_dimension() -> None:
    """C_1 = 2 eps - eps^2 for uniform noise, and C_m = C_1^m for independent samples."""
    x = np.random.default_rng(1).random(4000)
    sums = correlation_sums(x, tau=1, m_max=3, eps=[0.2], theiler=0, exact=True)
    one = 0.4 - 0.04
    # Standard error of C_1 from 4000 points is below .003 (twice the spread of the local density / sqrt(n)).
    for m in (1, 2, 3):
        assert sums.C[m - 1, 0] == pytest.approx(one**m, rel=0.03 * m)


@pytest.mark.parametrize(
    ("series", "tau", "m", "lo", "hi", "expected", "tolerance"),
    [
        (Henon().sample(20_000, 1)[:, 0], 1, 4, 0.01, 0.2, 1.21, 0.05),
        (Lorenz().sample(200_000, 1)[:, 0], 10, 6, 0.3, 2.0, 2.08, 0.08),
    ],
    ids=["henon", "lorenz"],
)
def test_dimension_of_known_attractors(series, tau, m, lo, hi, expected, tolerance) -> None:
    sums = correlation_sums(series, tau=tau, m_max=m, theiler=100)
    inside = (sums.eps >= lo) & (sums.eps <= hi)
    D = np.polyfit(np.log(sums.eps[inside]), np.log(sums.C[-1, inside]), 1)[0]
    assert pytest.approx(expected, abs=tolerance) == D


# ---- exact mode equals the naive count


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("tau", "m_max", "theiler", "n"), [(1, 1, 0, 90), (1, 4, 3, 130), (3, 3, 0, 70), (7, 5, 11, 160)]
)
def test_exact_equals_naive(d, dtype, tau, m_max, theiler, n) -> None:
    rng = np.random.default_rng(n + d)
    x = np.cumsum(rng.standard_normal((n, d)), axis=0).astype(dtype)
    eps = geometric(8, 9, 25)
    eps[7] = np.abs(np.float64(x[0, 0]) - np.float64(x[-1, 0])) or eps[7]  # a distance that occurs
    eps = np.unique(eps)[::-1]
    counts, total = naive.correlation_counts(x, tau, m_max, eps, theiler)
    series = x if d > 1 else x[:, 0]
    sums = correlation_sums(series, tau=tau, m_max=m_max, eps=eps, theiler=theiler, exact=True)
    np.testing.assert_array_equal(sums.pairs, counts)
    assert (sums.examined == total).all()
    np.testing.assert_array_equal(sums.C, counts / total)
    assert (sums.error == 0).all()


def test_exact_over_long_diagonals_and_many_scales() -> None:
    """More than one chunk per diagonal, scales counted by words and by walking, more than 250 scales."""
    x = Lorenz().sample(40_000, 3)[::2, 0]
    eps = geometric(40, 14, 300)
    sums = correlation_sums(x, tau=5, m_max=4, eps=eps, theiler=19_000, exact=True)
    n = len(x) - 15
    expected = np.zeros((4, len(eps)), np.int64)
    for lag in range(19_001, n):
        gaps = np.abs(x[lag:] - x[:-lag])
        pair = np.zeros(n - lag)
        for m in range(4):
            pair = np.maximum(pair, gaps[m * 5 : m * 5 + n - lag])
            expected[m] += np.searchsorted(np.sort(pair), eps, side="right")
    np.testing.assert_array_equal(sums.pairs, expected)


# ---- invariances


series_seeds = st.integers(0, 2**31)


@settings(max_examples=15, deadline=None)
@given(series_seeds, st.sampled_from([-4.0, 0.5, 2.0]), st.integers(-3, 3))
def test_shift_sign_and_scale(seed, scale, shift) -> None:
    # Multiples of 2^-20 and powers of two: the transformed series is exact in floating point.
    x = np.round(np.random.default_rng(seed).standard_normal(300) * 2**20) / 2**20
    eps = geometric(4, 6, 20)
    one = correlation_sums(x, tau=2, m_max=3, eps=eps, theiler=2, exact=True)
    two = correlation_sums(scale * x + shift, tau=2, m_max=3, eps=abs(scale) * eps, theiler=2, exact=True)
    np.testing.assert_array_equal(one.pairs, two.pairs)


@settings(max_examples=10, deadline=None)
@given(series_seeds, st.booleans())
def test_monotone_in_eps_and_in_m(seed, exact) -> None:
    x = np.cumsum(np.random.default_rng(seed).standard_normal(12_000 if not exact else 500))
    sums = random_shares(x, tau=1, m_max=10, theiler=5, exact=exact)
    assert (np.diff(sums.C, axis=0) <= 0).all() and (np.diff(sums.C, axis=1) <= 0).all()
    assert sums.C.max() <= 1


@settings(max_examples=10, deadline=None)
@given(series_seeds)
def test_order_of_sensors_is_irrelevant(seed) -> None:
    x = np.random.default_rng(seed).standard_normal((200, 3))
    one = correlation_sums(x, tau=1, m_max=2, eps=geometric(4, 4, 9), theiler=0, exact=True)
    two = correlation_sums(x[:, [2, 0, 1]], tau=1, m_max=2, eps=geometric(4, 4, 9), theiler=0, exact=True)
    np.testing.assert_array_equal(one.pairs, two.pairs)


@settings(max_examples=50, deadline=None)
@given(series_seeds, st.integers(1, 40))
def test_bins_look_up_exactly(seed, n) -> None:
    rng = np.random.default_rng(seed)
    eps = np.unique(np.exp(rng.uniform(-20, 5, n)))[::-1]
    bins = make_bins(eps)
    edges = [eps, np.nextafter(eps, 0), np.nextafter(eps, 1e9), [0.0]]
    distances = np.concatenate([np.exp(rng.uniform(-25, 8, 200)), *edges])
    bits = np.clip(distances, bins.low, bins.high).view(np.int64)
    cell = (bits >> bins.shift) - bins.base
    found = bins.top[cell] - (bits > bins.step[cell])
    np.testing.assert_array_equal(found, (distances[:, None] <= eps[None]).sum(axis=1))


@settings(max_examples=50, deadline=None)
@given(series_seeds, st.integers(1, 40), st.sampled_from([0.0, 1e6]))
def test_cells_are_right_or_unsettled(seed, n, offset) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((1, 60)) + offset
    gaps = np.abs(x.T - x)
    # Scales at, just below and just above distances that occur, and some that are far out.
    eps = np.concatenate([rng.choice(gaps[gaps > 0], n), np.exp(rng.uniform(-30, 5, n))])
    eps = np.unique(np.concatenate([eps, np.nextafter(eps, 0), np.nextafter(eps, 9e9)]))[::-1]
    cells = make_cells(x, eps, 1)
    units = cells.x[0, :60]
    distance = np.maximum(np.abs(units[:, None] - units), cells.low).astype(np.float32)
    found = cells.bins[(distance.view(np.int32) >> CELL_SHIFT) - cells.base]
    settled = found != UNSETTLED
    expected = (gaps[:, :, None] <= eps).sum(axis=2)
    np.testing.assert_array_equal(found[settled].astype(int) - LEAST, expected[settled])


@pytest.mark.filterwarnings("ignore:.*scales lie below")
@pytest.mark.parametrize("scale", [1e-280, 1.0, 1e300])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_any_unit_of_the_series(scale, offset) -> None:
    x = (np.random.default_rng(0).standard_normal((90, 1)) + offset) * scale
    eps = geometric(8, 60, 40) * scale
    counts, _ = naive.correlation_counts(x, 2, 3, eps, 1)
    sums = correlation_sums(x[:, 0], tau=2, m_max=3, eps=eps, theiler=1, exact=True)
    np.testing.assert_array_equal(sums.pairs, counts)


# ---- defaults and input


def test_default_grid_and_window_are_stated() -> None:
    x = Henon().sample(3000, 1)[:, 0]
    sums = correlation_sums(x, tau=1, m_max=3)
    # Eight scales per octave, the first one within a step of the range.
    assert np.ptp(x) * 2 ** (-1 / 8) < sums.eps[0] <= np.ptp(x)
    np.testing.assert_allclose(sums.eps[:-1] / sums.eps[1:], 2 ** (1 / 8))
    assert sums.eps[-1] >= sums.resolution and sums.theiler >= 1
    assert sums.pairs[1, -1] >= 100
    assert np.isfinite(entropies(sums).H[1]).all()


def test_extreme_samples_make_more_scales_and_move_none() -> None:
    x = Lorenz().sample(3000, 1)[:, 0]
    higher = np.append(x, [x.max() + 0.37 * np.ptp(x), x.min()])
    few, more = (correlation_sums(y, tau=10, m_max=2, theiler=30).eps for y in (x, higher))
    # The range is 2^.454 times as large: 3.6 steps. Two samples in 3,000 move the deciles by less than .1 %.
    added = np.flatnonzero(np.isclose(more, few[0], rtol=2e-3))[0]
    assert added in (3, 4)
    np.testing.assert_allclose(more[added : added + 30], few[:30], rtol=2e-3)


def test_a_series_that_rests_for_most_of_the_time_has_scales_from_its_range_on() -> None:
    x = np.where(np.arange(3000) % 100 < 95, 0.0, np.random.default_rng(0).uniform(1, 2, 3000))
    assert correlation_sums(x, tau=1, m_max=2, theiler=5).eps[0] == np.ptp(x)


def test_quantised_series_stop_at_their_step() -> None:
    x = np.round(Lorenz().sample(3000, 1)[:, 0] * 4) / 4
    sums = correlation_sums(x, tau=10, m_max=3)
    assert sums.resolution == 0.25 and sums.eps[-1] >= 0.25


def test_layouts_of_the_input_do_not_matter() -> None:
    x = np.round(Lorenz().sample(600, 1) * 8).astype(np.int64)
    x.flags.writeable = False
    arguments = dict(tau=2, m_max=2, eps=[64.0, 8.0, 1.0], theiler=4, exact=True)
    expected = correlation_sums(x.astype(float), **arguments).pairs
    np.testing.assert_array_equal(correlation_sums(x, **arguments).pairs, expected)
    np.testing.assert_array_equal(correlation_sums(np.asfortranarray(x), **arguments).pairs, expected)
    np.testing.assert_array_equal(correlation_sums(np.repeat(x, 2, axis=0)[::2], **arguments).pairs, expected)


GOOD = np.random.default_rng(0).standard_normal(300)


@pytest.mark.parametrize(
    ("series", "change", "message"),
    [
        (np.where(np.arange(300) == 7, np.nan, GOOD), {}, "nan at sample 7"),
        (np.where(np.arange(300) == 9, np.inf, GOOD), {}, "inf at sample 9"),
        (np.ones(300), {}, "only 1 different"),
        (GOOD > 0, {}, "dtype bool"),
        ((GOOD > 0).astype(float), {}, "only 2 different"),
        (GOOD.reshape(3, 100), {}, "transpose"),
        (GOOD.reshape(3, 10, 10), {}, r"shape \(3, 10, 10\)"),
        (np.array([]), {}, r"shape \(0,\)"),
        (np.array(["a", "b"]), {}, "dtype"),
        (GOOD + 0j, {}, "dtype complex"),
        (GOOD, {"tau": 0}, "tau = 0"),
        (GOOD, {"tau": 1.5}, "tau = 1.5"),
        (GOOD, {"m_max": 0}, "m_max = 0"),
        (GOOD, {"theiler": -1}, "theiler = -1"),
        (GOOD, {"m_max": 150, "tau": 2}, "300 samples are too few"),
        (GOOD, {"theiler": 298}, "at least"),
        (GOOD, {"eps": [1.0, 0.0]}, "eps holds 0.0"),
        (GOOD, {"eps": [0.5, 1.0]}, "descending"),
        (GOOD, {"eps": [np.nan]}, "eps holds nan"),
        (GOOD, {"eps": []}, r"shape \(0,\)"),
        (GOOD, {"accuracy": 0.0}, "accuracy = 0"),
        (GOOD, {"blocks": -1}, "blocks = -1"),
        (GOOD, {"blocks": 1000}, "blocks = 1000"),
    ],
)
def test_bad_input_is_refused(series, change, message) -> None:
    arguments = {"tau": 1, "m_max": 2, "theiler": 1} | change
    with pytest.raises(QuantifyError, match=message):
        correlation_sums(series, **arguments)


def test_scales_below_the_resolution_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="1 of 2 scales"):
        correlation_sums(np.arange(100.0) % 7, tau=1, m_max=2, eps=[2.0, 0.5], theiler=0)


def test_progress_reaches_the_end() -> None:
    for n, exact in ((500, True), (8_000, False)):
        calls: list[tuple[float, float]] = []
        x = Henon().sample(n, 1)[:, 0]
        random_shares(x, tau=1, m_max=9, theiler=5, exact=exact, progress=lambda *c, to=calls: to.append(c))
        assert calls[-1][0] == calls[-1][1] and len(calls) > 3


@pytest.mark.guard
def test_works_without_compilation() -> None:
    """NUMBA_DISABLE_JIT=1 gives the same counts in both modes on tiny data."""
    code = (
        "import numpy as np, quantify.correlation.estimate as c\n"
        "x = np.sin(np.arange(70.0)**1.5)\n"
        # Far more than the range too: what lies behind the end of the series must not be looked at.
        # More scales than a signed byte has positive values: sums of bytes must not run over.
        "E = np.concatenate([np.ptp(x) * np.linspace(2.1, 1.9, 9), np.geomspace(1.0, .01, 150)])\n"
        "a = c.correlation_sums(x, tau=2, m_max=4, eps=E, theiler=2, exact=True, workers=1)\n"
        "c.SMALL_WORK = 0\n"
        "b = c.correlation_sums(x, tau=2, m_max=4, eps=E, theiler=2, workers=1)\n"
        "print(a.pairs.tolist(), (b.pairs == a.pairs).all(), (b.C == a.C).all())"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    runs = [
        subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": off}, capture_output=True, text=True)
        for off in "10"
    ]
    assert runs[0].returncode == 0, runs[0].stderr
    assert runs[0].stdout == runs[1].stdout and runs[0].stdout.endswith("True True\n")
