"""`selforg behaviours`: list what comes with the project, check that it goes on, keep a new one."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.console import console, plain_table, say
from experiments.errors import ExperimentError, FileError, nearest
from experiments.pipeline.record import Record, record
from experiments.runfiles import run_file as log
from experiments.runfiles.hdf5 import attributes, put_attributes, reading, writable
from experiments.runfiles.library import FOLDER, Shipped, fetch_file, shipped
from experiments.studies.emergence.observing import describe, see
from experiments.studies.emergence.trials import COLUMNS

TRANSIENT, SAMPLES = 10_000, 10_000
"""Samples after freezing that are left out, and those that are then looked at for the stated numbers."""


@dataclass(frozen=True)
class Behaviours:
    """List the behaviours that come with the project, check that they go on, or keep one of a run."""

    check: bool = False
    """Record each behaviour and compare the first tenth with the last: does it go on?"""
    samples: int = 1_000_000
    """Samples for --check."""
    transient: int = TRANSIENT
    """Samples before those, while the behaviour settles after freezing."""
    name: tuple[str, ...] = ()
    """Only these behaviours; with --keep the name of the new one."""
    keep: Path | None = None
    """Run file of which one frozen controller is to be kept as a behaviour."""
    freeze: float | None = None
    """With --keep: its freeze time in minutes."""
    about: str = ""
    """With --keep: what one sees, in a few words."""
    folder: Path = FOLDER
    """Where the behaviours are."""
    out: Path = Path("runs/behaviours")
    """Where --check puts its recordings."""
    jobs: int = 0
    """Parallel processes; 0 for one per core."""
    json: bool = False
    """Print the numbers as JSON."""
    quiet: bool = False
    """Say nothing while working."""


def behaviours(config: Behaviours) -> dict[str, Any]:
    """List, check or keep behaviours; returns what it prints.

    Raises
    ------
    ExperimentError
        When there is no such behaviour, or the wishes contradict one another.
    """
    if config.keep is not None:
        if len(config.name) != 1 or config.freeze is None or config.check:
            raise ExperimentError("--keep RUN.h5 goes with one --name, with --freeze, and without --check")
        path = keep(config.keep, config.freeze, config.folder / f"{config.name[0]}.h5", config.about)
        say(f"{path}: {path.stat().st_size / 1000:.0f} kB", config.quiet)
    found = shipped(config.folder)
    for name in config.name:
        if name not in found:
            raise ExperimentError(f"there is no behaviour {name!r}; {nearest(name, found)}")
    chosen = {name: item for name, item in found.items() if not config.name or name in config.name}
    if not chosen:
        raise ExperimentError(f"{config.folder} holds no behaviours; --keep makes one of a run")
    if config.check:
        checked = {name: _check(item, config) for name, item in chosen.items()}
        if config.json:
            print(json.dumps(checked, indent=1))
        else:
            _print_check(checked)
        return checked
    listed = {
        name: {key: value for key, value in vars(item).items() if key not in ("name", "path")}
        for name, item in chosen.items()
    }
    if config.json:
        print(json.dumps(listed, indent=1))
    else:
        _print_list(chosen)
    return listed


def keep(
    run: Path,
    minutes: float,
    path: Path,
    about: str = "",
    samples: int = SAMPLES,
    transient: int = TRANSIENT,
) -> Path:
    """Make a small run file of one frozen controller, with the numbers of what it does."""
    name = log.label(minutes)
    with log.open_run(run) as learned:
        if name not in learned.frozen:
            raise FileError(f"{run} has no controller frozen at {name}; {nearest(name, learned.frozen)}")
        command = _command(learned)
        frozen = learned.frozen[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with reading(run) as source, writable(temporary, "w") as file:
            told = {"schema": log.SCHEMA, "about": about, "command": command}
            put_attributes(file, attributes(source) | told)
            why = "left out of this file; the command in its attributes makes it"
            log.copy_recording(source, file, "learning", 0, "left out", why)
            log.write_frozen(file.require_group(f"frozen/{name}"), frozen)
        numbers = measure(temporary, samples, transient)
        with writable(temporary, "r+") as file:
            put_attributes(file, {"numbers": json.dumps(numbers)})
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def measure(path: Path, samples: int = SAMPLES, transient: int = TRANSIENT) -> dict[str, Any]:
    """What the one frozen controller of a file does: record it elsewhere, and look."""
    with tempfile.TemporaryDirectory(prefix="selforg-") as folder:
        copy = Path(folder) / "run.h5"
        shutil.copyfile(path, copy)
        with log.open_run(copy) as run:
            step, robot = run.config["body"]["control_step"], run.robot
        record(Record((copy,), samples, transient=transient, measure=step, jobs=1, quiet=True))
        with log.open_run(copy) as run:
            (found,) = run.behaviours.values()
            if found.reason:
                raise ExperimentError(f"{path}: {found.reason}")
            return describe(robot, see(found))


def _command(run: log.Run) -> str:
    """The command that learns this controller again, with every setting that differs from the defaults."""
    from experiments.pipeline.learn import Learn, resolve

    plain = resolve(Learn(run.robot, run.controller))
    words = [f"selforg learn {run.robot} --controller {run.controller} --seed {run.seed}"]
    # All freeze times, for each of them is a checkpoint: another world, bit by bit.
    times = " ".join(f"{t:g}" for t in run.config["freeze"])
    words += [f"--minutes {run.config['minutes']:g} --freeze {times}"]
    for key in ("interval", "measure", "checkpoint"):
        if run.config[key] != getattr(plain, key):
            words.append(f"--{key} {run.config[key]}")
    for part, usual in (("body", plain.body), ("rule", plain.rule)):
        changed = {key: value for key, value in run.config[part].items() if usual.get(key) != value}
        if changed:
            words.append(f"--{part} " + " ".join(f"{key}={value}" for key, value in changed.items()))
    return " ".join(words)


def _check(item: Shipped, config: Behaviours) -> dict[str, Any]:
    """Record a behaviour for long; its numbers in the first and the last tenth, and the stationarity test."""
    path = fetch_file(item.path, config.out)
    record(Record((path,), config.samples, transient=config.transient, jobs=config.jobs, quiet=config.quiet))
    with log.open_run(path) as run:
        (found,) = run.behaviours.values()
        if found.reason:
            return {"samples": found.steps, "reason": found.reason}
        tenth = found.steps // 10
        return {
            "samples": found.steps,
            "first": describe(item.robot, see(found, 0, tenth)),
            "last": describe(item.robot, see(found, found.steps - tenth, found.steps)),
            "stationarity": json.loads(found.attrs["stationarity"]),
        }


def _print_list(found: dict[str, Shipped]) -> None:
    out = console()
    for robot in dict.fromkeys(item.robot for item in found.values()):
        columns = COLUMNS[robot]
        headings = [heading for heading, _ in columns.values()]
        table = plain_table("behaviour", "mode", *headings)
        for column in table.columns[:2]:
            column.no_wrap = True
        for item in found.values():
            if item.robot == robot:
                values = [format(item.numbers[key], form) for key, (_, form) in columns.items()]
                table.add_row(item.name, item.numbers["mode"], *values)
        out.print(table)
    for item in found.values():
        print(f"{item.name}: {item.about}. {item.command}")
    print("film one: selforg video --behaviour NAME out.mp4; record it: selforg record --behaviour NAME")


def _print_check(checked: dict[str, Any]) -> None:
    for name, found in checked.items():
        if "reason" in found:
            print(f"{name}: {found['samples']} samples, then {found['reason']}")
            continue
        first, last = found["first"], found["last"]
        print(f"{name}: {found['samples']} samples; first tenth {first['mode']}, last tenth {last['mode']}")
        pairs = [f"{key} {first[key]:.3g} -> {last[key]:.3g}" for key in first if key != "mode"]
        print(f"  {', '.join(pairs)}")
        print(f"  {found['stationarity']['verdict']}")
