"""What the studies of emergence share: settings, the trial of a seed, what is observed, counts of modes."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from experiments.errors import ExperimentError, nearest
from experiments.feedback import Feedback
from experiments.options.pipeline import file_name
from experiments.options.studies import Emergence
from experiments.pipeline.learn import Learn, learn, resolve, sources_of
from experiments.pipeline.loop import OBSERVED, Loop, observations
from experiments.pipeline.record import Record, record
from experiments.pipeline.sources import Sources, verify
from experiments.runfiles.contents import FrozenState, Recording
from experiments.runfiles.run_file import RunFile, label, open_run_file
from experiments.studies.study import Study, document_of
from experiments.sweeps.sweep import ADDED, Task, sweep, task_named, workspace
from quantify import plots
from quantify.aliases import Figure
from robots import ROBOTS, Description, Observed, description_of, longest_stays, name_mode

FREEZE = (2.0, 4.0, 8.0)
"""Minutes at which controllers are frozen if nobody says otherwise."""
WINDOW = 10.0
"""Seconds of learning that are looked at together to say which mode the robot is in."""


@dataclass(frozen=True)
class Trial:
    """One seed: everything that decides what it learns and how it is looked at."""

    robot: str
    controller: str
    seed: int
    minutes: float
    freeze: tuple[float, ...]
    samples: int
    transient: int
    body: dict[str, Any]
    rule: dict[str, Any]
    window: float = WINDOW
    sources: Sources = field(default_factory=dict, metadata=ADDED)
    """What of the user's own robot and rule are made of: an edited rule is another task."""


LEARNED = ("robot", "controller", "seed", "minutes", "freeze", "body", "rule")
"""What a trial has in common with `selforg learn`."""


def refuse_undescribed(robot: str) -> None:
    """Refuse a robot of which nobody has said what to look for."""
    described = [name for name, entry in ROBOTS.items() if entry.description]
    if robot not in described:
        raise ExperimentError(f"what to look for is not stated for {robot!r}; {nearest(robot, described)}")


def make_trial(
    config: Emergence, seed: int, body: dict[str, Any] | None = None, rule: dict[str, Any] | None = None
) -> Trial:
    """The trial of a seed with every setting spelled out, after changes of body and rule; refuses misfits."""
    if config.samples < 1000:
        raise ExperimentError(f"--samples {config.samples} must be at least 1000 (20 s tell a mode)")
    if config.transient < 0:
        raise ExperimentError(f"--transient {config.transient} must be 0 or more")
    freeze = config.freeze or tuple(t for t in FREEZE if t <= config.minutes) or (config.minutes,)
    changes: dict[str, Any] = {"body": config.body | (body or {}), "rule": config.rule | (rule or {})}
    changes |= {"engine": config.engine, "preset": config.preset}
    resolved = resolve(Learn(config.robot, config.controller, config.minutes, freeze, seed, **changes))
    values = {name: getattr(resolved, name) for name in LEARNED}
    made_of = sources_of(config.robot, config.controller)
    return Trial(**values, samples=config.samples, transient=config.transient, sources=made_of)


def learn_trial(config: Trial, folder: Path) -> Path:
    """The run file of a trial, as `selforg learn` with the same settings makes it.

    While it learns the body is looked at as often as in every trial that is in users' stores.
    """
    verify(config.sources, sources_of(config.robot, config.controller))
    settings = {name: getattr(config, name) for name in LEARNED}
    return learn(Learn(**settings, out=folder / "run.h5", measure=0.2))


def learn_frozen(config: Trial) -> dict[str, FrozenState]:
    """Learn; the frozen controllers by name, or an error that says why there is none."""
    with workspace() as folder, open_run_file(learn_trial(config, folder)) as run:
        if not run.frozen:
            raise ExperimentError(run.learning.reason or "nothing was frozen")
        return dict(run.frozen)


@task_named("experiments.emergence:trial")
def trial(config: Trial) -> dict[str, Any]:
    """Learn with one seed and look at what it does, while it learns and when frozen.

    The numbers of the robot's description in each window of `learning`, and by freeze time in `frozen`, or a
    `reason` in their place. `with_modes` says which modes these are.
    """
    numbers = description_of(config.robot).numbers
    with workspace() as folder:
        path = learn_trial(config, folder)
        with open_run_file(path) as run:
            windows, why, frozen = _learning(run, config.window), run.learning.reason, {**run.frozen}
        if frozen:
            step = config.body["control_step"]
            record(Record((path,), config.samples, transient=config.transient, measure=step, jobs=1))
        rows: dict[str, Any] = {}
        with open_run_file(path) as run:
            for name in map(label, config.freeze):
                found = run.behaviours.get(name)
                if found is None or found.reason:
                    never = "never reached: learning broke down before"
                    rows[name] = {"reason": found.reason if found else never}
                else:
                    rows[name] = numbers(observed_in(found))
    return {"seed": config.seed, "reason": why, "learning": windows, "frozen": rows}


def _learning(run: RunFile, seconds: float) -> list[dict[str, Any]]:
    """The numbers of each window of learning, one after the other."""
    if run.learning.steps < seconds * run.learning.attrs["rate_hz"]:
        return []
    whole, numbers = observed_in(run.learning), description_of(run.robot).numbers
    window = round(seconds * whole.rate / whole.every)
    starts = range(0, len(whole.motion["z"]) - window + 1, window)
    return [numbers(whole.part(start, start + window)) for start in starts]


def can_jump(robot: str) -> bool:
    """Whether a robot is one of those that are told by their time in the air."""
    return description_of(robot).telling == "airtime"


def with_modes(task: Trial, row: dict[str, Any]) -> dict[str, Any]:
    """What a trial found with its modes named by today's criteria, whenever its numbers were computed.

    `learning` becomes the mode in each window, the longest stay in each mode [s] and, for the hexapod, the
    minute of its first jumps.
    """
    frozen = {
        name: numbers if "reason" in numbers else {"mode": name_mode(task.robot, numbers)} | numbers
        for name, numbers in row.get("frozen", {}).items()
    }
    windows = row.get("learning", [])
    modes = [name_mode(task.robot, numbers) for numbers in windows]
    learning: dict[str, Any] = {"modes": modes, "longest": longest_stays(modes, task.window)}
    if can_jump(task.robot):
        jumps = [i for i, numbers in enumerate(windows) if numbers["airtime"] > 0.05]
        learning["first_jumps"] = jumps[0] * task.window / 60 if jumps else None
    return row | {"learning": learning, "frozen": frozen}


def count_modes(found: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Counter[str]]:
    """How often each mode was found, from what was done to the robot and the numbers that came out."""
    counted: dict[str, Counter[str]] = {}
    for name, numbers in found:
        counted.setdefault(name, Counter())[numbers.get("mode", "broke down")] += 1
    return counted


def observed_in(recording: Recording, first: int = 0, last: int | None = None) -> Observed:
    """Samples first to last of a recording (all, if not given)."""
    motion = recording.tracks[OBSERVED]
    last = recording.steps if last is None else min(last, recording.steps)
    if last - first < motion.every:
        raise ExperimentError(f"{recording.name} holds {recording.steps} samples: nothing was observed")
    rows = motion[-(-first // motion.every) : -(-last // motion.every)].astype(float)
    return Observed(
        rate=float(recording.attrs["rate_hz"]),
        every=motion.every,
        sensors=recording.sensors[first:last].astype(float),
        motion=dict(zip(motion.names, rows.T, strict=True)),
        motors=len(recording.actions.names),
    )


def observe(
    body: Any, controller: Any, s: NDArray[np.float32], steps: int, every: int = 1
) -> tuple[Observed, NDArray[np.float32]]:
    """Let a controller act, and learn if it does, for so many steps; gives its last sensor values, too.

    The body is looked at in every so many steps.
    """
    loop = Loop(body, controller, observations(body, every))
    loop.s = s
    block = loop.advance(0, steps)
    if block.reason:
        raise ExperimentError(block.reason)
    names = loop.watches[0].track.attrs["names"]
    motion = dict(zip(names, block.rows[OBSERVED].astype(float).T, strict=True))
    rate = 1 / body.config.control_step
    return Observed(rate, every, block.rows["sensors"].astype(float), motion, len(body.motor_names)), loop.s


def run_tasks(
    function: Task, tasks: list[Any], config: Emergence, title: str, feedback: Feedback
) -> list[dict[str, Any]]:
    """Run tasks where the settings say; their results are kept in OUT/store."""
    return sweep(function, tasks, store=config.out / "store", title=title, scale=config, feedback=feedback)


@dataclass(frozen=True)
class ModeStudy(Study):
    """A study that says in which modes a robot was found."""

    @classmethod
    def made(cls, config: Emergence, what: str, content: dict[str, Any], feedback: Feedback) -> Self:
        """Write the document of a study to OUT/ROBOT-RULE-WHAT.json."""
        name = file_name(config.robot, config.controller, config.engine, config.preset)
        stem = config.out / f"{name}-{what}"
        study = cls(document_of("emergence", config, content)).save(stem, "json")
        feedback.say(f"numbers: {study.files[0]}")
        return study

    @property
    def description(self) -> Description:
        """What to look for in the robot."""
        return description_of(self.document["settings"]["robot"])

    def sentences(self) -> list[str]:
        """The verdict."""
        return list(self.document["verdict"])

    @abstractmethod
    def modes(self) -> dict[str, Counter[str]]:
        """How often the robot was found in each mode, by what was done to it."""

    def figure(self) -> Figure:
        """The modes as bars, one for all that was treated alike."""
        robot = self.document["settings"]["robot"]
        return plots.counts(self.modes(), f"times that the {robot} was found in this mode")
