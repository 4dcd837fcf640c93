"""A file that grows while an experiment runs, and that `kill -9` cannot break.

The sizes of an experiment are known before it starts. So everything HDF5 needs to find the data (its
metadata) is written once, before the first step, and the space for all rows is reserved. From then on rows
are written in place, with plain `pwrite`, and HDF5 itself is not involved: there is no moment at which the
file does not open. One 32-byte record, `commit`, says how many steps are valid. It is written last, after
the rows it speaks of are on the disk. A checkpoint (the state of body and controller) goes into one of two
slots in turn, and the same record says which one counts, so that rows and checkpoint never disagree.

When the experiment is over, `contents` copies the rows into the compressed file that stays.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from experiments.errors import FileError
from experiments.runfiles.atomic import is_still, replacing
from experiments.runfiles.hdf5 import attributes, put_attributes, reading, writable

Arrays = dict[str, NDArray[Any]]
NUMBER = np.dtype("<i8")
AT = "at"
"""Entry of a checkpoint: the step that it belongs to, which may be before the last valid one."""


@dataclass(frozen=True)
class Track:
    """One quantity recorded over time: a row of `shape` at every `every`-th step, beginning with step 0."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    every: int = 1
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, steps: int) -> int:
        """Number of rows after `steps` steps."""
        return -(-steps // self.every)


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Arrays as the bytes of an .npz file (plain arrays only: nothing is pickled)."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{key: np.asarray(value) for key, value in arrays.items()})
    return buffer.getvalue()


def unpack(data: bytes) -> Arrays:
    """Inverse of `pack`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


class GrowingFile(AbstractContextManager["GrowingFile"]):
    """An experiment in progress. Make one with `create` or `open`; close it, or use it in a `with` block."""

    def __init__(self, path: Path, fd: int, layout: Mapping[str, Any], offsets: Mapping[str, int]) -> None:
        self.path = path
        self.steps = 0
        self._fd = fd
        self._offsets = offsets
        self._tracks = {name: (every, width) for name, every, width in layout["tracks"]}
        self._capacity: int = layout["capacity"]
        self._slot = 1
        # Bytes of each track that were written so far, and their CRC-32.
        self._sums = {name: (0, 0) for name in self._tracks}

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        attrs: Mapping[str, Any],
        group: str,
        tracks: list[Track],
        steps: int,
        state: Mapping[str, Any],
        marks: Mapping[str, int] | None = None,
        group_attrs: Mapping[str, Any] | None = None,
        begin: Callable[[GrowingFile], None] | None = None,
        replace: bool = False,
    ) -> GrowingFile:
        """Reserve a file for `steps` steps and commit step 0; it appears at `path` only when it is whole.

        `group` holds the tracks. `state` is the first checkpoint; slots get room for twice its size. `marks`
        names the states to be kept for good, with the step of each (the frozen controllers). `begin` writes
        and commits what is known of a longer run already. With `replace`, what stands at `path` goes.
        """
        marks, capacity = dict(marks or {}), 2 * len(pack(state)) + 2**16
        rows = [(track.name, track.every, np.empty(track.shape, track.dtype).nbytes) for track in tracks]
        layout = {"group": group, "steps": steps, "capacity": capacity, "tracks": rows, "marks": marks}
        size = sum(width * -(-steps // every) for _, every, width in rows)
        # The finished file is written beside this one before it replaces it.
        check_free_space(path, 2 * size + (2 + len(marks)) * capacity + 2**20)
        with replacing(path, f"it has {size / 2**20:.1f} MiB of rows", new=not replace) as temporary:
            make_sure_of_room(temporary, size + (2 + len(marks)) * capacity)
            with writable(temporary, "w", 2**20) as file:
                put_attributes(file, {**attrs, "layout": json.dumps(layout)})
                # What the rest is worth nothing without comes first: the end of a file is lost most easily.
                _reserve(file, "commit", (4,), "<i8")
                for name in marks:
                    _reserve(file, name, (capacity,), "u1")
                put_attributes(file.require_group(group), group_attrs or {})
                for track in tracks:
                    shape = (track.rows(steps), *track.shape)
                    data = _reserve(file, f"{group}/{track.name}", shape, track.dtype)
                    put_attributes(data, {**track.attrs, "every": track.every})
                for name in ("checkpoint/A", "checkpoint/B"):
                    _reserve(file, name, (capacity,), "u1")
            with open(temporary, "r+b") as raw:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(raw.fileno(), 0, os.path.getsize(temporary))
            with cls._open(temporary) as work:
                if begin is None:
                    work.commit(0, state)
                else:
                    begin(work)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> GrowingFile:
        """Continue a file at its last commit; what was written after it is forgotten."""
        work = cls._open(path)
        if (names := os.fstat(work._fd).st_nlink) > 1:
            work.close()
            raise FileError(
                f"{path} has {names} names (hard links), and all would be written; copy it instead"
            )
        work.steps, work._slot, *_ = read_commit(path)
        state = read_state(path)
        for name in work._sums:
            if f"written/{name}" in state:  # not in files of schema 1
                length, checksum = (int(x) for x in state[f"written/{name}"])
                if _crc_of(path, work._offsets[name], length) != checksum:
                    work.close()
                    raise FileError(
                        f"{path} is damaged: rows of {name} do not agree with their checksum; remove it and "
                        "run the same command again, or look at what `selforg salvage` can save"
                    )
                work._sums[name] = (length, checksum)
        return work

    @classmethod
    def _open(cls, path: Path) -> GrowingFile:
        with reading(path) as file:
            layout = json.loads(attributes(file)["layout"])
            places = {name: f"{layout['group']}/{name}" for name, _, _ in layout["tracks"]}
            places |= {name: name for name in ("checkpoint/A", "checkpoint/B", "commit", *layout["marks"])}
            offsets = {name: file[place].id.get_offset() or 0 for name, place in places.items()}
        return cls(path, os.open(path, os.O_RDWR), layout, offsets)

    def append(self, name: str, rows: NDArray[Any], step: int) -> None:
        """Write the next rows of a track, which belong to `step` and the following steps."""
        every, width = self._tracks[name]
        row, data = -(-step // every), rows.tobytes()
        self._write(self._offsets[name] + row * width, data)
        length, checksum = self._sums[name]
        self._sums[name] = (length + len(data), zlib.crc32(data, checksum))

    def mark(self, name: str, state: Mapping[str, Any]) -> None:
        """Keep a state for good; it counts once a commit reaches its step."""
        data = self._fitting(pack(state))
        self._write(self._offsets[name], np.array([len(data), zlib.crc32(data)], NUMBER).tobytes() + data)

    def commit(self, steps: int, state: Mapping[str, Any]) -> None:
        """Make everything up to `steps` valid, together with the state from which the run would go on."""
        written = {f"written/{name}": np.array(pair) for name, pair in self._sums.items()}
        data, slot = self._fitting(pack({**state, **written})), 1 - self._slot
        self._write(self._offsets[f"checkpoint/{'AB'[slot]}"], data)
        os.fsync(self._fd)
        record = np.array([steps, slot, len(data), zlib.crc32(data)], NUMBER)
        self._write(self._offsets["commit"], record.tobytes())
        self.steps, self._slot = steps, slot
        self.check_place()

    def check_place(self) -> None:
        """Notice that the file was deleted or moved away; what it holds is then copied beside."""
        if is_still(self.path, self._fd):
            return
        tried = (
            self.path.with_name(f"{self.path.stem}.saved{n or ''}{self.path.suffix}") for n in range(100)
        )
        copy = next(path for path in tried if not path.exists())
        with replacing(copy, "what was there is lost", new=True) as temporary, open(temporary, "wb") as raw:
            size, at = os.fstat(self._fd).st_size, 0
            while at < size:
                at += raw.write(os.pread(self._fd, 2**20, at))
        raise FileError(
            f"{self.path} was deleted, moved or replaced while it was written; its {self.steps} steps are in "
            f"{copy}: move it to where it was and run the same command again to go on"
        )

    def close(self) -> None:
        """Give the file back; without a commit, nothing is added."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fitting(self, data: bytes) -> bytes:
        if len(data) + 2 * NUMBER.itemsize > self._capacity:
            raise FileError(
                f"the state of body and controller has grown to {len(data)} bytes, but {self.path} has "
                f"room for {self._capacity}; let the controller keep a state of bounded size"
            )
        return data

    def _write(self, offset: int, data: bytes) -> None:
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._fd, data[written:], offset + written)
        except OSError as error:
            raise FileError(
                f"cannot write to {self.path}: {error.strerror}; all {self.steps} committed steps are "
                "readable; make room and run the same command again to go on"
            ) from error


def committed(path: Path) -> int:
    """Steps committed in a growing file: 0 before it exists, more than anybody wants once it is finished."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            return int(file["commit"][0]) if "commit" in file else 2**62
    except FileNotFoundError:
        return 0


def read_commit(path: Path) -> tuple[int, int, int, int]:
    """Valid steps of a growing file, the slot of its checkpoint, and that checkpoint's length and CRC-32."""
    with reading(path) as file:
        return commit_in(file)


def commit_in(file: h5py.File) -> tuple[int, int, int, int]:
    """The same of a file that is open; raises ValueError if the record cannot be one."""
    steps, slot, length, checksum = (int(x) for x in file["commit"][:])
    if slot not in (0, 1) or length < 1 or steps < 0:
        raise ValueError("its commit record is destroyed")
    return steps, slot, length, checksum


def read_state(path: Path) -> Arrays:
    """The checkpoint of a growing file's last commit."""
    with reading(path) as file:
        return state_in(file)


def state_in(file: h5py.File) -> Arrays:
    """The checkpoint of a growing file that is open; raises ValueError if it is damaged."""
    _, slot, length, checksum = commit_in(file)
    data = file[f"checkpoint/{'AB'[slot]}"][:length].tobytes()
    if zlib.crc32(data) != checksum:
        raise ValueError("its checkpoint has a wrong checksum")
    return unpack(data)


def agrees(rows: h5py.Dataset, count: int, state: Arrays) -> bool:
    """Whether the first rows of a track are those that its file had written when the state was stored."""
    key = f"written/{rows.name.rpartition('/')[2]}"
    if key not in state:
        return False
    checksum = length = 0
    for start in range(0, count, 2**14):
        piece = rows[start : min(start + 2**14, count)].tobytes()
        checksum, length = zlib.crc32(piece, checksum), length + len(piece)
    return [length, checksum] == [int(x) for x in state[key]]


def _crc_of(path: Path, offset: int, length: int) -> int:
    """CRC-32 of a stretch of a file, read in pieces."""
    checksum = 0
    with open(path, "rb") as raw:
        raw.seek(offset)
        while length > 0 and (piece := raw.read(min(length, 2**20))):
            checksum, length = zlib.crc32(piece, checksum), length - len(piece)
    return checksum


def read_mark(dataset: h5py.Dataset) -> Arrays:
    """A state that was kept with `GrowingFile.mark`; raises ValueError if it is not there or damaged."""
    head = 2 * NUMBER.itemsize
    length, checksum = (int(x) for x in np.frombuffer(dataset[:head].tobytes(), NUMBER))
    data = dataset[head : head + length].tobytes()
    if not length or zlib.crc32(data) != checksum:
        raise ValueError(f"{dataset.name} does not agree with its checksum")
    return unpack(data)


def check_free_space(path: Path, size: int) -> None:
    """Refuse to start what the disk cannot hold."""
    free = shutil.disk_usage(path.parent).free
    if size > free:
        raise FileError(
            f"{path} needs {size / 2**20:.0f} MiB, but its disk has {free / 2**20:.0f} MiB free; "
            "make room, record fewer samples, or choose another disk"
        )


def make_sure_of_room(path: Path, size: int) -> None:
    """Find out whether a new file may have so many bytes: HDF5 does not survive a failed write."""
    with open(path, "wb") as raw:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(raw.fileno(), 0, size)
        os.ftruncate(raw.fileno(), 0)


def _reserve(file: h5py.File, name: str, shape: tuple[int, ...], dtype: str) -> h5py.Dataset:
    """A contiguous dataset whose place in the file is fixed now and never moves."""
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    return file.create_dataset(name, shape, dtype, dcpl=creation, fill_time="never", track_times=True)
