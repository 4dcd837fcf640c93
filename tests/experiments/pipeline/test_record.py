"""Recording frozen behaviours: the same with any number of processes, and never into another's file."""

import itertools
import json
import os
import shutil
import signal
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import quantify as q
from controllers import Frozen
from experiments.cli import main
from experiments.errors import FileError
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, Wanted, _stationarity, record, record_one
from experiments.runfiles.atomic import writing
from experiments.runfiles.library import fetch
from experiments.runfiles.results import versions
from experiments.runfiles.run_file import open_run_file, part_path
from robots import default_engine


@pytest.mark.guard
def test_an_unfinished_recording_of_another_run_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    task = Wanted(path, "0.1min", 300, 50, 0.2, 100)
    wish = Record((path,), 300, transient=50, checkpoint=100, jobs=1)
    lesson = {"minutes": 0.1, "freeze": (0.1,), "out": path}
    learn(Learn("hexapod", **lesson))
    record_one(task)
    unfinished = task.part.read_bytes()
    record(wish)
    with open_run_file(path) as run:
        expected = run.behaviours["0.1min"].sensors[:]
    path.unlink()
    learn(Learn("hexapod", seed=2, **lesson))
    task.part.write_bytes(unfinished)
    with pytest.raises(FileError, match="began with another controller or body"):
        record(wish)
    assert task.part.read_bytes() == unfinished
    record(Record((path,), 300, transient=50, checkpoint=100, jobs=1, replace=True))
    with open_run_file(path) as run:
        assert not np.array_equal(run.behaviours["0.1min"].sensors[:], expected)
    # The same run learned again is the same run; and a part that does not say where it began is trusted.
    for marked in (True, False):
        path.unlink()
        learn(Learn("hexapod", **lesson))
        task.part.write_bytes(unfinished)
        if not marked:
            with h5py.File(task.part, "r+") as file:
                del file.attrs["origin"]
        record(wish)
        with open_run_file(path) as run:
            assert np.array_equal(run.behaviours["0.1min"].sensors[:], expected)


def test_nothing_to_do_takes_nothing_from_others(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    learn(Learn("hexapod", minutes=0.1, freeze=(0.1,), out=path))
    wish = Record((path,), 300, transient=50, checkpoint=100, jobs=1)
    record(wish)
    other, merged = (Wanted(path, "0.1min", samples, 50, 0.04, 100) for samples in (200, 300))
    record_one(other)  # is to replace the recording, and was interrupted
    record(wish)
    assert other.part.exists()
    other.part.unlink()
    record_one(merged)
    with writing(path):
        record(wish)
    assert merged.part.exists()
    record(wish)
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


@pytest.mark.guard
def test_recordings_do_not_depend_on_the_number_of_processes(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    learn(Learn("snake", minutes=0.3, freeze=(0.1, 0.3), out=path))
    record(Record((path,), samples=3000, transient=100, jobs=1))
    with open_run_file(path) as one, open_run_file(recorded) as two:
        for name, behaviour in one.behaviours.items():
            for key, rows in behaviour.tracks.items():
                assert np.array_equal(rows[:], two.behaviours[name].tracks[key][:]), (name, key)


def test_stationarity_is_in_the_file(recorded: Path) -> None:
    with open_run_file(recorded) as run:
        behaviour = run.behaviours["0.3min"]
        verdict = json.loads(behaviour.attrs["stationarity"])
        assert verdict["sensor"] == 6 and verdict["tested"] == [6]
        assert f"sensor {behaviour.sensors.names[6]!r}" in verdict["verdict"]
        test = q.stationarity(behaviour.sensors[:, 6].astype(float))
        assert verdict["p_value"] == test.p_value and verdict["stationary"] == test.stationary


def test_all_sensors_share_one_level(tmp_path: Path) -> None:
    """Two sensors drift: both are found, and each is tested at a level of 1 % / 4."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4000, 4)).astype("<f4")
    x[:, 1] += np.linspace(0, 1, 4000)
    x[:, 2] = 0  # has no statistics at all
    x[:, 3] *= np.linspace(1, 2, 4000)
    with h5py.File(tmp_path / "r.h5", "w") as file:
        file["sensors"] = x
        file["sensors"].attrs["names"] = ["a", "b", "still", "d"]
        verdict, alone = _stationarity(file["sensors"], "all"), _stationarity(file["sensors"], "0")
    assert verdict["moving"] == [1, 3] and verdict["tested"] == [0, 1, 3] and verdict["alpha"] == 0.01 / 4
    assert "2 of 3 sensors NOT stationary" in verdict["verdict"]
    assert "still was not tested" in verdict["verdict"]
    assert alone["verdict"].startswith("sensor 'a' stationary") and alone["alpha"] == 0.01


def test_a_sensor_to_test_is_looked_for_before_the_work(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", str(recorded), "--stationarity", "knee", "--samples", "5", "--replace"]) == 2
    assert "has no column 'knee'" in capsys.readouterr().err


def test_other_libraries_are_noted(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, engine = tmp_path / "old.h5", default_engine()
    shutil.copy(recorded, path)
    with h5py.File(path, "r+") as file:
        file.attrs["versions"] = json.dumps(json.loads(file.attrs["versions"]) | {engine: "1.0"})
    config = ["--samples", "200", "--transient", "0", "--freeze", "0.1", "--replace", "--jobs", "1"]
    assert main(["record", str(path), *config]) == 0
    words = capsys.readouterr().err.replace("\n", " ")
    assert f"learned with {engine} 1.0, now" in words and "bit for bit" in words
    with open_run_file(path) as run:
        assert json.loads(run.behaviours["0.1min"].attrs["versions"]) == versions(engine)


@pytest.mark.guard
def test_a_jump_is_seen_often_enough(tmp_path: Path) -> None:
    """Airtime as it is measured by default, against a look at every step."""
    airtime = {}
    for measure in (None, 0.02):
        path = fetch("hexapod-jump", tmp_path / str(measure))
        record(Record((path,), 500, transient=500, measure=measure, jobs=1))
        with open_run_file(path) as run:
            (recording,) = run.behaviours.values()
            (in_air,) = (rows[:] == 0 for rows in [recording.tracks["measures"][:, 8]])
            assert recording.tracks["measures"].names[8] == "contacts"
        airtime[measure] = in_air.reshape(5, -1).mean(axis=1)  # of each second
    # A second has 25 looks, and two jumps with two edges each that may fall between two of them.
    np.testing.assert_allclose(airtime[None], airtime[0.02], atol=4 / 50)
    assert 0.3 < airtime[0.02].mean() < 0.7


def test_what_was_begun_with_other_intervals_goes_on_with_them(tmp_path: Path) -> None:
    """Files of earlier versions have a look at the body every fifth of a second."""
    path = tmp_path / "run.h5"
    lesson = {"minutes": 0.1, "freeze": (0.1,), "out": path}
    learn(Learn("hexapod", measure=0.2, **lesson))
    learn(Learn("hexapod", **lesson))
    record_one(Wanted(path, "0.1min", 200, 0, 0.2, 100))
    record(Record((path,), 200, transient=0, checkpoint=100, jobs=1))
    record(Record((path,), 200, transient=0, checkpoint=100, jobs=1))
    with open_run_file(path) as run:
        assert {one.tracks["measures"].every for one in (run.learning, *run.behaviours.values())} == {10}
    with pytest.raises(FileError, match=r"measure is 0\.2 there and 0\.04 here"):
        learn(Learn("hexapod", measure=0.04, **lesson))


class Dying(Frozen):
    """Takes its process along after fifty actions, as the system does that lacks memory."""

    count = itertools.count()

    def act(self, s: ArrayLike) -> NDArray[np.float64]:
        if next(self.count) == 50:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().act(s)


@pytest.mark.guard
def test_the_death_of_a_worker_is_one_line_and_what_was_committed_goes_on(
    learned_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        kind = file["frozen/0.1min"].attrs["kind"]
        file["frozen/0.1min"].attrs["kind"] = f"{__name__}:Dying"
    before = path.read_bytes()
    words = ["record", str(path), "--samples", "60", "--transient", "0", "--checkpoint", "20", "--jobs", "2"]
    assert main([*words, "--quiet"]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("selforg: a worker process died") and "\n" not in error
    assert path.read_bytes() == before
    with open_run_file(path) as run:
        assert run.behaviours["0.1min"].steps == 40
    # Had it been mere bad luck, the same command would go on.
    with h5py.File(path, "r+") as file:
        file["frozen/0.1min"].attrs["kind"] = kind
    part_path(path, "0.1min").unlink()
    assert main([*words, "--quiet"]) == 0
    with open_run_file(path) as run:
        assert [one.steps for one in run.behaviours.values()] == [60, 60]
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]
