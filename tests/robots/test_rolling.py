"""What rolls and slides, in both engines: towards its weights, and along its scales."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, pi, radians, sin
from xml.etree import ElementTree

import numpy as np
import pytest

from robots import (
    Snake,
    SnakeConfig,
    Spherical,
    SphericalConfig,
)
from tests.robots.helpers import HERE, every_engine, lifted, place, placed, speed, turned


@every_engine
def test_snake_rolls_when_its_bend_goes_round(engine: str) -> None:
    env = placed("snake", engine)
    for step in range(600):
        phase = 2 * pi * 0.4 * step * 0.02
        env.step(np.tile([0.2 * cos(phase), 0.2 * sin(phase)], 7))
        if step == 300:
            before = env.motion()
    after = env.motion()
    way = np.hypot(after["x"] - before["x"], after["y"] - before["y"])
    # Rolling at .4 turns/s for 6 s is a way of 6 * 2 pi * .4 * .12 m = 1.8 m, but for some slip.
    assert way == pytest.approx(6 * 2 * pi * 0.4 * 0.12, rel=0.15)


@every_engine
def test_snake_is_measured_as_a_whole(engine: str) -> None:
    env = placed("snake", engine)
    base = lifted(env, 1.0)
    yaw = 0.7
    base[3:7] = turned(0, yaw)
    # A straight snake in the air, turned by yaw: .3 m/s forwards, .2 to its left, 2 rad/s about itself.
    base[7:10] = [0.3 * cos(yaw) - 0.2 * sin(yaw), 0.3 * sin(yaw) + 0.2 * cos(yaw), 0]
    base[10:] = [2 * cos(yaw), 2 * sin(yaw), 0]
    place(env, base=base)
    seen = env.motion()
    found = [seen[key] for key in ("along", "across", "roll", "spin", "top")]
    assert found == pytest.approx([0.3, 0.2, 2, 2, 1.12], abs=1e-9)
    # The joints turn the segments behind them: a bend moves no segment about its own axis.
    joints = env.snapshot()["joints"]
    joints[6, 1] = 1.0
    base[10:] = 0
    place(env, base=base, joints=joints)
    assert env.motion()["roll"] == pytest.approx(0, abs=1e-9)
    assert env.motion()["across"] < 0.2 - 0.1  # the rear swings to one side


@every_engine
@pytest.mark.parametrize("along", [1.0, 0.5, 0.1])
def test_snake_with_scales_slides_along_itself(along: float, engine: str) -> None:
    env = placed("snake", engine, power=0.0, friction=0.6, friction_along=along)

    def pushed(velocity: list[float], steps: int) -> list[dict[str, float]]:
        env.reset(seed=0)
        for _ in range(50):  # into the soft ground
            env.step(np.zeros(14))
        base = np.concatenate([env.snapshot()["base"][:7], velocity, np.zeros(3)])
        place(env, base=base, joints=np.zeros((14, 2)))
        return [env.motion() for _ in range(steps) if env.step(np.zeros(14))]

    # Coulomb friction brakes by mu g. In MuJoCo a body that slides hops by millimetres: what counts is when
    # it stops, to one control step.
    braking = along * 0.6 * 6.0
    seen = pushed([1.0, 0.0, 0.0], round(1.3 / braking / 0.02))
    stopped = next(i for i, s in enumerate(seen) if s["along"] < 0.02)
    assert stopped * 0.02 == pytest.approx(0.98 / braking, rel=0.05, abs=0.02)
    # Across it keeps its grip: pushed sideways, it soon rolls without sliding.
    last = pushed([0.0, 1.0, 0.0], 15)[-1]
    assert last["across"] == pytest.approx(-last["roll"] * 0.12, rel=0.03)


def oblique(engine: str) -> Iterator[tuple[float, float, float]]:
    """Friction of a bent snake that slides, contact by contact, along and across in units of the greatest
    there is in that direction, and how much of it Coulomb's law has across.

    Bent to an arc, it cannot roll; its segments slide at all angles to themselves.
    """
    most = np.array([0.1, 1.0]) * 0.6
    env = placed("snake", engine, power=5.0, friction=most[1], friction_along=0.1)
    bent = np.tile([0.35, 0.0], 7)
    for direction in range(0, 90, 20):
        env.reset(seed=0)
        for _ in range(150):
            env.step(bent)
        velocity = [2 * cos(radians(direction)), 2 * sin(radians(direction)), 0.0]
        base = np.concatenate([env.snapshot()["base"][:7], velocity, np.zeros(3)])
        place(env, base=base, joints=env.snapshot()["joints"] * [1.0, 0.0])
        for _ in range(12):
            env.step(bent)
            links = env.world.links()
            for link, point, force in zip(*env.world.touches(), strict=True):
                moves = links.velocities[link] + np.cross(links.spins[link], point - links.positions[link])
                axis = links.frames[link][:2, 0] / np.linalg.norm(links.frames[link][:2, 0])
                axes = np.array([axis, [-axis[1], axis[0]]])
                slip = axes @ moves[:2]
                if force[2] > 0.5 and np.linalg.norm(slip) > 0.3:
                    law = most * slip / np.linalg.norm(most * slip)  # as much against the motion as can be
                    along, across = -np.sign(slip) * (axes @ force[:2]) / (most * force[2])
                    yield along, across, abs(law[1])


@every_engine
def test_a_snake_with_scales_that_slides_obliquely(engine: str) -> None:
    """Coulomb's law for scales: the force lies on an ellipse, where it takes the most from the motion.

    MuJoCo keeps it. Bullet stays within the ellipse, but holds a segment that slides obliquely mostly along:
    docs/robots.md says so, and what it does to crawling.
    """
    found = np.array(list(oblique(engine)))
    along, across, law = found.T
    assert np.quantile(np.hypot(along, across), 0.95) < 1.05
    if engine == "mujoco":
        # The velocity is that after the step; of what the step brings to rest, another than acted.
        assert np.median(np.abs(across - law)) < 0.01
    else:
        assert np.median(across[(law > 0.5) & (law < 0.9)]) < 0.4


def test_snake_cannot_twist() -> None:
    env = Snake(SnakeConfig())
    assert len(env.motor_names) == 14
    description = ElementTree.fromstring(env.body_description.urdf)
    axes = {joint.find("axis").get("xyz") for joint in description.iter("joint")}
    assert axes == {"0.0 0.0 1.0", "0.0 1.0 0.0"}  # none along the segments, which lie along x


@every_engine
def test_spherical_robot_rolls_towards_its_weights(engine: str) -> None:
    env = Spherical(SphericalConfig(noise=0.0), engine=engine)
    first, _ = env.reset(seed=0)
    assert first == pytest.approx([0, 0, 0, 0, 0, 1], abs=1e-6)  # only the z-axis points upwards
    for _ in range(40):
        observation, *_ = env.step(np.array([1.0, 0.0, 0.0]))
    assert env.motion()["x"] > 0.01
    assert abs(env.motion()["y"]) < 1e-3
    assert observation[3] < -0.05  # the loaded end of the x-axis goes down


@every_engine
def test_barrel_rolls_towards_its_weights(engine: str) -> None:
    env = placed("barrel", engine)
    for _ in range(40):
        observation, *_ = env.step(np.array([-1.0, 0.0]))
    assert env.motion()["x"] < -0.01
    assert abs(env.motion()["y"]) < 0.03 * abs(env.motion()["x"])
    assert observation[2] > 0.05  # the loaded end of the x-axis, the far one, goes down


@pytest.mark.skipif(len(HERE) < 2, reason="it takes both engines")
@pytest.mark.parametrize("name", ["barrel", "spherical"])
def test_what_rolls_is_as_fast_in_both_engines(name: str) -> None:
    found = []
    for engine in HERE:
        env = placed(name, engine)
        for _ in range(100):
            env.step(np.zeros(env.action_space.shape))
        env.push([0.05, 0.0, 0.0])
        found.append([speed(env) for _ in range(250)])
    # After a second; two solvers of ten iterations each agree to a few per cent.
    assert found[0][50:] == pytest.approx(found[1][50:], rel=0.05, abs=0.002)
