"""The paper's tables from nothing: its equations simulated again, its robot experiments with our robots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

import quantify as q
from experiments.feedback import SILENT, Feedback
from experiments.pipeline.learn import Learn, learn_all, resolve
from experiments.pipeline.loop import find_body
from experiments.pipeline.quantify import Quantify, quantify, stored_settings
from experiments.pipeline.record import Record, record
from experiments.runfiles.results import versions, write_result
from experiments.runfiles.run_file import label, open_run_file
from experiments.settings import Scale
from experiments.studies.reproduction.table import Rebuilt, bias, chance, chosen, recipe
from experiments.sweeps.sweep import sweep, task_named, with_origin
from quantify.aliases import Floats
from quantify.ksg import predictive_information
from quantify.published import Recipe, Values, compare, try_finding
from quantify.systems import AutoRegressive, Lorenz

# The curves of a figure do not need a million samples.
TO_LOOK_AT = 200_000
LORENZ = ("D", "const", "eps*", "E_state", "E_mem", "E_core", "PI")
QUANTITIES = ("D", "const", "E_state", "E_mem", "E_core", "PI")
# Quantified on other scales than those of the table, too.
VIEWED = ("D", "E_core")
PAPER, AUTOMATIC = "the paper's scales", "automatic scales"


@dataclass(frozen=True)
class LorenzTask:
    """One series of the Lorenz system, quantified as one column of the paper's table."""

    column: str
    recipe: Recipe
    seed: int
    samples: int
    noise: float
    crossover: dict[str, Any]
    step: float
    sampling: float
    tau: int
    m_max: int
    predictive: dict[str, Any]
    grid_points: int
    grid_smallest: float

    def series(self) -> Floats:
        """The observable x."""
        system = Lorenz(noise=self.noise, step=self.step, sampling=self.sampling)
        return np.ascontiguousarray(system.sample(self.samples, self.seed)[:, 0])


@task_named("experiments.reproduce_systems:lorenz_task")
def lorenz_task(task: LorenzTask) -> dict[str, Any]:
    """Simulate and quantify: the numbers of the table, and for the first seed the whole result."""
    x = task.series()
    eps = np.geomspace(np.ptp(x), task.grid_smallest, task.grid_points)
    sums = q.correlation_sums(x, tau=task.tau, m_max=task.m_max, eps=eps, rng=task.seed)
    values = task.recipe.evaluate(sums) | {"eps*": q.crossover(sums, **task.crossover)}
    done: dict[str, Any] = {"column": task.column, "seed": task.seed, "values": values}
    if not task.predictive:
        return done
    PI = predictive_information(x, tau=task.tau, half=False, quoted=0, rng=task.seed, **task.predictive)
    values["PI"] = PI.quoted.value
    # The curves of the paper's figure, from fewer points: they are looked at, not quoted.
    eta = np.geomspace(task.predictive["eta"], x.std(), 12).tolist()
    scan = predictive_information(
        x,
        tau=task.tau,
        m=range(1, 7),
        k=task.predictive["k"],
        eta=eta,
        points=10_000,
        quoted=0,
        rng=task.seed,
    )
    settings = task.recipe.decomposition | {"eps_range": task.recipe.range, "rng": task.seed}
    result = q.quantify_sums(sums, predictive_information=scan, **settings)
    return done | {"theiler": sums.theiler, "result": result.to_dict()}


def lorenz(part: dict[str, Any], folder: Path, scale: Scale, feedback: Feedback = SILENT) -> Rebuilt:
    """Simulate and quantify all columns of the Lorenz table, one series per column and seed."""
    columns = {column["name"]: column for column in part["column"]}
    tasks = [
        LorenzTask(
            **chosen(LorenzTask, part, column)
            | {"column": name, "seed": seed, "recipe": recipe(column)}
            # A scan of nearest neighbours is slow and scatters little between seeds: once is enough.
            | {"predictive": part["predictive"] if seed == part["seeds"][0] else {}}
        )
        for name, column in columns.items()
        for seed in part["seeds"]
    ]
    found = sweep(lorenz_task, tasks, store=folder / "store", title="lorenz", scale=scale, feedback=feedback)
    return Rebuilt(
        compare(columns, LORENZ, _values(columns, tasks, found)),
        [{key: value for key, value in done.items() if key != "result"} for done in found],
        [_save(folder, t, done) for t, done in zip(tasks, found, strict=True) if "result" in done],
    )


def _values(
    columns: Iterable[str], tasks: Sequence[LorenzTask | AR2Task], found: list[Any]
) -> dict[str, Any]:
    """By column the values of each seed."""
    done = list(zip(tasks, found, strict=True))
    return {name: [one.get("values", {}) for task, one in done if task.column == name] for name in columns}


def _save(folder: Path, task: LorenzTask, done: dict[str, Any]) -> Path:
    """Write the series and its result, for the page and for whoever wants to look closer."""
    series = folder / f"lorenz {task.column} {task.seed}.npy".replace(" ", "-")
    np.save(series, task.series())
    settings: dict[str, Any] = {"tau": task.tau, "m_max": task.m_max, "theiler": done["theiler"]}
    settings |= {"eps_range": task.recipe.range, "s_min": task.recipe.s_min}
    document = {"source": series.name, "settings": stored_settings(Quantify(str(series), **settings))}
    return write_result(series, "", document | {"versions": versions(), "result": done["result"]})


@dataclass(frozen=True)
class AR2Task:
    """One series of the AR(2) process, quantified at one delay."""

    a: tuple[float, ...]
    tau: int
    samples: int
    seed: int
    m_max: int
    theiler: int
    E: tuple[int, ...]
    PI: tuple[int, ...]
    predictive: dict[str, Any]

    @property
    def column(self) -> str:
        """Its column of the table."""
        return f"delay {self.tau}"


@task_named("experiments.reproduce_systems:ar2_task")
def ar2_task(task: AR2Task) -> dict[str, Any]:
    """Simulate and estimate: E_m and PI_m from correlation sums as eps -> 0, PI_m from nearest neighbours."""
    x = AutoRegressive(task.a).sample(task.samples, task.seed)
    sums = q.correlation_sums(x, tau=task.tau, m_max=task.m_max, theiler=task.theiler, rng=task.seed)
    values = {f"E_{m}": _at_zero(sums, "E", m) for m in task.E}
    values |= {f"PI_{m}": _at_zero(sums, "PI", m) for m in task.PI}
    if task.predictive:
        found = predictive_information(
            x, tau=task.tau, coordinates="canonical", half=False, quoted=0, rng=task.seed, **task.predictive
        )
        values |= {f"PI_{m} (KSG)": float(v) for m, v in zip(found.m, found.PI[0], strict=True)}
    return {"column": task.column, "seed": task.seed, "values": values}


def _at_zero(sums: q.CorrelationSums, curve: Literal["E", "PI"], m: int) -> float | None:
    """Limit eps -> 0, or None where so few samples do not reach it."""
    try:
        return q.small_scale_limit(sums, curve, m).value
    except q.QuantifyError:
        return None


def ar2(part: dict[str, Any], folder: Path, scale: Scale, feedback: Feedback = SILENT) -> Rebuilt:
    """Simulate and quantify the AR(2) process at all delays; the reference is exact."""
    process = AutoRegressive(tuple(part["a"]))
    grid = product(part["delays"], part["seeds"])
    tasks = [AR2Task(**chosen(AR2Task, part), tau=tau, seed=seed) for tau, seed in grid]
    found = sweep(ar2_task, tasks, store=folder / "store", title="ar2", scale=scale, feedback=feedback)
    columns: dict[str, dict[str, Any]] = {}
    for tau in part["delays"]:
        exact = {f"E_{m}": process.E(m, tau=tau) for m in part["E"]}
        exact |= {f"PI_{m}": process.PI(m, tau=tau) for m in part["PI"]}
        exact |= {f"PI_{m} (KSG)": process.PI(m, tau=tau) for m in part["predictive"]["m"]}
        tolerance = dict.fromkeys(exact, part["tolerance"])
        name, known = f"delay {tau}", {"tolerance": tolerance, "chance": chance(part)}
        columns[name] = {"paper": exact, "bias": bias(part, name, exact), **known}
    x = process.sample(min(part["samples"], TO_LOOK_AT), part["seeds"][0])
    return Rebuilt(
        compare(columns, columns[tasks[0].column]["paper"], _values(columns, tasks, found), ordering=False),
        found,
        [_curves(folder, x, tau, part) for tau in part["delays"]],
    )


def _curves(folder: Path, x: Floats, tau: int, part: dict[str, Any]) -> Path:
    """Quantify what the paper's figure shows of the process at one delay: entropies over the scale."""
    series = folder / f"ar2-delay-{tau}.npy"
    np.save(series, x)
    settings = {"tau": tau, "m_max": part["curves_m_max"], "theiler": part["theiler"], "s_min": part["s_min"]}
    found = quantify(Quantify(str(series), **settings))
    for error in found.unstored.values():
        raise error
    (path,) = found.files.values()
    return path


# Robots.


@dataclass(frozen=True)
class RunTask:
    """A recorded run to be quantified, with all it was learned and recorded with: that decides the result."""

    path: str
    seed: int
    behaviours: tuple[Wanted, ...]
    samples: int
    transient: int
    freeze: tuple[float, ...]
    robot: str
    body: dict[str, Any]
    controller: str
    rule: dict[str, Any]
    minutes: float
    common: tuple[tuple[float, float], ...]
    relative: tuple[float, float]
    predictive: dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What to quantify of one behaviour of a run."""

    name: str
    columns: tuple[Column, ...]
    minutes: float
    eta: float


@dataclass(frozen=True)
class Column:
    """A column of the paper's table: one behaviour on one range of scales."""

    name: str
    recipe: Recipe
    main: bool


def robot(part: dict[str, Any], folder: Path, scale: Scale, feedback: Feedback = SILENT) -> Rebuilt:
    """Learn, record and quantify all behaviours of a robot's table, over all seeds.

    Its page shows the run files of the first seed.
    """
    configs = {
        (run["name"], seed): Learn(
            **chosen(Learn, run),
            seed=seed,
            out=folder / f"{run['name']}-{seed}.h5",
            engine=part.get("engine"),
        )
        for run in part["run"]
        for seed in part["seeds"]
    }
    learn_all(list(configs.values()), scale.jobs, feedback)
    _record(part, [config.path for config in configs.values()], scale.jobs, feedback)
    tasks = [_task(part, name, config) for (name, _), config in configs.items()]
    # The recordings are on this machine, so this is where they are quantified.
    where: dict[str, Any] = {"store": folder / "store", "scale": Scale(jobs=scale.jobs)}
    found = sweep(quantify_run, tasks, title="quantify", feedback=feedback, **where)
    measurements: list[dict[str, Any]] = [
        {"behaviour": wanted.name, "seed": task.seed, "run": Path(task.path).name}
        | with_origin(done.get(wanted.name, {"reason": done.get("reason", "")}), done)
        for task, done in zip(tasks, found, strict=True)
        for wanted in task.behaviours
    ]
    columns = {column["name"]: column for column in part["column"]}
    behaviours = {name: column["behaviour"] for name, column in columns.items()}
    values = {
        name: [one.get("columns", {}).get(name, {}) for one in measurements if one["behaviour"] == behaviour]
        for name, behaviour in behaviours.items()
    }
    return Rebuilt(
        compare(columns, QUANTITIES, values),
        measurements,
        [config.path for (_, seed), config in configs.items() if seed == part["seeds"][0]],
        [try_finding(one, _views(part, measurements, one["quantity"])) for one in part["finding"]],
    )


def _record(part: dict[str, Any], paths: list[Path], jobs: int, feedback: Feedback) -> None:
    wanted: dict[tuple[float, ...], list[Path]] = {}
    for path in paths:
        with open_run_file(path) as run:
            asked = {b["minutes"] for b in part["behaviour"] if path.stem.rpartition("-")[0] == b["run"]}
            there = tuple(sorted(frozen.minutes for frozen in run.frozen.values() if frozen.minutes in asked))
        if there:  # a run that broke down early has none
            wanted.setdefault(there, []).append(path)
    for freeze, runs in wanted.items():
        record(Record(tuple(runs), part["samples"], freeze, part["transient"], jobs=jobs), feedback)


def _task(part: dict[str, Any], run: str, config: Learn) -> RunTask:
    def columns(behaviour: str) -> tuple[Column, ...]:
        wanted = [column for column in part["column"] if column["behaviour"] == behaviour]
        return tuple(Column(c["name"], recipe(c), c.get("main", False)) for c in wanted)

    mine = [b for b in part["behaviour"] if b["run"] == run]
    behaviours = tuple(Wanted(b["name"], columns(b["name"]), b["minutes"], b["eta"]) for b in mine)
    config = resolve(config)
    settings = chosen(RunTask, part, vars(config)) | {"common": tuple(map(tuple, part["common"]))}
    return RunTask(**settings | {"path": str(config.path), "behaviours": behaviours})


@task_named("experiments.reproduce_robots:measure")
def quantify_run(task: RunTask) -> dict[str, Any]:
    """Quantify all behaviours of a run: by name the columns of the table, other scales, std and PI.

    What cannot be quantified has a reason in its place.
    """
    path, sensor = Path(task.path), find_body(task.robot).sensor
    found: dict[str, Any] = {}
    for wanted in task.behaviours:
        name = label(wanted.minutes)
        with open_run_file(path) as run:
            recording = run.behaviours.get(name)
            if recording is None or recording.reason:
                reason = recording.reason if recording else run.learning.reason or "not recorded"
                found[wanted.name] = {"reason": reason}
                continue
            x = recording.sensors[:, sensor].astype(float)
        results = quantify(Quantify(str(path), freeze=(wanted.minutes,)))
        if name in results:
            found[wanted.name] = _numbers(task, wanted, x, results[name]) | {"reason": ""}
        else:
            found[wanted.name] = {"reason": str(results.failures[name])}
    return found


def _numbers(task: RunTask, wanted: Wanted, x: Floats, result: q.Quantification) -> dict[str, Any]:
    PI = _predictive(task, wanted, x)
    std = float(x.std())
    columns = {
        c.name: dict.fromkeys(QUANTITIES) | _try(c.recipe.evaluate, result.sums) | {"PI": PI}
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
    """Predictive information as the paper quotes it; None where there are too few samples."""
    settings = task.predictive | {"tau": find_body(task.robot).tau, "eta": wanted.eta, "rng": task.seed}
    x = x[: settings.pop("samples")]
    try:
        return predictive_information(x, half=False, quoted=0, **settings).quoted.value
    except q.QuantifyError:
        return None


def _over(result: q.Quantification, lo: float, hi: float) -> dict[str, Any]:
    mean = result.decomposition.over(lo, hi)
    return {name: getattr(mean, name) for name in ("D", "E_core", "kappa", "drift")}


def _try(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Its values, or the reason why there are none (scales that the data do not reach)."""
    try:
        return function(*arguments)
    except q.QuantifyError as error:
        return {"reason": str(error)}


def _views(part: dict[str, Any], measurements: list[dict[str, Any]], quantity: str) -> dict[str, Values]:
    """A quantity on every choice of scales."""
    eta = " or ".join(f"{e:g}" for e in sorted({b["eta"] for b in part["behaviour"]}))
    found: dict[str, dict[str, dict[int, float]]] = {}
    for one in measurements:
        if quantity == "PI":
            scales: dict[str, dict[str, Any]] = {f"the smallest scale (eta {eta})": one}
        else:
            scales = {PAPER: next((one["columns"][name] for name in one.get("main", [])), {})}
            scales |= one.get("views", {}) if quantity in VIEWED else {}
        for name, values in scales.items():
            view, value = found.setdefault(name, {}), values.get(quantity)
            if value is not None and np.isfinite(value):
                view.setdefault(one["behaviour"], {})[one["seed"]] = float(value)
    return {**found}
