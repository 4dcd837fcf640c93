"""HDF5 such that damage is found: what is written here can be checked when it is read.

HDF5 checks its own tables only in the file format of version 1.10 and later, and never the heap that holds
strings of variable length: a few zeros there make the library search for ever. So files are written in that
format, strings have a fixed length, and small arrays carry a CRC-32 (large ones are stored in chunks with
checksums). Reading takes strings of both kinds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from experiments.errors import ExperimentError, FileError

SIGNATURE = b"\x89HDF\r\n\x1a\n"
CHECKSUM = "crc32"


def writable(path: Path, mode: str) -> h5py.File:
    """A file to write to ("w") or to change ("r+"), with checksums on all its tables."""
    return h5py.File(path, mode, libver=("v110", "v110"))


def open_hdf5(path: Path) -> h5py.File:
    """Open an HDF5 file for reading, or say in plain words why not."""
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name (`selforg learn` makes run files)")
    if path.is_dir():
        raise FileError(f"{path} is a directory, not a file")
    if path.stat().st_size == 0:
        raise FileError(f"{path} is empty (0 bytes); nothing can be saved")
    try:
        return h5py.File(path, "r", locking=False)
    except PermissionError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    except OSError as error:
        with open(path, "rb") as raw:
            if raw.read(len(SIGNATURE)) != SIGNATURE:
                ours = path.suffix in (".h5", ".hdf5", ".part")
                destroyed = ", or its beginning is destroyed: nothing can be saved" if ours else ""
                raise FileError(f"{path} is not an HDF5 file{destroyed}") from error
        raise damaged(path, error) from error


@contextmanager
def reading(path: Path) -> Iterator[h5py.File]:
    """Read from a file; whatever a damaged one raises comes out as a clear error."""
    with open_hdf5(path) as file, sound(path):
        yield file


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """Turn anything that reading a damaged file raises into a clear error."""
    try:
        yield
    except ExperimentError:
        raise
    except Exception as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception | str) -> FileError:
    """The error for a broken file; it says how many rows `selforg salvage` would save."""
    from experiments.runfiles.salvage import survey

    found = survey(path)
    if found:
        rows = ", ".join(f"{count} rows of {name}" for name, count in found.items())
        rescue = f"{rows} can be saved with `selforg salvage {path} NEW.h5`"
    else:
        rescue = "nothing can be saved"
    detail = (str(error).strip("\"'").splitlines() or [type(error).__name__])[0]
    return FileError(f"{path} is damaged ({detail}); {rescue}")


def put_attributes(item: h5py.Group | h5py.Dataset, values: Mapping[str, Any]) -> None:
    """Set attributes; strings and lists of strings get a fixed length."""
    for key, value in values.items():
        item.attrs[key] = _fixed(value)


def attributes(item: h5py.Group | h5py.Dataset) -> dict[str, Any]:
    """All attributes, strings as str and lists of strings as tuples of str."""
    return {key: text(value) for key, value in item.attrs.items()}


def put(group: h5py.Group, name: str, value: NDArray[Any] | str) -> None:
    """Store a small array or a text as a dataset that carries its checksum."""
    group[name] = _fixed(value)
    group[name].attrs[CHECKSUM] = _crc(group[name])


def get(dataset: h5py.Dataset) -> Any:
    """An array, or a text as str; raises ValueError if it does not agree with its checksum."""
    if not intact(dataset):
        raise ValueError(f"{dataset.name} does not agree with its checksum")
    return text(dataset[()])


def intact(dataset: h5py.Dataset) -> bool:
    """Whether a dataset agrees with the checksum it carries, if it carries one."""
    return CHECKSUM not in dataset.attrs or int(dataset.attrs[CHECKSUM]) == _crc(dataset)


def _crc(dataset: h5py.Dataset) -> int:
    return zlib.crc32(np.asarray(dataset[()]).tobytes())


def _fixed(value: Any) -> Any:
    if isinstance(value, str):
        data = value.encode()
        return np.array(data, dtype=h5py.string_dtype("utf-8", max(1, len(data))))
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        parts = [part.encode() for part in value]
        length = max(1, *map(len, parts))
        return np.array(parts, dtype=h5py.string_dtype("utf-8", length))
    return value


def text(value: Any) -> Any:
    """A value as h5py reads it, with str in place of bytes and tuples of str in place of their arrays."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        return tuple(text(part) for part in value)
    return value
