"""The learning phase of a run, ready to be drawn: controller, spectrum of the loop, body."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controllers import Frozen
from experiments.reports.behaviours import Floats, Track, run_words, track
from experiments.runfiles import run_file as log

BODY_WINDOWS = 240


@dataclass(frozen=True)
class LearningRun:
    """The learning phase of a run.

    Attributes
    ----------
    label : str
    path : Path
    problem : str
        Why learning ended early or is not finished; empty if it is complete.
    seed : int
    minutes : (n,) array
        Times at which the spectrum is known.
    moduli : (n, sensors) array
        Moduli of the eigenvalues of the loop, linearised at rest, largest first.
    C : dict of (motors, sensors) arrays by freeze time
    eigenvalues : dict of complex arrays by freeze time
    body : Track or None
        `height`, its smallest and largest value (`low`, `high`), share of time without ground contact
        (`airtime`), and distance from the start (`displacement`), in windows of learning time.
    """

    label: str
    path: Path
    problem: str
    seed: int
    minutes: Floats
    moduli: Floats
    C: dict[str, Floats]
    eigenvalues: dict[str, NDArray[np.complexfloating]]
    sensors: tuple[str, ...]
    motors: tuple[str, ...]
    body: Track | None


def learning_of(run: log.Run) -> LearningRun:
    """The learning phase of a run, and why it ended early if it did."""
    recording = run.learning
    problem = "" if recording.complete else f"learning {recording.status} after {recording.steps:,} steps"
    problem += f": {recording.reason}" if recording.reason else ""
    rate = float(recording.attrs["rate_hz"])
    closed = {name: state.controller for name, state in run.frozen.items() if "C" in state.controller}
    minutes, moduli = np.empty(0), np.empty((0, 0))
    if "C" in recording.tracks:
        C, h = recording.tracks["C"], recording.tracks["h"]
        # Some hundred points make a smooth line, whatever the interval of the run.
        every = max(1, len(C) // 400)
        minutes = np.arange(0, len(C), every) * C.every / rate / 60
        moduli = np.array(
            [np.abs(loop_eigenvalues(c, b)) for c, b in zip(C[::every], h[::every], strict=True)]
        )
    return LearningRun(
        label=f"{run.path.stem}: {run_words(run)}",
        path=run.path,
        problem=problem,
        seed=run.seed,
        minutes=minutes,
        moduli=moduli,
        C={name: state["C"] for name, state in closed.items()},
        eigenvalues={name: loop_eigenvalues(state["C"], state["h"]) for name, state in closed.items()},
        sensors=recording.sensors.names,
        motors=recording.actions.names,
        body=_windows(recording.tracks["measures"], rate) if "measures" in recording.tracks else None,
    )


def loop_eigenvalues(C: Floats, h: Floats) -> NDArray[np.complexfloating]:
    """Eigenvalues of the loop through body and controller, linearised at rest; largest modulus first.

    L = A diag(1 - tanh(h)^2) C, with a body in which every joint follows its motor (A_ij = 1 if i = j): above
    modulus 1, a small motion grows.
    """
    values: NDArray[np.complexfloating] = Frozen(C, h).inspect()["L_eigenvalues"]
    return values


def _windows(measures: log.Rows, rate: float) -> Track | None:
    """The body during learning, in windows: height (mean, low, high), airtime, displacement."""
    whole = track(measures, len(measures), rate)
    if not len(whole.t) or not {"x", "y", "z", "contacts"} <= set(whole.names):
        return None
    edges = np.linspace(0, len(whole.t), min(BODY_WINDOWS, len(whole.t)) + 1).astype(int)[:-1]
    count = np.diff([*edges, len(whole.t)])
    z = whole["z"]
    way = np.hypot(whole["x"] - whole["x"][0], whole["y"] - whole["y"][0])
    columns = [
        np.add.reduceat(z, edges) / count,
        np.minimum.reduceat(z, edges),
        np.maximum.reduceat(z, edges),
        np.add.reduceat((whole["contacts"] == 0).astype(float), edges) / count,
        way[edges],
    ]
    names, units = ("height", "low", "high", "airtime", "displacement"), ("m", "m", "m", "1", "m")
    return Track(whole.t[edges], np.stack(columns, axis=1), names, units)
