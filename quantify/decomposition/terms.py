"""Between fits and sums: smooth delta_h, find the eps-dependent terms and their constants.

All functions take delta_h as an array with rows m = 1..K and columns by descending eps, and the fits as the
columns that `quantify.segments` returns: fit f of row k covers the indices a[k, f]..b[k, f] with the line o
- s x, f < n[k].
"""

# The kernels are untyped for numba's sake; their callers state the types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba
import numpy as np

RAW, FITTED, EXTRAPOLATED = 0, 1, 2


@numba.njit(cache=True)
def smooth(x, raw, a, b, o, s, n, derivative):
    """Value and inverted slope of every delta_h_m at every scale, from the fits where there are any.

    Covered by fits: mean of their lines and slopes. Not covered: the raw value, and minus the mean of the
    two-point slopes in a window of `derivative` points. Below the last scale that exactly one fit covers,
    that fit is extrapolated. A missing value without fit stays NaN, with slope 0.

    Returns
    -------
    value, slope : (K, n_eps) arrays
    status : (K, n_eps) int8 array of RAW, FITTED, EXTRAPOLATED
    """
    K, width = raw.shape
    value = raw.copy()
    slope = np.zeros((K, width))
    status = np.zeros((K, width), np.int8)
    half = derivative // 2
    for k in range(K):
        index = np.flatnonzero(np.isfinite(raw[k]))
        t = x[index]
        y = raw[k][index]
        for p in range(len(index)):
            lo = max(0, p - half)
            hi = min(len(index) - 1, p + half)
            if hi > lo:
                total = 0.0
                for i in range(lo, hi):
                    total += (y[i + 1] - y[i]) / (t[i + 1] - t[i])
                slope[k, index[p]] = -total / (hi - lo)

        last = width - 1
        for i in range(width - 1, -1, -1):
            if ((a[k, : n[k]] <= i) & (b[k, : n[k]] >= i)).sum() == 1:
                last = i
                break
        for i in range(width):
            source = min(i, last)
            covering = 0
            sum_o = 0.0
            sum_s = 0.0
            for f in range(n[k]):
                if a[k, f] <= source <= b[k, f]:
                    covering += 1
                    sum_o += o[k, f]
                    sum_s += s[k, f]
            if covering:
                slope[k, i] = sum_s / covering
                value[k, i] = sum_o / covering - slope[k, i] * x[i]
                status[k, i] = FITTED if i <= last else EXTRAPOLATED
    return value, slope, status


@numba.njit(cache=True)
def own_ranges(slope, s_min):
    """The eps-dependent terms of every scale: the stretch of slopes >= s_min around the largest slope.

    The largest slope (the first, if tied) always belongs to it, even if it is below s_min.

    Returns
    -------
    m_l, m_u : (n_eps,) int64 arrays, counted from 1
    total : (n_eps,) array
        Sum of the slopes of the terms m_l..m_u.
    """
    K, width = slope.shape
    m_l = np.empty(width, np.int64)
    m_u = np.empty(width, np.int64)
    total = np.empty(width)
    for i in range(width):
        lower = upper = np.argmax(slope[:, i])
        while lower > 0 and not slope[lower - 1, i] < s_min:
            lower -= 1
        while upper < K - 1 and not slope[upper + 1, i] < s_min:
            upper += 1
        m_l[i] = lower + 1
        m_u[i] = upper + 1
        total[i] = slope[lower : upper + 1, i].sum()
    return m_l, m_u, total


@numba.njit(cache=True)
def inherited_ranges(m_l_own, m_u_own, deterministic, average):
    """The ranges to use: a deterministic scale its own, a stochastic one that of larger scales.

    A stochastic scale takes the range at the next larger deterministic one, averaged over that scale and
    the `average` - 1 larger ones, deterministic or not; scales beyond the grid count as 0; halves are
    rounded to even. Without a larger deterministic scale the range is (0, 0): everything is memory.
    """
    m_l = np.zeros_like(m_l_own)
    m_u = np.zeros_like(m_u_own)
    lower = upper = 0
    for i in range(len(m_l_own)):
        if deterministic[i]:
            m_l[i] = m_l_own[i]
            m_u[i] = m_u_own[i]
            start = max(0, i - average + 1)
            lower = round_half_even(m_l_own[start : i + 1].sum(), average)
            upper = round_half_even(m_u_own[start : i + 1].sum(), average)
        else:
            m_l[i] = lower
            m_u[i] = upper
    return m_l, m_u


@numba.njit(cache=True)
def round_half_even(total, n):
    """total / n rounded to the nearest whole number, halves to even, in exact integers."""
    quotient = total // n
    twice = 2 * (total - quotient * n)
    if twice > n or (twice == n and quotient % 2 == 1):
        quotient += 1
    return quotient


@numba.njit(cache=True)
def plateaus(x, raw, a, b, o, s, n, s_min):
    """The constant c_m(eps) that an eps-dependent term keeps from plateaus on larger scales.

    Paper, "Determining the constant in MT".

    From large to small eps: on a flat fit (s < s_min) follow its line; elsewhere never rise above the raw
    value. Never negative. Where several fits contain a scale, the one that starts at the largest eps
    counts.
    """
    K, width = raw.shape
    c = np.zeros((K, width))
    for k in range(K):
        v = 0.0
        for i in range(width):
            flat = False
            for f in range(n[k]):
                if a[k, f] <= i <= b[k, f]:
                    flat = s[k, f] < s_min
                    if flat:
                        v = max(0.0, o[k, f] - s[k, f] * x[i])
                    break
            if not flat:
                v = max(0.0, min(v, raw[k, i])) if np.isfinite(raw[k, i]) else 0.0
            c[k, i] = v
    return c
