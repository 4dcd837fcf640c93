"""Shares and rank correlations with intervals that hold for any distribution."""

import itertools

import numpy as np
import pytest
from scipy import stats

from quantify.association import kendall, share, superiority
from quantify.errors import QuantifyError


def test_intervals_of_shares_hold_exactly() -> None:
    """For every true share the outcomes whose interval misses it have together at most 5 %."""
    n = 23
    found = [share(k, n) for k in range(n + 1)]
    for p in np.linspace(0.01, 0.99, 99):
        missed = [k for k, one in enumerate(found) if not one.lo <= p <= one.hi]
        assert stats.binom.pmf(missed, n, p).sum() <= 0.05
    assert (found[0].lo, found[n].hi) == (0.0, 1.0)


def test_rank_correlations_are_means_over_pairs() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, 30), rng.integers(0, 6, 30)
    pairs = [np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i, j in itertools.combinations(range(30), 2)]
    assert kendall(x, y).value == pytest.approx(np.mean(pairs), abs=1e-12)
    chosen = y > 3
    both = [np.sign(a - b) for a in x[chosen] for b in x[~chosen]]
    assert superiority(x, chosen).value == pytest.approx(np.mean(both), abs=1e-12)
    order, other = np.arange(40), rng.permutation(40)
    assert kendall(order, other).value == pytest.approx(stats.kendalltau(order, other)[0])


def test_intervals_of_rank_correlations_hold_at_least_as_often_as_is_said() -> None:
    rng = np.random.default_rng(2)
    truth, held = 2 / np.pi * np.arcsin(0.6), 0
    for _ in range(200):
        x, noise = rng.normal(size=(2, 50))
        found = kendall(x, 0.6 * x + 0.8 * noise)
        assert -1 <= found.lo <= found.value <= found.hi <= 1
        held += found.lo <= truth <= found.hi
    assert held >= 190


def test_the_interval_shrinks_with_the_number_of_values_and_ends_at_the_limits() -> None:
    few, many = (kendall(np.arange(n), np.arange(n)) for n in (20, 2000))
    assert few.hi == many.hi == 1.0 and few.lo < many.lo > 0.99


@pytest.mark.parametrize("bad", [[1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_what_has_no_ranks_is_refused(bad: list[float]) -> None:
    with pytest.raises(QuantifyError):
        kendall(bad, bad)
    with pytest.raises(QuantifyError):
        share(3, 2)
    with pytest.raises(QuantifyError):
        superiority([1.0, 2.0], [True, True])
