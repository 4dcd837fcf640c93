"""Compare controllers by the complexity of what they make robots do: a grid of runs, a ranking, tests."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.console import console, say
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, find_rule, resolve
from experiments.pipeline.loop import find_robot
from experiments.runfiles import run_file as log
from experiments.settings import command, outcome
from experiments.studies.comparison.page import draw, page
from experiments.studies.comparison.ranking import Scales, pairs_table, ranking_table, summarise
from experiments.studies.comparison.tuning import Tuned, tune, tuned_words
from experiments.studies.comparison.words import as_markdown, findings
from experiments.studies.scoring import Behaviour, Measure, behaviour, rehearse
from experiments.sweeps.store import write_text
from experiments.sweeps.sweep import Backend, cost, places, sweep

# Where the settings of each rule come from: part of every comparison's result.
ORIGINS = {
    "ulr": "own form of the rule; settings searched for on each of these robots, by what emerges, not by "
    "complexity (docs/emergence.md)",
    "tipi": "equations of the literature; defaults of this package, checked in loops of one and two joints, "
    "not tuned on any robot",
    "homeokinesis": "equations of the literature; defaults of this package, checked in loops of one and two "
    "joints, not tuned on any robot",
    "dep": "equations of the literature; settings chosen by hand on the hexapod, not tuned on other robots",
    "random": "no learning: a fixed random matrix of spectral radius 1.2, drawn anew for each seed",
    "identity": "no learning: every motor driven by its own joint",
    "sine": "no learning, no sensors: one sine wave on all motors",
    "babbling": "no learning, no sensors: coloured noise on all motors",
}


@dataclass(frozen=True)
class Compare:
    """Run robots under several controllers and seeds, and rank the controllers by core complexity."""

    robots: tuple[str, ...] = ("hexapod", "snake")
    """Bodies."""
    controllers: tuple[str, ...] = ("ulr", "tipi", "dep", "homeokinesis", "random", "sine")
    """Learning rules and baselines by name, or your own as my_module:MyRule."""
    seeds: int = 10
    """Number of seeds: 1, 2, ... All controllers get the same ones."""
    minutes: float = 8.0
    """Length of learning in simulated minutes."""
    freeze: float | None = None
    """Minute at which the controller is frozen; the end of learning if not given."""
    samples: int = 200_000
    """Samples to record per behaviour."""
    transient: int = 10_000
    """Samples to discard before recording."""
    common: tuple[float, float] = (0.1, 0.4)
    """Scales common to all behaviours, in units of the sensor."""
    relative: tuple[float, float] = (0.2, 0.8)
    """Scales in units of each behaviour's standard deviation."""
    rank: Scales = "common"
    """Scales by which controllers are ranked; the others are shown beside."""
    surrogates: bool = True
    """Score an IAAFT surrogate of every recording as well; --no-surrogates leaves it out."""
    tune: int = 0
    """Settings tried for each controller and robot beforehand, the same number for all; 0: the defaults."""
    body_of: str = "ulr"
    """All controllers get the body settings that this one has by default."""
    out: Path = Path("runs/compare")
    """Folder for table, figure, page, and the results of single runs."""
    keep: bool = False
    """Keep the run files (30 MB per 200,000 samples of the hexapod)."""
    jobs: int = 0
    """Parallel processes on this machine; 0 for one per core."""
    backend: Backend = "local"
    """local: processes on this machine. dask: the workers of a Dask cluster."""
    scheduler: str | None = None
    """Address of the Dask scheduler, such as tcp://10.0.0.1:8786."""
    quiet: bool = False
    """Say nothing while working."""


def compare(config: Compare) -> dict[str, Any]:
    """Run the grid, print and save ranking and tests; what is finished is never run again.

    Returns
    -------
    dict
        What is saved as JSON: settings, body and rule settings with their origin, a row per run, and for each
        robot the ranking and all paired differences; of a tuned comparison every setting that was tried. null
        stands for a value that does not exist; as a bound of an interval it is a run without one. A
        difference from such a run is "inf" or "-inf".
    """
    for name in ("robots", "controllers"):
        if not getattr(config, name):
            raise ExperimentError(f"give at least one of --{name}")
    config = replace(
        config,
        robots=tuple(dict.fromkeys(config.robots)),
        controllers=tuple(dict.fromkeys(config.controllers)),
    )
    starts = [
        _task(config, robot, controller)
        for robot, controller in itertools.product(config.robots, config.controllers)
    ]
    for start in starts:
        rehearse(start)
    tuned = tune(starts, config.tune, config.rank, lambda tasks: _sweep(config, tasks, "tune"))
    # Seed by seed: an unfinished comparison has some seeds of everything.
    tasks = [replace(task, seed=seed) for seed in range(1, config.seeds + 1) for task in tuned.starts]
    results = _sweep(config, tasks, "compare")
    rows = [
        {"robot": task.robot, "controller": task.controller, "seed": task.seed} | result
        for task, result in zip(tasks, results, strict=True)
    ]
    document = {
        "command": command("compare", config),
        "settings": outcome(config),
        "versions": log.versions(),
        "fairness": _fairness(config, tuned),
        "tuning": tuned.tried,
        "robots": {robot: _summary(config, robot, rows) for robot in config.robots},
        "cost": _cost(cost(config.out / "store", behaviour, [*tuned.runs, *tasks]), len(tuned.runs)),
        "rows": rows,
    }
    _save(config, document)
    return document


def _summary(config: Compare, robot: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    mine = [row for row in rows if row["robot"] == robot]
    summary = summarise(mine, config.controllers, config.rank)
    return summary | {"findings": findings(summary, mine)}


def _sweep(config: Compare, tasks: list[Behaviour], title: str) -> list[dict[str, Any]]:
    return sweep(
        behaviour,
        tasks,
        store=config.out / "store",
        title=title,
        keep=config.keep,
        **places(config),
    )


def _task(config: Compare, robot: str, controller: str) -> Behaviour:
    """The task of the first seed, with every setting spelled out; refuses what cannot run."""
    if config.tune < 0:
        raise ExperimentError(f"--tune is {config.tune}; it must be 0 (no tuning) or more")
    if config.freeze == 0:
        raise ExperimentError("--freeze is 0; it must be greater than 0: there is nothing learned to freeze")
    freeze = config.minutes if config.freeze is None else config.freeze
    try:
        find_rule(config.body_of)
    except ExperimentError as error:
        raise ExperimentError(f"--body-of: {error}") from error
    body = resolve(Learn(robot, config.body_of, config.minutes, (freeze,))).body
    rule = resolve(Learn(robot, controller, config.minutes, (freeze,))).rule
    return Behaviour(robot, controller, 1, (freeze,), body, rule, measure_of(config, robot))


def measure_of(config: Any, robot: str) -> Measure:
    """How behaviours of a robot are quantified, from the settings of a command; refuses what cannot be."""
    if config.seeds < 1:
        raise ExperimentError(f"--seeds is {config.seeds}; it must be at least 1")
    entry = find_robot(robot)
    needed = 10 * entry.m_max * entry.tau
    if config.samples < needed:
        raise ExperimentError(
            f"--samples is {config.samples}; {entry.m_max} steps with delay {entry.tau} need {needed}, and "
            "many more to say something"
        )
    if config.transient < 0:
        raise ExperimentError(f"--transient is {config.transient}; it must be 0 or more")
    for name in ("common", "relative"):
        low, high = getattr(config, name)
        if not 0 < low < high < math.inf:
            raise ExperimentError(
                f"--{name} is {low:g} {high:g}; 0 < smaller scale < larger scale < inf is needed"
            )
    return Measure(
        config.samples,
        config.transient,
        entry.sensor,
        entry.tau,
        entry.m_max,
        config.common,
        config.relative,
        surrogate=config.surrogates,
    )


def _fairness(config: Compare, tuned: Tuned) -> dict[str, Any]:
    """What all runs share, and where they differ."""
    first = {(task.robot, task.controller): task for task in tuned.starts}
    return {
        "same for all": "body, its noise, seeds, learning time, samples, quantifier settings",
        "bodies": {robot: first[robot, config.controllers[0]].body for robot in config.robots},
        "quantifier": {
            robot: outcome(first[robot, config.controllers[0]].measure) for robot in config.robots
        },
        "rules": {
            name: {
                "origin": tuned_words(config.tune, [by[name] for by in tuned.tried.values()])
                + ORIGINS.get(name, "given by the user"),
                "settings": {robot: first[robot, name].rule for robot in config.robots},
            }
            for name in config.controllers
        },
    }


def _cost(costs: list[dict[str, float]], tuning: int) -> dict[str, float]:
    """What the tasks took together, so many of them for tuning."""
    cpu, peak = [c["cpu_s"] for c in costs], [c["peak_MB"] for c in costs]
    return {
        "tasks": len(costs),
        "tuning_tasks": tuning,
        "cpu_s": round(sum(cpu), 1),
        "cpu_s_per_task": round(sum(cpu) / max(len(cpu), 1), 1),
        "peak_MB": max(peak, default=0),
    }


def _save(config: Compare, document: dict[str, Any]) -> None:
    stem = config.out / "compare"
    write_text(stem.with_suffix(".json"), json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_text(stem.with_suffix(".csv"), as_csv(document["rows"]))
    write_text(stem.with_suffix(".md"), as_markdown(document))
    draw(document, stem.with_suffix(".png"))
    draw(document, stem.with_suffix(".pdf"))
    write_text(stem.with_suffix(".html"), page(document, stem.with_suffix(".png")))
    for robot, summary in document["robots"].items():
        console().print(ranking_table(robot, summary))
        if len(config.controllers) > 1:
            console().print(pairs_table(robot, summary))
        for sentence in summary["findings"]:
            print(f"- {sentence}")
    for row in document["rows"]:
        if row["reason"]:
            kind = "unfinished: " if row.get("unfinished") else ""
            say(f"{row['robot']} {row['controller']} seed {row['seed']}: {kind}{row['reason']}", config.quiet)
    print(f"written: {stem}.html, .json, .csv, .md, .png, .pdf")


def as_csv(rows: list[dict[str, Any]]) -> str:
    """One line per run, nested numbers as common.E_core and so on."""
    flat = [_flat(row) for row in rows]
    columns = list(dict.fromkeys(key for row in flat for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = " ".join(value) if isinstance(value, list) else value
    return found
