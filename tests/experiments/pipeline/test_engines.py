"""Engines in run files: stated, kept, and not mixed unless asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.errors import ExperimentError, FileError
from experiments.pipeline.learn import Learn, learn, resolve
from experiments.pipeline.record import Record, record
from experiments.reports.report import Report, report
from experiments.reports.video import Video, video
from experiments.runfiles.run_file import open_run_file
from robots import ENGINES, engine_version

HERE = [engine for engine in ENGINES if engine_version(engine)]

both = pytest.mark.skipif(not all(map(engine_version, ENGINES)), reason="it takes both engines")


def learned(path: Path, engine: str) -> Path:
    return learn(Learn("barrel", minutes=0.05, freeze=(0.05,), out=path, engine=engine))


@both
@pytest.mark.parametrize("engine", ENGINES)
def test_run_files_state_their_engine(engine: str, tmp_path: Path) -> None:
    with open_run_file(learned(tmp_path / "run.h5", engine)) as run:
        assert run.engine == engine
        assert run.words == f"barrel under ulr, seed 1, in {engine} {engine_version(engine)}"
        assert run.versions[engine] == engine_version(engine)


def test_pybullet_goes_without_saying_as_in_files_from_before() -> None:
    assert resolve(Learn("barrel", engine="mujoco")).body["engine"] == "mujoco"
    if engine_version("pybullet"):
        assert "engine" not in resolve(Learn("barrel", engine="pybullet")).body


@both
def test_frozen_controllers_act_in_another_engine_only_when_asked_to(tmp_path: Path) -> None:
    path = learned(tmp_path / "run.h5", "pybullet")
    wanted = {"samples": 100, "transient": 0, "jobs": 1, "engine": "mujoco"}
    with pytest.raises(FileError, match=r"learned in pybullet, and mujoco is another physics; --transplant"):
        record(Record((path,), **wanted))
    (other,) = record(Record((path,), **wanted, transplant=True))
    assert other == tmp_path / "run.mujoco.h5"
    with open_run_file(other) as run, open_run_file(path) as before:
        assert run.engine == "mujoco" and run.behaviours["0.05min"].steps == 100
        assert before.engine == "pybullet" and not before.behaviours


@pytest.mark.guard
@pytest.mark.parametrize("engine", HERE)
def test_what_is_made_of_a_run_states_its_engine(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, words = tmp_path / "run.h5", f"{engine} {engine_version(engine)}"
    learning = ["learn", "barrel", "--minutes", "0.05", "--freeze", "0.05", "--out", str(path)]
    assert main([*learning, "--engine", engine]) == 0
    assert words in capsys.readouterr().err.splitlines()[0]
    record(Record((path,), samples=2000, transient=0, jobs=1))
    assert main(["quantify", str(path), "--m-max", "4"]) == 0
    (result,) = tmp_path.glob("*.complexity.json")
    assert json.loads(result.read_text())["versions"][engine] == engine_version(engine)
    report(Report((path,), out=tmp_path / "page.html", seconds=0))
    assert words in (tmp_path / "page.html").read_text()


@both
def test_films_of_a_frozen_controller_in_another_engine(tmp_path: Path) -> None:
    path, out = learned(tmp_path / "run.h5", "pybullet"), tmp_path / "film.png"
    wanted = Video(path, out, seconds=0.1, skip=0, pictures=2, engine="mujoco")
    with pytest.raises(FileError, match=r"mujoco is another physics; --transplant films"):
        video(wanted)
    assert video(replace(wanted, transplant=True)) == out and out.stat().st_size > 0


@both
def test_another_file_is_not_taken_for_the_transplanted_run(tmp_path: Path) -> None:
    path = learned(tmp_path / "run.h5", "pybullet")
    learn(Learn("barrel", minutes=0.05, freeze=(0.05,), seed=2, out=tmp_path / "run.mujoco.h5"))
    wanted = {"samples": 100, "transient": 0, "jobs": 1, "engine": "mujoco", "transplant": True}
    with pytest.raises(FileError, match=r"run\.mujoco\.h5 is another run than .*run\.h5 in mujoco; move it"):
        record(Record((path,), **wanted))
    (tmp_path / "run.mujoco.h5").unlink()
    (one,) = record(Record((path,), **wanted))
    # Both names of what is transplanted are one run, and it is recorded once.
    assert record(Record((path, one), **wanted)) == [one]


def test_bodies_with_their_own_physics_know_no_engine(tmp_path: Path) -> None:
    settings = Learn("Pendulum-v1", minutes=0.05, freeze=(0.05,), out=tmp_path / "run.h5")
    with pytest.raises(ExperimentError, match=r"Pendulum-v1 brings its own physics; leave --engine mujoco"):
        learn(replace(settings, engine="mujoco"))
    with pytest.raises(FileError, match=r"brings its own physics; leave --engine mujoco out"):
        record(Record((learn(settings),), engine="mujoco", transplant=True))
