"""Complexity against learning time: freeze at many moments, over several seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experiments.errors import ExperimentError
from experiments.feedback import SILENT, Feedback
from experiments.options.pipeline import file_name
from experiments.options.studies import LearningCurve
from experiments.pipeline.learn import Learn, resolve, sources_of
from experiments.reports.tables import Table
from experiments.runfiles.run_file import label
from experiments.settings import lone_seed_words, with_seeds
from experiments.studies.scoring import (
    Row,
    Scoring,
    over,
    score,
    sensors_of,
    try_first_steps,
    value,
    yardstick,
)
from experiments.studies.study import Study, document_of
from experiments.sweeps.sweep import sweep
from quantify import plots
from quantify.aliases import Figure
from quantify.plain import to_plain
from quantify.statistics import interval, number

CURVES = ("common", "relative", "auto")
QUANTITIES = ("E_state", "E_mem", "D", "std", "PI")


class Curve(Study):
    """Core complexity over learning time.

    The document has settings, a row per behaviour, and as `curve` the medians over seeds at every time.
    """

    _title = "Core complexity of the {robot} under {controller} over learning time"

    def tables(self) -> list[Table]:
        """The medians at every time."""
        curve = self.document["curve"]
        sure = _sure([point["common"] for point in curve if point["common"] is not None])
        heads = {
            "min": "learning time",
            "n": "how many runs have a value on common scales",
            "common": "E_core on scales common to all",
            "rel.": "E_core on scales relative to std",
            "auto": "E_core on scales on which each behaviour is deterministic",
            **{"state": "E_state on common scales", "mem.": "E_mem on common scales"},
            **{"D": "dimension on common scales", "std": "amplitude", "PI": "predictive information"},
            "broke": "runs that broke down or cannot be quantified",
            "range": "runs with a deterministic range of scales",
        }
        below = f"; below common the interval that holds its median ({sure})" if sure else ""
        caption = f"Medians in nats, over the runs that have a value{below}."
        caption += sensors_of(self.document["rows"])
        return [Table(heads, [_cells(point) for point in curve], self.title, caption)]

    def sentences(self) -> list[str]:
        """Which runs have no numbers, and why."""
        failed = [row for row in self.document["rows"] if row["reason"]]
        return [f"seed {row['seed']} {label(row['minutes'])}: {row['reason']}" for row in failed]

    def figure(self) -> Figure:
        """Core complexity over learning time on three kinds of scales, and amplitude and dimension below."""
        chosen, curves = self.document["settings"], {}
        for name in (*CURVES, "std", "D"):
            scales, quantity = (name, "E_core") if name in CURVES else ("common", name)
            runs = [(row["minutes"], value(row, scales, quantity)) for row in self.document["rows"]]
            single = [(minutes, found) for minutes, found in runs if found is not None]
            found = [(p["minutes"], p[name]) for p in self.document["curve"] if p[name] is not None]
            curves[name] = (found, single)
        labels = {
            "common": "on scales {:g}-{:g}".format(*chosen["common"]),
            "relative": "on {:g}-{:g} std".format(*chosen["relative"]),
            "auto": "on scales on which each behaviour is deterministic",
        }
        who = f"{chosen['robot']} under {chosen['controller']}, {chosen['samples']:,} samples each"
        return plots.medians(curves, labels, f"{who}\n{runs_words(self.document)}")


def learning_curve(config: LearningCurve, feedback: Feedback = SILENT) -> Curve:
    """Run and save the curve; what is finished is never run again.

    One task per seed and freeze time, which learns up to there: that repeats the learning of earlier tasks
    (bit for bit, with checkpoints at the same moments), costs less than the recording, and lets all tasks run
    at the same time.
    """
    if not 0 < config.minutes < math.inf:
        raise ExperimentError(f"--minutes is {config.minutes:g}; it must be greater than 0 and finite")
    config = with_seeds(config)
    feedback.say_if(lone_seed_words(config.seeds))
    who = (config.robot, config.controller)
    changes: dict[str, Any] = {"engine": config.engine, "body": config.body, "rule": config.rule}
    changes["preset"] = config.preset
    resolved = resolve(Learn(*who, config.minutes, (), **changes))
    body, rule, wanted = dict(resolved.body), dict(resolved.rule), yardstick(config, config.robot)
    first = Scoring(*who, 1, (), body, rule, wanted, sources_of(*who))
    moments = times(config, first.control_step)
    parts = [moments[: i + 1] for i in range(len(moments))]
    tasks = [replace(first, seed=seed, freezes=part) for seed in config.seeds for part in parts]
    try_first_steps(first)
    options: dict[str, Any] = {"scale": config, "keep": config.keep, "feedback": feedback}
    results = sweep(score, tasks, store=config.out / "store", title="learning curve", **options)
    pairs = zip(tasks, results, strict=True)
    rows = [{"seed": task.seed, "minutes": task.freezes[-1]} | result for task, result in pairs]
    curve = [point(minutes, [row for row in rows if row["minutes"] == minutes]) for minutes in moments]
    content = {"curve": curve, "rows": rows}
    document = document_of("learning-curve", config, content, body=resolved.body, rule=resolved.rule)
    stem = config.out / f"{file_name(*who, config.engine, config.preset)}-learning-curve"
    return Curve(document).save(stem, "json", "png", "pdf")


def times(config: LearningCurve, step: float) -> tuple[float, ...]:
    """every, 2 every, ... and the end of learning; `step` is the body's control step in minutes."""
    # Nine digits: 3 x .1 is meant to be .3; a name is made of it.
    if not round(step, 9) <= config.every <= config.minutes:
        raise ExperimentError(
            f"--every is {config.every:g}; it must be at least a control step of the {config.robot} "
            f"({60 * step:g} s) and at most --minutes {config.minutes:g}"
        )
    count = int(config.minutes / config.every + 1e-9)
    found = tuple(round((i + 1) * config.every, 9) for i in range(count))
    return found if config.minutes - found[-1] < step else (*found, config.minutes)


def point(minutes: float, rows: list[Row]) -> dict[str, Any]:
    """Medians over the `n` seeds that have a value, with their intervals, and how many have none.

    Unlike in a comparison, where they rank last, runs without a value are left out of the medians.
    """
    finished = [row for row in rows if not row.get("unfinished")]
    with_numbers = [row for row in rows if not row["reason"]]
    return to_plain(
        {
            "minutes": minutes,
            **{name: over(rows, name, "E_core") for name in CURVES},
            **{name: over(rows, "common", name) for name in QUANTITIES},
            "unfinished": len(rows) - len(finished),
            "broke_down": len(finished) - len(with_numbers),
            "without_value": sum(value(row, "common", "E_core") is None for row in rows),
            "without_range": sum(not row["auto"]["usable"] for row in with_numbers),
            "runs": len(rows),
        }
    )


def _cells(point: dict[str, Any]) -> list[str]:
    runs, common = point["runs"], point["common"]
    return [
        f"{point['minutes']:g}",
        f"{runs - point['without_value']}/{runs}",
        "-" if common is None else interval(common).replace(" ", "\n", 1),
        *(number(point[name]) for name in (*CURVES[1:], *QUANTITIES)),
        f"{point['broke_down']}/{runs}",
        f"{runs - point['unfinished'] - point['broke_down'] - point['without_range']}/{runs}",
    ]


def runs_words(document: dict[str, Any]) -> str:
    """How many runs are behind the points of the curves, and what their bands are."""
    found = [point[name] for point in document["curve"] for name in CURVES if point[name] is not None]
    if not found:
        return "no run has a value"
    counted, seeds = _span([m["n"] for m in found], "d"), len(document["settings"]["seeds"])
    who = f"medians of the runs that have a value, {counted} of {seeds} seeds"
    return f"{who};\nbands: their intervals ({sure})" if (sure := _sure(found)) else who


def _sure(medians: Sequence[dict[str, Any]]) -> str:
    """How surely intervals hold medians; empty if none does: those of one run are no intervals."""
    coverage = [m["coverage"] for m in medians if m["coverage"] > 0]
    return _span(coverage, ".1%") if coverage else ""


def _span(values: Sequence[float], style: str) -> str:
    low, high = format(min(values), style), format(max(values), style)
    return low if low == high else f"{low} to {high}"
