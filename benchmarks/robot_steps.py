"""How fast the bodies are: control steps per second of one core, and the share of it that is Bullet's own.

    python benchmarks/robot_steps.py [--steps N] [--out FILE]

Each robot is made by Gymnasium and driven by lively actions, in rounds that alternate between the robots, so
that a busy machine disturbs all alike. In every round the same steps are taken twice from the same snapshot:
as they are, which gives the steps per second of CPU time, and with a clock around stepSimulation, which gives
Bullet's share of the wall clock (that clock is read in .1 microseconds, the one of CPU time in 1).
The parallel part steps one world in one process, then two worlds in two, and compares wall-clock rates in
alternating rounds; it needs two idle cores and is left out, with the reason, where others are at work.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium as gym
import numpy as np
import pybullet
from numpy.typing import NDArray

import robots
from robots import ROBOTS

ROUNDS = 7


def drive(env: gym.Env[Any, Any], n: int) -> list[NDArray[np.float32]]:
    """Seeded actions: each motor swings at its own frequency between .3 and 1.2 Hz."""
    rng = np.random.default_rng(0)
    motors = env.unwrapped.action_space.shape  # type: ignore[attr-defined]
    phase, rate = rng.uniform(0, 2 * np.pi, motors), 2 * np.pi * 0.02 * rng.uniform(0.3, 1.2, motors)
    return list((0.7 * np.sin(phase + rate * np.arange(n)[:, None])).astype(np.float32))


class Clock:
    """pybullet with a clock around stepSimulation."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(pybullet, name)

    def stepSimulation(self, **options: Any) -> None:
        start = time.perf_counter()
        pybullet.stepSimulation(**options)
        self.seconds += time.perf_counter() - start


def seconds(env: gym.Env[Any, Any], actions: list[NDArray[np.float32]]) -> tuple[float, float]:
    """CPU time and wall-clock time that the steps take."""
    cpu, wall = time.process_time(), time.perf_counter()
    for action in actions:
        env.step(action)
    return time.process_time() - cpu, time.perf_counter() - wall


def one_core(steps: int) -> dict[str, dict[str, Any]]:
    """Speed and Bullet's share for every registered robot."""
    worlds = {name: gym.make(f"robots:{e.id}", disable_env_checker=True) for name, e in ROBOTS.items()}
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in worlds}
    for env in worlds.values():
        env.reset(seed=0)
        seconds(env, drive(env, 200))
    for _ in range(ROUNDS):
        for name, env in worlds.items():
            body: Any = env.unwrapped
            snapshot, actions = body.snapshot(), drive(env, steps)
            body.restore(snapshot)
            cpu, _ = seconds(env, actions)
            body.restore(snapshot)
            clock = Clock()
            robots.world.p = clock  # type: ignore[attr-defined]
            try:
                _, wall = seconds(env, actions)
            finally:
                robots.world.p = pybullet  # type: ignore[attr-defined]
            share = clock.seconds / wall
            rows[name].append((steps / cpu, share, 1e6 * share * cpu / steps))
    return {
        name: {
            "steps_per_cpu_second": round(median(r[0] for r in row)),
            "bullet_share": round(median(r[1] for r in row), 3),
            "bullet_share_of_rounds": [round(r[1], 3) for r in row],
            "bullet_microseconds_per_step": round(median(r[2] for r in row), 1),
        }
        for name, row in rows.items()
    }


def _record(name: str, steps: int, barrier: Any) -> None:
    env = gym.make(f"robots:{ROBOTS[name].id}", disable_env_checker=True)
    env.reset(seed=0)
    actions = drive(env, steps)
    barrier.wait()
    for action in actions:
        env.step(action)
    barrier.wait()


def parallel_rate(name: str, processes: int, steps: int) -> float:
    """Steps per second of wall clock of all processes together, without their start."""
    context = get_context("spawn")
    barrier = context.Barrier(processes + 1)
    workers = [context.Process(target=_record, args=(name, steps, barrier)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    barrier.wait()
    start = time.perf_counter()
    barrier.wait()
    seconds = time.perf_counter() - start
    for worker in workers:
        worker.join()
    return processes * steps / seconds


def two_cores(name: str, steps: int) -> dict[str, float]:
    """How process-parallel stepping scales."""
    rates = [(parallel_rate(name, 1, steps), parallel_rate(name, 2, steps)) for _ in range(ROUNDS)]
    return {
        "steps_per_second_1_process": round(median(r[0] for r in rates)),
        "steps_per_second_2_processes": round(median(r[1] for r in rates)),
        "speed_up": round(median(r[1] / r[0] for r in rates), 2),
    }


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--steps", type=int, default=2000, help="control steps per round")
    default = Path(__file__).parents[1] / "docs" / "results" / "benchmark-robots.json"
    parser.add_argument("--out", type=Path, default=default, help="where the figures go")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    figures: dict[str, Any] = {
        "command": f"python benchmarks/robot_steps.py --steps {arguments.steps}",
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "load_before": round(load, 2),
        "one_core": one_core(arguments.steps),
    }
    if load > 0.5:
        figures["parallel"] = f"not measured: two idle cores are needed, the load average was {load:.1f}"
    else:
        figures["parallel"] = {name: two_cores(name, arguments.steps) for name in ("hexapod", "snake")}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(figures, indent=2) + "\n")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
