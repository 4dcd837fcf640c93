"""`selforg bodies`: data sheets and the contact sheet."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.image import imread

from experiments.cli import main
from robots import ROBOTS


def test_all_robots_or_one_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bodies"]) == 0
    everything = capsys.readouterr().out
    assert all(entry.id in everything for entry in ROBOTS.values())
    assert main(["bodies", "--robot", "snake"]) == 0
    assert "Hexapod" not in capsys.readouterr().out


def test_the_simulator_does_not_greet() -> None:
    command = [sys.executable, "-m", "experiments.cli", "bodies", "--robot", "barrel"]
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""


def test_the_picture_has_a_line_of_names_above(tmp_path: Path) -> None:
    path = tmp_path / "sheet.png"
    assert main(["bodies", "--robot", "spherical", "--picture", str(path)]) == 0
    assert imread(path).shape[:2] == (530, 640)


def test_requests_that_cannot_be_met_are_explained(refused: Callable[..., str]) -> None:
    assert "did you mean 'snake'" in refused("bodies", "--robot", "snak")
    assert "ends in .png" in refused("bodies", "--picture", "sheet.jpg")
    assert "does not exist" in refused("bodies", "--picture", "nowhere/sheet.png")
