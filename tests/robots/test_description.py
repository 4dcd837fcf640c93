"""Masses, inertias and shapes: what is simulated is what is described."""

from __future__ import annotations

from math import sin
from xml.etree import ElementTree

import numpy as np
import pytest

from robots import (
    Hexapod,
    HexapodConfig,
    RobotError,
)
from robots.hexapod import LEGS
from robots.urdf import box, capsule, link, sphere
from tests.robots.helpers import every_engine, every_robot, lifted, place, placed


def test_inertia_of_solids_equals_that_of_random_points() -> None:
    # 2e5 points: the moments are means of squares known to about 1 / sqrt(2e5) = .2 %, tested to 1 %.
    rng = np.random.default_rng(0)
    cube = rng.uniform(-1, 1, (500_000, 3))  # half of them or more lie in the ball and in the capsule
    radius, length = 0.3, 0.8
    x, y, z = (cube * [length / 2 + radius, radius, radius]).T
    beyond = np.maximum(np.abs(x) - length / 2, 0)  # the cylinder's end
    solids = {
        "box": (box(0.2, 0.6, 1.0), (cube * [0.1, 0.3, 0.5])[:200_000]),
        "sphere": (sphere(0.7), 0.7 * cube[(cube**2).sum(axis=1) <= 1]),
        "capsule": (
            capsule(radius, length),
            np.stack([x, y, z], axis=1)[y**2 + z**2 + beyond**2 <= radius**2],
        ),
    }
    for name, (shape, points) in solids.items():
        square = (points**2).mean(axis=0)
        assert shape.inertia == pytest.approx(square.sum() - square, rel=0.01), name
    along_z = capsule(radius, length, along="z").inertia
    assert along_z == (shape.inertia[2], shape.inertia[1], shape.inertia[0])


def test_a_link_without_shape_must_state_its_inertia() -> None:
    with pytest.raises(RobotError, match=r"ghost.*inertia"):
        link("ghost", 1.0)


@every_engine
@every_robot
def test_simulated_masses_are_those_of_the_description(name: str, engine: str) -> None:
    env = placed(name, engine)
    description = ElementTree.fromstring(env.body_description.urdf)
    stated = {
        part.get("name"): float(part.find("inertial/mass").get("value")) for part in description.iter("link")
    }
    assert env.masses() == pytest.approx(stated)


@every_engine
def test_total_masses_are_those_of_the_config(engine: str) -> None:
    stated = {"hexapod": 1.0, "snake": 8 * 0.2 + 7 * 0.02, "spherical": 0.3 + 3 * 0.2, "barrel": 0.7}
    totals = {name: sum(placed(name, engine).masses().values()) for name in stated}
    assert totals == pytest.approx(stated)
    heavy = Hexapod(HexapodConfig(mass=3.0, trunk_share=0.7), engine=engine)
    heavy.reset(seed=0)
    assert sum(heavy.masses().values()) == pytest.approx(3.0)
    assert heavy.masses()["trunk"] == pytest.approx(2.1)


@every_engine
def test_centres_of_mass_are_where_geometry_puts_them(engine: str) -> None:
    # Hexapod: symmetric about its middle; coxae level with the trunk, tibiae hang at 1.5 rad.
    hexapod = placed("hexapod", engine)
    part = hexapod.masses()["right hind tibia"]
    start = 0.3 * sin(1.5) + 0.0375
    expected = [0.0, 0.0, start - 6 * part * 0.15 * sin(1.5) / 1.0]
    assert hexapod.centre_of_mass() == pytest.approx(expected, abs=1e-9)
    # Snake: eight segments back from the head's front end at x = 0, which is .25 m before its base.
    assert placed("snake", engine).centre_of_mass() == pytest.approx([-4 * 0.5, 0.0, 0.12], abs=1e-9)
    assert placed("spherical", engine).centre_of_mass() == pytest.approx([0.0, 0.0, 0.25], abs=1e-9)


@every_engine
def test_legs_point_and_move_as_the_data_sheet_says(engine: str) -> None:
    env = placed("hexapod", engine, gravity=0.0)
    place(env, base=lifted(env, 3.0))

    def foot(leg: str) -> np.ndarray:
        index = list(env.masses()).index(f"{leg} tibia")
        return env.world.links().positions[index] - env.world.position

    rest = {leg: foot(leg) for leg in ("right hind", "left front")}
    assert rest["right hind"][0] < -0.4 and rest["right hind"][1] < -0.4
    assert rest["left front"][0] > 0.4 and rest["left front"][1] > 0.4
    still = env.snapshot()
    for motor, axis in ((0, 2), (1, 0), (2, 2)):  # up, to the front, tibia out and thereby up
        for leg in rest:
            joints = np.zeros((18, 2))
            joints[3 * LEGS.index(leg) + motor, 0] = 0.5
            env.restore(still | {"joints": joints})
            assert foot(leg)[axis] > rest[leg][axis] + 0.02, (leg, motor)
            if motor == 2:
                assert abs(foot(leg)[1]) > abs(rest[leg][1]) + 0.02
