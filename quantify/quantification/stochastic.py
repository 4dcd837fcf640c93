"""What a stochastic series has: its excess entropy and predictive information in the limit of small scales.

A deterministic series has an excess entropy that grows without limit as one looks closer. That of a process
with noise ends at a number, which is what remains of state and memory then.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from quantify.correlation import CorrelationSums
from quantify.decomposition import Decomposition
from quantify.errors import QuantifyError
from quantify.noise import small_scale_limit
from quantify.quantification.uncertainty import LEAST_ERROR
from quantify.quantification_data import Limit

LEAST_OCTAVES = 1.0
"""Stochastic scales, from the smallest on, that make the limit worth a look."""
SURE = 2.0
"""More steps of memory count if they add this many standard errors."""


def stochastic_below(parts: Decomposition) -> float | None:
    """The scale below which all scales are stochastic; None if these are less than an octave."""
    noisy = parts.determinism < 0.5
    end = len(noisy) - 1
    while end >= 0 and noisy[end]:
        end -= 1
    first = min(end + 1, len(noisy) - 1)
    octaves = float(np.log2(parts.eps[first] / parts.eps[-1]))
    return float(parts.eps[first]) if noisy[-1] and octaves >= LEAST_OCTAVES else None


def limits(sums: CorrelationSums, replicates: int, rng: np.random.Generator) -> dict[str, Limit]:
    """E and PI in the limit of small scales, as far as the data support them."""
    found = {}
    for curve in ("E", "PI"):
        limit = _limit(sums, curve, replicates, rng)  # type: ignore[arg-type]
        if limit is not None:
            found[curve] = limit
    return found


def _limit(
    sums: CorrelationSums, curve: Literal["E", "PI"], replicates: int, rng: np.random.Generator
) -> Limit | None:
    """The limit at the smallest m from which on more steps add nothing that is sure.

    E_m and PI_m grow with m, and so do their errors. The m is taken that no larger one exceeds by more than
    `SURE` times what their difference scatters by.
    """
    from scipy.stats import t  # slow to import, so only where it is needed

    first, last = (2, sums.m_max) if curve == "E" else (1, sums.m_max // 2)

    def values(some: CorrelationSums) -> list[float]:
        found = []
        for m in range(first, last + 1):
            try:
                found.append(small_scale_limit(some, curve, m).value)
            except QuantifyError:
                found.append(math.nan)
        return found

    own = np.array(values(sums))
    known = int(np.argmin(np.isfinite(own))) if not np.isfinite(own).all() else len(own)
    if known == 0:
        return None
    own = own[:known]
    if not replicates or sums.blocks is None:
        return Limit(float(own[-1]), math.nan, (math.nan, math.nan), first + known - 1)
    drawn = np.array([values(sums.resampled(rng))[:known] for _ in range(replicates)])
    stop = 0
    while stop < known - 1:
        scatter = np.nanstd(drawn[:, stop + 1 :] - drawn[:, [stop]], axis=0, ddof=1)
        if not np.any(own[stop + 1 :] - own[stop] > SURE * scatter):
            break
        stop += 1
    error = max(float(np.nanstd(drawn[:, stop], ddof=1)), LEAST_ERROR)
    wide = float(t.ppf(0.975, sums.blocks.noise.freedom)) * error
    value = float(own[stop])
    return Limit(value, error, (value - wide, value + wide), first + stop)
