"""One time series, of one or several columns, from whatever a user has."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quantify.aliases import Floats
from quantify.errors import QuantifyError
from quantify.series_files.binary import HDF5, NPY, NPZ, read_hdf5, read_npy, read_npz, table_of_array
from quantify.series_files.labelled import is_labelled, table_of
from quantify.series_files.missing import Missing, treat
from quantify.series_files.table import Column, Table, find_column, which_column
from quantify.series_files.text import opener, read_text
from quantify.series_files.times import Position, as_seconds, cut, median_rate, time_candidates

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Series:
    """Values of one or several channels, and where they come from.

    Attributes
    ----------
    values : (N,) or (N, d) float64
    name : str
        Name of the channel, or all names with commas between them.
    source : str
    names : tuple of str
        One name for each channel.
    rate : float or None
        Samples per second, if known.
    time : (N,) float64 or None
        Times of the samples in seconds, if known.
    notes : tuple of str
        What was done on the way: missing values, columns that were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify import Series
    >>> Series(np.arange(3.0), "speed", "ants.csv").names
    ('speed',)
    """

    values: NDArray[np.float64]
    name: str
    source: str
    names: tuple[str, ...] = ()
    rate: float | None = None
    time: Floats | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "names", (self.name,))

    def each(self) -> list[Series]:
        """Each channel by itself.

        Examples
        --------
        >>> import numpy as np
        >>> from quantify import Series
        >>> both = Series(np.ones((5, 2)), "left, right", "ants.csv", ("left", "right"))
        >>> [one.name for one in both.each()]
        ['left', 'right']
        """
        columns = self.values.reshape(len(self.values), -1).T
        return [
            replace(self, values=np.ascontiguousarray(values), name=name, names=(name,))
            for name, values in zip(self.names, columns, strict=True)
        ]

    def part(self, start: Position = 0, stop: Position | None = None) -> Series:
        """The samples from `start` up to `stop`, each a number of samples or a time such as "150s".

        Examples
        --------
        >>> import numpy as np
        >>> from quantify import Series
        >>> Series(np.arange(100.0), "speed", "ants.csv", rate=10.0).part("2s", 50).values.size
        30
        """
        kept = cut(len(self.values), start, stop, self.source, self.rate, self.time)
        time = None if self.time is None else self.time[kept]
        return replace(self, values=self.values[kept], time=time)


def split_source(source: str) -> tuple[Path, str]:
    """`data.h5:/group/dataset` as a path and a dataset; the dataset is empty where none is named."""
    path, colon, dataset = source.rpartition(":")
    if colon and path and (dataset.startswith("/") or _exists(path)) and not _exists(source):
        return Path(path), dataset
    return Path(source), ""


def _exists(path: str) -> bool:
    return os.path.exists(path)  # False, too, for what no file can be called


def read_series(
    source: Any,
    column: str | Sequence[str] = "",
    *,
    time: str = "",
    rate: float | None = None,
    missing: Missing = "refuse",
    start: Position = 0,
    stop: Position | None = None,
) -> Series:
    """Read columns of a file, or of an object with labels.

    Parameters
    ----------
    source : str, Path, or an object
        A .csv or text file (comma, semicolon, tab, bar or blanks between cells, decimal point or comma, an
        optional header, # comments); a .npy or .npz file; an HDF5 file with the dataset's name,
        data.h5:/group/dataset; "-" for any of these on standard input; a data frame of pandas or polars, a
        labelled array or dataset of xarray; an array.
    column : str or sequence of str
        Index (from 0) or name of the column; several, or several with commas between them; "all" for all
        columns of numbers. May be left out where there is only one.
    time : str
        Column with the times of the samples; by default one that is called so (time, t, timestamp, ...) and
        goes on.
    rate : float, optional
        Samples per second, where there is no such column.
    missing : "refuse", "split" or "interpolate"
        What to do with missing values (empty, NA, nan, ...): an error; the longest stretch without any, and
        without a gap in time; straight lines.
    start, stop : int or str
        Part that is read: samples, or a time after the beginning such as "150s" or "2.5min".

    Raises
    ------
    QuantifyError
        When the source cannot be read as numbers, the column is unclear or unknown, or values are missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from quantify import read_series
    >>> text = "ant;time;speed\\nA;0,0;1,5\\nA;0,5;NA\\nA;1,0;2,5\\nA;1,5;3,5\\n"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "ants.csv").write_text(text)
    ...     ants = read_series(f"{folder}/ants.csv", "speed", missing="split")
    >>> ants.values, ants.rate
    (array([2.5, 3.5]), 2.0)
    """
    table = _open(source)
    chosen, t, notes = _choose(table, column, time)
    values = np.stack([one.values for _, one in chosen], axis=1)
    names = tuple(name for name, _ in chosen)
    rate = _check_rate(rate) or (median_rate(t) if t is not None else table.rate)
    series = Series(values, ", ".join(names), table.source, names, rate, t, tuple(notes)).part(start, stop)
    kept = treat(series.values, series.time, missing, table.source, names)
    values = np.ascontiguousarray(kept.values[:, 0]) if len(names) == 1 else kept.values
    notes += [kept.note] if kept.note else []
    return replace(series, values=values, time=kept.t, notes=tuple(notes))


def series_of(given: Any) -> Series | None:
    """A `Series`; or all columns of numbers of an object with labels; None for an array."""
    if isinstance(given, Series):
        return given
    return read_series(given, "all") if is_labelled(given) else None


def _check_rate(rate: float | None) -> float | None:
    if rate is not None and not 0 < rate < 1e12:
        raise QuantifyError(f"--rate is {rate:g}; samples per second must be above 0 and finite")
    return rate


def _open(source: Any) -> Table:
    """Any source as a table."""
    if not isinstance(source, str | Path):
        if is_labelled(source):
            return table_of(source)
        return table_of_array(np.asarray(source), (), "the array")
    if str(source) == STANDARD_INPUT:
        data = sys.stdin.buffer.read() if sys.stdin is not None else b""
        return _of_content(data, data[:8], "standard input", "", "")
    path, dataset = split_source(str(source))
    if not _exists(str(path)):
        raise QuantifyError(f"{path} does not exist; check the name")
    if path.is_dir():
        raise QuantifyError(f"{path} is a directory, not a file")
    if not path.is_file():
        raise QuantifyError(f"{path} is no regular file; give - as its name and pipe it in")
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError as error:
        raise QuantifyError(f"{path} cannot be read: {error.strerror}") from error
    return _of_content(path, start, str(path), dataset, path.suffix)


def _of_content(data: bytes | Path, start: bytes, source: str, dataset: str, suffix: str) -> Table:
    """A table from what a file begins with, whatever it is called."""
    if not start:
        raise QuantifyError(f"{source} is empty (0 bytes)")
    if start == HDF5 or (dataset and suffix in (".h5", ".hdf5", ".hdf")) or _hides_hdf5(data):
        return read_hdf5(data, source, dataset)
    if start.startswith(NPZ) or suffix == ".npz":
        return read_npz(data, source, dataset)
    if dataset:
        raise QuantifyError(f"{source} is neither HDF5 nor .npz; it holds no dataset {dataset!r}")
    if start.startswith(NPY) or suffix == ".npy":
        return read_npy(data, source)
    open_text = opener(data if isinstance(data, bytes) else str(data))
    with open_text() as file:
        if "\0" in file.read(1 << 12):
            raise QuantifyError(f"{source} is neither text nor .npy, .npz or HDF5")
    return read_text(open_text, source)


def _hides_hdf5(data: bytes | Path) -> bool:
    """HDF5 may begin behind a block of the user's."""
    import h5py  # here: it would slow down the import of the package

    return isinstance(data, Path) and bool(h5py.is_hdf5(data))


def _choose(
    table: Table, wanted: str | Sequence[str], time: str
) -> tuple[list[tuple[str, Column]], Floats | None, list[str]]:
    """Names and columns that are asked for, times of the samples, and what was decided."""
    indices = table.indices(wanted)
    times = [find_column(table.width, table.names, time, table.source)] if time else time_candidates(table)
    read = list(dict.fromkeys([*(indices or range(table.width)), *times]))
    columns = dict(zip(read, table.read(read), strict=True))
    at, t = _find_times(table, columns, [i for i in times if i not in (indices or ())], bool(time))
    if indices is None:
        indices, notes = _of_numbers(table, columns, at, bool(wanted))
    else:
        notes = []
        for i in indices:
            if columns[i].kind != "number":
                words = columns[i].wrong or "dates"
                raise QuantifyError(
                    f"{table.source}: column {table.label(i)!r} holds {words}, where numbers are needed; "
                    "choose another with --sensor, or mend it"
                )
    return [(table.label(i), columns[i]) for i in indices], t, notes


def _find_times(
    table: Table, columns: dict[int, Column], candidates: list[int], asked: bool
) -> tuple[int | None, Floats | None]:
    """The column of times and what it says; the index of the table if no column does."""
    for i in candidates:
        t = as_seconds(columns[i], table.label(i))
        if t is not None:
            return i, t
    if asked:
        raise QuantifyError(
            f"{table.source}: the column of times must hold numbers or ISO dates that go on, none missing, "
            "and be none of the sensors"
        )
    if table.index is not None:
        return None, as_seconds(Column(table.index, "time"), "")
    return None, None


def _of_numbers(
    table: Table, columns: dict[int, Column], at: int | None, every: bool
) -> tuple[list[int], list[str]]:
    """All columns that can be quantified; exactly one, unless all are asked for."""
    left_out = {i: "text" for i, one in columns.items() if one.kind != "number"}
    left_out |= {i: "counts the rows" for i, one in columns.items() if one.counts_rows and table.width > 1}
    if at is not None:
        left_out[at] = "times"
    kept = [i for i in columns if i not in left_out]
    if not kept:
        if table.width == 1 and columns[0].kind == "text":
            raise QuantifyError(f"{table.source} is not a table of numbers: it holds {columns[0].wrong}")
        why = ", ".join(f"{table.label(i)} ({words})" for i, words in left_out.items())
        raise QuantifyError(f"{table.source} has no column of numbers that could be a sensor: {why}")
    if len(kept) > 1 and not every:
        listed = (
            ", ".join(f"{i} {table.names[i]}" for i in kept) if table.names else f"0 to {table.width - 1}"
        )
        raise QuantifyError(which_column(table.width, listed, table.source))
    said = [f"{table.label(i)} ({words})" for i, words in sorted(left_out.items())]
    return kept, [f"Columns left out: {', '.join(said)}."] if said and every else []
