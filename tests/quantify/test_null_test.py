"""A series beside its surrogates: treated alike, ranked exactly, told in words."""

import json
import math

import numpy as np
import pytest

from quantify import QuantifyError
from quantify.null_test import WORDS, NullTest, _ranked, against_null, null_tests
from quantify.systems import AutoRegressive, Henon, Lorenz, Roessler

MADE = {"null": "cycles", "n": 19, "side": "two-sided", "tau": 1, "m_max": 2, "theiler": 1}


def ranked(values, twice=False, **changed):
    return _ranked(np.asarray(values, dtype=float), twice, "E", 0.1, 0.0, MADE | changed)


def test_ranks_by_hand():
    others = np.arange(1.0, 20.0)  # median of all with the series: near 10
    assert ranked([30.0, *others]).p == 1 / 20
    assert ranked([-30.0, *others]).p == 1 / 20
    assert ranked([-30.0, *others], side="more").p == 1.0
    assert ranked([-30.0, *others], side="less").p == 1 / 20
    assert ranked([17.5, *others], side="more").p == 3 / 20
    # All equal: nothing stands out.
    assert ranked(np.ones(20)).p == 1.0 and math.isnan(ranked(np.ones(20)).sds)
    # Without a value of its own nothing is tested; a surrogate without one counts as far out.
    assert math.isnan(ranked([np.nan, *others]).p)
    assert "nothing was tested" in ranked([np.nan, *others]).sentence
    assert ranked([30.0, np.nan, *others[1:]], side="more").p == 2 / 20
    found = ranked([30.0, *others])
    assert found.excess == 20.0 and found.null_mean == 10.0 and found.offset == 0.0


def test_changes_are_compared_where_surrogates_are_made_twice():
    others = np.linspace(1, 2, 19)
    # Making a surrogate costs 1, for the series as for the surrogates: no excess.
    plain = ranked([2.5, *others, 1.5, *(others - 1)], twice=True)
    assert plain.offset == pytest.approx(1.0) and plain.excess == pytest.approx(0.0) and plain.p == 1.0
    more = ranked([4.5, *others, 1.5, *(others - np.linspace(0.9, 1.1, 19))], twice=True)
    assert more.p == 1 / 20 and more.excess == pytest.approx(2.0)
    # The change stands out, the number does not, and the other way round.
    assert ranked([1.5, *others, 9.5, *(others - np.linspace(0.9, 1.1, 19))], twice=True).p > 0.5
    assert ranked([4.5, *others, 3.5, *(others - 1)], twice=True).p > 0.5


@pytest.mark.parametrize("side", ["two-sided", "more", "less"])
def test_the_rank_test_is_exact_for_exchangeable_values(side):
    rng = np.random.default_rng(1)
    p = np.array([ranked(rng.exponential(size=20), side=side).p for _ in range(2000)])
    # 2,000 draws: standard deviation .005 at .05, .011 at .5.
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.02)
    assert np.mean(p <= 0.5) == pytest.approx(0.5, abs=0.045)


@pytest.mark.long
def test_independent_values_are_not_more_than_independent_values():
    p = [
        against_null(
            np.random.default_rng(seed).random(200), null="shuffle", n=19, m_max=2, tau=1, theiler=1
        ).p
        for seed in range(40)
    ]
    # Two of forty on average, at most seven with a probability above .999; and the p-values are spread out.
    assert np.sum(np.array(p) <= 0.05) <= 7
    assert 0.3 < np.mean(p) < 0.75


@pytest.mark.parametrize("null", ["phase", "iaaft"])
def test_chaos_is_more_than_a_linear_process(null):
    found = null_tests(Henon().sample(800, 1)[:, 0], null=null, n=19, m_max=3, tau=1, theiler=5)
    assert found["E"].p == found["D"].p == 0.05 and found["E"].excess > 0.3
    assert 0 <= found["E"].cut <= 0.1


@pytest.mark.long
@pytest.mark.parametrize("null", ["phase", "iaaft"])
def test_a_linear_process_is_not_more_than_a_linear_process(null):
    process, settings = AutoRegressive((1.2, -0.6)), {"n": 19, "m_max": 3, "tau": 1, "theiler": 5}
    p = [against_null(process.sample(300, s), null=null, statistic="E", **settings).p for s in range(16)]
    # .8 of sixteen on average; five or more with a probability of .001.
    assert np.sum(np.array(p) <= 0.05) < 5


@pytest.mark.guard
@pytest.mark.parametrize("null", sorted(WORDS))
def test_every_null_is_reproducible_and_survives_the_file(null):
    x = np.round(np.sin(0.3 * np.arange(300)) + 0.05 * np.random.default_rng(1).standard_normal(300), 2)
    seen = []
    settings = {"null": null, "n": 19, "m_max": 3, "tau": 5, "theiler": 10, "rng": 3}
    found = against_null(x, progress=lambda *a: seen.append(a), **settings)
    # In plain form: what is not a number equals nothing.
    plain = found.to_dict()
    assert plain == against_null(x, **settings).to_dict()
    assert NullTest.from_dict(json.loads(json.dumps(plain))).to_dict() == plain
    assert seen[-1][0] == seen[-1][1] == len(seen)
    assert WORDS[null] in found.sentence and found.hi == 2 * found.lo


def test_a_common_choice_for_all():
    x = Lorenz().sample(600, 1)
    found = against_null(x, null="phase", n=19, m_max=3)
    assert found.tau >= 1 and found.theiler >= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"null": "magic"}, "null = 'magic'"),
        ({"n": 5}, "n = 5"),
        ({"statistic": "E_none"}, "statistic = 'E_none'"),
        ({"side": "left"}, "side = 'left'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(QuantifyError, match=message):
        against_null(np.sin(0.3 * np.arange(300)), **settings)


@pytest.mark.guard
def test_a_finely_sampled_cycle_is_thinned_to_what_a_coarse_one_has():
    fine = Roessler().sample(3600, 4)[:, 0]  # 63 samples a round
    found, coarse = null_tests(fine, n=19, rng=4), null_tests(fine[::3], n=19, rng=4)
    assert found["E_core"].every == 3 and coarse["E_core"].every == 1
    for name in ("E_core", "D"):
        assert found[name].p == coarse[name].p and found[name].value == coarse[name].value
        # All samples would hide it: p = 1 and .6.
        assert found[name].p <= 0.1
    assert found["D"].tau == 3 * coarse["D"].tau and found["D"].theiler == 3 * coarse["D"].theiler
