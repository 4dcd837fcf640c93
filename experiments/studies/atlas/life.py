"""One setting from nothing to numbers: it learns, is frozen at several times, and is looked at each time."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from experiments.pipeline.record import Record, record
from experiments.runfiles.library import copy_frozen
from experiments.runfiles.run_file import label, open_run_file
from experiments.studies.emergence.emergence import push_frozen
from experiments.studies.emergence.trials import observed_in
from experiments.studies.scoring import FROZEN, STEP, Row, Scoring, scored, value
from experiments.sweeps.sweep import ADDED, KEPT, task_named, workspace
from robots import ROBOTS, describe

# The rule for "grows", fixed before the first setting was run.
MOVES = 0.05
"""The sensor's standard deviation at the last freeze time above which a robot moves at all."""
DETERMINISTIC = 0.5
"""Largest kappa on these scales, at the last freeze time, at which a behaviour counts as deterministic."""
LOOK = 3000
"""Steps after a push that are looked at: a minute tells a mode."""
RICH = 2.5
"""A dimension as in the paper's later behaviours, where it is no noise."""


@dataclass(frozen=True)
class Life(Scoring):
    """A setting, frozen and scored at each of its `freezes`."""

    impulse: float = field(default=0.0, metadata=ADDED)
    """Size of the push that each frozen behaviour gets [N s]; 0: none."""


@task_named("experiments.atlas:live")
def live(config: Life) -> Row:
    """Learn once, freeze, record and quantify at every freeze time.

    By freeze time in `frozen`: the numbers of `scoring.scored`, and those of the robot's description with
    the `mode` they stand for, before and after a push where one is asked for; or a `reason`. The frozen
    controllers stay in the store, so that any of them can be filmed and recorded.
    """
    wanted, names = config.measure, [label(minutes) for minutes in config.freezes]
    with workspace() as folder:
        path = config.learn(config.freezes, folder)
        with open_run_file(path) as run:
            why, states = run.learning.reason, dict(run.frozen)
        there = [name for name in names if name in states]
        if there:
            (folder / KEPT).mkdir(exist_ok=True)
            copy_frozen(path, folder / KEPT / FROZEN, there, {}, "left out in an exploration")
            times = tuple(states[name].minutes for name in there)
            record(Record((path,), wanted.samples, times, wanted.transient, jobs=1))
        frozen: dict[str, Row] = {}
        with open_run_file(path) as run:
            for name in names:
                if name not in run.behaviours:
                    frozen[name] = {"reason": f"while learning, {why}"}
                    continue
                frozen[name] = scored(recording := run.behaviour(name), wanted, config.seed)
                if config.robot in ROBOTS and ROBOTS[config.robot].description and not recording.reason:
                    frozen[name]["seen"] = describe(config.robot, observed_in(recording))
                if config.impulse and not recording.reason:
                    lasts = (wanted.transient, min(wanted.samples, LOOK))
                    pushed = push_frozen(config.robot, config.body, states[name], config.impulse, lasts)
                    frozen[name]["pushed"] = pushed["after"]
    return {"reason": why, "frozen": frozen}


def growth(life: Row, scales: str) -> float | None:
    """By how much E_core rises from the first freeze time to the last; None if one of them is not known."""
    values = [value(row, scales, "E_core") for row in life.get("frozen", {}).values()]
    first, *_, last = values if len(values) > 1 else [None, None]
    return None if first is None or last is None else last - first


def grows(life: Row, scales: str) -> bool:
    """Whether core complexity grows: from each freeze time to the next by STEP, to a deterministic motion."""
    rows = list(life.get("frozen", {}).values())
    values = [value(row, scales, "E_core") for row in rows]
    if len(values) < 2 or any(found is None for found in values):
        return False
    last = rows[-1]
    kappa = value(last, scales, "kappa")
    rises = all(b - a >= STEP for a, b in itertools.pairwise(values))  # type: ignore[operator]
    return rises and last["std"] > MOVES and kappa is not None and kappa <= DETERMINISTIC


def merit(row: Row) -> tuple[float, float]:
    """By what settings are called the best: on how many kinds of scales E_core grows by the rule, then the
    smaller of the rises that are known. By the rises alone those would win that end in noise, which scores
    high."""
    rises = [row[key] for key in ("growth", "growth_relative") if row[key] is not None]
    return float(row["grows"] + row["grows_relative"]), min(rises, default=-math.inf)


def rich(life: Row, scales: str) -> bool:
    """Whether the last behaviour moves in RICH dimensions or more, and deterministically."""
    last: Row = next(reversed(life.get("frozen", {}).values()), {})
    D, kappa = value(last, scales, "D"), value(last, scales, "kappa")
    return D is not None and D >= RICH and kappa is not None and kappa <= DETERMINISTIC
