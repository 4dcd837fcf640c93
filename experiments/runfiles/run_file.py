"""Run files: what an experiment leaves behind, readable with h5py alone (see docs/files.md).

`open_run_file(path)` gives a view of a run, finished or not. A finished file is never changed in place:
whoever adds a recording writes a new file that replaces it in one move. Results of the quantifier stand
beside it (see `results`); files written before that was so hold some inside, which are read as well.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from experiments.errors import FileError, nearest
from experiments.runfiles import checks
from experiments.runfiles.atomic import is_still, real
from experiments.runfiles.contents import FrozenState, Recording, Rows, frozen_arrays, marks, read_frozen
from experiments.runfiles.growing import commit_in
from experiments.runfiles.hdf5 import attributes, branch, get, members, naming_damage, open_hdf5
from experiments.runfiles.results import check_result, read_result

FORMAT = "selforg run"
SCHEMA = 2


def label(minutes: float) -> str:
    """Name of the behaviour frozen after so many minutes: 2 -> "2min", 0.5 -> "0.5min"."""
    return f"{minutes:g}min"


def part_path(path: Path, name: str) -> Path:
    """Where the recording of behaviour `name` grows until it is merged into the run file."""
    return path.with_name(f"{path.name}.{name}.part")


@dataclass
class RunFile(AbstractContextManager["RunFile"]):
    """A run file that is open for reading. `with open_run_file(path) as run:` closes it."""

    path: Path
    robot: str
    controller: str
    seed: int
    config: dict[str, Any]
    versions: dict[str, str]
    sources: dict[str, str] | None
    """SHA-256 of the user's own modules that it was learned with; None in files that do not say."""
    learning: Recording
    frozen: dict[str, FrozenState]
    behaviours: dict[str, Recording]
    _file: h5py.File = field(repr=False)
    _opened: ExitStack = field(repr=False)

    @property
    def engine(self) -> str:
        """Name of the engine that simulates the body; empty for a body that brings its own.

        Files written before there were two say nothing: it was PyBullet.
        """
        body = self.config["body"]
        return str(body.get("engine", "pybullet")) if "substeps" in body else ""

    @property
    def words(self) -> str:
        """What ran, such as "hexapod under ulr, seed 1, in mujoco 4.0.0"."""
        version = self.versions.get(self.engine, "")
        physics = f", in {self.engine} {version}".rstrip() if self.engine else ""
        return f"{self.robot} under {self.controller}, seed {self.seed}{physics}"

    def behaviour(self, name: str) -> Recording:
        """A recorded behaviour by its name ("8min"), or a clear error."""
        if name not in self.behaviours:
            have = nearest(name, self.behaviours) if self.behaviours else "none is recorded yet"
            raise FileError(f"{self.path} holds no behaviour {name!r}; {have}; `selforg record` makes them")
        return self.behaviours[name]

    def frozen_at(self, minutes: float) -> tuple[str, FrozenState]:
        """Name and state of the controller frozen after so many minutes, or a clear error."""
        name = label(minutes)
        if name not in self.frozen:
            raise FileError(f"{self.path} has no controller frozen at {name}; {nearest(name, self.frozen)}")
        return name, self.frozen[name]

    def identity(self, name: str) -> str:
        """What tells a recording from every other: SHA-256 of where it began, its settings and versions."""
        recording = self.behaviour(name)
        parts = [recording.attrs.get(key, "") for key in ("config", "versions")]
        if read_sources(recording.attrs):  # none where all is ours, as in files from before they were kept
            parts.append(recording.attrs["sources"])
        start = fingerprint(self, name) if name in self.frozen else ""
        return hashlib.sha256(json.dumps([start, recording.steps, *parts]).encode()).hexdigest()

    def result(self, name: str) -> dict[str, Any] | None:
        """The stored result of a recorded behaviour, with its settings; None if there is none of it."""
        document = read_result(self.path, name)
        if document is None or document.get("recording") != self.identity(name):
            with naming_damage(self.path):
                inside = branch(self._file, "results")
                document = json.loads(get(inside[name])) if name in inside else None
            if document is not None:
                document = check_result(document, self.path)
        return document

    @functools.cached_property
    def results(self) -> dict[str, dict[str, Any]]:
        """The stored result of each recorded behaviour that has one, with its settings."""
        found = {name: self.result(name) for name in self.behaviours}
        return {name: document for name, document in found.items() if document is not None}

    def close(self) -> None:
        """Close the files behind the view."""
        self._opened.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def open_run_file(path: str | Path) -> RunFile:
    """Open a run, finished or still growing, for reading.

    Recordings that are still in progress are found in their own files beside the run and shown as incomplete.
    A file that is missing, empty, damaged (then the message says what can be saved), or no run is refused. Of
    a link, what stands beside the file itself counts.
    """
    path = real(Path(path))
    with ExitStack() as opened, naming_damage(path):
        file = opened.enter_context(open_hdf5(path))
        attrs = attributes(file)
        if attrs.get("format") != FORMAT:
            raise FileError(f"{path} is an HDF5 file, but not a run file; `selforg learn` makes one")
        if checks.whole(attrs, "schema") > SCHEMA:
            newer = f"{path} has schema {attrs['schema']}, this version reads up to {SCHEMA}"
            raise FileError(f"{newer}; update selforg")
        learning = _recording(file, "learning")
        frozen = marks(file, learning.steps)
        for name, item in members(branch(file, "frozen")):
            if isinstance(item, h5py.Group):
                frozen[name] = read_frozen(item)
        behaviours = {name: _recording(file, f"behaviours/{name}") for name in branch(file, "behaviours")}
        frozen = dict(sorted(frozen.items(), key=lambda pair: pair[1].minutes))
        config = checks.table(attrs, "config")
        checks.check_settings(config)
        for name in frozen:
            part = part_path(path, name)
            if name not in behaviours and part.exists():
                try:
                    growing = opened.enter_context(open_hdf5(part))
                except FileError:
                    if is_still(path, file.id.get_vfd_handle()):
                        raise
                    return open_run_file(path)  # it was merged while this looked
                behaviours[name] = _recording(growing, f"behaviours/{name}")
        return RunFile(
            path=path,
            robot=checks.text(attrs, "robot"),
            controller=checks.text(attrs, "controller"),
            seed=checks.whole(attrs, "seed"),
            config=config,
            versions=checks.table(attrs, "versions"),
            sources=read_sources(attrs),
            learning=learning,
            frozen=frozen,
            behaviours=behaviours,
            _file=file,
            _opened=opened.pop_all(),
        )


def read_sources(attrs: Mapping[str, Any]) -> dict[str, str] | None:
    """What the attributes of a run or a recording say of the user's own modules; None if nothing."""
    return checks.table(attrs, "sources") if "sources" in attrs else None


def fingerprint(run: RunFile, name: str) -> str:
    """SHA-256 of all that a recording of a frozen controller begins with: body, its settings, both states."""
    return _start(run.robot, run.config["body"], run.frozen[name])


def fingerprint_in(file: h5py.File, name: str) -> str:
    """The same, of a finished file that is open; empty if it has no such frozen controller."""
    attrs = attributes(file)
    if attrs.get("format") != FORMAT or f"frozen/{name}" not in file:
        return ""
    return _start(
        str(attrs["robot"]), json.loads(attrs["config"])["body"], read_frozen(file[f"frozen/{name}"])
    )


def _start(robot: str, body: dict[str, Any], frozen: FrozenState) -> str:
    digest = hashlib.sha256(json.dumps([robot, body], sort_keys=True).encode())
    for key, value in sorted(frozen_arrays(frozen).items()):
        digest.update(key.encode() + np.asarray(value).tobytes())
    return digest.hexdigest()


def _recording(file: h5py.File, name: str) -> Recording:
    group = file[name]
    if not isinstance(group, h5py.Group):
        raise ValueError(f"{name} is no recording")
    attrs, tracks = attributes(group), dict(members(group))
    if "commit" in file:
        steps = commit_in(file)[0] - int(attrs.get("transient", 0))
        status, reason = "running", "not finished yet: run the same command again to go on"
    else:
        steps = checks.whole(attrs, "steps")
        status, reason = checks.text(attrs, "status"), checks.text(attrs, "reason")
    checks.check_recording(name, attrs)
    steps = max(0, steps)
    rows = {key: -(-steps // checks.whole(data.attrs, "every", 1)) for key, data in tracks.items()}
    checks.check_tracks(name, tracks, rows)
    shown = {key: Rows(data, rows[key]) for key, data in tracks.items()}
    wanted = checks.whole(attrs, "wanted")
    return Recording(name.rpartition("/")[2], steps, wanted, status, reason, attrs, shown)
