"""A time series in, its complexity out: the excess-entropy decomposition.

In order of use:

- `correlation_sums`, or `read_tisean` for files of TISEAN's d2 -> `CorrelationSums`
- `entropies` -> H, h, delta_h, E, D, PI over the scale eps
- `decompose` -> `Decomposition`: E_state, E_eps, E_mem, E_core at every scale, with quality
- `fit_scaling` -> dimension and constant of the excess entropy
"""

from quantify.decomposition import Decomposition, decompose
from quantify.entropies import Entropies, entropies
from quantify.ranges import ScalingRange
from quantify.scaling import ScalingFit, default_eps_min, fit_scaling
from quantify.segments import Segment, SegmentRule, line_segments
from quantify.sums import BlockCounts, CorrelationSums
from quantify.tisean import TiseanFormatError, read_tisean, write_tisean

__all__ = [
    "BlockCounts",
    "CorrelationSums",
    "Decomposition",
    "Entropies",
    "ScalingFit",
    "ScalingRange",
    "Segment",
    "SegmentRule",
    "TiseanFormatError",
    "decompose",
    "default_eps_min",
    "entropies",
    "fit_scaling",
    "line_segments",
    "read_tisean",
    "write_tisean",
]
