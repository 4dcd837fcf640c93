"""Exact statistics for few values: medians, paired differences, the signed-rank test, Holm's correction."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, wilcoxon

from quantify.statistics import (
    all_pairs,
    hodges_lehmann,
    holm,
    interval,
    known_median,
    median,
    number,
    paired,
    signed_rank,
    smallest_p,
)
from tests import naive


@pytest.mark.parametrize("n", range(1, 13))
def test_the_interval_of_a_median_covers_what_it_says(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    found = median(values.tolist())
    ordered = np.sort(values)
    k = int(np.flatnonzero(ordered == found.lo)[0]) + 1
    assert found.hi == ordered[n - k]
    assert found.coverage == pytest.approx(max(0.0, naive.median_interval_coverage(n, k)), abs=1e-12)
    assert found.value == np.median(values)
    if n >= 6:
        # At least 95 %, and one step further in it would be less.
        assert found.coverage >= 0.95 > naive.median_interval_coverage(n, k + 1)
    else:
        assert k == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_signed_rank_test_equals_trying_all_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Rounded, so that ties and zeros occur.
    differences = np.round(rng.normal(0.5, 1.0, rng.integers(1, 12)), 1).tolist()
    if seed % 3 == 0:
        differences += [-math.inf, math.inf, math.inf]
    assert signed_rank(differences) == pytest.approx(naive.signed_rank_p(differences), abs=1e-12)


def test_the_signed_rank_test_equals_scipy_without_ties() -> None:
    differences = np.random.default_rng(3).normal(0.4, 1.0, 25)
    expected = wilcoxon(differences, method="exact").pvalue
    assert signed_rank(differences) == pytest.approx(expected, rel=1e-9)


def test_pairs_may_be_more_than_the_powers_of_two_that_are_floats() -> None:
    # Sizes that are all the same leave a test of signs.
    differences = np.where(np.arange(1100) < 520, -1.0, 1.0)
    assert signed_rank(differences) == pytest.approx(2 * binom.cdf(520, 1100, 0.5), rel=1e-9)
    assert 0.95 <= hodges_lehmann(np.arange(1.0, 1031.0).tolist()).coverage < 0.951


@pytest.mark.parametrize("n", [1, 2, 5, 6, 8, 10])
def test_the_interval_of_a_difference_holds_what_the_test_does_not_reject(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.5, 1.0, n).tolist()
    found = hodges_lehmann(differences)
    walsh = sorted((a + b) / 2 for i, a in enumerate(differences) for b in differences[i:])
    assert found.value == pytest.approx(float(np.median(walsh)), rel=1e-12)
    # Every possible location between two Walsh averages, tried with all signs.
    gaps = [walsh[0] - 1, *((a + b) / 2 for a, b in itertools.pairwise(walsh)), walsh[-1] + 1]
    p = [naive.signed_rank_p([d - gap for d in differences]) for gap in gaps]
    if n >= 6:
        assert [found.lo < gap < found.hi for gap in gaps] == [v > 0.05 for v in p]
        rejected = [v for v in p if v <= 0.05]
    else:  # too few for .95: the whole range, whose coverage is stated
        assert (found.lo, found.hi) == (min(differences), max(differences))
        rejected = [p[0]]
    assert found.coverage == pytest.approx(1 - max(rejected), abs=1e-12)


def test_a_difference_that_the_test_shows_excludes_none_at_all() -> None:
    # Two of ten against, with ranks 2 and 4; 14 of 1024 sums of ranks are not larger than theirs.
    differences = [0.1, 0.2, -0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, -0.15]
    found = paired(differences, [0.0] * 10)
    assert found.p == 28 / 1024 and found.difference.lo > 0 > median(differences).lo


def test_ten_seeds_that_agree_are_the_least_that_six_controllers_need() -> None:
    # 15 pairs: 15 x 2 / 2^10 = .029, but 15 x 2 / 2^9 = .059.
    assert smallest_p(10) == signed_rank(np.arange(1, 11)) == 2 / 1024
    assert 15 * smallest_p(10) < 0.05 < 15 * smallest_p(9)


def test_failures_rank_below_all_and_cancel_each_other() -> None:
    fine, failed = [1.0, 2.0, 3.0, 4.0, 5.0], [-math.inf] * 5
    assert median([1.0, -math.inf, 2.0]).value == 1.0
    assert median(failed).value == -math.inf
    assert paired(fine, failed).difference.value == math.inf
    assert paired([1.0, -math.inf, 2.0], [-math.inf, 1.0, 2.0]).difference.value == 0.0
    assert paired(fine, failed).p == 2 / 32
    assert paired(failed, failed).p == 1.0 and paired(failed, failed).difference.value == 0.0
    assert median([-math.inf, math.inf]).value == 0.0
    for wrong in ([], [math.nan]):
        for function in (median, hodges_lehmann):
            with pytest.raises(ValueError, match="NaN"):
                function(wrong)
    with pytest.raises(ValueError, match="not pairs"):
        paired([1.0], [1.0, 2.0])


@pytest.mark.parametrize("seed", range(10))
def test_holms_correction_rejects_what_stepping_down_rejects(seed: int) -> None:
    p = np.random.default_rng(seed).beta(0.3, 2.0, 9).tolist()
    for level in (0.01, 0.05, 0.2):
        assert [v <= level for v in holm(p)] == naive.holm_rejections(p, level)


def test_all_pairs_are_those_of_single_tests_with_holms_correction() -> None:
    rng = np.random.default_rng(4)
    groups = {
        name: rng.normal(level, 1.0, 8).tolist() for name, level in (("a", 3.0), ("b", 1.0), ("c", 0.9))
    }
    found = all_pairs(groups)
    assert [(pair.a, pair.b) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair in found:
        alone = paired(groups[pair.a], groups[pair.b])
        assert (pair.difference, pair.p) == (alone.difference, alone.p)
    assert [pair.p_holm for pair in found] == holm([pair.p for pair in found])
    assert all_pairs({"a": [1.0]}) == []


def test_a_median_of_what_exists_is_told_with_what_it_rests_on() -> None:
    assert known_median([None, None]) is None
    assert known_median([None, 2.0, 1.0, 3.0]) == median([1.0, 2.0, 3.0])
    failed = {"value": None, "lo": None, "hi": 2.0, "n": 3}
    assert (number(failed), interval(failed)) == ("-", "none [none, 2.00]")
    # A small negative number is no "-0.00".
    assert number({"value": -0.001, "n": 1}) == "0.00"
