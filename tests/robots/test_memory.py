"""What worlds and steps leave behind: nothing."""

from __future__ import annotations

import gc
import resource
from pathlib import Path

import numpy as np
import pytest

import robots
from robots import RobotEnv
from tests.robots.helpers import every_engine, every_robot, make, only_bullet

ROOT = Path(__file__).parents[2]


@only_bullet
def test_forgotten_worlds_are_freed() -> None:
    import pybullet

    env = make("spherical", "pybullet")
    env.reset(seed=0)
    client = env.world.client
    assert pybullet.getConnectionInfo(client)["isConnected"]
    del env
    gc.collect()
    assert not pybullet.getConnectionInfo(client)["isConnected"]


def live(env: RobotEnv, steps: int) -> float:
    """Let a robot act at random for so many steps; by how much the process grew in the last nine tenths [B].

    The first tenth fills caches and pools.
    """
    rng, action = np.random.default_rng(0), np.zeros(env.action_space.shape)
    for step in range(steps):
        if step % 25 == 0:
            action = rng.uniform(-1, 1, env.action_space.shape)
        observation, _, terminated, _, info = env.step(action)
        assert not terminated, (step, info)
        assert observation in env.observation_space
        if step == steps // 10:
            before = resident()
    assert np.abs(env.snapshot()["base"][:2]).max() < robots.world.HORIZON
    return resident() - before


def resident() -> float:
    """Memory that this process occupies [B]."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


on_linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")


@pytest.mark.guard
@on_linux
@every_engine
def test_steps_leave_nothing_behind(engine: str) -> None:
    env = make("barrel", engine)
    env.reset(seed=0)
    # One forgotten array per step would be .5 MB.
    assert live(env, 5_000) < 0.3e6


@pytest.mark.long
@on_linux
@every_engine
@every_robot
def test_a_long_life(name: str, engine: str, env: RobotEnv) -> None:
    env.reset(seed=0)
    # A byte per step and a half.
    assert live(env, 1_000_000) < 0.7e6
