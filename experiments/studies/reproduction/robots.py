"""The paper's robot experiments with our robots: learn, record, measure, and try the paper's findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quantify as q
from experiments.pipeline.learn import Learn, learn_all, resolve
from experiments.pipeline.loop import find_robot
from experiments.pipeline.quantify import Quantify, quantify_behaviours
from experiments.pipeline.record import Record, record
from experiments.runfiles import run_file as log
from experiments.studies.reproduction.findings import Values, judge
from experiments.studies.reproduction.recipes import Recipe, evaluate, recipe
from experiments.studies.reproduction.table import rows
from experiments.sweeps.store import task_named
from experiments.sweeps.sweep import Scale, sweep
from quantify.ksg import predictive_information

Floats = NDArray[np.float64]
QUANTITIES = ("D", "const", "E_state", "E_mem", "E_core", "PI")
# Measured on other scales than those of the table, too.
VIEWED = ("D", "E_core")
PAPER, AUTOMATIC = "the paper's scales", "automatic scales"


@dataclass(frozen=True)
class Column:
    """A column of the paper's table: one behaviour on one range of scales."""

    name: str
    recipe: Recipe
    main: bool


@dataclass(frozen=True)
class Wanted:
    """What to measure of one behaviour of a run."""

    name: str
    minutes: float
    eta: float
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class RunTask:
    """A recorded run to be measured, with all it was learned and recorded with: that decides the result."""

    path: str
    seed: int
    robot: str
    controller: str
    minutes: float
    freeze: tuple[float, ...]
    body: dict[str, Any]
    rule: dict[str, Any]
    samples: int
    transient: int
    behaviours: tuple[Wanted, ...]
    common: tuple[tuple[float, float], ...]
    relative: tuple[float, float]
    predictive: dict[str, Any]


def robot(part: dict[str, Any], folder: Path, scale: Scale, quiet: bool) -> dict[str, Any]:
    """Learn, record and measure all behaviours of a robot's table, over all seeds.

    Returns
    -------
    dict
        `rows` (Row), `findings`, `measurements` (one dict per behaviour and seed), and `files` (the run files
        of the first seed) for the report page.
    """
    configs = {
        (run["name"], seed): Learn(
            run["robot"],
            run["controller"],
            minutes=run["minutes"],
            freeze=tuple(run["freeze"]),
            seed=seed,
            body=run.get("body", {}),
            rule=run.get("rule", {}),
            out=folder / f"{run['name']}-{seed}.h5",
            quiet=quiet,
        )
        for run in part["run"]
        for seed in part["seeds"]
    }
    learn_all(list(configs.values()), scale.jobs)
    _record(part, [config.path for config in configs.values()], scale.jobs, quiet)
    tasks = [_task(part, name, config) for (name, _), config in configs.items()]
    # The recordings are on this machine, so this is where they are measured.
    found = sweep(measure, tasks, store=folder / "store", title="measure", jobs=scale.jobs, quiet=quiet)
    measured = []
    for task, done in zip(tasks, found, strict=True):
        for wanted in task.behaviours:
            values = done.get(wanted.name, {"reason": done.get("reason", "")})
            run = Path(task.path).name
            measured.append({"behaviour": wanted.name, "seed": task.seed, "run": run} | values)
    columns = {column["name"]: column for column in part["column"]}
    table = rows(
        list(columns),
        QUANTITIES,
        {name: column["paper"] for name, column in columns.items()},
        {name: column["tolerance"] for name, column in columns.items()},
        {
            name: [one.get("columns", {}).get(name, {}) for one in measured if one["behaviour"] == b]
            for name, b in ((name, column["behaviour"]) for name, column in columns.items())
        },
    )
    return {
        "rows": table,
        "findings": [judge(finding, _views(part, measured, finding)) for finding in part["finding"]],
        "measurements": measured,
        "files": [config.path for (_, seed), config in configs.items() if seed == part["seeds"][0]],
    }


def _record(part: dict[str, Any], paths: list[Path], jobs: int, quiet: bool) -> None:
    wanted: dict[tuple[float, ...], list[Path]] = {}
    for path in paths:
        with log.open_run(path) as run:
            asked = {b["minutes"] for b in part["behaviour"] if path.stem.rpartition("-")[0] == b["run"]}
            there = tuple(sorted(frozen.minutes for frozen in run.frozen.values() if frozen.minutes in asked))
        if there:  # a run that broke down early has none
            wanted.setdefault(there, []).append(path)
    for freeze, runs in wanted.items():
        settings = Record(tuple(runs), part["samples"], freeze, part["transient"], jobs=jobs, quiet=quiet)
        record(settings)


def _task(part: dict[str, Any], run: str, config: Learn) -> RunTask:
    behaviours = tuple(
        Wanted(
            b["name"],
            b["minutes"],
            b["eta"],
            tuple(
                Column(column["name"], recipe(column), column.get("main", False))
                for column in part["column"]
                if column["behaviour"] == b["name"]
            ),
        )
        for b in part["behaviour"]
        if b["run"] == run
    )
    config = resolve(config)
    return RunTask(
        path=str(config.path),
        seed=config.seed,
        robot=config.robot,
        controller=config.controller,
        minutes=config.minutes,
        freeze=config.freeze,
        body=config.body,
        rule=config.rule,
        samples=part["samples"],
        transient=part["transient"],
        behaviours=behaviours,
        common=tuple((lo, hi) for lo, hi in part["common"]),
        relative=(part["relative"][0], part["relative"][1]),
        predictive=part["predictive"],
    )


@task_named("experiments.reproduce_robots:measure")
def measure(task: RunTask) -> dict[str, Any]:
    """Measure all behaviours of a run: by name the columns of the table, other scales, std and PI.

    What cannot be measured has a reason in its place.
    """
    path, sensor = Path(task.path), find_robot(task.robot).sensor
    found: dict[str, Any] = {}
    for wanted in task.behaviours:
        with log.open_run(path) as run:
            name = log.label(wanted.minutes)
            if name not in run.behaviours:
                found[wanted.name] = {"reason": run.learning.reason or "not recorded"}
                continue
            recording = run.behaviours[name]
            if recording.reason:
                found[wanted.name] = {"reason": recording.reason}
                continue
            x = recording.sensors[:, sensor].astype(float)
        results, _, failures = quantify_behaviours(
            Quantify(str(path), freeze=(wanted.minutes,), quiet=True), path
        )
        if name in failures:
            found[wanted.name] = {"reason": str(failures[name])}
        else:
            found[wanted.name] = _numbers(task, wanted, x, results[name]) | {"reason": ""}
    return found


def _numbers(task: RunTask, wanted: Wanted, x: Floats, result: q.Quantification) -> dict[str, Any]:
    PI = _predictive(task, wanted, x)
    std = float(x.std())
    columns = {
        c.name: dict.fromkeys(QUANTITIES) | _try(evaluate, result.sums, c.recipe) | {"PI": PI}
        for c in wanted.columns
    }
    views = {AUTOMATIC: {name: getattr(result, name).value for name in VIEWED}}
    for lo, hi in task.common:
        views[f"scales {lo:g} to {hi:g}"] = _try(_over, result, lo, hi)
    lo, hi = task.relative
    views[f"scales {lo:g} to {hi:g} std"] = _try(_over, result, lo * std, hi * std)
    return {
        "std": std,
        "samples": len(x),
        "columns": columns,
        "main": [c.name for c in wanted.columns if c.main],
        "views": views,
        "automatic range": [result.range.lo, result.range.hi],
        "PI": PI,
        "caveats": list(result.caveats),
    }


def _predictive(task: RunTask, wanted: Wanted, x: Floats) -> float | None:
    """Largest predictive information over m at the smallest eta; None where there are too few samples."""
    settings = {key: value for key, value in task.predictive.items() if key != "samples"}
    tau = find_robot(task.robot).tau
    try:
        found = predictive_information(
            x[: task.predictive["samples"]], tau=tau, eta=wanted.eta, half=False, rng=task.seed, **settings
        )
    except ValueError:
        return None
    return float(np.nanmax(found.PI))


def _over(result: q.Quantification, lo: float, hi: float) -> dict[str, Any]:
    mean = result.decomposition.over(lo, hi)
    return {"D": mean.D, "E_core": mean.E_core, "kappa": mean.kappa, "drift": mean.drift}


def _try(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Its values, or the reason why there are none (scales that the data do not reach)."""
    try:
        return function(*arguments)
    except ValueError as error:
        return {"reason": str(error)}


def _views(
    part: dict[str, Any], measured: list[dict[str, Any]], finding: dict[str, Any]
) -> dict[str, Values]:
    """The finding's quantity on every choice of scales: behaviour -> seed -> value."""
    quantity = finding["quantity"]
    if quantity == "PI":
        eta = sorted({b["eta"] for b in part["behaviour"]})
        scales = f"the smallest scale (eta {' or '.join(f'{e:g}' for e in eta)})"
        return {scales: _by_seed(measured, [one.get("PI") for one in measured])}
    main: list[dict[str, Any]] = [
        next((one["columns"][name] for name in one.get("main", [])), {}) for one in measured
    ]
    views = {PAPER: _by_seed(measured, [values.get(quantity) for values in main])}
    if quantity in VIEWED:
        for name in dict.fromkeys(name for one in measured for name in one.get("views", {})):
            found = [one.get("views", {}).get(name, {}).get(quantity) for one in measured]
            views[name] = _by_seed(measured, found)
    return views


def _by_seed(measured: list[dict[str, Any]], values: list[float | None]) -> Values:
    found: dict[str, dict[int, float]] = {}
    for one, value in zip(measured, values, strict=True):
        if value is not None and np.isfinite(value):
            found.setdefault(one["behaviour"], {})[one["seed"]] = float(value)
    return found
