"""Published numbers beside ours: difference, tolerance and a verdict, for terminal, page and document."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.table import Table

from experiments.console import plain_table
from experiments.statistics import Median, median
from experiments.studies.reproduction.findings import CONFIDENCE

AGREES, ORDERED, DIFFERS, ALONE, MISSING = "agrees", "same ordering", "differs", "no reference", "no value"
_NOTHING = Median(math.nan, math.nan, math.nan, 0.0, 0)


@dataclass(frozen=True)
class Row:
    """One number of a table, published and ours.

    Attributes
    ----------
    quantity, column : str
        Which row and which column of the published table it is.
    paper : float or None
        Published (or exact) value; None if there is none.
    ours, low, high : float
        Median over the seeds and its interval (see `experiments.statistics.median`); NaN without value.
    n : int
        Number of seeds that gave a value.
    of : int
        Number of seeds that were tried.
    tolerance : float or None
        Largest difference that counts as agreement.
    verdict : str
        "agrees": within the tolerance. "same ordering": not, but every pair of columns that the published row
        tells apart is ordered the same way here. "differs": neither.
    """

    quantity: str
    column: str
    paper: float | None
    ours: float
    low: float
    high: float
    n: int
    of: int
    tolerance: float | None
    verdict: str

    @property
    def difference(self) -> float:
        """Ours minus published; NaN if one of them is missing."""
        return math.nan if self.paper is None else self.ours - self.paper

    @property
    def wide(self) -> bool:
        """Whether it agrees, but with an interval that leaves the tolerance."""
        if self.verdict != AGREES or self.n < 2:
            return False
        return not all(_within(self.paper, end, self.tolerance) for end in (self.low, self.high))


def rows(
    columns: Sequence[str],
    quantities: Iterable[str],
    paper: Mapping[str, Mapping[str, float]],
    tolerance: Mapping[str, Mapping[str, float]],
    found: Mapping[str, Sequence[Mapping[str, float | None]]],
    ordering: bool = True,
) -> list[Row]:
    """Put the published and our values of a table side by side.

    Parameters
    ----------
    columns, quantities : str
        Columns and rows of the published table.
    paper, tolerance : dict of dict
        By column, then by quantity; either may be missing.
    found : dict of lists of dict
        By column the values of each seed: None where it gave no value, empty if it failed.
    ordering : bool
        Whether the order of the columns says anything.
    """
    table = []
    for quantity in quantities:
        middle = {}
        for column in columns:
            values = [v for one in found[column] if (v := one.get(quantity)) is not None and np.isfinite(v)]
            middle[column] = median(values, CONFIDENCE) if values else _NOTHING
        ordered = ordering and _same_ordering(
            [(paper[c][quantity], middle[c].value) for c in columns if quantity in paper.get(c, {})]
        )
        for column in columns:
            ours = middle[column]
            printed = paper.get(column, {}).get(quantity)
            limit = tolerance.get(column, {}).get(quantity)
            if not found[column] or (ours.n == 0 and printed is None):
                continue
            verdict = _verdict(printed, ours.value, limit, ordered)
            # A seed that failed has no entry at all; one that was not asked for this quantity has others.
            tried = sum(quantity in one or not one for one in found[column])
            middle_and_ends = (ours.value, ours.lo, ours.hi, ours.n, tried)
            table.append(Row(quantity, column, printed, *middle_and_ends, limit, verdict))
    return table


def _same_ordering(pairs: Sequence[tuple[float, float]]) -> bool:
    """Whether our values are ordered as the published ones, wherever these differ; at least one must."""
    told_apart = [(a, b) for i, a in enumerate(pairs) for b in pairs[:i] if a[0] != b[0]]
    return bool(told_apart) and all((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in told_apart)


def _verdict(paper: float | None, ours: float, tolerance: float | None, ordered: bool) -> str:
    if np.isnan(ours):
        return MISSING
    if paper is None:
        return ALONE
    if _within(paper, ours, tolerance):
        return AGREES
    return ORDERED if ordered else DIFFERS


def _within(paper: float | None, ours: float, tolerance: float | None) -> bool:
    # Nine digits: 2.59 - 2.54 is meant to be .05 whatever its last bit.
    return paper is not None and tolerance is not None and round(abs(ours - paper), 9) <= tolerance


def to_rows(plain: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Rows from their JSON form (see `to_plain_rows`)."""
    table = []
    for row in plain:
        kept = {key: value for key, value in row.items() if key != "difference"}
        for key in ("ours", "low", "high"):
            kept[key] = math.nan if kept[key] is None else kept[key]
        table.append(Row(**kept))
    return table


def to_plain_rows(table: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as they are stored in JSON, with the difference."""
    return [asdict(row) | {"difference": row.difference} for row in table]


HEAD = ("", "column", "{}", "ours", "interval", "difference", "tolerance", "verdict")


def cells(row: Row) -> tuple[str, ...]:
    """A row in words, without its quantity."""
    missing = f", {row.of - row.n} of {row.of} without value" if 0 < row.n < row.of else ""
    return (
        row.column,
        "" if row.paper is None else number(row.paper),
        number(row.ours),
        f"{number(row.low)} to {number(row.high)}" if row.n > 1 else "",
        "" if np.isnan(row.difference) else f"{row.difference:+.2f}".replace("-", "−"),
        "" if row.tolerance is None else f"{row.tolerance:g}",
        row.verdict + missing,
    )


def number(value: float) -> str:
    """Two decimals, as the paper prints; a dash for a missing value."""
    text = f"{value:.2f}"
    return "–" if np.isnan(value) else ("0.00" if text == "-0.00" else text.replace("-", "−"))


def terminal(table: Sequence[Row], title: str, reference: str, caption: str) -> Table:
    """The rows for the terminal."""
    head = [name.format(reference) for name in HEAD]
    result = plain_table(*head, title=title, caption=caption)
    colour = {AGREES: "green", DIFFERS: "yellow"}
    for quantity, row in _grouped(table):
        result.add_row(quantity, *cells(row), style=colour.get(row.verdict))
    return result


def markdown(table: Sequence[Row], reference: str) -> str:
    """The rows as a table of a document."""
    head = [name.format(reference) for name in HEAD]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for quantity, row in _grouped(table):
        lines.append("| " + " | ".join((quantity.replace("*", "\\*"), *cells(row))) + " |")
    return "\n".join(lines)


def as_html(table: Sequence[Row], title: str, reference: str, caption: str, words: Sequence[str]) -> str:
    """The rows as a section of a page, with sentences below."""
    head = "".join(f"<th>{html.escape(name.format(reference))}</th>" for name in HEAD)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in (quantity, *cells(row))) + "</tr>"
        for quantity, row in _grouped(table)
    )
    # Sentences that belong to the one before are indented, here too.
    items = "".join(
        f"<li{' class=more' if text.startswith(' ') else ''}>{html.escape(text.strip())}</li>"
        for text in words
    )
    return (
        "<style>.beside :is(th, td) {padding: .1rem 1.2rem .1rem 0; text-align: left}"
        " li.more {margin-left: 1.5rem; list-style: circle}</style>"
        f'<h3>{html.escape(title)}</h3><div class="scroll"><table class="beside">'
        f"<thead><tr>{head}</tr></thead>"
        f'<tbody>{body}</tbody></table></div><p class="soft">{html.escape(caption)}</p>'
        + (f"<ul>{items}</ul>" if items else "")
    )


def _grouped(table: Sequence[Row]) -> Iterable[tuple[str, Row]]:
    """Rows with the name of their quantity where a new one begins."""
    last = None
    for row in table:
        yield ("" if row.quantity == last else row.quantity), row
        last = row.quantity
