"""The excess entropy split into state complexity, memory complexity and the part that grows as eps falls.

Paper, Methods, "Algorithm for excess entropy decomposition". Where the paper's text and its numbers
disagree, the numbers are followed; docs/quantifier.md lists these places.
"""

from __future__ import annotations

import numpy as np

import quantify.decomposition.terms as terms
from quantify.correlation import CorrelationSums
from quantify.decomposition.result import Decomposition
from quantify.decomposition.split import parts_at, slope_of_H_1, smooth_curves, split_rule, tidy
from quantify.entropy_curves import entropies
from quantify.errors import QuantifyError
from quantify.scales import keep_scales, segment_length
from quantify.segments import SegmentRule, as_segments

S_MIN = (0.05, 0.1)
"""The thresholds among which the paper's own choices vary."""


def decompose(
    sums: CorrelationSums,
    *,
    eps_min: float | None = None,
    s_min: float | tuple[float, float] = 0.07,
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
    s_min : float or (float, float)
        A delta_h_m counts as eps-dependent where its inverted slope reaches s_min. One slope that crosses it
        moves a whole term from one part to another; over an interval, as (.05, .1), the parts are averaged,
        and such a term moves bit by bit.
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
    The slopes of the eps-dependent terms sum to that of H_1 less what noise leaves over. For one observable
    this is 1 at small scales, and their sum is compared with 1, as in the paper. For d > 1 it lies between 1
    and d, and they are compared with the slope of H_1 at the same scale.

    Examples
    --------
    >>> from quantify import correlation_sums, decompose
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=5, theiler=5)
    >>> parts = decompose(sums).over(0.02, 0.08)
    >>> parts.deterministic, abs(parts.kappa) < 0.1
    (1.0, True)
    """
    if sums.m_max < 2:
        raise QuantifyError(
            f"m_max = {sums.m_max}; the decomposition needs at least 2 embedding dimensions (10 is usual)."
        )
    ends = np.atleast_1d(s_min)
    if ends.shape not in ((1,), (2,)) or not (ends > 0).all() or ends[0] > ends[-1]:
        raise QuantifyError(f"s_min = {s_min}; it must be positive, or an interval (usual: .05 to .1).")
    if not 0 <= kappa_max <= 1:
        raise QuantifyError(f"kappa_max = {kappa_max}; it must lie in [0, 1] (usual: .5).")
    kept, eps_min_from = keep_scales(sums, eps_min)
    points = segment_length(kept, fit_octaves, fit_points)
    derivative = derivative_points if derivative_points is not None else max(3, 2 * (points // 4) + 1)
    average = average_points if average_points is not None else points
    if derivative < 2 or average < 1:
        raise QuantifyError(
            f"derivative_points = {derivative} (at least 2), average_points = {average} (at least 1)."
        )
    SegmentRule(points, quantile, sd_fraction, extension, overlap)  # refuses what makes no sense
    settings = {
        "eps_min": float(kept.eps[-1]) if eps_min is None else float(eps_min),
        "eps_min_from": eps_min_from,
        "s_min": s_min if len(ends) == 1 else tuple(float(end) for end in ends),
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
    }
    rule = split_rule(settings)
    x = np.log(kept.eps)
    curves = entropies(kept)
    raw = curves.delta_h
    fits, value, slope, status = smooth_curves(x, raw, rule)
    a, b, o, s, n = fits
    negative = (value < -0.001).mean(axis=0)
    tidy(value, remove_negative)
    whole = slope_of_H_1(x, curves.H[0], points) if kept.d > 1 else np.ones_like(x)
    k = np.arange(1, len(raw) + 1)[:, None]
    splits = [parts_at(x, raw, value, slope, fits, t, whole, rule) for t in rule.thresholds]
    det, E_state, E_eps, E_mem = np.mean([split[:4] for split in splits], axis=0)
    # Terms are whole numbers: those of the threshold in the middle.
    m_l, m_u, m_l_own, m_u_own, plateau = splits[(len(splits) - 1) // 2][4:]
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
        deterministic=det >= rule.least,
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
        settings=settings,
    )
