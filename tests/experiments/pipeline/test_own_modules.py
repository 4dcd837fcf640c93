"""A user's own modules: found where the user is, imported when the user names them, not when a file does."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.pipeline.loop import thaw
from experiments.pipeline.record import Record, record
from experiments.reports.report import Report, report
from experiments.runfiles.hdf5 import put_attributes
from experiments.runfiles.run_file import open_run_file

OWN = """
import numpy as np
from controllers import Controller, Frozen
from robots import Barrel

class Held(Frozen):
    def step(self, s, learn=True):
        return np.full(self.n_motors, 0.25)
    act = step

class Rule(Controller):
    def step(self, s, learn=True):
        return np.full(self.n_motors, 0.25)
    act = step
    def freeze(self):
        return Held(self.C, self.h)

class Robot(Barrel):
    pass
"""


def selforg(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, in a folder: nothing of the user's is imported yet.

    With -P, as for the installed command, Python itself does not look for modules in that folder.
    """
    command = [sys.executable, "-P", "-m", "experiments.cli", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a robot, a rule and what it freezes to, and a run of them."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine.py").write_text(OWN)
    words = "learn mine:Robot --controller mine:Rule --minutes 0.05 --freeze 0.02 0.05 --out run.h5"
    done = selforg(folder, *words.split())
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.guard
def test_what_a_rule_freezes_to_is_found_where_the_user_is(own: Path, tmp_path: Path) -> None:
    run = str(shutil.copy(own / "run.h5", tmp_path))
    words = ["record", run, "--samples", "60", "--transient", "0", "--jobs", "2"]
    refused = selforg(own, *words)
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1
    assert "names mine:" in refused.stderr and "say --module mine" in refused.stderr
    done = selforg(own, *words, "--module", "mine")
    assert done.returncode == 0, done.stderr
    with open_run_file(run) as file:
        np.testing.assert_array_equal(file.behaviours["0.05min"].actions[:], 0.25)


@pytest.mark.guard
def test_films_and_pages_of_what_a_rule_freezes_to(own: Path, tmp_path: Path) -> None:
    run = str(shutil.copy(own / "run.h5", tmp_path))
    done = selforg(
        own, "video", run, f"{tmp_path}/x.png", "--seconds", "0.2", "--skip", "0", "--module", "mine"
    )
    assert done.returncode == 0, done.stderr
    page = tmp_path / "r.html"
    for extra, films in (([], 0), (["--module", "mine"], 2)):
        done = selforg(own, "report", run, "--seconds", "0.2", "-o", str(page), *extra)
        assert done.returncode == 0, done.stderr
        text = page.read_text()
        assert text.count('type="text/plain" id="film-') == films
        assert ("say --module mine" in text) == (not films)


@pytest.mark.parametrize("where", ["kind", "robot"])
def test_a_file_makes_nobody_import_a_module(
    where: str, learned_run: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    """A module on the path that leaves a trace when it is imported: no command that reads the file does."""
    (tmp_path / "evil.py").write_text("import pathlib\npathlib.Path(__file__).with_name('trace').touch()\n")
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        for name in file["frozen"] if where == "kind" else ():
            put_attributes(file["frozen"][name], {"kind": "evil:Class"})
        if where == "robot":
            put_attributes(file, {"robot": "evil:Class"})
    for words in (["record", "run.h5", "--jobs", "1"], ["video", "run.h5", "x.mp4"]):
        assert "say --module evil" in refused(*words)
    assert main(["show", "run.h5"]) == 0
    report(Report((path,), out=tmp_path / "r.html"))
    assert "say --module evil" in (tmp_path / "r.html").read_text()
    assert not (tmp_path / "trace").exists()


def test_a_frozen_state_makes_nobody_import_a_module(
    learned_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where no run was asked before: whoever restores one asks again."""
    (tmp_path / "wicked.py").write_text("import pathlib\npathlib.Path(__file__).with_name('trace').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with open_run_file(learned_run) as run:
        state = replace(next(iter(run.frozen.values())), kind="wicked:Class")
    with pytest.raises(ExperimentError, match="say --module wicked"):
        thaw(state)
    assert not (tmp_path / "trace").exists()


def test_what_is_imported_but_is_no_controller_is_refused(learned_run: Path, tmp_path: Path, refused) -> None:
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        for name in file["frozen"]:
            put_attributes(file["frozen"][name], {"kind": "subprocess:Popen"})
    assert "make it a subclass of controllers.Controller" in refused("video", "run.h5", "x.mp4")
    with pytest.raises(ValueError, match="make it a subclass"):
        record(Record((path,), 10, jobs=1))
