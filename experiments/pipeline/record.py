"""Record the behaviour of frozen controllers, in parallel, into the run file they come from."""

from __future__ import annotations

import dataclasses
import json
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import controllers
import quantify as q
from experiments.errors import ExperimentError, FileError, refusing
from experiments.feedback import SILENT, Feedback, plural
from experiments.options.pipeline import Record
from experiments.pipeline.loop import (
    OFTEN,
    Loop,
    drive,
    find_body,
    let_in,
    modules_of,
    observations,
    thaw,
    using_body,
)
from experiments.runfiles.atomic import real, remove_stale_lock, writing
from experiments.runfiles.contents import Recording, copy_recording, replacing_recordings
from experiments.runfiles.growing import GrowingFile, read_commit, read_state
from experiments.runfiles.hdf5 import attributes, open_hdf5, put_attributes, reading
from experiments.runfiles.library import fetch, transplant
from experiments.runfiles.results import other_versions, versions
from experiments.runfiles.run_file import (
    FORMAT,
    SCHEMA,
    fingerprint,
    fingerprint_in,
    open_run_file,
    part_path,
)
from experiments.settings import LARGEST, difference
from experiments.sweeps.workers import in_parallel, watching
from quantify.series_files import find_column


@dataclass(frozen=True)
class Wanted:
    """One recording to make: a pure function of the run file and these settings."""

    run: Path
    name: str
    samples: int
    transient: int
    measure: float
    checkpoint: int
    modules: tuple[str, ...] = ()
    """Modules of the user's that the run names, to be imported where this is recorded."""

    @property
    def part(self) -> Path:
        """File in which the recording grows."""
        return part_path(self.run, self.name)

    def settings(self) -> dict[str, Any]:
        """What decides the recording, as stored with it."""
        return {
            key: value
            for key, value in dataclasses.asdict(self).items()
            if key not in ("run", "name", "modules")
        }


def record(config: Record, feedback: Feedback = SILENT, *, body: Any = None) -> list[Path]:
    """Record the frozen behaviours of one or many runs into their files; goes on where it was interrupted.

    Every behaviour grows in a file of its own beside the run (RUN.h5.8min.part) and is merged when all are
    complete. A behaviour that breaks down is stored up to there, with the reason; the others go on. A live
    `body` of the user's, which no module has, is recorded in this process. Returns the run files.

    Raises ExperimentError when the settings do not fit, a run lacks a freeze time, or was recorded with other
    settings.
    """
    if not config.runs and not config.behaviour:
        raise ExperimentError("give at least one run file (`selforg learn` makes them), or --behaviour NAME")
    for name, least in (("samples", 1), ("transient", 0), ("checkpoint", 1), ("jobs", 0)):
        if not least <= (value := getattr(config, name)) <= LARGEST:
            raise ExperimentError(
                f"--{name} is {value}; it must be at least {least}, and {LARGEST:g} at most"
            )
    if config.measure is not None and not 0 < config.measure <= LARGEST:
        raise ExperimentError(
            f"--measure is {config.measure:g}; it must be greater than 0, and {LARGEST:g} at most"
        )
    let_in(config.module)
    named = [real(path) for path in (*config.runs, *map(fetch, config.behaviour))]
    named = [real(transplant(path, config.engine, config.transplant)) for path in named]
    runs = list({path.resolve(): path for path in named}.values())
    if not (changing := [path for path in runs if _wanted(path, config, body is not None, feedback)]):
        for path in runs:
            _remove_merged_parts(path)
        feedback.say("everything is recorded already; nothing to do")
        return runs
    with ExitStack() as held, feedback.bars() as bar:
        for path in sorted(changing):
            held.enter_context(writing(path))
        # What others recorded while this waited for the locks is looked at as well.
        wanted = [one for path in changing for one in _wanted(path, config, body is not None)]
        for one in wanted:
            _refuse_other(one, config.replace)
        controllers.Frozen(np.zeros((1, 1)), np.zeros(1)).act([0.0])  # compile once, not in every process
        totals = {one.part: one.transient + one.samples for one in wanted}
        with watching(totals, bar(f"record {plural(len(wanted), 'behaviour')} [steps]")):
            in_parallel(partial(record_one, body=body), wanted, config.jobs if body is None else 1)
        for path in changing:
            merge(path, [one for one in wanted if one.run == path], config.stationarity, feedback)
    return runs


def record_one(wanted: Wanted, body: Any = None) -> None:
    """Record one behaviour into its part file, from wherever that file stands."""
    let_in(wanted.modules)
    with open_run_file(wanted.run) as run:
        frozen, robot, changes = run.frozen[wanted.name], run.robot, run.config["body"]
        origin = fingerprint(run, wanted.name)
    with using_body(robot, changes, body) as used, writing(wanted.part):
        if not getattr(used, "resumable", True):
            # It cannot be put where it was: every recording begins with a reset, a half-made one again.
            used.forget()
            wanted.part.unlink(missing_ok=True)
        used.restore(frozen.body)
        rate = 1 / used.config.control_step
        loop = Loop(used, thaw(frozen), observations(used, max(1, round(wanted.measure * rate))))
        loop.s = frozen.sensors
        if wanted.part.exists():
            work = GrowingFile.open(wanted.part)
        else:
            work = GrowingFile.create(
                wanted.part,
                attrs={"format": FORMAT, "schema": SCHEMA, "run": wanted.run.name, "origin": origin},
                group=f"behaviours/{wanted.name}",
                group_attrs={
                    "wanted": wanted.samples,
                    "transient": wanted.transient,
                    "rate_hz": rate,
                    "minutes": frozen.minutes,
                    "config": json.dumps(wanted.settings()),
                    "versions": json.dumps(versions(getattr(used, "engine", None))),
                },
                tracks=loop.tracks(),
                steps=wanted.samples,
                state=loop.checkpoint(),
            )
        total = wanted.transient + wanted.samples
        stops = {*range(wanted.checkpoint, total, wanted.checkpoint), wanted.transient, total}
        with work:
            drive(loop, work, stops, first=wanted.transient)


def merge(path: Path, wanted: list[Wanted], sensor: str = "", feedback: Feedback = SILENT) -> None:
    """Move complete part files into the run file, in one move, with the outcome of the stationarity test.

    They stay where they are if the run is no longer the one that they were recorded from.
    """
    if not wanted:
        return
    size, notes = sum(one.part.stat().st_size for one in wanted), []
    with replacing_recordings(path, [one.name for one in wanted], size) as file:
        for one in wanted:
            start = fingerprint_in(file, one.name)
            if not start or _read_part(one.part, one.name)[1] not in ("", start):
                raise FileError(
                    f"{path} is no longer the run that was recorded: it was moved or replaced meanwhile; "
                    f"the recording stays in {one.part}"
                )
        sensor = sensor or str(find_body(attributes(file)["robot"]).sensor)
        for one in wanted:
            name = f"behaviours/{one.name}"
            state = read_state(one.part)
            reason = state["reason"].tobytes().decode() if "reason" in state else ""
            steps = max(0, read_commit(one.part)[0] - one.transient)
            with open_hdf5(one.part) as work:
                copy_recording(work, file, name, steps, "stopped" if reason else "complete", reason)
            verdict = _stationarity(file[name]["sensors"], sensor)
            put_attributes(file[name], {"stationarity": json.dumps(verdict)})
            why = f"; {reason}" if reason else ""
            notes.append(f"{path} {one.name}: {steps} samples, {verdict['verdict']}{why}")
    for one, note in zip(wanted, notes, strict=True):
        feedback.say(note)
        one.part.unlink()
        remove_stale_lock(one.part)


def _stationarity(sensors: h5py.Dataset, sensor: str) -> dict[str, Any]:
    """Test a sensor of a recording, by index or name, or "all" of them; the verdict is a sentence."""
    names = attributes(sensors)["names"]
    columns = list(range(len(names)))
    if sensor != "all":
        columns = [find_column(len(names), names, sensor, "--stationarity")]
    return q.stationarity_verdict({i: sensors[:, i] for i in columns}, names)


def _wanted(path: Path, config: Record, live: bool, feedback: Feedback = SILENT) -> list[Wanted]:
    """What is left to record of a run."""
    with open_run_file(path) as run:
        if run.learning.status == "running":
            raise FileError(f"{path} has not finished learning; run its `selforg learn` command again first")
        if not run.frozen:
            raise FileError(f"{path} holds no frozen controller; learn with --freeze at times before its end")
        modules = modules_of(run, live)
        chosen = [run.frozen_at(minutes)[0] for minutes in config.freeze] or list(run.frozen)
        sensors = run.learning.sensors
        if config.stationarity not in ("", "all"):
            with refusing(q.QuantifyError):
                find_column(sensors.shape[1], sensors.names, config.stationarity, str(path))
        found = []
        for name in dict.fromkeys(chosen):
            stored = run.behaviours.get(name)
            asked = (config.samples, config.transient, _looks(config, path, name, stored), config.checkpoint)
            one = Wanted(path, name, *asked, modules)
            if stored is None or stored.status == "running":
                found.append(one)
            elif differing := difference(json.loads(stored.attrs.get("config", "{}")), one.settings()):
                if not config.replace:
                    raise FileError(
                        f"{path} holds another recording of {name}: {'; '.join(differing)}; "
                        "ask for the same, or use --replace to record it again"
                    )
                found.append(one)
        if found and (changed := other_versions(run.versions)):
            feedback.say(
                f"note: {path} was learned with {changed}: the recording need not equal, bit by bit, "
                "one made with the libraries of then"
            )
        return found


def _looks(config: Record, path: Path, name: str, stored: Recording | None) -> float:
    """Seconds between two looks at the body: as asked for, as a recording was begun, or as is usual now."""
    begun: dict[str, Any] = {}
    if config.measure is None and stored is not None and not config.replace:
        begun = json.loads(stored.attrs.get("config", "{}"))
    elif config.measure is None and part_path(path, name).exists():
        begun = _read_part(part_path(path, name), name)[0]
    return config.measure or float(begun.get("measure", OFTEN))


def _remove_merged_parts(path: Path) -> None:
    """Remove part files that were merged by a process which did not live to remove them.

    A part with other settings is a recording that is to replace this one: it stays, as does every part while
    somebody writes to the run.
    """
    with suppress(FileError), writing(path, 0), open_run_file(path) as run:
        for name, recorded in run.behaviours.items():
            part = part_path(path, name)
            merged = recorded.status != "running" and part.exists()
            stored = json.loads(recorded.attrs.get("config", "{}"))
            if merged and not difference(_read_part(part, name)[0], stored):
                part.unlink()
            remove_stale_lock(part)


def _refuse_other(wanted: Wanted, replace: bool) -> None:
    """Make sure that a part file, if there is one, belongs to this recording."""
    if not wanted.part.exists():
        return
    stored, origin = _read_part(wanted.part, wanted.name)
    differing = difference(stored, wanted.settings())
    with open_run_file(wanted.run) as run:
        if origin not in ("", fingerprint(run, wanted.name)):
            differing.insert(0, f"it began with another controller or body than {wanted.run} holds")
    if differing and not replace:
        raise FileError(
            f"{wanted.part} is another unfinished recording: {'; '.join(differing)}; "
            "ask for the same to finish it; delete it, or use --replace, to start again"
        )
    if differing:
        wanted.part.unlink()


def _read_part(part: Path, name: str) -> tuple[dict[str, Any], str]:
    """Settings of an unfinished recording, and the fingerprint of its beginning ("" if it keeps none)."""
    with reading(part) as file:
        stored = json.loads(attributes(file[f"behaviours/{name}"])["config"])
        return stored, str(attributes(file).get("origin", ""))
