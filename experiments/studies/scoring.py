"""One behaviour from nothing to numbers: learn, freeze, record, quantify. A task for a sweep.

What comes out depends on the configuration alone, in which everything is spelled out: body, rule, seed,
scales.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import quantify as q
from experiments.errors import ExperimentError, FileError, where_raised
from experiments.pipeline.learn import Learn, learn, sources_of
from experiments.pipeline.loop import CONTROLLER, OBSERVED, find_body
from experiments.pipeline.record import Record, record
from experiments.pipeline.sources import Sources, verify
from experiments.runfiles.contents import Recording
from experiments.runfiles.library import copy_frozen
from experiments.runfiles.run_file import label, open_run_file
from experiments.sweeps.sweep import ADDED, KEPT, task_named, workspace
from quantify.aliases import Floats
from quantify.comparable import comparable
from quantify.statistics import known_median

Row = dict[str, Any]
"""What a task returns for one run, with robot, controller, seed or time in front."""
# Control steps that a rule must be able to take before many tasks are begun.
FIRST_STEPS = 20
CURVE_POINTS = 40
LEAST_NULLS = 19
COVERED = 0.5
"""A value must rest on at least this share of its scales. Complexity changes with scale, so a mean over less
than half of the octaves says more about which of them are left than about the behaviour."""
LEAST_D = -0.1
"""The smallest dimension that counts as one: at rest it is 0, give or take; what lies below is the slope of a
curve without any scaling, which too few pairs have bent."""
STEP = 0.1
"""Nats by which E_core must rise from one freeze time to the next to count as growing."""


@dataclass(frozen=True)
class Yardstick:
    """How a behaviour is recorded and quantified; the same for all that are compared."""

    samples: int
    transient: int
    sensor: int
    tau: int | None
    """None: chosen from the data."""
    m_max: int
    common: tuple[float, float]
    """Scales that are the same for all, in units of the sensor."""
    relative: tuple[float, float]
    """Scales in units of the standard deviation of the recorded sensor."""
    eta: float = 0.01
    """Noise strength of the predictive information: finer structure than this is hidden."""
    s_min: float = 0.07
    replicates: int = 30
    surrogate: bool = True
    """Whether to score a surrogate of the recording as well."""
    curves: bool = field(default=False, metadata=ADDED)
    """Whether to keep the complexities scale by scale, too."""
    nulls: int = field(default=0, metadata=ADDED)
    """Surrogates of the usual null with which E_core is compared; 0: none."""


FROZEN = "behaviour.h5"
"""The frozen controller of a task, as a run file without its learning, in what is kept of the task."""


@dataclass(frozen=True)
class Scoring:
    """A robot that learns until `freezes[-1]` minutes, and is recorded and scored as it is then."""

    robot: str
    controller: str
    seed: int
    freezes: tuple[float, ...]
    """Minutes at which the run takes a checkpoint; only the controller of the last one is recorded."""
    body: dict[str, Any]
    rule: dict[str, Any]
    measure: Yardstick
    sources: Sources = field(default_factory=dict, metadata=ADDED)
    """What of the user's own robot and rule are made of: an edited rule is another task."""

    @property
    def control_step(self) -> float:
        """Minutes between two control steps; those of 50 Hz for a body that keeps its own to itself."""
        return float(self.body.get("control_step", 0.02)) / 60

    def learn(self, freezes: tuple[float, ...], folder: Path) -> Path:
        """Learn up to the last of these freezes; where the run is."""
        verify(self.sources, sources_of(self.robot, self.controller))
        who, out = (self.robot, self.controller), folder / "run.h5"
        return learn(Learn(*who, freezes[-1], freezes, self.seed, out, body=self.body, rule=self.rule))


def yardstick(config: Any, robot: str) -> Yardstick:
    """How behaviours of a robot are quantified, from the settings of a command; refuses what cannot be."""
    kind = find_body(robot)
    delay = kind.tau or 1
    if config.samples < (needed := 10 * kind.m_max * delay):
        why = f"{kind.m_max} steps with delay {delay} need {needed}, and many more to say something"
        raise ExperimentError(f"--samples is {config.samples}; {why}")
    if config.transient < 0:
        raise ExperimentError(f"--transient is {config.transient}; it must be 0 or more")
    for name in ("common", "relative"):
        low, high = getattr(config, name)
        if not 0 < low < high < math.inf:
            given = f"--{name} is {low:g} {high:g}"
            raise ExperimentError(f"{given}; 0 < smaller scale < larger scale < inf is needed")
    recorded, scales = (config.samples, config.transient, kind.sensor), (config.common, config.relative)
    nulls = getattr(config, "nulls", None)
    if nulls is not None and nulls < LEAST_NULLS:
        why = f"with fewer than {LEAST_NULLS} surrogates no p-value can be as small as .05"
        raise ExperimentError(f"--nulls is {nulls}; {why}; use more, or leave it out")
    linear = getattr(config, "surrogates", False)
    return Yardstick(*recorded, kind.tau, kind.m_max, *scales, surrogate=linear, nulls=nulls or 0)


@task_named("experiments.behaviour:behaviour")
def score(config: Scoring) -> dict[str, Any]:
    """Learn, freeze, record and quantify; returns plain numbers.

    `reason` is empty if all went well, else says what broke down; a behaviour that broke down at any time is
    not quantified, because its recording would be shorter than the others. `std`: amplitude of the `sensor`.
    `body`: mean and spread of what is observed from outside. The rest is that of `quantify.comparable`.
    """
    wanted, minutes = config.measure, config.freezes[-1]
    name = label(minutes)
    with workspace() as folder:
        path = config.learn(config.freezes, folder)
        with open_run_file(path) as run:
            if name not in run.frozen:
                return {"reason": f"while learning, {run.learning.reason}"}
        (folder / KEPT).mkdir(exist_ok=True)
        copy_frozen(path, folder / KEPT / FROZEN, [name], {}, "left out in a comparison")
        record(Record((path,), wanted.samples, (minutes,), wanted.transient, jobs=1))
        with open_run_file(path) as run:
            return scored(run.behaviour(name), wanted, config.seed)


@task_named("experiments.behaviour:learning")
def score_learning(config: Scoring) -> dict[str, Any]:
    """Learn, and quantify what the robot does while it learns on for as long as a recording takes.

    What `score` records with the controller frozen is looked at here with learning on: after the last freeze
    time and a transient, so many samples. Returns the same numbers.
    """
    minutes = config.freezes[-1] + (config.measure.transient + config.measure.samples) * config.control_step
    verify(config.sources, sources_of(config.robot, config.controller))
    with workspace() as folder:
        who, out = (config.robot, config.controller), folder / "run.h5"
        path = learn(Learn(*who, minutes, (), config.seed, out, body=config.body, rule=config.rule))
        with open_run_file(path) as run:
            if run.learning.reason:
                return {"reason": f"while learning, {run.learning.reason}"}
            return scored(run.learning, config.measure, config.seed)


def scored(recording: Recording, wanted: Yardstick, seed: int) -> dict[str, Any]:
    """The numbers of the last samples of a recording."""
    if recording.reason:
        return {"reason": f"when frozen, {recording.reason}"}
    first = max(0, recording.steps - wanted.samples)
    series = recording.sensors[first:, wanted.sensor].astype(float)
    body = {}
    if observed := recording.tracks.get(OBSERVED):
        rows = observed[-(-first // observed.every) :].astype(float)
        columns = zip(observed.names, rows.T, strict=True)
        body = {key: {"mean": float(x.mean()), "std": float(x.std())} for key, x in columns}
    sensor = recording.sensors.names[wanted.sensor]
    found = {"reason": "", "sensor": sensor, "std": float(np.std(series)), "body": body}
    return found | quantified(series, wanted, seed)


def try_first_steps(config: Scoring) -> None:
    """Let the rule take its first steps on the body, so that a mistake in it is seen before hours are spent.

    What the rule raises is refused; a simulation that breaks down is a result.
    """
    reason = ""
    with workspace() as folder:
        try:
            with open_run_file(config.learn((FIRST_STEPS * config.control_step,), folder)) as run:
                reason = run.learning.reason
        except FileError:
            raise
        except Exception as error:  # whatever a rule of the user's does
            words = str(error) if isinstance(error, ExperimentError) else where_raised(error)
            reason = f"{CONTROLLER}: {words}"
    if reason.startswith(CONTROLLER):
        raise ExperimentError(
            f"{config.controller} cannot run on the {config.robot}: {reason}; mend the rule and try again"
        )


def quantified(series: Floats, wanted: Yardstick, seed: int) -> dict[str, Any]:
    """The numbers of one recorded sensor, or the reason why there are none."""
    options: dict[str, Any] = {"tau": wanted.tau, "m_max": wanted.m_max, "s_min": wanted.s_min}
    try:
        result = q.quantify(series, replicates=wanted.replicates, choices=False, rng=seed, **options)
    except q.QuantifyError as error:
        return {"reason": f"cannot be quantified: {error}"}
    options |= {"eta": wanted.eta, "surrogate": wanted.surrogate, "nulls": wanted.nulls, "seed": seed}
    found = comparable(series, result, wanted.common, wanted.relative, **options)
    return found | ({"curves": _curves(result)} if wanted.curves else {})


def _curves(result: q.Quantification) -> dict[str, list[float]]:
    """The complexities over scale, with the digits that a picture needs."""
    parts, names = result.decomposition, ("eps", "E_state", "E_mem", "kappa")
    every = max(1, len(parts.eps) // CURVE_POINTS)
    return {name: [float(f"{x:.4g}") for x in getattr(parts, name)[::every]] for name in names}


# What is read from the rows that tasks return.


def sensors_of(rows: Iterable[Row]) -> str:
    """Which sensors the numbers are of, as a sentence with a blank before it; empty if that is not stored."""
    names = dict.fromkeys(str(row["sensor"]) for row in rows if "sensor" in row)
    return f" Sensor: {', '.join(names)}." if names else ""


def value(row: Row, scales: str, quantity: str) -> float | None:
    """A number of one run: a complexity on one kind of scales, "std", "PI", E_core of its "surrogate", or its
    "excess" over surrogates of the usual null, on scales of its own.

    None if it has none, on too small a share of the scales, or, on those chosen for it ("auto"), if none of
    them are deterministic: what noise scores is no complexity of a behaviour. A dimension below 0 is none.
    """
    if quantity == "surrogate":
        return value(row.get("surrogate", {}), scales, "E_core")
    if quantity == "excess":
        return (row.get("null") or {}).get("excess")
    numbers = row if quantity in ("std", "PI") else row.get(scales, {})
    found, counts = numbers.get(quantity), numbers.get("covered", 1.0) >= COVERED
    if quantity == "D" and found is not None and found < LEAST_D:
        return None
    return float(found) if found is not None and counts and numbers.get("usable", True) else None


def rank_value(row: Row, scales: str) -> float:
    """E_core of one run, by which it is ranked: one without a value ranks below all others."""
    found = value(row, scales, "E_core")
    return -math.inf if found is None else found


def over(rows: Iterable[Row], scales: str, quantity: str) -> dict[str, Any] | None:
    """The median of a `value` over the runs that have it, in plain form; None if none has."""
    found = known_median(value(row, scales, quantity) for row in rows)
    return None if found is None else asdict(found)
