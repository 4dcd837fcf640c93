"""What a behaviour costs from nothing to numbers, and what a sweep adds to it: the base of docs/scale.md.

Each phase of one task (learn, record, quantify, surrogate, predictive information) in seconds of processor
time, which other processes disturb little; the peak memory of the process; the sizes of the files. Then the
cost per task of a sweep itself, with tasks that do nothing, in this process, in local processes, and on a
Dask cluster of two workers on this machine.

    python benchmarks/sweep.py          writes docs/results/benchmark-sweep.json
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import tyro

import quantify as q
from experiments.pipeline.learn import Learn, resolve
from experiments.runfiles.results import versions
from experiments.settings import Scale
from experiments.studies import scoring as task
from experiments.studies.comparison.compare import Compare
from experiments.studies.scoring import Scoring, score, yardstick
from experiments.sweeps.sweep import sweep, task_key


@dataclass(frozen=True)
class Bench:
    """Measure the cost of one task and of many."""

    samples: int = 20_000
    """Samples per behaviour."""
    minutes: float = 8.0
    """Learning per behaviour."""
    robots: tuple[str, ...] = ("hexapod", "snake")
    """Bodies."""
    tasks: int = 100
    """Tasks that do nothing, to measure what a sweep adds."""
    out: Path = Path("docs/results/benchmark-sweep.json")
    """Where the figures go."""


@dataclass(frozen=True)
class Nothing:
    """Configuration of a task that does nothing."""

    number: int


def nothing(config: Nothing) -> dict[str, Any]:
    """Take no time."""
    return {"number": config.number}


def one_behaviour(robot: str, config: Bench, folder: Path) -> dict[str, Any]:
    """One task, each of its phases timed."""
    measure = yardstick(Compare(samples=config.samples), robot)
    wish = resolve(Learn(robot, "ulr", config.minutes, (config.minutes,)))
    small = resolve(Learn(robot, "ulr", 0.05, (0.05,)))
    quick = yardstick(Compare(samples=2000, transient=10), robot)
    score(Scoring(robot, "ulr", 1, (0.05,), small.body, small.rule, quick))  # compiles
    spent: dict[str, float] = {}
    phases: list[tuple[Any, str, str]] = [
        (task, "learn", "learn"),
        (task, "record", "record"),
        (task, "iaaft", "surrogate"),
        (task, "predictive_information", "predictive information"),
        (q, "quantify", "quantify, twice"),
    ]
    originals = [getattr(module, name) for module, name, _ in phases]
    for (module, name, words), function in zip(phases, originals, strict=True):
        setattr(module, name, _timed(function, words, spent))
    configuration = Scoring(robot, "ulr", 1, (config.minutes,), wish.body, wish.rule, measure)
    began = time.process_time()
    try:
        (row,) = sweep(score, [configuration], store=folder, scale=Scale(jobs=1), keep=True)
    finally:
        for (module, name, _), function in zip(phases, originals, strict=True):
            setattr(module, name, function)
    key = task_key(score, configuration)
    return {
        "reason": row["reason"],
        "cpu_s": {words: round(seconds, 2) for words, seconds in spent.items()}
        | {"all": round(time.process_time() - began, 2)},
        "peak_MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "run_file_MB": round((folder / key / "run.h5").stat().st_size / 1e6, 2),
        "result_kB": round((folder / f"{key}.json").stat().st_size / 1e3, 2),
    }


def _timed(function: Callable[..., Any], words: str, spent: dict[str, float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **settings: Any) -> Any:
        began = time.process_time()
        result = function(*arguments, **settings)
        spent[words] = spent.get(words, 0.0) + time.process_time() - began
        return result

    return timed


def overhead(tasks: int, folder: Path) -> dict[str, dict[str, float]]:
    """Milliseconds per task that does nothing, workers ready.

    Processor time of this process, which holds the Dask scheduler too, and wall-clock time, which a busy
    machine makes longer.
    """
    import distributed

    configs = [Nothing(i) for i in range(tasks)]
    found = {}
    for name, jobs in (("this process", 1), ("2 local processes", 2)):
        sweep(nothing, [Nothing(-1), Nothing(-2)], store=folder / f"warm {name}", scale=Scale(jobs=jobs))
        found[name] = _ms(lambda jobs=jobs, name=name: sweep(
            nothing, configs, store=folder / name, scale=Scale(jobs=jobs)), tasks)  # fmt: skip
    found["finished already"] = _ms(
        lambda: sweep(nothing, configs, store=folder / "this process", scale=Scale(jobs=1)), tasks
    )
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        scale = Scale(backend="dask", scheduler=cluster.scheduler_address)
        sweep(nothing, [Nothing(-1), Nothing(-2)], store=folder / "warm", scale=scale)
        found["2 Dask workers"] = _ms(
            lambda: sweep(nothing, configs, store=folder / "dask", scale=scale), tasks
        )
    return found


def _ms(work: Callable[[], object], tasks: int) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    spent = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    return {clock: round(1000 * seconds / tasks, 2) for clock, seconds in spent.items()}


def main(config: Bench) -> None:
    """Run and write the figures."""
    result: dict[str, Any] = {
        "command": " ".join(["python benchmarks/sweep.py", *sys.argv[1:]]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": versions(),
        "minutes": config.minutes,
        "samples": config.samples,
    }
    with tempfile.TemporaryDirectory() as name:
        result["overhead_ms_per_task"] = overhead(config.tasks, Path(name))
        print(json.dumps(result["overhead_ms_per_task"]))
        result["behaviour"] = {}
        for robot in config.robots:
            # The quantifier and the simulator keep what they need: a process of its own for each.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                wish = pool.submit(one_behaviour, robot, config, Path(name))
                result["behaviour"][robot] = wish.result()
            print(robot, json.dumps(result["behaviour"][robot]))
    config.out.parent.mkdir(parents=True, exist_ok=True)
    config.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Bench))
