"""Run files: what is written is what is read, and no damage ends in a traceback of h5py."""

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from experiments.cli import main
from experiments.errors import FileError
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.runfiles import growing, hdf5
from experiments.runfiles.atomic import writing
from experiments.runfiles.contents import CHUNK, Rows, replacing_recordings
from experiments.runfiles.growing import GrowingFile, Track, pack, read_state, unpack
from experiments.runfiles.run_file import open_run_file
from experiments.runfiles.salvage import Salvage, salvage

STATE = {"x": np.arange(3.0)}


def small(path: Path, steps: int = 100, every: int = 7) -> GrowingFile:
    tracks = [Track("sensors", (3,), "<f4"), Track("C", (2, 3), "<f8", every)]
    return GrowingFile.create(path, attrs={"a": 1}, group="g", tracks=tracks, steps=steps, state=STATE)


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the hexapod with one recorded behaviour."""
    path = tmp_path_factory.mktemp("run") / "run.h5"
    learn(Learn("hexapod", minutes=0.2, freeze=(0.1, 0.2), checkpoint=250, out=path, engine="mujoco"))
    record(Record((path,), samples=9000, transient=100, freeze=(0.2,), jobs=1))
    return path


# Work files.


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


# Finished files.


def test_a_run_holds_everything_the_documentation_promises(run_file: Path) -> None:
    with h5py.File(run_file) as file:
        assert file.attrs["format"] == b"selforg run" and file.attrs["schema"] == 2
        assert json.loads(file.attrs["config"])["body"]["gravity"] > 0
        assert "mujoco" in json.loads(file.attrs["versions"])
        sensors = file["learning/sensors"]
        assert sensors.dtype == np.float32 and sensors.chunks[0] == CHUNK and sensors.compression == "gzip"
        assert len(sensors.attrs["names"]) == len(sensors.attrs["units"]) == sensors.shape[1] == 19
        assert file["frozen/0.1min/controller/C"].dtype == np.float64
        assert file["behaviours/0.2min"].attrs["transient"] == 100
    with open_run_file(run_file) as run:
        assert (run.robot, run.controller, run.seed) == ("hexapod", "ulr", 1)
        assert run.learning.complete and run.learning.steps == 600
        assert [state.step for state in run.frozen.values()] == [300, 600]
        assert run.behaviours["0.2min"].sensors.shape == (9000, 19)
        # C is stored every second, as it was before that step; the controller moved.
        C = run.learning.tracks["C"]
        assert C.every == 50 and C.shape == (12, 18, 19)
        assert (C[0] != C[-1]).any()


def test_the_log_is_what_the_frozen_controller_saw_and_did(run_file: Path) -> None:
    with open_run_file(run_file) as run:
        state = run.frozen["0.2min"].controller
        s, a = run.behaviours["0.2min"].sensors[:], run.behaviours["0.2min"].actions[:]
    z = s.astype(float) @ state["C"].T + state["h"]
    # A matrix product adds up in another order than the controller: a few units of float32's last place.
    np.testing.assert_allclose(a, np.tanh(z), rtol=0, atol=3e-7)


@pytest.mark.parametrize("transient", [0, 73])
def test_measures_belong_to_their_step(tmp_path: Path, transient: int) -> None:
    """Without noise the last sensor is the vertical velocity: row i of measures is row 2 i of sensors."""
    path = tmp_path / "run.h5"
    quiet = {"noise": 0.0}
    learn(Learn("hexapod", minutes=0.1, freeze=(0.1,), checkpoint=77, out=path, body=quiet))
    record(Record((path,), samples=345, transient=transient, checkpoint=101, jobs=1))
    with open_run_file(path) as run:
        for recording in (run.learning, run.behaviours["0.1min"]):
            measures = recording.tracks["measures"]
            vz = measures[:, measures.names.index("vz")]
            assert measures.every == 2 and len(vz) == -(-recording.steps // 2)
            assert np.ptp(vz) > 0.01
            # float32 on both sides.
            scale = run.config["body"]["velocity_scale"]
            np.testing.assert_allclose(vz, scale * recording.sensors[::2, -1], rtol=2e-7, atol=1e-9)


def test_rows_are_indexed_like_an_array(run_file: Path) -> None:
    with h5py.File(run_file) as file:
        data = file["learning/sensors"][:250]
        rows = Rows(file["learning/sensors"], 250)
        for key in (
            slice(None),
            3,
            -1,
            slice(-5, None),
            slice(10, 5),
            slice(None, None, 7),
            slice(None, None, -1),
        ):
            assert np.array_equal(rows[key], data[key]), key
        assert np.array_equal(rows[..., 2], data[..., 2])
        assert np.array_equal(rows[5:9, 2], data[5:9, 2])
        assert np.array_equal(np.concatenate(list(rows.blocks(60))), data)
        assert np.array_equal(np.asarray(rows), data) and len(rows) == 250
        with pytest.raises(IndexError):
            rows[250]


# Damage.


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "empty"), (b"time,x\n1,2\n", "not an HDF5 file"), (b"\x89HDF\r\n\x1a\n" + bytes(200), "damaged")],
)
def test_files_that_are_no_runs(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.h5"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        open_run_file(path)


def test_missing_directory_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        open_run_file(tmp_path / "none.h5")
    with pytest.raises(FileError, match="directory"):
        open_run_file(tmp_path)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(FileError, match="not a run file"):
        open_run_file(tmp_path / "other.h5")


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


def test_flipped_bits_in_the_data_are_found(tmp_path: Path, run_file: Path) -> None:
    path = tmp_path / "flipped.h5"
    shutil.copy(run_file, path)
    with h5py.File(path) as file:
        chunk = file["behaviours/0.2min/sensors"].id.get_chunk_info(1)
    with open(path, "r+b") as raw:
        raw.seek(chunk.byte_offset + chunk.size // 2)
        raw.write(b"\0\xff\0\xff")
    with (
        open_run_file(path) as run,
        pytest.raises(FileError, match=r"damaged.*4096 rows of behaviours/0.2min"),
    ):
        run.behaviours["0.2min"].sensors[:]
    out = tmp_path / "saved.h5"
    assert salvage(Salvage(path, out))["behaviours/0.2min/sensors"].rows == CHUNK


@pytest.mark.guard
def test_no_damage_ends_in_anything_but_a_clear_error(tmp_path: Path, run_file: Path) -> None:
    """Cut off or flipped anywhere: the file is read, or refused in words; salvage likewise."""
    data, rng = run_file.read_bytes(), np.random.default_rng(3)
    outcomes = set()
    for k in range(24):
        broken = bytearray(data)
        if k % 2:
            broken = broken[: rng.integers(len(data))]
        else:
            for place in rng.integers(len(data), size=[1, 20, 500][k % 3]):
                broken[place] ^= 1 << int(rng.integers(8))
        path, out = tmp_path / f"{k}.h5", tmp_path / f"{k}-saved.h5"
        path.write_bytes(broken)
        try:
            with open_run_file(path) as run:
                for recording in (run.learning, *run.behaviours.values()):
                    for rows in recording.tracks.values():
                        rows[:]
            outcomes.add("read")
        except FileError:
            outcomes.add("refused")
        try:
            salvage(Salvage(path, out))
            outcomes.add("saved")
        except FileError:
            outcomes.add("lost")
        path.unlink()
        out.unlink(missing_ok=True)
    assert outcomes >= {"refused", "saved"}


def test_a_link_that_leads_back_is_not_followed(learned_run: Path, tmp_path: Path) -> None:
    """A group that holds the file itself: reading refuses it, salvage takes everything once."""
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        for name in ("learning", "frozen", "/"):
            file[name]["back"] = file["/"]
        assert [name for name, _ in hdf5.walk(file) if name.endswith("sensors")] == [
            *("frozen/0.05min/sensors", "frozen/0.1min/sensors", "learning/sensors")
        ]
    with pytest.raises(FileError, match="300 rows of learning can be saved"):
        open_run_file(path)
    assert salvage(Salvage(path, tmp_path / "new.h5"))["learning/sensors"].rows == 300
    with open_run_file(tmp_path / "new.h5") as run:
        assert list(run.frozen) == ["0.05min", "0.1min"]


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
