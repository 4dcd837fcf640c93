"""Run files: what is written is what is read, and no damage ends in a traceback of h5py."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from experiments.errors import FileError
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.runfiles import hdf5
from experiments.runfiles.contents import CHUNK, Rows
from experiments.runfiles.run_file import open_run_file
from experiments.runfiles.salvage import Salvage, salvage


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
