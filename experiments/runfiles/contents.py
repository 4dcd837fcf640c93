"""What a run file holds, rows over time and frozen controllers, and how they get there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from experiments.errors import DiskError
from experiments.runfiles import checks, hdf5
from experiments.runfiles.atomic import cannot_write, replacing
from experiments.runfiles.growing import Arrays, check_free_space, make_sure_of_room, read_commit, read_mark

CHUNK = 4096


class Rows:
    """The valid rows of a dataset; index it like an array, and only what is asked for is read."""

    def __init__(self, dataset: h5py.Dataset, rows: int) -> None:
        self._dataset = dataset
        self._rows = rows
        attrs = hdf5.attributes(dataset)
        self.names: tuple[str, ...] = tuple(attrs.get("names", ()))
        self.units: tuple[str, ...] = tuple(attrs.get("units", ()))
        self.every = int(attrs.get("every", 1))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of valid rows, then the shape of one row."""
        return (self._rows, *self._dataset.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.dtype(self._dataset.dtype)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, key: Any) -> NDArray[Any]:
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is Ellipsis:
            first, rest = slice(None), [Ellipsis, *rest]
        if isinstance(first, slice):
            start, stop, step = first.indices(self._rows)
            first = slice(start, max(start, stop), step) if step > 0 else np.arange(start, stop, step)[::-1]
        elif isinstance(first, int | np.integer):
            if not -self._rows <= first < self._rows:
                raise IndexError(f"row {first} of {self._rows}")
            first %= self._rows
        result = self._read((first, *rest))
        return result[::-1] if isinstance(first, np.ndarray) else result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._read(slice(self._rows)), dtype)

    def blocks(self, size: int = 64 * CHUNK, part: slice = slice(None)) -> Iterator[NDArray[Any]]:
        """The rows, or a part of them, in pieces, for work in constant memory."""
        first, last, _ = part.indices(self._rows)
        for start in range(first, last, size):
            yield self._read(slice(start, min(start + size, last)))

    def _read(self, key: Any) -> NDArray[Any]:
        with hdf5.naming_damage(Path(self._dataset.file.filename)):
            return self._dataset[key]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Recording:
    """Rows over time: the learning phase, or the behaviour of one frozen controller."""

    name: str
    steps: int
    wanted: int
    status: str
    reason: str
    attrs: Mapping[str, Any]
    tracks: Mapping[str, Rows]

    @property
    def complete(self) -> bool:
        """Whether all wanted rows are there."""
        return self.status == "complete"

    @property
    def sensors(self) -> Rows:
        """What the controller saw, one row per control step."""
        return self.tracks["sensors"]

    @property
    def actions(self) -> Rows:
        """What the motors were told, one row per control step."""
        return self.tracks["actions"]


@dataclass(frozen=True)
class FrozenState:
    """A controller and the body it was taken from, at one moment of learning."""

    minutes: float
    step: int
    kind: str
    controller: Arrays
    body: Arrays
    sensors: NDArray[np.float32]


def frozen_arrays(state: FrozenState) -> Arrays:
    """A frozen state as one flat dict of arrays, for a work file."""
    flat = {key: np.array(getattr(state, key)) for key in ("minutes", "step", "sensors")}
    flat["kind"] = np.frombuffer(state.kind.encode(), np.uint8)
    flat |= {f"controller/{key}": value for key, value in state.controller.items()}
    return flat | {f"body/{key}": value for key, value in state.body.items()}


def frozen_from_arrays(flat: Arrays) -> FrozenState:
    """Inverse of `frozen_arrays`."""
    moment = float(flat["minutes"]), int(flat["step"]), flat["kind"].tobytes().decode()
    controller, body = with_prefix(flat, "controller/"), with_prefix(flat, "body/")
    return FrozenState(*moment, controller, body, flat["sensors"])


def with_prefix(flat: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """The entries whose name begins with `prefix`, without it."""
    return {key.removeprefix(prefix): value for key, value in flat.items() if key.startswith(prefix)}


def marks(work: h5py.File, steps: int) -> dict[str, FrozenState]:
    """The frozen states of a work file that its commit has reached."""
    attrs = hdf5.attributes(work)
    if "layout" not in attrs:
        return {}
    found = {}
    for name, step in json.loads(attrs["layout"])["marks"].items():
        # That of the last commit itself may be missing: it is written again when the run goes on.
        with suppress(ValueError) if step == steps else nullcontext():
            if step <= steps:
                found[name.removeprefix("frozen/")] = frozen_from_arrays(read_mark(work[name]))
    return found


def write_frozen(group: h5py.Group, state: FrozenState) -> None:
    """Store a frozen state as arrays of their own."""
    hdf5.put_attributes(group, {"minutes": state.minutes, "step": state.step, "kind": state.kind})
    hdf5.put(group, "sensors", state.sensors)
    for part in ("controller", "body"):
        for key, value in getattr(state, part).items():
            hdf5.put(group.require_group(part), key, value)


def read_frozen(group: h5py.Group) -> FrozenState:
    """Inverse of `write_frozen`; raises ValueError if an array is none, or disagrees with its checksum."""
    attrs = hdf5.attributes(group)
    controller = {key: hdf5.get(value) for key, value in hdf5.members(group["controller"])}
    body = {key: np.asarray(hdf5.get(value)) for key, value in hdf5.members(group["body"])}
    moment = float(attrs["minutes"]), int(attrs["step"]), str(attrs["kind"])
    checks.check_frozen(moment[2], controller)
    return FrozenState(*moment, controller, body, hdf5.get(group["sensors"]))


@contextmanager
def replacing_recordings(path: Path, names: Iterable[str], size: int) -> Iterator[h5py.File]:
    """A new run file with all that `path` holds but these recordings, which are yours to write.

    It replaces `path` in one move when all went well. `size` is how much it may grow; the room is made sure
    of before.
    """
    replaced = {f"{group}/{name}" for group in ("behaviours", "results", "checkpoint") for name in names}
    size += path.stat().st_size
    with hdf5.open_hdf5(path) as old, _new_file(path, old, size, "the file is as it was") as new:
        with hdf5.naming_damage(path):
            hdf5.put_attributes(new, hdf5.attributes(old))
            _copy_groups(old, new, replaced)
        yield new


def _copy_groups(old: h5py.File, new: h5py.File, but: set[str]) -> None:
    """Copy what a file holds, `but` what has these names."""
    for group, items in hdf5.members(old):
        if group in but:
            continue
        if not isinstance(items, h5py.Group):  # somebody else's; a run file has none
            old.copy(items, new, group)
            continue
        target = new.require_group(group)
        hdf5.put_attributes(target, hdf5.attributes(items))
        if group == "learning":
            hdf5.copy_in_turn(items, target)
            continue
        for name, item in hdf5.members(items):
            if f"{group}/{name}" in but:
                continue
            if group == "behaviours":
                hdf5.put_attributes(target.require_group(name), hdf5.attributes(item))
                hdf5.copy_in_turn(item, target[name])
            else:
                old.copy(item, target, name)


@contextmanager
def finishing_learning(grown: Path, path: Path, status: str, reason: str) -> Iterator[h5py.File]:
    """Turn the growing file of a learning run into the compressed file that stays, at `path`.

    If the run at `path` was finished before, and has grown longer in a file of its own, its recordings stay.
    """
    steps = read_commit(grown)[0]
    remedy = f"its {steps} steps are readable, make room and run the same command again"
    size = grown.stat().st_size + (path.stat().st_size if grown != path else 0)
    with (
        hdf5.open_hdf5(grown) as work,
        hdf5.open_hdf5(path) as old,
        _new_file(path, old, size, remedy) as file,
    ):
        with hdf5.naming_damage(grown):
            attrs, frozen = hdf5.attributes(work), marks(work, steps)
        hdf5.put_attributes(file, {key: value for key, value in attrs.items() if key != "layout"})
        for name, state in frozen.items():  # small and dear: at the beginning, where a cut does not reach
            write_frozen(file.require_group(f"frozen/{name}"), state)
        copy_recording(work, file, "learning", steps, status, reason)
        if "commit" not in old:
            with hdf5.naming_damage(path):
                _copy_groups(old, file, {"learning", "frozen", "checkpoint/learning"})
        yield file


@contextmanager
def _new_file(path: Path, old: h5py.File, size: int, remedy: str) -> Iterator[h5py.File]:
    """A new HDF5 file of about `size` bytes; it replaces `old` at `path` in one move if all goes well."""
    check_free_space(path, size)
    with replacing(path, remedy, old=old.id.get_vfd_handle()) as temporary:
        make_sure_of_room(temporary, size + size // 16)
        try:
            with hdf5.writable(temporary, "w", size) as file:
                yield file
        except (OSError, RuntimeError) as error:
            raise DiskError(str(cannot_write(path, error, remedy))) from error


def copy_recording(work: h5py.File, file: h5py.File, name: str, steps: int, status: str, reason: str) -> None:
    """Copy the valid rows of a growing file into whole compressed chunks, in constant memory."""
    with hdf5.naming_damage(Path(work.filename)):
        attrs, sources = hdf5.attributes(work[name]), dict(hdf5.members(work[name]))
    group = file.require_group(name)
    hdf5.put_attributes(group, attrs | {"steps": steps, "status": status, "reason": reason})
    turns = []
    for key, source in sources.items():
        rows = Rows(source, -(-steps // int(source.attrs["every"])))
        # Wide rows (C has a matrix per row) get fewer rows per chunk, so that a chunk stays below a mebibyte.
        row = source.shape[1:]
        chunk = max(1, min(CHUNK, 2**20 // max(1, np.empty(row, source.dtype).nbytes)))
        sizes = {"maxshape": (None, *row), "chunks": (chunk, *row)}
        target = group.create_dataset(key, rows.shape, source.dtype, **sizes, **hdf5.COMPRESSED)
        hdf5.put_attributes(target, hdf5.attributes(source))
        turns += [(start / len(rows), key, rows, chunk, start) for start in range(0, len(rows), chunk)]
    # In the order of time: of a file that is cut off, all tracks have rows up to there.
    for _, key, rows, chunk, start in sorted(turns, key=lambda turn: turn[:2]):
        group[key][start : start + chunk] = rows[start : start + chunk]
