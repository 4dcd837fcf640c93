"""A time series in, its complexity out: the excess-entropy decomposition.

In one call: `quantify(series)` -> `Quantification`, with uncertainties and caveats; `quantify_each` -> every
sensor by itself, and whether they agree. Step by step:

- `read_series` -> columns of a file or of a data frame, missing values cut out or filled in
- before: `look_over`, `stationarity`, `choose_delay`, `theiler_window`; `surrogates` and `systems` to compare
- after: `convergence` -> does the number still move with the embedding, the delay, the length?
- `null_test.against_null` -> is the series more than its surrogates?
- `correlation_sums`, or `read_tisean` for files of TISEAN's d2 -> `CorrelationSums`
- `entropies` -> H, h, delta_h, E, D, PI over the scale eps; `small_scale_limit` -> E, PI of noise at eps = 0
- `decompose` -> `Decomposition`: E_state, E_eps, E_mem, E_core at every scale, with quality
- `fit_scaling` -> dimension and constant of the excess entropy; `crossover` -> the scale of the noise
- `predictive_information` -> the same question asked to nearest neighbours (KSG)
- `plots` -> the paper's figures

What the package refuses about its input is a `QuantifyError`.

Examples
--------
The thresholds over which the parts are averaged unless one is given:

>>> from quantify import S_MIN
>>> S_MIN
(0.05, 0.1)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quantify.compiled import find_place

find_place()  # before any kernel is declared

# ruff: noqa: E402
from quantify.convergence_data import Convergence
from quantify.correlation import BlockCounts, CorrelationSums, correlation_sums
from quantify.decomposition import S_MIN, Decomposition, ScalingRange, decompose
from quantify.delays import Delay, choose_delay
from quantify.entropy_curves import Entropies, entropies
from quantify.errors import DtypeError, QuantifyError
from quantify.gate import DataReport, look_over
from quantify.ksg import PredictiveInformation, predictive_information
from quantify.noise import SmallScaleLimit, crossover, small_scale_limit
from quantify.quantification import Estimate, Quantification, quantify, quantify_sums
from quantify.scales import default_eps_min
from quantify.scaling import ScalingFit, fit_scaling
from quantify.segments import Segment, SegmentRule, line_segments
from quantify.sensors import Sensors, quantify_each
from quantify.series_files import Series, read_series
from quantify.stationary import Stationarity, stationarity, stationarity_verdict
from quantify.sweeps import convergence
from quantify.theiler import theiler_window
from quantify.tisean import TiseanFormatError, read_tisean, write_tisean

if TYPE_CHECKING:
    from quantify import plots, surrogates, systems

__all__ = [
    "S_MIN",
    "BlockCounts",
    "Convergence",
    "CorrelationSums",
    "DataReport",
    "Decomposition",
    "Delay",
    "DtypeError",
    "Entropies",
    "Estimate",
    "PredictiveInformation",
    "Quantification",
    "QuantifyError",
    "ScalingFit",
    "ScalingRange",
    "Segment",
    "SegmentRule",
    "Sensors",
    "Series",
    "SmallScaleLimit",
    "Stationarity",
    "TiseanFormatError",
    "choose_delay",
    "convergence",
    "correlation_sums",
    "crossover",
    "decompose",
    "default_eps_min",
    "entropies",
    "fit_scaling",
    "line_segments",
    "look_over",
    "plots",
    "predictive_information",
    "quantify",
    "quantify_each",
    "quantify_sums",
    "read_series",
    "read_tisean",
    "small_scale_limit",
    "stationarity",
    "stationarity_verdict",
    "surrogates",
    "systems",
    "theiler_window",
    "write_tisean",
]


def __getattr__(name: str) -> Any:
    """Import on first use what needs scipy at once, which is slow to import."""
    if name in ("plots", "surrogates", "systems"):
        return import_module(f"quantify.{name}")
    raise AttributeError(f"module 'quantify' has no attribute {name!r}")
