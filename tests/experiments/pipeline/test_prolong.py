"""Asking for more: a run and a recording go on from their last checkpoint, as if asked for all at once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import experiments as ex
from experiments.cli import main
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.runfiles.growing import GrowingFile
from experiments.runfiles.run_file import open_run_file

SHORT, LONG = {"minutes": 0.05, "freeze": (0.03,)}, {"minutes": 0.11, "freeze": (0.03, 0.1)}


def content(path: Path) -> dict[str, Any]:
    """All that a file holds: rows and attributes, but for the moment when it was begun."""
    found: dict[str, Any] = {}
    with h5py.File(path) as file:
        found[""] = {
            key: np.asarray(value).tobytes() for key, value in file.attrs.items() if key != "created"
        }

        def look(name: str, item: h5py.Group | h5py.Dataset) -> None:
            found[name] = {key: np.asarray(value).tobytes() for key, value in item.attrs.items()}
            if isinstance(item, h5py.Dataset):
                found[name]["rows"] = item[()].tobytes()

        file.visititems(look)
    return found


def learned(path: Path, **settings: Any) -> Path:
    return learn(Learn("barrel", out=path, **settings))


def recorded(path: Path, samples: int, **settings: Any) -> Path:
    record(Record((path,), samples, transient=20, jobs=1, **settings))
    return path


# An end that is no checkpoint of a longer run, one that is, and one before the first checkpoint.
@pytest.mark.guard
@pytest.mark.parametrize("every", [40, 50, 1000])
def test_a_longer_run_equals_one_that_was_asked_for_at_once(tmp_path: Path, every: int) -> None:
    at_once = learned(tmp_path / "once.h5", **LONG, checkpoint=every)
    path = learned(tmp_path / "run.h5", **SHORT, checkpoint=every)
    recorded(path, 30)
    learned(path, **LONG, checkpoint=every)
    assert open_run_file(path).behaviours["0.03min"].complete  # what was recorded stays
    recorded(path, 30)
    recorded(at_once, 30)
    assert content(path) == content(at_once)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["once.h5", "run.h5"]


@pytest.mark.guard
@pytest.mark.parametrize("every", [40, 70, 1000])
def test_a_longer_recording_equals_one_that_was_asked_for_at_once(tmp_path: Path, every: int) -> None:
    path = learned(tmp_path / "run.h5", **SHORT)
    at_once = Path(shutil.copy(path, tmp_path / "once.h5"))
    for samples in (50, 51, 130):
        recorded(path, samples, checkpoint=every)
    recorded(at_once, 130, checkpoint=every)
    assert content(path) == content(at_once)
    with open_run_file(path) as run:
        assert run.behaviours["0.03min"].sensors.shape[0] == run.behaviours["0.03min"].wanted == 130


def test_it_goes_on_and_does_not_begin_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(learned(tmp_path / "run.h5", **SHORT, checkpoint=50), 100, checkpoint=60)
    begun, create = [], GrowingFile.open.__func__  # type: ignore[attr-defined]

    def opened(cls: type[GrowingFile], path: Path) -> GrowingFile:
        work: GrowingFile = create(cls, path)
        begun.append(work.steps)
        return work

    monkeypatch.setattr(GrowingFile, "open", classmethod(opened))
    learned(path, **LONG, checkpoint=50)
    recorded(path, 200, checkpoint=60, freeze=(0.03,))
    assert begun == [150, 120]


@pytest.mark.guard
def test_an_interrupted_one_goes_on_for_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = recorded(learned(tmp_path / "once.h5", **LONG, checkpoint=50), 300, checkpoint=60)
    path, commit = tmp_path / "run.h5", GrowingFile.commit

    def interrupted(work: GrowingFile, steps: int, state: Any) -> None:
        commit(work, steps, state)
        if steps == stop:
            raise KeyboardInterrupt

    monkeypatch.setattr(GrowingFile, "commit", interrupted)
    stop = 100
    with pytest.raises(KeyboardInterrupt):
        learned(path, **SHORT, checkpoint=50)
    stop = 150  # and again in what is added
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            learned(path, **LONG, checkpoint=50)
        stop += 50
    stop = -1
    learned(path, **LONG, checkpoint=50)
    for at, samples in ((120, 200), (180, 300)):
        stop = at
        with pytest.raises(KeyboardInterrupt):
            recorded(path, samples, checkpoint=60)
    stop = -1
    recorded(path, 300, checkpoint=60)
    assert content(path) == content(at_once)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["once.h5", "run.h5"]


def test_what_is_not_more_of_the_same_is_refused(tmp_path: Path, refused: Callable[..., str]) -> None:
    path = recorded(learned(tmp_path / "run.h5", **SHORT), 100)
    before = path.read_bytes()
    for changed in ({"minutes": 0.04, "freeze": (0.03,)}, {"freeze": (0.02, 0.03)}, {"seed": 2}):
        with pytest.raises(ex.FileError, match=r"holds another experiment: .*--replace to learn anew"):
            learned(path, **{**LONG, **changed})
    words = ["record", "run.h5", "--transient", "20", "--jobs", "1", "--samples"]
    assert "ask for the same or for more, or use --replace" in refused(*words, "99")
    assert "--replace" in refused(*words, "200", "--measure", "0.1")
    assert path.read_bytes() == before
    with h5py.File(path, "r+") as file:
        del file["checkpoint"]  # as in files of before
    assert "keeps no checkpoint of 0.03min" in refused(*words, "200")
    with pytest.raises(ex.FileError, match="keeps no checkpoint of learning"):
        learned(path, **LONG)
    assert main([*words, "200", "--replace"]) == 0


@pytest.mark.guard
def test_killed_at_any_moment_it_opens_and_goes_on(tmp_path: Path) -> None:
    """Twelve kills while a run and its recording are made longer; both open after each."""
    at_once = recorded(learned(tmp_path / "once.h5", **LONG, checkpoint=10), 400, checkpoint=10)
    path = recorded(learned(tmp_path / "run.h5", **SHORT, checkpoint=10), 100, checkpoint=10)
    code = (
        "import sys; from pathlib import Path\n"
        "from experiments.pipeline.learn import Learn, learn\n"
        "from experiments.pipeline.record import Record, record\n"
        f"path = Path({str(path)!r})\nprint('ready', flush=True)\n"
        f"learn(Learn('barrel', out=path, checkpoint=10, **{LONG!r}))\n"
        "record(Record((path,), 400, transient=20, jobs=1, checkpoint=10))\n"
    )
    for i in range(12):
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert child.stdout is not None and child.stdout.readline()
        time.sleep(0.02 * i)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        with open_run_file(path) as run:
            assert run.learning.status == "complete" and run.behaviours["0.03min"].status == "complete"
            assert np.isfinite(run.learning.sensors[:]).all()
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert content(path) == content(at_once)
