"""What does learning add, and what do body and sensor bring along? Seeds with one thing taken away or forged.

Every criterion is fixed here and in the robots' descriptions, before any seed is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controllers import ULR, Controller, Frozen
from experiments.errors import ExperimentError
from experiments.pipeline.loop import make_body
from experiments.runfiles.run_file import label
from experiments.studies.emergence import trials
from experiments.studies.emergence.trials import Trial, observe
from experiments.sweeps.sweep import task_named
from robots import Observed, description_of, find

Floats = NDArray[np.float64]
MOST, FEW = 0.8, 0.2
"""Shares of the seeds from which a behaviour counts as kept, and up to which it counts as lost."""
HAND_GAIN, HAND_FEEDBACK = 0.7, 0.5
"""Hand-made feedback: weight of each joint's own sensor, and of the vertical velocity on lifting the legs."""
RANDOM = 0.1
"""Standard deviation of small random weights that a start of the snake gets beside its diagonal."""
EVERY = 5
"""Control steps between two looks at a body that learns."""
NO_LEARNING = 0.5
"""Minutes for which feedback by hand, which does not change, is watched before it is looked at."""
VELOCITY = 18
"""Index of the hexapod's vertical velocity."""


@dataclass(frozen=True)
class Intervention:
    """What is done to a seed."""

    flipped: bool = False
    """Learn with the opposite sign of eps."""
    hears: str = ""
    """What the rule learns from in place of the body's own sensors: "rest" or "shuffled", see `stream`."""
    sense: str = ""
    """Class of the body in place of the robot's."""
    later: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the body that change at half time."""
    stops: bool = False
    """At half time learning stops."""
    random: float = 0.0
    """Standard deviation of random weights that are added to the start."""
    hand: float | None = None
    """No learning: the vertical velocity acts on the up-down motors with this weight."""
    rule: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the rule that differ."""


LIGHTER, TIRED = {"gravity": 6.0}, {"coxa_power": 1.2}
HEXAPOD = {
    "by hand: velocity holds the legs back, no learning": Intervention(hand=-HAND_FEEDBACK),
    "by hand: velocity drives the legs on, no learning": Intervention(hand=HAND_FEEDBACK),
    "eps with the opposite sign": Intervention(flipped=True),
    "learns from a body that rests, of another seed": Intervention(hears="rest"),
    "learns from sensors shuffled in time, of another seed": Intervention(hears="shuffled"),
    "senses its pitch rate instead": Intervention(sense="robots.senses:PitchRate"),
    "senses the load on its feet, as strongly, instead": Intervention(sense="robots.senses:Load"),
    "senses its feet on the ground instead": Intervention(sense="robots.senses:Feet"),
    "gravity 6 from half time on": Intervention(later=LIGHTER),
    "gravity 6 from half time on, learning stops": Intervention(later=LIGHTER, stops=True),
    "shoulders of 1.2 N m from half time on": Intervention(later=TIRED),
    "shoulders of 1.2 N m from half time on, learning stops": Intervention(later=TIRED, stops=True),
}
PLAIN = {"rotation": 0.0, "wave": 0.0}
SNAKE = {
    "small random start, no coupling": Intervention(random=RANDOM, rule=PLAIN),
    "no coupling at the start": Intervention(rule=PLAIN),
    "eps with the opposite sign": Intervention(flipped=True),
    "learns from sensors shuffled in time, of another seed": Intervention(hears="shuffled"),
    "gravity 6 from half time on": Intervention(later=LIGHTER),
}
INTERVENTIONS = {"hexapod": HEXAPOD, "hexapod-high": HEXAPOD, "snake": SNAKE}


class Flipped(ULR):
    """ULR that unlearns: eps with the opposite sign; forgetting stays."""

    def set_up(self) -> None:
        """Start as ULR does."""
        super().set_up()
        self._rates = self._rates._replace(eps=-self._rates.eps)


class Yoked(ULR):
    """ULR that acts on its own sensors and learns from others, row by row."""

    heard: Floats
    _row: count[int]

    def update(self, s: Floats) -> None:
        """Learn from the next row instead."""
        super().update(self.heard[next(self._row)])

    @classmethod
    def to(cls, rule: Controller, heard: Floats) -> Yoked:
        """A rule with these settings that learns from these rows."""
        made = cls(rule.n_sensors, rule.n_motors, rule.config)
        made.heard, made._row = heard, count()
        return made


@dataclass(frozen=True)
class Lesson:
    """A seed and what is done to it: a name in `INTERVENTIONS` of its robot."""

    trial: Trial
    what: str


def make_rule(trial: Trial, body: Any, done: Intervention) -> Controller:
    """The rule of a trial at its start."""
    kind = Flipped if done.flipped else ULR
    settings = ULR.Config.from_mapping({**trial.rule, **done.rule})
    n, o = len(body.sensor_names), len(body.motor_names)
    if done.hand is not None:
        C = HAND_GAIN * np.eye(o, n)
        C[::3, VELOCITY] = done.hand  # every third motor lifts a leg
        return Frozen(C, np.zeros(o))
    made = kind(n, o, settings)
    if done.random:
        made.C += np.random.default_rng([trial.seed, 3]).normal(0.0, done.random, made.C.shape)
    return made


def stream(trial: Trial, kind: str, steps: int) -> Floats:
    """What the body of the next seed senses.

    "rest": with the rule's start and no learning, so that nothing learned has consequences. "shuffled": while
    it learns, but each sensor is shifted in time by a random amount, so that every sensor is as it was and
    none goes with another.
    """
    with closing(make_body(trial.robot, trial.body)) as body:
        s, _ = body.reset(seed=trial.seed + 1)
        rule = make_rule(trial, body, Intervention())
        found, _ = observe(body, rule.freeze() if kind == "rest" else rule, s, steps, EVERY)
    if kind == "rest":
        return found.sensors
    rng = np.random.default_rng([trial.seed, 4])
    columns = [np.roll(x, rng.integers(steps // 4, 3 * steps // 4)) for x in found.sensors.T]
    return np.stack(columns, axis=1)


@task_named("experiments.emergence:lesson")
def lesson(config: Lesson) -> dict[str, Any]:
    """Learn with one seed under an intervention; the row is as of `trials.trial`, frozen at the end only."""
    trial, done = config.trial, INTERVENTIONS[config.trial.robot][config.what]
    numbers = description_of(trial.robot).numbers
    minutes = trial.minutes if done.hand is None else min(trial.minutes, NO_LEARNING)
    steps = round(minutes * 60 / trial.body["control_step"])
    robot, windows = done.sense or trial.robot, []
    settings = trial.body if not done.sense else _fitting(done.sense, trial.body)
    body = make_body(robot, settings)
    try:
        s, _ = body.reset(seed=trial.seed)
        rule = make_rule(trial, body, done)
        if done.hears:
            rule = Yoked.to(rule, stream(trial, done.hears, steps))
        for half in (0, 1):
            if half and done.later:
                changed = make_body(robot, {**settings, **done.later})
                s, body = changed.restore(body.snapshot()), (body.close(), changed)[1]
            if half and done.stops:
                rule = rule.freeze()
            seen, s = observe(body, rule, s, steps // 2, EVERY)
            windows += [numbers(part) for part in _windows(seen, trial.window)]
        frozen = rule.freeze()
        if trial.transient:
            _, s = observe(body, frozen, s, trial.transient)
        last, _ = observe(body, frozen, s, trial.samples)
    except ExperimentError as error:
        return {"seed": trial.seed, "reason": str(error), "learning": windows, "frozen": {}}
    finally:
        body.close()
    found = {label(trial.minutes): numbers(last)}
    return {"seed": trial.seed, "reason": "", "learning": windows, "frozen": found}


def _fitting(robot: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings for a body of another class with the same config."""
    return {**settings, "engine": settings.get("engine", "pybullet")} if find(robot).config else settings


def _windows(seen: Observed, seconds: float) -> list[Observed]:
    rows = round(seconds * seen.rate / seen.every)
    return [seen.part(at, at + rows) for at in range(0, len(seen.motion["z"]) - rows + 1, rows)]


@task_named("experiments.emergence:ablations")
def ablate(config: Trial) -> dict[str, Any]:
    """Learn with one seed; what parts of each frozen C do by themselves, by freeze time and part."""
    numbers = description_of(config.robot).numbers
    found: dict[str, dict[str, Any]] = {}
    for name, frozen in trials.learn_frozen(config).items():
        whole = frozen.controller["C"]
        found[name] = {}
        for part, C in parts_of(whole, config.robot).items():
            with closing(make_body(config.robot, config.body)) as body:
                s = body.restore(frozen.body)
                try:
                    acting = Frozen(C, frozen.controller["h"])
                    if config.transient:
                        _, s = observe(body, acting, s, config.transient)
                    found[name][part] = numbers(observe(body, acting, s, config.samples)[0])
                except ExperimentError as error:
                    found[name][part] = {"reason": str(error)}
    return {"seed": config.seed, "parts": found}


def parts_of(C: Floats, robot: str) -> dict[str, Floats]:
    """A matrix of weights and what is left of it when parts are taken away.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.studies.emergence.interventions import parts_of
    >>> found = parts_of(np.diag([2.0, 1.0, 1.0, 0.5]), "snake")
    >>> np.linalg.matrix_rank(found["rank 2"])
    np.int64(2)
    """
    o, n = C.shape
    diagonal = C * np.eye(o, n)
    found = {"whole": C}
    if trials.can_jump(robot):
        velocity = np.zeros_like(C)
        velocity[:, VELOCITY] = C[:, VELOCITY]
        found |= {
            "without the velocity": C - velocity,
            "velocity alone": velocity,
            "velocity and diagonal": velocity + diagonal,
        }
    else:
        own = C * np.kron(np.eye(o // 2), np.ones((2, 2)))
        found |= {"diagonal": diagonal, "each joint's own two axes": own}
    U, sizes, V = np.linalg.svd(C, full_matrices=False)
    for rank in (1, 2, 4):
        if rank < min(o, n):
            found[f"rank {rank}"] = (U[:, :rank] * sizes[:rank]) @ V[:rank]
    return found


def lessons(tasks: list[Trial]) -> dict[str, list[Lesson]]:
    """What is done to these seeds, by name."""
    robot = tasks[0].robot
    ends = [replace(task, freeze=task.freeze[-1:]) for task in tasks]
    return {name: [Lesson(task, name) for task in ends] for name in INTERVENTIONS[robot]}


def usual_mode(counted: Counter[str]) -> str:
    """The mode of most seeds."""
    return counted.most_common(1)[0][0] if counted else ""


def verdicts(counted: dict[str, Counter[str]], reference: str) -> list[str]:
    """Whether each control keeps the behaviour of the reference, by shares that were fixed beforehand.

    Examples
    --------
    >>> from collections import Counter
    >>> from experiments.studies.emergence.interventions import verdicts
    >>> found = {"as it is": Counter(jumping=9, hopping=1), "blind": Counter(quiet=10)}
    >>> print(*verdicts(found, "as it is"), sep="\\n")
    as it is: jumping in 9 of 10 seeds
    blind: jumping in 0 of 10 seeds, lost (quiet 10)
    """
    usual = usual_mode(counted.get(reference, Counter()))
    lines = []
    for name, modes in counted.items():
        n, kept = modes.total(), modes[usual]
        words = f"{name}: {usual} in {kept} of {n} seeds"
        if name != reference:
            word = "kept" if kept >= MOST * n else "lost" if kept <= FEW * n else "kept in part"
            others = ", ".join(f"{mode} {k}" for mode, k in modes.most_common() if mode != usual)
            words += f", {word}" + (f" ({others})" if others else "")
        lines.append(words)
    return lines
