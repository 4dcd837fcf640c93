"""How fast the bodies are in each engine: control steps per second of one core, and the engine's own share.

    python benchmarks/robot_steps.py [--steps N] [--out FILE]

Each robot is made by Gymnasium and driven by lively actions, in rounds that alternate between robots and
engines, so that a busy machine disturbs all alike; medians over the rounds are reported. All is CPU time. In
every round the same steps are taken twice from the same snapshot: as they are, and with a clock around the
engine's own stepping, less what reading that clock takes.
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
from statistics import median, quantiles
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

import robots
from robots import ENGINES, ROBOTS

ROUNDS = 15
PARALLEL_ROUNDS = 7


def drive(env: gym.Env[Any, Any], n: int) -> list[NDArray[np.float32]]:
    """Seeded actions: each motor swings at its own frequency between .3 and 1.2 Hz."""
    rng = np.random.default_rng(0)
    motors = env.unwrapped.action_space.shape  # type: ignore[attr-defined]
    phase, rate = rng.uniform(0, 2 * np.pi, motors), 2 * np.pi * 0.02 * rng.uniform(0.3, 1.2, motors)
    return list((0.7 * np.sin(phase + rate * np.arange(n)[:, None])).astype(np.float32))


class Clock:
    """Counts the CPU time that passes within the engine while it is in use."""

    def __init__(self, engine: str) -> None:
        self.seconds = 0.0
        world = robots.bullet_world if engine == "pybullet" else robots.mujoco_world  # type: ignore[attr-defined]
        self._place = world.p if engine == "pybullet" else world
        self._steps = ("stepSimulation",) if engine == "pybullet" else ("mj_step1", "mj_step2")
        self._own = 0.0
        measure, n = self._timed(lambda: None), 1000
        for _ in range(n):
            measure()
        self._own, self.seconds = self.seconds / n, 0.0

    def __enter__(self) -> Clock:
        self._kept = {name: getattr(self._place, name) for name in self._steps}
        for name, step in self._kept.items():
            setattr(self._place, name, self._timed(step))
        return self

    def _timed(self, step: Any) -> Any:
        now = time.thread_time

        def timed(*arguments: Any, **options: Any) -> None:
            start = now()
            step(*arguments, **options)
            self.seconds += now() - start - self._own

        return timed

    def __exit__(self, *_: object) -> None:
        for name, step in self._kept.items():
            setattr(self._place, name, step)


def seconds(env: gym.Env[Any, Any], actions: list[NDArray[np.float32]]) -> float:
    """CPU time that the steps take."""
    start = time.thread_time()
    for action in actions:
        env.step(action)
    return time.thread_time() - start


def one_core(steps: int) -> dict[str, dict[str, Any]]:
    """Speed and the engine's share for every registered robot, engine by engine, and how they compare."""
    here = [engine for engine in ENGINES if robots.engine_version(engine)]
    worlds = {
        (name, engine): gym.make(f"robots:{entry.id}", disable_env_checker=True, engine=engine)
        for name, entry in ROBOTS.items()
        for engine in here
    }
    rows: dict[tuple[str, str], list[tuple[float, float, float]]] = {key: [] for key in worlds}
    for env in worlds.values():
        env.reset(seed=0)
        seconds(env, drive(env, 200))
    for _ in range(ROUNDS):
        for key, env in worlds.items():
            body: Any = env.unwrapped
            snapshot, actions = body.snapshot(), drive(env, steps)
            body.restore(snapshot)
            with Clock(key[1]) as clock:
                seconds(env, actions)
            body.restore(snapshot)
            cpu = seconds(env, actions)
            rows[key].append((steps / cpu, clock.seconds / cpu, 1e6 * clock.seconds / steps))
    found: dict[str, dict[str, Any]] = {name: {} for name in ROBOTS}
    for (name, engine), row in rows.items():
        found[name][engine] = {
            "steps_per_cpu_second": round(median(r[0] for r in row)),
            "engine_share": round(median(r[1] for r in row), 3),
            "engine_share_quartiles": [round(q, 3) for q in quantiles([r[1] for r in row], n=4)],
            "engine_microseconds_per_step": round(median(r[2] for r in row), 1),
        }
    if len(here) == len(ENGINES):
        for name, engines in found.items():
            pairs = zip(rows[name, "mujoco"], rows[name, "pybullet"], strict=True)
            ratios = [m[0] / p[0] for m, p in pairs]
            engines["mujoco_times_pybullet"] = round(median(ratios), 2)
            engines["mujoco_times_pybullet_quartiles"] = [round(q, 2) for q in quantiles(ratios, n=4)]
    return found


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
    rates = [(parallel_rate(name, 1, steps), parallel_rate(name, 2, steps)) for _ in range(PARALLEL_ROUNDS)]
    return {
        "steps_per_second_1_process": round(median(r[0] for r in rates)),
        "steps_per_second_2_processes": round(median(r[1] for r in rates)),
        "speed_up": round(median(r[1] / r[0] for r in rates), 2),
    }


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--steps", type=int, default=300, help="control steps per round")
    default = Path(__file__).parents[1] / "docs" / "results" / "benchmark-robots.json"
    parser.add_argument("--out", type=Path, default=default, help="where the figures go")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    figures: dict[str, Any] = {
        "command": f"python benchmarks/robot_steps.py --steps {arguments.steps}",
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "engines": {engine: robots.engine_version(engine) for engine in ENGINES},
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
