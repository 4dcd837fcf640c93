"""The same seeds in both engines: tables, findings and their verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.studies.emergence import engines
from experiments.studies.emergence.emergence import emergence
from experiments.studies.emergence.trials import Emergence, make_trial
from robots import ENGINES, engine_version

ROOT = Path(__file__).parents[3]
RESULTS = sorted((ROOT / "docs" / "results").glob("emergence-*-engines.json"))
both = pytest.mark.skipif(not all(map(engine_version, ENGINES)), reason="it takes both engines")


def row(airtime: float, mode: str, jumps: float | None, E_core: float | None = None) -> dict[str, Any]:
    numbers = {"airtime": airtime, "std_x1": 0.2, "support": 0.0, "mode": mode}
    found: dict[str, Any] = {"frozen": {"2min": numbers, "8min": numbers}, "learning": {"first_jumps": jumps}}
    if E_core is not None:
        scored = {"2min": 1.0, "8min": E_core}
        found["complexity"] = {
            name: {"common": {"E_core": value, "D": 1.0, "covered": 1.0}, "relative": {"E_core": -value}}
            for name, value in scored.items()
        }
    return found


def test_findings_hold_in_both_in_one_or_in_neither() -> None:
    task = make_trial(Emergence("hexapod", engine="mujoco", freeze=(2.0, 8.0)), 1)
    rows = {
        "pybullet": [row(0.0, "jumping", 2.5, 1.5)] * 4 + [row(0.4, "jumping", 2.5)],
        "mujoco": [row(0.0, "up-down", 4.5, 0.5)] * 3 + [row(0.4, "jumping", None), {"reason": "broken"}],
    }
    told = {one["finding"]: one for one in (engines.judged(f, rows) for f in engines.findings(task))}
    # Four of five are the share that it takes; three of four are not.
    assert told["2min: stays on the ground"]["verdict"] == "holds in pybullet alone"
    assert told["2min: stays on the ground"]["seeds"] == {
        "pybullet": {"yes": 4, "of": 5},
        "mujoco": {"yes": 3, "of": 4},
    }
    assert told["2min: moves widely, std of x_1 over .15"]["verdict"] == "holds in both"
    assert told["8min: jumps regularly"]["verdict"] == "holds in pybullet alone"
    assert told["jumps while it learns"]["seeds"]["mujoco"] == {"yes": 3, "of": 4}
    words = "core complexity on {} scales grows from 2min to 8min"
    common, relative = (told[words.format(scales)]["seeds"] for scales in ("common", "relative"))
    assert common == {"pybullet": {"yes": 4, "of": 4}, "mujoco": {"yes": 0, "of": 3}}
    assert relative == {"pybullet": {"yes": 0, "of": 4}, "mujoco": {"yes": 3, "of": 3}}
    assert told["the dimension grows from 2min to 8min"]["verdict"] == "holds in neither"


def test_what_was_not_measured_cannot_be_told() -> None:
    task = make_trial(Emergence("hexapod", engine="mujoco", freeze=(2.0, 8.0)), 1)
    rows = {engine: [row(0.0, "jumping", 2.5, 1.5 if engine == "mujoco" else None)] for engine in ENGINES}
    told = [engines.judged(f, rows) for f in engines.findings(task)]
    assert told[-1]["verdict"] == "cannot be told in pybullet"


@pytest.mark.parametrize(("rule", "word"), [({}, "rolls"), ({"rotation": 0.0, "wave": 0.2}, "crawls")])
def test_a_snake_is_expected_to_do_what_its_start_makes_it_do(rule: dict[str, float], word: str) -> None:
    task = make_trial(Emergence("snake", engine="mujoco", rule=rule), 1)
    words = [found.words for found in engines.findings(task)]
    assert words[:4] == [*(f"{t}min: {word}" for t in (2, 4, 8)), f"{word} faster from 2min to 8min"]


@both
@pytest.mark.guard
def test_a_short_run_in_both_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "SAMPLES", 2000)
    small: dict[str, Any] = {"seeds": (1,), "minutes": 0.1, "samples": 1000, "transient": 100, "jobs": 1}
    study = emergence(Emergence("hexapod", **small, engines=True, complexity=1, out=tmp_path))
    document = json.loads((tmp_path / "hexapod-ulr-engines.json").read_text())
    assert [(r["engine"], r["seed"]) for r in document["rows"]] == [("pybullet", 1), ("mujoco", 1)]
    assert all(r["complexity"]["0.1min"]["reason"] == "" for r in document["rows"])
    behaviours, held = study.tables()
    assert [line[:2] for line in behaviours.rows] == [["0.1min", "pybullet"], ["0.1min", "mujoco"]]
    assert all(behaviours.rows[i][2] for i in (0, 1)) and len(held.rows) == len(document["findings"])
    assert study.sentences()[0].endswith("(pybullet 1 of 1, mujoco 1 of 1)")
    alone = emergence(Emergence("hexapod", **small, engine="mujoco", out=tmp_path))
    assert alone.document["rows"][0]["frozen"] == document["rows"][1]["frozen"]  # found in the store


def test_what_cannot_be_asked_for_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, why in (
        (["--engines", "--engine", "mujoco"], "leave --engine mujoco out"),
        (["--engines", "--complexity", "11"], "it must be 0 to the number of seeds, 10"),
        (["--complexity", "1"], "goes with --engines"),
    ):
        assert main(["emergence", "hexapod", *words]) == 2
        assert why in capsys.readouterr().err
    with pytest.raises(ExperimentError, match="different experiments"):
        emergence(Emergence("snake", engines=True, push=True))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_the_document_says_of_both_engines_what_was_found(path: Path) -> None:
    """docs/emergence.md holds tables and verdicts word for word, and every verdict follows from the rows."""
    document = json.loads(path.read_text())
    assert engines.Engines(document).markdown() in (ROOT / "docs" / "emergence.md").read_text()
    asked = document["settings"]
    task = make_trial(Emergence(asked["robot"], engine="mujoco", rule=asked["rule"]), 1)
    rows = {name: [row for row in document["rows"] if row["engine"] == name] for name in ENGINES}
    found = engines.findings(task, asked["complexity"] > 0)
    assert [engines.judged(one, rows) for one in found] == document["findings"]
