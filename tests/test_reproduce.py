"""The paper in one command: settings, verdicts, findings, and the command itself on small samples."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn
from experiments.studies.reproduction.findings import CONTRARY, HOLDS, OPEN, judge, sentences
from experiments.studies.reproduction.recipes import (
    PARTS,
    crossover,
    evaluate,
    longest_overlapping,
    read_part,
    recipe,
)
from experiments.studies.reproduction.reproduce import Reproduce, as_markdown, reproduce, settings_of, words
from experiments.studies.reproduction.robots import _task
from experiments.studies.reproduction.systems import lorenz
from experiments.studies.reproduction.table import (
    AGREES,
    ALONE,
    DIFFERS,
    MISSING,
    ORDERED,
    markdown,
    rows,
    to_plain_rows,
    to_rows,
)
from experiments.sweeps.sweep import Scale
from quantify import ScalingFit, correlation_sums, read_tisean
from quantify.systems import Lorenz

ROOT = Path(__file__).parents[1]
ORIGINAL = ROOT / ".." / "shared" / "data" / "original"
RESULTS = sorted((ROOT / "docs" / "results").glob("reproduce-*.json"))


# The settings


@pytest.mark.parametrize("name", PARTS)
def test_every_part_has_all_its_settings(name):
    part = read_part(name)
    assert len(part["seeds"]) >= 5
    assert part["samples"] > part["quick"]["samples"]
    assert part["quick"]["cost"]
    for column in part.get("column", []):
        assert recipe(column).range[0] < recipe(column).range[1]
        assert set(column["tolerance"]) <= set(column["paper"])
        assert math.isclose(
            column["paper"]["E_core"], column["paper"]["E_state"] + column["paper"]["E_mem"], abs_tol=0.011
        )


def test_limits_of_the_lorenz_table():
    """Deterministic: D within .05, E_core within .1; noisy: .2 and .25; no state complexity from .01 on."""
    first, *noisy = read_part("lorenz")["column"]
    assert (first["tolerance"]["D"], first["tolerance"]["E_core"]) == (0.05, 0.1)
    assert [column["noise"] for column in noisy] == [0.005, 0.01, 0.02]
    for column in noisy:
        assert (column["tolerance"]["D"], column["tolerance"]["E_core"]) == (0.2, 0.25)
    assert [c["paper"]["E_state"] for c in noisy[1:]] == [0, 0]
    assert all(c["tolerance"]["E_state"] <= 0.02 for c in noisy[1:])


def test_what_is_asked_for_beats_quick_beats_the_file():
    assert settings_of(Reproduce("lorenz"), "lorenz")["samples"] == 1_000_000
    assert settings_of(Reproduce("lorenz", quick=True), "lorenz")["seeds"] == [1]
    asked = settings_of(Reproduce("lorenz", quick=True, samples=5000, seeds=(7, 8)), "lorenz")
    assert (asked["samples"], asked["seeds"]) == (5000, [7, 8])
    # What a quick table costs is told of its own samples and seeds only.
    assert "cost" in settings_of(Reproduce("lorenz", quick=True), "lorenz") and "cost" not in asked
    assert "cost" not in settings_of(Reproduce("lorenz"), "lorenz")


def test_what_agrees_by_chance_is_named():
    """One number whose seeds scatter beyond the tolerance, one column of noise; the others are sound."""

    def row(column, low, high):
        ends = {"paper": 1.0, "ours": 1.1, "low": low, "high": high, "tolerance": 0.2, "verdict": AGREES}
        return {"quantity": "E_core", "column": column, "n": 5, "of": 5} | ends

    def measured(fine):
        return {"columns": {"fine": {"deterministic": fine}, "coarse": {"deterministic": 0.9}}}

    document = {
        "rows": [row("sound", 0.8, 1.2), row("low", 0.7, 1.2), row("high", 0.9, 1.3)],
        "settings": {"samples": 1000, "seeds": [1, 2, 3]},
        "measurements": [measured(0.0), measured(0.4), measured(1.0), {"reason": "broke down"}],
        "findings": [],
    }
    _, wide, noise, *_ = [said for said in words(document) if "No numbers" not in said]
    assert wide.endswith("leaves the tolerance: E_core of low, E_core of high.")
    assert noise.startswith("Less than half of the scales are deterministic in most seeds: fine. ")


AUTHORS = {
    ("lorenz", "deterministic"): "lorenz_d10.c2",
    ("lorenz", "noise 0.005"): "lorenz_noise0-005_d10.c2",
    ("snake", "side rolling"): "Snake8_winding_bend_x8_e19.c2",
    ("hexapod", "2 min (fine)"): "Hexapod_tz_jump_2m_fixed.x.resampled_x1_d4_e25.c2",
    ("hexapod", "2 min (coarse)"): "Hexapod_tz_jump_2m_fixed.x.resampled_x1_d4_e25.c2",
}


@pytest.mark.parametrize(("part", "name"), AUTHORS)
def test_the_settings_give_the_printed_numbers_on_the_authors_data(part, name):
    """Printed with two decimals, hence .005; the paper's hand-picked fits of E_M are found by rule."""
    file = ORIGINAL / AUTHORS[part, name]
    if not file.exists():
        pytest.skip("the paper authors' data are not at ../shared/data/original (no part of this project)")
    column = next(c for c in read_part(part)["column"] if c["name"] == name)
    found = evaluate(read_tisean(file), recipe(column))
    for key in ("D", "const", "E_state", "E_mem", "E_core"):
        assert found[key] == pytest.approx(column["paper"][key], abs=0.005), key


@pytest.mark.parametrize(("name", "expected"), [("lorenz_d10", 0.0), ("lorenz_noise0-005_d10", 0.12)])
def test_crossover_on_the_authors_data(name, expected):
    """Their windows are unknown; ours give .118 for the printed .12."""
    file = ORIGINAL / f"{name}.c2"
    if not file.exists():
        pytest.skip("the paper authors' data are not at ../shared/data/original (no part of this project)")
    # The files hold no pair counts: a million samples have 5e11 pairs.
    sums = read_tisean(file)
    sums = replace(sums, examined=sums.examined * 0 + 5 * 10**11)
    found = crossover(sums, **read_part("lorenz")["crossover"])
    assert found == pytest.approx(expected, abs=0.005)


def test_the_longest_fit_that_touches_the_range():
    def fit(lo, hi):
        return ScalingFit(D=1.0, const=0.0, eps=(lo, hi), i=(0, 1), n_points=2)

    coarse, short, fine = fit(0.3, 3.0), fit(0.1, 0.5), fit(0.001, 0.09)
    lines = (coarse, short, fine)
    assert longest_overlapping(lines, (0.12, 0.4)) is coarse
    assert longest_overlapping(lines, (0.12, 0.25)) is short
    assert longest_overlapping(lines, (0.01, 0.02)) is fine
    assert longest_overlapping(lines, (4.0, 5.0)) is None


# Verdicts


def table(paper, tolerance, found):
    return rows(list(paper), ["E"], paper, tolerance, found)


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


def test_equal_published_values_ask_for_no_order():
    paper = {"a": {"E": 1.0}, "b": {"E": 1.0}, "c": {"E": 2.0}}
    found = {"a": [{"E": 5.0}], "b": [{"E": 4.0}], "c": [{"E": 6.0}]}
    assert {row.verdict for row in table(paper, {}, found)} == {ORDERED}


def test_median_and_interval_over_seeds():
    values = [3.0, 1.0, 2.0, 5.0, 4.0]
    (row,) = table({"a": {"E": 3.0}}, {"a": {"E": 0.0}}, {"a": [{"E": v} for v in values] + [{}]})
    # The whole range of five values covers their median with 1 - 2 / 2^5 = 94 %.
    assert (row.ours, row.low, row.high, row.n, row.of) == (3.0, 1.0, 5.0, 5, 6)
    assert "1 of 6 without value" in markdown([row], "paper")
    assert to_rows(json.loads(json.dumps(to_plain_rows([row])))) == [row]


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
    judged = judge(RISE, {"some scales": values(differences)})
    assert judged["tried"][0]["verdict"] == verdict
    fall = RISE | {"steps": [["a", "b", "falls"]]}
    opposite = {HOLDS: CONTRARY, CONTRARY: HOLDS, OPEN: OPEN}[verdict]
    assert judge(fall, {"some scales": values(differences)})["tried"][0]["verdict"] == opposite


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [([0.1, -0.2, 0.3, 0, 0.1], HOLDS), ([1, 2, 1, 3, 1], CONTRARY), ([0.1, -0.2, 0.9, 0, 0.1], OPEN)],
)
def test_a_level(differences, verdict):
    finding = RISE | {"steps": [["a", "b", "stays level"]], "level": 0.5}
    assert judge(finding, {"some scales": values(differences)})["tried"][0]["verdict"] == verdict


def test_one_contrary_step_refutes_and_words_say_where():
    finding = RISE | {"steps": [["a", "b", "rises"], ["b", "a", "rises"]]}
    judged = judge(finding, {"small": values([1, 2, 3, 4, 5]), "large": values([-1, 1, 2, 3, 4])})
    assert [t["verdict"] for t in judged["tried"]] == [CONTRARY, OPEN]
    first, small, _ = sentences(judged)
    assert first == (
        'It rises: "a to b rises" holds on small, undecided on large; '
        '"b to a rises" does not hold on small, undecided on large.'
    )
    there = "a to b +3.00 (+1.00 to +5.00), up in 5 of 5 seeds"
    back = "b to a −3.00 (−5.00 to −1.00), up in 0 of 5 seeds"
    assert small == f"small: {there}, {back}."


# The command


def test_lorenz_and_ar2_from_nothing(tmp_path, capsys):
    """Small, but all the way: table, JSON, page, figures; and a second time from the store."""
    out = ["--samples", "6000", "--seeds", "1", "--out", str(tmp_path), "--jobs", "1", "--quiet"]
    assert main(["reproduce", "lorenz", *out]) == 0
    said = capsys.readouterr().out
    assert "E_core" in said and "verdict" in said
    document = json.loads((tmp_path / "reproduce-lorenz-6000-seeds-1.json").read_text())
    assert document["command"] == "selforg reproduce lorenz --samples 6000 --seeds 1"
    assert {row["quantity"] for row in document["rows"]} >= {"D", "const", "E_state", "E_mem", "E_core", "PI"}
    assert as_markdown(document) == (tmp_path / "reproduce-lorenz-6000-seeds-1.md").read_text()
    page = (tmp_path / "reproduce-lorenz-6000-seeds-1.html").read_text()
    assert "same ordering" in page and "2.54" in page
    assert (tmp_path / "reproduce-lorenz-6000-seeds-1.pdf").stat().st_size > 10_000
    stored = {p: p.stat().st_mtime_ns for p in (tmp_path / "lorenz-6000" / "store").glob("*.json")}
    part = settings_of(Reproduce("lorenz", samples=6000, seeds=(1,)), "lorenz")
    again = lorenz(part, tmp_path / "lorenz-6000", Scale(jobs=1), quiet=True)
    assert again["rows"] == to_rows(document["rows"])
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "lorenz-6000" / "store").glob("*.json")} == stored

    assert main(["reproduce", "ar2", *out]) == 0
    exact = {
        (row["quantity"], row["column"]): row["paper"]
        for row in json.loads((tmp_path / "reproduce-ar2-6000-seeds-1.json").read_text())["rows"]
    }
    # The specification's values; E_3 at delay 10 is not the 3.36 that the paper prints.
    assert exact["E_3", "delay 1"] == pytest.approx(7.4793, abs=1e-4)
    assert exact["E_3", "delay 10"] == pytest.approx(3.3276, abs=1e-4)
    assert exact["E_4", "delay 10"] == pytest.approx(3.4211, abs=1e-4)


def in_a_hurry(name):
    """The settings of a part with learning 40 times as short."""
    part = read_part(name)
    for run in part["run"]:
        run["minutes"], run["freeze"] = run["minutes"] / 40, [t / 40 for t in run["freeze"]]
    for behaviour in part["behaviour"]:
        behaviour["minutes"] /= 40
    return part


def test_hexapod_from_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("experiments.studies.reproduction.reproduce.read_part", in_a_hurry)
    (document,) = reproduce(
        Reproduce(
            "hexapod", quick=True, samples=3000, seeds=(1, 2), seconds=0, out=tmp_path, jobs=1, quiet=True
        )
    )
    said = capsys.readouterr().out
    assert "Quick: " not in said and "Core complexity rises over learning" in said
    assert len(document["measurements"]) == 6
    assert {one["behaviour"] for one in document["measurements"]} == {"2 min", "4 min", "8 min"}
    finding = document["findings"][0]
    # Two seeds cannot decide anything.
    assert {t["verdict"] for t in finding["tried"]} == {OPEN}
    assert {t["scales"] for t in finding["tried"]} >= {
        "the paper's scales",
        "automatic scales",
        "scales 0.1 to 0.4",
        "scales 0.2 to 0.8 std",
    }


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (Reproduce("lorenz", samples=10), "at least 1000"),
        (Reproduce("lorenz", seeds=()), "one or more"),
        (Reproduce("lorenz", seeds=(1, 1)), "different"),
        (Reproduce("lorenz", seeds=(3, -1)), "--seeds has -1; seeds are 0 or greater"),
    ],
)
def test_wishes_that_cannot_be_fulfilled(config, words):
    with pytest.raises(ExperimentError, match=words):
        reproduce(config)


def test_seeds_that_fail_are_counted(tmp_path, monkeypatch):
    values = {"D": 2.0, "const": None, "E_core": 2.5}

    def found(function, tasks, **_):
        return [
            {"reason": "no memory"} if t.seed == 2 else {"column": t.column, "values": values} for t in tasks
        ]

    monkeypatch.setattr("experiments.studies.reproduction.systems.sweep", found)
    part = settings_of(Reproduce("lorenz", seeds=(1, 2, 3)), "lorenz")
    done = lorenz(part, tmp_path, Scale(jobs=1), quiet=True)
    counted = {(row.quantity, row.n, row.of) for row in done["rows"]}
    assert {("D", 2, 3), ("E_core", 2, 3), ("const", 0, 3)} <= counted
    document = {"rows": [], "settings": part, "findings": [], "measurements": done["measurements"]}
    assert "No numbers from 4 of 12: no memory." in words(document)


def test_a_table_without_any_number_is_no_success(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "experiments.studies.reproduction.systems.sweep",
        lambda _, tasks, **__: [{"reason": "no memory"} for _ in tasks],
    )
    with pytest.raises(ExperimentError, match=r"nothing could be measured; .*reproduce-lorenz\.json"):
        reproduce(Reproduce("lorenz", out=tmp_path, quiet=True))
    assert "no memory" in (tmp_path / "reproduce-lorenz.md").read_text()


def test_what_is_not_there_is_none(monkeypatch):
    x = Lorenz().sample(3000, 1)[:, 0]
    sums = correlation_sums(x, tau=10, m_max=10, eps=[16 * 2 ** (-k / 8) for k in range(40)], theiler=100)
    assert math.isnan(crossover(sums, m=6, pairs=1e9, plateau_m=4, plateau=(1.0, 4.0)))
    monkeypatch.setattr("quantify.fit_scaling", lambda *_, **__: ())
    found = evaluate(sums, replace(recipe(read_part("lorenz")["column"][0]), eps_min=1.0, range=(2.0, 8.0)))
    assert found["D"] is None and found["const"] is None and found["E_core"] is not None


def test_a_measurement_belongs_to_all_settings_of_its_run(tmp_path):
    part = read_part("hexapod")
    run = Learn("hexapod", minutes=8.0, freeze=(2.0, 4.0, 8.0), out=tmp_path / "x.h5")
    task = _task(part, "hexapod-ulr", run)
    assert task.body["gravity"] == 9.81 and task.rule["C_0"] == 0.7 and task.freeze == (2.0, 4.0, 8.0)
    assert task != _task(part, "hexapod-ulr", replace(run, minutes=9.0))


# The document


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_number_of_the_document_is_in_its_file(path):
    """docs/paper.md holds the table and the sentences of each result word for word."""
    assert as_markdown(json.loads(path.read_text())) in (ROOT / "docs" / "paper.md").read_text()
