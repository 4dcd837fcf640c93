"""`selforg bodies`: data sheets and the contact sheet; and what docs/robots.md says of the bodies."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from experiments.cli import COMMANDS
from experiments.commands.bodies import Bodies, bodies, contact_sheet, data_sheet
from experiments.errors import ExperimentError
from robots import ROBOTS

DOCS = (Path(__file__).parents[1] / "docs" / "robots.md").read_text()


def test_documented_example_runs() -> None:
    example = re.findall(r"```python\n(.*?)```", DOCS, flags=re.DOTALL)[0]
    names: dict[str, object] = {"a": np.zeros(18, np.float32)}
    exec(example, names)
    assert names["picture"].shape == (480, 640, 3)  # type: ignore[attr-defined]
    for key in re.search(r"onlooker sees: (.*)", DOCS)[1].split(", "):  # type: ignore[index]
        assert key in names["body"].measure()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ROBOTS)
def test_documented_table_is_right(name: str) -> None:
    env = ROBOTS[name].env()
    env.reset(seed=0)
    row = next(line for line in DOCS.splitlines() if line.startswith(f"| {name} |"))
    _, _, id_, motors, sensors, mass, *_ = (cell.strip() for cell in row.split("|"))
    assert id_ == f"`{ROBOTS[name].id}`"
    assert (int(motors), int(sensors)) == (len(env.motor_names), len(env.sensor_names))
    assert float(mass) == pytest.approx(sum(env.masses().values()))


@pytest.mark.parametrize("name", ROBOTS)
def test_data_sheet_names_every_motor_sensor_and_mass(name: str) -> None:
    sheet = data_sheet(name)
    env = ROBOTS[name].env()
    env.reset(seed=0)
    words = " ".join(sheet.split())  # masses are wrapped
    for text in (*env.sensor_names, *env.sensor_units, *env.masses(), ROBOTS[name].id):
        assert text in words
    assert f"{len(env.motor_names)} motors, {len(env.sensor_names)} sensors" in sheet
    assert f"{sum(env.masses().values()):.3g} kg" in sheet
    for motor in env.body_description.motors:
        assert f"{motor.limit:.3g}" in sheet and f"{motor.power:g} N" in sheet
    assert max(map(len, sheet.splitlines())) <= 100


def test_all_robots_or_one_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    bodies(Bodies())
    everything = capsys.readouterr().out
    assert all(entry.id in everything for entry in ROBOTS.values())
    bodies(Bodies(robot="snake"))
    assert "Hexapod" not in capsys.readouterr().out
    assert COMMANDS["bodies"][:3] == ("experiments.commands.bodies", "Bodies", "bodies")


def test_contact_sheet_has_a_panel_per_robot(tmp_path: Path) -> None:
    sheet = contact_sheet(list(ROBOTS), size=(160, 120))
    assert sheet.shape == (120, 160 * len(ROBOTS), 3)
    for panel in np.split(sheet.astype(int), len(ROBOTS), axis=1):
        assert (np.ptp(panel, axis=2) > 60).mean() > 0.002  # strong colours: the robot
    path = tmp_path / "sheet.png"
    bodies(Bodies(robot="spherical", picture=path))
    assert imread(path).shape[:2] == (530, 640)


def test_requests_that_cannot_be_met_are_explained(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="did you mean 'snake'"):
        bodies(Bodies(robot="snak"))
    with pytest.raises(ExperimentError, match=r"\.png"):
        bodies(Bodies(picture=tmp_path / "sheet.jpg"))
    with pytest.raises(ExperimentError, match="does not exist"):
        bodies(Bodies(picture=tmp_path / "nowhere" / "sheet.png"))
