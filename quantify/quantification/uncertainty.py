"""The four numbers and how sure they are: what chance does to them, and what the choices of the method do.

Chance: errors of the correlation sums are drawn again and again (`quantify.correlation.noise`), and each time
everything is done anew, the choice of the ranges included. The standard deviation of the outcomes is the
sampling error, and Student's factor for the number of blocks makes it a 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quantify.aliases import Floats, Progress
from quantify.correlation import CorrelationSums
from quantify.decomposition import Decomposition, ScalingRange, decompose
from quantify.decomposition.algorithm import S_MIN, S_MIN_STEPS
from quantify.decomposition.result import resolved_arguments
from quantify.errors import QuantifyError
from quantify.quantification_data import QUANTITIES, Estimate

# Numbers are printed with two digits: no error is claimed to be smaller than half of the last one.
LEAST_ERROR = 0.005

Span = tuple[float, float] | None


def read(parts: Decomposition, given: Span, region: bool = True) -> Floats:
    """The four numbers of a decomposition: over the given scales, else over all plausible ranges, else (no
    scaling region) over the smallest reliable scales. NaN where there are no such scales.
    """
    r = quoted_range(parts, given, region)
    return np.array([math.nan if r is None else getattr(r, name) for name in QUANTITIES])


def quoted_range(parts: Decomposition, given: Span, region: bool = True) -> ScalingRange | None:
    """The scales that are averaged over; None if the given ones lie outside the grid."""
    if given is not None:
        inside = (parts.eps >= given[0]) & (parts.eps <= given[1])
        return parts.over(*given) if inside.sum() > 1 else None
    if region:
        return parts.plausible()
    return parts.over(parts.eps[-1], min(4 * parts.eps[-1], parts.eps[0]))


def replicated(
    sums: CorrelationSums,
    parts: Decomposition,
    given: Span,
    region: bool,
    n: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Floats:
    """The four numbers of n series of the same kind, (n, 4); scales and widths as resolved for this one."""
    options = resolved_arguments(parts.settings)
    drawn = np.full((n, len(QUANTITIES)), np.nan)
    for i in range(n):
        drawn[i] = read(decompose(sums.resampled(rng), **options), given, region)
        if progress is not None:
            progress(i + 1, n)
    return drawn


def estimates(
    parts: Decomposition,
    quoted: ScalingRange,
    drawn: Floats,
    freedom: int,
    choices: dict[str, Floats],
    tau_scatter: Floats | float = 0.0,
) -> dict[str, Estimate]:
    """The four numbers with their uncertainties.

    Parameters
    ----------
    drawn : (n, 4) array, see `replicated`
    freedom : degrees of freedom of the sampling error
    choices : what other choices of the method add to each number, by name of the choice, (k, 4) arrays
    tau_scatter : standard errors that the numbers owe to a delay chosen from the data
    """
    from scipy.stats import t  # slow to import, so only where it is needed

    factor = float(t.ppf(0.975, freedom)) if freedom > 0 else math.nan
    local_D = -np.gradient(parts.E_raw, np.log(parts.eps))
    inside = (parts.eps >= quoted.lo) & (parts.eps <= quoted.hi)
    spread = [quoted.E_state_sd, quoted.E_mem_sd, quoted.E_core_sd]
    spread.append(float(np.std(local_D[inside], ddof=1)) if inside.sum() > 1 else 0.0)
    scatter = np.broadcast_to(tau_scatter, len(QUANTITIES))
    found = {}
    for i, name in enumerate(QUANTITIES):
        value, column = getattr(quoted, name), drawn[:, i][np.isfinite(drawn[:, i])]
        error = math.nan
        if len(column) > 1:
            error = max(math.hypot(float(np.std(column, ddof=1)), float(scatter[i])), LEAST_ERROR)
        moved = {choice: _interval(value, added[:, i]) for choice, added in choices.items()}
        found[name] = Estimate(
            value=value,
            sampling=error,
            interval=(value - factor * error, value + factor * error),
            spread=spread[i],
            s_min_interval=moved.get("s_min", (value, value)),
            choices=moved,
        )
    return found


def _interval(value: float, added: Floats) -> tuple[float, float]:
    """The smallest and largest value that the other choices give."""
    seen = [0.0, *added[np.isfinite(added)]]
    return value + float(min(seen)), value + float(max(seen))


def over_s_min(sums: CorrelationSums, parts: Decomposition, given: Span, region: bool) -> Floats:
    """What other thresholds s_min of the usual interval add to the four numbers, (6, 4)."""
    options = resolved_arguments(parts.settings)
    base = read(parts, given, region)
    thresholds = np.linspace(*S_MIN, S_MIN_STEPS)
    return np.array(
        [read(decompose(sums, **options | {"s_min": float(s)}), given, region) - base for s in thresholds]
    )


def of_parts(sums: CorrelationSums, pieces: Sequence[slice], given: Span, **options: Any) -> Floats:
    """The four numbers of parts of the series, each a slice of its blocks, on average; NaN if there are none.

    Counts by block hold those of every part: nothing is counted again.
    """
    assert sums.blocks is not None
    found = []
    for piece in pieces:
        total = sums.blocks.total[piece, piece]
        if not total.sum() > 0:  # all within the Theiler window
            continue
        C = sums.blocks.close[piece, piece].sum(axis=(0, 1)) / total.sum()
        part = replace(sums, C=C, examined=np.full_like(sums.examined, int(total.sum())), blocks=None)
        try:
            found.append(read(decompose(part, **options), given))
        except QuantifyError:  # too short for three scales
            continue
    return np.mean(found, axis=0) if found else np.full(len(QUANTITIES), np.nan)


def of_shorter(sums: CorrelationSums, given: Span, **options: Any) -> dict[str, dict[str, float]]:
    """The four numbers of a quarter and of half of the series, on average over its quarters and halves."""
    assert sums.blocks is not None
    B, found = len(sums.blocks.total), {}
    for name, parts in (("quarter", 4), ("half", 2)):
        if B % parts == 0 and 2 * parts <= B:
            size = B // parts
            values = of_parts(sums, [slice(i * size, (i + 1) * size) for i in range(parts)], given, **options)
            found[name] = dict(zip(QUANTITIES, values.tolist(), strict=True))
    return found
