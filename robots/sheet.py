"""Robots on paper: the data sheet of one, and a contact sheet of pictures of several."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from robots.base import RobotEnv
from robots.engines import engine_version
from robots.registry import find

NOT_THE_SAME = {
    "pybullet": "contacts that last are remembered",
    "mujoco": "what slides is lifted by up to friction x speed x step",
}
"""What cannot be the same in the engines; docs/robots.md has more."""


def data_sheet(name: str, engine: str | None = None) -> str:
    """Motors, sensors, limits, masses and defaults of a robot in plain text, as an engine has them.

    Examples
    --------
    >>> from robots import data_sheet
    >>> print(data_sheet("barrel").splitlines()[2].strip())
    2 motors, 4 sensors, 0.7 kg
    """
    env = find(name).env(engine=engine)
    try:
        env.reset(seed=0)
        return "\n".join(_lines(name, env))
    finally:
        env.close()


def _lines(name: str, env: RobotEnv) -> Iterator[str]:
    entry, body, config = find(name), env.body_description, env.config
    masses = env.masses()
    summary = (type(env).__doc__ or "").strip().splitlines()[0]
    yield f"{name}  ({entry.id})"
    yield f"  {summary}"
    yield f"  {len(body.motors)} motors, {len(env.sensor_names)} sensors, {sum(masses.values()):.3g} kg"
    yield f"  centre of mass {env.centre_of_mass()[2]:.3g} m above the ground in the starting pose"
    step, physics = config.control_step * 1e3, config.control_step * 1e3 / config.substeps
    yield f"  a step is {step:g} ms, in physics steps of {physics:g} ms; noise of amplitude {config.noise:g}"
    yield f"  simulated by {env.engine} {engine_version(env.engine)}; {NOT_THE_SAME[env.engine]}"
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


def contact_sheet(
    names: list[str], size: tuple[int, int] = (640, 480), engine: str | None = None
) -> NDArray[np.uint8]:
    """Pictures of the robots in their starting pose, side by side.

    Each is drawn twice as large and averaged down, which smooths the edges.

    Examples
    --------
    >>> from robots import contact_sheet
    >>> contact_sheet(["barrel", "spherical"], size=(32, 24)).shape  # height, width, colours
    (24, 64, 3)
    """
    pictures = []
    for name in names:
        robot = find(name).env
        camera = replace(robot.view, width=2 * size[0], height=2 * size[1])
        env = robot(render_mode="rgb_array", camera=camera, engine=engine)
        try:
            env.reset(seed=0)
            large = env.render()
        finally:
            env.close()
        assert large is not None
        blocks = large.reshape(size[1], 2, size[0], 2, 3)
        pictures.append(blocks.mean(axis=(1, 3)).round().astype(np.uint8))
    return np.hstack(pictures)
