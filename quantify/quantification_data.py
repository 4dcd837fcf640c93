"""What a quantification holds: numbers with their uncertainties, the curves behind them, the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quantify.correlation import CorrelationSums
from quantify.decomposition import Decomposition, ScalingRange
from quantify.entropy_curves import Entropies
from quantify.ksg import PredictiveInformation
from quantify.scaling import ScalingFit

QUANTITIES = ("E_state", "E_mem", "E_core", "D")


@dataclass(frozen=True)
class Estimate:
    """A number with three uncertainties that must not be mixed. In nats (D: no unit).

    Attributes
    ----------
    value : float
        Mean over the scales of the range.
    sampling : float
        Standard error from the finite series: blocks of the time axis drawn again, the range kept. NaN if
        the correlation sums carry no block counts.
    interval : (float, float)
        The middle 95 % of those replicates.
    spread : float
        Standard deviation over the scales of the range: drift rather than error.
    s_min_interval : (float, float)
        Smallest and largest value for s_min in [.05, .1].

    Examples
    --------
    >>> from quantify import quantify
    >>> from quantify.systems import Henon
    >>> core = quantify(Henon().sample(8000, 1)[:, 0], m_max=5, replicates=20).E_core
    >>> core.s_min_interval[0] <= core.value <= core.s_min_interval[1], 0 < core.sampling < 0.1
    (True, True)
    """

    value: float
    sampling: float
    interval: tuple[float, float]
    spread: float
    s_min_interval: tuple[float, float]


@dataclass(frozen=True)
class QuantificationData:
    """The fields of a `Quantification`, which explains them, without its ways to show and save them.

    Text, tables and figures are made from these.
    """

    E_state: Estimate
    E_mem: Estimate
    E_core: Estimate
    D: Estimate
    range: ScalingRange
    caveats: tuple[str, ...]
    sums: CorrelationSums
    entropies: Entropies
    decomposition: Decomposition
    scaling: tuple[ScalingFit, ...]
    settings: dict[str, Any]
    stationarity: dict[str, Any] | None = None
    predictive_information: PredictiveInformation | None = None
    unit: str = "nats"
