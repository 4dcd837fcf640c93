"""What emerges, what it takes and what a push does: trials, verdicts, and the command on short runs."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from controllers import Frozen
from experiments.cli import main
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.loop import make_body
from experiments.pipeline.record import Record, record
from experiments.runfiles.library import find_behaviour
from experiments.runfiles.run_file import open_run_file
from experiments.studies.emergence import controls, interventions
from experiments.studies.emergence import emergence as studies
from experiments.studies.emergence.emergence import Trials, emergence, verdict
from experiments.studies.emergence.trials import Emergence, Trial, make_trial, observed_in, trial, with_modes
from robots import default_engine, describe
from robots.audit import audit

SMALL = {"seeds": (1, 2), "minutes": 0.2, "samples": 1000, "transient": 100, "jobs": 1}


def small(out: Path, robot: str = "hexapod", **changes: object) -> Emergence:
    return Emergence(robot, **({"out": out} | SMALL | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def emerged(made_once: Callable[..., Path]) -> Path:
    """The folder of two short trials of the hexapod."""
    return made_once("emerged", lambda folder: emergence(small(folder)))


@pytest.mark.guard
def test_a_trial_is_what_learn_and_record_do(tmp_path: Path) -> None:
    config = make_trial(small(tmp_path, freeze=(0.1, 0.2)), 3)
    row = with_modes(config, trial(config))
    path = tmp_path / "run.h5"
    learn(Learn("hexapod", minutes=0.2, freeze=(0.1, 0.2), seed=3, out=path))
    record(Record((path,), 1000, transient=100, measure=0.02, jobs=1))
    with open_run_file(path) as found:
        expected = {name: describe("hexapod", observed_in(item)) for name, item in found.behaviours.items()}
    assert row["frozen"] == expected  # bit for bit
    assert row["seed"] == 3 and row["reason"] == ""
    # 12 s of learning are one window of 10 s.
    assert len(row["learning"]["modes"]) == 1
    assert row["learning"]["longest"] == {row["learning"]["modes"][0]: 10.0}
    assert row["learning"]["first_jumps"] is None


def test_modes_are_named_when_they_are_told(tmp_path: Path) -> None:
    """Numbers are kept, names follow the criteria of the day."""
    numbers = {"airtime": 0.4, "peak_share": 0.9, "std_x1": 0.5}
    frozen = {"8min": numbers, "4min": {"reason": "x"}}
    row = {"learning": [numbers | {"airtime": 0.0}, numbers, numbers], "frozen": frozen}
    found = with_modes(make_trial(small(tmp_path), 1), row)
    assert found["learning"]["modes"] == ["up-down", "jumping", "jumping"]
    assert found["learning"]["longest"] == {"up-down": 10.0, "jumping": 20.0}
    assert found["learning"]["first_jumps"] == pytest.approx(1 / 6)
    assert found["frozen"]["8min"]["mode"] == "jumping" and found["frozen"]["4min"] == {"reason": "x"}


def test_table_verdict_and_numbers(
    emerged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(emerged, tmp_path / "emerged"))
    saved = json.loads((folder / "hexapod-ulr-emergence.json").read_text())
    assert [row["seed"] for row in saved["rows"]] == [1, 2]
    assert set(saved["rows"][0]["frozen"]["0.2min"]) >= {"mode", "airtime", "std_x1", "peak_share", "support"}
    # Nothing is computed again.
    monkeypatch.setattr("experiments.studies.emergence.trials.learn_trial", None)
    study = emergence(small(folder))
    assert study.to_dict() == saved and study.files == (folder / "hexapod-ulr-emergence.json",)
    words = ["--minutes", "0.2", "--samples", "1000", "--transient", "100", "--out", str(folder)]
    assert main(["emergence", "hexapod", "--n-seeds", "2", *words]) == 0
    text, notes = capsys.readouterr()
    assert "0.2min" in text and "peak [Hz]" in text and "in 2 of 2 seeds" in text
    assert "hexapod-ulr-emergence.json" in notes
    assert main(["emergence", "hexapod", "--n-seeds", "2", *words, "--json", "--quiet"]) == 0
    text, notes = capsys.readouterr()
    assert json.loads(text) == saved and not notes


def test_a_study_is_a_frame_a_figure_and_a_page(emerged: Path, tmp_path: Path) -> None:
    study = Trials(json.loads((emerged / "hexapod-ulr-emergence.json").read_text()))
    frame = study.to_frame()
    assert list(frame["seed"]) == [1, 2] and "frozen.0.2min.airtime" in frame
    (axes,) = study.figure().axes
    assert sum(bar.get_width() for bar in axes.patches) == 2
    page = study.report(tmp_path / "page.html").read_text()
    assert "first jumps while learning" in page and "selforg emergence hexapod" in page


def test_a_seed_that_breaks_down_has_a_row_with_the_reason(tmp_path: Path) -> None:
    study = emergence(small(tmp_path, seeds=(1,), body={"max_joint_speed": 0.01}))
    (row,) = study.document["rows"]
    assert "broke down" in row["reason"]
    assert row["frozen"]["0.2min"]["reason"].startswith("never reached")
    assert study.sentences()[-1] == "broke down: 1 of 1 seeds"
    assert study.modes() == {"0.2min": {"broke down": 1}}


def test_a_seed_without_any_numbers_is_in_the_table() -> None:
    rows = [{"seed": 3, "reason": "no memory", "unfinished": True, "frozen": {}}]
    (table,) = Trials({"settings": {"robot": "hexapod"}, "rows": rows}).tables()
    assert table.rows[0][:3] == ["3", "-", "no memory"] and len(table.rows[0]) == len(table.heads)


def test_verdicts_count_seeds() -> None:
    jump = {"mode": "jumping", "std_x1": 0.5, "airtime": 0.4}
    low = {"mode": "up-down", "std_x1": 0.1, "airtime": 0.0}
    rows = [
        {"seed": 1, "frozen": {"8min": jump}, "learning": {"first_jumps": 2.5}},
        {"seed": 2, "frozen": {"8min": low}, "learning": {"first_jumps": None}},
        {"seed": 3, "reason": "it blew up"},
    ]
    first, second, third = verdict("hexapod", rows)
    assert first.startswith("8min: on the ground in 1 of 3 seeds, std of x_1 over .15 in 1, regular jumping")
    assert first.endswith("in 1")
    assert second == "first jumps while learning: minute 2.5 in 1 of 3 seeds"
    assert third == "broke down: 1 of 3 seeds"
    assert verdict("hexapod", rows[1:2])[1] == "first jumps while learning: none in 1 seed"
    rows[2]["unfinished"] = True
    assert verdict("hexapod", rows)[2] == "unfinished: 1 of 3 seeds; the same command tries them again"
    rows = [
        {
            "frozen": {"1min": {"mode": "rolling"}, "2min": {"mode": "quiet"}},
            "learning": {"longest": {"rolling": 60.0}},
        },
        {
            "frozen": {"1min": {"mode": "writhing"}, "2min": {"reason": "it blew up"}},
            "learning": {"longest": {"rolling": 20.0, "writhing": 10.0}},
        },
    ]
    assert verdict("snake", rows) == [
        "1min, of 2 seeds: rolling in 1, writhing in 1",
        "2min, of 2 seeds: quiet in 1, broke down in 1",
        "rolling while learning: in 2 of 2 seeds, for 20 to 60 s without a break",
        "writhing while learning: in 1 of 2 seeds, for 10 to 10 s without a break",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["barrel"], "what to look for is not stated for 'barrel'; known: hexapod, hexapod-high, snake"),
        (["barrel", "--controls"], "what to look for is not stated for 'barrel'"),
        (["barrel", "--engines"], "what to look for is not stated for 'barrel'"),
        (["hexapod", "--n-seeds", "0"], "--n-seeds is 0; it must be at least 1"),
        (["hexapod", "--samples", "10"], "--samples 10 must be at least 1000 (20 s tell a mode)\n"),
        (["hexapod", "--transient", "-1"], "--transient -1 must be 0 or more"),
        (["hexapod", "--freeze", "9"], "--freeze 9 lies outside the experiment of 8 minutes"),
        (["hexapod", "--controls", "--push"], "--controls and --push are different experiments: ask for one"),
        (["hexapod", "--controls", "--controller", "dep"], "switches off terms of ulr; the rule is 'dep'"),
        (["snake", "--push", "--impulse", "-1"], "--impulse is -1; it must be greater than 0"),
        (["snake", "--push", "--impulse", "inf"], "--impulse is inf; it must be greater than 0 and finite"),
        (["hexapod", "--push"], "across its length; 'hexapod' is not: use snake"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["emergence", *arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_controls_change_what_they_say(tmp_path: Path) -> None:
    settings = small(tmp_path)
    usual = make_trial(settings, 1)
    for name, changes in controls.CONTROLS.items():
        changed = controls.changed_trial(settings, 1, name)
        body = {"substeps": 8} if "substeps" in changes[0] else changes[0]
        for part, wanted in (("body", body), ("rule", changes[1])):
            before, after = getattr(usual, part), getattr(changed, part)
            assert {key: after[key] for key in after if after[key] != before[key]} == wanted, name


@pytest.mark.long
def test_controls_of_a_short_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controls, "AUDIT_STEPS", 200)
    monkeypatch.setattr(controls, "AUDIT_TRANSIENT", 20)
    chosen = (*controls.AUDITED, "learning off")
    done = {name: interventions.HEXAPOD[name] for name in list(interventions.HEXAPOD)[:2]}
    monkeypatch.setattr(interventions, "INTERVENTIONS", {"hexapod": done})
    monkeypatch.setattr(controls, "CONTROLS", {name: controls.CONTROLS[name] for name in chosen})
    words = ["--seeds", "1", "--minutes", "0.1", "--samples", "1000", "--transient", "0", "--jobs", "1"]
    assert main(["emergence", "--controls", *words, "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "learning off" in text and "servos give" in text
    study = controls.Controls(json.loads((tmp_path / "hexapod-ulr-controls.json").read_text()))
    found = study.document
    assert set(found["controls"]) == {*controls.CONTROLS, *done} == set(study.to_frame()["control"])
    assert set(study.modes()) == {*controls.CONTROLS, *done}
    assert {row[1] for row in study.tables()[1].rows} >= {"whole", "velocity alone", "rank 1"}
    assert found["verdict"][0].startswith("as it is: ") and " in 1 of 1 seeds" in found["verdict"][0]
    for row in (found["physics"][name][0] for name in controls.AUDITED):
        # A body that learned for 6 s stands: nothing falls, and little energy flows.
        assert row["flights"] == 0
        assert abs(row["motors"]) < 0.1 and abs(row["ground"]) < 0.1
        assert row["passive"] < 1.001


def test_shipped_jumps_obey_gravity_and_live_on_their_servos() -> None:
    with open_run_file(find_behaviour("hexapod-jump")) as found:
        frozen, settings = found.frozen["8min"], found.config["body"]
    body = make_body("hexapod", settings)
    try:
        s = body.restore(frozen.body)
        books = audit(body, Frozen(frozen.controller["C"], frozen.controller["h"]), s, 500)
    finally:
        body.close()
    falls = books.falls()
    assert len(falls) > 10  # 10 s at 1.9 Hz
    # The integrator's first-order error in flight with legs at full swing: 1 %.
    assert np.mean(falls) == pytest.approx(-9.81, rel=0.01)
    assert books.work.sum() > 1 > -1 > books.ground.sum()  # J: servos give, the ground takes


def test_without_the_vertical_velocity_its_sensor_reads_noise() -> None:
    body = make_body("hexapod", dict(controls.BLIND) | {"engine": default_engine()})
    try:
        body.reset(seed=1)
        read = [body.step(np.full(18, (-1.0) ** (t // 10)))[0][18] for t in range(100)]
    finally:
        body.close()
    assert np.abs(read).max() < 0.02 / np.sqrt(0.1)  # the bound of the noise


@pytest.mark.guard
def test_pushes_are_told_apart_from_what_happens_anyway(tmp_path: Path) -> None:
    study = emergence(small(tmp_path, "snake", seeds=(1,), minutes=0.1, transient=0, push=True, impulse=3.0))
    assert isinstance(study, studies.Pushes)
    rows = study.document["rows"]
    assert [row["push"] for row in rows] == ["left", "right", "none"]
    before = [row["before"] for row in rows]
    assert before[0] == before[1] == before[2]  # the same world until the push
    assert len({row["after"]["across"] for row in rows}) == 3
    pushed, anyway = study.sentences()
    assert pushed.startswith("a push of 3 N s: the mode changes in")
    assert anyway.startswith("without a push:")
    assert set(study.modes()) == {
        f"push {d}, {w}" for d in ("left", "right", "none") for w in ("before", "after")
    }
    assert [row[2] for row in study.tables()[0].rows] == ["left", "right", "none"]


def test_trials_know_everything_that_decides_them(tmp_path: Path) -> None:
    fields = {f.name for f in dataclasses.fields(Trial)}
    learned = {"robot", "controller", "seed", "minutes", "freeze", "body", "rule"}
    assert fields == learned | {"samples", "transient", "window", "sources"}
    assert "gravity" in make_trial(small(tmp_path), 1).body
