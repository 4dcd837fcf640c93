"""The paper's equations, simulated and measured again: Lorenz with and without noise, and AR(2)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import quantify as q
from experiments.pipeline.quantify import Quantify, quantify, write_json
from experiments.runfiles import run_file as log
from experiments.settings import outcome
from experiments.studies.reproduction.recipes import (
    Recipe,
    crossover,
    decomposition_settings,
    evaluate,
    recipe,
)
from experiments.studies.reproduction.table import Row, rows
from experiments.sweeps.store import task_named
from experiments.sweeps.sweep import Scale, sweep
from quantify.ksg import predictive_information
from quantify.systems import AutoRegressive, Lorenz

Floats = NDArray[np.float64]
# The curves of a figure do not need a million samples.
TO_LOOK_AT = 200_000
LORENZ = ("D", "const", "eps*", "E_state", "E_mem", "E_core", "PI")


@dataclass(frozen=True)
class LorenzTask:
    """One series of the Lorenz system, measured as one column of the paper's table."""

    column: str
    noise: float
    samples: int
    seed: int
    step: float
    sampling: float
    tau: int
    m_max: int
    grid_points: int
    grid_smallest: float
    recipe: Recipe
    crossover: dict[str, Any]
    predictive: dict[str, Any]

    def series(self) -> Floats:
        """The observable x."""
        system = Lorenz(noise=self.noise, step=self.step, sampling=self.sampling)
        return np.ascontiguousarray(system.sample(self.samples, self.seed)[:, 0])


@task_named("experiments.reproduce_systems:lorenz_task")
def lorenz_task(task: LorenzTask) -> dict[str, Any]:
    """Simulate and measure: the numbers of the table, and for the first seed the whole result."""
    x = task.series()
    eps = np.geomspace(np.ptp(x), task.grid_smallest, task.grid_points)
    sums = q.correlation_sums(x, tau=task.tau, m_max=task.m_max, eps=eps, rng=task.seed)
    r = task.recipe
    values = evaluate(sums, r)
    values["eps*"] = crossover(sums, **task.crossover)
    done: dict[str, Any] = {"column": task.column, "seed": task.seed, "values": values}
    if not task.predictive:
        return done
    PI = predictive_information(x, tau=task.tau, half=False, rng=task.seed, **task.predictive)
    values["PI"] = float(PI.PI.max())
    # The curves of the paper's figure, from fewer points: they are looked at, not quoted.
    eta = np.geomspace(task.predictive["eta"], x.std(), 12).tolist()
    scan = predictive_information(
        x, tau=task.tau, m=range(1, 7), k=task.predictive["k"], eta=eta, points=10_000, rng=task.seed
    )
    result = q.quantify_sums(
        sums,
        eps_range=r.range,
        rng=task.seed,
        predictive_information=scan,
        **decomposition_settings(r),
    )
    return done | {"theiler": sums.theiler, "result": result.to_dict()}


def lorenz(part: dict[str, Any], folder: Path, scale: Scale, quiet: bool) -> dict[str, Any]:
    """Simulate and measure all columns of the Lorenz table.

    Returns
    -------
    dict
        `rows` (Row), `measurements` (one dict per column and seed), and `files` for the report page.
    """
    shared = {key: part[key] for key in ("samples", "step", "sampling", "tau", "m_max")}
    shared |= {key: part[key] for key in ("grid_points", "grid_smallest", "crossover")}
    columns = {column["name"]: column for column in part["column"]}
    tasks = [
        LorenzTask(
            column=name,
            noise=column["noise"],
            seed=seed,
            recipe=recipe(column),
            # A scan of nearest neighbours is slow and scatters little between seeds: once is enough.
            predictive=part["predictive"] if seed == part["seeds"][0] else {},
            **shared,
        )
        for name, column in columns.items()
        for seed in part["seeds"]
    ]
    found = sweep(lorenz_task, tasks, store=folder / "store", title="lorenz", quiet=quiet, **asdict(scale))
    files = [_save(folder, t, done) for t, done in zip(tasks, found, strict=True) if "result" in done]
    return {
        "rows": _table(columns, [t.column for t in tasks], found, LORENZ),
        "measurements": [{k: v for k, v in done.items() if k != "result"} for done in found],
        "files": files,
    }


def _table(
    columns: dict[str, dict[str, Any]],
    which: list[str],
    found: list[dict[str, Any]],
    quantities: tuple[str, ...],
    ordering: bool = True,
) -> list[Row]:
    return rows(
        list(columns),
        quantities,
        {name: column["paper"] for name, column in columns.items()},
        {name: column["tolerance"] for name, column in columns.items()},
        {
            name: [d.get("values", {}) for n, d in zip(which, found, strict=True) if n == name]
            for name in columns
        },
        ordering,
    )


def _save(folder: Path, task: LorenzTask, done: dict[str, Any]) -> Path:
    """Write the series and its result, for the page and for whoever wants to look closer."""
    series = folder / f"lorenz {task.column} {task.seed}.npy".replace(" ", "-")
    np.save(series, task.series())
    settings = outcome(
        Quantify(
            str(series),
            tau=task.tau,
            m_max=task.m_max,
            theiler=done["theiler"],
            eps_range=task.recipe.range,
            s_min=task.recipe.s_min,
        )
    )
    document = {
        "source": series.name,
        "settings": {key: value for key, value in settings.items() if key not in ("source", "freeze")},
        "versions": log.versions(),
        "result": done["result"],
    }
    return write_json(series, "", document)


@dataclass(frozen=True)
class AR2Task:
    """One series of the AR(2) process, measured at one delay."""

    a: tuple[float, ...]
    tau: int
    samples: int
    seed: int
    m_max: int
    theiler: int
    E: tuple[int, ...]
    PI: tuple[int, ...]
    predictive: dict[str, Any]


@task_named("experiments.reproduce_systems:ar2_task")
def ar2_task(task: AR2Task) -> dict[str, Any]:
    """Simulate and estimate: E_m and PI_m from correlation sums as eps -> 0, PI_m from nearest neighbours."""
    x = AutoRegressive(task.a).sample(task.samples, task.seed)
    sums = q.correlation_sums(x, tau=task.tau, m_max=task.m_max, theiler=task.theiler, rng=task.seed)
    values = {f"E_{m}": _at_zero(sums, "E", m) for m in task.E}
    values |= {f"PI_{m}": _at_zero(sums, "PI", m) for m in task.PI}
    if task.predictive:
        found = predictive_information(
            x, tau=task.tau, coordinates="canonical", half=False, rng=task.seed, **task.predictive
        )
        values |= {f"PI_{m} (KSG)": float(v) for m, v in zip(found.m, found.PI[0], strict=True)}
    return {"column": f"delay {task.tau}", "seed": task.seed, "values": values}


def _at_zero(sums: q.CorrelationSums, curve: Literal["E", "PI"], m: int) -> float | None:
    """Limit eps -> 0, or None where so few samples do not reach it."""
    try:
        return q.small_scale_limit(sums, curve, m).value
    except ValueError:
        return None


def ar2(part: dict[str, Any], folder: Path, scale: Scale, quiet: bool) -> dict[str, Any]:
    """Simulate and measure the AR(2) process at all delays; the reference is exact (see `lorenz`)."""
    process = AutoRegressive(tuple(part["a"]))
    tasks = [
        AR2Task(
            a=process.a,
            tau=tau,
            samples=part["samples"],
            seed=seed,
            m_max=part["m_max"],
            theiler=part["theiler"],
            E=tuple(part["E"]),
            PI=tuple(part["PI"]),
            predictive=part["predictive"],
        )
        for tau in part["delays"]
        for seed in part["seeds"]
    ]
    found = sweep(ar2_task, tasks, store=folder / "store", title="ar2", quiet=quiet, **asdict(scale))
    columns: dict[str, dict[str, Any]] = {}
    for tau in part["delays"]:
        exact = {f"E_{m}": process.E(m, tau=tau) for m in part["E"]}
        exact |= {f"PI_{m}": process.PI(m, tau=tau) for m in part["PI"]}
        exact |= {f"PI_{m} (KSG)": process.PI(m, tau=tau) for m in part["predictive"]["m"]}
        columns[f"delay {tau}"] = {"paper": exact, "tolerance": dict.fromkeys(exact, part["tolerance"])}
    quantities = tuple(columns[f"delay {part['delays'][0]}"]["paper"])
    x = process.sample(min(part["samples"], TO_LOOK_AT), part["seeds"][0])
    return {
        "rows": _table(columns, [f"delay {t.tau}" for t in tasks], found, quantities, ordering=False),
        "measurements": found,
        "files": [_curves(folder, x, tau, part) for tau in part["delays"]],
    }


def _curves(folder: Path, x: Floats, tau: int, part: dict[str, Any]) -> Path:
    """Measure what the paper's figure shows of the process at one delay: entropies over the scale."""
    series = folder / f"ar2-delay-{tau}.npy"
    np.save(series, x)
    settings = {"tau": tau, "m_max": part["curves_m_max"], "theiler": part["theiler"], "s_min": part["s_min"]}
    quantify(Quantify(str(series), quiet=True, **settings), show=False)
    return series.with_suffix(".complexity.json")
