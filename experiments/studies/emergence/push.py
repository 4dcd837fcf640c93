"""A push from outside: does a frozen robot change from one mode into another?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

import controllers
from experiments.console import console, plain_table
from experiments.errors import ExperimentError
from experiments.pipeline.loop import make_body
from experiments.runfiles import run_file as log
from experiments.studies.emergence.observing import describe, watch
from experiments.studies.emergence.trials import (
    COLUMNS,
    Emergence,
    Trial,
    learn_trial,
    make_trial,
    run,
    save,
    seeds,
)
from experiments.sweeps.store import task_named
from experiments.sweeps.sweep import workspace

DIRECTIONS = {"left": 1.0, "right": -1.0, "none": 0.0}
"""Across the body, in units of the impulse; without a push as the control."""


@dataclass(frozen=True)
class Pushed:
    """One seed, whose frozen behaviours are pushed."""

    trial: Trial
    impulse: float


def push(config: Emergence) -> dict[str, Any]:
    """Push every frozen behaviour of every seed to either side and print the modes before and after."""
    if config.robot != "snake":
        raise ExperimentError(
            f"--push pushes a long body at its middle, across its length; {config.robot!r} is not: use snake"
        )
    if not 0 < config.impulse < math.inf:
        raise ExperimentError(f"--impulse is {config.impulse:g}; it must be greater than 0 and finite")
    tasks = [Pushed(make_trial(config, seed), config.impulse) for seed in seeds(config)]
    found = run(push_all, tasks, config, f"push the {config.robot}")
    rows = [
        row
        for task, one in zip(tasks, found, strict=True)
        for row in one.get("pushes", [{"seed": task.trial.seed} | one])
    ]
    lines = _verdict(rows, config)
    document = save(config, "push", {"rows": rows, "verdict": lines})
    console().print(_table(config.robot, rows))
    print("\n".join(lines))
    return document


@task_named("experiments.push:push_all")
def push_all(config: Pushed) -> dict[str, Any]:
    """Learn with one seed; look at each frozen behaviour, push it, let it settle, and look again.

    Returns
    -------
    dict
        `pushes`: a row per freeze time and direction with `seed`, `frozen`, `push`, and what the robot's
        description tells `before` and `after`, or a `reason`.
    """
    trial = config.trial
    with workspace() as folder:
        path = learn_trial(trial, folder)
        with log.open_run(path) as learned:
            frozen = dict(learned.frozen)
            if not frozen:
                raise ExperimentError(learned.learning.reason or "nothing was frozen")
    rows = []
    for name, state in frozen.items():
        for direction, sign in DIRECTIONS.items():
            row = {"seed": trial.seed, "frozen": name, "push": direction}
            try:
                rows.append(row | _push_one(trial, state, sign * config.impulse))
            except ExperimentError as error:
                rows.append(row | {"reason": str(error)})
    return {"pushes": rows}


def _push_one(trial: Trial, state: log.FrozenState, impulse: float) -> dict[str, Any]:
    controller = controllers.find(state.kind).from_state(state.controller)
    body = make_body(trial.robot, trial.body)
    try:
        s = body.restore(state.body)
        if trial.transient:
            _, s = watch(body, controller, s, trial.transient)
        before, s = watch(body, controller, s, trial.samples)
        seen = {key: values[-1] for key, values in before.measures.items()}
        ahead = np.array([seen["x"] - seen["cx"], seen["y"] - seen["cy"]])
        ahead /= max(np.hypot(*ahead), 1e-9)
        middle = len(body.masses()) // 2 - 1
        body.push([-ahead[1] * impulse, ahead[0] * impulse, 0.0], middle)
        if trial.transient:
            _, s = watch(body, controller, s, trial.transient)
        after, _ = watch(body, controller, s, trial.samples)
    finally:
        body.close()
    return {"before": describe(trial.robot, before), "after": describe(trial.robot, after)}


def _table(robot: str, rows: list[dict[str, Any]]) -> Table:
    key = next(iter(COLUMNS[robot]))
    heading, form = COLUMNS[robot][key]
    table = plain_table("seed", "frozen", "push", "before", heading, "after", heading)
    for row in rows:
        words = [str(row.get(name, "")) for name in ("seed", "frozen", "push")]
        if "before" in row:
            for when in ("before", "after"):
                words += [row[when]["mode"], format(row[when][key], form)]
        else:
            words.append(row.get("reason", ""))
        table.add_row(*words)
    return table


def _verdict(rows: list[dict[str, Any]], config: Emergence) -> list[str]:
    lines = []
    for words, pushed in ((f"a push of {config.impulse:g} N s", True), ("without a push", False)):
        chosen = [row for row in rows if "before" in row and (row["push"] != "none") == pushed]
        changes = Counter(
            f"{row['before']['mode']} -> {row['after']['mode']}"
            for row in chosen
            if row["before"]["mode"] != row["after"]["mode"]
        )
        told = ", ".join(f"{name} ({n})" for name, n in changes.most_common()) or "none"
        lines.append(f"{words}: the mode changes in {changes.total()} of {len(chosen)} cases: {told}")
    return lines
