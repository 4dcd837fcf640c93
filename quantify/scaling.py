"""The dimension that the excess entropy shows: straight pieces of E_M over ln eps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quantify.correlation import CorrelationSums
from quantify.entropy_curves import entropies
from quantify.scales import keep_scales, segment_length
from quantify.segments import SegmentRule, line_segments


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

    Examples
    --------
    >>> from quantify import correlation_sums, fit_scaling
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> fit = fit_scaling(sums)[-1]
    >>> fit.eps[0] < fit.eps[1], fit.n_points == fit.i[1] - fit.i[0] + 1
    (True, True)
    """

    D: float
    const: float
    eps: tuple[float, float]
    i: tuple[int, int]
    n_points: int


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

    Examples
    --------
    >>> from quantify import correlation_sums, fit_scaling
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> [round(fit.D) for fit in fit_scaling(sums)]  # at large scales, and at small ones
    [1, 1]
    """
    kept, _ = keep_scales(sums, eps_min)
    rule = SegmentRule(
        segment_length(kept, fit_octaves, fit_points), quantile, sd_fraction, extension, overlap
    )
    return tuple(
        ScalingFit(D=fit.s, const=fit.o, eps=fit.eps, i=fit.i, n_points=fit.i[1] - fit.i[0] + 1)
        for fit in line_segments(kept.eps, entropies(kept).E[-1], rule)
    )


def longest_overlapping(fits: Iterable[ScalingFit], lo: float, hi: float) -> ScalingFit | None:
    """The longest straight piece that shares scales with the range [lo, hi]; None if none does.

    Examples
    --------
    >>> from quantify.scaling import ScalingFit, longest_overlapping
    >>> coarse = ScalingFit(D=1.0, const=0.0, eps=(0.3, 3.0), i=(0, 20), n_points=21)
    >>> fine = ScalingFit(D=2.0, const=0.5, eps=(0.1, 0.5), i=(15, 30), n_points=16)
    >>> longest_overlapping((coarse, fine), 0.12, 0.4).D, longest_overlapping((coarse, fine), 0.12, 0.25).D
    (1.0, 2.0)
    """
    touching = [fit for fit in fits if fit.eps[0] < hi and fit.eps[1] > lo]
    return max(touching, key=lambda fit: fit.eps[1] / fit.eps[0], default=None)
