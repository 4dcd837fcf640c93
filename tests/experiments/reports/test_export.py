"""Recordings for other programs: the same numbers in every form."""

from pathlib import Path

import numpy as np
import pytest

from experiments.errors import FileError
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
