"""The predictive information over embedding lengths and noise strengths, and the number to quote."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quantify.aliases import Counts, Floats
from quantify.plain import from_plain


@dataclass(frozen=True)
class Quoted:
    """The predictive information as one number, in nats.

    Attributes
    ----------
    value : float
        I(past of m values : future of m values).
    half : float
        Mean of the same from both halves of the data, which shows the bias that is left; NaN if it is not
        known. The paper's error bar ends there.
    m : int
        Number of values in the past, and in the future.
    eta : float
        Strength of the added noise.
    error : float
        Standard error; NaN if it is not known.
    bias : float
        What was taken off: the estimator's error for Gaussian values with the same canonical correlations.
    k : int
        Number of neighbours.
    coordinates : str
    """

    value: float
    half: float
    m: int
    eta: float
    error: float = math.nan
    bias: float = 0.0
    k: int = 0
    coordinates: str = "delay"


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
    quote : Quoted or None
        The number to quote, if it was asked for.

    Examples
    --------
    >>> from quantify import predictive_information
    >>> from quantify.systems import AutoRegressive
    >>> scan = predictive_information(AutoRegressive((0.6,)).sample(1000, 1), tau=1, m=[1, 2], eta=[1.0, 0.1])
    >>> scan.PI.shape, scan.largest.eta, scan.quoted.eta  # one row per eta; without noise to quote
    ((2, 2), 0.1, 0.0)
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
    quote: Quoted | None = None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PredictiveInformation:
        """A scan from its plain form (`dataclasses.asdict`, arrays as lists, None for NaN)."""
        kinds = {"PI": float, "half": float, "m": np.int64, "eta": float}
        arrays = {name: np.array(values[name], dtype=kind) for name, kind in kinds.items()}
        quote = values.get("quote")
        return cls(**values | arrays | {"quote": from_plain(quote, Quoted) if quote else None})

    @property
    def error(self) -> Floats:
        """The paper's error bar: distance of PI to the mean of its two halves, an (n_eta, n_m) array."""
        return np.asarray(np.abs(self.PI - self.half.mean(axis=0)))

    @property
    def quoted(self) -> Quoted:
        """The number to quote, with its error; `largest` if it was not asked for."""
        return self.largest if self.quote is None else self.quote

    @property
    def largest(self) -> Quoted:
        """As the paper quotes it: the largest PI over m at the smallest eta that gave an estimate.

        NaN if there is none. It depends on the amount of data, so never compare it across lengths.
        """
        found = np.flatnonzero(np.isfinite(self.PI).any(axis=1))
        row = found[np.argmin(self.eta[found])] if len(found) else int(np.argmin(self.eta))
        best = int(np.nanargmax(self.PI[row])) if len(found) else 0
        half = float(self.half[:, row, best].mean())
        m, eta = int(self.m[best]), float(self.eta[row])
        return Quoted(float(self.PI[row, best]), half, m, eta, k=self.k, coordinates=self.coordinates)
