"""The commands that look at an installation or at a file."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from experiments.cli import main
from experiments.commands import looking


def test_show_prints_a_run_and_any_other_file(
    learned_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(learned_run)]) == 0
    text = capsys.readouterr().out
    assert "hexapod under ulr, seed 1" in text and "frozen, not recorded" in text
    with h5py.File(tmp_path / "o.h5", "w") as file:
        file["g/x"] = np.zeros((3, 2))
    assert main(["show", str(tmp_path / "o.h5")]) == 0
    assert "/g/x  (3, 2) float64" in capsys.readouterr().out


def test_show_prints_results(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(small_run)]) == 0
    text = capsys.readouterr().out
    assert "0.1min: D 0.87, E_state" in text and "; PI 1.47 at eta 0.0056" in text
    assert main(["show", str(small_run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recordings"][1][:4] == ["0.1min", "3000", "3000", "100"]


def test_doctor_finds_everything_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "hexapod" in capsys.readouterr().out


def test_doctor_goes_on_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> str:
        raise OSError("no such disk")

    monkeypatch.setattr(looking, "CHECKS", {"files": broken, "video": looking.check_video})
    assert main(["doctor"]) == 2
    said = capsys.readouterr()
    assert "files        FAILED: OSError: no such disk" in said.out and "ffmpeg" in said.out
    assert said.err == "selforg: files do not work on this machine; see above\n"
    assert main(["doctor", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["files"] == "FAILED: OSError: no such disk" and "ffmpeg" in found["video"]


def test_salvage_prints_the_rows_saved(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged, out = tmp_path / "damaged.h5", tmp_path / "saved.h5"
    shutil.copy(small_run, damaged)
    assert main(["salvage", str(damaged), str(out)]) == 0
    text = capsys.readouterr().out
    assert "      3000 rows of behaviours/0.1min/sensors\n" in text and text.endswith(f"saved to {out}\n")
