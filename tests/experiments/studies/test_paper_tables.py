"""The paper's tables: settings, the same numbers from the authors' data, verdicts, findings, the document."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.pipeline.learn import Learn
from experiments.studies.reproduction.rebuild import _task
from experiments.studies.reproduction.reproduce import Reproduce, Reproduction, settings_of
from experiments.studies.reproduction.table import PARTS, in_words, read_part, recipe
from quantify import read_tisean
from quantify.published import AGREES, compare, finding_words, try_finding

ROOT = Path(__file__).parents[3]
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


def test_the_windows_of_the_crossover_are_those_tried_on_the_authors_data():
    """See tests/quantify/test_noise.py."""
    windows = {"m": 4, "pairs": 10_000, "plateau_m": 9, "plateau": [1.0, 2.5]}
    assert read_part("lorenz")["crossover"] == windows


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
    _, wide, noise, *_ = [said for said in Reproduction(document).sentences() if "No numbers" not in said]
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
    found = recipe(column).evaluate(read_tisean(file))
    for key in ("D", "const", "E_state", "E_mem", "E_core"):
        assert found[key] == pytest.approx(column["paper"][key], abs=0.005), key


# In words


def test_one_contrary_step_refutes_and_words_say_where():
    def values(differences):
        return {"a": dict.fromkeys(range(5), 0.0), "b": dict(enumerate(differences))}

    steps = [["a", "b", "rises"], ["b", "a", "rises"]]
    finding = {"claim": "It rises", "quantity": "E", "steps": steps}
    tried = try_finding(finding, {"small": values([1, 2, 3, 4, 5]), "large": values([-1, 1, 2, 3, 4])})
    first, small, _ = finding_words(tried)
    assert first == (
        'It rises: "a to b rises" holds on small, undecided on large; '
        '"b to a rises" does not hold on small, undecided on large.'
    )
    there = "a to b +3.00 (+1.00 to +5.00), up in 5 of 5 seeds"
    back = "b to a −3.00 (−5.00 to −1.00), up in 0 of 5 seeds"
    assert small == f"small: {there}, {back}."


def test_a_table_in_words_names_a_quantity_once_and_escapes_for_documents():
    paper = {"a": {"eps*": 1.0}, "b": {"eps*": 2.0}}
    columns = {name: {"paper": paper[name], "tolerance": {}} for name in paper}
    found = compare(columns, ["eps*"], {"a": [{"eps*": -0.001}, {}], "b": [{"eps*": None}]})
    shown = in_words(found, "exact")
    assert list(shown.heads)[:4] == ["", "column", "exact", "ours"]
    assert [row[:4] for row in shown.rows] == [["eps*", "a", "1.00", "0.00"], ["", "b", "2.00", "–"]]
    assert shown.rows[0][-1].endswith("1 of 2 without value")
    document = {
        "rows": [row.to_dict() for row in found], "reference": "exact", "command": "selforg x",
        "settings": {"samples": 1000, "seeds": [1], "title": ""}, "measurements": [], "findings": [],
    }  # fmt: skip
    assert "| eps\\* | a | 1.00 |" in Reproduction(json.loads(json.dumps(document))).markdown()


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
    assert Reproduction(json.loads(path.read_text())).markdown() in (ROOT / "docs" / "paper.md").read_text()


def test_there_are_results_in_the_document():
    assert len(RESULTS) >= 4
