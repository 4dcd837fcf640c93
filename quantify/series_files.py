"""Read one time series from whatever a user has: CSV, text, .npy, or a dataset in an HDF5 file."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quantify.errors import QuantifyError

if TYPE_CHECKING:
    import h5py


@dataclass(frozen=True)
class Series:
    """Values of one channel, and where they come from.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify import Series
    >>> Series(np.arange(3.0), "speed", "ants.csv").name
    'speed'
    """

    values: NDArray[np.float64]
    name: str
    source: str


def split_source(source: str) -> tuple[Path, str]:
    """`data.h5:/group/dataset` as a path and a dataset; the dataset is empty where none is named."""
    path, colon, dataset = source.rpartition(":")
    if colon and path and (dataset.startswith("/") or Path(path).exists()) and not Path(source).exists():
        return Path(path), dataset
    return Path(source), ""


def read_series(source: str, column: str = "") -> Series:
    """Read one column of a file.

    Parameters
    ----------
    source
        A .csv or text file (comma, semicolon, tab or blanks between numbers, an optional header line, #
        comments), a .npy file, or an HDF5 file with the dataset's name: data.h5:/group/dataset.
    column
        Index (from 0) or name of the column; may be left out where there is only one.

    Raises
    ------
    QuantifyError
        When the file cannot be read as numbers, the column is unclear or unknown, or values are not finite.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from quantify import read_series
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "ants.csv").write_text("time,speed\\n0,1.5\\n1,2.5\\n")
    ...     read_series(f"{folder}/ants.csv", "speed").values
    array([1.5, 2.5])
    """
    import h5py  # here: it would slow down the import of the package

    path, dataset = split_source(source)
    if path.is_file() and (dataset or h5py.is_hdf5(path)):
        try:
            with h5py.File(path, "r", locking=False) as file:
                values, name = _from_hdf5(file, path, dataset, column)
        except (OSError, RuntimeError) as error:
            raise QuantifyError(f"{path} is damaged or no HDF5 file: {error}") from error
    elif not path.exists():
        raise QuantifyError(f"{path} does not exist; check the name")
    elif path.is_dir():
        raise QuantifyError(f"{path} is a directory, not a file")
    elif path.stat().st_size == 0:
        raise QuantifyError(f"{path} is empty (0 bytes)")
    elif path.suffix == ".npy":
        values, name = pick(_from_npy(path), [], column, source)
    else:
        values, name = pick(*_from_text(path), column, source)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise QuantifyError(
            f"{source}: value {bad[0]} of column {name!r} is {values[bad[0]]}, and {bad.size} of "
            f"{values.size} are not finite; cut them out or fill them in first"
        )
    return Series(values, name, source)


def pick(
    data: NDArray[np.generic], names: Sequence[str], column: str, source: str
) -> tuple[NDArray[np.float64], str]:
    """One column of a table as float64, and its name."""
    if data.ndim == 1:
        data = data[:, None]
    if data.ndim != 2:
        raise QuantifyError(
            f"{source} has shape {data.shape}; a series has shape (samples,) or (samples, columns)"
        )
    index = find_column(data.shape[1], names, column, source)
    return np.ascontiguousarray(data[:, index], np.float64), (names[index] if len(names) else str(index))


def find_column(columns: int, names: Sequence[str], column: str, source: str) -> int:
    """Index of a column given by index or by name."""
    if not column:
        if columns > 1:
            have = ", ".join(f"{i} {name}" for i, name in enumerate(names)) or f"0 to {columns - 1}"
            raise QuantifyError(f"{source} has {columns} columns; choose one with --sensor: {have}")
        return 0
    if column in names:
        return list(names).index(column)
    if column.isdecimal():
        if int(column) >= columns:
            raise QuantifyError(
                f"{source} has {columns} columns; --sensor {column} is beyond 0 to {columns - 1}"
            )
        return int(column)
    if not names:
        raise QuantifyError(
            f"the columns of {source} have no names; --sensor takes an index from 0 to {columns - 1}"
        )
    raise QuantifyError(f"{source} has no column {column!r}; {_nearest(column, names)}")


def _from_npy(path: Path) -> NDArray[np.generic]:
    try:
        data = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError) as error:
        raise QuantifyError(f"{path} is not a readable .npy file: {error}") from error
    if not isinstance(data, np.ndarray):
        raise QuantifyError(f"{path} is an archive of several arrays (.npz); save one of them as .npy")
    if data.dtype.kind not in "fiub":
        raise QuantifyError(f"{path} holds {data.dtype}, not real numbers")
    return np.asarray(data)


def _from_text(path: Path) -> tuple[NDArray[np.generic], list[str]]:
    # A byte-order mark, as spreadsheets write it, is no part of the first number or name.
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        skip, first = 0, ""
        for line in file:
            text = line.strip()
            if text and not text.startswith("#"):
                first = text
                break
            skip += 1
    if not first:
        raise QuantifyError(f"{path} holds no numbers")
    delimiter = next((mark for mark in ",;\t" if mark in first), None)
    words = [word.strip().strip('"') for word in first.split(delimiter)]
    numbers = [_is_number(word) for word in words]
    header = not any(numbers)
    if not header and not all(numbers):
        raise QuantifyError(
            f"{path}: the first row holds {words[numbers.index(False)]!r} beside numbers; name every column "
            "or none, or fill in what is missing"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about no data: an error below
            data = np.loadtxt(
                path, delimiter=delimiter, skiprows=skip + header, ndmin=2, encoding="utf-8-sig"
            )
    except (ValueError, UnicodeDecodeError) as error:
        raise QuantifyError(f"{path} is not a table of numbers: {error}") from error
    if data.size == 0:
        raise QuantifyError(f"{path} holds a header, but no numbers")
    return data, words if header and len(words) == data.shape[1] else []


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _from_hdf5(file: h5py.File, path: Path, dataset: str, column: str) -> tuple[NDArray[np.float64], str]:
    import h5py

    found: list[str] = []
    file.visititems(
        lambda name, item: (
            found.append(f"/{name}") if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu" else None
        )
    )
    if not dataset:
        if len(found) != 1:
            listed = ", ".join(found[:8]) or "none"
            raise QuantifyError(
                f"{path} holds {len(found)} datasets of numbers; name one as {path}:/name: {listed}"
            )
        dataset = found[0]
    if f"/{dataset.strip('/')}" not in found:
        raise QuantifyError(f"{path} holds no dataset {dataset!r}; {_nearest(dataset, found)}")
    data = file[dataset]
    for source in data.virtual_sources() if data.is_virtual else ():
        if source.file_name != "." and not (path.parent / source.file_name).exists():
            raise QuantifyError(f"{path}:{dataset} is made of {source.file_name}, which does not exist")
    if "commit" in file and "every" in data.attrs:
        raise QuantifyError(
            f"{path} is a run that is not finished: rows beyond its end are empty; run the command that "
            "writes it again first"
        )
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in data.attrs.get("names", ())]
    if data.ndim != 2:
        return pick(data[()], names, column, f"{path}:{dataset}")
    index = find_column(data.shape[1], names, column, f"{path}:{dataset}")
    # One column only: a recording of a million samples need not fit into memory as a whole.
    return data[:, index].astype(np.float64), names[index] if names else str(index)


def _nearest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {', '.join(known)}"
