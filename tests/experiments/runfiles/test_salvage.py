"""What can be saved of files that were cut or damaged, and what is said to be lost."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from experiments.cli import main
from experiments.errors import FileError
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.runfiles.growing import GrowingFile
from experiments.runfiles.run_file import open_run_file
from experiments.runfiles.salvage import Salvage, salvage


def test_a_truncated_file_says_what_can_be_saved_and_saves_it(tmp_path: Path, run_file: Path) -> None:
    whole = run_file.read_bytes()
    with open_run_file(run_file) as run:
        truth = run.behaviours["0.2min"].sensors[:]
    saved_some = False
    for share in (0.3, 0.6, 0.9, 0.999):
        path = tmp_path / "cut.h5"
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(FileError, match=r"damaged.*(can be saved|nothing can be saved)") as info:
            open_run_file(path)
        if "can be saved with" not in str(info.value):
            continue
        saved_some = True
        out = tmp_path / f"{share}.h5"
        salvage(Salvage(path, out))
        with h5py.File(out) as file:
            name = "behaviours/0.2min/sensors"
            if name in file:
                assert np.array_equal(file[name], truth[: len(file[name])])
        with open_run_file(out) as run:
            assert run.learning.status == "salvaged"
            assert np.isfinite(run.learning.sensors[:]).all()
    assert saved_some
    assert not list(tmp_path.glob(".salvage*"))


@pytest.mark.guard
@pytest.mark.parametrize("kind", ["growing", "learned", "recorded"])
def test_of_a_file_cut_to_70_percent_the_first_rows_are_saved_and_the_lost_are_counted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, commit = tmp_path / "run.h5", GrowingFile.commit

    def interrupted(work: GrowingFile, steps: int, state: Any) -> None:
        commit(work, steps, state)
        if kind == "growing" and steps == 9000:
            raise KeyboardInterrupt

    monkeypatch.setattr(GrowingFile, "commit", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        learn(Learn("barrel", minutes=4, freeze=(2,), out=path, engine="mujoco"))
    name = "learning"
    if kind == "recorded":
        record(Record((path,), 20_000, transient=0, jobs=1))
        name = "behaviours/2min"
    with open_run_file(path) as run:
        recording = run.behaviours["2min"] if kind == "recorded" else run.learning
        truth, had = recording.sensors[:], recording.steps
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 7 // 10])
    assert main(["salvage", str(path), str(tmp_path / "new.h5")]) == 0
    said = capsys.readouterr().out
    with h5py.File(tmp_path / "new.h5") as file:
        saved = file[f"{name}/sensors"][:]
        assert len(file[f"{name}/actions"]) >= len(saved) > 0
        assert "2min" in file["frozen"]
    np.testing.assert_array_equal(saved, truth[: len(saved)])
    lost = had - len(saved)
    assert f"{len(saved):,} of {had:,} rows of {name}/sensors" + (f", {lost:,} lost" if lost else "") in said
    assert " lost" in said


def test_what_was_saved_is_json_as_well(learned_run: Path, tmp_path: Path, capsys) -> None:
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        file["learning/mine"] = 1.0  # has no rows, and stops nobody
    assert main(["salvage", str(path), str(tmp_path / "new.h5"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["learning/sensors"] == {
        "rows": 300,
        "of": 300,
        "checked": True,
    }


def test_rows_of_a_growing_file_that_cannot_be_checked_are_saved_and_said_to_be_unsure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, commit = tmp_path / "run.h5", GrowingFile.commit

    def interrupted(work: GrowingFile, steps: int, state: Any) -> None:
        commit(work, steps, state)
        if steps == 100:
            raise KeyboardInterrupt

    monkeypatch.setattr(GrowingFile, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(Learn("barrel", minutes=0.1, freeze=(0.1,), checkpoint=50, out=path))
    assert all(one.checked for one in salvage(Salvage(path, tmp_path / "whole.h5")).values())
    with h5py.File(path) as file:
        at = file["learning/sensors"].id.get_offset()
    data = bytearray(path.read_bytes())
    data[at + 40] ^= 1
    path.write_bytes(data)
    assert main(["salvage", str(path), str(tmp_path / "new.h5")]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if "some rows may be wrong" in line]
    assert len(said) == 1 and "100 of 100 rows of learning/sensors; their checksum" in said[0]
    with open_run_file(tmp_path / "new.h5") as run:
        assert run.learning.reason.endswith("some rows may be wrong in sensors")
