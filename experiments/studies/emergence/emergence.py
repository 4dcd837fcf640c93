"""What emerges, seed by seed, and what a push does."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.errors import ExperimentError
from experiments.feedback import SILENT, Feedback, plural
from experiments.pipeline.loop import make_body, thaw
from experiments.reports.tables import Table
from experiments.runfiles.contents import FrozenState
from experiments.settings import lone_seed_words, with_seeds
from experiments.studies.emergence import trials
from experiments.studies.emergence.controls import run_controls
from experiments.studies.emergence.engines import run_engines
from experiments.studies.emergence.trials import Emergence, ModeStudy, Trial, observe
from experiments.sweeps.sweep import task_named, with_origin
from robots import Observed, describe

__all__ = ["Emergence", "emergence"]

DIRECTIONS = {"left": 1.0, "right": -1.0, "none": 0.0}
"""Of a push across the body, in units of the impulse; without a push as the control."""
WHEN = ("before", "after")


def emergence(config: Emergence, feedback: Feedback = SILENT) -> ModeStudy:
    """Learn, freeze and look, seed by seed; with `controls`, `push` or `engines` that study instead."""
    config = with_seeds(config)
    feedback.say_if(lone_seed_words(config.seeds))
    trials.refuse_undescribed(config.robot)
    others = {"controls": run_controls, "push": run_pushes, "engines": run_engines}
    asked = [name for name in others if getattr(config, name)]
    if len(asked) > 1:
        words = " and --".join(asked)
        raise ExperimentError(f"--{words} are different experiments: ask for one at a time")
    if config.complexity and not config.engines:
        raise ExperimentError(f"--complexity {config.complexity} goes with --engines: add that")
    if asked:
        return others[asked[0]](config, feedback)
    tasks = [trials.make_trial(config, seed) for seed in config.seeds]
    found = trials.run_tasks(trials.trial, tasks, config, f"{config.robot} emergence", feedback)
    pairs = zip(tasks, found, strict=True)
    rows = [{"seed": task.seed} | trials.with_modes(task, row) for task, row in pairs]
    content = {"rows": rows, "verdict": verdict(config.robot, rows)}
    return Trials.made(config, "emergence", content, feedback)


@dataclass(frozen=True)
class Trials(ModeStudy):
    """What emerged in each seed."""

    def tables(self) -> list[Table]:
        """One row per seed and freeze time."""
        found = []
        for row in self.document["rows"]:
            frozen = row.get("frozen") or {"-": {"reason": row.get("reason", "")}}
            for name, numbers in frozen.items():
                mode = numbers.get("mode", numbers.get("reason", ""))
                found.append([str(row["seed"]), name, mode, *self.description.cells(numbers)])
        heads = ("seed", "frozen", "mode", *self.description.headings)
        return [Table(dict.fromkeys(heads, ""), found)]

    def modes(self) -> dict[str, Counter[str]]:
        """By freeze time."""
        return modes_by_freeze(self.document["rows"])


def modes_by_freeze(rows: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """How many seeds were found in each mode, by freeze time."""
    return trials.count_modes(item for row in rows for item in row.get("frozen", {}).items())


def verdict(robot: str, rows: list[dict[str, Any]]) -> list[str]:
    """In how many seeds the robot did what: sentences."""
    n = len(rows)
    lines = _jumps(rows, n) if trials.can_jump(robot) else _stays(rows, n)
    unfinished = sum(row.get("unfinished", False) for row in rows)  # for reasons that are not the robot's
    if broken := sum(bool(row.get("reason")) for row in rows) - unfinished:
        lines.append(f"broke down: {broken} of {n} seeds")
    if unfinished:
        lines.append(f"unfinished: {unfinished} of {n} seeds; the same command tries them again")
    return lines


def _jumps(rows: list[dict[str, Any]], n: int) -> list[str]:
    lines = []
    for name in modes_by_freeze(rows):
        found = [row["frozen"][name] for row in rows if "mode" in row.get("frozen", {}).get(name, {})]
        wide = sum(x["std_x1"] > 0.15 for x in found)
        grounded = sum(x["airtime"] <= 0.02 for x in found)
        jump = sum(x["mode"] == "jumping" for x in found)
        lines.append(
            f"{name}: on the ground in {grounded} of {n} seeds, std of x_1 over .15 in {wide}, "
            f"regular jumping (airtime over .3, peak share over .8) in {jump}"
        )
    first = [t for row in rows if (t := row.get("learning", {}).get("first_jumps")) is not None]
    if not first:
        return [*lines, f"first jumps while learning: none in {plural(n, 'seed')}"]
    times = list(dict.fromkeys(f"{t:.1f}" for t in (min(first), max(first))))
    return [*lines, f"first jumps while learning: minute {' to '.join(times)} in {len(first)} of {n} seeds"]


def _stays(rows: list[dict[str, Any]], n: int) -> list[str]:
    lines = []
    for name, counts in modes_by_freeze(rows).items():
        modes = ", ".join(f"{mode} in {count}" for mode, count in counts.most_common())
        lines.append(f"{name}, of {n} seeds: {modes}")
    longest: dict[str, list[float]] = {}
    for row in rows:
        for mode, seconds in row.get("learning", {}).get("longest", {}).items():
            longest.setdefault(mode, []).append(seconds)
    for mode, stays in longest.items():
        lines.append(
            f"{mode} while learning: in {len(stays)} of {n} seeds, "
            f"for {min(stays):.0f} to {max(stays):.0f} s without a break"
        )
    return lines


@dataclass(frozen=True)
class Pushed:
    """One seed, whose frozen behaviours are pushed."""

    trial: Trial
    impulse: float


@dataclass(frozen=True)
class Pushes(ModeStudy):
    """What a push does to the behaviours."""

    def tables(self) -> list[Table]:
        """One row per seed, freeze time and direction."""
        key, (heading, form) = next(iter(self.description.columns.items()))
        heads = ("seed", "frozen", "push", *(word for when in WHEN for word in (when, f"{heading} {when}")))
        lines = []
        for row in self.document["rows"]:
            words = [row.get("reason", ""), "", "", ""]
            if "before" in row:
                words = [word for when in WHEN for word in (row[when]["mode"], format(row[when][key], form))]
            lines.append([*(str(row.get(name, "")) for name in heads[:3]), *words])
        return [Table(dict.fromkeys(heads, ""), lines)]

    def modes(self) -> dict[str, Counter[str]]:
        """By direction, before and after."""
        rows = [row for row in self.document["rows"] if "before" in row]
        return trials.count_modes((f"push {row['push']}, {w}", row[w]) for row in rows for w in WHEN)


def run_pushes(config: Emergence, feedback: Feedback) -> Pushes:
    """Push every frozen behaviour of every seed to either side: its modes before and after."""
    if config.robot != "snake":
        raise ExperimentError(
            f"--push pushes a long body at its middle, across its length; {config.robot!r} is not: use snake"
        )
    if not 0 < config.impulse < math.inf:
        raise ExperimentError(f"--impulse is {config.impulse:g}; it must be greater than 0 and finite")
    tasks = [Pushed(trials.make_trial(config, seed), config.impulse) for seed in config.seeds]
    found = trials.run_tasks(push_all, tasks, config, f"push the {config.robot}", feedback)
    rows = [
        with_origin(row, one)
        for task, one in zip(tasks, found, strict=True)
        for row in one.get("pushes", [{"seed": task.trial.seed} | one])
    ]
    content = {"rows": rows, "verdict": push_verdict(rows, config.impulse)}
    return Pushes.made(config, "push", content, feedback)


@task_named("experiments.push:push_all")
def push_all(config: Pushed) -> dict[str, Any]:
    """Learn with one seed; look at each frozen behaviour, push it, let it settle, and look again.

    In `pushes` a row per freeze time and direction: the numbers of the robot's description `before` and
    `after`, or a `reason`.
    """
    rows = []
    for name, state in trials.learn_frozen(config.trial).items():
        for direction, sign in DIRECTIONS.items():
            row = {"seed": config.trial.seed, "frozen": name, "push": direction}
            try:
                given, lasts = config.trial, (config.trial.transient, config.trial.samples)
                rows.append(row | push_frozen(given.robot, given.body, state, sign * config.impulse, lasts))
            except ExperimentError as error:
                rows.append(row | {"reason": str(error)})
    return {"pushes": rows}


def push_frozen(
    robot: str, settings: dict[str, Any], state: FrozenState, impulse: float, lasts: tuple[int, int]
) -> dict[str, Any]:
    """A frozen behaviour `before` and `after` a push across the body at its middle.

    `lasts`: steps that it may settle, at first and after the push, and steps that are then looked at.
    """
    controller = thaw(state)
    with closing(make_body(robot, settings)) as body:

        def settled(s: NDArray[np.float32]) -> tuple[Observed, NDArray[np.float32]]:
            if lasts[0]:
                _, s = observe(body, controller, s, lasts[0])
            return observe(body, controller, s, lasts[1])

        before, s = settled(body.restore(state.body))
        last = {key: values[-1] for key, values in before.motion.items()}
        ahead = np.array([last["x"] - last["cx"], last["y"] - last["cy"]])
        ahead /= max(np.hypot(*ahead), 1e-9)
        middle = len(body.masses()) // 2 - 1
        body.push([-ahead[1] * impulse, ahead[0] * impulse, 0.0], middle)
        after, _ = settled(s)
    return {"before": describe(robot, before), "after": describe(robot, after)}


def push_verdict(rows: list[dict[str, Any]], impulse: float) -> list[str]:
    """How often the mode changes, with a push and without: sentences."""
    lines = []
    for words, pushed in ((f"a push of {impulse:g} N s", True), ("without a push", False)):
        chosen = [row for row in rows if "before" in row and (row["push"] != "none") == pushed]
        pairs = [(row["before"]["mode"], row["after"]["mode"]) for row in chosen]
        changes = Counter(f"{before} -> {after}" for before, after in pairs if before != after)
        listed = ", ".join(f"{name} ({n})" for name, n in changes.most_common()) or "none"
        lines.append(f"{words}: the mode changes in {changes.total()} of {len(chosen)} cases: {listed}")
    return lines
