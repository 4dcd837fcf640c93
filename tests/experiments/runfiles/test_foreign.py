"""Runs that HDF5 finds intact and that are none of ours: refused in words, saved as far as possible."""

import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from experiments.cli import main
from experiments.errors import ExperimentError, FileError
from experiments.pipeline.record import Record, record
from experiments.reports.results import read_results
from experiments.runfiles.run_file import open_run_file
from experiments.runfiles.salvage import Salvage, salvage


@pytest.fixture
def run_file(learned_run: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copy(learned_run, tmp_path / "run.h5"))


@pytest.mark.parametrize(
    ("place", "key", "value", "words"),
    [
        ("/", "seed", "x", "its seed is 'x', not a whole number from 0 on"),
        ("/", "robot", 3, "not text"),
        ("/", "robot", b"a\xff", "codec can't"),
        ("/", "config", "[]", "its config is [], not an object"),
        ("/", "config", "{}", "None in place of the settings of its body"),
        ("/", "versions", "{" * 9, "Expecting property name"),
        ("learning", "steps", 10**6, "learning/C has 6 of 20000 rows"),
        ("learning", "steps", -1, "its steps is np.int64(-1), not a whole number from 0 on"),
        ("learning", "rate_hz", 0.0, "the rate of learning is np.float64(0.0)"),
        ("learning/sensors", "every", 0, "its every is np.int64(0), not a whole number from 1 on"),
        ("learning/actions", "every", 2, "learning/actions has no row for every step"),
        ("learning/sensors", "names", ["a"], "has columns (19,), but names ('a',)"),
        ("learning/C", "every", 100, "learning has 3 rows of C, but 6 of h"),
        ("learning/sensors", "units", 3.0, "but units np.float64(3.0)"),
    ],
)
def test_a_run_that_is_intact_and_yet_none_of_ours_is_refused(
    place: str, key: str, value: Any, words: str, learned_run: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        file[place].attrs[key] = value
    with pytest.raises(FileError, match="is damaged") as info:
        open_run_file(path)
    assert words in str(info.value)


@pytest.mark.parametrize("value", [h5py.SoftLink("/nowhere"), "text", np.zeros((300, 2)), np.zeros(3, "S1")])
def test_a_track_that_is_none_of_ours_is_refused(value: Any, learned_run: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        kept = dict(file["learning/C"].attrs)
        del file["learning/C"]
        file["learning/C"] = value
        if not isinstance(value, h5py.SoftLink):
            file["learning/C"].attrs.update(kept)
    with pytest.raises(FileError, match="is damaged"):
        open_run_file(path)


def test_what_is_among_the_recordings_and_is_none_is_refused(learned_run: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        file["behaviours/mine"] = 1.0
    with pytest.raises(FileError, match="behaviours/mine is no recording"):
        open_run_file(path)


@pytest.mark.parametrize(
    ("lost", "value", "words"),
    [
        ("body/noise", None, "snapshot['noise'] is missing"),
        ("body/joints", np.zeros((2, 2)), "snapshot['joints'] has shape (2, 2)"),
        ("body/offset", np.array([b"a", b"b"]), "snapshot['offset'] has type"),
        ("body/random", np.full(6, -1), "snapshot['random'] holds -1"),
        ("controller/h", None, "h of a frozen controller is missing"),
        ("controller/C", np.full((18, 19), np.nan), "or no array of finite numbers"),
        ("controller/C", np.zeros((2, 19)), "have shapes (2, 19) and (18,)"),
    ],
)
def test_a_state_that_is_no_whole_one_is_not_recorded(
    lost: str, value: Any, words: str, run_file: Path
) -> None:
    with h5py.File(run_file, "r+") as file:
        del file[f"frozen/0.1min/{lost}"]
        if value is not None:
            file[f"frozen/0.1min/{lost}"] = value
    with pytest.raises(ExperimentError) as info:
        record(Record((run_file,), samples=30, transient=0, jobs=1, freeze=(0.1,)))
    assert words in str(info.value)


def test_a_frozen_state_of_a_users_own_may_hold_a_C_of_another_meaning(run_file: Path) -> None:
    with h5py.File(run_file, "r+") as file:
        for name in ("0.05min", "0.1min"):
            file[f"frozen/{name}"].attrs["kind"] = "my_rules:Mine"
            state = file[f"frozen/{name}/controller"]
            del state["C"]
            state["C"] = np.zeros(3)
        del file["frozen/0.1min/controller/h"]
    (phase,) = read_results([run_file]).learning
    assert not phase.C and not phase.eigenvalues and len(phase.moduli) == 6


def test_recording_leaves_what_others_put_beside_the_groups(run_file: Path) -> None:
    with h5py.File(run_file, "r+") as file:
        file["mine"] = np.arange(5)
        file["mine"].attrs["unit"] = "m"
    record(Record((run_file,), samples=30, transient=0, jobs=1, freeze=(0.1,)))
    with h5py.File(run_file) as file:
        assert file["mine"][:].tolist() == [0, 1, 2, 3, 4] and file["mine"].attrs["unit"] == "m"
        assert len(file["behaviours/0.1min/sensors"]) == 30


@pytest.mark.parametrize("every", [h5py.Empty("f8"), np.zeros(0), "x", 0, -1, None])
def test_of_a_track_without_its_interval_only_that_of_every_step_is_saved(every: Any, run_file: Path) -> None:
    with h5py.File(run_file, "r+") as file:
        truth = file["learning/sensors"][:]
        for key in ("C", "sensors"):
            del file[f"learning/{key}"].attrs["every"]
            if every is not None:
                file[f"learning/{key}"].attrs["every"] = every
    saved = salvage(Salvage(run_file, out := run_file.with_name("new.h5")))
    assert saved["learning/C"].rows == 0 and saved["learning/C"].of == 6  # when they were is not known
    with open_run_file(out) as run:
        assert np.array_equal(run.learning.sensors[:], truth) and "C" not in run.learning.tracks
        assert run.learning.steps == 300 and len(run.learning.tracks["h"]) == 6


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("value", ["evil:Class", np.zeros(300), np.zeros((300, 19), "S1"), h5py.Empty("f8")])
def test_what_stands_in_place_of_the_sensors_is_not_saved(value: Any, growing: bool, run_file: Path) -> None:
    with h5py.File(run_file, "r+") as file:
        if growing:
            file["commit"] = [300, 0, 1, 1]
        kept = dict(file["learning/sensors"].attrs)
        del file["learning/sensors"]
        file["learning/sensors"] = value
        file["learning/sensors"].attrs.update(kept)
    saved = salvage(Salvage(run_file, out := run_file.with_name("new.h5")))
    assert saved["learning/sensors"].rows == 0
    with open_run_file(out) as run:
        assert run.learning.sensors.shape == (0, 19) and run.learning.actions.shape == (0, 18)


@pytest.mark.parametrize("value", ["x", np.zeros(3), h5py.Empty("f8"), b"\xff", np.inf])
def test_what_is_told_of_a_recording_and_is_no_number_or_name_is_replaced(value: Any, run_file: Path) -> None:
    with h5py.File(run_file, "r+") as file:
        for key in ("steps", "wanted", "rate_hz", "reason"):
            file["learning"].attrs[key] = value
        for key in ("names", "units"):
            file["learning/sensors"].attrs[key] = value
        file["behaviours"] = 1.0
    salvage(Salvage(run_file, out := run_file.with_name("new.h5")))
    with open_run_file(out) as run:
        told = run.learning
        assert told.steps == told.wanted == 300 and np.isnan(told.attrs["rate_hz"])
        assert told.sensors.names[18] == "sensors 18, lost" and told.actions.names[0] != "actions 0, lost"


def test_salvage_says_what_keeps_the_new_file_from_being_a_run(run_file: Path, capsys) -> None:
    with h5py.File(run_file, "r+") as file:
        del file.attrs["seed"]
    out = run_file.with_name("new.h5")
    assert main(["salvage", str(run_file), str(out)]) == 0
    said = capsys.readouterr().err
    assert "new.h5 is no whole run (its seed is 'missing', not a whole number from 0 on)" in said
    words = f"quantify {out}:/learning/sensors --sensor 0 --m-max 2 --tau 1 --replicates 0 --predictive 0"
    assert main(words.split()) == 0


@pytest.mark.parametrize("name", ["behaviours", "frozen", "results"])
def test_what_is_destroyed_is_not_taken_for_what_was_never_there(name: str, run_file: Path) -> None:
    with h5py.File(run_file, "r+") as file:
        if name in file:
            del file[name]
        file[name] = h5py.SoftLink("/nowhere")  # a name whose object cannot be had
        if name == "results":
            file.require_group("behaviours")
            file.copy("learning", file["behaviours"], "0.1min")
    with pytest.raises(FileError, match="is damaged"), open_run_file(run_file) as run:
        assert not run.results


def test_a_commit_record_that_is_none_is_no_run_without_rows(run_file: Path) -> None:
    with h5py.File(run_file, "r+") as file:
        file["commit"] = [0, 0, 0, 0]
    with pytest.raises(FileError, match="its commit record is destroyed"):
        open_run_file(run_file)
