"""Run files: what an experiment leaves behind, readable with h5py alone (see docs/files.md).

`open_run(path)` gives a friendly view of a run, finished or not. A finished file is never changed in place:
whoever adds to it works on a copy that replaces it in one move.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from experiments.errors import DiskError, FileError, nearest
from experiments.runfiles.growing import Arrays, check_free_space, read_commit, read_mark
from experiments.runfiles.hdf5 import (
    attributes,
    damaged,
    get,
    open_hdf5,
    put,
    put_attributes,
    sound,
    writable,
)

FORMAT = "selforg run"
SCHEMA = 2
CHUNK = 4096
LIBRARIES = ("selforg", "numpy", "scipy", "numba", "pybullet", "gymnasium", "h5py")


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that results depend on."""
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in LIBRARIES
    }


def other_versions(stored: Mapping[str, str]) -> str:
    """Which libraries have changed since, such as "numpy 2.4.5, now 2.4.6"; empty if none has."""
    now = versions()
    names = [name for name in {**stored, **now} if stored.get(name) != now.get(name)]
    return ", ".join(
        f"{name} {stored.get(name, 'absent')}, now {now.get(name, 'not looked at')}" for name in names
    )


def label(minutes: float) -> str:
    """Name of the behaviour frozen after so many minutes: 2 -> "2min", 0.5 -> "0.5min"."""
    return f"{minutes:g}min"


def part_path(path: Path, name: str) -> Path:
    """Where the recording of behaviour `name` grows until it is merged into the run file."""
    return path.with_name(f"{path.name}.{name}.part")


class Rows:
    """The valid rows of a dataset; index it like an array, and only what is asked for is read."""

    def __init__(self, dataset: h5py.Dataset, rows: int) -> None:
        self._dataset = dataset
        self._rows = rows
        attrs = attributes(dataset)
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

    def blocks(self, size: int = 64 * CHUNK) -> Iterator[NDArray[Any]]:
        """The rows in pieces, for work in constant memory."""
        for start in range(0, self._rows, size):
            yield self._read(slice(start, min(start + size, self._rows)))

    def _read(self, key: Any) -> NDArray[Any]:
        try:
            return self._dataset[key]  # type: ignore[no-any-return]
        except Exception as error:  # a damaged file raises anything
            raise damaged(Path(self._dataset.file.filename), error) from error


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


@dataclass
class Run:
    """A run file. `with open_run(path) as run:` closes it."""

    path: Path
    robot: str
    controller: str
    seed: int
    config: dict[str, Any]
    versions: dict[str, str]
    learning: Recording
    frozen: dict[str, FrozenState] = field(default_factory=dict)
    behaviours: dict[str, Recording] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    _files: list[h5py.File] = field(default_factory=list, repr=False)

    def behaviour(self, name: str) -> Recording:
        """A recorded behaviour by its name ("8min"), or a clear error."""
        if name not in self.behaviours:
            have = nearest(name, self.behaviours) if self.behaviours else "none is recorded yet"
            raise FileError(f"{self.path} holds no behaviour {name!r}; {have}; `selforg record` makes them")
        return self.behaviours[name]

    def close(self) -> None:
        """Close the files behind the view."""
        for file in self._files:
            file.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_run(path: str | Path) -> Run:
    """Open a run, finished or still growing, for reading.

    Recordings that are still in progress are found in their own files beside the run and shown as incomplete.

    Raises
    ------
    FileError
        When the file is missing, empty, damaged (then the message says what can be saved), or no run.
    """
    path = Path(path)
    file = open_hdf5(path)
    try:
        attrs = attributes(file)
        if attrs.get("format") != FORMAT:
            raise FileError(f"{path} is an HDF5 file, but not a run file; `selforg learn` makes one")
        if int(attrs["schema"]) > SCHEMA:
            raise FileError(
                f"{path} has schema {attrs['schema']}, this version reads up to {SCHEMA}; update selforg"
            )
        run = Run(
            path=path,
            robot=str(attrs["robot"]),
            controller=str(attrs["controller"]),
            seed=int(attrs["seed"]),
            config=json.loads(attrs["config"]),
            versions=json.loads(attrs["versions"]),
            learning=_recording(file, "learning"),
            _files=[file],
        )
        run.frozen = marks(file, run.learning.steps)
        for name, item in file.get("frozen", {}).items():
            if isinstance(item, h5py.Group):
                run.frozen[name] = read_frozen(item)
        for name in file.get("behaviours", {}):
            run.behaviours[name] = _recording(file, f"behaviours/{name}")
        for name, item in file.get("results", {}).items():
            run.results[name] = json.loads(get(item))
        run.frozen = dict(sorted(run.frozen.items(), key=lambda pair: pair[1].minutes))
        for name in run.frozen:
            part = part_path(path, name)
            if name not in run.behaviours and part.exists():
                run._files.append(open_hdf5(part))
                run.behaviours[name] = _recording(run._files[-1], f"behaviours/{name}")
        return run
    except FileError:
        file.close()
        raise
    except Exception as error:  # a damaged file raises anything
        file.close()
        raise damaged(path, error) from error


@contextmanager
def rewriting(path: Path, extra: int = 2**20) -> Iterator[h5py.File]:
    """Change a finished file: work on a copy, which replaces the file in one move when all went well.

    `extra` is how much it may grow; the room is made sure of before.
    """
    with _replacing(path, path.stat().st_size + extra, "the file is as it was") as temporary:
        shutil.copyfile(path, temporary)
        with writable(temporary, "r+") as file:
            yield file


def finish_learning(path: Path, status: str, reason: str) -> None:
    """Turn the work file of a learning run into the compressed file that stays."""
    steps, _, _ = read_commit(path)
    remedy = f"its {steps} steps are readable, make room and run the same command again"
    with (
        _replacing(path, path.stat().st_size, remedy) as temporary,
        open_hdf5(path) as work,
        writable(temporary, "w") as file,
    ):
        with sound(path):
            attrs, frozen = attributes(work), marks(work, steps)
        put_attributes(file, {key: value for key, value in attrs.items() if key != "layout"})
        copy_recording(work, file, "learning", steps, status, reason)
        for name, state in frozen.items():
            write_frozen(file.require_group(f"frozen/{name}"), state)


@contextmanager
def _replacing(path: Path, size: int, remedy: str) -> Iterator[Path]:
    """A name for a new file of about `size` bytes; it replaces `path` in one move if all goes well."""
    temporary = path.with_name(path.name + ".tmp")
    check_free_space(path, size)
    try:
        # HDF5 does not survive a failed write. So try first whether the room is really there.
        with open(temporary, "wb") as raw:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(raw.fileno(), 0, size + size // 16)
            os.ftruncate(raw.fileno(), 0)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise FileError(f"cannot write {path}: {error.strerror}; {remedy}") from error
    try:
        yield temporary
        with open(temporary, "rb") as raw:
            os.fsync(raw.fileno())
        os.replace(temporary, path)
    except (OSError, RuntimeError, KeyError) as error:
        number = getattr(error, "errno", None)
        detail = os.strerror(number) if number else str(error).splitlines()[0]
        raise DiskError(f"cannot write {path}: {detail}; {remedy}") from error
    finally:
        temporary.unlink(missing_ok=True)


def copy_recording(work: h5py.File, file: h5py.File, name: str, steps: int, status: str, reason: str) -> None:
    """Copy the valid rows of a work file into whole compressed chunks, in constant memory."""
    with sound(Path(work.filename)):
        attrs, sources = attributes(work[name]), dict(work[name].items())
    group = file.require_group(name)
    put_attributes(group, attrs | {"steps": steps, "status": status, "reason": reason})
    for key, source in sources.items():
        rows = Rows(source, -(-steps // int(source.attrs["every"])))
        # Wide rows (C has a matrix per row) get fewer rows per chunk, so that a chunk stays below a mebibyte.
        width = max(1, int(np.prod(source.shape[1:], dtype=int))) * source.dtype.itemsize
        chunk = max(1, min(CHUNK, 2**20 // width))
        target = group.create_dataset(
            key,
            rows.shape,
            source.dtype,
            maxshape=(None, *source.shape[1:]),
            chunks=(chunk, *source.shape[1:]),
            compression="gzip",
            compression_opts=1,
            shuffle=True,
            fletcher32=True,
        )
        put_attributes(target, attributes(source))
        start = 0
        for block in rows.blocks(16 * chunk):
            target[start : start + len(block)] = block
            start += len(block)


def fingerprint(run: Run, name: str) -> str:
    """SHA-256 of all that a recording of a frozen controller begins with: body, its settings, both states."""
    start = json.dumps([run.robot, run.config["body"]], sort_keys=True)
    digest = hashlib.sha256(start.encode())
    for key, value in sorted(frozen_arrays(run.frozen[name]).items()):
        digest.update(key.encode() + np.asarray(value).tobytes())
    return digest.hexdigest()


def frozen_arrays(state: FrozenState) -> Arrays:
    """A frozen state as one flat dict of arrays, for a work file."""
    flat: Arrays = {
        "minutes": np.array(state.minutes),
        "step": np.array(state.step),
        "kind": np.frombuffer(state.kind.encode(), np.uint8),
        "sensors": state.sensors,
    }
    flat |= {f"controller/{key}": value for key, value in state.controller.items()}
    return flat | {f"body/{key}": value for key, value in state.body.items()}


def frozen_from_arrays(flat: Arrays) -> FrozenState:
    """Inverse of `frozen_arrays`."""
    return FrozenState(
        minutes=float(flat["minutes"]),
        step=int(flat["step"]),
        kind=flat["kind"].tobytes().decode(),
        sensors=flat["sensors"],
        controller=with_prefix(flat, "controller/"),
        body=with_prefix(flat, "body/"),
    )


def with_prefix(flat: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """The entries whose name begins with `prefix`, without it."""
    return {key.removeprefix(prefix): value for key, value in flat.items() if key.startswith(prefix)}


def marks(work: h5py.File, steps: int) -> dict[str, FrozenState]:
    """The frozen states of a work file that its commit has reached."""
    attrs = attributes(work)
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
    put_attributes(group, {"minutes": state.minutes, "step": state.step, "kind": state.kind})
    put(group, "sensors", state.sensors)
    for part in ("controller", "body"):
        for key, value in getattr(state, part).items():
            put(group.require_group(part), key, value)


def read_frozen(group: h5py.Group) -> FrozenState:
    """Inverse of `write_frozen`; raises ValueError if an array does not agree with its checksum."""
    attrs = attributes(group)
    return FrozenState(
        minutes=float(attrs["minutes"]),
        step=int(attrs["step"]),
        kind=str(attrs["kind"]),
        sensors=get(group["sensors"]),
        controller={key: get(value) for key, value in group["controller"].items()},
        body={key: np.asarray(get(value)) for key, value in group["body"].items()},
    )


def _recording(file: h5py.File, name: str) -> Recording:
    group = file[name]
    attrs = attributes(group)
    if "commit" in file:
        steps = int(file["commit"][0]) - int(attrs.get("transient", 0))
        status, reason = "running", "not finished yet: run the same command again to go on"
    else:
        steps, status, reason = (
            int(attrs["steps"]),
            str(attrs["status"]),
            str(attrs["reason"]),
        )
    steps = max(0, steps)
    return Recording(
        name=name.rpartition("/")[2],
        steps=steps,
        wanted=int(attrs["wanted"]),
        status=status,
        reason=reason,
        attrs=attrs,
        tracks={key: Rows(data, -(-steps // int(data.attrs["every"]))) for key, data in group.items()},
    )
