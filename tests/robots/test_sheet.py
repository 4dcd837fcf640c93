"""Data sheets and the contact sheet; and what docs/robots.md says of the bodies."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from robots import ENGINES, ROBOTS, RobotError, contact_sheet, data_sheet, engine_version
from robots.sheet import NOT_THE_SAME

DOCS = (Path(__file__).parents[2] / "docs" / "robots.md").read_text()


def test_documented_example_runs() -> None:
    example = re.findall(r"```python\n(.*?)```", DOCS, flags=re.DOTALL)[0]
    names: dict[str, object] = {"a": np.zeros(18, np.float32)}
    exec(example, names)
    assert names["picture"].shape == (480, 640, 3)  # type: ignore[attr-defined]
    for key in re.search(r"seen from outside: (.*)", DOCS)[1].split(", "):  # type: ignore[index]
        assert key in names["body"].motion()  # type: ignore[attr-defined]


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


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine_version(engine)])
@pytest.mark.parametrize("name", ROBOTS)
def test_data_sheet_names_the_engine_and_what_cannot_be_the_same_in_it(name: str, engine: str) -> None:
    words = f"simulated by {engine} {engine_version(engine)}; {NOT_THE_SAME[engine]}"
    assert words in data_sheet(name, engine)
    other = ENGINES[1 - ENGINES.index(engine)]
    assert NOT_THE_SAME[other] not in data_sheet(name, engine)


@pytest.mark.guard
@pytest.mark.parametrize("name", ROBOTS)
def test_contact_sheet_shows_the_robot(name: str) -> None:
    panel = contact_sheet([name], size=(160, 120)).astype(int)
    assert panel.shape == (120, 160, 3)
    assert (np.ptp(panel, axis=2) > 60).mean() > 0.002  # strong colours: the robot


def test_contact_sheet_has_a_panel_per_robot() -> None:
    both = contact_sheet(["barrel", "snake"], size=(32, 24))
    assert np.array_equal(both, np.hstack([contact_sheet([name], (32, 24)) for name in ("barrel", "snake")]))


def test_unknown_robots_are_refused() -> None:
    with pytest.raises(RobotError, match="no robot 'snail'"):
        data_sheet("snail")
