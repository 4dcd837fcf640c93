"""Which scales to trust, and the dimension that the excess entropy shows on them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quantify.entropies import entropies
from quantify.ranges import points_per_octave
from quantify.segments import SegmentRule, line_segments
from quantify.sums import CorrelationSums

# 1 % relative error of C_M if pairs were independent. E_M weighs it by up to M - 1: 0.1 nats at M = 10.
MIN_PAIRS = 10_000
MIN_SHARE = 0.01


@dataclass(frozen=True)
class ScalingFit:
    """A straight piece E_M = const - D ln eps of the excess entropy (paper, eq. Em-det).

    Attributes
    ----------
    D : float
        Dimension.
    const : float
        Nats at eps = 1, so it depends on the unit of the series.
    eps : (float, float)
        Smallest and largest scale of the fit.
    i : (int, int)
        The same as indices on the grid of scales that were kept.
    n_points : int
    """

    D: float
    const: float
    eps: tuple[float, float]
    i: tuple[int, int]
    n_points: int


def all_pairs(sums: CorrelationSums) -> float:
    """Number of all admissible pairs of delay vectors, whether they were counted or only a share of them."""
    return float(sums.blocks.total.sum() if sums.blocks is not None else sums.examined.max())


def default_eps_min(sums: CorrelationSums) -> tuple[float, str]:
    """The smallest scale that the data support, and what limits it.

    Two conditions, the larger wins:

    - *pairs*: of all pairs at least 10,000 are closer than eps in the largest embedding (or 1 % of
      them, if the series is so short that this is less);
    - *resolution*: every step of the grid contains at least one distance that the data can take,
      eps (1 - 1 / ratio) >= resolution, where ratio is that of neighbouring scales.

    Returns
    -------
    eps_min : float
    reason : "pairs", "resolution" or "grid" (all scales qualify)

    Raises
    ------
    ValueError
        If fewer than three scales qualify.
    """
    eps, total = sums.eps, all_pairs(sums)
    needed = min(MIN_PAIRS, MIN_SHARE * total)
    poor = np.flatnonzero(sums.C[-1] * total < needed)
    by_pairs = int(poor[0]) if len(poor) else len(eps)
    by_resolution = len(eps)
    if len(eps) > 1:
        coarse = eps[:-1] - eps[1:] < sums.resolution
        by_resolution = int(np.flatnonzero(coarse)[0]) + 1 if coarse.any() else len(eps)
    n = min(by_pairs, by_resolution)
    reason = "grid" if n == len(eps) else "pairs" if by_pairs <= by_resolution else "resolution"
    if n < 3:
        cure = (
            f"The series is quantised in steps of {sums.resolution:g}: record it with more digits"
            if reason == "resolution"
            else f"The largest embedding needs {needed:,.0f} close pairs: use more data or a smaller m_max"
        )
        raise ValueError(f"Only {n} of {len(eps)} scales can be used. {cure}, or give eps_min.")
    return float(eps[n - 1]), reason


def keep_scales(sums: CorrelationSums, eps_min: float | None) -> tuple[CorrelationSums, str]:
    """Leave out the scales below eps_min (closed: eps_min itself stays); also say what set eps_min."""
    if len(sums.eps) < 3:
        raise ValueError(f"{len(sums.eps)} scales; at least three are needed.")
    if not np.all(np.diff(sums.eps) < 0) or not sums.eps[-1] > 0:
        raise ValueError("The scales eps must be positive and strictly descending.")
    if eps_min is None:
        eps_min, reason = default_eps_min(sums)
    else:
        reason = "given"
        if not eps_min >= 0:
            raise ValueError(f"eps_min = {eps_min}; it must be a number, not negative.")
    n = int((sums.eps >= eps_min).sum())
    if n < 3:
        raise ValueError(
            f"eps_min = {eps_min:g} leaves {n} scales; at least three are needed (largest: {sums.eps[0]:g})."
        )
    if n == len(sums.eps):
        return sums, reason
    kept = replace(
        sums,
        eps=sums.eps[:n],
        C=sums.C[:, :n],
        pairs=sums.pairs[:, :n],
        examined=sums.examined[:, :n],
        error=sums.error[:, :n],
        blocks=None,
    )
    return kept, reason


def segment_length(sums: CorrelationSums, octaves: float, points: int | None) -> int:
    """Length of the short fits in grid steps: `points` if given, else nearest to `octaves` octaves."""
    if points is not None:
        return points
    if not octaves > 0:
        raise ValueError(f"fit_octaves = {octaves}; it must be positive.")
    return max(2, round(octaves * points_per_octave(sums.eps)))


def fit_scaling(
    sums: CorrelationSums,
    *,
    eps_min: float | None = None,
    fit_octaves: float = 2.0,
    fit_points: int | None = None,
    quantile: float = 0.25,
    sd_fraction: float = 0.1,
    extension: float = 2.0,
    overlap: float = 0.3,
) -> tuple[ScalingFit, ...]:
    """Dimension and constant of every straight piece of the excess entropy E_M (M = the largest embedding).

    Parameters
    ----------
    sums : CorrelationSums
    eps_min, fit_octaves, fit_points, quantile, sd_fraction, extension, overlap
        As in `decompose`. The paper used fit_points 10 to 15 here, with quantiles from .01 to .99.

    Returns
    -------
    tuple of ScalingFit, by descending eps
    """
    kept, _ = keep_scales(sums, eps_min)
    rule = SegmentRule(
        segment_length(kept, fit_octaves, fit_points), quantile, sd_fraction, extension, overlap
    )
    return tuple(
        ScalingFit(D=fit.s, const=fit.o, eps=fit.eps, i=fit.i, n_points=fit.i[1] - fit.i[0] + 1)
        for fit in line_segments(kept.eps, entropies(kept).E[-1], rule)
    )
