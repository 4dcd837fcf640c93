"""The excess entropy split into state complexity, memory complexity and the part that grows as eps falls.

Paper, Methods, "Algorithm for excess entropy decomposition". Where the paper's text and its numbers
disagree, the numbers are followed; docs/quantifier.md lists these places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quantify import terms
from quantify.entropies import entropies
from quantify.ranges import ScalingRange, deterministic_runs, flattest_window, summarise
from quantify.scaling import keep_scales, segment_length
from quantify.segments import Segment, SegmentRule, as_segments, find_segments
from quantify.sums import CorrelationSums, Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Decomposition:
    """E_state, E_eps and E_mem at every scale, with what the split rests on. All in nats.

    At every eps, E_state + E_eps + E_mem = sum_k k delta_h_k (of the smoothed delta_h; `E_raw` is the sum
    of the raw ones).

    Attributes
    ----------
    eps : (n,) array, descending
    E_state, E_eps, E_mem : (n,) arrays
        State complexity, eps-dependent part, memory complexity (paper, eq. E_decomp:algo).
    E_core : (n,) array
        Core complexity E_state + E_mem.
    E_raw : (n,) array
        Excess entropy E_M without fits; NaN where C_M is missing.
    m_l, m_u : (n,) int arrays
        The terms m_l..m_u are eps-dependent. At stochastic scales they are inherited from larger scales;
        (0, 0) = none yet.
    m_l_own, m_u_own : (n,) int arrays
        The same without inheritance.
    kappa : (n,) array
        1 - (sum of the slopes of the terms m_l_own..m_u_own) / d: 0 deterministic, 1 stochastic; neither is
        a bound.
    deterministic : (n,) bool array
        kappa <= kappa_max.
    no_fit, extrapolated, negative : (n,) arrays
        Share of the delta_h without a valid fit (extrapolated ones included), extrapolated to this scale,
        and below -0.001.
    delta_h, slope, plateau : (M - 1, n) arrays
        Values and inverted slopes of delta_h_m after the fits, and the constants c_m of the eps-dependent
        terms.
    fits : tuple over m = 1..M-1 of tuples of Segment
    settings : dict
        Everything that was chosen or derived: eps_min and where it comes from, fit_points, s_min, ...
    """

    eps: Floats
    E_state: Floats
    E_eps: Floats
    E_mem: Floats
    E_core: Floats
    E_raw: Floats
    m_l: Ints
    m_u: Ints
    m_l_own: Ints
    m_u_own: Ints
    kappa: Floats
    deterministic: NDArray[np.bool_]
    no_fit: Floats
    extrapolated: Floats
    negative: Floats
    delta_h: Floats
    slope: Floats
    plateau: Floats
    fits: tuple[tuple[Segment, ...], ...]
    settings: dict[str, Any]
    unit: str = "nats"

    def over(self, lo: float, hi: float) -> ScalingRange:
        """Means and spreads over all grid scales of the closed range [lo, hi], each scale with weight one.

        Raises
        ------
        ValueError
            If no scale of the grid lies in the range.
        """
        inside = np.flatnonzero((self.eps >= lo) & (self.eps <= hi))
        if not len(inside):
            raise ValueError(
                f"No scale of the grid lies in [{lo:g}, {hi:g}]; the grid has {len(self.eps)} scales "
                f"from {self.eps[-1]:g} to {self.eps[0]:g}."
            )
        return summarise(self, int(inside[0]), int(inside[-1]))

    def ranges(self) -> tuple[ScalingRange, ...]:
        """Every candidate range, by descending eps, with its quality.

        The candidates are all runs of at least two deterministic scales with constant (m_l, m_u), and the
        default (`best_range`, marked ``default=True``), which may lie inside a run or across several.
        """
        runs = [summarise(self, i, j) for i, j in deterministic_runs(self.deterministic, self.m_l, self.m_u)]
        best = self.best_range()
        return tuple(sorted([*runs, *([best] if best else [])], key=lambda r: (-r.hi, r.default)))

    def best_range(self, octaves: float = 2.0) -> ScalingRange | None:
        """The range to quote when nobody has looked at the curves: where E_core is flattest.

        Of all windows of `octaves` octaves in which every scale is deterministic, the one with the smallest
        standard deviation of E_core (the one at larger scales, if tied). If there is none, windows of half
        that width are tried.

        Returns
        -------
        ScalingRange, or None if no window of either width is deterministic throughout
        """
        for width in (octaves, octaves / 2):
            window = flattest_window(self.eps, self.E_core, self.deterministic, width)
            if window is not None:
                return summarise(self, *window, default=True)
        return None


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
        `quantify.scaling.default_eps_min`.
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
    """
    if sums.m_max < 2:
        raise ValueError(
            f"m_max = {sums.m_max}; the decomposition needs at least 2 embedding dimensions (10 is usual)."
        )
    if not s_min > 0:
        raise ValueError(f"s_min = {s_min}; it must be positive (usual: .05 to .1).")
    if not 0 <= kappa_max <= 1:
        raise ValueError(f"kappa_max = {kappa_max}; it must lie in [0, 1] (usual: .5).")
    kept, eps_min_from = keep_scales(sums, eps_min)
    points = segment_length(kept, fit_octaves, fit_points)
    rule = SegmentRule(points, quantile, sd_fraction, extension, overlap)
    derivative = derivative_points if derivative_points is not None else max(3, 2 * (points // 4) + 1)
    average = average_points if average_points is not None else points
    if derivative < 2 or average < 1:
        raise ValueError(
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
