"""Tables of text, as instruments, spreadsheets and programs write them: CSV and its relatives."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import islice

import numpy as np

from quantify.aliases import Floats
from quantify.errors import QuantifyError
from quantify.series_files.table import Column, Table

Opened = Callable[[], io.TextIOBase]
# In this order: a comma may stand inside the numbers of a table with semicolons.
SEPARATORS = ("\t", ";", "|", ",")
MISSING = {"", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "-", "--", "?", "."}
"""What stands for a missing value, in small letters."""
LOOKED_AT = 50  # rows, to find out how a table is written
CHUNK = 20_000  # rows that are held as words at a time
NOWHERE = "\x1f"  # a separator that no file has
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Layout:
    """How a table of text is written.

    Attributes
    ----------
    separator : str
        What stands between cells; "" for blanks.
    decimal : str
        Point or comma.
    skip : int
        Rows before the first that has the columns: a title, or a preamble.
    width : int
        Number of columns.
    header : bool
        Whether their names follow then.
    names : tuple of str
        Empty if they have none.
    """

    separator: str
    decimal: str
    skip: int
    width: int
    header: bool
    names: tuple[str, ...]


def read_text(open_text: Opened, source: str) -> Table:
    """A table of text; `open_text` opens it, from its beginning each time."""
    layout = _find_layout(open_text, source)
    return Table(
        layout.width, layout.names, source, lambda indices: _columns(open_text, source, layout, indices)
    )


def opener(data: bytes | str) -> Opened:
    """Opens a file by name, or bytes, in the encoding that its beginning shows.

    A byte-order mark, as spreadsheets write it, is no part of the first number or name.
    """
    if isinstance(data, bytes):
        start = data[: 1 << 16]
    else:
        with open(data, "rb") as file:
            start = file.read(1 << 16)
    encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding == "utf-8-sig":
        try:
            start[:-4].decode("utf-8")  # the last letter may be cut
        except UnicodeDecodeError:
            encoding = "cp1252"

    def open_text() -> io.TextIOBase:
        raw = io.BytesIO(data) if isinstance(data, bytes) else open(data, "rb")  # noqa: SIM115
        return io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="")

    return open_text


def _rows(file: io.TextIOBase, separator: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of every row that is neither empty nor a comment."""
    line = 0

    def counted() -> Iterator[str]:
        nonlocal line
        for line, text in enumerate(file, start=1):  # noqa: B007  read by the loop below
            if text.strip() and not text.lstrip().startswith("#"):
                yield text if separator else _single_blanks(text)

    try:
        for cells in csv.reader(counted(), delimiter=separator or " ", skipinitialspace=True):
            yield line, cells
    except (csv.Error, UnicodeError) as error:
        raise QuantifyError(f"{source} cannot be read as a table of text, line {line}: {error}") from error


def _single_blanks(text: str) -> str:
    """A row of cells with blanks between them, without a comment at its end; a quoted cell is left alone."""
    return text.strip() if '"' in text else " ".join(text.partition("#")[0].split())


def _find_layout(open_text: Opened, source: str) -> Layout:
    """Look at the first rows: what separates cells, is there a header, do numbers have a comma?"""

    def look(separator: str) -> list[list[str]]:
        with open_text() as file:
            rows = islice(_rows(file, separator, source), LOOKED_AT)
            return [[cell.strip() for cell in cells] for _, cells in rows]

    skip, rows = 0, list[list[str]]()
    for separator in (*SEPARATORS, ""):
        rows = look(separator)
        if not rows:
            raise QuantifyError(f"{source} holds no numbers")
        begin = _begin_of_table(rows)
        if begin is not None:
            skip = begin
            break
    else:
        # Rows differ in length whatever the mark, or have but one cell. What the first row shows counts: the
        # first row that does not fit it will be named.
        single = all(len(cells) == 1 for cells in rows[1:])
        first = " ".join(rows[0])
        separator = next((mark for mark in SEPARATORS if mark in first), "")
        words = re.split(r"[\t;|,\s]+", first)
        if single and len(rows) > 1 and not any(_is_value(word, ".") for word in words):
            separator = NOWHERE  # one column, with a name of several words
        rows = look(separator)
    rows = rows[skip:]
    words = [word for cells in rows for word in cells]
    points = any("." in word and is_number(word) for word in words)
    comma = separator != "," and not points and any(DECIMAL_COMMA.fullmatch(word) for word in words)
    decimal = "," if comma else "."
    header = _has_header(rows, decimal, source)
    names = tuple(rows[0]) if header else ()
    if not header and separator:
        names = _names_in_comment(open_text, separator, len(rows[0]))
    return Layout(separator, decimal, skip, len(rows[0]), header, names)


def _begin_of_table(rows: list[list[str]]) -> int | None:
    """The first row of those that have equally many cells, two or more, as all that follow; None if there is
    no such table. What is passed over are words, and the names of the columns follow."""
    width = min(len(cells) for cells in rows[len(rows) // 2 :])
    fits = [len(_without_empty_end(cells, width)) == width for cells in rows]
    skip = len(fits) - fits[::-1].index(False) if False in fits else 0
    named = skip == 0 or (skip < len(rows) and not any(_is_value(cell, ".") for cell in rows[skip]))
    said = all(any(cell and not _is_value(cell, ".") for cell in cells) for cells in rows[:skip])
    return skip if width > 1 and named and said else None


def _names_in_comment(open_text: Opened, separator: str, width: int) -> tuple[str, ...]:
    """Names that stand in the last comment before the table, as numpy.savetxt writes them; else none."""
    last = ""
    with open_text() as file:
        for text in file:
            if text.strip() and not text.lstrip().startswith("#"):
                break
            last = text.strip() or last
    names = [name.strip() for name in last.lstrip("# ").split(separator)]
    return tuple(names) if len(names) == width and all(names) else ()


def _has_header(rows: list[list[str]], decimal: str, source: str) -> bool:
    """Whether the first row names the columns."""
    first, below = rows[0], rows[1:]
    is_value = [_is_value(word, decimal) for word in first]
    if not any(is_value):
        return any(first)
    if first[0] == "" and first[1:] == [str(i) for i in range(len(first) - 1)]:
        return True  # the numbers of the columns of a data frame
    for i, word in enumerate(first):
        under = [row[i] for row in below if i < len(row) and row[i].lower() not in MISSING]
        if not is_value[i] and word and under and all(_is_value(one, decimal) for one in under):
            raise QuantifyError(
                f"{source}: the first row holds {word[:40]!r} beside numbers; name every column or none, or "
                "fill in what is missing"
            )
    return False


def _without_empty_end(cells: list[str], width: int) -> list[str]:
    """A row without the empty cells that it has beyond the first row's."""
    while len(cells) > width and not cells[-1].strip():
        cells = cells[:-1]
    return cells


def _columns(open_text: Opened, source: str, layout: Layout, indices: Sequence[int]) -> list[Column]:
    """Some columns, in one pass; only their numbers are kept."""
    found = [_Growing(layout.decimal) for _ in indices]
    with open_text() as file:
        rows = _rows(file, layout.separator, source)
        for _ in range(layout.skip + layout.header):
            next(rows)
        while chunk := list(islice(rows, CHUNK)):
            for line, cells in chunk:
                if len(_without_empty_end(cells, layout.width)) != layout.width:
                    raise QuantifyError(
                        f"{source}: line {line} has {len(cells)} cells where the first row has "
                        f"{layout.width}; mend or remove it"
                    )
            lines = [line for line, _ in chunk]
            for column, i in zip(found, indices, strict=True):
                column.add(lines, [cells[i].strip() for _, cells in chunk])
    if not found or not found[0].rows:
        raise QuantifyError(f"{source} holds a header, but no numbers")
    return [column.column() for column in found]


class _Growing:
    """A column while it is read: numbers; or dates, if it begins with one; else words."""

    def __init__(self, decimal: str) -> None:
        self.decimal, self.rows, self.wrong = decimal, 0, ""
        self.dates: bool | None = None
        self.parts: list[Floats] = []

    def add(self, lines: list[int], words: list[str]) -> None:
        self.rows += len(words)
        if self.wrong:
            return
        if not self.dates:
            try:
                plain = words if self.decimal == "." else [word.replace(",", ".") for word in words]
                values = np.array(plain, dtype=float)
                if not any("_" in word for word in words):
                    self.parts.append(values)
                    self.dates = False
                    return
            except ValueError:
                pass
        values = np.full(len(words), math.nan)
        for i, word in enumerate(words):
            if word.lower() in MISSING:
                continue
            if self.dates is None:
                self.dates = not is_number(word, self.decimal)
            value = seconds_of(word) if self.dates else _number(word, self.decimal)
            if value is None:
                self.wrong = f"{word[:40]!r} in line {lines[i]}"
                return
            values[i] = value
        self.parts.append(values)

    def column(self) -> Column:
        if self.wrong:
            return Column(np.full(self.rows, math.nan), "text", self.wrong)
        return Column(np.concatenate(self.parts), "time" if self.dates else "number")


def _number(word: str, decimal: str = ".") -> float | None:
    try:
        return None if "_" in word else float(word.replace(decimal, "."))
    except ValueError:
        return None


def is_number(word: str, decimal: str = ".") -> bool:
    """Whether a cell holds a number."""
    return _number(word, decimal) is not None


def _is_value(word: str, decimal: str) -> bool:
    """Whether a cell holds something that no column is called: a number, a date, or a sign for neither."""
    missing = bool(word) and word.lower() in MISSING
    return missing or is_number(word, decimal) or seconds_of(word) is not None


def seconds_of(word: str) -> float | None:
    """Seconds of a date (ISO 8601, or day.month.year), since 1970, or of a time of day, since midnight.

    Examples
    --------
    >>> from quantify.series_files.text import seconds_of
    >>> seconds_of("1970-01-02 00:00:01"), seconds_of("00:01:00.5"), seconds_of("2.1.1970 00:00")
    (86401.0, 60.5, 86400.0)
    >>> seconds_of("ant 1") is None
    True
    """
    if ":" not in word and "-" not in word and "." not in word:
        return None
    german = re.fullmatch(
        r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ T](\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?))?", word
    )
    if german:
        day, month, year, clock = german.groups()
        word = f"{year}-{month:0>2}-{day:0>2}" + (f" {_two_digits(clock)}" if clock else "")
    try:
        if re.fullmatch(r"\d\d?:\d\d:\d\d([.,]\d{1,9})?", word):
            of_day = time.fromisoformat(_two_digits(word))
            seconds = of_day.hour * 3600 + of_day.minute * 60 + of_day.second
            return seconds + of_day.microsecond / 1e6
        moment = datetime.fromisoformat(word)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def _two_digits(clock: str) -> str:
    """A time of day with two digits for the hour."""
    return f"0{clock}" if clock[1] == ":" else clock
