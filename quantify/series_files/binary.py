"""Arrays in files: .npy, .npz and HDF5."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quantify.aliases import Floats
from quantify.errors import QuantifyError
from quantify.series_files.table import Column, Table, nearest, shortened

if TYPE_CHECKING:
    import h5py

NPY, NPZ, HDF5 = b"\x93NUMPY", b"PK\x03\x04", b"\x89HDF\r\n\x1a\n"


def table_of_array(data: NDArray[Any], names: Sequence[str], source: str) -> Table:
    """An array of shape (samples,) or (samples, columns), or a structured one, as a table."""
    if data.dtype.names and data.ndim == 1:
        fields = {name: data[name] for name in data.dtype.names if data[name].ndim == 1}
        return table_of_arrays(fields, source)
    if data.ndim == 1:
        data = data[:, None]
    if data.ndim != 2 or data.size == 0:
        raise QuantifyError(
            f"{source} has shape {data.shape}; a series has shape (samples,) or (samples, columns)"
        )
    if data.dtype.kind not in "fiubmM":
        raise QuantifyError(f"{source} holds {data.dtype}, not real numbers")
    if len(names) != data.shape[1]:
        names = ()
    return Table(data.shape[1], names, source, lambda indices: [column_of(data[:, i]) for i in indices])


def table_of_arrays(arrays: dict[str, NDArray[Any]], source: str) -> Table:
    """Arrays of one length as the columns of a table."""
    columns = list(arrays.values())
    return Table(
        len(columns), tuple(arrays), source, lambda indices: [column_of(columns[i]) for i in indices]
    )


def column_of(values: NDArray[Any]) -> Column:
    """One array as a column: numbers, times, or text that says what it begins with."""
    if values.dtype.kind in "mM":
        return Column(seconds(values), "time" if values.dtype.kind == "M" else "number")
    if values.dtype.kind in "fiub":
        return Column(np.ascontiguousarray(values, np.float64))
    begin = f"{str(values[0])[:40]!r} in its first row" if len(values) else ""
    return Column(np.full(len(values), np.nan), "text", begin)


def seconds(values: NDArray[Any]) -> Floats:
    """Dates (since 1970) or durations in seconds; NaN where there is none."""
    unit = "datetime64" if values.dtype.kind == "M" else "timedelta64"
    whole = np.asarray(values, f"{unit}[us]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)


def read_npy(data: bytes | Path, source: str) -> Table:
    """An array as numpy.save writes it."""
    try:
        found = np.load(_file(data), mmap_mode=None if isinstance(data, bytes) else "r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError, OverflowError) as error:
        raise QuantifyError(f"{source} is not a readable .npy file: {error}") from error
    return table_of_array(np.asarray(found), (), source)


def read_npz(data: bytes | Path, source: str, name: str) -> Table:
    """One array of an archive of numpy.savez; or all of them, if they are columns of one length."""
    try:
        with np.load(_file(data), allow_pickle=False) as archive:
            wanted = [name.strip("/")] if name else archive.files
            if missing := [one for one in wanted if one not in archive.files]:
                raise QuantifyError(f"{source} holds no array {missing[0]!r}; {nearest(name, archive.files)}")
            arrays = {one: archive[one] for one in wanted}
    except (
        ValueError,
        OSError,
        EOFError,
        KeyError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
    ) as error:
        raise QuantifyError(f"{source} is not a readable .npz file: {error}") from error
    if len(arrays) == 1:
        return table_of_array(next(iter(arrays.values())), (), source)
    columns = {one: array for one, array in arrays.items() if array.ndim == 1 and len(array) > 1}
    if not columns or len({len(array) for array in columns.values()}) > 1 or len(columns) < len(arrays):
        listed = ", ".join(f"{one} {array.shape}" for one, array in arrays.items()) or "none"
        raise QuantifyError(
            f"{source} holds {len(arrays)} arrays; name one as {source}:NAME: {shortened(listed)}"
        )
    return table_of_arrays(columns, source)


def _file(data: bytes | Path) -> Any:
    return io.BytesIO(data) if isinstance(data, bytes) else data


def read_hdf5(data: bytes | Path, source: str, dataset: str) -> Table:
    """One dataset of an HDF5 file; only the columns that are asked for are read."""
    with _opened(data, source) as file:
        dataset = _find_dataset(file, source, dataset)
        found = file[dataset]
        _check_whole(file, found, data, f"{source}:{dataset}")
        attrs = dict(found.parent.attrs) | dict(found.attrs)
        names = [one.decode() if isinstance(one, bytes) else str(one) for one in found.attrs.get("names", ())]
        if found.ndim != 2:
            return table_of_array(found[()], names, f"{source}:{dataset}")
        width = found.shape[1]

    def read(indices: Sequence[int]) -> list[Column]:
        # One column at a time: a recording of a million samples need not fit into memory as a whole.
        with _opened(data, source) as file:
            return [column_of(file[dataset][:, i]) for i in indices]

    rate = attrs.get("rate_hz")
    stated = float(rate) if isinstance(rate, int | float | np.number) and rate > 0 else None
    names = names if len(names) == width else []
    return Table(width, names, f"{source}:{dataset}", read, rate=stated)


class _opened:
    """An HDF5 file that is open; what HDF5 refuses is said in words."""

    def __init__(self, data: bytes | Path, source: str) -> None:
        self.data, self.source = data, source

    def __enter__(self) -> h5py.File:
        import h5py  # here: it would slow down the import of the package

        try:
            self.file = h5py.File(_file(self.data), "r", locking=False)
        except (OSError, RuntimeError) as error:
            raise QuantifyError(f"{self.source} is damaged or no HDF5 file: {error}") from error
        return self.file

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.file.close()
        if isinstance(error, OSError | RuntimeError | UnicodeDecodeError):
            raise QuantifyError(f"{self.source} is damaged or no HDF5 file: {error}") from error


def _find_dataset(file: h5py.File, source: str, dataset: str) -> str:
    import h5py

    found: list[str] = []

    def note(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and (item.dtype.kind in "fiu" or item.dtype.names):
            found.append(f"/{name}")

    file.visititems(note)
    if not dataset:
        if len(found) != 1:
            listed = ", ".join(found[:8]) or "none"
            raise QuantifyError(
                f"{source} holds {len(found)} datasets of numbers; name one as {source}:/name: {listed}"
            )
        return found[0]
    if f"/{dataset.strip('/')}" not in found:
        raise QuantifyError(f"{source} holds no dataset {dataset!r}; {nearest(dataset, found)}")
    return dataset


def _check_part(file: h5py.File, part: Any, folder: Path, source: str) -> None:
    """What a virtual dataset is made of is there; HDF5 would fill in what is not."""
    words = f"{source} is made of {part.file_name}"
    if part.file_name == ".":
        _check_extent(file, part, words)
        return
    if not (folder / part.file_name).exists():
        raise QuantifyError(f"{words}, which does not exist")
    with _opened(folder / part.file_name, part.file_name) as other:
        _check_extent(other, part, words)


def _check_extent(file: h5py.File, part: Any, words: str) -> None:
    item = file.get(part.dset_name)
    shape = getattr(item, "shape", None)
    try:
        last = part.src_space.get_select_bounds()[1]
        there = shape is not None and len(shape) == len(last) and all(np.less(last, shape))
    except (ValueError, RuntimeError):  # all of it, whose size is not stored, or what there is in the end
        there = shape is not None and item.size >= _points(part)
    if not there:
        raise QuantifyError(f"{words}, in which {part.dset_name} is missing or too short")


def _points(part: Any) -> int:
    """How many numbers of a virtual dataset are taken from a part; 0 if it grows with the part."""
    try:
        return int(part.vspace.get_select_npoints())
    except RuntimeError:
        return 0


def _check_whole(file: h5py.File, found: h5py.Dataset, data: bytes | Path, source: str) -> None:
    """Rows that are not there are not read as numbers."""
    parts = found.virtual_sources() if found.is_virtual else []
    for part in parts:
        _check_part(file, part, data.parent if isinstance(data, Path) else Path(), source)
    points = [_points(part) for part in parts]
    if parts and all(points) and sum(points) < found.size:
        raise QuantifyError(f"{source} is made of parts that do not cover it; put together all that it has")
    if "commit" in file and "every" in found.attrs:
        raise QuantifyError(
            f"{source} is a run that is not finished: rows beyond its end are empty; run the command that "
            "writes it again first"
        )
