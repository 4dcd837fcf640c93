"""The predictive information over embedding lengths and noise strengths, and the number to quote."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quantify.aliases import Counts, Floats


@dataclass(frozen=True)
class Quoted:
    """The predictive information as papers quote it: one number, in nats.

    Attributes
    ----------
    value : float
        The largest PI over m at the smallest scale.
    half : float
        Mean of the same from both halves of the data; NaN if it is not known. The paper's error bar ends
        there.
    m : int
        Where it is largest.
    eta : float
        Strength of the noise, the smallest of the scan.
    """

    value: float
    half: float
    m: int
    eta: float


@dataclass(frozen=True)
class PredictiveInformation:
    """Predictive information over embedding lengths and noise strengths, in nats.

    Attributes
    ----------
    PI : (n_eta, n_m) float64
        I(past of m values : future of m values), the paper's equation for PI_m.
    half : (2, n_eta, n_m) float64
        The same from the first and from the second half of the series alone; NaN if it was not asked for. How
        far they lie from `PI` shows the bias that is left at this length, how far from each other the
        sampling error or a drift.
    m : (n_m,) int64
        Number of values in the past, and in the future.
    eta : (n_eta,) float64
        Strength of the added noise in the unit of the series; compare with correlation sums at eps = eta / 2.
    tau, k, algorithm, theiler, coordinates
        As given to `predictive_information`.
    n, d : int
        Samples of the series and observables per sample.
    unit : str
        Always "nats".
    settings : dict
        Everything else that was chosen.

    Examples
    --------
    >>> from quantify import predictive_information
    >>> from quantify.systems import AutoRegressive
    >>> scan = predictive_information(AutoRegressive((0.6,)).sample(1000, 1), tau=1, m=[1, 2], eta=[1.0, 0.1])
    >>> scan.PI.shape, scan.quoted.eta  # one row per eta; the number to quote is at the smallest
    ((2, 2), 0.1)
    """

    PI: Floats
    half: Floats
    m: Counts
    eta: Floats
    tau: int
    k: int
    algorithm: int
    theiler: int
    coordinates: str
    n: int
    d: int = 1
    unit: str = "nats"
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PredictiveInformation:
        """A scan from its plain form (`dataclasses.asdict`, arrays as lists, None for NaN)."""
        kinds = {"PI": float, "half": float, "m": np.int64, "eta": float}
        return cls(**values | {name: np.array(values[name], dtype=kind) for name, kind in kinds.items()})

    @property
    def error(self) -> Floats:
        """The paper's error bar: distance of PI to the mean of its two halves, an (n_eta, n_m) array."""
        return np.asarray(np.abs(self.PI - self.half.mean(axis=0)))

    @property
    def quoted(self) -> Quoted:
        """The number to quote: the largest PI over m at the smallest eta that gave an estimate.

        NaN if there is none. It depends on the amount of data, so never compare it across lengths.
        """
        found = np.flatnonzero(np.isfinite(self.PI).any(axis=1))
        row = found[np.argmin(self.eta[found])] if len(found) else int(np.argmin(self.eta))
        best = int(np.nanargmax(self.PI[row])) if len(found) else 0
        half = float(self.half[:, row, best].mean())
        return Quoted(float(self.PI[row, best]), half, int(self.m[best]), float(self.eta[row]))
