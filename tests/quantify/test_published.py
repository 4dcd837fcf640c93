"""A published table made again: its recipe, verdicts on its numbers, and its findings tried."""

import json
import math

import pytest

from quantify import ScalingFit, correlation_sums, crossover
from quantify.published import (
    AGREES,
    ALONE,
    BIASED,
    DIFFERS,
    MISSING,
    ORDERED,
    UNSURE,
    Recipe,
    Row,
    compare,
    try_finding,
)
from quantify.scaling import longest_overlapping
from quantify.statistics import CONTRARY, HOLDS, OPEN
from quantify.systems import Lorenz


def test_the_longest_fit_that_touches_the_range():
    def fit(lo, hi):
        return ScalingFit(D=1.0, const=0.0, eps=(lo, hi), i=(0, 1), n_points=2)

    coarse, short, fine = fit(0.3, 3.0), fit(0.1, 0.5), fit(0.001, 0.09)
    lines = (coarse, short, fine)
    assert longest_overlapping(lines, 0.12, 0.4) is coarse
    assert longest_overlapping(lines, 0.12, 0.25) is short
    assert longest_overlapping(lines, 0.01, 0.02) is fine
    assert longest_overlapping(lines, 4.0, 5.0) is None


def test_what_is_not_there_is_none(monkeypatch):
    x = Lorenz().sample(3000, 1)[:, 0]
    sums = correlation_sums(x, tau=10, m_max=10, eps=[16 * 2 ** (-k / 8) for k in range(40)], theiler=100)
    assert math.isnan(crossover(sums, m=6, pairs=1e9, plateau_m=4, plateau=(1.0, 4.0)))
    monkeypatch.setattr("quantify.published.fit_scaling", lambda *_, **__: ())
    column = Recipe(
        eps_min=1.0, range=(2.0, 8.0), s_min=0.07, kappa_max=0.5, quantile=0.25, remove_negative=True,
        fit_points=10, line_points=15, line_quantile=0.25,
    )  # fmt: skip
    found = column.evaluate(sums)
    assert found["D"] is None and found["const"] is None and found["E_core"] is not None


# Verdicts


def table(paper, tolerance, found):
    columns = {name: {"paper": paper[name], "tolerance": tolerance.get(name, {})} for name in paper}
    return compare(columns, ["E"], found)


def test_verdicts():
    paper = {"a": {"E": 1.0}, "b": {"E": 2.0}, "c": {}}
    limit = {"a": {"E": 0.5}, "b": {"E": 0.1}}
    one = table(paper, limit, {"a": [{"E": 1.5}], "b": [{"E": 3.0}], "c": [{"E": 9.0}]})
    assert [row.verdict for row in one] == [AGREES, ORDERED, ALONE]
    assert [row.difference for row in one][:2] == [0.5, 1.0]
    # b below a: the ordering is lost too.
    other = table(paper, limit, {"a": [{"E": 1.5}], "b": [{"E": 1.0}], "c": []})
    assert [row.verdict for row in other] == [AGREES, DIFFERS]
    none = table(paper, limit, {"a": [{"E": None}, {}, {"F": 1.0}], "b": [{"E": 2.05}], "c": []})
    assert [row.verdict for row in none] == [MISSING, AGREES]
    assert (none[0].n, none[0].of) == (0, 2)


def test_what_so_few_samples_do_to_all_alike_is_named():
    known = {"tolerance": {"E": 0.1}, "chance": {"E": 0.2}, "bias": {"E": (-0.9, -0.5)}}
    columns = {"a": {"paper": {"E": 2.0}, **known}}
    # Within .3 of 2, or of 1.1 to 1.5; neither beyond that nor on the other side.
    expected = {
        2.05: AGREES,
        1.75: UNSURE,
        1.65: BIASED,
        1.3: BIASED,
        0.85: BIASED,
        0.75: DIFFERS,
        2.35: DIFFERS,
    }
    for value, verdict in expected.items():
        (row,) = compare(columns, ["E"], {"a": [{"E": value}]})
        assert row.verdict == verdict, value
    assert row.bias == (-0.9, -0.5) and Row.from_dict(json.loads(json.dumps(row.to_dict()))) == row
    columns["a"]["bias"] = {"E": (0.0, 0.0)}
    (row,) = compare(columns, ["E"], {"a": [{"E": 1.65}]})
    assert row.verdict == DIFFERS


def test_what_chance_may_do_is_no_difference():
    """Two short series differed 11 times out of 18, because they were short."""
    columns = {"a": {"paper": {"E": 1.0}, "tolerance": {"E": 0.1}, "chance": {"E": 0.2}}}
    verdicts = [
        compare(columns, ["E"], {"a": [{"E": 1.0 + off}]}, ordering=False)[0].verdict
        for off in (0.1, 0.11, 0.3, 0.31, -0.3, -0.31)
    ]
    assert verdicts == [AGREES, UNSURE, UNSURE, DIFFERS, UNSURE, DIFFERS]
    (row,) = compare(columns, ["E"], {"a": [{"E": 1.2}]})
    assert row.chance == 0.2 and Row.from_dict(json.loads(json.dumps(row.to_dict()))) == row
    # Tables that were stored before chance had a place.
    assert Row.from_dict({k: v for k, v in row.to_dict().items() if k != "chance"}).chance == 0


def test_equal_published_values_ask_for_no_order():
    paper = {"a": {"E": 1.0}, "b": {"E": 1.0}, "c": {"E": 2.0}}
    found = {"a": [{"E": 5.0}], "b": [{"E": 4.0}], "c": [{"E": 6.0}]}
    assert {row.verdict for row in table(paper, {}, found)} == {ORDERED}


def test_median_and_interval_over_seeds():
    values = [3.0, 1.0, 2.0, 5.0, 4.0]
    (row,) = table({"a": {"E": 3.0}}, {"a": {"E": 0.0}}, {"a": [{"E": v} for v in values] + [{}]})
    # The whole range of five values covers their median with 1 - 2 / 2^5 = 94 %.
    assert (row.ours, row.low, row.high, row.n, row.of) == (3.0, 1.0, 5.0, 5, 6)
    assert Row.from_dict(json.loads(json.dumps(row.to_dict()))) == row


# Findings

RISE = {"claim": "It rises", "quantity": "E", "steps": [["a", "b", "rises"]]}


def values(differences):
    return {"a": dict.fromkeys(range(len(differences)), 0.0), "b": dict(enumerate(differences))}


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([1, 2, 3, 4, 5], HOLDS),
        ([-1, -2, -3, -4, -5], CONTRARY),
        ([-1, 2, 3, 4, 5], OPEN),
        ([1, 2, 3], OPEN),  # three seeds cannot say it with 90 %
        ([], OPEN),
    ],
)
def test_a_rise(differences, verdict):
    found = try_finding(RISE, {"some scales": values(differences)})
    assert found["tried"][0]["verdict"] == verdict
    fall = RISE | {"steps": [["a", "b", "falls"]]}
    opposite = {HOLDS: CONTRARY, CONTRARY: HOLDS, OPEN: OPEN}[verdict]
    assert try_finding(fall, {"some scales": values(differences)})["tried"][0]["verdict"] == opposite


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [([0.1, -0.2, 0.3, 0, 0.1], HOLDS), ([1, 2, 1, 3, 1], CONTRARY), ([0.1, -0.2, 0.9, 0, 0.1], OPEN)],
)
def test_a_level(differences, verdict):
    finding = RISE | {"steps": [["a", "b", "stays level"]], "level": 0.5}
    assert try_finding(finding, {"some scales": values(differences)})["tried"][0]["verdict"] == verdict


def test_one_contrary_step_refutes():
    finding = RISE | {"steps": [["a", "b", "rises"], ["b", "a", "rises"]]}
    found = try_finding(finding, {"small": values([1, 2, 3, 4, 5]), "large": values([-1, 1, 2, 3, 4])})
    assert [tried["verdict"] for tried in found["tried"]] == [CONTRARY, OPEN]
