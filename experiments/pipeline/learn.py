"""Let a robot learn, and freeze its controller at chosen moments."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

import controllers
from experiments.console import bars, say
from experiments.errors import ExperimentError, FileError, nearest
from experiments.pipeline.loop import Loop, Watch, drive, find_robot, make_body, names
from experiments.runfiles import run_file as log
from experiments.runfiles.growing import Track, WorkFile, tidy, writing
from experiments.settings import Settings, build, difference, experiment_defaults, outcome
from experiments.sweeps.processes import in_parallel, watching

MEASURE_UNITS = {
    **dict.fromkeys(("x", "y", "z"), "m"),
    **dict.fromkeys(("vx", "vy", "vz"), "m/s"),
    "spin": "rad/s",
    "tilt": "rad",
    "contacts": "1",
    **dict.fromkeys(("cx", "cy", "cz"), "m"),
}


@dataclass(frozen=True)
class Learn:
    """Run a learning experiment and freeze the controller at chosen times."""

    robot: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ROBOT")]
    """Body to learn with, such as hexapod or snake."""
    controller: str = "ulr"
    """Learning rule by name, or your own as my_module:MyRule."""
    minutes: float = 8.0
    """Length of the experiment in simulated minutes."""
    freeze: tuple[float, ...] = (2.0, 4.0, 8.0)
    """Minutes at which a copy of the controller is frozen."""
    seed: int = 1
    """Seed of everything random."""
    out: Path | None = None
    """File to write; runs/ROBOT-CONTROLLER-SEED.h5 if not given."""
    interval: float = 1.0
    """Seconds between two stored values of C and h."""
    measure: float = 0.2
    """Seconds between two measurements of the body from outside (height, tilt, ground contacts)."""
    checkpoint: int = 3000
    """Control steps between two checkpoints, from which an interrupted run goes on."""
    body: Settings = field(default_factory=dict)
    """Settings of the body that differ from its defaults."""
    rule: Settings = field(default_factory=dict)
    """Settings of the learning rule that differ from its defaults."""
    quiet: bool = False
    """Say nothing while working."""

    @property
    def path(self) -> Path:
        """Where the run goes."""
        name = self.controller.replace(":", ".")
        return self.out or Path("runs") / f"{self.robot}-{name}-{self.seed}.h5"


def find_rule(name: str) -> type[controllers.Controller]:
    """Class of a learning rule by name, or the user's own (my_module:MyRule, also from this folder)."""
    if ":" not in name and name not in controllers.REGISTRY:
        known = nearest(name, controllers.REGISTRY)
        raise ExperimentError(f"unknown controller {name!r}; {known}; or your own as my_module:MyRule")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return controllers.find(name)
    except controllers.ControllerError as error:
        raise ExperimentError(str(error)) from error


def resolve(config: Learn) -> Learn:
    """The same experiment with every setting of body and rule spelled out; refuses what cannot run."""
    entry = find_robot(config.robot)
    rule = find_rule(config.controller)
    given = {part: experiment_defaults(config.robot, config.controller, part) for part in ("body", "rule")}
    body = build(entry.config, given["body"] | config.body, f"the {config.robot}")
    settings = build(rule.Config, given["rule"] | config.rule, f"the rule {config.controller}")
    for name, value in (
        ("minutes", config.minutes),
        ("interval", config.interval),
        ("measure", config.measure),
    ):
        if not (np.isfinite(value) and value > 0):
            raise ExperimentError(f"--{name} is {value:g}; it must be greater than 0")
    if config.checkpoint < 1:
        raise ExperimentError(f"--checkpoint is {config.checkpoint}; it must be at least 1 step")
    if config.seed < 0:
        raise ExperimentError(f"--seed is {config.seed}; it must be 0 or more")
    for minutes in config.freeze:
        if not 0 <= minutes <= config.minutes:
            raise ExperimentError(
                f"--freeze {minutes:g} lies outside the experiment of {config.minutes:g} minutes; "
                f"freeze within 0..{config.minutes:g}, or make --minutes longer"
            )
    return dataclasses.replace(
        config,
        freeze=tuple(sorted(set(config.freeze))),
        body=dataclasses.asdict(body),
        rule=dataclasses.asdict(settings),
    )


def learn(config: Learn) -> Path:
    """Run a learning experiment, or go on with one that was interrupted; returns the file.

    The file holds all sensors and motor values, C and h over time, and the frozen controllers. A run that
    breaks down (the simulation blows up, NaN in the controller) ends with its reason in the file.

    Raises
    ------
    ExperimentError
        When the settings do not fit, or the file belongs to another experiment.
    """
    config = resolve(config)
    path = config.path
    if path.parent.exists() and not path.parent.is_dir():
        raise FileError(f"{path.parent} is not a directory; choose another --out")
    wanted = outcome(config)
    if path.exists() and _is_finished(path, wanted):
        with log.open_run(path) as run:
            why = f": {run.learning.reason}" if run.learning.reason else ""
            state = f"{run.learning.status} ({run.learning.steps} steps)"
            say(f"{path} is already {state}{why}; nothing to do", config.quiet)
        tidy(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path):
        _run(config, path, wanted)
    return path


def learn_all(configs: list[Learn], jobs: int = 0) -> list[Path]:
    """Run several learning experiments on all cores; nothing is begun unless all of them can."""
    resolved = [resolve(config) for config in configs]
    if len(configs) == 1 or jobs == 1:
        return [learn(config) for config in configs]
    _warm_up(resolved[0])
    quiet = configs[0].quiet
    totals = {config.path: round(config.minutes * 60 / config.body["control_step"]) for config in resolved}
    with bars(quiet) as bar, watching(totals, bar(f"learn {len(configs)} runs [steps]")):
        paths = in_parallel(learn, [dataclasses.replace(config, quiet=True) for config in configs], jobs)
    say(f"learned: {', '.join(map(str, paths))}", quiet)
    return paths


def _is_finished(path: Path, wanted: dict[str, Any]) -> bool:
    with log.open_run(path) as run:
        if differing := difference(run.config, wanted):
            raise FileError(
                f"{path} holds another experiment: {'; '.join(differing[:3])}; "
                "choose another --out or delete it"
            )
        return run.learning.status != "running"


def _run(config: Learn, path: Path, wanted: dict[str, Any]) -> None:
    body = make_body(config.robot, config.body)
    try:
        rate = 1 / body.config.control_step
        steps = round(config.minutes * 60 * rate)
        freezes = {log.label(minutes): round(minutes * 60 * rate) for minutes in config.freeze}
        s, _ = body.reset(seed=config.seed)
        loop = _loop(config, body, rate)
        loop.s = s
        if path.exists():
            work = WorkFile.open(path)
            say(f"continuing {path} at step {work.steps} of {steps}", config.quiet)
            with log.open_run(path) as run:
                if changed := log.other_versions(run.versions):
                    say(
                        f"note: {path} was begun with {changed}: the result may depend on where it was "
                        "interrupted, and need not equal an uninterrupted run bit by bit",
                        config.quiet,
                    )
        else:
            work = WorkFile.create(
                path,
                attrs=_attributes(config, wanted),
                group="learning",
                group_attrs={"wanted": steps, "rate_hz": rate},
                tracks=loop.tracks(),
                steps=steps,
                state=loop.checkpoint(),
                marks={f"frozen/{name}": step for name, step in freezes.items()},
            )
        with work, bars(config.quiet) as bar:
            report = bar(f"learn {config.robot} {config.controller} seed {config.seed} [steps]")
            stops = {*range(config.checkpoint, steps, config.checkpoint), *freezes.values(), steps}
            reason = drive(
                loop, work, stops, at_stop=lambda t: _freeze(loop, work, freezes, t), report=report
            )
        log.finish_learning(path, "stopped" if reason else "complete", reason)
        with log.open_run(path) as run:
            frozen = ", ".join(run.frozen) or "no time"
        why = f"; {reason}" if reason else ""
        say(f"{path}: {work.steps} steps, frozen at {frozen}{why}", config.quiet)
    finally:
        body.close()


def _loop(config: Learn, body: Any, rate: float) -> Loop:
    n, o = len(body.sensor_names), len(body.motor_names)
    rng = np.random.default_rng([config.seed, 1])
    try:
        controller = controllers.make(config.controller, n, o, config.rule, rng)
    except controllers.ControllerError as error:
        raise ExperimentError(str(error)) from error
    loop = Loop(body, controller)
    every = max(1, round(config.interval * rate))
    loop.watches = [
        Watch(Track("C", (o, n), "<f8", every), lambda: loop.controller.C.copy()),
        Watch(Track("h", (o,), "<f8", every), lambda: loop.controller.h.copy()),
        measures(body, max(1, round(config.measure * rate))),
    ]
    return loop


def _warm_up(config: Learn) -> None:
    """Compile the controller's code once, before several processes need it at the same time."""
    body = make_body(config.robot, config.body)
    try:
        s, _ = body.reset(seed=config.seed)
        loop = _loop(config, body, 1 / body.config.control_step)
        loop.s = s
        loop.advance(0, 20)
    finally:
        body.close()


def measures(body: Any, every: int) -> Watch:
    """What an onlooker would note down about the body every so many steps."""
    keys = list(body.measure())
    attrs = names(keys, [MEASURE_UNITS.get(key, "") for key in keys])
    return Watch(Track("measures", (len(keys),), "<f4", every, attrs), lambda: list(body.measure().values()))


def _freeze(loop: Loop, work: WorkFile, freezes: dict[str, int], step: int) -> None:
    for name, at in freezes.items():
        if at == step:
            frozen = loop.controller.freeze()
            state = log.FrozenState(
                minutes=float(name.removesuffix("min")),
                step=step,
                kind=f"{type(frozen).__module__}:{type(frozen).__qualname__}",
                controller=frozen.state(),
                body=loop.body.snapshot(),
                sensors=loop.s,
            )
            work.mark(f"frozen/{name}", log.frozen_arrays(state))


def _attributes(config: Learn, wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": log.FORMAT,
        "schema": log.SCHEMA,
        "robot": config.robot,
        "controller": config.controller,
        "seed": config.seed,
        "config": json.dumps(wanted),
        "versions": json.dumps(log.versions()),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
