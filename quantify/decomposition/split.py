"""From delta_h over the scale to the parts of the excess entropy, compiled as a whole.

`decompose` needs all that comes out of it, once; error bars need little of it, for hundreds of curves that
are a little off (`split_many`).
"""

# The kernels are untyped for numba's sake; their callers state the types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numba
import numpy as np

import quantify.decomposition.terms as terms
from quantify.aliases import Floats
from quantify.segments import segments_of_rows

S_MIN_STEPS = 12
"""Thresholds that an average over an interval of s_min takes, each in the middle of as many equal parts: with
both ends among six of them, E_core was three times as far from the integral (.025 and .008 nats)."""
MIDDLES = (np.arange(S_MIN_STEPS) + 0.5) / S_MIN_STEPS


class SplitRule(NamedTuple):
    """How curves are split, as numbers that compiled code takes.

    Attributes
    ----------
    points, quantile, sd_fraction, extension, overlap
        Of `SegmentRule`.
    derivative, average : int
        `derivative_points` and `average_points` of `decompose`.
    thresholds : (k,) float64
        Values of s_min to average over.
    least : float
        Sum of slopes from which on a scale is deterministic.
    remove_negative : bool
    many : bool
        Whether there is more than one observable: slopes are then compared with that of H_1.
    """

    points: int
    quantile: float
    sd_fraction: float
    extension: float
    overlap: float
    derivative: int
    average: int
    thresholds: Floats
    least: float
    remove_negative: bool
    many: bool


def split_rule(settings: Mapping[str, Any]) -> SplitRule:
    """The rule behind `Decomposition.settings`."""
    ends = np.atleast_1d(settings["s_min"]).astype(float)
    return SplitRule(
        *(int(settings["fit_points"]), float(settings["quantile"]), float(settings["sd_fraction"])),
        *(float(settings["extension"]), float(settings["overlap"])),
        *(int(settings["derivative_points"]), int(settings["average_points"])),
        thresholds=ends if len(ends) == 1 else ends[0] + (ends[1] - ends[0]) * MIDDLES,
        # 12 digits: 1 - .45 is meant to be .55 whatever its last bit.
        least=round(1 - float(settings["kappa_max"]), 12),
        remove_negative=bool(settings["remove_negative"]),
        many=settings["d"] > 1,
    )


@numba.njit(cache=True)
def slope_of_H_1(x, H, points):
    """Inverted slope of H_1 over windows of `points` steps around every scale, at least 1."""
    slope = np.empty_like(x)
    for i in range(len(x)):
        low, high = max(i - points // 2, 0), min(i + (points + 1) // 2, len(x) - 1)
        rise = (H[high] - H[low]) / (x[low] - x[high])
        slope[i] = rise if rise > 1.0 else 1.0
    return slope


@numba.njit(cache=True)
def smooth_curves(x, raw, rule):
    """Straight pieces of every delta_h, then its value and slope at every scale, and where they are from."""
    fits = segments_of_rows(
        x, raw, rule.points, rule.quantile, rule.sd_fraction, rule.extension, rule.overlap
    )
    a, b, o, s, n = fits
    value, slope, status = terms.smooth(x, raw, a, b, o, s, n, rule.derivative)
    return fits, value, slope, status


@numba.njit(cache=True)
def parts_at(x, raw, value, slope, fits, s_min, whole, rule):
    """The parts for one threshold s_min: determinism, E_state, E_eps, E_mem, then the terms they rest on."""
    m_l_own, m_u_own, det = terms.own_ranges(slope, s_min)
    det = det / whole
    m_l, m_u = terms.inherited_ranges(m_l_own, m_u_own, det >= rule.least, rule.average)
    a, b, o, s, n = fits
    plateau = terms.plateaus(x, raw, a, b, o, s, n, s_min)
    K, width = raw.shape
    E_state, E_eps, E_mem = np.zeros(width), np.zeros(width), np.zeros(width)
    for i in range(width):
        for k in range(1, K + 1):
            term = k * value[k - 1, i]
            if k < m_l[i]:
                E_state[i] += term
            elif k > m_u[i]:
                E_mem[i] += term
            else:
                constant = k * plateau[k - 1, i]
                E_state[i] += constant
                E_eps[i] += term - constant
    return det, E_state, E_eps, E_mem, m_l, m_u, m_l_own, m_u_own, plateau


@numba.njit(cache=True)
def tidy(value, remove_negative):
    """Missing values are 0, and negative ones too if asked for; changes `value`."""
    for k in range(value.shape[0]):
        for i in range(value.shape[1]):
            v = value[k, i]
            if np.isnan(v) or (remove_negative and v < 0.0):
                value[k, i] = 0.0


@numba.njit(cache=True)
def split_many(x, H, rule):
    """The parts of many sets of curves.

    Parameters
    ----------
    x : (n_eps,) array, ln eps, descending
    H : (n, M, n_eps) array, block entropies; NaN where missing
    rule : SplitRule

    Returns
    -------
    (n, 4, n_eps) array: sum of slopes, E_state, E_mem, E_raw
    """
    n, M, width = H.shape
    found = np.zeros((n, 4, width))
    for r in range(n):
        raw = np.empty((M - 1, width))
        for k in range(M - 1):
            for i in range(width):
                before = H[r, k - 1, i] if k > 0 else 0.0
                raw[k, i] = (H[r, k, i] - before) - (H[r, k + 1, i] - H[r, k, i])
                found[r, 3, i] += (k + 1) * raw[k, i]
        fits, value, slope, _ = smooth_curves(x, raw, rule)
        tidy(value, rule.remove_negative)
        whole = slope_of_H_1(x, H[r, 0], rule.points) if rule.many else np.ones_like(x)
        for s_min in rule.thresholds:
            parts = parts_at(x, raw, value, slope, fits, s_min, whole, rule)
            for i in range(width):
                found[r, 0, i] += parts[0][i]
                found[r, 1, i] += parts[1][i]
                found[r, 2, i] += parts[3][i]
        for part in range(3):
            for i in range(width):
                found[r, part, i] /= len(rule.thresholds)
    return found
