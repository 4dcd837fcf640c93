"""Behaviours that come with the project: frozen controllers as small run files, with what they do in numbers.

Such a file is a run file like any other (docs/files.md), but for the learning phase, which is left out: every
command that reads run files understands it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.errors import ExperimentError, FileError, nearest
from experiments.runfiles.atomic import replacing
from experiments.runfiles.hdf5 import attributes, reading
from experiments.runfiles.run_file import fingerprint, open_run_file
from experiments.settings import difference

FOLDER = Path(__file__).parent / "behaviours"


@dataclass(frozen=True)
class Shipped:
    """A behaviour that comes with the project."""

    name: str
    path: Path
    about: str
    robot: str
    controller: str
    seed: int
    minutes: float
    command: str
    numbers: dict[str, Any]


def shipped(folder: Path = FOLDER) -> dict[str, Shipped]:
    """All behaviours in a folder, by name."""
    found = {}
    for path in sorted(folder.glob("*.h5")):
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


def find_behaviour(name: str) -> Path:
    """The run file of a behaviour that comes with the project, or a clear error."""
    path = FOLDER / f"{name}.h5"
    if not path.exists():
        known = [other.stem for other in FOLDER.glob("*.h5")]
        raise ExperimentError(f"there is no behaviour {name!r}; {nearest(name, known)}")
    return path


def fetch(name: str, folder: Path = Path("runs")) -> Path:
    """A copy of a shipped behaviour to record into, FOLDER/NAME.h5; made unless it is there already."""
    return fetch_file(find_behaviour(name), folder)


def fetch_file(source: Path, folder: Path) -> Path:
    """A copy of the file of a behaviour in a folder; what is there already must be of the same controller."""
    path = folder / source.name
    if path.exists():
        with open_run_file(source) as ours, open_run_file(path) as theirs:
            begun = [{name: fingerprint(run, name) for name in run.frozen} for run in (ours, theirs)]
            same = begun[0] == begun[1] and not difference(ours.config, theirs.config)
        if not same:
            other = f"{path} is another run than the behaviour {source.stem}"
            raise FileError(f"{other}; move it away or delete it")
        return path
    with replacing(path) as temporary:
        shutil.copyfile(source, temporary)
    return path
