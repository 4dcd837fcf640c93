"""Snapshots of every robot: the same bits in every process, and nothing shared or changed by taking one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robots import ROBOTS, RobotEnv, RobotError
from tests.robots.helpers import actions, digest, every_engine, every_robot, run

ROOT = Path(__file__).parents[2]


STEPS = 300
SCRIPT = """
import sys
import numpy as np
from robots import ROBOTS
from tests.robots.helpers import HERE, digest, make, run
part, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
for name in ROBOTS:
    for engine in HERE:
        env, path = make(name, engine), f"{folder}/{name}-{engine}.npz"
        if part == "whole":
            env.reset(seed=11)
            first = digest(run(env, steps))
            snapshot = env.snapshot()
            np.savez(path, **snapshot)
        else:
            first, snapshot = "", dict(np.load(path))
        env.restore(snapshot)
        print(f"{name}-{engine}", digest(run(env, steps, start=steps)), first)
        env.close()
"""


@pytest.fixture(scope="session")
def elsewhere(made_once: Callable[..., Path]) -> dict[str, dict[str, list[str]]]:
    """Digests of what every robot does in two other processes; the second goes on from snapshots."""

    def fill(folder: Path) -> None:
        for part in ("whole", "resumed"):
            done = subprocess.run(
                [sys.executable, "-c", SCRIPT, part, str(folder), str(STEPS)],
                cwd=ROOT, capture_output=True, text=True, check=True,
            )  # fmt: skip
            (folder / part).write_text(done.stdout)

    folder = made_once("same-bits", fill)
    lines = {part: (folder / part).read_text().splitlines() for part in ("whole", "resumed")}
    return {part: {line.split()[0]: line.split()[1:] for line in said} for part, said in lines.items()}


@every_engine
@every_robot
def test_same_bits_in_every_process_and_across_snapshots(
    name: str, engine: str, env: RobotEnv, elsewhere: dict[str, dict[str, list[str]]]
) -> None:
    env.reset(seed=11)
    first = run(env, STEPS)
    last_seen = env.restore(env.snapshot())
    assert np.array_equal(last_seen, first[-1])
    second = digest(run(env, STEPS, start=STEPS))
    assert elsewhere["whole"][f"{name}-{engine}"] == [second, digest(first)]
    assert elsewhere["resumed"][f"{name}-{engine}"] == [second]


@every_engine
@every_robot
def test_a_restored_robot_still_touches_the_ground(name: str, engine: str, env: RobotEnv) -> None:
    env.reset(seed=3)
    for _ in range(100):
        env.step(np.zeros(env.action_space.shape, np.float32))
    seen = env.motion()
    assert seen["contacts"] > 0
    env.restore(env.snapshot())
    assert env.motion() == pytest.approx(seen, abs=1e-12)  # all but the contacts pass through the simulator
    env.step(np.zeros(env.action_space.shape, np.float32))
    assert env.motion()["contacts"] > 0


@every_engine
@every_robot
def test_taking_a_snapshot_or_a_picture_changes_nothing(name: str, engine: str) -> None:
    entry = ROBOTS[name]
    plain, watched = entry.env(engine=engine), entry.env(engine=engine, render_mode="rgb_array")
    plain.reset(seed=2)
    watched.reset(seed=2)
    for action in actions(plain, 60):
        watched.snapshot()
        watched.motion()
        watched.centre_of_mass()
        expected, *_ = plain.step(action)
        assert np.array_equal(watched.step(action)[0], expected)
    watched.render()
    assert np.array_equal(watched.step(action)[0], plain.step(action)[0])


@every_engine
@every_robot
def test_snapshots_hold_numbers_only_and_are_not_shared(name: str, engine: str, env: RobotEnv) -> None:
    env.reset(seed=1)
    run(env, 10)
    snapshot = env.snapshot()
    assert all(array.dtype.kind in "fu" for array in snapshot.values())
    kept = {key: array.copy() for key, array in snapshot.items()}
    run(env, 10)
    assert all(np.array_equal(snapshot[key], kept[key]) for key in kept)
    env.restore(snapshot)
    run(env, 10)
    assert all(np.array_equal(snapshot[key], kept[key]) for key in kept)
    with pytest.raises(RobotError, match="'noise'"):
        env.restore({key: array for key, array in kept.items() if key != "noise"})
    with pytest.raises(RobotError, match="joints"):
        env.restore(kept | {"joints": kept["joints"][:-1]})
    with pytest.raises(RobotError, match="type <U3"):
        env.restore(kept | {"offset": np.array(["one", "two"])})
    with pytest.raises(RobotError, match=r"'random'. holds -1"):
        env.restore(kept | {"random": -np.ones(6, int)})
