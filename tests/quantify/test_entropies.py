"""Entropies from correlation sums: conventions, identities, analytic cases, missing values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quantify import entropies
from tests.known_sums import make_sums


def test_all_pairs_close_means_no_entropy():
    e = entropies(make_sums([2.0, 1.0], np.ones((4, 2))))
    for curve in (e.H, e.h, e.delta_h, e.E, e.D, e.PI):
        assert np.array_equal(curve, np.zeros_like(curve))


def test_rows():
    """Two scales, three embeddings, every row computed by hand."""
    C = np.exp(-np.array([[1.0, 2.0], [1.5, 3.0], [1.75, 3.5]]))
    e = entropies(make_sums([np.e, 1.0], C))
    assert pytest.approx(np.array([[1.0, 2.0], [1.5, 3.0], [1.75, 3.5]])) == e.H
    assert e.h == pytest.approx(np.array([[1.0, 2.0], [0.5, 1.0], [0.25, 0.5]]))
    assert e.delta_h == pytest.approx(np.array([[0.5, 1.0], [0.25, 0.5]]))
    assert pytest.approx(np.array([[0, 0], [0.5, 1.0], [1.0, 2.0]])) == e.E
    assert pytest.approx(np.array([[1.0, 1.0], [1.5, 1.5], [1.75, 1.75]])) == e.D
    assert pytest.approx(np.array([[0.5, 1.0]])) == e.PI
    assert e.unit == "nats"


def test_uniform_noise():
    """Independent uniform values: C_m = (2 eps - eps^2)^m, so D_m -> m, and no excess entropy."""
    eps = np.geomspace(1, 1e-4, 60)
    C1 = 2 * eps - eps**2
    e = entropies(make_sums(eps, np.stack([C1**m for m in range(1, 9)])))
    assert e.delta_h == pytest.approx(np.zeros((7, 60)), abs=1e-12)
    assert pytest.approx(np.zeros((8, 60)), abs=1e-11) == e.E
    assert pytest.approx(np.zeros((4, 60)), abs=1e-12) == e.PI
    # d ln C_1 / d ln eps = 1 - eps / (2 - eps): within eps of 1.
    assert e.D[:, -1] == pytest.approx(np.arange(1, 9), rel=2e-4)


def test_missing_values_propagate_and_stay_local():
    C = np.array([[1.0, 0.5, 0.1], [0.9, 0.3, 0.01], [0.8, 0.2, 0.0]])
    e = entropies(make_sums([4.0, 2.0, 1.0], C))
    assert np.isnan(e.H[2, 2]) and np.isnan(e.h[2, 2]) and np.isnan(e.delta_h[1, 2]) and np.isnan(e.E[2, 2])
    assert np.isfinite(e.H[:2]).all() and np.isfinite(e.delta_h[0]).all() and np.isfinite(e.E[:2]).all()


decreasing_in_m = arrays(float, (6, 5), elements=st.floats(0.01, 1.0)).map(lambda p: np.cumprod(p, axis=0))


@given(decreasing_in_m)
def test_identities(C):
    """E_m = sum_k k delta_h_k = sum_k (h_k - h_{m-1}); PI_m = E_m + sum_{k=m}^{2m-1} (h_{m-1} - h_k)."""
    e = entropies(make_sums(np.geomspace(1, 0.1, 5), C))
    for m in range(1, 7):
        k = np.arange(1, m)[:, None]
        # 30 nats at most, times m: rounding stays below 1e-12.
        assert e.E[m - 1] == pytest.approx((k * e.delta_h[: m - 1]).sum(axis=0), abs=1e-11)
        assert e.E[m - 1] == pytest.approx((e.h[:m] - e.h[m - 1]).sum(axis=0), abs=1e-11)
    for m in range(1, 4):
        assert e.PI[m - 1] == pytest.approx(e.E[m - 1] + (e.h[m - 1] - e.h[m : 2 * m]).sum(axis=0), abs=1e-11)


@given(decreasing_in_m, st.floats(1e-3, 1e3))
def test_scaling_eps_moves_nothing_but_eps(C, factor):
    eps = np.geomspace(1, 0.1, 5)
    e, scaled = entropies(make_sums(eps, C)), entropies(make_sums(eps * factor, C))
    assert np.array_equal(e.E, scaled.E) and np.array_equal(e.PI, scaled.PI)
    assert pytest.approx(e.D, rel=1e-9) == scaled.D
