"""A quantification that can be read, saved and drawn."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.correlation import CorrelationSums
from quantify.decomposition import ScalingRange, decompose
from quantify.decomposition.result import resolved_arguments
from quantify.entropy_curves import entropies
from quantify.ksg import PredictiveInformation
from quantify.null_test import NullTest
from quantify.plain import from_plain, to_plain
from quantify.quantification.summary import WIDTH, headlines, short_text, summary_html, summary_text
from quantify.quantification_data import QUANTITIES, Estimate, Limit, QuantificationData
from quantify.scaling import ScalingFit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CURVES = (
    *("eps", "E_state", "E_eps", "E_mem", "E_core", "E_raw", "m_l", "m_u"),
    *("kappa", "deterministic", "no_fit", "extrapolated", "negative"),
)
_PLAIN = ("scaling_region", "stochastic_below", "convergence", "data")
_COUNTS = ("pairs", "examined")
_SUM_ARRAYS = ("eps", "C", "error", *_COUNTS)


@dataclass(frozen=True, repr=False)
class Quantification(QuantificationData):
    """How complex a time series is, on which scales, how surely, and what speaks against it.

    Attributes
    ----------
    E_state, E_mem, E_core, D : Estimate
        State, memory and core complexity, and dimension, over the scales of `range`.
    range : ScalingRange
        The scales that were averaged over, with their quality.
    caveats : tuple of str
        Sentences that say why the numbers should not be trusted; empty if nothing was found.
    sums : CorrelationSums
    entropies : Entropies
    decomposition : Decomposition
    scaling : tuple of ScalingFit
        All straight pieces of the excess entropy E_M.
    settings : dict
        Everything that was chosen or derived: tau, m_max, theiler, s_min, how the range was chosen, ...
    stationarity : dict or None
        Plain values of the test, if it was asked for.
    predictive_information : PredictiveInformation or None
        The KSG estimate over m and eta, if it was asked for; its `quoted` is the number at the smallest
        scale.
    scaling_region : bool
        Whether there is one; without, D is NaN, and the complexities are those of the small-scale limit if
        the series is stochastic (all of E is memory), else of the smallest reliable scales.
    stochastic_below : float or None
        The scale below which the series is stochastic, if these are an octave or more.
    E, PI : Limit or None
        Excess entropy and predictive information in the limit of small scales, if these are stochastic.
    convergence : dict or None
        The four numbers from a "quarter" and from "half" of the series.
    data : dict or None
        What was found in the data before counting (`quantify.gate.look_over`).
    null_tests : dict of NullTest
        E_core and D beside those of surrogates, if these were asked for.

    Examples
    --------
    >>> from quantify import Quantification, quantify
    >>> from quantify.systems import Henon
    >>> result = quantify(Henon().sample(5000, 1)[:, 0], m_max=5, replicates=20)
    >>> result.settings["tau"], result.scaling_region
    (1, True)
    >>> print(result.summary().splitlines()[0])
    Complexity of 5,000 samples: delay 1, 5 steps, in nats
    >>> Quantification.from_dict(result.to_dict()).E_core == result.E_core
    True
    """

    def __repr__(self) -> str:
        return short_text(self)

    def _repr_html_(self) -> str:
        return summary_html(self)

    def summary(self, width: int = WIDTH) -> str:
        """A readable account, with the caveats in words, in lines of at most so many characters (from 75 on,
        which the table needs)."""
        return summary_text(self, width)

    def brief(self) -> dict[str, Any]:
        """The results alone as plain values for JSON, without the curves: numbers, intervals, sentences.

        Examples
        --------
        >>> from quantify import quantify
        >>> from quantify.systems import Henon
        >>> found = quantify(Henon().sample(5000, 1), m_max=5, replicates=20, names=["left", "right"]).brief()
        >>> found["sensors"], sorted(found["E_core"])
        (['left', 'right'], ['choices', 'interval', 'sampling', 'spread', 'value'])
        """
        scan, r = self.predictive_information, self.range
        return to_plain(
            {
                "sensors": self.settings.get("sensors", []),
                "samples": self.sums.n,
                "sentences": headlines(self),
                **{name: _short_estimate(getattr(self, name)) for name in QUANTITIES},
                "unit": self.unit,
                "scaling_region": self.scaling_region,
                "range": {name: getattr(r, name) for name in ("lo", "hi", "octaves", "kappa", "drift")},
                "stochastic_below": self.stochastic_below,
                **{name: asdict(limit) for name in ("E", "PI") if (limit := getattr(self, name))},
                "predictive_information": asdict(scan.quoted) if scan is not None else None,
                "null_tests": {name: test.to_dict() for name, test in self.null_tests.items()},
                "stationary": self.stationarity["stationary"] if self.stationarity else None,
                "caveats": self.caveats,
                "settings": {name: v for name, v in self.settings.items() if name != "sensors"},
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON (None for NaN), from which `from_dict` gives the result back."""
        return to_plain(
            {
                **{name: asdict(getattr(self, name)) for name in QUANTITIES},
                "unit": self.unit,
                "range": asdict(self.range),
                "ranges": [asdict(r) for r in self.decomposition.ranges()],
                "caveats": self.caveats,
                "scaling": [asdict(f) for f in self.scaling],
                "settings": self.settings,
                "decomposition_settings": self.decomposition.settings,
                "curves": {name: getattr(self.decomposition, name) for name in _CURVES},
                "sums": {
                    name: getattr(self.sums, name)
                    for name in (*_SUM_ARRAYS, "tau", "theiler", "n", "d", "resolution", "settings")
                },
                "stationarity": self.stationarity,
                "predictive_information": asdict(self.predictive_information)
                if self.predictive_information
                else None,
                **{name: getattr(self, name) for name in _PLAIN},
                "null_tests": {name: test.to_dict() for name, test in self.null_tests.items()},
                **{name: asdict(limit) if (limit := getattr(self, name)) else None for name in ("E", "PI")},
            }
        )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Quantification:
        """Rebuild a result from `to_dict`: the estimates as saved, the curves again from the sums."""
        saved = {name: v for name, v in values["sums"].items() if name not in _SUM_ARRAYS}
        for name in _SUM_ARRAYS:
            # None (NaN) only occurs in float arrays.
            saved[name] = np.array(values["sums"][name], dtype=np.int64 if name in _COUNTS else float)
        sums = CorrelationSums(**saved)
        resolved, scan = values["decomposition_settings"], values["predictive_information"]
        parts = replace(decompose(sums, **resolved_arguments(resolved)), settings=resolved)
        return cls(
            E_state=Estimate.from_dict(values["E_state"]),
            E_mem=Estimate.from_dict(values["E_mem"]),
            E_core=Estimate.from_dict(values["E_core"]),
            D=Estimate.from_dict(values["D"]),
            range=from_plain(values["range"], ScalingRange, optional=("terms",)),
            caveats=tuple(values["caveats"]),
            sums=sums,
            entropies=entropies(sums),
            decomposition=parts,
            scaling=tuple(from_plain(fit, ScalingFit) for fit in values["scaling"]),
            settings=values["settings"],
            stationarity=values["stationarity"],
            predictive_information=PredictiveInformation.from_dict(scan) if scan else None,
            **{name: values[name] for name in _PLAIN if name in values and name != "convergence"},
            convergence=_with_nan(values.get("convergence")),
            E=from_plain(values["E"], Limit) if values.get("E") else None,
            PI=from_plain(values["PI"], Limit) if values.get("PI") else None,
            null_tests={n: NullTest.from_dict(test) for n, test in values.get("null_tests", {}).items()},
            unit=values["unit"],
        )

    def plot(self, series: ArrayLike | None = None) -> Figure:
        """Draw entropies, terms, predictive information, decomposition and quality over the scale.

        Given the series, its phase plot too.
        """
        from quantify import plots

        return plots.quantification(self, series=series)


def _with_nan(shorter: dict[str, dict[str, float | None]] | None) -> dict[str, dict[str, float]] | None:
    """What parts of the series gave; a number that they did not give is NaN again."""
    if shorter is None:
        return None
    parts = shorter.items()
    return {part: {name: math.nan if v is None else v for name, v in found.items()} for part, found in parts}


def _short_estimate(e: Estimate) -> dict[str, Any]:
    named = {name: getattr(e, name) for name in ("value", "sampling", "interval", "spread")}
    return named | {"choices": e.choice_interval if e.choices else None}
