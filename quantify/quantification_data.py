"""What a quantification holds: numbers with their uncertainties, the curves behind them, the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from quantify.correlation import CorrelationSums
from quantify.decomposition import Decomposition, ScalingRange
from quantify.entropy_curves import Entropies
from quantify.ksg import PredictiveInformation
from quantify.null_test import NullTest
from quantify.plain import from_plain
from quantify.scaling import ScalingFit

QUANTITIES = ("E_state", "E_mem", "E_core", "D")


@dataclass(frozen=True)
class Estimate:
    """A number and how sure it is. In nats (D: no unit).

    Attributes
    ----------
    value : float
        Mean over all plausible ranges, and over what chance may make of them (`replicates`); over given
        scales their plain mean.
    sampling : float
        Standard error from the finite series, choice of the range and draw of pairs included. NaN if the
        correlation sums carry no block counts.
    interval : (float, float)
        95 % interval for the mean over many such series: value ± Student's factor x sampling, or farther on
        either side where the number goes farther if the correlation sums are off by as much.
    spread : float
        Standard deviation over the scales of the range: drift rather than error.
    s_min_interval : (float, float)
        Smallest and largest value for s_min in [.05, .1].
    choices : dict
        The same for every choice of the method that was varied: "tau" by 25 %, "m_max" by 2, "s_min".

    Examples
    --------
    >>> from quantify import quantify
    >>> from quantify.systems import Henon
    >>> core = quantify(Henon().sample(8000, 1)[:, 0], m_max=5, replicates=20).E_core
    >>> core.interval[0] < core.value < core.interval[1], 0 < core.sampling < 0.1
    (True, True)
    >>> sorted(core.choices), core.choice_interval[0] <= core.value
    (['m_max', 's_min', 'tau'], True)
    """

    value: float
    sampling: float
    interval: tuple[float, float]
    spread: float
    s_min_interval: tuple[float, float]
    choices: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def choice_interval(self) -> tuple[float, float]:
        """What all choices together may do: their deviations added as independent ones, up and down."""
        down = math.hypot(*(self.value - low for low, _ in self.choices.values()))
        up = math.hypot(*(high - self.value for _, high in self.choices.values()))
        return self.value - down, self.value + up

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Estimate:
        """An estimate from its plain form; files of earlier versions know no choices."""
        choices = {name: tuple(interval) for name, interval in (values.get("choices") or {}).items()}
        return replace(from_plain(values | {"choices": None}, cls), choices=choices)


@dataclass(frozen=True)
class Limit:
    """Excess entropy or predictive information in the limit of small scales, in nats.

    Attributes
    ----------
    value, sampling, interval
        As in `Estimate`.
    m : int
        Steps of memory that were looked at; more added nothing that was sure.
    """

    value: float
    sampling: float
    interval: tuple[float, float]
    m: int


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
    scaling_region: bool = True
    stochastic_below: float | None = None
    E: Limit | None = None
    PI: Limit | None = None
    convergence: dict[str, dict[str, float]] | None = None
    data: dict[str, Any] | None = None
    null_tests: dict[str, NullTest] = field(default_factory=dict)
    unit: str = "nats"
