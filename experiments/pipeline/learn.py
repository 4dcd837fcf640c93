"""Let a robot learn, and freeze its controller at chosen moments."""

from __future__ import annotations

import dataclasses
import glob
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import controllers
import robots
from controllers import Controller
from experiments.errors import ExperimentError, FileError, containing, nearest, refusing
from experiments.feedback import SILENT, Feedback, plural
from experiments.options.pipeline import Learn
from experiments.pipeline.loop import (
    OFTEN,
    Loop,
    Watch,
    body_settings,
    body_source,
    drive,
    find_body,
    look_here,
    observations,
    using_body,
)
from experiments.pipeline.sources import Sources, forget_changed, sources
from experiments.pipeline.standing import LEARNING, Standing, asks_for_more, config_of, remove_grown, standing
from experiments.runfiles.atomic import make_folder, real, remove_stale_lock, writing
from experiments.runfiles.contents import finishing_learning, frozen_arrays
from experiments.runfiles.growing import GrowingFile, Track
from experiments.runfiles.hdf5 import attributes, reading
from experiments.runfiles.prolonging import carry_over, keep_checkpoint, last_checkpoint
from experiments.runfiles.results import other_versions, versions
from experiments.runfiles.run_file import FORMAT, SCHEMA, label, open_run_file, part_path
from experiments.settings import (
    LARGEST,
    build,
    deciding,
    experiment_defaults,
)
from experiments.sweeps.workers import in_parallel, watching


def find_rule(name: str) -> type[Controller]:
    """Class of a learning rule by name, or the user's own (my_module:MyRule, also from this folder)."""
    if ":" not in name and name not in controllers.REGISTRY:
        known = nearest(name, controllers.REGISTRY)
        raise ExperimentError(f"unknown controller {name!r}; {known}; or your own as my_module:MyRule")
    look_here()
    if ":" in name:
        forget_changed(name.partition(":")[0])
    with containing(f"the rule {name} cannot be imported"), refusing(controllers.ControllerError):
        return controllers.find(name)


def resolve(config: Learn, rule: type[Controller] | None = None, live: bool = False) -> Learn:
    """The same experiment with every setting of body and rule spelled out; refuses what cannot run.

    The settings of a live body are those it has.
    """
    rule = rule or find_rule(config.controller)
    given = {part: experiment_defaults(config.robot, config.controller, part) for part in ("body", "rule")}
    if config.preset:
        with refusing(controllers.ControllerError):
            given["rule"] = dict(controllers.preset(config.controller, config.preset).settings)
    named = config.body.get("preset")
    with refusing(robots.RobotError):
        preset = robots.body_preset(config.robot, str(named)) if named is not None else {}
    own = {name: value for name, value in config.body.items() if name != "preset"}
    changes = given["body"] | preset | own
    if config.engine:
        changes["engine"] = config.engine
    if live:
        body = {key: value for key, value in config.body.items() if (key, value) != ("engine", "pybullet")}
    else:
        body = body_settings(config.robot, {"engine": robots.default_engine()} | changes)
        if config.engine and find_body(config.robot).config is None:
            raise ExperimentError(
                f"{config.robot} brings its own physics; leave --engine {config.engine} out"
            )
    with containing(f"the settings of the rule {config.controller} cannot be made"):
        chosen = build(rule.Config, given["rule"] | config.rule, f"the rule {config.controller}")
    for name in ("minutes", "interval", "measure"):
        value = getattr(config, name)
        if value is not None and not 0 < value <= LARGEST:
            raise ExperimentError(
                f"--{name} is {value:g}; it must be greater than 0, and {LARGEST:g} at most"
            )
    if config.checkpoint < 1:
        raise ExperimentError(f"--checkpoint is {config.checkpoint}; it must be at least 1 step")
    if not 0 <= config.seed < 2**63:
        raise ExperimentError(f"--seed is {config.seed}; it must be 0 or more, and less than 2^63")
    for minutes in config.freeze:
        if not 0 <= minutes <= config.minutes:
            raise ExperimentError(
                f"--freeze {minutes:g} lies outside the experiment of {config.minutes:g} minutes; "
                f"freeze within 0..{config.minutes:g}, or make --minutes longer"
            )
    freeze = tuple(sorted(set(config.freeze)))
    if len({label(minutes) for minutes in freeze}) < len(freeze):
        words = " ".join(map(str, freeze))
        raise ExperimentError(f"--freeze {words}: times must differ in their first six digits")
    resolved = dataclasses.replace(config, out=config.path, engine=None, preset=None, freeze=freeze)
    return dataclasses.replace(resolved, body=body, rule=dataclasses.asdict(chosen))


def sources_of(
    robot: str, controller: str, body: Any = None, rule: type[Controller] | None = None
) -> Sources:
    """What of the user's own a robot and a rule are made of (see `sources`)."""
    return body_source(robot, body) | sources(rule or find_rule(controller))


def learn(
    config: Learn, feedback: Feedback = SILENT, *, body: Any = None, rule: type[Controller] | None = None
) -> Path:
    """Run a learning experiment, or go on with one that was interrupted, or shorter; returns the file.

    The file holds all sensors and motor values, C and h over time, and the frozen controllers. A run that
    breaks down (the simulation blows up, NaN in the controller) ends with its reason in the file. `body` and
    `rule` are the live body and the class of the rule behind the names in `config`, where no module has them.

    Raises ExperimentError when the settings do not fit, or the file belongs to another experiment.
    """
    config = resolve(config, rule, live=body is not None)
    path, used = real(config.path), sources_of(config.robot, config.controller, body, rule)
    asked = deciding(_with_looks(config))
    over = standing(path, asked, used, config.replace, feedback) == "over"
    if over and not part_path(path, LEARNING).exists():
        remove_stale_lock(path)
        return path
    make_folder(path.parent)
    # What was learned or begun while this waited for the lock is looked at as well.
    with writing(path), using_body(config.robot, config.body, body) as ready:
        config = _with_looks(config)
        found = standing(path, deciding(config), used, config.replace)
        if found != "over":
            _learn(path, found, config, used, ready, rule or find_rule(config.controller), feedback)
        remove_grown(path, deciding(config))
    return path


def learn_all(configs: list[Learn], jobs: int = 0, feedback: Feedback = SILENT) -> list[Path]:
    """Run several learning experiments on all cores; nothing is begun unless all of them can."""
    resolved = [resolve(config) for config in configs]
    if len(configs) == 1 or jobs == 1:
        return [learn(config, feedback) for config in configs]
    first = resolved[0]
    with using_body(first.robot, first.body) as body:  # compile once, not in every process
        _loop(first, body, find_rule(first.controller)).advance(0, 20)
    totals = {_grows_in(config): _steps(config, 1 / config.body["control_step"]) for config in resolved}
    with feedback.bars() as bar, watching(totals, bar(f"learn {plural(len(configs), 'run')} [steps]")):
        paths = in_parallel(learn, configs, jobs)
    feedback.say(f"learned: {', '.join(map(str, paths))}")
    return paths


def _steps(config: Learn, rate: float) -> int:
    return round(config.minutes * 60 * rate)


def _grows_in(config: Learn) -> Path:
    """The file in which a run grows: itself, or one beside it if it was finished and is asked for more."""
    path = real(config.path)
    with suppress(FileError):
        used = sources_of(config.robot, config.controller)
        if standing(path, deciding(_with_looks(config)), used, config.replace) == "more":
            return part_path(path, LEARNING)
    return path


def _learn(
    path: Path,
    found: Standing,
    config: Learn,
    used: Sources,
    body: Any,
    rule: type[Controller],
    feedback: Feedback,
) -> None:
    rate = 1 / body.config.control_step
    steps = _steps(config, rate)
    freezes = {label(minutes): round(minutes * 60 * rate) for minutes in config.freeze}
    loop = _loop(config, body, rule)
    if hasattr(body, "engine"):
        version = robots.engine_version(body.engine)
        feedback.say(
            f"{config.robot} under {config.controller}, seed {config.seed}, in {body.engine} {version}"
        )
    grown = part_path(path, LEARNING) if found == "more" else path
    if found == "goes on" or (found == "more" and config_of(grown) == deciding(config)):
        work = _continue(grown, steps, getattr(body, "resumable", True), feedback)
    else:
        source, made = path, {"versions": versions(getattr(body, "engine", None)), "created": _now()}
        if found == "more":
            if grown.exists() and asks_for_more(config_of(grown), deciding(config)):
                source = grown
            made = _going_on(source, steps, getattr(body, "resumable", True), feedback)
        elif path.exists():
            for part in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
                part.unlink()  # of the run that is replaced
        work = GrowingFile.create(
            grown,
            attrs={
                "format": FORMAT,
                "schema": SCHEMA,
                "robot": config.robot,
                "controller": config.controller,
                "seed": config.seed,
                "config": json.dumps(deciding(config)),
                "versions": json.dumps(made["versions"]),
                "sources": json.dumps(used),
                "created": made["created"],
            },
            group=LEARNING,
            group_attrs={"wanted": steps, "rate_hz": rate},
            tracks=loop.tracks(),
            steps=steps,
            state=loop.checkpoint(),
            marks={f"frozen/{name}": step for name, step in freezes.items()},
            begin=partial(carry_over, source, LEARNING) if found == "more" else None,
            replace=grown.exists(),
        )

    def freeze(step: int) -> None:
        for name in (name for name, at in freezes.items() if at == step):
            state = loop.freeze(float(name.removesuffix("min")), step)
            work.mark(f"frozen/{name}", frozen_arrays(state))

    with work, feedback.bars() as bar:
        title = f"learn {config.robot} {config.controller} seed {config.seed} [steps]"
        stops = {*range(config.checkpoint, steps + 1, config.checkpoint), *freezes.values()}
        reason = drive(loop, work, stops, steps, at_stop=freeze, advance=bar(title))
    with finishing_learning(grown, path, "stopped" if reason else "complete", reason) as file:
        keep_checkpoint(grown, file, LEARNING)
    reached = ", ".join(name for name, step in freezes.items() if step <= work.steps) or "no time"
    feedback.say(f"{path}: {work.steps} steps, frozen at {reached}" + (f"; {reason}" if reason else ""))


def _with_looks(config: Learn) -> Learn:
    """The same experiment, looking at the body as often as its file was begun with, or as is usual now."""
    path = real(config.path)
    if config.measure is not None or not path.exists():
        return dataclasses.replace(config, measure=config.measure or OFTEN)
    with open_run_file(path) as run:
        return dataclasses.replace(config, measure=float(run.config.get("measure") or OFTEN))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _going_on(source: Path, steps: int, resumable: bool, feedback: Feedback) -> dict[str, Any]:
    """Say that a run goes on beyond its end; when it was begun, and with which libraries."""
    at, _ = last_checkpoint(source, LEARNING)
    if not resumable:
        raise FileError(f"{source} ended at step {at}, and this body cannot be put back there; learn anew")
    feedback.say(f"{source} goes on from its checkpoint at step {at}, to step {steps}")
    with reading(source) as file:
        attrs = attributes(file)
    begun = json.loads(attrs["versions"])
    _note_versions(source, begun, feedback)
    return {"versions": begun, "created": attrs["created"]}


def _continue(path: Path, steps: int, resumable: bool, feedback: Feedback) -> GrowingFile:
    work = GrowingFile.open(path)
    if work.steps and not resumable:
        work.close()
        raise FileError(
            f"{path} was interrupted at step {work.steps}, and this body cannot be put back there; "
            "delete the file to begin anew"
        )
    feedback.say(f"continuing {path} at step {work.steps} of {steps}")
    with open_run_file(path) as run:
        _note_versions(path, run.versions, feedback)
    return work


def _note_versions(path: Path, begun: Mapping[str, str], feedback: Feedback) -> None:
    if changed := other_versions(begun):
        feedback.say(
            f"note: {path} was begun with {changed}: the result may depend on where it was interrupted, "
            "and need not equal an uninterrupted run bit for bit"
        )


def _loop(config: Learn, body: Any, rule: type[Controller]) -> Loop:
    """Body and controller at the start of learning."""
    rate = 1 / body.config.control_step
    s, _ = body.reset(seed=config.seed)
    n, o = len(body.sensor_names), len(body.motor_names)

    def make() -> Controller:
        return rule(n, o, rule.Config.from_mapping(config.rule), np.random.default_rng([config.seed, 1]))

    with containing(f"the rule {config.controller} does not work"), refusing(controllers.ControllerError):
        controllers.rehearse(make, freezes=bool(config.freeze))
        loop = Loop(body, make())
    loop.s = s
    every = max(1, round(config.interval * rate))
    loop.watches = [
        Watch(Track("C", (o, n), "<f8", every), lambda: loop.controller.C.copy()),
        Watch(Track("h", (o,), "<f8", every), lambda: loop.controller.h.copy()),
        *observations(body, max(1, round((config.measure or OFTEN) * rate))),
    ]
    return loop
