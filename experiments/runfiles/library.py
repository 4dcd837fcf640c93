"""Behaviours that are kept: frozen controllers as small run files, with what they do in numbers.

Such a file is a run file like any other (docs/files.md), but for the learning phase, which is left out: every
command that reads run files understands it. Some come with the project; those of the user live in a folder of
the user's (`own_folder`).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.errors import ExperimentError, FileError, nearest
from experiments.options.commands import comes_along
from experiments.runfiles.atomic import replacing
from experiments.runfiles.contents import copy_recording, write_frozen
from experiments.runfiles.hdf5 import attributes, put_attributes, reading, writable
from experiments.runfiles.run_file import SCHEMA, RunFile, fingerprint, open_run_file
from experiments.settings import difference

VARIABLE = "SELFORG_BEHAVIOURS"


def own_folder() -> Path:
    """Where the user's behaviours live: $SELFORG_BEHAVIOURS, or the folder of data of one's own."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise ExperimentError(
            f"there is no home folder for behaviours of your own; set {VARIABLE}"
        ) from error
    usual = home / ("Library/Application Support" if sys.platform == "darwin" else ".local/share")
    return Path(os.environ.get("XDG_DATA_HOME") or usual) / "selforg" / "behaviours"


def folders(engine: str | None = None) -> tuple[Path, ...]:
    """Where behaviours are looked for: those that come with the project, of this engine, then the user's."""
    with suppress(ExperimentError):
        return comes_along(engine), own_folder()
    return (comes_along(engine),)


@dataclass(frozen=True)
class Shipped:
    """A behaviour that is kept."""

    name: str
    path: Path
    about: str
    robot: str
    controller: str
    seed: int
    minutes: float
    command: str
    numbers: dict[str, Any]


def shipped(*where: Path) -> dict[str, Shipped]:
    """All behaviours in these folders, or in all that are known, by name."""
    found = {}
    for path in (path for folder in where or folders() for path in sorted(folder.glob("[!.]*.h5"))):
        with open_run_file(path) as run, reading(path) as file:
            (frozen,) = run.frozen.values()
            attrs = attributes(file)
            found[path.stem] = Shipped(
                name=path.stem,
                path=path,
                about=attrs["about"],
                robot=run.robot,
                controller=run.controller,
                seed=run.seed,
                minutes=frozen.minutes,
                command=attrs["command"],
                numbers=json.loads(attrs["numbers"]),
            )
    return found


def find_behaviour(name: str, engine: str | None = None) -> Path:
    """The run file of a behaviour, of the project's or the user's own, or a clear error; a path is itself.

    The project's were learned in each engine; None is the one that is usual here.
    """
    if name.endswith(".h5") and Path(name).exists():
        return Path(name)
    for folder in folders(engine):
        if (path := folder / f"{name}.h5").exists():
            return path
    known = [other.stem for folder in folders(engine) for other in folder.glob("[!.]*.h5")]
    raise ExperimentError(
        f"there is no behaviour {name!r}; {nearest(name, known)}; `selforg behaviours --keep` keeps your own"
    )


def copy_frozen(source: Path, path: Path, names: list[str], changes: dict[str, Any], why: str) -> None:
    """A small run file of some frozen controllers of a run; `changes` are attributes that differ.

    Its learning phase is left out; `why` says so.
    """
    with open_run_file(source) as run, reading(source) as old, writable(path, "w") as file:
        put_attributes(file, attributes(old) | {"schema": SCHEMA} | changes)
        copy_recording(old, file, "learning", 0, "left out", why)
        for name in names:
            write_frozen(file.require_group(f"frozen/{name}"), run.frozen[name])


def leaves_home(run: RunFile, engine: str | None, asked: bool, what: str) -> bool:
    """Whether frozen controllers are to act in another engine than they learned in.

    A controller was learned in one physics. In another it is refused unless that is `asked` for.
    """
    if engine in (None, run.engine):
        return False
    if not run.engine:
        raise FileError(f"{run.path}: {run.robot} brings its own physics; leave --engine {engine} out")
    if not asked:
        raise FileError(
            f"{run.path} was learned in {run.engine}, and {engine} is another physics; --transplant {what}"
        )
    return True


def transplant(source: Path, engine: str | None, asked: bool) -> Path:
    """The run file whose frozen controllers act in this engine: the same, or a copy, RUN.ENGINE.h5."""
    if engine is None:
        return source
    path = source.with_name(f"{source.stem}.{engine}.h5")
    with open_run_file(source) as run:
        if not leaves_home(run, engine, asked, f"tries its frozen controllers there, in {path}"):
            return source
        if run.learning.status == "running":
            raise FileError(
                f"{source} has not finished learning; run its `selforg learn` command again first"
            )
        made_with = f"{run.engine} {run.versions.get(run.engine, '')}".rstrip()
        moved = replace(run, config=run.config | {"body": run.config["body"] | {"engine": engine}})
        changes = {"config": json.dumps(moved.config), "transplanted_from": made_with}
        why = f"left out of this file; learned in {made_with}, in {source.name}"
        _make_once(path, lambda temporary: copy_frozen(source, temporary, list(run.frozen), changes, why))
        _refuse_another(path, moved, f"{source} in {engine}")
    return path


def fetch(name: str, folder: Path = Path("runs"), engine: str | None = None) -> Path:
    """A copy of a behaviour to record into, FOLDER/NAME.h5; made unless it is there already.

    One of the project's that learned in another engine than is usual here is FOLDER/NAME-ENGINE.h5.
    """
    return fetch_file(find_behaviour(name, engine), folder)


def fetch_file(source: Path, folder: Path) -> Path:
    """A copy of the file of a behaviour in a folder; what is there already must be of the same controller."""
    home = source.parent
    other = f"-{home.name}" if home.parent == comes_along().parent and home != comes_along() else ""
    path = folder / f"{source.stem}{other}.h5"
    _make_once(path, lambda temporary: shutil.copyfile(source, temporary))
    with open_run_file(source) as run:
        _refuse_another(path, run, f"the behaviour {source.stem}")
    return path


def _make_once(path: Path, make: Callable[[Path], Any]) -> None:
    """Make a file unless it is there."""
    if path.exists():
        return
    try:
        with replacing(path, new=True) as temporary:
            make(temporary)
    except FileError:
        if not path.exists():  # another process was quicker, and perhaps has recorded into it by now
            raise


def _refuse_another(path: Path, run: RunFile, name: str) -> None:
    """Make sure that the file which is there has the frozen controllers of this run."""
    with open_run_file(path) as there:
        begun = [{name: fingerprint(one, name) for name in one.frozen} for one in (run, there)]
        if begun[0] != begun[1] or difference(run.config, there.config):
            raise FileError(f"{path} is another run than {name}; move it away or delete it")
