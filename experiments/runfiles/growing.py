"""A file that grows while an experiment runs, and that `kill -9` cannot break.

The sizes of an experiment are known before it starts. So everything HDF5 needs to find the data (its
metadata) is written once, before the first step, and the space for all rows is reserved. From then on rows
are written in place, with plain `pwrite`, and HDF5 itself is not involved: there is no moment at which the
file does not open. One 32-byte record, `commit`, says how many steps are valid. It is written last, after
the rows it speaks of are on the disk. A checkpoint (the state of body and controller) goes into one of two
slots in turn, and the same record says which one counts, so that rows and checkpoint never disagree.

When the experiment is over, `run_file` copies the rows into the compressed file that stays.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from experiments.errors import FileError
from experiments.runfiles.hdf5 import attributes, put_attributes, reading, writable

Arrays = dict[str, NDArray[Any]]
NUMBER = np.dtype("<i8")


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


class WorkFile:
    """An experiment in progress. Make one with `create` or `open`; close it, or use it in a `with` block."""

    def __init__(self, path: Path, fd: int, layout: Mapping[str, Any], offsets: Mapping[str, int]) -> None:
        self.path = path
        self.steps = 0
        self._fd = fd
        self._offsets = offsets
        self._tracks = {name: (every, width) for name, every, width in layout["tracks"]}
        self._marks: dict[str, int] = layout["marks"]
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
    ) -> WorkFile:
        """Reserve a file for `steps` steps and commit step 0.

        Parameters
        ----------
        path
            Where the file goes; it appears there only when it is whole.
        attrs, group_attrs
            Attributes of the file and of `group`.
        group
            Group that holds the tracks.
        tracks
            What is recorded.
        steps
            Length of the experiment.
        state
            The first checkpoint. Slots get room for twice its size.
        marks
            Names of states to be kept for good, and the step of each (the frozen controllers).
        """
        first = pack(state)
        capacity = 2 * len(first) + 2**16
        layout: dict[str, Any] = {
            "group": group,
            "steps": steps,
            "capacity": capacity,
            "tracks": [
                [t.name, t.every, int(np.dtype(t.dtype).itemsize * np.prod(t.shape, dtype=int))]
                for t in tracks
            ],
            "marks": dict(marks or {}),
        }
        size = sum(width * -(-steps // every) for _, every, width in layout["tracks"])
        # The finished file is written beside this one before it replaces it.
        check_free_space(path, 2 * size + (2 + len(layout["marks"])) * capacity + 2**20)
        temporary = path.with_name(path.name + ".tmp")
        try:
            with writable(temporary, "w") as file:
                put_attributes(file, {**attrs, "layout": json.dumps(layout)})
                put_attributes(file.require_group(group), group_attrs or {})
                for track in tracks:
                    data = _reserve(
                        file, f"{group}/{track.name}", (track.rows(steps), *track.shape), track.dtype
                    )
                    put_attributes(data, {**track.attrs, "every": track.every})
                for name in ("checkpoint/A", "checkpoint/B", *layout["marks"]):
                    _reserve(file, name, (capacity,), "u1")
                _reserve(file, "commit", (4,), "<i8")
            with open(temporary, "r+b") as raw:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(raw.fileno(), 0, os.path.getsize(temporary))
            with cls._open(temporary) as work:
                work.commit(0, state)
            os.replace(temporary, path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise FileError(
                f"cannot create {path} with {size / 2**20:.1f} MiB of rows: {error.strerror or error}"
            ) from error
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> WorkFile:
        """Continue a file at its last commit; what was written after it is forgotten."""
        work = cls._open(path)
        work.steps, work._slot, _ = read_commit(path)
        state = work.state()
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
    def _open(cls, path: Path) -> WorkFile:
        with reading(path) as file:
            layout = json.loads(attributes(file)["layout"])
            names = [f"{layout['group']}/{name}" for name, _, _ in layout["tracks"]]
            names += ["checkpoint/A", "checkpoint/B", "commit", *layout["marks"]]
            offsets = {name: file[name].id.get_offset() or 0 for name in names}
        for entry in layout["tracks"]:
            offsets[entry[0]] = offsets.pop(f"{layout['group']}/{entry[0]}")
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
        data = self._fitting(pack({**state, **written}))
        slot = 1 - self._slot
        self._write(self._offsets[f"checkpoint/{'AB'[slot]}"], data)
        os.fsync(self._fd)
        record = np.array([steps, slot, len(data), zlib.crc32(data)], NUMBER)
        self._write(self._offsets["commit"], record.tobytes())
        self.steps, self._slot = steps, slot

    def state(self) -> Arrays:
        """The checkpoint of the last commit."""
        return read_state(self.path)

    def close(self) -> None:
        """Give the file back; without a commit, nothing is added."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> WorkFile:
        return self

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


def read_commit(path: Path) -> tuple[int, int, int]:
    """Valid steps of a work file, the slot of its checkpoint, and that checkpoint's length."""
    with reading(path) as file:
        steps, slot, length, _ = (int(x) for x in file["commit"][:])
        if slot not in (0, 1) or length < 1 or steps < 0:
            raise ValueError("its commit record is destroyed")
    return steps, slot, length


def read_state(path: Path) -> Arrays:
    """The checkpoint of a work file's last commit."""
    _, slot, length = read_commit(path)
    with reading(path) as file:
        checksum = int(file["commit"][3])
        data = file[f"checkpoint/{'AB'[slot]}"][:length].tobytes()
        if zlib.crc32(data) != checksum:
            raise ValueError("its checkpoint has a wrong checksum")
    return unpack(data)


def _crc_of(path: Path, offset: int, length: int) -> int:
    """CRC-32 of a stretch of a file, read in pieces."""
    checksum = 0
    with open(path, "rb") as raw:
        raw.seek(offset)
        while length > 0 and (piece := raw.read(min(length, 2**20))):
            checksum, length = zlib.crc32(piece, checksum), length - len(piece)
    return checksum


def read_mark(dataset: h5py.Dataset) -> Arrays:
    """A state that was kept with `WorkFile.mark`; raises ValueError if it is not there or damaged."""
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


@contextmanager
def writing(path: Path, patience: float = 2.0) -> Iterator[None]:
    """Be the only writer of `path`; a second one is refused. The lock dies with the process.

    `patience` [s] lets the workers of a process that was just killed notice it and go.
    """
    side = path.with_name(path.name + ".lock")
    end = time.monotonic() + patience
    while True:
        try:
            fd = os.open(side, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise FileError(f"cannot write {path}: {error.strerror}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() < end:
                os.close(fd)
                time.sleep(0.05)
                continue
            holder = os.pread(fd, 100, 0).decode(errors="replace").strip()
            os.close(fd)
            who = f" (process {holder})" if holder else ""
            raise FileError(f"{path} is being written by another process{who}; wait or stop it") from error
        # The last holder removes the side-car: a lock on a removed one protects nothing.
        with suppress(FileNotFoundError):
            if os.fstat(fd).st_ino == side.stat().st_ino:
                break
        os.close(fd)
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
    finally:
        side.unlink(missing_ok=True)
        os.close(fd)


def tidy(path: Path) -> None:
    """Remove the lock's side-car that a killed process left behind, unless somebody holds it."""
    if path.with_name(path.name + ".lock").exists():
        with suppress(FileError), writing(path, 0):
            pass


def _reserve(file: h5py.File, name: str, shape: tuple[int, ...], dtype: str) -> h5py.Dataset:
    """A contiguous dataset whose place in the file is fixed now and never moves."""
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.CONTIGUOUS)
    creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    kind = h5py.h5t.py_create(np.dtype(dtype), logical=True)
    return h5py.Dataset(
        h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple(shape), creation, links)
    )
