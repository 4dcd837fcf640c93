"""What several tests of robots need: robots by name, lively actions, and the energy summed the slow way."""

from __future__ import annotations

import hashlib
from math import cos, sin
from typing import Any

import numpy as np
import pytest

from robots import ENGINES, ROBOTS, RobotEnv, engine_version

HERE = [engine for engine in ENGINES if engine_version(engine)]
"""Engines that are installed."""
every_robot = pytest.mark.parametrize("name", ROBOTS)
every_engine = pytest.mark.parametrize("engine", HERE)
only_bullet = pytest.mark.skipif("pybullet" not in HERE, reason="PyBullet is not installed")


def make(name: str, engine: str | None = None, **config: Any) -> RobotEnv:
    return ROBOTS[name].env(engine=engine, **config)


def actions(env: RobotEnv, n: int, seed: int = 0) -> np.ndarray:
    """Lively seeded actions: slow random swings of every motor over its full range."""
    rng = np.random.default_rng(seed)
    phase, rate = rng.uniform(0, 6.28, env.action_space.shape), rng.uniform(0.05, 0.3, env.action_space.shape)
    return np.sin(phase + rate * np.arange(n)[:, None]).astype(np.float32)


def run(env: RobotEnv, n: int, start: int = 0) -> np.ndarray:
    """Observations of n steps with the actions from `start` on."""
    observations = []
    for action in actions(env, start + n)[start:]:
        observation, reward, terminated, truncated, _ = env.step(action)
        assert reward == 0 and not terminated and not truncated
        observations.append(observation)
    return np.array(observations)


def digest(observations: np.ndarray) -> str:
    return hashlib.sha256(observations.tobytes()).hexdigest()


def energy(env: RobotEnv) -> tuple[float, float]:
    """Kinetic and potential energy, summed over the links from their velocities and moments of inertia."""
    world = env.world
    parts = zip(world.masses().values(), world.inertia(), *world.links(), strict=True)
    kinetic = potential = 0.0
    for mass, inertia, position, frame, velocity, spin in parts:
        turned = frame.T @ spin
        kinetic += 0.5 * mass * velocity @ velocity + 0.5 * turned @ inertia @ turned
        potential += mass * env.config.gravity * position[2]
    return float(kinetic), float(potential)


def placed(name: str, engine: str | None = None, **config: Any) -> RobotEnv:
    """A noiseless robot in its starting pose."""
    env = make(name, engine, noise=0.0, **config)
    env.reset(seed=0)
    return env


def place(env: RobotEnv, **changes: Any) -> None:
    """Restore the present state with some of its arrays changed."""
    env.restore(env.snapshot() | changes)


def lifted(env: RobotEnv, height: float) -> np.ndarray:
    base = env.snapshot()["base"]
    base[2] += height
    return base


def turned(roll: float, yaw: float) -> list[float]:
    """Quaternion (x, y, z, w) of a turn about x, then about z."""
    a, b, c, d = sin(roll / 2), cos(roll / 2), sin(yaw / 2), cos(yaw / 2)
    return [a * d, a * c, b * c, b * d]


def speed(env: RobotEnv) -> float:
    """Of the centre of mass, horizontally, over one control step [m/s]."""
    before = env.centre_of_mass()
    env.step(np.zeros(env.action_space.shape))
    return float(np.hypot(*(env.centre_of_mass() - before)[:2]) / env.config.control_step)
