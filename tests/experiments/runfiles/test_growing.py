"""Files that grow: what is committed stays, whatever ends the writing."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from experiments.errors import FileError
from experiments.runfiles import growing
from experiments.runfiles.atomic import writing
from experiments.runfiles.contents import Rows, replacing_recordings
from experiments.runfiles.growing import GrowingFile, Track, pack, read_state, unpack

STATE = {"x": np.arange(3.0)}


def small(path: Path, steps: int = 100, every: int = 7) -> GrowingFile:
    tracks = [Track("sensors", (3,), "<f4"), Track("C", (2, 3), "<f8", every)]
    return GrowingFile.create(path, attrs={"a": 1}, group="g", tracks=tracks, steps=steps, state=STATE)


def test_pack_keeps_every_bit() -> None:
    arrays = {
        "config.eps": np.array(0.1),
        "rng": np.array([2**64 - 1, 3], np.uint64),
        "none": np.zeros((0, 3)),
        "b": np.array(True),
    }
    back = unpack(pack(arrays))
    assert list(back) == list(arrays)
    for key, value in arrays.items():
        assert (
            back[key].dtype == value.dtype and back[key].shape == value.shape and (back[key] == value).all()
        )


def test_rows_count_only_after_a_commit(tmp_path: Path) -> None:
    rows = np.arange(300, dtype="<f4").reshape(100, 3)
    with small(tmp_path / "w.h5") as work:
        work.append("sensors", rows[:50], 0)
        work.append("C", np.ones((8, 2, 3)), 0)  # steps 0, 7, ..., 49
        assert growing.read_commit(work.path)[0] == 0
        work.commit(50, {"x": np.array([7.0])})
        work.append("sensors", rows[50:], 50)
    with GrowingFile.open(tmp_path / "w.h5") as work:
        assert work.steps == 50
        assert read_state(work.path)["x"] == 7
    with h5py.File(tmp_path / "w.h5") as file:
        assert (Rows(file["g/sensors"], 50)[:] == rows[:50]).all()
        assert (file["g/C"][:8] == 1).all() and (file["g/C"][8:] == 0).all()


@pytest.mark.parametrize("every", [1, 7, 50])
def test_a_track_read_in_blocks_equals_one_read_at_once(tmp_path: Path, every: int) -> None:
    """Blocks that end anywhere leave no gap and no double row in a track that is read every so many steps."""
    values = np.arange(0, 100, every, dtype=float)
    with small(tmp_path / "w.h5", every=every) as work:
        for start, stop in ((0, 13), (13, 14), (14, 49), (49, 100)):
            block = values[-(-start // every) : -(-stop // every)]
            work.append("C", np.tile(block[:, None, None], (1, 2, 3)), start)
        work.commit(100, STATE)
    with h5py.File(tmp_path / "w.h5") as file:
        assert (file["g/C"][:, 0, 0] == values).all()


def test_a_broken_checkpoint_is_noticed(tmp_path: Path) -> None:
    small(tmp_path / "w.h5").close()
    with h5py.File(tmp_path / "w.h5", "r+") as file:
        file["checkpoint/A"][5] ^= 255
    with pytest.raises(FileError, match="checksum"):
        read_state(tmp_path / "w.h5")


def test_a_state_that_outgrows_its_slot_is_refused(tmp_path: Path) -> None:
    with small(tmp_path / "w.h5") as work, pytest.raises(FileError, match="has grown"):
        work.commit(1, {"x": np.zeros(10**6)})


@pytest.mark.guard
def test_a_second_writer_is_refused_and_a_dead_one_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "w.h5"
    with writing(path), pytest.raises(FileError, match="being written by another process"), writing(path):
        pass
    assert not list(tmp_path.iterdir())
    pid = os.fork()
    if pid == 0:
        with writing(path):
            os._exit(0)  # dies with the lock in its hands
    os.waitpid(pid, 0)
    assert (tmp_path / "w.h5.lock").exists()
    with writing(path):
        pass


def test_too_little_space_is_found_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="MiB free"):
        small(tmp_path / "w.h5", steps=10**13)
    assert not list(tmp_path.iterdir())


def test_a_file_size_limit_is_found_before_the_start(tmp_path: Path) -> None:
    """As on a full disk: the space is reserved first, so nothing is begun that cannot end."""
    code = "from experiments.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
    command = [
        sys.executable,
        "-c",
        code,
        "learn",
        "hexapod",
        "--minutes",
        "60",
        "--freeze",
        "1",
        "--out",
        f"{tmp_path}/r.h5",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6)),
    )
    assert done.returncode == 2
    assert "File too large" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_limit_met_on_the_way_leaves_all_committed_rows(tmp_path: Path) -> None:
    path = tmp_path / "w.h5"
    small(path, steps=50_000).close()
    pid = os.fork()
    if pid == 0:
        size = path.stat().st_size
        with GrowingFile.open(path) as work:
            work.append("sensors", np.ones((100, 3), "<f4"), 0)
            work.commit(100, STATE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))
            try:
                work.append("sensors", np.ones((49_900, 3), "<f4"), 100)
            except FileError as error:
                os._exit(7 if "all 100 committed steps are readable" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    with GrowingFile.open(path) as work:
        assert work.steps == 100
        work.append("sensors", np.ones((49_900, 3), "<f4"), 100)
        work.commit(50_000, STATE)


@pytest.mark.guard
def test_finishing_under_a_limit_leaves_the_work_file(tmp_path: Path, run_file: Path) -> None:
    """The disk fills up while the final file is written: clear error, the rows stay where they are."""
    before = run_file.read_bytes()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))
        try:
            with replacing_recordings(run_file, [], 0):
                pass
        except FileError as error:
            os._exit(7 if "as it was" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert run_file.read_bytes() == before
    assert [p.name for p in run_file.parent.iterdir()] == ["run.h5"]
