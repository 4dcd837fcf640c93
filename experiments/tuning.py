"""Settings for every rule at the same price: try so many, keep the best, and say so.

Random search around the defaults. It knows nothing about any rule, so that none is favoured: the defaults are
the first candidate, and in the others every number that is not 0 is multiplied by a factor of its own, drawn
between 1/4 and 4 (a 0 is something switched off). Each candidate gets one run, all of them with the same
seed, which the comparison does not use.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from controllers import Range
from experiments.behaviour import Behaviour
from experiments.comparison import value
from experiments.errors import ExperimentError
from experiments.learn import find_rule

FACTOR = 4.0
"""Settings are varied between 1/FACTOR and FACTOR times their default."""
SEED = 1_000_000
"""Seed of all tuning runs, far from those of any comparison."""


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
