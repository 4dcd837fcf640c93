"""Compare runs that are there: their recordings are quantified alike, and nothing is run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.errors import ExperimentError, FileError
from experiments.feedback import SILENT, Feedback
from experiments.options.studies import Compare
from experiments.runfiles.run_file import label, open_run_file
from experiments.settings import difference
from experiments.studies.scoring import Yardstick, scored, yardstick
from experiments.sweeps.sweep import task_named


@dataclass(frozen=True)
class Existing:
    """A recorded behaviour of a run file, and how it is quantified."""

    robot: str
    controller: str
    """Its rule, with the settings in which the runs of that rule differ."""
    seed: int
    body: dict[str, Any]
    rule: dict[str, Any]
    run: str
    name: str
    recording: str
    """What tells the recording from every other: one that was made anew is another task."""
    measure: Yardstick


def find_existing(config: Compare, feedback: Feedback = SILENT) -> list[Existing]:
    """The behaviours to compare, one of each run file; refuses runs that have not the same body.

    The last samples of each recording count, as many as the shortest has, and seeds that all controllers of a
    robot have.
    """
    found, lengths = [], []
    for path in dict.fromkeys(path.resolve() for path in config.runs):
        with open_run_file(path) as run:
            done = [name for name, one in run.behaviours.items() if one.status != "running"]
            name = label(config.freeze) if config.freeze is not None else (done or [""])[-1]
            if name not in done:
                raise FileError(f"{path} holds no recording{f' of {name}' if name else ''}; record it first")
            lengths.append(run.behaviours[name].steps or 1)
            who = (run.robot, run.controller, run.seed, run.config["body"], run.config["rule"])
            found.append((*who, str(path), name, run.identity(name)))
    samples = min(config.samples, *lengths)
    if len({*lengths}) > 1:
        feedback.say(f"note: recordings differ in length; the last {samples:,} samples of each are compared")
    tasks = []
    for robot, *rest in found:
        values: tuple[Any, ...] = (robot, *rest, yardstick(replace(config, samples=samples), robot))
        tasks.append(Existing(*values))
    tasks = [replace(task, controller=_named(task, tasks)) for task in tasks]
    for task in tasks:
        _refuse_misfit(task, tasks)
    return [task for task in tasks if task.seed in _common_seeds(task.robot, tasks, feedback)]


def _named(task: Existing, tasks: Sequence[Existing]) -> str:
    """The rule, and those of its settings in which it differs from other runs of the same rule."""
    alike = [one for one in tasks if (one.robot, one.controller) == (task.robot, task.controller)]
    varied = [key for key in task.rule if any(one.rule.get(key) != task.rule[key] for one in alike)]
    return " ".join([task.controller, *(f"{key}={str(task.rule[key]).removesuffix('.0')}" for key in varied)])


def _refuse_misfit(task: Existing, tasks: Sequence[Existing]) -> None:
    for other in tasks:
        if other.robot == task.robot and (differing := difference(task.body, other.body)):
            words = "; ".join(differing[:3])
            raise ExperimentError(f"{task.run} and {other.run} have different bodies: {words}; compare alike")
        same = (other.robot, other.controller, other.seed) == (task.robot, task.controller, task.seed)
        if same and other.run != task.run:
            raise ExperimentError(f"{task.run} and {other.run} are the same rule and seed; leave one out")


def _common_seeds(robot: str, tasks: Sequence[Existing], feedback: Feedback) -> set[int]:
    """Seeds that every controller of a robot has."""
    seeds: dict[str, set[int]] = {}
    for task in tasks:
        if task.robot == robot:
            seeds.setdefault(task.controller, set()).add(task.seed)
    common = set.intersection(*seeds.values())
    if not common:
        listed = "; ".join(f"{name}: {sorted(one)}" for name, one in seeds.items())
        raise ExperimentError(f"the controllers of the {robot} have no seed in common ({listed})")
    return common


@task_named("experiments.comparison:existing")
def score_existing(config: Existing) -> dict[str, Any]:
    """Quantify a recording; the numbers that `score` gives."""
    with open_run_file(Path(config.run)) as run:
        if run.identity(config.name) != config.recording:
            raise FileError(f"{config.run} was recorded anew meanwhile; compare again")
        return scored(run.behaviour(config.name), config.measure, config.seed)


def replaced_by(config: Compare, tasks: Sequence[Existing]) -> Compare:
    """The settings of a comparison of these behaviours: what is compared is in the files."""
    return replace(
        config,
        robots=tuple(dict.fromkeys(task.robot for task in tasks)),
        controllers=tuple(dict.fromkeys(task.controller for task in tasks)),
        seeds=tuple(sorted({task.seed for task in tasks})),
        samples=tasks[0].measure.samples,
    )
