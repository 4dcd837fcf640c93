"""What emerges: learn with many seeds, freeze, and tell what an onlooker sees of the frozen behaviours."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from rich.table import Table

from experiments.console import console, plain_table, say
from experiments.errors import ExperimentError, nearest
from experiments.pipeline.learn import Learn, learn, resolve
from experiments.pipeline.record import Record, record
from experiments.runfiles import run_file as log
from experiments.settings import Settings, command, outcome
from experiments.studies.emergence.observing import DESCRIPTIONS, name_mode, see, spells
from experiments.sweeps.store import task_named, write_text
from experiments.sweeps.sweep import places, sweep, workspace

FREEZE = (2.0, 4.0, 8.0)
"""Minutes at which controllers are frozen if nobody says otherwise."""
WINDOW = 10.0
"""Seconds of learning that are looked at together to say which mode the robot is in."""

Columns = dict[str, tuple[str, str]]
COLUMNS: dict[str, Columns] = {
    # quantity: heading, format
    "hexapod": {
        "frequency": ("peak [Hz]", ".2f"),
        "peak_share": ("share", ".2f"),
        "height_std": ("height std [m]", ".3f"),
        "airtime": ("airtime", ".2f"),
        "std_x1": ("std x_1", ".3f"),
        "tilt": ("tilt [rad]", ".2f"),
        "support": ("support", ".3f"),
    },
    "snake": {
        "roll": ("roll [1/s]", "+.2f"),
        "speed": ("speed [m/s]", ".3f"),
        "along": ("along [m/s]", "+.2f"),
        "across": ("side [m/s]", "+.2f"),
        "frequency": ("peak [Hz]", ".2f"),
        "peak_share": ("share", ".2f"),
        "joint_std": ("joint std", ".2f"),
        "height": ("top [m]", ".2f"),
    },
}


@dataclass(frozen=True)
class Emergence:
    """Let a robot learn with many seeds and measure what it does when frozen."""

    robot: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ROBOT")] = "hexapod"
    """hexapod or snake."""
    controller: str = "ulr"
    """Learning rule by name, or your own as my_module:MyRule."""
    seeds: int = 10
    """Number of seeds: 1, 2, 3, ..."""
    minutes: float = 8.0
    """Length of learning in simulated minutes."""
    freeze: tuple[float, ...] = ()
    """Minutes at which the controller is frozen; 2 4 8 if not given, as far as learning goes."""
    samples: int = 10_000
    """Samples of each frozen behaviour that are looked at."""
    transient: int = 10_000
    """Samples before those, while the behaviour settles after freezing."""
    controls: bool = False
    """Change one thing at a time instead, and check the physics: what does it take?"""
    push: bool = False
    """Push the frozen robot from the side: does it change into another mode?"""
    impulse: float = 5.0
    """Size of the push [N s]: a robot of 1 kg is set to move at so many m/s."""
    body: Settings = field(default_factory=dict)
    """Settings of the body that differ from its defaults."""
    rule: Settings = field(default_factory=dict)
    """Settings of the learning rule that differ from its defaults."""
    out: Path = Path("runs/emergence")
    """Folder of the results; finished seeds are not computed again."""
    jobs: int = 0
    """Parallel processes on this machine; 0 for one per core."""
    backend: Literal["local", "dask"] = "local"
    """local: processes on this machine. dask: the workers of a Dask cluster."""
    scheduler: str | None = None
    """Address of the Dask scheduler, such as tcp://10.0.0.1:8786."""
    quiet: bool = False
    """Say nothing while working."""


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


def emergence(config: Emergence) -> dict[str, Any]:
    """Learn, freeze and look, seed by seed; prints table and verdict and saves them as JSON.

    Returns
    -------
    dict
        What is saved: the settings, the library versions, one row per seed (see `trial`), the verdict. With
        `controls` or `push` what those print.

    Raises
    ------
    ExperimentError
        When the settings do not fit.
    """
    if config.controls and config.push:
        raise ExperimentError("--controls and --push are two experiments: ask for one at a time")
    if config.controls:
        from experiments.studies.emergence.controls import controls

        return controls(config)
    if config.push:
        from experiments.studies.emergence.push import push

        return push(config)
    trials = [make_trial(config, seed) for seed in seeds(config)]
    found = run(trial, trials, config, f"{config.robot} emergence")
    rows = [{"seed": task.seed} | named(task, row) for task, row in zip(trials, found, strict=True)]
    document = save(config, "emergence", {"rows": rows, "verdict": verdict(config.robot, rows)})
    console().print(table(config.robot, rows))
    print("\n".join(document["verdict"]))
    return document


def named(task: Trial, row: dict[str, Any]) -> dict[str, Any]:
    """What a trial found with its modes named by today's criteria, whenever its numbers were measured.

    Returns
    -------
    dict
        The row with a `mode` in each of `frozen`; `learning` becomes the mode in each window, the longest
        stay in each mode [s] and, for the hexapod, the minute of its first jumps.
    """
    frozen = {
        name: numbers if "reason" in numbers else {"mode": name_mode(task.robot, numbers)} | numbers
        for name, numbers in row.get("frozen", {}).items()
    }
    windows = row.get("learning", [])
    modes = [name_mode(task.robot, numbers) for numbers in windows]
    learning: dict[str, Any] = {"modes": modes, "longest": spells(modes, task.window)}
    if task.robot == "hexapod":
        jumps = [i for i, numbers in enumerate(windows) if numbers["airtime"] > 0.05]
        learning["first_jumps"] = jumps[0] * task.window / 60 if jumps else None
    return row | {"learning": learning, "frozen": frozen}


def seeds(config: Emergence) -> range:
    """The seeds that are asked for: 1 to n."""
    if config.seeds < 1:
        raise ExperimentError(f"--seeds is {config.seeds}; it must be at least 1")
    return range(1, config.seeds + 1)


def make_trial(
    config: Emergence, seed: int, body: dict[str, Any] | None = None, rule: dict[str, Any] | None = None
) -> Trial:
    """The trial of a seed with every setting spelled out, after changes of body and rule; refuses misfits."""
    if config.robot not in DESCRIPTIONS:
        raise ExperimentError(
            f"what to look for is not stated for {config.robot!r}; {nearest(config.robot, DESCRIPTIONS)}"
        )
    if config.samples < 1000 or config.transient < 0:
        raise ExperimentError(
            f"--samples {config.samples} must be at least 1000 (20 s tell a mode), "
            f"--transient {config.transient} must be 0 or more"
        )
    freeze = config.freeze or tuple(t for t in FREEZE if t <= config.minutes)
    wanted = Learn(
        config.robot,
        config.controller,
        minutes=config.minutes,
        freeze=freeze or (config.minutes,),
        seed=seed,
        body=config.body | (body or {}),
        rule=config.rule | (rule or {}),
    )
    wanted = resolve(wanted)
    shared = {f.name for f in dataclasses.fields(Trial)} - {"samples", "transient", "window"}
    values = {name: getattr(wanted, name) for name in shared}
    return Trial(**values, samples=config.samples, transient=config.transient)


def run(function: Any, tasks: list[Any], config: Emergence, title: str) -> list[dict[str, Any]]:
    """Run tasks where the command's options say, and keep what they return."""
    return sweep(function, tasks, store=config.out / "store", title=title, **places(config))


@task_named("experiments.emergence:trial")
def trial(config: Trial) -> dict[str, Any]:
    """Learn with one seed and look at what it does, while it learns and when frozen.

    Returns
    -------
    dict
        `seed`; `reason`, why learning broke down, if it did; `learning`: what the robot's description tells
        of each window; `frozen`: the same by freeze time, or a `reason`. `named` says which modes these are.
    """
    with workspace() as folder:
        path = learn_trial(config, folder)
        with log.open_run(path) as learned:
            row = {
                "seed": config.seed,
                "reason": learned.learning.reason,
                "learning": _learning(learned, config.window),
            }
            any_frozen = bool(learned.frozen)
        if any_frozen:
            step = config.body["control_step"]
            record(
                Record((path,), config.samples, transient=config.transient, measure=step, jobs=1, quiet=True)
            )
        frozen: dict[str, Any] = {}
        with log.open_run(path) as recorded:
            for minutes in config.freeze:
                found = recorded.behaviours.get(log.label(minutes))
                if found is None:
                    frozen[log.label(minutes)] = {"reason": "never reached: learning broke down before"}
                elif found.reason:
                    frozen[log.label(minutes)] = {"reason": found.reason}
                else:
                    frozen[log.label(minutes)] = DESCRIPTIONS[config.robot](see(found))
    return row | {"frozen": frozen}


def learn_trial(config: Trial, folder: Path) -> Path:
    """The run file of a trial, as `selforg learn` with the same settings makes it."""
    keys = ("robot", "controller", "seed", "minutes", "freeze", "body", "rule")
    settings = {key: getattr(config, key) for key in keys}
    return learn(Learn(**settings, out=folder / "run.h5", quiet=True))


def _learning(learned: log.Run, seconds: float) -> list[dict[str, Any]]:
    """What each window of learning looks like, one after the other."""
    if learned.learning.steps < seconds * learned.learning.attrs["rate_hz"]:
        return []
    whole = see(learned.learning)
    window = round(seconds * whole.rate / whole.every)
    starts = range(0, len(whole.measures["z"]) - window + 1, window)
    return [DESCRIPTIONS[learned.robot](whole.part(start, start + window)) for start in starts]


def verdict(robot: str, rows: list[dict[str, Any]]) -> list[str]:
    """In how many seeds the robot did what: sentences."""
    n = len(rows)
    lines = []
    if robot == "hexapod":
        names = list(dict.fromkeys(name for row in rows for name in row.get("frozen", ())))
        for name in names:
            found = [row["frozen"][name] for row in rows if "mode" in row.get("frozen", {}).get(name, {})]
            wide = sum(x["std_x1"] > 0.15 for x in found)
            grounded = sum(x["airtime"] <= 0.02 for x in found)
            jump = sum(x["mode"] == "jumping" for x in found)
            lines.append(
                f"{name}: on the ground in {grounded} of {n} seeds, std of x_1 over .15 in {wide}, "
                f"regular jumping (airtime over .3, peak share over .8) in {jump}"
            )
        first = [t for row in rows if (t := row.get("learning", {}).get("first_jumps")) is not None]
        when = f"minute {min(first):.1f} to {max(first):.1f}" if first else "never"
        lines.append(f"first jumps while learning: {when} in {len(first)} of {n} seeds")
    else:
        names = list(dict.fromkeys(name for row in rows for name in row.get("frozen", ())))
        for name in names:
            modes = Counter(row["frozen"][name].get("mode", "broke down") for row in rows if "frozen" in row)
            told = ", ".join(f"{mode} in {count}" for mode, count in modes.most_common())
            lines.append(f"{name}, of {n} seeds: {told}")
        longest: dict[str, list[float]] = {}
        for row in rows:
            for mode, seconds in row.get("learning", {}).get("longest", {}).items():
                longest.setdefault(mode, []).append(seconds)
        for mode, stays in longest.items():
            lines.append(
                f"{mode} while learning: in {len(stays)} of {n} seeds, "
                f"for {min(stays):.0f} to {max(stays):.0f} s without a break"
            )
    failed = [row for row in rows if row.get("reason")]
    unfinished = [row for row in failed if row.get("unfinished")]  # for reasons that are not the robot's
    if len(failed) > len(unfinished):
        lines.append(f"broke down: {len(failed) - len(unfinished)} of {n} seeds")
    if unfinished:
        lines.append(f"unfinished: {len(unfinished)} of {n} seeds; the same command tries them again")
    return lines


def table(robot: str, rows: list[dict[str, Any]]) -> Table:
    """One row per seed and freeze time."""
    columns = COLUMNS[robot]
    headings = ("seed", "frozen", "mode", *(heading for heading, _ in columns.values()))
    found = plain_table(*headings)
    for column in found.columns[:3]:
        column.no_wrap = True
    for row in rows:
        for name, numbers in row.get("frozen", {}).items():
            values = [format(numbers[key], form) for key, (_, form) in columns.items() if key in numbers]
            found.add_row(str(row["seed"]), name, numbers.get("mode", numbers.get("reason", "")), *values)
        if "frozen" not in row:
            found.add_row(str(row["seed"]), "-", row.get("reason", ""))
    return found


def save(config: Emergence, what: str, content: dict[str, Any]) -> dict[str, Any]:
    """Write command, settings, versions and content to OUT/ROBOT-RULE-WHAT.json."""
    document = {
        "command": command("emergence", config),
        "settings": outcome(config),
        "versions": log.versions(),
        **content,
    }
    path = config.out / f"{config.robot}-{config.controller.replace(':', '.')}-{what}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(document, indent=1) + "\n")
    say(f"numbers: {path}", config.quiet)
    return document


def spread(values: list[float], form: str = ".2f") -> str:
    """Least, median and largest of some numbers."""
    if not values:
        return "-"
    return " ".join(format(v, form) for v in (min(values), float(np.median(values)), max(values)))
