"""HDF5 such that damage is found: what is written here can be checked when it is read.

HDF5 checks its own tables only in the file format of version 1.10 and later, and never the heap that holds
strings of variable length: a few zeros there make the library search for ever. So files are written in that
format, strings have a fixed length, and small arrays carry a CRC-32 (large ones are stored in chunks with
checksums). Reading takes strings of both kinds. Of a damaged file, a piece that cannot be read is lost, and
the next is tried.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np
from numpy.typing import NDArray

from experiments.errors import ExperimentError, FileError

CHECKSUM = "crc32"
COMPRESSED = {"compression": "gzip", "compression_opts": 1, "shuffle": True, "fletcher32": True}
SIGNATURE = b"\x89HDF\r\n\x1a\n"
# What h5py, and our own checks of what it gave, raise about a damaged file. Anything else is a mistake in the
# program and is to be seen as one.
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, EOFError, OverflowError, zlib.error)


def writable(path: Path, mode: str, size: int = 0) -> h5py.File:
    """A file to write to ("w") or to change ("r+"), with checksums on all its tables.

    The tables of a file of about `size` bytes stand together at its beginning, and chunks in the order in
    which they are written, without a cache: if the end is cut off, what is before can be found.
    """
    options = {"meta_block_size": min(2**18, max(2**14, size // 32)), "rdcc_nbytes": 0}
    return h5py.File(path, mode, libver=("v110", "v110"), locking=False, **options)


def copy_in_turn(source: h5py.Group, target: h5py.Group) -> None:
    """Copy chunked datasets as they are, in the order of time: rows of all of them are before a cut."""
    copies, chunks = {}, []
    for name, data in members(source):
        if data.chunks is None:
            source.copy(name, target, name)
            continue
        shape, plan = data.id.get_space(), data.id.get_create_plist()
        made = h5py.h5d.create(target.id, name.encode(), data.id.get_type(), shape, plan)
        copies[name] = h5py.Dataset(made)
        put_attributes(copies[name], attributes(data))
        starts = range(0, data.shape[0], data.chunks[0])
        chunks += [(start / data.shape[0], name, (start, *[0] * (data.ndim - 1))) for start in starts]
    for _, name, start in sorted(chunks):
        mask, content = source[name].id.read_direct_chunk(start)
        copies[name].id.write_direct_chunk(start, content, mask)


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
    with open_hdf5(path) as file, naming_damage(path):
        yield file


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Turn what reading a damaged file raises into a clear error."""
    try:
        yield
    except ExperimentError:
        raise
    except DAMAGE as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> FileError:
    """The error for a broken file; it says how many rows `selforg salvage` would save."""
    found = []
    with opened_as_far_as_possible(path) as file:
        for name, item in walk(file) if file is not None else ():
            recording, _, track = name.rpartition("/")
            if track == "sensors" and isinstance(item, h5py.Dataset) and not name.startswith("frozen/"):
                rows = readable_rows(item, path.stat().st_size)
                found += [f"{rows} rows of {recording}"] if rows else []
    saved = f"{', '.join(found)} can be saved with `selforg salvage {path} NEW.h5`"
    detail = (str(error).strip("\"'").splitlines() or [type(error).__name__])[0]
    return FileError(f"{path} is damaged ({detail}); {saved if found else 'nothing can be saved'}")


def members(group: h5py.Group | Mapping[str, Any]) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """Name and object of all that a group holds; raises ValueError if one of them is gone."""
    for name, item in group.items():
        if item is None:
            raise ValueError(f"{getattr(group, 'name', '')}/{name} is gone")
        yield name, item


def branch(file: h5py.File, name: str) -> Mapping[str, Any]:
    """A group at the top of a file, empty if it has none; raises KeyError for one that cannot be read.

    `get` and `in` of h5py take what is destroyed for what was never there.
    """
    return file[name] if name in list(file) else {}


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
    parts = [value] if isinstance(value, str) else value
    if isinstance(parts, list | tuple) and parts and all(isinstance(part, str) for part in parts):
        encoded = np.char.encode(value, "utf-8")
        return encoded.astype(h5py.string_dtype("utf-8", max(1, encoded.itemsize)))
    return value


def text(value: Any) -> Any:
    """A value as h5py reads it, with str in place of bytes and tuples of str in place of their arrays."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        return tuple(text(part) for part in value)
    return value


class _Padded(io.RawIOBase):
    """A file of which everything behind its end, up to the length it should have, reads as zeros."""

    def __init__(self, raw: BinaryIO) -> None:
        self._file = raw.fileno()
        self._at, self._size = 0, os.fstat(self._file).st_size
        # Where the superblock keeps the end of the file: version 3 is ours, version 0 that of older files.
        head, places = os.pread(self._file, 56, 0), {0: 40, 2: 28, 3: 28}
        if len(head) == 56 and head.startswith(SIGNATURE) and head[8] in places:
            self._size = max(self._size, *struct.unpack_from("<Q", head, places[head[8]]))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = max(0, min(len(buffer), self._size - self._at))
        buffer[:wanted] = os.pread(self._file, wanted, self._at).ljust(wanted, b"\0")
        self._at += wanted
        return wanted


@contextmanager
def opened_as_far_as_possible(path: Path) -> Iterator[h5py.File | None]:
    """A damaged file as if it had its full length, without a copy; None if HDF5 cannot open it at all."""
    with open(path, "rb") as raw:
        opened = nullcontext()
        with suppress(*DAMAGE):
            opened = h5py.File(_Padded(raw), "r")
        with opened as file:
            yield file


def walk(
    group: h5py.Group, prefix: str = "", above: tuple[int, ...] = ()
) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """All objects that can be reached; a branch that cannot be read, or leads back, is passed over.

    `above` holds the addresses of the groups on the way here.
    """
    names = []
    with suppress(*DAMAGE):
        names = [name for name in group if isinstance(name, str)]  # bytes: not even the name is intact
        above = (*above, h5py.h5o.get_info(group.id).addr)
    for name in names:
        with suppress(*DAMAGE):
            item = group[name]
            if not isinstance(item, h5py.Group):
                yield prefix + name, item
            elif h5py.h5o.get_info(item.id).addr not in above:
                yield prefix + name, item
                yield from walk(item, f"{prefix}{name}/", above)


def readable_rows(dataset: h5py.Dataset, size: int) -> int:
    """Leading rows that lie before the end of the damaged file and agree with their checksums."""
    good = 0
    with suppress(*DAMAGE):
        if dataset.chunks is None:
            return _contiguous_rows(dataset, size)
        while good < dataset.shape[0]:
            # A chunk that the index does not know reads as zeros; one beyond the end is not data either.
            chunk = dataset.id.get_chunk_info_by_coord((good, *[0] * (dataset.ndim - 1)))
            if chunk.byte_offset is None or chunk.byte_offset + chunk.size > size:
                break
            stop = min(good + dataset.chunks[0], dataset.shape[0])
            dataset[good:stop]
            good = stop
    return good


def _contiguous_rows(dataset: h5py.Dataset, size: int) -> int:
    """Valid rows of a dataset whose rows follow one another in the file."""
    offset = dataset.id.get_offset()
    if offset is None or dataset.shape == ():
        return 0
    width = dataset.dtype.itemsize * int(np.prod(dataset.shape[1:], dtype=int))
    rows = min(int(dataset.shape[0]), max(0, size - offset) // max(1, width))
    if _commit_is_lost(dataset, size):
        return _written_rows(dataset, rows)
    return min(rows, rows_committed(dataset, size))


def _commit_is_lost(dataset: h5py.Dataset, size: int) -> bool:
    """Whether the commit record of a growing file is cut off: files of before have it at their end."""
    commit = dataset.file.get("commit")
    return commit is not None and commit.id.get_offset() + commit.nbytes > size


def rows_committed(dataset: h5py.Dataset, size: int) -> int:
    """Rows that a dataset of a damaged file of so many bytes had, as far as that is known."""
    if not dataset.shape:
        return 0
    with suppress(*DAMAGE):
        if "every" in dataset.attrs and "commit" in dataset.file and not _commit_is_lost(dataset, size):
            steps = int(dataset.file["commit"][0]) - int(dataset.parent.attrs.get("transient", 0))
            return min(int(dataset.shape[0]), -(-max(0, steps) // max(1, int(dataset.attrs["every"]))))
    return int(dataset.shape[0])


def _written_rows(dataset: h5py.Dataset, rows: int) -> int:
    """Rows of so many up to the last that is not all zeros, as reserved space is."""
    for stop in range(rows, 0, -4096):
        start = max(0, stop - 4096)
        used = np.flatnonzero(dataset[start:stop].reshape(stop - start, -1).any(axis=1))
        if used.size:
            return start + int(used[-1]) + 1
    return 0
