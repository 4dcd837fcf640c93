"""Let a robot learn, and freeze its controller at chosen moments."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

import controllers
from controllers import Controller
from experiments.errors import ExperimentError, FileError, nearest, refusing
from experiments.feedback import SILENT, Feedback
from experiments.pipeline.loop import Loop, Watch, body_settings, drive, observations, using_body
from experiments.runfiles.atomic import remove_stale_lock, writing
from experiments.runfiles.contents import finish_learning, frozen_arrays
from experiments.runfiles.growing import GrowingFile, Track
from experiments.runfiles.results import other_versions, versions
from experiments.runfiles.run_file import FORMAT, SCHEMA, label, open_run_file
from experiments.settings import ASIDE, Changes, build, deciding, difference, experiment_defaults, settings
from experiments.sweeps.workers import in_parallel, watching


@settings
class Learn(Changes):
    """Run a learning experiment and freeze the controller at chosen times."""

    robot: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ROBOT")]
    """Body to learn with, such as hexapod or snake, or your own as my_module:MyRobot."""
    controller: str = "ulr"
    """Learning rule by name, or your own as my_module:MyRule."""
    minutes: float = 8.0
    """Length of the experiment in simulated minutes."""
    freeze: tuple[float, ...] = (2.0, 4.0, 8.0)
    """Minutes at which a copy of the controller is frozen."""
    seed: int = 1
    """Seed of everything random."""
    out: Path | None = dataclasses.field(default=None, metadata=ASIDE)
    """File to write; runs/ROBOT-CONTROLLER-SEED.h5 if not given."""
    interval: float = 1.0
    """Seconds between two stored values of C and h."""
    measure: float = 0.2
    """Seconds between two measurements of the body from outside (height, tilt, ground contacts)."""
    checkpoint: int = 3000
    """Control steps between two checkpoints, from which an interrupted run goes on."""

    @property
    def path(self) -> Path:
        """Where the run goes."""
        return self.out or Path("runs") / f"{file_name(self.robot, self.controller)}-{self.seed}.h5"


def file_name(robot: str, controller: str) -> str:
    """Robot and rule as the beginning of a file's name; a user's own have a colon, which becomes a dot."""
    return f"{robot}-{controller}".replace(":", ".").replace("/", ".")


def find_rule(name: str) -> type[Controller]:
    """Class of a learning rule by name, or the user's own (my_module:MyRule, also from this folder)."""
    if ":" not in name and name not in controllers.REGISTRY:
        known = nearest(name, controllers.REGISTRY)
        raise ExperimentError(f"unknown controller {name!r}; {known}; or your own as my_module:MyRule")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    with refusing(controllers.ControllerError):
        return controllers.find(name)


def resolve(config: Learn, rule: type[Controller] | None = None, live: bool = False) -> Learn:
    """The same experiment with every setting of body and rule spelled out; refuses what cannot run.

    The settings of a live body are those it has.
    """
    rule = rule or find_rule(config.controller)
    given = {part: experiment_defaults(config.robot, config.controller, part) for part in ("body", "rule")}
    body = dict(config.body) if live else body_settings(config.robot, given["body"] | config.body)
    chosen = build(rule.Config, given["rule"] | config.rule, f"the rule {config.controller}")
    for name in ("minutes", "interval", "measure"):
        if not 0 < (value := getattr(config, name)) < np.inf:
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
    freeze = tuple(sorted(set(config.freeze)))
    return dataclasses.replace(config, freeze=freeze, body=body, rule=dataclasses.asdict(chosen))


def learn(
    config: Learn, feedback: Feedback = SILENT, *, body: Any = None, rule: type[Controller] | None = None
) -> Path:
    """Run a learning experiment, or go on with one that was interrupted; returns the file.

    The file holds all sensors and motor values, C and h over time, and the frozen controllers. A run that
    breaks down (the simulation blows up, NaN in the controller) ends with its reason in the file. `body` and
    `rule` are the live body and the class of the rule behind the names in `config`, where no module has them.

    Raises ExperimentError when the settings do not fit, or the file belongs to another experiment.
    """
    config = resolve(config, rule, live=body is not None)
    path = config.path
    if path.parent.exists() and not path.parent.is_dir():
        raise FileError(f"{path.parent} is not a directory; choose another --out")
    if path.exists():
        with open_run_file(path) as run:
            if differing := difference(run.config, deciding(config)):
                raise FileError(
                    f"{path} holds another experiment: {'; '.join(differing[:3])}; "
                    "choose another --out or delete it"
                )
            past = run.learning
            if past.status != "running":
                why = f": {past.reason}" if past.reason else ""
                feedback.say(f"{path} is already {past.status} ({past.steps} steps){why}; nothing to do")
                remove_stale_lock(path)
                return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path), using_body(config.robot, config.body, body) as used:
        _learn(config, used, rule or find_rule(config.controller), feedback)
    return path


def learn_all(configs: list[Learn], jobs: int = 0, feedback: Feedback = SILENT) -> list[Path]:
    """Run several learning experiments on all cores; nothing is begun unless all of them can."""
    resolved = [resolve(config) for config in configs]
    if len(configs) == 1 or jobs == 1:
        return [learn(config, feedback) for config in configs]
    first = resolved[0]
    with using_body(first.robot, first.body) as body:  # compile once, not in every process
        _loop(first, body, find_rule(first.controller)).advance(0, 20)
    totals = {config.path: round(config.minutes * 60 / config.body["control_step"]) for config in resolved}
    with feedback.bars() as bar, watching(totals, bar(f"learn {len(configs)} runs [steps]")):
        paths = in_parallel(learn, configs, jobs)
    feedback.say(f"learned: {', '.join(map(str, paths))}")
    return paths


def _learn(config: Learn, body: Any, rule: type[Controller], feedback: Feedback) -> None:
    path, rate = config.path, 1 / body.config.control_step
    steps = round(config.minutes * 60 * rate)
    freezes = {label(minutes): round(minutes * 60 * rate) for minutes in config.freeze}
    loop = _loop(config, body, rule)
    if path.exists():
        work = _continue(path, steps, getattr(body, "resumable", True), feedback)
    else:
        work = GrowingFile.create(
            path,
            attrs={
                "format": FORMAT,
                "schema": SCHEMA,
                "robot": config.robot,
                "controller": config.controller,
                "seed": config.seed,
                "config": json.dumps(deciding(config)),
                "versions": json.dumps(versions()),
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
            },
            group="learning",
            group_attrs={"wanted": steps, "rate_hz": rate},
            tracks=loop.tracks(),
            steps=steps,
            state=loop.checkpoint(),
            marks={f"frozen/{name}": step for name, step in freezes.items()},
        )

    def freeze(step: int) -> None:
        for name in (name for name, at in freezes.items() if at == step):
            state = loop.freeze(float(name.removesuffix("min")), step)
            work.mark(f"frozen/{name}", frozen_arrays(state))

    with work, feedback.bars() as bar:
        title = f"learn {config.robot} {config.controller} seed {config.seed} [steps]"
        stops = {*range(config.checkpoint, steps, config.checkpoint), *freezes.values(), steps}
        reason = drive(loop, work, stops, at_stop=freeze, advance=bar(title))
    finish_learning(path, "stopped" if reason else "complete", reason)
    reached = ", ".join(name for name, step in freezes.items() if step <= work.steps) or "no time"
    feedback.say(f"{path}: {work.steps} steps, frozen at {reached}" + (f"; {reason}" if reason else ""))


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
        if changed := other_versions(run.versions):
            feedback.say(
                f"note: {path} was begun with {changed}: the result may depend on where it was interrupted, "
                "and need not equal an uninterrupted run bit by bit"
            )
    return work


def _loop(config: Learn, body: Any, rule: type[Controller]) -> Loop:
    """Body and controller at the start of learning."""
    rate = 1 / body.config.control_step
    s, _ = body.reset(seed=config.seed)
    n, o = len(body.sensor_names), len(body.motor_names)
    rng = np.random.default_rng([config.seed, 1])
    with refusing(controllers.ControllerError):
        controller = rule(n, o, rule.Config.from_mapping(config.rule), rng)
    loop = Loop(body, controller)
    loop.s = s
    every = max(1, round(config.interval * rate))
    loop.watches = [
        Watch(Track("C", (o, n), "<f8", every), lambda: loop.controller.C.copy()),
        Watch(Track("h", (o,), "<f8", every), lambda: loop.controller.h.copy()),
        *observations(body, max(1, round(config.measure * rate))),
    ]
    return loop
