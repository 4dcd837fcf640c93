"""Straight segments of a curve y(ln eps): where a delta_h or an excess entropy follows o - s ln eps.

The paper's preprocessing (Methods, "Algorithm for excess entropy decomposition", and its appendix on the
fits).
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from quantify.aliases import Floats
from quantify.errors import QuantifyError


@dataclass(frozen=True)
class Segment:
    """One straight piece y = o - s ln eps of a curve; s > 0 means that the curve rises as eps falls.

    Attributes
    ----------
    i : (int, int)
        First and last index on the eps grid, both included; index 0 is the largest eps.
    o, s : float
        Offset (nats) and inverted slope (nats per e-fold).
    eps : (float, float)
        Smallest and largest scale of the piece, both included.

    Examples
    --------
    >>> from quantify import Segment
    >>> piece = Segment(i=(0, 10), o=0.5, s=1.0, eps=(0.1, 1.0))
    >>> float(piece(1.0))  # ln 1 = 0
    0.5
    """

    i: tuple[int, int]
    o: float
    s: float
    eps: tuple[float, float]

    def __call__(self, eps: Floats | float) -> Floats:
        """Value of the line at `eps`."""
        return np.asarray(self.o - self.s * np.log(eps))


@dataclass(frozen=True)
class SegmentRule:
    """How straight segments are found (the thresholds of the paper's appendix).

    Attributes
    ----------
    points : int
        Length L of the short fits in grid steps; each uses L + 1 points.
    quantile : float
        Share of short fits that sets the tolerated error: q_max = P_quantile(q) + sd_fraction SD(q).
    sd_fraction : float
    extension : float
        A good fit grows towards smaller eps while its error stays below extension * q_max.
    overlap : float
        Of two neighbours that share at least this part of the shorter one, the shorter is dropped.

    Examples
    --------
    >>> from quantify import SegmentRule
    >>> SegmentRule(points=10).quantile
    0.25
    >>> SegmentRule(points=1)
    Traceback (most recent call last):
    quantify.errors.QuantifyError: A short fit over 1 grid steps; it needs at least 2 (three points).
    """

    points: int
    quantile: float = 0.25
    sd_fraction: float = 0.1
    extension: float = 2.0
    overlap: float = 0.3

    def __post_init__(self) -> None:
        if self.points < 2:
            raise QuantifyError(
                f"A short fit over {self.points} grid steps; it needs at least 2 (three points)."
            )
        if not 0 < self.quantile <= 1:
            raise QuantifyError(f"quantile = {self.quantile}; it must lie in (0, 1].")
        if self.sd_fraction < 0:
            raise QuantifyError(f"sd_fraction = {self.sd_fraction}; it must not be negative.")
        if self.extension < 1:
            raise QuantifyError(
                f"extension = {self.extension}; below 1 the good fits would not meet it themselves."
            )
        if not 0 < self.overlap <= 1:
            raise QuantifyError(f"overlap = {self.overlap}; it must lie in (0, 1].")


def line_segments(eps: Floats, y: Floats, rule: SegmentRule) -> tuple[Segment, ...]:
    """Find the straight segments of one curve over ln eps.

    1. Fit a line to every L + 1 neighbouring points; q is the sum of squared residuals.
    2. q_max = P_p(q) + 0.1 SD(q), where P_p is the ceil(p n)-th smallest and SD has n - 1.
    3. Fits with q < q_max grow point by point towards smaller eps, while the refitted error is < 2 q_max.
    4. Of overlapping neighbours the shorter goes.

    Missing values (NaN) are left out as if they were not on the grid. A curve with fewer than L + 2 points
    has no segments.

    Parameters
    ----------
    eps : (n,) array, descending
    y : (n,) array, NaN where missing
    rule : SegmentRule

    Returns
    -------
    tuple of Segment, by descending eps of their starts

    Notes
    -----
    The paper's text grows fits up to q_max and speaks of 10 points; its numbers come from 2 q_max, stopping
    at the first failure, and from 11 points, which is what is done here.

    Examples
    --------
    A curve that is flat at large scales and rises as -2 ln eps below eps = .1:

    >>> import numpy as np
    >>> from quantify import SegmentRule, line_segments
    >>> eps = np.geomspace(1, 0.01, 41)
    >>> y = np.maximum(0.0, -2 * np.log(eps / 0.1))
    >>> [f"{abs(piece.s):.1f}" for piece in line_segments(eps, y, SegmentRule(points=8))]
    ['0.0', '2.0']
    """
    a, b, o, s, n = find_segments(np.log(eps), np.asarray(y, dtype=float)[None, :], rule)
    return as_segments(eps, a[0, : n[0]], b[0, : n[0]], o[0, : n[0]], s[0, : n[0]])


def find_segments(x: Floats, Y: Floats, rule: SegmentRule) -> tuple[np.ndarray, ...]:
    """Segments of every row of Y over x = ln eps, as columns.

    Returns
    -------
    a, b, o, s : (rows, n_eps) arrays
        First and last index, offset and inverted slope of segment f in column f.
    n : (rows,) array
        Number of segments; columns beyond are void.
    """
    columns: tuple[np.ndarray, ...] = segments_of_rows(
        x, Y, rule.points, rule.quantile, rule.sd_fraction, rule.extension, rule.overlap
    )
    return columns


def as_segments(eps: Floats, a: Floats, b: Floats, o: Floats, s: Floats) -> tuple[Segment, ...]:
    """Pack the columns that the kernel returns into `Segment` objects."""
    return tuple(
        Segment((int(first), int(last)), float(offset), float(slope), (float(eps[last]), float(eps[first])))
        for first, last, offset, slope in zip(a, b, o, s, strict=True)
    )


@numba.njit(cache=True)
def segments_of_rows(x, Y, L, p, sd_fraction, extension, overlap):  # type: ignore[no-untyped-def]
    """Segments of every row of Y: first and last index, o, s (each (rows, n) wide) and how many there are."""
    rows, width = Y.shape
    A = np.zeros((rows, width), np.int64)
    B = np.zeros((rows, width), np.int64)
    O = np.zeros((rows, width))
    S = np.zeros((rows, width))
    count = np.zeros(rows, np.int64)
    for r in range(rows):
        index = np.flatnonzero(np.isfinite(Y[r]))
        t = x[index]
        y = Y[r][index]
        n_q = len(index) - L
        if n_q < 2:
            continue
        q = np.empty(n_q)
        for a in range(n_q):
            q[a] = _longest(t, y, a, a + L, a + L, np.inf)[1]
        # 1e-9: p n_q is meant exactly, but .1 * 30 is a little more than 3 in floating point.
        rank = max(1, int(np.ceil(p * n_q - 1e-9)))
        q_max = np.sort(q)[rank - 1] + sd_fraction * np.sqrt(((q - q.mean()) ** 2).sum() / (n_q - 1))

        first = np.empty(n_q, np.int64)
        last = np.empty(n_q, np.int64)
        n = 0
        for a in range(n_q):
            if q[a] < q_max:
                first[n] = a
                last[n] = _longest(t, y, a, a + L, len(t) - 1, extension * q_max)[0]
                n += 1
        n = _drop_overlaps(first, last, n, overlap)
        for k in range(n):
            _, _, O[r, k], S[r, k] = _longest(t, y, first[k], last[k], last[k], np.inf)
            A[r, k] = index[first[k]]
            B[r, k] = index[last[k]]
        count[r] = n
    return A, B, O, S, count


@numba.njit(cache=True)
def _longest(x, y, a, b_min, b_max, limit):  # type: ignore[no-untyped-def]
    """Move the end of a least-squares line from b_min to b_max while the error stays below limit.

    Returns the last end that passed (b_min is not tested), and error, o and s of the fit there. One pass:
    the moments are updated point by point, relative to the first point, so that no digits are lost to the
    level of the curve.
    """
    x0 = x[a]
    y0 = y[a]
    n = 0
    mx = 0.0
    my = 0.0
    xx = 0.0
    xy = 0.0
    yy = 0.0
    b = b_min
    error = 0.0
    o = 0.0
    s = 0.0
    for i in range(a, b_max + 1):
        n += 1
        dx = x[i] - x0 - mx
        dy = y[i] - y0 - my
        mx += dx / n
        my += dy / n
        xx += dx * (x[i] - x0 - mx)
        xy += dx * (y[i] - y0 - my)
        yy += dy * (y[i] - y0 - my)
        if i < b_min:
            continue
        slope = xy / xx
        e = max(0.0, yy - slope * xy)
        if i > b_min and not e < limit:
            break
        b = i
        error = e
        s = -slope
        o = y0 + my + s * (x0 + mx)
    return b, error, o, s


@numba.njit(cache=True)
def _drop_overlaps(first, last, n, limit):  # type: ignore[no-untyped-def]
    """One pass over neighbours: of two that overlap too much delete the shorter (the later if tied)."""
    k = 0
    while k + 1 < n:
        length = last[k] - first[k]
        length_next = last[k + 1] - first[k + 1]
        shared = max(0, min(last[k], last[k + 1]) - max(first[k], first[k + 1]))
        if shared / min(length, length_next) < limit:
            k += 1
            continue
        gone = k + 1 if length >= length_next else k
        n -= 1
        for i in range(gone, n):
            first[i], last[i] = first[i + 1], last[i + 1]
    return n
