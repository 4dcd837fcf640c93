"""Recordings for other programs: the same numbers in every form."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from experiments.errors import ExperimentError, FileError
from experiments.reports.export import Export, export
from experiments.runfiles.run_file import open_run_file


def test_csv_holds_the_numbers_of_the_recording(small_run: Path, tmp_path: Path) -> None:
    folder = export(Export(small_run, tmp_path / "new" / "csv", freeze=(0.1,)))
    assert [path.name for path in folder.iterdir()] == ["0.1min.csv"]
    assert [path.name for path in folder.parent.iterdir()] == ["csv"]
    table = np.loadtxt(folder / "0.1min.csv", delimiter=",", skiprows=1)
    header = (folder / "0.1min.csv").read_text().splitlines()[0].split(",")
    with open_run_file(small_run) as run:
        recording = run.behaviours["0.1min"]
        assert header[1 : 1 + len(recording.sensors.names)] == list(recording.sensors.names)
        assert np.array_equal(
            table[:, 1:].astype(np.float32), np.hstack([recording.sensors[:], recording.actions[:]])
        )
    assert table[-1, 0] == pytest.approx(2999 * 0.02, abs=1e-9)


def test_a_part_of_a_recording(small_run: Path, tmp_path: Path) -> None:
    asked = {"freeze": (0.1,), "start": "10s", "stop": 2500}
    folder = export(Export(small_run, tmp_path / "csv", **asked))
    table = np.loadtxt(folder / "0.1min.csv", delimiter=",", skiprows=1)
    minari = export(Export(small_run, tmp_path / "minari", format="minari", **asked))
    with open_run_file(small_run) as run, h5py.File(minari / "data/main_data.hdf5") as file:
        recording, episode = run.behaviours["0.1min"], file["episode_0"]
        sensors = recording.sensors[500:2500]
        assert np.array_equal(table[:, 1 : 1 + sensors.shape[1]].astype(np.float32), sensors)
        assert np.array_equal(episode["observations"][:], sensors)
        assert np.array_equal(episode["actions"][:], recording.actions[500:2499])
    # With the times that they had.
    assert table[[0, -1], 0] == pytest.approx([10, 49.98])
    with pytest.raises(ExperimentError, match=r"--start 3000 is beyond the 3,000 samples of 0\.1min"):
        export(Export(small_run, tmp_path / "none", start=3000))
    assert not (tmp_path / "none").exists()


def test_minari_reads_what_is_exported(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    # Several blocks, the last of which holds one row that only the observations keep.
    monkeypatch.setattr("experiments.reports.export.CHUNK", 2999)
    folder = export(Export(small_run, tmp_path / "minari", format="minari", learning=True))
    dataset = minari.MinariDataset(folder / "data")
    with open_run_file(small_run) as run:
        recordings = [run.learning, *run.behaviours.values()]
        assert len(dataset) == len(recordings) == 3
        for episode, recording in zip(dataset, recordings, strict=True):
            assert np.array_equal(episode.observations, recording.sensors[:])
            assert np.array_equal(episode.actions, recording.actions[:-1])
            assert episode.truncations[-1] and not episode.terminations.any()
            assert dataset.action_space.contains(episode.actions[0])


def test_a_folder_that_exists_is_left_alone(small_run: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="exists already"):
        export(Export(small_run, tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot write"):
        export(Export(small_run, tmp_path / "file" / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
