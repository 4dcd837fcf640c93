"""What it takes: change one thing at a time and learn again; and check that the physics is honest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from rich.table import Table

import controllers
from experiments.console import console, plain_table
from experiments.errors import ExperimentError
from experiments.pipeline.loop import make_body
from experiments.runfiles import run_file as log
from experiments.studies.emergence.trials import (
    Emergence,
    Trial,
    learn_trial,
    make_trial,
    named,
    run,
    save,
    seeds,
    spread,
    trial,
)
from experiments.sweeps.store import task_named
from experiments.sweeps.sweep import workspace
from robots.audit import audit

Changes = tuple[dict[str, Any], dict[str, Any]]
BLIND = {"velocity_scale": 1e9}
"""The hexapod's vertical velocity in units in which it always reads 0, but for the sensor's noise."""
CONTROLS: dict[str, Changes] = {
    # name: changes of the body, changes of the rule
    "as it is": ({}, {}),
    "without the vertical velocity": (BLIND, {}),
    "without the anti-saturation term": ({}, {"alpha": 0.0}),
    "learning off": ({}, {"eps": 0.0, "decay": 0.0}),
    "half the time step": ({"substeps": 4}, {}),
    "servos set in each physics step": ({"servo_every_substep": True}, {}),
}
AUDITED = ("as it is", "half the time step")
AUDIT_STEPS, AUDIT_TRANSIENT = 3000, 1000
"""Control steps whose books are kept, and those before them."""
HEIGHT = 1.0
"""A limp body is dropped from this height above its starting pose [m]."""


def controls(config: Emergence) -> dict[str, Any]:
    """Run and print the control experiments; saves them as JSON.

    Raises
    ------
    ExperimentError
        When the rule is not ULR, whose terms are switched off here, or settings do not fit.
    """
    if config.controller != "ulr":
        raise ExperimentError(f"--controls switches off terms of ulr; the rule is {config.controller!r}")
    hexapod = config.robot == "hexapod"
    chosen = {name: changes for name, changes in CONTROLS.items() if hexapod or changes[0] != BLIND}
    tasks = {
        name: [make_trial(config, seed, *changes) for seed in seeds(config)]
        for name, changes in chosen.items()
    }
    for name in list(tasks)[1:]:  # the first is what `emergence` computes: it may be there already
        tasks[name] = [replace(task, freeze=task.freeze[-1:]) for task in tasks[name]]
    flat = run(trial, [task for group in tasks.values() for task in group], config, "controls")
    found = {name: [named(task, flat.pop(0)) for task in group] for name, group in tasks.items()}
    audits = [task for name in AUDITED for task in tasks[name][:3]]
    books = run(books_of, audits, config, "books of the energy")
    physics = {name: [books.pop(0) for _ in tasks[name][:3]] for name in AUDITED}
    lines = _verdict(physics)
    document = save(config, "controls", {"controls": found, "physics": physics, "verdict": lines})
    console().print(_table(config.robot, found))
    print("\n".join(lines))
    return document


@task_named("experiments.controls:books_of")
def books_of(config: Trial) -> dict[str, Any]:
    """Learn, freeze, and see where the energy comes from; then drop the body without power.

    Returns
    -------
    dict
        `gravity`; `flights`, their number; `fall`, mean acceleration of the centre of mass in flight, and
        `fall_std` from flight to flight [m/s²]; `motors`, `ground` and `air`: net work of the servos, and
        what else was added to the energy on the ground and in the air [J per s]; `assisted`, share of steps
        with support, which are left out; `passive`, the largest energy of the limp body after its fall, in
        units of what it started with.
    """
    with workspace() as folder:
        path = learn_trial(config, folder)
        with log.open_run(path) as learned:
            if not learned.frozen:
                raise ExperimentError(learned.learning.reason or "nothing was frozen")
            frozen = learned.frozen[log.label(config.freeze[-1])]
    controller = controllers.find(frozen.kind).from_state(frozen.controller)
    body = make_body(config.robot, config.body)
    try:
        s = body.restore(frozen.body)
        for _ in range(AUDIT_TRANSIENT):
            s, _, terminated, _, info = body.step(controller.act(s).astype(np.float32))
            if terminated:
                raise ExperimentError(f"the simulation broke down: {info['reason']}")
        found = audit(body, controller, s, AUDIT_STEPS)
    finally:
        body.close()
    flights = found.flights()
    falls = [(found.lift[b] - found.lift[a]) / ((b - a) * found.step) for a, b in flights]
    seconds = len(found.work) * found.step
    free = ~found.assisted
    return {
        "seed": config.seed,
        "gravity": config.body["gravity"],
        "flights": len(flights),
        "fall": float(np.mean(falls)) if falls else None,
        "fall_std": float(np.std(falls)) if falls else None,
        "motors": float(found.work[free].sum() / seconds),
        "ground": float(found.rest[free & found.touching].sum() / seconds),
        "air": float(found.rest[free & ~found.touching].sum() / seconds),
        "assisted": float(found.assisted.mean()),
        "passive": _drop(config),
    }


def _drop(config: Trial) -> float:
    """Drop the body without power: largest energy after the fall in units of the first."""
    powerless = {key: 0.0 for key in config.body if "power" in key or key == "upright_support"}
    body = make_body(config.robot, config.body | powerless)
    try:
        s, _ = body.reset(seed=config.seed)
        snapshot = body.snapshot()
        snapshot["base"][2] += HEIGHT
        s = body.restore(snapshot)
        limp = controllers.Frozen(np.zeros((len(body.motor_names), len(s))), np.zeros(len(body.motor_names)))
        energy = audit(body, limp, s, 500).energy
        return float(energy[1:].max() / energy[0])
    finally:
        body.close()


def _table(robot: str, found: dict[str, list[dict[str, Any]]]) -> Table:
    key, heading = ("airtime", "airtime") if robot == "hexapod" else ("joint_std", "joint std")
    table = plain_table("control", "frozen: modes", f"{heading}: least, median, most", "while learning")
    for name, rows in found.items():
        last = [list(row["frozen"].values())[-1] for row in rows if row["frozen"]]
        numbers = [x for x in last if "reason" not in x]
        modes = Counter(x["mode"] for x in numbers)
        modes["broke down"] = len(rows) - len(numbers)
        lived: Counter[str] = Counter()
        for row in rows:
            lived.update(row["learning"]["modes"][-12:])  # the last two minutes
        table.add_row(name, _counts(modes), spread([x[key] for x in numbers]), _counts(lived, share=True))
    return table


def _counts(counter: Counter[str], share: bool = False) -> str:
    total = counter.total()
    return ", ".join(
        f"{name} {n / total:.0%}" if share else f"{name} {n}" for name, n in counter.most_common() if n
    )


def _verdict(physics: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = []
    for name, rows in physics.items():
        good = [row for row in rows if "motors" in row]
        flying = [row for row in good if row["flights"]]
        if flying:
            falls = ", ".join(f"{row['fall']:.2f} ± {row['fall_std']:.2f}" for row in flying)
            count = sum(row["flights"] for row in flying)
            lines.append(
                f"{name}: in {count} flights the centre of mass accelerates by {falls} m/s², "
                f"g is {flying[0]['gravity']:g}"
            )
        for row in good:
            lines.append(
                f"{name}, seed {row['seed']}: servos give {row['motors']:+.3f} W, the ground "
                f"{row['ground']:+.3f} W, stops and integrator in the air {row['air']:+.3f} W; dropped "
                f"without power the energy never exceeds {row['passive']:.4f} of the first"
            )
        lines += [f"{name}: {row['reason']}" for row in rows if "reason" in row]
    return lines
