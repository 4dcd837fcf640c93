"""What the pipeline costs beyond the simulation: controller, log, progress and checkpoints.

Bare steps and the pipeline take turns in one process, so that a busy machine slows both alike; the figure is
the median of the ratios of neighbours. Memory is that of a long recording at its start and at its end.

    python benchmarks/pipeline.py          writes docs/results/benchmark-pipeline.json
"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from experiments import log
from experiments.learn import Learn, learn
from experiments.loop import make_body
from experiments.record import Record, record


@dataclass(frozen=True)
class Bench:
    """Measure the overhead of learning and recording."""

    steps: int = 12_000
    """Steps per turn."""
    turns: int = 9
    """Turns of bare steps and pipeline."""
    memory_samples: int = 300_000
    """Length of the recording whose memory is watched."""
    out: Path = Path("docs/results/benchmark-pipeline.json")
    """Where the figures go."""


def bare(robot: str, settings: dict[str, Any], start: dict[str, Any], actions: np.ndarray) -> float:
    """Seconds per step of the body alone, for actions that were recorded."""
    body = make_body(robot, settings)
    body.restore(start)
    began = time.perf_counter()
    for action in actions:
        body.step(action)
    taken = time.perf_counter() - began
    body.close()
    return taken / len(actions)


def turn(robot: str, steps: int, folder: Path) -> dict[str, float]:
    """Seconds per step of learning and of recording, each beside bare steps with the very same actions."""
    path = folder / "run.h5"
    minutes = steps / 3000
    began = time.perf_counter()
    learn(Learn(robot, minutes=minutes, freeze=(0.0, minutes), out=path, quiet=True))
    learned = (time.perf_counter() - began) / steps
    with log.open_run(path) as run:
        settings, frozen = run.config["body"], run.frozen
        lesson = run.learning.actions[:]
    bare_learn = bare(robot, settings, frozen["0min"].body, lesson)
    last = log.label(minutes)
    began = time.perf_counter()
    record(Record((path,), freeze=(minutes,), samples=steps, transient=0, jobs=1, quiet=True))
    recorded = (time.perf_counter() - began) / steps
    with log.open_run(path) as run:
        behaviour = run.behaviours[last].actions[:]
    bare_record = bare(robot, settings, frozen[last].body, behaviour)
    path.unlink()
    return {"learn": learned, "bare_learn": bare_learn, "record": recorded, "bare_record": bare_record}


def memory(robot: str, samples: int, folder: Path) -> dict[str, float]:
    """Peak memory [MiB] of this process after a short and after a long recording."""
    path = folder / "run.h5"
    learn(Learn(robot, minutes=0.2, freeze=(0.2,), out=path, quiet=True))
    peaks = []
    for length in (samples // 10, samples):
        record(Record((path,), samples=length, transient=0, jobs=1, quiet=True, replace=True))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return {
        "short_mib": peaks[0],
        "long_mib": peaks[1],
        "short_samples": samples // 10,
        "long_samples": samples,
    }


def main(config: Bench) -> None:
    """Run and write the figures."""
    result: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "versions": log.versions(),
        "robots": {},
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for robot in ("hexapod", "snake"):
            turn(robot, 600, folder)  # compile and warm up
            turns = [turn(robot, config.steps, folder) for _ in range(config.turns)]
            result["robots"][robot] = {
                "steps_per_turn": config.steps,
                "turns": config.turns,
                **{
                    f"{phase}_overhead_percent": round(
                        100 * (statistics.median(t[phase] / t[f"bare_{phase}"] for t in turns) - 1), 1
                    )
                    for phase in ("learn", "record")
                },
                **{
                    f"{key}_steps_per_s": round(1 / statistics.median(t[key] for t in turns))
                    for key in turns[0]
                },
            }
            print(robot, json.dumps(result["robots"][robot]))
        result["memory"] = memory("hexapod", config.memory_samples, folder)
        print("memory", json.dumps(result["memory"]))
    config.out.parent.mkdir(parents=True, exist_ok=True)
    config.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Bench))
