"""What several tests of robots need: robots by name, lively actions, and the energy summed the slow way."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pybullet as p

from robots import ROBOTS, RobotEnv


def make(name: str, **config: Any) -> RobotEnv:
    entry = ROBOTS[name]
    return entry.env(entry.config(**config))


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
    states = p.getLinkStates(
        world.robot,
        world.joints,
        computeLinkVelocity=1,
        computeForwardKinematics=1,
        physicsClientId=world.client,
    )
    parts = [(-1, world.position, world.orientation, world.velocity, world.spin)]
    parts += [(i, s[0], s[1], s[6], s[7]) for i, s in zip(world.joints, states, strict=True)]
    kinetic = potential = 0.0
    for index, position, orientation, velocity, spin in parts:
        info = p.getDynamicsInfo(world.robot, index, physicsClientId=world.client)
        mass, moments = info[0], np.array(info[2])
        turned = np.reshape(p.getMatrixFromQuaternion(orientation), (3, 3)).T @ spin
        kinetic += 0.5 * mass * np.dot(velocity, velocity) + 0.5 * moments @ turned**2
        potential += mass * env.config.gravity * position[2]
    return float(kinetic), float(potential)
