"""The paper's tables: their settings, what becomes of them here, and both in words.

The settings are the files in the folder paper: how each column was made, its printed numbers, and findings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np

from experiments.options.studies import Part
from experiments.reports.tables import Table
from quantify.published import AGREES, BIASED, DIFFERS, UNSURE, Recipe, Row, number, signed

PARTS: tuple[Part, ...] = get_args(Part)
CAPTION = (
    "ours: median over the seeds. interval: of order statistics, covers the true median with at least 90 % "
    "from five seeds on. agrees: within the tolerance. same ordering: not, but the columns of this row are "
    "ordered as published. too few samples to tell: not, but by no more than two standard errors. "
    "biased by so few samples: farther off than that, but where so few bring every such estimate. "
    "const: of the excess entropy, const - D ln eps. eps*: the scale below which noise hides the dynamics."
)
COLOURS = {AGREES: "green", DIFFERS: "yellow"}


@dataclass(frozen=True)
class Rebuilt:
    """A table of the paper, made again."""

    rows: list[Row]
    measurements: list[dict[str, Any]]
    """What was found for every column, or behaviour, and seed."""
    sources: list[Path]
    """Results and runs that its page shows."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    """See `quantify.published.try_finding`."""


def read_part(name: str) -> dict[str, Any]:
    """The settings of a part (`PARTS`), as in its file."""
    return tomllib.loads((Path(__file__).parent / "paper" / f"{name}.toml").read_text("utf-8"))


def chosen(kind: type, *settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some settings that are fields of a class, lists as tuples; later settings win."""
    known = {f.name for f in fields(kind)}
    return {
        key: tuple(value) if isinstance(value, list) else value
        for table in settings
        for key, value in table.items()
        if key in known
    }


def recipe(column: Mapping[str, Any]) -> Recipe:
    """The recipe in a column of a settings file."""
    return Recipe(**chosen(Recipe, column))


def chance(part: dict[str, Any]) -> dict[str, float]:
    """Two standard errors of each quantity with so many samples and seeds, from its scatter at length."""
    there = part["scatter"]
    fewer = there["samples"] / (part["samples"] * len(part["seeds"]))
    return {name: 2 * sd * fewer**0.5 for name, sd in there["sd"].items()}


def bias(part: dict[str, Any], column: str, exact: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Between which differences so few samples bring each quantity of a column, on average over the seeds.

    It shrinks with the number of samples: it lies between those of the next smaller and the next larger
    number at which it was measured. Of the fewest nothing is left of a value.
    """
    there, samples = part["bias"], part["samples"]
    sizes: list[int] = there["samples"]
    below = max((i for i, n in enumerate(sizes) if n <= samples), default=-1)
    above = min((i for i, n in enumerate(sizes) if n >= samples), default=len(sizes))
    found = {}
    for name, measured in there[column].items():
        known = [-exact[name], *measured, 0.0]
        ends = known[below + 1], known[above + 1]
        found[name] = (min(ends), max(ends))
    return found


def _why(row: Row) -> str:
    """What so few samples do to a value, where that is the verdict."""
    if row.verdict == UNSURE:
        return f" (± {row.chance:.2f} by chance)"
    if row.verdict == BIASED:
        low, high = (signed(end) for end in row.bias)
        return f" ({low if low == high else f'{low} to {high}'} on average)"
    return ""


def in_words(table: Sequence[Row], reference: str, title: str = "") -> Table:
    """The rows as a table of words, with the name of a quantity where its rows begin."""
    heads = ("", "column", reference, "ours", "interval", "difference", "tolerance", "verdict")
    lines, last = [], None
    for row in table:
        missing = f", {row.of - row.n} of {row.of} without value" if 0 < row.n < row.of else ""
        words = [
            "" if row.quantity == last else row.quantity,
            row.column,
            "" if row.paper is None else number(row.paper),
            number(row.ours),
            f"{number(row.low)} to {number(row.high)}" if row.n > 1 else "",
            "" if np.isnan(row.difference) else signed(row.difference),
            "" if row.tolerance is None else f"{row.tolerance:g}",
            row.verdict + _why(row) + missing,
        ]
        lines.append(words)
        last = row.quantity
    styles = [COLOURS.get(row.verdict, "") for row in table]
    return Table(dict.fromkeys(heads, ""), lines, title, CAPTION, styles, wide=(0, 1, 7))
