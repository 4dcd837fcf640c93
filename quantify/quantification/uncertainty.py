"""The four numbers with their uncertainties: sampling error, spread over the scales, and choice of s_min."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quantify.aliases import Progress
from quantify.correlation import CorrelationSums
from quantify.decomposition import Decomposition, ScalingRange, decompose
from quantify.decomposition.result import resolved_arguments
from quantify.quantification_data import QUANTITIES, Estimate

# The interval of s_min over which the paper's own choices vary.
S_MIN_INTERVAL = (0.05, 0.1)


def estimates(
    sums: CorrelationSums,
    parts: Decomposition,
    r: ScalingRange,
    replicates: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> dict[str, Estimate]:
    """The four numbers with their three uncertainties, all over the same fixed range."""
    # Scales and widths as resolved for the series itself: replicates must not choose their own.
    options = resolved_arguments(parts.settings)

    def values(some_sums: CorrelationSums, **changed: Any) -> list[float]:
        mean = decompose(some_sums, **(options | changed)).over(r.lo, r.hi)
        return [getattr(mean, name) for name in QUANTITIES]

    drawn = np.full((max(replicates, 1), len(QUANTITIES)), np.nan)
    for i in range(replicates):
        drawn[i] = values(sums.resampled(rng))
        if progress is not None:
            progress(i + 1, replicates)
    swept = np.array([values(sums, s_min=float(s)) for s in np.linspace(*S_MIN_INTERVAL, 6)])
    local_D = -np.gradient(parts.E_raw, np.log(parts.eps))[(parts.eps >= r.lo) & (parts.eps <= r.hi)]
    spread = [
        r.E_state_sd,
        r.E_mem_sd,
        r.E_core_sd,
        float(np.std(local_D, ddof=1)) if len(local_D) > 1 else 0.0,
    ]
    return {
        name: Estimate(
            value=getattr(r, name),
            sampling=float(np.std(drawn[:, i], ddof=1)) if replicates > 1 else math.nan,
            interval=(float(np.quantile(drawn[:, i], 0.025)), float(np.quantile(drawn[:, i], 0.975))),
            spread=spread[i],
            s_min_interval=(float(swept[:, i].min()), float(swept[:, i].max())),
        )
        for i, name in enumerate(QUANTITIES)
    }
