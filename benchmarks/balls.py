"""What it costs in Bullet that a snake stands on balls instead of capsules, which the ground drove on.

    python benchmarks/balls.py [--rounds N]

CPU time per control step of the same snake in a swing, in rounds that alternate between the two.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from robots import RobotEnv, Snake
from robots.body import Body
from robots.snake import SnakeConfig

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "benchmark-balls.json"
STEPS = 150


class OnCapsules(Snake):
    """The snake as it was: on capsules, in Bullet as in MuJoCo."""

    @classmethod
    def body(cls, config: SnakeConfig) -> Body:
        return replace(Snake.body(config), rolls=False)


def swing(env: RobotEnv, turn: int) -> float:
    """CPU microseconds per control step of a wave along the body, a quarter of a turn a second."""
    times = 0.02 * np.arange(turn * STEPS, (turn + 1) * STEPS)[:, None]
    actions = 0.6 * np.sin(2 * np.pi * 0.25 * times + np.arange(14) * np.pi / 2)
    begun = time.process_time()
    for action in actions:
        env.step(action)
    return 1e6 * (time.process_time() - begun) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    envs = {"balls": Snake(engine="pybullet"), "capsules": OnCapsules(engine="pybullet")}
    for env in envs.values():
        env.reset(seed=1)
    taken: dict[str, list[float]] = {name: [] for name in envs}
    for turn in range(rounds):
        for name, env in envs.items():
            taken[name].append(swing(env, turn))
    figures = {
        "command": f"python benchmarks/balls.py --rounds {rounds}",
        "microseconds_per_step": {name: round(median(values)) for name, values in taken.items()},
        "balls_over_capsules": round(median(a / b for a, b in zip(*taken.values(), strict=True)), 3),
    }
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
