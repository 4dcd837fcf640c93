"""`selforg bodies`: what robots there are, what they sense and move, and what they look like."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.errors import ExperimentError, nearest
from robots import ROBOTS, RobotEnv


@dataclass(frozen=True)
class Bodies:
    """Print the robots' data sheets: motors, sensors, limits, masses and defaults."""

    robot: str | None = None
    """Only this robot."""
    picture: Path | None = None
    """Write a contact sheet of the robots in their starting pose to this file (PNG)."""


def bodies(settings: Bodies) -> None:
    """Print data sheets and, if asked for, write the contact sheet."""
    names = list(ROBOTS) if settings.robot is None else [settings.robot]
    for name in names:
        if name not in ROBOTS:
            raise ExperimentError(f"there is no robot {name!r}; {nearest(name, ROBOTS)}")
    if settings.picture is not None:
        write_picture(settings.picture, names)
        print(f"wrote {settings.picture}")
    else:
        print("\n\n".join(data_sheet(name) for name in names))


def data_sheet(name: str) -> str:
    """Describe a robot in plain text."""
    entry = ROBOTS[name]
    env = entry.env()
    try:
        env.reset(seed=0)
        return "\n".join(_lines(name, env))
    finally:
        env.close()


def _lines(name: str, env: RobotEnv) -> Iterator[str]:
    entry, body, config = ROBOTS[name], env.body_description, env.config
    masses = env.masses()
    summary = (type(env).__doc__ or "").strip().splitlines()[0]
    yield f"{name}  ({entry.id})"
    yield f"  {summary}"
    yield f"  {len(body.motors)} motors, {len(env.sensor_names)} sensors, {sum(masses.values()):.3g} kg"
    yield f"  centre of mass {env.centre_of_mass()[2]:.3g} m above the ground in the starting pose"
    step, physics = config.control_step * 1e3, config.control_step * 1e3 / config.substeps
    yield f"  a step is {step:g} ms, in physics steps of {physics:g} ms; noise of amplitude {config.noise:g}"
    world = f"gravity {config.gravity:g} m/s², friction {config.friction:g}"
    yield f"  {world}, servo speed {config.servo_speed:g} /s"
    default = f"sensor {entry.sensor}, delay {entry.tau} steps, up to {entry.m_max} dimensions"
    yield f"  quantified by default: {default}"
    yield ""
    unit = ("m", "N") if env.sensor_unit.startswith("position") else ("rad", "N m")
    yield f"  {'':>3} {'motor and sensor':<28} {'limit':>10} {'hard stop':>10} {'power':>9}  sensor's unit"
    for i, motor in enumerate(body.motors):
        limit, stop = f"{motor.limit:.3g} {unit[0]}", f"{config.hard_stop * motor.limit:.3g} {unit[0]}"
        power = f"{motor.power:g} {unit[1]}"
        yield f"  {i:>3} {motor.name:<28} {limit:>10} {stop:>10} {power:>9}  {env.sensor_units[i]}"
    for i, sensor in enumerate(body.sensors, start=len(body.motors)):
        yield f"  {i:>3} {sensor.name:<28} {'no motor':>10} {'':>10} {'':>9}  {sensor.unit}"
    yield ""
    yield "  masses"
    by_mass = sorted(masses.items(), key=lambda item: -item[1])
    for mass, group in groupby(by_mass, key=lambda item: item[1]):
        links = [link for link, _ in group]
        text = f"{len(links)} x {mass:.4g} kg: {', '.join(links)}"
        yield from textwrap.wrap(text, 100, initial_indent="    ", subsequent_indent=" " * 8)


def contact_sheet(names: list[str], size: tuple[int, int] = (640, 480)) -> NDArray[np.uint8]:
    """Pictures of the robots in their starting pose, side by side.

    Each is drawn twice as large and averaged down, which smooths the edges.
    """
    pictures = []
    for name in names:
        camera = replace(ROBOTS[name].env.view, width=2 * size[0], height=2 * size[1])
        env = ROBOTS[name].env(render_mode="rgb_array", camera=camera)
        try:
            env.reset(seed=0)
            large = env.render()
        finally:
            env.close()
        assert large is not None
        blocks = large.reshape(size[1], 2, size[0], 2, 3)
        pictures.append(blocks.mean(axis=(1, 3)).round().astype(np.uint8))
    return np.hstack(pictures)


def write_picture(path: Path, names: list[str]) -> None:
    """Write the contact sheet with the robots' names above."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if path.suffix.lower() != ".png":
        raise ExperimentError(f"--picture {path} is not a PNG file: give a name that ends in .png")
    if not path.absolute().parent.is_dir():
        raise ExperimentError(f"the folder of --picture {path} does not exist: make it first")
    sheet = contact_sheet(names)
    height, width = sheet.shape[:2]
    figure = plt.figure(figsize=(width / 100, (height + 50) / 100), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, height / (height + 50)))
    axes.imshow(sheet, interpolation="nearest")
    axes.set_axis_off()
    for i, name in enumerate(names):
        title = f"{name}  ({ROBOTS[name].id})"
        figure.text((i + 0.5) / len(names), 1 - 25 / (height + 50), title, ha="center", va="center", size=15)
    figure.savefig(path)
    plt.close(figure)
