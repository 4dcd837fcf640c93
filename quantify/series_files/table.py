"""A table as it was found: columns of numbers, of times and of words, and the choice of some of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quantify.aliases import Floats
from quantify.errors import QuantifyError

EVERY = "all"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    values : (N,) float64
        NaN where a value is missing, and wherever there is a word; times as seconds since 1970, or as they
        stand if they are plain numbers.
    kind : "number", "time" (dates or times of day) or "text"
    wrong : str
        Of text: what stands where, such as "'ant 1' in line 2".
    """

    values: Floats
    kind: Literal["number", "time", "text"] = "number"
    wrong: str = ""

    @property
    def counts_rows(self) -> bool:
        """Whether it is nothing but the number of the row."""
        if self.kind != "number" or len(self.values) < 2 or not np.isfinite(self.values).all():
            return False
        return bool((np.diff(self.values) == 1).all())


@dataclass(frozen=True)
class Table:
    """Columns of which some are to be read.

    Attributes
    ----------
    width : int
        Number of columns.
    names : sequence of str
        Their names; empty if they have none.
    source : str
        Where it comes from, for messages.
    read : callable
        Gives the columns with these indices, one pass for all of them.
    index : (N,) array, optional
        Times of the rows that are no column (the index of a data frame), in seconds.
    rate : float, optional
        Samples per second, if that is stated.
    """

    width: int
    names: Sequence[str]
    source: str
    read: Callable[[Sequence[int]], list[Column]]
    index: Floats | None = None
    rate: float | None = None

    def label(self, index: int) -> str:
        """Name of a column, or its index."""
        return self.names[index] if index < len(self.names) and self.names[index] else str(index)

    def indices(self, wanted: str | Sequence[str]) -> list[int] | None:
        """The columns that are named; None where the table has to be looked at: none is named, or "all"."""
        return find_columns(self.width, self.names, wanted, self.source)


def find_columns(
    columns: int, names: Sequence[str], wanted: str | Sequence[str], source: str
) -> list[int] | None:
    """Indices of the columns that are named; None if none is, or "all".

    Several may stand in one text, with commas between them; a name that holds a comma counts first.
    """
    if isinstance(wanted, str):
        if wanted in names and wanted:
            return [find_column(columns, names, wanted, source)]
        wanted = [part.strip() for part in wanted.split(",")] if wanted else []
    if list(wanted) in ([], [EVERY]):
        return None
    found = [find_column(columns, names, one, source) for one in wanted]
    if len(set(found)) < len(found):
        raise QuantifyError(f"--sensor {','.join(wanted)} names a column of {source} twice")
    return found


def find_column(columns: int, names: Sequence[str], column: str, source: str) -> int:
    """Index of a column given by index or by name."""
    if not column:
        if columns > 1:
            have = ", ".join(f"{i} {name}" for i, name in enumerate(names)) or f"0 to {columns - 1}"
            raise QuantifyError(which_column(columns, have, source))
        return 0
    if column in names:
        first, *more = (i for i, name in enumerate(names) if name == column)
        if more:
            raise QuantifyError(
                f"{source} has {len(more) + 1} columns called {column!r}; --sensor takes an index, too: "
                f"{', '.join(map(str, (first, *more)))}"
            )
        return first
    if column.isdecimal():
        if len(column) > 9 or int(column) >= columns:
            raise QuantifyError(
                f"{source} has {columns} columns; --sensor {column[:20]} is beyond 0 to {columns - 1}"
            )
        return int(column)
    if not names:
        raise QuantifyError(
            f"the columns of {source} have no names; --sensor takes an index from 0 to {columns - 1}"
        )
    raise QuantifyError(f"{source} has no column {column!r}; {nearest(column, names)}")


def which_column(columns: int, have: str, source: str) -> str:
    """Asks for a column."""
    return (
        f"{source} has {columns} columns; choose one with --sensor: {shortened(have)} (several, with commas "
        "between them, or all, are taken together)"
    )


def nearest(name: str, known: Sequence[str]) -> str:
    """What may have been meant, and all that is known."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {shortened(', '.join(known))}"


def shortened(text: str, most: int = 600) -> str:
    """A long list cut off."""
    return text if len(text) <= most else f"{text[:most]}..."
