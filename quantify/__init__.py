"""A time series in, its complexity out: the excess-entropy decomposition.

In one call: `quantify(series)` -> `Quantification`, with uncertainties and caveats. Step by step:

- before: `choose_delay`, `theiler_window`, `stationarity`; `surrogates` and `systems` to compare with
- `correlation_sums`, or `read_tisean` for files of TISEAN's d2 -> `CorrelationSums`
- `entropies` -> H, h, delta_h, E, D, PI over the scale eps; `small_scale_limit` -> E, PI of noise at eps = 0
- `decompose` -> `Decomposition`: E_state, E_eps, E_mem, E_core at every scale, with quality
- `fit_scaling` -> dimension and constant of the excess entropy
- `predictive_information` -> the same question asked to nearest neighbours (KSG)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quantify.correlation import correlation_sums
from quantify.decomposition import Decomposition, decompose
from quantify.delays import Delay, choose_delay, theiler_window
from quantify.entropies import Entropies, entropies
from quantify.limits import SmallScaleLimit, small_scale_limit
from quantify.quantification import Estimate, Quantification, quantify, quantify_sums
from quantify.ranges import ScalingRange
from quantify.scaling import ScalingFit, default_eps_min, fit_scaling
from quantify.segments import Segment, SegmentRule, line_segments
from quantify.stationarity import Stationarity, stationarity
from quantify.sums import BlockCounts, CorrelationSums
from quantify.tisean import TiseanFormatError, read_tisean, write_tisean

if TYPE_CHECKING:
    from quantify import surrogates, systems
    from quantify.ksg import PredictiveInformation, predictive_information

__all__ = [
    "BlockCounts",
    "CorrelationSums",
    "Decomposition",
    "Delay",
    "Entropies",
    "Estimate",
    "PredictiveInformation",
    "Quantification",
    "ScalingFit",
    "ScalingRange",
    "Segment",
    "SegmentRule",
    "SmallScaleLimit",
    "Stationarity",
    "TiseanFormatError",
    "choose_delay",
    "correlation_sums",
    "decompose",
    "default_eps_min",
    "entropies",
    "fit_scaling",
    "line_segments",
    "predictive_information",
    "quantify",
    "quantify_sums",
    "read_tisean",
    "small_scale_limit",
    "stationarity",
    "surrogates",
    "systems",
    "theiler_window",
    "write_tisean",
]


def __getattr__(name: str) -> Any:
    """Import on first use what needs scipy or matplotlib, which are slow to import."""
    if name in ("plots", "surrogates", "systems"):
        return import_module(f"quantify.{name}")
    if name in ("PredictiveInformation", "predictive_information"):
        return getattr(import_module("quantify.ksg"), name)
    raise AttributeError(f"module 'quantify' has no attribute {name!r}")
