"""Straight segments: the fast kernel against the slow twin, and the rule's corners by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantify import QuantifyError, SegmentRule, line_segments
from quantify.segments import _drop_overlaps
from tests import naive

EPS = np.geomspace(10, 1e-3, 70)
X = np.log(EPS)


def assert_same(found, expected):
    assert [f.i for f in found] == [(a, b) for a, b, _, _ in expected]
    # The moments of up to 100 points of order 10 lose a few of 16 digits.
    assert [f.o for f in found] == pytest.approx([o for _, _, o, _ in expected], abs=1e-9)
    assert [f.s for f in found] == pytest.approx([s for *_, s in expected], abs=1e-9)


def curve(rng, n_knots, noise):
    """A continuous, piecewise straight curve with noise that grows towards small scales."""
    knots = np.sort(rng.uniform(X[-1], X[0], n_knots))
    slopes = rng.normal(0, 0.5, n_knots + 1)
    y = np.zeros_like(X)
    for i in range(1, len(X)):
        y[i] = y[i - 1] - slopes[np.searchsorted(knots, X[i])] * (X[i] - X[i - 1])
    return y + noise * rng.normal(size=len(X)) * EPS**-0.3


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_knots=st.integers(0, 4),
    noise=st.sampled_from([1e-4, 1e-2]),
    L=st.integers(2, 15),
    p=st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.99, 1.0]),
    n_missing=st.integers(0, 69),
)
def test_equals_the_naive_twin(seed, n_knots, noise, L, p, n_missing):
    y = curve(np.random.default_rng(seed), n_knots, noise)
    y[len(y) - n_missing :] = np.nan
    assert_same(line_segments(EPS, y, SegmentRule(L, p)), naive.line_segments(X, y, L, p))


def test_gaps_are_closed():
    """Missing points in the middle are left out; indices still refer to the grid."""
    y = curve(np.random.default_rng(3), 2, 1e-3)
    y[[5, 20, 21, 44]] = np.nan
    found = line_segments(EPS, y, SegmentRule(8))
    assert_same(found, naive.line_segments(X, y, 8, 0.25))
    assert len(found) > 0


def test_two_pieces_and_their_slopes():
    """A plateau, a corner, a slope: both pieces are found, with the right sign."""
    y = np.where(X > 0, 1.0, 1.0 - 0.5 * X) + 1e-5 * np.random.default_rng(0).normal(size=len(X))
    found = line_segments(EPS, y, SegmentRule(10))
    assert len(found) == 2
    # 1e-5 noise over a unit of x, and one point of the other piece, which the
    # tolerated error can admit.
    assert [f.s for f in found] == pytest.approx([0.0, 0.5], abs=1e-3)
    assert [f.o for f in found] == pytest.approx([1.0, 1.0], abs=2e-3)
    plateau, slope = found
    assert plateau.eps[0] >= 0.9 and slope.eps[1] <= 1.1
    assert slope.eps == (EPS[slope.i[1]], EPS[slope.i[0]])
    assert slope(np.array([0.1])) == pytest.approx([1 + 0.5 * np.log(10)], abs=1e-3)


@pytest.mark.parametrize("y", [np.full(70, np.nan), np.where(np.arange(70) < 11, 1.0, np.nan), np.zeros(70)])
def test_nothing_to_find(y):
    """All missing; one short fit only; all errors equal, so that none is below the threshold."""
    assert line_segments(EPS, y, SegmentRule(10)) == ()


def overlaps(*fits):
    first, last = (np.array(side) for side in zip(*fits, strict=True))
    n = _drop_overlaps(first, last, len(fits), 0.3)
    return list(zip(first[:n].tolist(), last[:n].tolist(), strict=True))


def test_overlap_ties_and_order():
    assert overlaps((0, 10), (2, 12)) == [(0, 10)]  # tie: the successor goes
    assert overlaps((0, 10), (2, 13)) == [(2, 13)]  # else the shorter goes
    assert overlaps((0, 10), (7, 17)) == [(0, 10)]  # exactly .3 is too much
    assert overlaps((0, 10), (8, 18)) == [(0, 10), (8, 18)]
    # The winner of one comparison meets the next neighbour.
    assert overlaps((0, 20), (15, 30), (16, 40)) == [(0, 20), (16, 40)]
    assert overlaps((0, 10), (5, 20), (15, 40), (39, 50)) == [(15, 40), (39, 50)]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"points": 1}, "at least 2"),
        ({"points": 10, "quantile": 0.0}, "quantile"),
        ({"points": 10, "quantile": 1.1}, "quantile"),
        ({"points": 10, "sd_fraction": -1.0}, "sd_fraction"),
        ({"points": 10, "extension": 0.5}, "extension"),
        ({"points": 10, "overlap": 0.0}, "overlap"),
    ],
)
def test_bad_settings(setting, words):
    with pytest.raises(QuantifyError, match=words):
        SegmentRule(**setting)
