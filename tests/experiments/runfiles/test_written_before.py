"""What users have stays good: files of version 0.1.0, with results inside run files and tasks without names.

`written_before.tar.gz` holds a finished run with recordings and results, a run and a recording that were
interrupted, and the store of a comparison.
"""

import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

import quantify as q
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.quantify import Quantify, quantify
from experiments.pipeline.record import Record, record
from experiments.runfiles.run_file import open_run_file
from experiments.studies.scoring import Scoring, Yardstick, score
from experiments.sweeps.sweep import read_entry
from quantify.quantification_data import QUANTITIES
from tests.robots.helpers import only_bullet


@pytest.fixture
def before(tmp_path: Path) -> Path:
    with tarfile.open(Path(__file__).with_name("written_before.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def experiment(path: Path) -> Learn:
    """The experiment that a run file states."""
    with open_run_file(path) as run:
        return Learn(**run.config | {"freeze": tuple(run.config["freeze"]), "out": path})


@only_bullet
def test_a_finished_run_opens_and_its_results_are_known(before: Path) -> None:
    path = before / "finished.h5"
    with open_run_file(path) as run:
        assert list(run.frozen) == list(run.behaviours) == list(run.results) == ["0.02min", "0.04min"]
        assert run.behaviours["0.04min"].sensors.shape == (300, 4)
        stored = run.results["0.04min"]
        again = q.Quantification.from_dict(stored["result"]).to_dict()
        again["ranges"] = stored["result"]["ranges"]  # made again from the curves, by the rule of now
        for name, value in stored["result"].items():
            # Estimates know of choices since, of which the file says nothing.
            assert (value | {"choices": {}} if name in QUANTITIES else value) == again[name], name
    content = path.read_bytes()
    assert learn(experiment(path)) == path
    record(Record((path,), samples=300, transient=10, checkpoint=80, jobs=1))
    assert path.read_bytes() == content
    found = quantify(Quantify(str(path), tau=1, m_max=2, replicates=0, predictive=0))
    assert found["0.04min"].sums.n == 300 and path.read_bytes() == content


@only_bullet
def test_an_interrupted_run_goes_on(before: Path) -> None:
    path = before / "learning.h5"
    with open_run_file(path) as run:
        assert run.learning.status == "running" and run.learning.steps == 60
        rows = run.learning.sensors[:]
    learn(experiment(path))
    with open_run_file(path) as run, open_run_file(before / "finished.h5") as whole:
        assert run.learning.complete and run.learning.steps == 120
        assert np.array_equal(run.learning.sensors[:60], rows)
        assert run.learning.sensors.names == whole.learning.sensors.names
        assert list(run.frozen) == ["0.02min", "0.04min"]


@only_bullet
def test_an_interrupted_recording_goes_on(before: Path) -> None:
    path = before / "recording.h5"
    with open_run_file(path) as run:
        assert run.behaviours["0.04min"].status == "running"
        rows = run.behaviours["0.04min"].sensors[:]
        assert len(rows) == 150
    record(Record((path,), samples=300, transient=10, checkpoint=80, jobs=1))
    with open_run_file(path) as run:
        assert run.behaviours["0.04min"].complete
        assert np.array_equal(run.behaviours["0.04min"].sensors[:150], rows)
    assert sorted(p.name for p in before.glob("recording*")) == ["recording.h5"]


def test_a_store_is_found_again(before: Path) -> None:
    (entry,) = (before / "store").glob("*.json")
    config = json.loads(entry.read_text())["config"]
    scales = {name: tuple(config["measure"][name]) for name in ("common", "relative")}
    yardstick = Yardstick(**config["measure"] | scales)
    task = Scoring(**config | {"freezes": tuple(config["freezes"]), "measure": yardstick})
    found = read_entry(before / "store", score, task)
    assert found is not None and found["result"]["std"] == pytest.approx(0.692, abs=1e-3)


def test_a_copy_needs_no_more_than_its_results_beside_it(before: Path) -> None:
    """A run file can be moved: the results inside it go with it."""
    (before / "elsewhere").mkdir()
    path = shutil.move(before / "finished.h5", before / "elsewhere" / "run.h5")
    with open_run_file(path) as run:
        assert list(run.results) == ["0.02min", "0.04min"]
