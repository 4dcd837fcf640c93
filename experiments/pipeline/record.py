"""Record the behaviour of frozen controllers, in parallel, into the run file they come from."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import h5py
import numpy as np
import tyro

import controllers
from experiments.console import bars, say
from experiments.errors import ExperimentError, FileError, nearest
from experiments.pipeline.learn import measures
from experiments.pipeline.loop import Loop, drive, find_robot, make_body
from experiments.runfiles import run_file as log
from experiments.runfiles.growing import WorkFile, read_commit, read_state, tidy, writing
from experiments.runfiles.hdf5 import attributes, open_hdf5, put_attributes, reading
from experiments.runfiles.library import fetch
from experiments.runfiles.series import find_column
from experiments.settings import difference, plain
from experiments.sweeps.processes import in_parallel, watching
from quantify.stationarity import stationarity

# Chance of calling a stationary recording not stationary.
LEVEL = 0.01


@dataclass(frozen=True)
class Record:
    """Record how frozen controllers behave, each from the moment at which it was frozen."""

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN.h5")] = ()
    """Run files written by `selforg learn`."""
    samples: int = 1_000_000
    """Samples to record per behaviour (50 per simulated second)."""
    freeze: tuple[float, ...] = ()
    """Freeze times to record, in minutes; all of the run if not given."""
    transient: int = 10_000
    """Samples to discard before recording, while the behaviour settles after freezing."""
    measure: float = 0.2
    """Seconds between two measurements of the body from outside (height, tilt, ground contacts)."""
    checkpoint: int = 3000
    """Control steps between two checkpoints, from which an interrupted recording goes on."""
    stationarity: str = ""
    """Sensor to test for stationarity, by index or name, or "all"; the robot's default if not given."""
    jobs: int = 0
    """Parallel processes; 0 for one per core."""
    replace: bool = False
    """Record again what was recorded with other settings."""
    behaviour: tuple[str, ...] = ()
    """Behaviours that come with the project; each is recorded into runs/NAME.h5."""
    quiet: bool = False
    """Say nothing while working."""


@dataclass(frozen=True)
class Task:
    """One behaviour to record: a pure function of the run file and these settings."""

    run: Path
    name: str
    samples: int
    transient: int
    measure: float
    checkpoint: int

    @property
    def part(self) -> Path:
        """File in which the recording grows."""
        return log.part_path(self.run, self.name)

    def settings(self) -> dict[str, Any]:
        """What decides the recording, as stored with it."""
        keys = ("samples", "transient", "measure", "checkpoint")
        return {key: getattr(self, key) for key in keys}


def record(config: Record) -> None:
    """Record the frozen behaviours of one or many runs into their files; goes on where it was interrupted.

    Every behaviour grows in a file of its own beside the run (RUN.h5.8min.part) and is merged when all are
    complete. A behaviour that breaks down is stored up to there, with the reason; the others go on.

    Raises
    ------
    ExperimentError
        When the settings do not fit, a run lacks a freeze time, or was recorded with other settings.
    """
    _check(config)
    config = dataclasses.replace(config, runs=(*config.runs, *map(fetch, config.behaviour)))
    tasks = [task for path in dict.fromkeys(config.runs) for task in _tasks(path, config)]
    if not tasks:
        for path in config.runs:
            _tidy(path)
        say("everything is recorded already; nothing to do", config.quiet)
        return
    with _locked(sorted({task.run for task in tasks})), bars(config.quiet) as bar:
        for task in tasks:
            _refuse_other(task, config.replace)
        controllers.Frozen(np.zeros((1, 1)), np.zeros(1)).act([0.0])  # compile once, not in every process
        totals = {task.part: task.transient + task.samples for task in tasks}
        with watching(totals, bar(f"record {len(tasks)} behaviours [steps]")):
            in_parallel(record_one, tasks, config.jobs)
        for path in sorted({task.run for task in tasks}):
            merge(path, [task for task in tasks if task.run == path], config.stationarity, config.quiet)


def record_one(task: Task) -> None:
    """Record one behaviour into its part file, from wherever that file stands."""
    with log.open_run(task.run) as run:
        frozen, robot, settings = run.frozen[task.name], run.robot, run.config["body"]
        origin = log.fingerprint(run, task.name)
    body = make_body(robot, settings)
    try:
        with writing(task.part):
            _record(task, body, frozen, origin)
    finally:
        body.close()


def _record(task: Task, body: Any, frozen: log.FrozenState, origin: str) -> None:
    body.restore(frozen.body)
    controller = controllers.find(frozen.kind).from_state(frozen.controller)
    rate = 1 / body.config.control_step
    loop = Loop(body, controller, [measures(body, max(1, round(task.measure * rate)))])
    loop.s = frozen.sensors
    total = task.transient + task.samples
    if task.part.exists():
        work = WorkFile.open(task.part)
    else:
        work = WorkFile.create(
            task.part,
            attrs={"format": log.FORMAT, "schema": log.SCHEMA, "run": task.run.name, "origin": origin},
            group=f"behaviours/{task.name}",
            group_attrs={
                "wanted": task.samples,
                "transient": task.transient,
                "rate_hz": rate,
                "minutes": frozen.minutes,
                "config": json.dumps(task.settings()),
                "versions": json.dumps(log.versions()),
            },
            tracks=loop.tracks(),
            steps=task.samples,
            state=loop.checkpoint(),
        )
    with work:
        stops = {*range(task.checkpoint, total, task.checkpoint), task.transient, total}
        drive(loop, work, stops, first=task.transient)


def merge(path: Path, tasks: list[Task], sensor: str = "", quiet: bool = False) -> None:
    """Move complete part files into the run file, in one move, with the outcome of the stationarity test."""
    with log.rewriting(path, sum(task.part.stat().st_size for task in tasks)) as file:
        for task in tasks:
            name = f"behaviours/{task.name}"
            if name in file:
                del file[name]
            if f"results/{task.name}" in file:
                del file[f"results/{task.name}"]
            state = read_state(task.part)
            reason = state["reason"].tobytes().decode() if "reason" in state else ""
            steps = max(0, read_commit(task.part)[0] - task.transient)
            with open_hdf5(task.part) as work:
                log.copy_recording(work, file, name, steps, "stopped" if reason else "complete", reason)
            verdict = _stationarity(file[name], _columns(file[name], attributes(file)["robot"], sensor))
            put_attributes(file[name], {"stationarity": json.dumps(verdict)})
            say(
                f"{path} {task.name}: {steps} samples, {verdict['verdict']}"
                + (f"; {reason}" if reason else ""),
                quiet,
            )
    for task in tasks:
        task.part.unlink()
        tidy(task.part)


def _columns(group: h5py.Group, robot: str, sensor: str) -> list[int]:
    """Indices of the sensors to test: one, or all of them."""
    count, names = group["sensors"].shape[1], attributes(group["sensors"])["names"]
    if sensor == "all":
        return list(range(count))
    return [find_column(count, names, sensor or str(find_robot(robot).sensor), "--stationarity")]


def _stationarity(group: h5py.Group, columns: list[int]) -> dict[str, Any]:
    """Test sensors of a recording for stationarity, one after another; the verdict is a sentence.

    The level of 1 % is for all tests together: each of n has a level of 1 % / n (Bonferroni).
    """
    names = attributes(group["sensors"])["names"]
    level = LEVEL / len(columns)
    found, notes = {}, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in columns:
            try:
                x = group["sensors"][:, i].astype(float)
                found[i] = stationarity(x, alpha=level, replicates=max(999, round(2 / level)))
            except ValueError as error:
                notes.append(f"{names[i]} was not tested: {error}")
    notes += [str(note.message) for note in caught]
    if not found:
        return {"verdict": f"stationarity not tested ({'; '.join(notes)})"}
    moving = [i for i, test in found.items() if not test.stationary]
    worst = min(found, key=lambda i: (found[i].stationary, found[i].p_value))
    test = found[worst]
    which = f"sensor {names[worst]!r}" if len(columns) == 1 else f"{len(found)} sensors"
    if not moving:
        verdict = f"{which} stationary (p = {min(1.0, len(columns) * test.p_value):.3f})"
    else:
        which = which if len(columns) == 1 else f"{len(moving)} of {len(found)} sensors"
        verdict = (
            f"{which} NOT stationary: {test.feature}{'' if len(columns) == 1 else f' of {names[worst]!r}'} "
            f"changes by {test.effect:.2g} at sample {test.change}"
        )
    return {
        "sensor": worst,
        "verdict": "; ".join([verdict, *notes]),
        "tested": list(found),
        "moving": moving,
    } | plain(dataclasses.asdict(test))


def _check(config: Record) -> None:
    if not config.runs and not config.behaviour:
        raise ExperimentError("give at least one run file (`selforg learn` makes them), or --behaviour NAME")
    if config.samples < 1:
        raise ExperimentError(f"--samples is {config.samples}; it must be at least 1")
    if config.transient < 0:
        raise ExperimentError(f"--transient is {config.transient}; it must be 0 or more")
    if config.checkpoint < 1:
        raise ExperimentError(f"--checkpoint is {config.checkpoint}; it must be at least 1 step")
    if config.measure <= 0:
        raise ExperimentError(f"--measure is {config.measure:g}; it must be greater than 0")
    if config.jobs < 0:
        raise ExperimentError(f"--jobs is {config.jobs}; it must be 0 (all cores) or more")


def _tasks(path: Path, config: Record) -> list[Task]:
    """What is left to record of a run."""
    with log.open_run(path) as run:
        if run.learning.status == "running":
            raise FileError(f"{path} has not finished learning; run its `selforg learn` command again first")
        if not run.frozen:
            raise FileError(f"{path} holds no frozen controller; learn with --freeze at times before its end")
        chosen = [log.label(minutes) for minutes in config.freeze] or list(run.frozen)
        for name in chosen:
            if name not in run.frozen:
                raise FileError(f"{path} has no controller frozen at {name}; {nearest(name, run.frozen)}")
        sensors = run.learning.sensors
        if config.stationarity not in ("", "all"):
            find_column(sensors.shape[1], sensors.names, config.stationarity, str(path))
        tasks = []
        for name in dict.fromkeys(chosen):
            settings = {
                key: getattr(config, key) for key in ("samples", "transient", "measure", "checkpoint")
            }
            task = Task(path, name, **settings)
            stored = run.behaviours.get(name)
            if stored is None or stored.status == "running":
                tasks.append(task)
            elif differing := difference(json.loads(stored.attrs["config"]), task.settings()):
                if not config.replace:
                    raise FileError(
                        f"{path} holds another recording of {name}: {'; '.join(differing)}; "
                        "ask for the same, or use --replace to record it again"
                    )
                tasks.append(task)
        if tasks and (changed := log.other_versions(run.versions)):
            say(
                f"note: {path} was learned with {changed}: the recording need not equal, bit by bit, "
                "one made with the libraries of then",
                config.quiet,
            )
        return tasks


def _tidy(path: Path) -> None:
    """Remove part files that were merged by a process which did not live to remove them.

    A part with other settings is a recording that is to replace this one: it stays, as does every part while
    somebody writes to the run.
    """
    with suppress(FileError), writing(path, 0), log.open_run(path) as run:
        for name, item in run.behaviours.items():
            part = log.part_path(path, name)
            if item.status != "running" and part.exists():
                settings, _ = _read_part(part, name)
                if not difference(settings, json.loads(item.attrs["config"])):
                    part.unlink()
            tidy(part)


def _refuse_other(task: Task, replace: bool) -> None:
    """Make sure that a part file, if there is one, belongs to this recording."""
    if not task.part.exists():
        return
    stored, origin = _read_part(task.part, task.name)
    differing = difference(stored, task.settings())
    with log.open_run(task.run) as run:
        if origin not in ("", log.fingerprint(run, task.name)):
            differing.insert(0, f"it began with another controller or body than {task.run} holds")
    if differing:
        if not replace:
            raise FileError(
                f"{task.part} is another unfinished recording: {'; '.join(differing)}; "
                "ask for the same to finish it; delete it, or use --replace, to start again"
            )
        task.part.unlink()


def _read_part(part: Path, name: str) -> tuple[dict[str, Any], str]:
    """Settings of an unfinished recording, and the fingerprint of its beginning ("" if it keeps none)."""
    with reading(part) as file:
        settings = json.loads(attributes(file[f"behaviours/{name}"])["config"])
        return settings, str(attributes(file).get("origin", ""))


@contextmanager
def _locked(paths: list[Path]) -> Iterator[None]:
    if not paths:
        yield
        return
    with writing(paths[0]), _locked(paths[1:]):
        yield
