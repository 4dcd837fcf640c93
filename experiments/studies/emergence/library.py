"""Behaviours that are kept, ours and the user's: list them, check that they go on, keep a new one."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from experiments.errors import ExperimentError, FileError, nearest, refusing
from experiments.feedback import SILENT, Feedback
from experiments.pipeline.learn import OFTEN, Learn, resolve
from experiments.pipeline.loop import modules_of
from experiments.pipeline.record import Record, record
from experiments.reports.tables import Table
from experiments.runfiles.atomic import replacing
from experiments.runfiles.hdf5 import put_attributes, writable
from experiments.runfiles.library import (
    Shipped,
    comes_along,
    copy_frozen,
    fetch_file,
    folders,
    own_folder,
    shipped,
)
from experiments.runfiles.run_file import RunFile, open_run_file
from experiments.settings import command
from experiments.studies.emergence.trials import observed_in
from robots import ROBOTS, RobotError, describe, description_of

TRANSIENT, SAMPLES = 10_000, 10_000
"""Samples after freezing that are left out, and those that are then looked at for the stated numbers."""


def choose(
    names: tuple[str, ...] = (), folder: Path | None = None, engine: str | None = None
) -> dict[str, Shipped]:
    """The behaviours with these names, or all; of one folder only if it is given; refuses unknown names."""
    found = shipped(*([folder] if folder else folders(engine)))
    for name in names:
        if name not in found:
            raise ExperimentError(f"there is no behaviour {name!r}; {nearest(name, found)}")
    if not found:
        raise ExperimentError(f"{folder} holds no behaviours; --keep makes one of a run")
    return {name: item for name, item in found.items() if not names or name in names}


def tables(found: dict[str, dict[str, Any]]) -> list[Table]:
    """What is stated of behaviours by name (see `Shipped`), a table per robot."""
    made = []
    for robot in dict.fromkeys(item["robot"] for item in found.values()):
        if robot not in ROBOTS or ROBOTS[robot].description is None:
            continue  # nobody has said what to look for in it
        described = description_of(robot)
        stated = {name: item["numbers"] for name, item in found.items() if item["robot"] == robot}
        lines = [[name, numbers["mode"], *described.cells(numbers)] for name, numbers in stated.items()]
        made.append(Table(dict.fromkeys(("behaviour", "mode", *described.headings), ""), lines))
    return made


def keep_as(name: str, run: Path, minutes: float, about: str = "", folder: Path | None = None) -> Path:
    """Keep a frozen controller of a run as a behaviour with a name, in the user's own folder or another."""
    if not name or Path(name).name != name or (comes_along() / f"{name}.h5").exists():
        raise ExperimentError(f"--name {name}: it comes along, or is no name for a file; choose another")
    return keep(run, minutes, (folder or own_folder()) / f"{name}.h5", about)


def keep(
    run: Path, minutes: float, path: Path, about: str = "", samples: int = SAMPLES, transient: int = TRANSIENT
) -> Path:
    """Make a small run file of one frozen controller, with the numbers of what it does, if any are stated."""
    if path.exists():
        raise FileError(f"{path} exists already; choose another --name, or delete it")
    with open_run_file(run) as whole:
        modules_of(whole)
        name, _ = whole.frozen_at(minutes)
        stated = {"about": about, "command": _command(whole)}
    with replacing(path, new=True) as temporary:
        why = "left out of this file; the command in its attributes makes it"
        copy_frozen(run, temporary, [name], stated, why)
        numbers = describe_kept(temporary, samples, transient)
        with writable(temporary, "r+") as file:
            put_attributes(file, {"numbers": json.dumps(numbers)})
    return path


def _command(run: RunFile) -> str:
    """The command that learns this controller again, with every setting that differs from the defaults."""
    # A file makes nobody import anything: of a rule of the user's own, every setting is spelled out.
    usual = None if ":" in run.controller else resolve(Learn(run.robot, run.controller))
    # All freeze times, for each of them is a checkpoint: another world, bit for bit.
    stored = run.config | {"freeze": tuple(run.config["freeze"])}
    for part in ("body", "rule"):
        default = {} if usual is None else getattr(usual, part)
        stored[part] = {key: value for key, value in stored[part].items() if default.get(key) != value}
    # PyBullet goes without saying, as in the files; any other is named wherever it is the usual one or not.
    stored["body"].pop("engine", None)
    stored["engine"] = run.engine if run.engine not in ("", "pybullet") else None
    return command("learn", Learn(**stored), {"measure": OFTEN})


def describe_kept(path: Path, samples: int = SAMPLES, transient: int = TRANSIENT) -> dict[str, Any]:
    """What the one frozen controller of a file does: record it elsewhere, and look."""
    with tempfile.TemporaryDirectory(prefix="selforg-") as folder:
        copy = Path(shutil.copyfile(path, Path(folder) / "run.h5"))
        with open_run_file(copy) as run:
            step = run.config["body"]["control_step"]
        record(Record((copy,), samples, transient=transient, measure=step, jobs=1))
        with open_run_file(copy) as run:
            (found,) = run.behaviours.values()
            if found.reason:
                raise ExperimentError(f"{path}: {found.reason}")
            known = run.robot in ROBOTS and ROBOTS[run.robot].description is not None
            return describe(run.robot, observed_in(found)) if known else {}


def check(
    item: Shipped, samples: int, transient: int, out: Path, jobs: int = 0, feedback: Feedback = SILENT
) -> dict[str, Any]:
    """Record a behaviour for long: its numbers in the `first` and the `last` tenth, or why it ended."""
    path = fetch_file(item.path, out)
    record(Record((path,), samples, transient=transient, jobs=jobs), feedback)
    with open_run_file(path) as run:
        (found,) = run.behaviours.values()
        if found.reason:
            return {"samples": found.steps, "reason": found.reason}
        tenth = found.steps // 10
        with refusing(RobotError):
            return {
                "samples": found.steps,
                "first": describe(item.robot, observed_in(found, 0, tenth)),
                "last": describe(item.robot, observed_in(found, found.steps - tenth, found.steps)),
                "stationarity": json.loads(found.attrs["stationarity"]),
            }


def check_sentences(name: str, found: dict[str, Any]) -> list[str]:
    """What a check found, in words."""
    if "reason" in found:
        return [f"{name}: {found['samples']} samples, then {found['reason']}"]
    first, last = found["first"], found["last"]
    pairs = [f"{key} {first[key]:.3g} -> {last[key]:.3g}" for key in first if key != "mode"]
    return [
        f"{name}: {found['samples']} samples; first tenth {first['mode']}, last tenth {last['mode']}",
        f"  {', '.join(pairs)}",
        f"  {found['stationarity']['verdict']}",
    ]
