"""One behaviour from nothing to numbers: learn, freeze, record, quantify. A task for a sweep.

What comes out depends on the configuration alone, in which everything is spelled out: body, rule, seed,
scales.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import quantify as q
from experiments.errors import ExperimentError, FileError, told
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.loop import CONTROLLER
from experiments.pipeline.record import Record, record
from experiments.runfiles import run_file as log
from experiments.sweeps.store import task_named
from experiments.sweeps.sweep import workspace
from quantify.ksg import predictive_information
from quantify.sums import Floats
from quantify.surrogates import iaaft

# Delay vectors from which predictive information is estimated: the same number for all, so that the bias that
# is left is the same too.
PI_POINTS = 10_000
# Control steps that a rule must be able to take before many tasks are begun.
FIRST_STEPS = 20


@dataclass(frozen=True)
class Measure:
    """How a behaviour is recorded and quantified; the same for all that are compared."""

    samples: int
    transient: int
    sensor: int
    tau: int
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


@dataclass(frozen=True)
class Behaviour:
    """A robot that learns until `freezes[-1]` minutes, and is recorded as it is then."""

    robot: str
    controller: str
    seed: int
    freezes: tuple[float, ...]
    """Minutes at which the run takes a checkpoint; only the controller of the last one is recorded."""
    body: dict[str, Any]
    rule: dict[str, Any]
    measure: Measure


@task_named("experiments.behaviour:behaviour")
def behaviour(config: Behaviour) -> dict[str, Any]:
    """Learn, freeze, record and quantify; returns plain numbers.

    Returns
    -------
    dict
        `reason` is empty if all went well, else says what broke down; a behaviour that broke down at any time
        is not quantified, because its recording would be shorter than the others. `std`: amplitude of the
        sensor. `body`: mean and spread of what an onlooker would note down. `auto`, `common`, `relative`:
        complexities on the scales chosen for this behaviour, on scales common to all, and on scales relative
        to `std`. `PI`: predictive information. `surrogate`: the same scales for an IAAFT surrogate of the
        recording.
    """
    measure, minutes = config.measure, config.freezes[-1]
    name = log.label(minutes)
    with workspace() as folder:
        path = folder / "run.h5"
        learn(_wish(config, config.freezes, path))
        with log.open_run(path) as run:
            if name not in run.frozen:
                return {"reason": f"while learning, {run.learning.reason}"}
        samples, transient = measure.samples, measure.transient
        record(Record((path,), samples, (minutes,), transient, jobs=1, quiet=True))
        with log.open_run(path) as run:
            recorded = run.behaviour(name)
            if recorded.reason:
                return {"reason": f"when frozen, {recorded.reason}"}
            series = recorded.sensors[:, measure.sensor].astype(float)
            seen = recorded.tracks["measures"]
            body = {name: _moments(seen[:, i].astype(float)) for i, name in enumerate(seen.names)}
    row = {"reason": "", "std": float(np.std(series)), "body": body}
    return row | _numbers(series, measure, config.seed)


def rehearse(config: Behaviour) -> None:
    """Let the rule take its first steps on the body, so that a mistake in it is seen before hours are spent.

    Raises
    ------
    ExperimentError
        When the rule raises; a simulation that breaks down is an outcome.
    """
    minutes = FIRST_STEPS * config.body["control_step"] / 60
    reason = ""
    with workspace() as folder:
        path = folder / "run.h5"
        try:
            learn(_wish(config, (minutes,), path))
            with log.open_run(path) as run:
                reason = run.learning.reason
        except FileError:
            raise
        except Exception as error:
            words = str(error) if isinstance(error, ExperimentError) else told(error)
            reason = f"{CONTROLLER}: {words}"
    if reason.startswith(CONTROLLER):
        raise ExperimentError(
            f"{config.controller} cannot run on the {config.robot}: {reason}; mend the rule and try again"
        )


def _wish(config: Behaviour, freezes: tuple[float, ...], path: Path) -> Learn:
    return Learn(
        config.robot,
        config.controller,
        freezes[-1],
        freezes,
        config.seed,
        path,
        body=config.body,
        rule=config.rule,
        quiet=True,
    )


def _numbers(series: Floats, measure: Measure, seed: int) -> dict[str, Any]:
    options: dict[str, Any] = {"tau": measure.tau, "m_max": measure.m_max, "s_min": measure.s_min}
    try:
        result = q.quantify(series, replicates=measure.replicates, rng=seed, **options)
    except ValueError as error:
        return {"reason": f"cannot be quantified: {error}"}
    scales = {"common": measure.common, "relative": _times(measure.relative, float(np.std(series)))}
    stationary = result.stationarity
    row = {
        "auto": _automatic(result),
        **{name: over_scales(result.decomposition, *limits) for name, limits in scales.items()},
        "PI": _predictive(series, measure, result.sums.theiler or 0, seed),
        "stationary": None if stationary is None else bool(stationary["stationary"]),
        "caveats": list(result.caveats),
    }
    if measure.surrogate:
        # The range of the original: what a linear process would score where the behaviour was measured.
        scales["auto"] = (result.range.lo, result.range.hi)
        linear = q.quantify(iaaft(series, seed), replicates=0, stationarity=False, rng=seed, **options)
        row["surrogate"] = {
            name: over_scales(linear.decomposition, *limits) for name, limits in scales.items()
        }
    return row


def _automatic(result: q.Quantification) -> dict[str, Any]:
    r = result.range
    usable = result.settings["range_from"] == "flattest deterministic"
    return {
        "lo": r.lo,
        "hi": r.hi,
        **{name: getattr(r, name) for name in ("E_core", "E_state", "E_mem", "D", "kappa")},
        "sampling": result.E_core.sampling,
        "usable": usable,
    }


def over_scales(parts: q.Decomposition, lo: float, hi: float) -> dict[str, Any]:
    """Means over the scales [lo, hi], equal weight per octave, also where the series is smaller than these.

    At scales above the largest distance in the series all vectors are neighbours, every entropy is 0, and so
    is every complexity: these scales count as 0. Scales below the smallest reliable one are left out;
    `covered` is the share that is left. If it is 0 there are no numbers.
    """
    top, bottom = float(parts.eps[0]), float(parts.eps[-1])
    width = math.log(hi / lo)
    covered = math.log(hi / max(lo, min(bottom, hi))) / width
    found: dict[str, Any] = {"lo": lo, "hi": hi, "covered": covered}
    if lo >= top:
        return found | {"E_core": 0.0, "E_state": 0.0, "E_mem": 0.0, "D": 0.0, "kappa": None}
    inside = (parts.eps >= lo) & (parts.eps <= hi)
    if not inside.any():
        return found | {"covered": 0.0}
    r = parts.over(lo, hi)
    share = min(1.0, math.log(top / max(lo, bottom)) / math.log(hi / max(lo, bottom)))
    return (
        found
        | {name: share * getattr(r, name) for name in ("E_core", "E_state", "E_mem", "D")}
        | {"kappa": r.kappa}
    )


def _predictive(series: Floats, measure: Measure, theiler: int, seed: int) -> float | None:
    """Predictive information at small noise, the largest over m (as the paper quotes it)."""
    lengths = [m for m in (1, 2, 3, 4, 6, 8, 12) if m <= max(1, measure.m_max // 2)]
    try:
        found = predictive_information(
            series,
            tau=measure.tau,
            m=lengths,
            eta=measure.eta,
            theiler=theiler,
            half=False,
            points=PI_POINTS,
            rng=seed,
        )
    except ValueError:  # a series too short for its dependence in time
        return None
    return float(np.nanmax(found.PI)) if np.isfinite(found.PI).any() else None


def _moments(values: Floats) -> dict[str, float]:
    return {"mean": float(values.mean()), "std": float(values.std())}


def _times(limits: tuple[float, float], unit: float) -> tuple[float, float]:
    return limits[0] * unit, limits[1] * unit
