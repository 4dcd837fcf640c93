"""What does it take? One thing changed at a time, behaviours taken apart, and the books of their energy."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.errors import ExperimentError, refusing
from experiments.feedback import Feedback
from experiments.options.studies import Emergence
from experiments.pipeline.loop import make_body, thaw
from experiments.reports.tables import Table
from experiments.runfiles.run_file import label
from experiments.studies.emergence import interventions, trials
from experiments.studies.emergence.interventions import ablate, lesson
from experiments.studies.emergence.trials import ModeStudy, Trial, observe
from experiments.studies.study import frame
from experiments.sweeps.sweep import task_named
from robots import RobotError
from robots.audit import audit, drop, energy_words

if TYPE_CHECKING:
    import pandas

BLIND = {"velocity_scale": 1e9}
"""The hexapod's vertical velocity in units in which it always reads 0, but for the sensor's noise."""
CONTROLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # name: changes of the body (of substeps: the factor), changes of the rule
    "as it is": ({}, {}),
    "without the vertical velocity": (BLIND, {}),
    "without the anti-saturation term": ({}, {"alpha": 0.0}),
    "learning off": ({}, {"eps": 0.0, "decay": 0.0}),
    "half the time step": ({"substeps": 2}, {}),
    "servos set in each physics step": ({"servo_every_substep": True}, {}),
}
REFERENCE = "as it is"
AUDITED = (REFERENCE, "half the time step")
AUDIT_STEPS, AUDIT_TRANSIENT = 1000, 1000
"""Control steps whose energy is audited, and those before them."""


@dataclass(frozen=True)
class Controls(ModeStudy):
    """What becomes of the behaviours when one thing is changed, and where their energy comes from."""

    def to_frame(self) -> pandas.DataFrame:
        """One row per control and seed."""
        controls = self.document["controls"].items()
        rows = [{"control": name} | row for name, found in controls for row in found]
        return frame(rows)

    def tables(self) -> list[Table]:
        """One row per control."""
        key = self.description.telling
        heading, _ = self.description.columns[key]
        heads = ("control", "frozen: modes", f"{heading}: least, median, most", "while learning")
        counted, lines = self.modes(), []
        for name, rows in self.document["controls"].items():
            values = [numbers[key] for row in rows if "reason" not in (numbers := _last(row))]
            ends = (min(values), float(np.median(values)), max(values)) if values else ()
            # In the last two minutes.
            lived = Counter(mode for row in rows for mode in row["learning"]["modes"][-12:])
            modes = ", ".join(f"{mode} {n}" for mode, n in counted[name].most_common())
            shares = ", ".join(f"{mode} {n / lived.total():.0%}" for mode, n in lived.most_common() if n)
            lines.append([name, modes, " ".join(f"{end:.2f}" for end in ends) or "-", shares])
        return [Table(dict.fromkeys(heads, ""), lines), self._parts(key, heading)]

    def _parts(self, key: str, heading: str) -> Table:
        """One row per part of C and freeze time."""
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in self.document["parts"]:
            for frozen, parts in row.get("parts", {}).items():
                for part, numbers in parts.items():
                    found.setdefault((frozen, part), []).append(numbers)
        lines = []
        for (frozen, part), rows in found.items():
            modes = trials.count_modes((part, self._named(numbers)) for numbers in rows)[part]
            values = [numbers[key] for numbers in rows if key in numbers]
            middle = f"{np.median(values):.2f}" if values else "-"
            lines.append([frozen, part, ", ".join(f"{mode} {n}" for mode, n in modes.most_common()), middle])
        return Table(dict.fromkeys(("frozen", "part of C", "modes", f"{heading}: median"), ""), lines)

    def _named(self, numbers: dict[str, Any]) -> dict[str, Any]:
        return numbers if "reason" in numbers else {"mode": self.description.mode(numbers), **numbers}

    def modes(self) -> dict[str, Counter[str]]:
        """By control, at the last freeze time."""
        controls = self.document["controls"].items()
        return trials.count_modes((name, _last(row)) for name, rows in controls for row in rows)


def _last(row: dict[str, Any]) -> dict[str, Any]:
    """What was found at the last freeze time."""
    return list(row["frozen"].values())[-1] if row["frozen"] else {"reason": row.get("reason", "")}


def changed_trial(config: Emergence, seed: int, name: str) -> Trial:
    """The trial of a seed under one of `CONTROLS`."""
    body, rule = CONTROLS[name]
    if "substeps" in body:
        body = {"substeps": body["substeps"] * trials.make_trial(config, seed).body["substeps"]}
    return trials.make_trial(config, seed, body, rule)


def run_controls(config: Emergence, feedback: Feedback) -> Controls:
    """Learn with one thing changed at a time, take apart what came out, and audit its energy."""
    if config.controller != "ulr":
        raise ExperimentError(f"--controls switches off terms of ulr; the rule is {config.controller!r}")
    legs = trials.can_jump(config.robot)
    chosen = {name: changes for name, changes in CONTROLS.items() if legs or changes[0] != BLIND}
    tasks = {}
    for name, changes in chosen.items():
        tasks[name] = [changed_trial(config, seed, name) for seed in config.seeds]
        if any(changes):  # without changes it is what `emergence` computes: it may be there already
            tasks[name] = [replace(task, freeze=task.freeze[-1:]) for task in tasks[name]]
    flat = trials.run_tasks(trials.trial, [*chain(*tasks.values())], config, "controls", feedback)
    found = {name: [trials.with_modes(task, flat.pop(0)) for task in group] for name, group in tasks.items()}
    usual = tasks[REFERENCE]
    for name, group in interventions.lessons(usual).items():
        rows = trials.run_tasks(lesson, group, config, name, feedback)
        found[name] = [trials.with_modes(one.trial, row) for one, row in zip(group, rows, strict=True)]
    parts = trials.run_tasks(ablate, usual, config, "parts of C", feedback)
    audits = [task for name in AUDITED for task in tasks[name][:3]]
    balances = trials.run_tasks(energy_balance, audits, config, "balances of energy", feedback)
    physics = {name: [balances.pop(0) for _ in tasks[name][:3]] for name in AUDITED}
    counted = trials.count_modes((name, _last(row)) for name, rows in found.items() for row in rows)
    words = [*interventions.verdicts(counted, REFERENCE), *energy_words(physics)]
    content = {"controls": found, "parts": parts, "physics": physics, "verdict": words}
    return Controls.made(config, "controls", content, feedback)


@task_named("experiments.controls:books_in_place")
def energy_balance(config: Trial) -> dict[str, Any]:
    """Learn, freeze, and see where the energy comes from (`robots.audit.Books.balance`); then `passive`:
    the largest energy of the limp body after a fall, in units of what it started with.
    """
    frozen = trials.learn_frozen(config)[label(config.freeze[-1])]
    controller = thaw(frozen)
    with closing(make_body(config.robot, config.body)) as body, refusing(RobotError):
        _, s = observe(body, controller, body.restore(frozen.body), AUDIT_TRANSIENT)
        balance = audit(body, controller, s, AUDIT_STEPS).balance()
        passive = drop(body, config.seed)
    return {"seed": config.seed, "gravity": config.body["gravity"], **balance, "passive": passive}
