"""Complexity against learning time: freeze at many moments, over several seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from experiments.console import console, plain_table, say
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, resolve
from experiments.runfiles import run_file as log
from experiments.settings import Settings, command, outcome
from experiments.studies.comparison.compare import measure_of
from experiments.studies.comparison.ranking import interval, number, over, value
from experiments.studies.scoring import Behaviour, behaviour, rehearse
from experiments.sweeps.store import write_text
from experiments.sweeps.sweep import Backend, places, sweep
from quantify import plots
from quantify.plain import to_plain

CURVES = ("common", "relative", "auto")


@dataclass(frozen=True)
class LearningCurve:
    """Freeze a learning robot at many times, and plot complexity against learning time."""

    robot: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ROBOT")]
    """Body to learn with, such as hexapod or snake."""
    controller: str = "ulr"
    """Learning rule by name, or your own as my_module:MyRule."""
    every: float = 0.5
    """Minutes of learning between two freezes; the end of learning is one in any case."""
    minutes: float = 8.0
    """Length of learning in simulated minutes."""
    seeds: int = 5
    """Number of seeds: 1, 2, ..."""
    samples: int = 50_000
    """Samples to record per behaviour."""
    transient: int = 5_000
    """Samples to discard before recording."""
    common: tuple[float, float] = (0.1, 0.4)
    """Scales common to all behaviours, in units of the sensor."""
    relative: tuple[float, float] = (0.2, 0.8)
    """Scales in units of each behaviour's standard deviation."""
    surrogates: bool = False
    """Score an IAAFT surrogate of every recording as well."""
    out: Path = Path("runs/learning-curve")
    """Folder for results; figure and numbers of an earlier curve with this robot and rule are replaced."""
    keep: bool = False
    """Keep the run files."""
    jobs: int = 0
    """Parallel processes on this machine; 0 for one per core."""
    backend: Backend = "local"
    """local: processes on this machine. dask: the workers of a Dask cluster."""
    scheduler: str | None = None
    """Address of the Dask scheduler, such as tcp://10.0.0.1:8786."""
    body: Settings = field(default_factory=dict)
    """Settings of the body that differ from its defaults."""
    rule: Settings = field(default_factory=dict)
    """Settings of the learning rule that differ from its defaults."""
    quiet: bool = False
    """Say nothing while working."""


def learning_curve(config: LearningCurve) -> dict[str, Any]:
    """Run, print and save the curve; what is finished is never run again.

    One task per seed and freeze time, which learns up to there: that repeats the learning of earlier tasks
    (bit by bit, with checkpoints at the same moments), costs less than the recording, and lets all tasks run
    at the same time.

    Returns
    -------
    dict
        What is saved as JSON: settings, a row per behaviour, and the medians over seeds at every time.
    """
    if not 0 < config.minutes < math.inf:
        raise ExperimentError(f"--minutes is {config.minutes:g}; it must be greater than 0 and finite")
    resolved = resolve(
        Learn(config.robot, config.controller, config.minutes, (), body=config.body, rule=config.rule)
    )
    times = _times(config, resolved.body["control_step"] / 60)
    measure = measure_of(config, config.robot)
    tasks = [
        Behaviour(
            *(config.robot, config.controller, seed, times[: i + 1], resolved.body, resolved.rule, measure)
        )
        for seed in range(1, config.seeds + 1)
        for i in range(len(times))
    ]
    rehearse(tasks[0])
    results = sweep(
        behaviour,
        tasks,
        store=config.out / "store",
        title="learning curve",
        keep=config.keep,
        **places(config),
    )
    rows = [
        {"seed": task.seed, "minutes": task.freezes[-1]} | result
        for task, result in zip(tasks, results, strict=True)
    ]
    document = {
        "command": command("learning-curve", config),
        "settings": outcome(config) | {"body": resolved.body, "rule": resolved.rule},
        "versions": log.versions(),
        "curve": [_point(minutes, [row for row in rows if row["minutes"] == minutes]) for minutes in times],
        "rows": rows,
    }
    stem = config.out / f"{config.robot}-{config.controller.replace(':', '.')}-learning-curve"
    # Not with_suffix, which would cut the name at the dot of my_rules.Hebb.
    write_text(stem.with_name(f"{stem.name}.json"), json.dumps(document, indent=1, allow_nan=False) + "\n")
    for suffix in (".png", ".pdf"):
        draw(document, stem.with_name(f"{stem.name}{suffix}"))
    console().print(table(document))
    for row in rows:
        if row["reason"]:
            say(f"seed {row['seed']} {log.label(row['minutes'])}: {row['reason']}", config.quiet)
    print(f"written: {stem}.json, .png, .pdf")
    return document


def _times(config: LearningCurve, step: float) -> tuple[float, ...]:
    """every, 2 every, ... and the end of learning; `step` is the body's control step in minutes."""
    # Nine digits: 3 x .1 is meant to be .3; a name is made of it.
    if not round(step, 9) <= config.every <= config.minutes:
        raise ExperimentError(
            f"--every is {config.every:g}; it must be at least a control step of the {config.robot} "
            f"({60 * step:g} s) and at most --minutes {config.minutes:g}"
        )
    count = int(config.minutes / config.every + 1e-9)
    times = tuple(round((i + 1) * config.every, 9) for i in range(count))
    return times if config.minutes - times[-1] < step else (*times, config.minutes)


def _point(minutes: float, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the `n` seeds that have a value, with their intervals, and how many have none.

    Unlike in a comparison, where they rank last, runs without a value are left out of the medians.
    """
    finished = [row for row in rows if not row.get("unfinished")]
    measured = [row for row in rows if not row["reason"]]
    point: dict[str, Any] = to_plain(
        {
            "minutes": minutes,
            **{name: over(value(row, name, "E_core") for row in rows) for name in CURVES},
            **{name: over(value(row, "common", name) for row in rows) for name in ("E_state", "E_mem", "D")},
            "std": over(row.get("std") for row in rows),
            "PI": over(row.get("PI") for row in rows),
            "unfinished": len(rows) - len(finished),
            "broke_down": len(finished) - len(measured),
            "without_value": sum(value(row, "common", "E_core") is None for row in rows),
            "without_range": sum(not row["auto"]["usable"] for row in measured),
            "runs": len(rows),
        }
    )
    return point


def table(document: dict[str, Any]) -> Table:
    """The curve as numbers."""
    settings = document["settings"]
    coverage = [point["common"]["coverage"] for point in document["curve"] if point["common"] is not None]
    surely = f" with {_span(coverage, '.1%')}" if coverage else ""
    result = plain_table(
        *("min", "n", "common", "rel.", "auto", "state", "mem.", "D", "std", "PI", "broke", "range"),
        title=f"Core complexity of the {settings['robot']} under {settings['controller']} over learning time",
        caption="Medians in nats, over the runs that have a value; n: how many have one on common scales. "
        "common, rel., auto: E_core on scales common to all, relative to std, and chosen for each behaviour; "
        f"below common the interval that holds its median{surely}. state, mem., D on common "
        "scales. broke: runs that broke down or cannot be quantified; range: runs with a deterministic range "
        "of scales.",
    )
    for point in document["curve"]:
        names = (*CURVES[1:], "E_state", "E_mem", "D", "std", "PI")
        runs, common = point["runs"], point["common"]
        result.add_row(
            f"{point['minutes']:g}",
            f"{runs - point['without_value']}/{runs}",
            "-" if common is None else interval(common).replace(" ", "\n", 1),
            *(number(point[name]) for name in names),
            f"{point['broke_down']}/{runs}",
            f"{runs - point['unfinished'] - point['broke_down'] - point['without_range']}/{runs}",
        )
    return result


def draw(document: dict[str, Any], path: Path) -> None:
    """Core complexity over learning time on three kinds of scales, and amplitude and dimension below."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings = document["settings"]
    low, high = settings["common"]
    small, large = settings["relative"]
    curves = (
        ("common", f"on scales {low:g}-{high:g}", "black", "^-"),
        ("relative", f"on {small:g}-{large:g} std", plots.MEMORY, "o--"),
        ("auto", "on scales chosen for each behaviour", plots.STOCHASTIC, "s:"),
    )
    with rc_context(plots.STYLE):
        figure = Figure(figsize=(6.5, 5.6), layout="constrained")
        top, amplitude, dimension = figure.subplots(3, 1, sharex=True, height_ratios=[2.6, 1, 1])
        for name, words, colour, style in curves:
            _draw(top, document, name, colour, style, words)
        _draw(amplitude, document, "std", plots.STATE, "o-", "")
        _draw(dimension, document, "D", plots.SECTIONS[1], "o-", "")
        top.set(ylabel="core complexity [nats]")
        top.set_title(
            f"{settings['robot']} under {settings['controller']}, {settings['samples']:,} samples each\n"
            f"{_told(document)}"
        )
        if top.get_legend_handles_labels()[1]:
            top.legend()
        amplitude.set(ylabel="amplitude (std)")
        dimension.set(ylabel="dimension $D$", xlabel="learning time [min]")
        for ax in (top, amplitude, dimension):
            low, high = min(0.0, ax.get_ylim()[0]), ax.get_ylim()[1]
            # Room for the markers of the largest values: seen from 0, the margin around all of them is small.
            ax.set_ylim(low, high + 0.06 * (high - low))
        figure.savefig(path)


def _told(document: dict[str, Any]) -> str:
    """How many runs are behind the points of the curves, and what their bands are."""
    found = [point[name] for point in document["curve"] for name in CURVES if point[name] is not None]
    if not found:
        return "no run has a value"
    n, coverage = ([m[key] for m in found] for key in ("n", "coverage"))
    return (
        f"medians of the runs that have a value, {_span(n, 'd')} of {document['settings']['seeds']} seeds;\n"
        f"bands hold them with {_span(coverage, '.1%')}"
    )


def _span(values: Sequence[float], style: str) -> str:
    low, high = format(min(values), style), format(max(values), style)
    return low if low == high else f"{low} to {high}"


def _draw(ax: Any, document: dict[str, Any], name: str, colour: str, style: str, words: str) -> None:
    for row in document["rows"]:
        scales, quantity = (name, "E_core") if name in CURVES else ("common", name)
        found = row.get("std") if name == "std" else value(row, scales, quantity)
        if found is not None:
            ax.plot(row["minutes"], found, style[0], ms=2.5, mfc="none", mec=colour, mew=0.5, alpha=0.5)
    points = [(p["minutes"], p[name]) for p in document["curve"] if p[name] is not None]
    if not points:
        return
    minutes = [m for m, _ in points]
    ax.fill_between(
        minutes, [p["lo"] for _, p in points], [p["hi"] for _, p in points], color=colour, alpha=0.12, lw=0
    )
    ax.plot(minutes, [p["value"] for _, p in points], style, color=colour, ms=4, lw=1.4, label=words)
