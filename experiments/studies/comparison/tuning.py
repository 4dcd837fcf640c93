"""Settings for every rule at the same price: try so many, keep the best, and say so.

Random search around the defaults. It knows nothing about any rule, so that none is favoured: the defaults are
the first candidate, and in the others every number that is not 0 is multiplied by a factor of its own, drawn
between 1/4 and 4 (a 0 is something switched off), and kept within its range. Each candidate gets one run, all
of them with the same seed, which the comparison does not use; equal ones share it.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from controllers import Range
from experiments.errors import ExperimentError
from experiments.pipeline.learn import find_rule
from experiments.studies.comparison.ranking import value
from experiments.studies.scoring import Behaviour

FACTOR = 4.0
"""Settings are varied between 1/FACTOR and FACTOR times their default."""
SEED = 1_000_000
"""Seed of all tuning runs, far from those of any comparison."""


@dataclass(frozen=True)
class Tuned:
    """What tuning found: a task for each robot and controller, and what was tried for it."""

    starts: list[Behaviour]
    """The tasks as they were given, with the best settings."""
    runs: list[Behaviour]
    """All that were run."""
    tried: dict[str, dict[str, list[dict[str, Any]]]]
    """By robot and controller `settings`, `E_core` (None: no value) and `reason` of each candidate."""


def tune(
    starts: Sequence[Behaviour],
    number: int,
    scales: str,
    run: Callable[[list[Behaviour]], list[dict[str, Any]]],
) -> Tuned:
    """For each task the best of so many settings (0: those that it has), by E_core on these scales.

    `run` gives the results of tasks, in their order.
    """
    if not number:
        return Tuned(list(starts), [], {})
    options = [_distinct(candidates(start, number)) for start in starts]
    runs = [task for some in options for task in some]
    rows = iter(run(runs))
    chosen: list[Behaviour] = []
    tried: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for start, some in zip(starts, options, strict=True):
        found = [next(rows) for _ in some]
        chosen.append(replace(start, rule=best(some, found, scales).rule))
        tried.setdefault(start.robot, {})[start.controller] = [
            {"settings": task.rule, "E_core": value(row, scales, "E_core"), "reason": row["reason"]}
            for task, row in zip(some, found, strict=True)
        ]
    return Tuned(chosen, runs, tried)


def _distinct(tasks: Sequence[Behaviour]) -> list[Behaviour]:
    """A rule without numbers has one setting only, however many are drawn."""
    return [task for i, task in enumerate(tasks) if task not in tasks[:i]]


def tuned_words(number: int, tried: Iterable[Sequence[Any]]) -> str:
    """How the settings of a rule were found, from what was tried on each robot; empty if nothing was."""
    counts = sorted({len(some) for some in tried})
    if not counts:
        return ""
    if counts == [1] and number > 1:
        return "not tuned: the rule has no number that could be varied; default: "
    distinct = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    drawn = "" if counts == [number] else f" ({number} were drawn, the others were equal)"
    return (
        f"the best of {distinct} settings{drawn}, by core complexity in one run each with a seed of its own: "
        "the default, and others in which every number but 0 is multiplied by a factor of its own between "
        f"1/{FACTOR:g} and {FACTOR:g} and kept within its range; default: "
    )


def candidates(task: Behaviour, number: int) -> list[Behaviour]:
    """So many versions of a task that differ in the settings of the rule; the first one has the defaults."""
    if number < 1:
        raise ExperimentError(f"{number} candidates; at least 1 is needed, the defaults")
    start = replace(task, seed=SEED)
    # The same draws for everyone, whatever else is compared.
    rng = np.random.default_rng(SEED)
    return [start, *(replace(start, rule=_varied(task, rng)) for _ in range(number - 1))]


def _varied(task: Behaviour, rng: np.random.Generator) -> dict[str, Any]:
    hints = typing.get_type_hints(find_rule(task.controller).Config, include_extras=True)
    settings = dict(task.rule)
    for name, default in task.rule.items():
        kind, *limits = typing.get_args(hints[name]) or (None,)
        if kind not in (int, float) or not default or not isinstance(limits[0], Range):
            continue
        number = default * FACTOR ** rng.uniform(-1.0, 1.0)
        number = min(max(number, limits[0].low), limits[0].high)
        settings[name] = max(1, round(number)) if kind is int else float(number)
    return settings


def best(tasks: Sequence[Behaviour], rows: Sequence[dict[str, Any]], scales: str) -> Behaviour:
    """The candidate with the largest E_core; a failure is the last choice, and of equals the first wins.

    Raises
    ------
    ExperimentError
        When a run is unfinished: what it would have scored is not known.
    """
    for row in rows:
        if row.get("unfinished"):
            raise ExperimentError(
                f"a tuning run of {tasks[0].robot} under {tasks[0].controller} is unfinished "
                f"({row['reason']}); mend that and run the same command, finished runs are kept"
            )
    scores = [value(row, scales, "E_core") for row in rows]
    order = [-np.inf if score is None else score for score in scores]
    return tasks[int(np.argmax(order))]
