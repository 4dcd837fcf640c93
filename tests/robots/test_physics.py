"""Physics honesty: bodies weigh and fall as they should and get energy from their motors only."""

from __future__ import annotations

from math import pi, tanh
from typing import Any

import numpy as np
import pytest

from robots import (
    ROBOTS,
    RobotConfig,
    RobotEnv,
    RobotError,
)
from robots.body import Body, Motor, servo_force
from robots.urdf import box, joint, link, robot, sphere
from tests.robots.helpers import energy, every_engine, every_robot, lifted, place, placed, turned


def without_power(name: str) -> dict[str, float]:
    """Config fields that switch off everything that can feed energy into the body."""
    config = ROBOTS[name].config
    return {f: 0.0 for f in config.MAY_BE_ZERO if "power" in f or f == "upright_support"}


def torques(env: RobotEnv) -> np.ndarray:
    """What the motors applied in the last physics step."""
    return env.world.motors()[1]


# Shapes.


# Masses.


# Motion.


@every_engine
@every_robot
def test_free_fall_accelerates_with_g(name: str, engine: str) -> None:
    env = placed(name, engine, gravity=9.81)
    place(env, base=lifted(env, 4.0))
    heights = []
    for _ in range(20):
        heights.append(env.centre_of_mass()[2])
        env.step(np.zeros(env.action_space.shape))
    # Symplectic Euler is exact for a constant force up to rounding.
    assert np.diff(heights, 2) / 0.02**2 == pytest.approx(-9.81, rel=1e-6)


@every_engine
@every_robot
def test_a_push_gives_the_body_its_momentum(name: str, engine: str) -> None:
    env = placed(name, engine, gravity=0.0, **without_power(name))
    place(env, base=lifted(env, 3.0))
    impulse, mass, still = np.array([0.01, -0.02, 0.005]), sum(env.masses().values()), env.snapshot()
    for link_pushed in (-1, len(env.masses()) - 2):
        env.restore(still)
        before = env.centre_of_mass()
        env.push(impulse, link_pushed)
        for _ in range(5):
            env.step(np.zeros(env.action_space.shape))
        # The push acts during the first of ten physics steps, and its speed counts from that step on. The
        # rotation that a push off the centre excites costs the integrator some momentum: 2 %.
        way = impulse / mass * 0.1
        assert env.centre_of_mass() - before == pytest.approx(way, abs=0.02 * np.linalg.norm(way))
    seen = env.motion()
    assert [seen["cx"], seen["cy"], seen["cz"]] == pytest.approx(env.centre_of_mass().tolist())
    with pytest.raises(RobotError, match="three finite numbers"):
        env.push([0.0, np.nan, 0.0])
    with pytest.raises(RobotError, match="link is 99"):
        env.push(impulse, 99)


@every_engine
@every_robot
def test_motors_cannot_lift_a_falling_body(name: str, engine: str) -> None:
    def strayed(substeps: int) -> float:
        """Distance of the centre of mass from free fall after .6 s of wild motion."""
        env = placed(name, engine, substeps=substeps)
        place(env, base=lifted(env, 4.0))
        start, rng = env.centre_of_mass(), np.random.default_rng(0)
        for step in range(30):
            if step % 10 == 0:
                action = rng.choice([-1.0, 1.0], env.action_space.shape)
            env.step(action)
        fall = [0, 0, 0.5 * env.config.gravity * 0.6**2]
        return float(np.linalg.norm(env.centre_of_mass() - start + fall))

    # Inner forces leave the centre of mass alone. The integrator is of first order: what it strays is
    # proportional to the physics step, a quarter with steps of a quarter.
    coarse, fine = strayed(2), strayed(8)
    assert coarse < 0.25
    assert fine < 0.35 * coarse


@pytest.mark.guard
@every_engine
@every_robot
def test_resting_body_calms_down(name: str, engine: str) -> None:
    # A torque limit that is held for a control step acts late, and keeps a hexapod rocking (docs/robots.md).
    env = placed(name, engine, servo_every_substep=True)
    kinetic = []
    for step in range(2000):
        env.step(np.zeros(env.action_space.shape))
        if step % 5 == 0:  # ten times a second, which no swing of a body escapes
            kinetic.append(energy(env)[0] if step < 500 or step >= 1500 else 0.0)
    first, *_, last = np.max(np.reshape(kinetic, (4, 100)), axis=1)
    assert last < 0.3 * first
    assert last < 0.02  # J: as little as 1 kg has at .2 m/s


@pytest.mark.guard
@every_engine
@pytest.mark.parametrize(
    ("name", "config"), [*((name, {}) for name in ROBOTS), ("snake", {"friction_along": 0.1})]
)
def test_without_power_the_body_is_passive(name: str, config: dict[str, float], engine: str) -> None:
    env = placed(name, engine, **without_power(name), **config)
    rng = np.random.default_rng(1)
    base, joints = lifted(env, 0.3), env.snapshot()["joints"]
    base[10:] = rng.normal(0, 0.3, 3)
    joints[:, 1] = rng.normal(0, 0.3, len(joints))
    place(env, base=base, joints=joints)
    before = sum(energy(env))
    history = []
    for _ in range(600):
        _, _, terminated, _, info = env.step(rng.choice([-1.0, 1.0], env.action_space.shape))
        assert not terminated, info
        history.append(sum(energy(env)))
    # The ground's springs lend and return energy: the sum may rise for a moment, never above the start.
    assert max(history) < 1.001 * before
    assert max(history[-100:]) < 0.7 * before


@every_engine
@every_robot
def test_hard_stops_hold(name: str, engine: str) -> None:
    env = placed(name, engine, gravity=0.0, **without_power(name))
    place(env, base=lifted(env, 3.0))
    still = np.zeros(len(env.motor_names), np.float32)
    start, rest = env.snapshot(), env.snapshot()["joints"]
    for i, motor in enumerate(env.body_description.motors):
        joints, reached = rest.copy(), []
        joints[i] = [1.28 * motor.limit, 2 * motor.limit]  # two limits per second
        env.restore(start | {"joints": joints})
        for _ in range(25):
            env.step(still)
            reached.append(env.world.joint_positions[i])
        # A stop is felt at the end of the physics step in which it is passed: .01 s * 2 limits / s.
        assert 1.28 < max(reached) < env.config.hard_stop + 0.03, motor.name
        assert reached[-1] < env.config.hard_stop + 0.01, motor.name


# Textbook experiments.


class Stand(RobotEnv):
    """A flat block of 10 kg with a light pendulum above it on a hinge without power."""

    @classmethod
    def body(cls, config: RobotConfig) -> Body:
        parts = [
            link("block", 10.0, box(1.0, 1.0, 0.1)),
            link("bob", 0.01, sphere(0.05, (0.0, 0.0, -0.25))),
            joint("hinge", "block", "bob", (0.0, 1.0, 0.0), 1.3, xyz=(0.0, 0.0, 0.5)),
        ]
        return Body(robot("stand", parts), (Motor("hinge", 1.0, 0.0),), start_height=0.05)


def standing(engine: str, **config: Any) -> Stand:
    """The stand at rest on the soft ground."""
    env = Stand(engine=engine, noise=0.0, **config)
    env.reset(seed=0)
    for _ in range(200):
        env.step(np.zeros(1))
    return env


@every_engine
def test_a_pendulum_has_its_period(engine: str) -> None:
    env = standing(engine)
    place(env, joints=np.array([[0.1, 0.0]]))
    angle = np.array([env.step(np.zeros(1))[0][0] for _ in range(500)], float)
    up = np.flatnonzero((angle[:-1] < 0) & (angle[1:] >= 0))
    crossings = 0.02 * (up + angle[up] / (angle[up] - angle[up + 1]))
    # 2 pi sqrt(I / m g l), and a sixteenth of the squared amplitude more. The block is 1000 times as heavy.
    exact = 2 * pi * np.sqrt((0.25**2 + 0.4 * 0.05**2) / (6.0 * 0.25)) * (1 + 0.1**2 / 16)
    assert np.mean(np.diff(crossings)) == pytest.approx(exact, rel=1e-3)


@every_engine
def test_a_block_slides_from_the_angle_of_friction_on(engine: str) -> None:
    """A slope that is tilted slowly: what pulls the block along grows by a tenth of mu m g per second."""
    mu, g, step = 0.6, 6.0, 0.01
    env = standing(engine, friction=mu, gravity=g, substeps=1, control_step=step)
    limit, start, way = mu * g * sum(env.masses().values()), env.motion()["x"], {}
    for k in range(601):
        way[k] = env.motion()["x"] - start
        env.push([(0.5 + 0.1 * k * step) * limit * step, 0.0, 0.0])
        env.step(np.zeros(1))
    # Up to the angle it holds, but for the millimetres that a regularised friction creeps.
    assert abs(way[500]) < 0.005
    # A second later it has gone mu g / 10 t^3 / 6; an error of 1 % in mu would be .1 s.
    assert mu * g / 60 * 0.9**3 < way[600] < mu * g / 60 * 1.1**3


# Servos.


def test_servo_law() -> None:
    power = np.array([2.0, 2.0, 2.0, 1.0])
    force = servo_force(np.array([0.0, 0.5, -0.5, 50.0]), power, 0.0)
    assert force == pytest.approx([0.0, 2 * tanh(0.5), 2 * tanh(0.5), 1.0])
    assert servo_force(np.zeros(1), np.ones(1), 0.05) == pytest.approx([tanh(0.05)])


@every_engine
@every_robot
def test_servos_are_limp_at_the_set_point_and_saturate_far_from_it(name: str, engine: str) -> None:
    env = placed(name, engine, gravity=0.0)
    place(env, base=lifted(env, 3.0))
    motors = env.body_description.motors
    power = np.array([m.power for m in motors])
    env.step(np.zeros(len(motors)))
    assert np.abs(torques(env)).max() < 1e-9
    env.step(np.ones(len(motors)))
    assert np.abs(torques(env)).max() <= power.max() * tanh(1) * (1 + 1e-9)
    assert (np.abs(torques(env)) <= power * tanh(1) * (1 + 1e-9)).all()
    # From one limit to the other the motors start at tanh(2) = 96 % of their power.
    joints = env.snapshot()["joints"] * 0
    joints[:, 0] = [-m.limit for m in motors]
    place(env, base=lifted(env, 0.0), joints=joints)
    env.step(np.ones(len(motors)))
    used = np.abs(torques(env)) / power
    assert used.max() == pytest.approx(tanh(2), rel=1e-6)
    assert (used <= tanh(2) * (1 + 1e-9)).all()


@every_engine
@every_robot
def test_servos_reach_their_set_points(name: str, engine: str) -> None:
    env = placed(name, engine, gravity=0.0)
    place(env, base=lifted(env, 3.0))
    target = np.where(np.arange(len(env.motor_names)) % 2, 0.4, -0.3)
    late = [env.step(target)[0][: len(target)] for _ in range(500)][-250:]
    # A body in free flight swings about its limp set points for a while.
    assert np.mean(late, axis=0) == pytest.approx(target, abs=0.05)


@every_engine
def test_servos_may_be_updated_every_physics_step(engine: str) -> None:
    once, often = placed("hexapod", engine), placed("hexapod", engine, servo_every_substep=True)
    action = np.full(18, 0.5)
    a, b = once.step(action)[0], often.step(action)[0]
    assert not np.array_equal(a, b)
    assert a == pytest.approx(b, abs=0.1)


# What is special to one robot.


@every_engine
def test_upright_support_turns_the_hexapod_back_and_says_so(engine: str) -> None:
    def fallen(support: float) -> tuple[float, list[bool]]:
        env = placed("hexapod", engine, upright_support=support)
        base = lifted(env, 0.5)
        base[3:7] = turned(pi * 0.8, 0.3)
        place(env, base=base)
        infos = [env.step(np.zeros(18))[4] for _ in range(300)]
        return env.motion()["tilt"], [info.get("upright_support", None) for info in infos]

    tilt, acted = fallen(4.0)
    assert tilt < 0.6 * pi and acted[0] is True
    tilt, acted = fallen(0.0)
    assert tilt > 0.6 * pi and set(acted) == {None}
    upright = placed("hexapod", engine)
    assert upright.step(np.zeros(18))[4]["upright_support"] is False


@every_engine
def test_hexapod_senses_its_vertical_velocity(engine: str) -> None:
    env = placed("hexapod", engine)
    base = lifted(env, 1.0)
    place(env, base=base)
    observation, *_ = env.step(np.zeros(18))
    assert observation[18] == pytest.approx(-9.81 * 0.02 / 0.3, rel=1e-3)


# What rolls.
