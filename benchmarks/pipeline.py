"""What the pipeline costs beyond the simulation: controller, log, measurements, checkpoints, compression.

Whole runs of `learn` and `record`, from opening to the compressed file, in which the time inside the body's
`step` is taken as well: overhead = (whole - steps) / steps, both from one run, so that neither chance in the
motion nor a busy machine can favour one side. CPU times are disturbed little by other processes; wall-clock
times include waiting for the disk. Memory is watched all along a recording of a million samples.

    python benchmarks/pipeline.py          writes docs/results/benchmark-pipeline.json
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, Wanted, merge, record, record_one
from experiments.runfiles.results import versions
from robots import RobotEnv


@dataclass(frozen=True)
class Bench:
    """Measure the overhead and the memory of learning and recording."""

    steps: int = 24_000
    """Steps per run: 8 minutes of learning, as in the paper."""
    turns: int = 3
    """Runs of each kind; the median counts."""
    memory_samples: int = 1_000_000
    """Length of the recording whose memory is watched."""
    robots: tuple[str, ...] = ("hexapod", "snake")
    """Bodies whose overhead is measured; none to watch the memory alone."""
    out: Path = Path("docs/results/benchmark-pipeline.json")
    """Where the figures go."""


def clock() -> np.ndarray:
    """CPU time and wall-clock time [s]."""
    return np.array([time.process_time(), time.perf_counter()])


@contextmanager
def stopwatch() -> Iterator[list[float]]:
    """Collect CPU and wall-clock time spent in the step of any body."""
    spent, step = [0.0, 0.0], RobotEnv.step

    def timed(self: RobotEnv, action: Any) -> Any:
        cpu, wall = time.process_time(), time.perf_counter()
        result = step(self, action)
        spent[0] += time.process_time() - cpu
        spent[1] += time.perf_counter() - wall
        return result

    RobotEnv.step = timed  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        RobotEnv.step = step  # type: ignore[method-assign]


def overhead(work: Callable[[], object], steps: int) -> dict[str, float]:
    """Run something that makes `steps` steps and say what it costs beyond them."""
    with stopwatch() as inside:
        began = clock()
        work()
        whole = clock() - began
    return {
        "overhead_percent_cpu": 100 * (whole[0] / inside[0] - 1),
        "overhead_percent_wall": 100 * (whole[1] / inside[1] - 1),
        "env_steps_per_cpu_second": steps / inside[0],
        "steps_per_cpu_second": steps / whole[0],
    }


def robot_figures(robot: str, config: Bench, folder: Path) -> dict[str, Any]:
    """Median figures of learning and recording with one robot."""
    path, minutes = folder / "run.h5", config.steps / 3000
    lesson = Learn(robot, minutes=minutes, freeze=(minutes,), out=path)
    recording = Record((path,), samples=config.steps, transient=0, jobs=1)
    found: dict[str, list[dict[str, float]]] = {"learn": [], "record": []}
    for _ in range(config.turns):
        path.unlink(missing_ok=True)
        found["learn"].append(overhead(lambda: learn(lesson), config.steps))
        found["record"].append(overhead(lambda: record(recording), config.steps))
    return {
        phase: {key: round(float(np.median([turn[key] for turn in turns])), 1) for key in turns[0]}
        for phase, turns in found.items()
    }


def memory(robot: str, samples: int, folder: Path) -> dict[str, Any]:
    """Memory [MiB] in each tenth of a long recording, and the most that merging and its test take."""
    path = folder / "memory.h5"
    learn(Learn(robot, minutes=0.2, freeze=(0.2,), out=path))
    task = Wanted(path, "0.2min", samples, transient=0, measure=0.2, checkpoint=3000)
    with watched_memory() as recording:
        record_one(task)
    with watched_memory() as merging:
        merge(path, [task])
    tenths = np.array_split(recording, 10)
    return {
        "samples": samples,
        "recording_mib": [round(float(np.max(tenth)), 1) for tenth in tenths],
        "merging_mib": round(max(merging), 1),
    }


@contextmanager
def watched_memory(interval: float = 0.01) -> Iterator[list[float]]:
    """Collect the resident memory of this process [MiB], at least ten times; Linux only."""
    done = threading.Event()
    seen: list[float] = []

    def watch() -> None:
        while not done.wait(interval) or len(seen) < 10:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            seen.append(pages * resource.getpagesize() / 2**20)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def main(config: Bench) -> None:
    """Run and write the figures."""
    result: dict[str, Any] = {
        "command": " ".join(["python benchmarks/pipeline.py", *sys.argv[1:]]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": versions(),
        "steps": config.steps,
        "turns": config.turns,
        "robots": {},
    }
    with tempfile.TemporaryDirectory() as name:
        for robot in config.robots:
            learn(Learn(robot, minutes=0.1, freeze=(), out=Path(name, f"warm-{robot}.h5")))
            result["robots"][robot] = robot_figures(robot, config, Path(name))
            print(robot, json.dumps(result["robots"][robot], indent=1))
        result["memory"] = memory("hexapod", config.memory_samples, Path(name))
        print("memory", json.dumps(result["memory"]))
    config.out.parent.mkdir(parents=True, exist_ok=True)
    config.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Bench))
