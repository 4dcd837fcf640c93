"""Physics honesty: bodies weigh and fall as they should and get energy from their motors only."""

from __future__ import annotations

from math import cos, pi, sin, tanh
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pybullet as p
import pytest

from robots import (
    ROBOTS,
    Hexapod,
    HexapodConfig,
    RobotEnv,
    RobotError,
    Snake,
    SnakeConfig,
    Spherical,
    SphericalConfig,
)
from robots.body import servo_force
from robots.hexapod import LEGS
from robots.urdf import box, capsule, link, sphere
from tests.robots.helpers import energy, make

every_robot = pytest.mark.parametrize("name", ROBOTS)


def placed(name: str, **config: Any) -> RobotEnv:
    """A noiseless robot in its starting pose."""
    env = make(name, noise=0.0, **config)
    env.reset(seed=0)
    return env


def without_power(name: str) -> dict[str, float]:
    """Config fields that switch off everything that can feed energy into the body."""
    config = ROBOTS[name].config
    return {f: 0.0 for f in config.MAY_BE_ZERO if "power" in f or f == "upright_support"}


def place(env: RobotEnv, **changes: Any) -> None:
    """Restore the present state with some of its arrays changed."""
    env.restore(env.snapshot() | changes)


def lifted(env: RobotEnv, height: float) -> np.ndarray:
    base = env.snapshot()["base"]
    base[2] += height
    return base


def torques(env: RobotEnv) -> np.ndarray:
    """What the motors applied in the last physics step."""
    states = p.getJointStates(env.world.robot, env.world.motor_joints, physicsClientId=env.world.client)
    return np.array([state[3] for state in states])


# Shapes.


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


# Masses.


@every_robot
def test_simulated_masses_are_those_of_the_description(name: str) -> None:
    env = placed(name)
    description = ElementTree.fromstring(env.body_description.urdf)
    stated = {
        part.get("name"): float(part.find("inertial/mass").get("value")) for part in description.iter("link")
    }
    assert env.masses() == pytest.approx(stated)


def test_total_masses_are_those_of_the_config() -> None:
    totals = {name: sum(placed(name).masses().values()) for name in ROBOTS}
    stated = {"hexapod": 1.0, "snake": 8 * 0.2 + 7 * 0.02, "spherical": 0.3 + 3 * 0.2, "barrel": 0.7}
    assert totals == pytest.approx(stated)
    heavy = Hexapod(HexapodConfig(mass=3.0, trunk_share=0.7))
    heavy.reset(seed=0)
    assert sum(heavy.masses().values()) == pytest.approx(3.0)
    assert heavy.masses()["trunk"] == pytest.approx(2.1)


def test_centres_of_mass_are_where_geometry_puts_them() -> None:
    # Hexapod: symmetric about its middle; coxae level with the trunk, tibiae hang at 1.5 rad.
    hexapod = placed("hexapod")
    part = hexapod.masses()["right hind tibia"]
    start = 0.3 * sin(1.5) + 0.0375
    expected = [0.0, 0.0, start - 6 * part * 0.15 * sin(1.5) / 1.0]
    assert hexapod.centre_of_mass() == pytest.approx(expected, abs=1e-9)
    # Snake: eight segments back from the head's front end at x = 0, which is .25 m before its base.
    assert placed("snake").centre_of_mass() == pytest.approx([-4 * 0.5, 0.0, 0.12], abs=1e-9)
    assert placed("spherical").centre_of_mass() == pytest.approx([0.0, 0.0, 0.25], abs=1e-9)


def test_legs_point_and_move_as_the_data_sheet_says() -> None:
    env = placed("hexapod", gravity=0.0)
    place(env, base=lifted(env, 3.0))

    def foot(leg: str) -> np.ndarray:
        index = list(env.masses()).index(f"{leg} tibia") - 1
        state = p.getLinkState(
            env.world.robot, index, computeForwardKinematics=1, physicsClientId=env.world.client
        )
        return np.array(state[0]) - env.world.position

    rest = {leg: foot(leg) for leg in ("right hind", "left front")}
    assert rest["right hind"][0] < -0.4 and rest["right hind"][1] < -0.4
    assert rest["left front"][0] > 0.4 and rest["left front"][1] > 0.4
    still = env.snapshot()
    for motor, axis in ((0, 2), (1, 0), (2, 2)):  # up, to the front, tibia out and thereby up
        for leg in rest:
            joints = np.zeros((18, 2))
            joints[env.world.motor_joints[3 * LEGS.index(leg) + motor], 0] = 0.5
            env.restore(still | {"joints": joints})
            assert foot(leg)[axis] > rest[leg][axis] + 0.02, (leg, motor)
            if motor == 2:
                assert abs(foot(leg)[1]) > abs(rest[leg][1]) + 0.02


# Motion.


@every_robot
def test_free_fall_accelerates_with_g(name: str) -> None:
    env = placed(name, gravity=9.81)
    place(env, base=lifted(env, 4.0))
    heights = []
    for _ in range(20):
        heights.append(env.centre_of_mass()[2])
        env.step(np.zeros(env.action_space.shape))
    # Symplectic Euler is exact for a constant force up to rounding.
    assert np.diff(heights, 2) / 0.02**2 == pytest.approx(-9.81, rel=1e-6)


@every_robot
def test_a_push_gives_the_body_its_momentum(name: str) -> None:
    env = placed(name, gravity=0.0, **without_power(name))
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


@every_robot
def test_motors_cannot_lift_a_falling_body(name: str) -> None:
    def strayed(substeps: int) -> float:
        """Distance of the centre of mass from free fall after .6 s of wild motion."""
        env = placed(name, substeps=substeps)
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


@every_robot
def test_resting_body_calms_down(name: str) -> None:
    env = placed(name)
    kinetic = []
    for step in range(2000):
        env.step(np.zeros(env.action_space.shape))
        kinetic.append(energy(env)[0] if step < 500 or step >= 1500 else 0.0)
    first, *_, last = np.max(np.reshape(kinetic, (4, 500)), axis=1)
    assert last < 0.3 * first
    assert last < 0.02  # J: as little as 1 kg has at .2 m/s


@pytest.mark.parametrize(
    ("name", "config"), [*((name, {}) for name in ROBOTS), ("snake", {"friction_along": 0.1})]
)
def test_without_power_the_body_is_passive(name: str, config: dict[str, float]) -> None:
    env = placed(name, **without_power(name), **config)
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


@every_robot
def test_hard_stops_hold(name: str) -> None:
    env = placed(name, gravity=0.0, **without_power(name))
    place(env, base=lifted(env, 3.0))
    start = env.snapshot()
    strength = 10 * max(motor.power for motor in type(env).body(ROBOTS[name].config()).motors)
    for index, motor in zip(env.world.motor_joints, env.body_description.motors, strict=True):
        env.restore(start)
        # A motor of ten times the power that wants to go to twice the limit in a second.
        p.setJointMotorControl2(
            env.world.robot, index, p.POSITION_CONTROL, targetPosition=2 * motor.limit,
            maxVelocity=2 * motor.limit, force=strength, physicsClientId=env.world.client,
        )  # fmt: skip
        reached = 0.0
        for _ in range(150):
            p.stepSimulation(physicsClientId=env.world.client)
            angle = p.getJointState(env.world.robot, index, physicsClientId=env.world.client)[0]
            reached = max(reached, angle / motor.limit)
        # A stop is felt at the end of the physics step in which it is passed: .01 s * 2 limits / s.
        assert env.config.hard_stop - 0.05 < reached < env.config.hard_stop + 0.03, motor.name


# Servos.


def test_servo_law() -> None:
    power = np.array([2.0, 2.0, 2.0, 1.0])
    force = servo_force(np.array([0.0, 0.5, -0.5, 50.0]), power, 0.0)
    assert force == pytest.approx([0.0, 2 * tanh(0.5), 2 * tanh(0.5), 1.0])
    assert servo_force(np.zeros(1), np.ones(1), 0.05) == pytest.approx([tanh(0.05)])


@every_robot
def test_servos_are_limp_at_the_set_point_and_saturate_far_from_it(name: str) -> None:
    env = placed(name, gravity=0.0)
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


@every_robot
def test_servos_reach_their_set_points(name: str) -> None:
    env = placed(name, gravity=0.0)
    place(env, base=lifted(env, 3.0))
    target = np.where(np.arange(len(env.motor_names)) % 2, 0.4, -0.3)
    late = [env.step(target)[0][: len(target)] for _ in range(500)][-250:]
    # A body in free flight swings about its limp set points for a while.
    assert np.mean(late, axis=0) == pytest.approx(target, abs=0.05)


def test_servos_may_be_updated_every_physics_step() -> None:
    once, often = placed("hexapod"), placed("hexapod", servo_every_substep=True)
    action = np.full(18, 0.5)
    a, b = once.step(action)[0], often.step(action)[0]
    assert not np.array_equal(a, b)
    assert a == pytest.approx(b, abs=0.1)


# What is special to one robot.


def test_upright_support_turns_the_hexapod_back_and_says_so() -> None:
    def fallen(support: float) -> tuple[float, list[bool]]:
        env = placed("hexapod", upright_support=support)
        base = lifted(env, 0.5)
        base[3:7] = p.getQuaternionFromEuler([pi * 0.8, 0, 0.3])
        place(env, base=base)
        infos = [env.step(np.zeros(18))[4] for _ in range(300)]
        return env.motion()["tilt"], [info.get("upright_support", None) for info in infos]

    tilt, acted = fallen(4.0)
    assert tilt < 0.6 * pi and acted[0] is True
    tilt, acted = fallen(0.0)
    assert tilt > 0.6 * pi and set(acted) == {None}
    upright = placed("hexapod")
    assert upright.step(np.zeros(18))[4] == {"upright_support": False}


def test_hexapod_senses_its_vertical_velocity() -> None:
    env = placed("hexapod")
    base = lifted(env, 1.0)
    place(env, base=base)
    observation, *_ = env.step(np.zeros(18))
    assert observation[18] == pytest.approx(-9.81 * 0.02 / 0.4, rel=1e-3)


def test_snake_rolls_when_its_bend_goes_round() -> None:
    env = placed("snake")
    for step in range(600):
        phase = 2 * pi * 0.4 * step * 0.02
        env.step(np.tile([0.2 * cos(phase), 0.2 * sin(phase)], 7))
        if step == 300:
            before = env.motion()
    after = env.motion()
    way = np.hypot(after["x"] - before["x"], after["y"] - before["y"])
    # Rolling at .4 turns/s for 6 s is a way of 6 * 2 pi * .4 * .12 m = 1.8 m, but for some slip.
    assert way == pytest.approx(6 * 2 * pi * 0.4 * 0.12, rel=0.15)


def test_snake_is_measured_as_a_whole() -> None:
    env = placed("snake")
    base = lifted(env, 1.0)
    yaw = 0.7
    base[3:7] = p.getQuaternionFromEuler([0, 0, yaw])
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


@pytest.mark.parametrize("along", [1.0, 0.5, 0.1])
def test_snake_with_scales_slides_along_itself(along: float) -> None:
    env = placed("snake", power=0.0, friction=0.6, friction_along=along)

    def pushed(velocity: list[float]) -> list[dict[str, float]]:
        env.reset(seed=0)
        place(env, base=np.concatenate([env.snapshot()["base"][:7], velocity, np.zeros(3)]))
        return [env.motion() for _ in range(11) if env.step(np.zeros(14))]

    seen = pushed([1.0, 0.0, 0.0])
    # Coulomb friction brakes by mu g; on soft ground the weight swings by some per cent.
    braking = (seen[0]["along"] - seen[-1]["along"]) / (10 * 0.02)
    assert braking == pytest.approx(along * 0.6 * 6.0, rel=0.1)
    # Across it keeps its grip: pushed sideways, it soon rolls without sliding.
    last = pushed([0.0, 1.0, 0.0])[-1]
    assert last["across"] == pytest.approx(-last["roll"] * 0.12, rel=0.03)


def test_snake_cannot_twist() -> None:
    env = Snake(SnakeConfig())
    assert len(env.motor_names) == 14
    description = ElementTree.fromstring(env.body_description.urdf)
    axes = {joint.find("axis").get("xyz") for joint in description.iter("joint")}
    assert axes == {"0.0 0.0 1.0", "0.0 1.0 0.0"}  # none along the segments, which lie along x


def test_spherical_robot_rolls_towards_its_weights() -> None:
    env = Spherical(SphericalConfig(noise=0.0))
    first, _ = env.reset(seed=0)
    assert first == pytest.approx([0, 0, 0, 0, 0, 1], abs=1e-6)  # only the z-axis points upwards
    for _ in range(40):
        observation, *_ = env.step(np.array([1.0, 0.0, 0.0]))
    assert env.motion()["x"] > 0.01
    assert abs(env.motion()["y"]) < 1e-3
    assert observation[3] < -0.05  # the loaded end of the x-axis goes down


def test_barrel_rolls_towards_its_weights() -> None:
    env = placed("barrel")
    for _ in range(40):
        observation, *_ = env.step(np.array([-1.0, 0.0]))
    assert env.motion()["x"] < -0.01
    assert abs(env.motion()["y"]) < 1e-3
    assert observation[2] > 0.05  # the loaded end of the x-axis, the far one, goes down
