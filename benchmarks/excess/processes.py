"""What is measured: processes whose excess entropy, predictive information or dimension is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from quantify import systems
from quantify.systems import ARMA, AutoRegressive, HiddenMarkov, Noisy, QuasiPeriodic

Quantity = Literal["E", "PI", "D", "E_core"]
GOLDEN = (5**0.5 - 1) / 2
# Stretches for Shannon's entropies. Those of `Noisy` cost a look at 65,536 clean stretches each.
SHANNON_SAMPLES, SHANNON_SAMPLES_NOISY = 100_000, 5_000


def ring(states: int, forwards: float) -> HiddenMarkov:
    """A cycle whose phase diffuses: each step goes on by one or, else, stays or goes on by two."""
    rest = (1 - forwards) / 2
    rows = [np.roll([rest, forwards, rest] + [0.0] * (states - 3), s) for s in range(states)]
    means = np.sin(2 * np.pi * np.arange(states) / states)
    return HiddenMarkov(tuple(tuple(map(float, row)) for row in rows), tuple(map(float, means)), 0.2)


@dataclass(frozen=True)
class Process:
    """A system with the settings that all estimators share."""

    name: str
    system: Any
    m: int = 1
    """Values of past and future that are asked of all who estimate a predictive information."""
    tau: int = 1
    limit: int | None = 60
    """Values from which on E_m no longer grows; None if it has no limit or that is not known."""
    D: float | None = None
    """Dimension of a deterministic system: exact, or as published."""
    D_error: float = 0.0
    core: float | None = None
    """Its core complexity, where that is known."""
    column: int | None = None

    @property
    def kind(self) -> str:
        if self.D is not None:
            return "deterministic"
        return "Gaussian" if isinstance(self.system, systems.GaussianProcess) else "not Gaussian"

    @property
    def description(self) -> str:
        """The system in one line."""
        text = repr(self.system).replace(f", points={Noisy.points}, runs={Noisy.runs}", "")
        return (
            text if len(text) < 120 else f"{type(self.system).__name__} with {len(self.system.means)} states"
        )

    def sample(self, n: int, seed: int) -> np.ndarray:
        x = self.system.sample(n, seed)
        return np.ascontiguousarray(x if self.column is None else x[:, self.column])

    def truth(self, quantity: Quantity, m: int | None, order: int) -> tuple[float, float]:
        """What an estimator should find, and the standard error of that; m = None: in the limit of long m."""
        if quantity in ("D", "E_core"):
            value, error = (self.D, self.D_error) if quantity == "D" else (self.core, 0.0)
            return (np.nan if value is None else value), error
        if m is None and self.limit is None:
            return np.inf, 0.0
        length = m if m is not None else self.limit
        if order == 1 and self.kind != "Gaussian":
            if quantity == "E" and m is not None:
                return np.nan, 0.0  # Shannon's is known of PI, and of E in the limit
            samples = SHANNON_SAMPLES_NOISY if isinstance(self.system, Noisy) else SHANNON_SAMPLES
            return self.system.shannon_PI(length, tau=self.tau, samples=samples)
        value = getattr(self.system, quantity)(length, tau=self.tau)
        if isinstance(self.system, Noisy):
            return value, self.system.standard_error(quantity, length, tau=self.tau)
        return value, 0.0


BIT = HiddenMarkov(((0.9, 0.1), (0.1, 0.9)), (0.0, 1.0), 0.25)
CHANNELS = systems.VectorAutoRegressive(((0.6, 0.4), (-0.4, 0.6)))
LONG = systems.FractionalNoise(0.4)
CYCLE = QuasiPeriodic((0.1 * GOLDEN,), (1.0,), noise=0.2)
TORUS = QuasiPeriodic((0.1 * GOLDEN, 0.1 * 2**0.5), (1.0, 0.7), noise=0.3)

PROCESSES = (
    Process("white noise", AutoRegressive((0.0,))),
    Process("AR(1), .6", AutoRegressive((0.6,))),
    Process("AR(1), .95", AutoRegressive((0.95,))),
    Process("AR(2), damped", AutoRegressive((1.6, -0.8)), m=2),
    Process("AR(2), real roots", AutoRegressive((0.5, 0.3)), m=2),
    Process("AR(2) of the paper, delay 10", systems.AR2, m=3, tau=10),
    Process("AR(5)", AutoRegressive((0.5, -0.4, 0.3, -0.3, 0.2)), m=5),
    Process("MA(1)", ARMA(b=(0.8,)), m=3, limit=100),
    Process("MA(2)", ARMA(b=(1.0, 0.5)), m=3, limit=100),
    Process("ARMA(1, 1)", ARMA((0.8,), (0.5,)), m=3, limit=100),
    Process("ARMA(2, 1)", ARMA((1.5, -0.7), (-0.5,)), m=3, limit=100),
    Process("long memory, d = .4", LONG, m=3, limit=None),
    Process("two channels", CHANNELS),
    Process("noisy bit", BIT, m=3, limit=60),
    Process("golden mean with noise", systems.GOLDEN_MEAN, m=3),
    Process("even process with noise", systems.EVEN, m=4),
    Process("diffusing phase", ring(24, 0.6), m=3),
    Process("noisy cycle", CYCLE, m=3, limit=None),
    Process("noisy torus", TORUS, m=3, limit=None),
    Process("logistic map with noise", Noisy(systems.Logistic(), 0.1), m=2, limit=5),
    Process("Hénon map with noise", Noisy(systems.Henon(), 0.2), m=3, limit=None),
    Process("Ikeda map with noise", Noisy(systems.Ikeda(), 0.2), m=3, limit=None),
    Process("Lorenz with noise", Noisy(systems.Lorenz(), 2.0), m=3, tau=10, limit=None),
    Process("Rössler with noise", Noisy(systems.Roessler(), 1.5), m=3, tau=10, limit=None),
    # Published dimensions: Sprott and Rowlands, Int. J. Bifurcation and Chaos 11, 1865 (2001).
    Process("skew tent map", systems.SkewTent(0.4), D=1.0, core=0.0),
    Process("logistic map", systems.Logistic(), D=1.0),
    Process("Hénon map", systems.Henon(), D=1.220, D_error=0.036, column=0),
    Process("Ikeda map", systems.Ikeda(), D=1.690, D_error=0.074, column=0),
    Process("Lorenz", systems.Lorenz(), D=2.068, D_error=0.086, tau=10, column=0),
    Process("Rössler", systems.Roessler(), D=1.991, D_error=0.065, tau=10, column=0),
    Process("torus", QuasiPeriodic((0.1 * GOLDEN, 0.1 * 2**0.5), (1.0, 0.7)), D=2.0),
)
