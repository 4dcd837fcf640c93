"""The excess entropy split into state complexity, memory complexity and the part that grows as eps falls.

Paper, Methods, "Algorithm for excess entropy decomposition". Where the paper's text and its numbers
disagree, the numbers are followed; docs/quantifier.md lists these places.
"""

from __future__ import annotations

import numpy as np

import quantify.decomposition.terms as terms
from quantify.correlation import CorrelationSums
from quantify.decomposition.result import Decomposition
from quantify.entropy_curves import entropies
from quantify.errors import QuantifyError
from quantify.scales import keep_scales, segment_length
from quantify.segments import SegmentRule, as_segments, find_segments


def decompose(
    sums: CorrelationSums,
    *,
    eps_min: float | None = None,
    s_min: float = 0.07,
    kappa_max: float = 0.5,
    fit_octaves: float = 1.5,
    fit_points: int | None = None,
    quantile: float = 0.25,
    remove_negative: bool = True,
    sd_fraction: float = 0.1,
    extension: float = 2.0,
    overlap: float = 0.3,
    derivative_points: int | None = None,
    average_points: int | None = None,
) -> Decomposition:
    """Split the excess entropy of a time series into state, eps-dependent and memory part at every scale.

    Parameters
    ----------
    sums : CorrelationSums
        With M >= 2 embedding dimensions.
    eps_min : float, optional
        Smaller scales are left out (they would enter the fits' thresholds). Default:
        `default_eps_min`.
    s_min : float
        A delta_h_m counts as eps-dependent where its inverted slope reaches s_min. The result depends on it
        most of all: look at several values in [.05, .1].
    kappa_max : float
        A scale is deterministic where the slopes of its eps-dependent terms sum to at least 1 - kappa_max.
    fit_octaves : float
        Width of the short fits in octaves of eps, whatever the grid.
    fit_points : int, optional
        Width of the short fits in grid steps instead (the paper's numbers: 10). A result then depends on
        the grid.
    quantile, sd_fraction, extension, overlap : float
        How straight segments are found, see `quantify.segments.SegmentRule`.
    remove_negative : bool
        Set negative delta_h to zero after the fits (they are conditional mutual informations, so negative
        ones are errors).
    derivative_points : int, optional
        Window of the finite differences that give the slope where no fit exists. Default: half the fit
        length (5 at 10).
    average_points : int, optional
        Scales over which the range (m_l, m_u) that stochastic scales inherit is averaged. Default: the fit
        length (10 at 10).

    Returns
    -------
    Decomposition

    Notes
    -----
    For d > 1 observables the slopes of the eps-dependent terms sum to min(d, D) instead of 1, so the sum is
    divided by d.

    Examples
    --------
    >>> from quantify import correlation_sums, decompose
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=5, theiler=5)
    >>> best = decompose(sums).best_range()
    >>> best.deterministic, best.terms  # two steps of the past are the state; the first terms depend on eps
    (1.0, (1, 2))
    """
    if sums.m_max < 2:
        raise QuantifyError(
            f"m_max = {sums.m_max}; the decomposition needs at least 2 embedding dimensions (10 is usual)."
        )
    if not s_min > 0:
        raise QuantifyError(f"s_min = {s_min}; it must be positive (usual: .05 to .1).")
    if not 0 <= kappa_max <= 1:
        raise QuantifyError(f"kappa_max = {kappa_max}; it must lie in [0, 1] (usual: .5).")
    kept, eps_min_from = keep_scales(sums, eps_min)
    points = segment_length(kept, fit_octaves, fit_points)
    rule = SegmentRule(points, quantile, sd_fraction, extension, overlap)
    derivative = derivative_points if derivative_points is not None else max(3, 2 * (points // 4) + 1)
    average = average_points if average_points is not None else points
    if derivative < 2 or average < 1:
        raise QuantifyError(
            f"derivative_points = {derivative} (at least 2), average_points = {average} (at least 1)."
        )
    # 12 digits: 1 - .45 is meant to be .55 whatever its last bit.
    threshold = round(1 - kappa_max, 12)

    x = np.log(kept.eps)
    raw = entropies(kept).delta_h
    a, b, o, s, n = find_segments(x, raw, rule)
    value, slope, status = terms.smooth(x, raw, a, b, o, s, n, derivative)
    m_l_own, m_u_own, det = terms.own_ranges(slope, s_min)
    det /= kept.d
    deterministic = det >= threshold
    m_l, m_u = terms.inherited_ranges(m_l_own, m_u_own, deterministic, average)
    plateau = terms.plateaus(x, raw, a, b, o, s, n, s_min)

    negative = (value < -0.001).mean(axis=0)
    value = np.nan_to_num(value)
    if remove_negative:
        value = np.maximum(value, 0.0)
    k = np.arange(1, len(raw) + 1)[:, None]
    middle = (k >= m_l) & (k <= m_u)
    constant = (k * plateau * middle).sum(axis=0)
    E_state = (k * value * (k < m_l)).sum(axis=0) + constant
    E_eps = (k * value * middle).sum(axis=0) - constant
    E_mem = (k * value * (k > m_u)).sum(axis=0)
    return Decomposition(
        eps=kept.eps,
        E_state=E_state,
        E_eps=E_eps,
        E_mem=E_mem,
        E_core=E_state + E_mem,
        E_raw=(k * raw).sum(axis=0),
        m_l=m_l,
        m_u=m_u,
        m_l_own=m_l_own,
        m_u_own=m_u_own,
        kappa=1 - det,
        deterministic=deterministic,
        no_fit=(status != terms.FITTED).mean(axis=0),
        extrapolated=(status == terms.EXTRAPOLATED).mean(axis=0),
        negative=negative,
        delta_h=value,
        slope=slope,
        plateau=plateau,
        fits=tuple(
            as_segments(kept.eps, a[m, : n[m]], b[m, : n[m]], o[m, : n[m]], s[m, : n[m]])
            for m in range(len(raw))
        ),
        settings={
            "eps_min": float(kept.eps[-1]) if eps_min is None else float(eps_min),
            "eps_min_from": eps_min_from,
            "s_min": s_min,
            "kappa_max": kappa_max,
            "fit_points": points,
            "fit_octaves": fit_octaves if fit_points is None else None,
            "quantile": quantile,
            "remove_negative": remove_negative,
            "sd_fraction": sd_fraction,
            "extension": extension,
            "overlap": overlap,
            "derivative_points": derivative,
            "average_points": average,
            "d": kept.d,
        },
    )
