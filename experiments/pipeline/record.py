"""Record the behaviour of frozen controllers, in parallel, into the run file they come from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
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
    body_source,
    drive,
    find_body,
    let_in,
    modules_of,
    observations,
    put_back,
    thaw,
    using_body,
)
from experiments.pipeline.sources import Sources, changes, sources
from experiments.runfiles.atomic import real, remove_stale_lock, writing
from experiments.runfiles.contents import Recording, copy_recording, replacing_recordings
from experiments.runfiles.growing import GrowingFile, read_commit, read_state
from experiments.runfiles.hdf5 import attributes, open_hdf5, put_attributes, reading
from experiments.runfiles.library import fetch, transplant
from experiments.runfiles.prolonging import carry_over, keep_checkpoint, last_checkpoint
from experiments.runfiles.results import other_versions, versions
from experiments.runfiles.run_file import (
    FORMAT,
    SCHEMA,
    fingerprint,
    fingerprint_in,
    open_run_file,
    part_path,
    read_sources,
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
    sources: Sources = field(default_factory=dict)
    """What of the user's own is used."""
    shorter: Path | None = None
    """File that holds the same recording with fewer samples, which goes on."""

    @property
    def part(self) -> Path:
        """File in which the recording grows."""
        return part_path(self.run, self.name)

    def settings(self) -> dict[str, Any]:
        """What decides the recording, as stored with it."""
        return {
            key: value
            for key, value in dataclasses.asdict(self).items()
            if key in ("samples", "transient", "measure", "checkpoint")
        }

    def differs(self, attrs: Mapping[str, Any]) -> list[str]:
        """In what a recording with these attributes is another one; sentence parts."""
        stored = read_sources(attrs)
        edited = changes(self.sources if stored is None else stored, self.sources)
        words = difference(json.loads(attrs.get("config", "{}")), self.settings())
        return [*words, *([f"{edited} has another source"] if edited else [])]

    def asks_for_more(self, attrs: Mapping[str, Any]) -> bool:
        """Whether a recording with these attributes is this one, with fewer samples."""
        fewer = json.loads(attrs.get("config", "{}")).get("samples", self.samples)
        return fewer < self.samples and not dataclasses.replace(self, samples=fewer).differs(attrs)


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
    home = None if config.transplant else config.engine
    fetched = [fetch(name, engine=home) for name in config.behaviour]
    named = [real(path) for path in (*config.runs, *fetched)]
    named = [real(transplant(path, config.engine, config.transplant)) for path in named]
    runs = list({path.resolve(): path for path in named}.values())
    if not (changing := [path for path in runs if _wanted(path, config, body, feedback)]):
        for path in runs:
            _remove_merged_parts(path)
        feedback.say("everything is recorded already; nothing to do")
        return runs
    with ExitStack() as held, feedback.bars() as bar:
        for path in sorted(changing):
            held.enter_context(writing(path))
        # What others recorded while this waited for the locks is looked at as well.
        asked = [one for path in changing for one in _wanted(path, config, body)]
        wanted = [_after_part(one, config.replace) for one in asked]
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
            wanted = dataclasses.replace(wanted, shorter=None)
        put_back(used, frozen.body)
        rate = 1 / used.config.control_step
        loop = Loop(used, thaw(frozen), observations(used, max(1, round(wanted.measure * rate))))
        loop.s = frozen.sensors
        source, made_with = wanted.shorter, versions(getattr(used, "engine", None))
        if wanted.part.exists() and source is None:
            work = GrowingFile.open(wanted.part)
        else:
            if source is not None:
                with reading(source) as file:
                    made_with = json.loads(attributes(file[f"behaviours/{wanted.name}"])["versions"])
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
                    "versions": json.dumps(made_with),
                    "sources": json.dumps(wanted.sources),
                },
                tracks=loop.tracks(),
                steps=wanted.samples,
                state=loop.checkpoint(),
                begin=None if source is None else partial(carry_over, source, wanted.name),
                replace=wanted.part.exists(),
            )
        total = wanted.transient + wanted.samples
        stops = {*range(wanted.checkpoint, total + 1, wanted.checkpoint), wanted.transient}
        with work:
            drive(loop, work, stops, total, first=wanted.transient)


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
            if not start or _origin(one.part) not in ("", start):
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
            keep_checkpoint(one.part, file, one.name)
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


def _wanted(path: Path, config: Record, body: Any, feedback: Feedback = SILENT) -> list[Wanted]:
    """What is left to record of a run."""
    with open_run_file(path) as run:
        if run.learning.status == "running":
            raise FileError(f"{path} has not finished learning; run its `selforg learn` command again first")
        if not run.frozen:
            raise FileError(f"{path} holds no frozen controller; learn with --freeze at times before its end")
        modules, made_of = modules_of(run, body is not None), body_source(run.robot, body)
        learned = made_of if run.sources is None else run.sources
        if edited := changes(learned | made_of, learned):
            feedback.say(
                f"note: {edited} has changed since {path} was learned: its controllers meet another body; "
                "`selforg learn --replace` learns them with this one"
            )
        chosen = [run.frozen_at(minutes)[0] for minutes in config.freeze] or list(run.frozen)
        sensors = run.learning.sensors
        if config.stationarity not in ("", "all"):
            with refusing(q.QuantifyError):
                find_column(sensors.shape[1], sensors.names, config.stationarity, str(path))
        found = []
        for name in dict.fromkeys(chosen):
            stored = run.behaviours.get(name)
            asked = (config.samples, config.transient, _looks(config, path, name, stored), config.checkpoint)
            used = made_of | sources(type(thaw(run.frozen[name])))
            one = Wanted(path, name, *asked, modules, used)
            if stored is None or stored.status == "running":
                found.append(one)
            elif one.asks_for_more(stored.attrs) and not (config.replace and stored.status == "stopped"):
                if stored.status != "stopped":  # that one would break down at the same moment
                    try:
                        last_checkpoint(path, name)
                        found.append(dataclasses.replace(one, shorter=path))
                    except FileError:
                        if not config.replace:
                            raise
                        found.append(one)
            elif differing := one.differs(stored.attrs):
                if not config.replace:
                    raise FileError(
                        f"{path} holds another recording of {name}: {'; '.join(differing)}; "
                        "ask for the same or for more, or use --replace to record it again"
                    )
                found.append(one)
        if found and (changed := other_versions(run.versions)):
            feedback.say(
                f"note: {path} was learned with {changed}: the recording need not equal, bit for bit, "
                "one made with the libraries of then"
            )
        return found


def _looks(config: Record, path: Path, name: str, stored: Recording | None) -> float:
    """Seconds between two looks at the body: as asked for, as a recording was begun, or as is usual now."""
    begun: dict[str, Any] = {}
    if config.measure is None and stored is not None and not config.replace:
        begun = json.loads(stored.attrs.get("config", "{}"))
    elif config.measure is None and part_path(path, name).exists():
        begun = json.loads(_attributes_of(part_path(path, name), name)["config"])
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
            there = recorded.attrs.get("config")
            if merged and _attributes_of(part, name).get("config") == there:
                part.unlink()
            remove_stale_lock(part)


def _after_part(wanted: Wanted, replace: bool) -> Wanted:
    """The recording to make, after a look at the part file, if there is one: it may be of another one."""
    if not wanted.part.exists():
        return wanted
    stored = _attributes_of(wanted.part, wanted.name)
    more = wanted.asks_for_more(stored)
    differing = [] if more else wanted.differs(stored)
    with open_run_file(wanted.run) as run:
        if _origin(wanted.part) not in ("", fingerprint(run, wanted.name)):
            differing.insert(0, f"it began with another controller or body than {wanted.run} holds")
    if differing and not replace:
        raise FileError(
            f"{wanted.part} is another unfinished recording: {'; '.join(differing)}; ask for the same or for "
            "more to finish it; delete it, or use --replace, to start again"
        )
    if differing:
        wanted.part.unlink()
        return wanted
    return dataclasses.replace(wanted, shorter=wanted.part if more else None)


def _attributes_of(part: Path, name: str) -> dict[str, Any]:
    """Attributes of an unfinished recording."""
    with reading(part) as file:
        return attributes(file[f"behaviours/{name}"])


def _origin(part: Path) -> str:
    """Fingerprint of the beginning of an unfinished recording; empty if it keeps none."""
    with reading(part) as file:
        return str(attributes(file).get("origin", ""))
