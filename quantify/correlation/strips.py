"""Count close pairs of delay vectors inside random classes of points.

At small scales few pairs are close, and they have to be searched for. Pairs of points of the same class are a
random share of all pairs, and every point takes part, so that the share's counts differ from the full ones by
little more than the Poisson error of the counted pairs. One class means all pairs.

Neighbours are searched in three coordinates of the delay vector: points lie in strips of width eps of the
first coordinate and are sorted by the last one inside a strip; the middle one is compared before anything
else is fetched. The sort costs next to nothing: all coordinates are values of one series, sorted once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quantify.aliases import Counts, Floats
from quantify.correlation.bins import make_bins
from quantify.correlation.bit_kernels import prefetch
from quantify.correlation.hashing import random_bits
from quantify.correlation.pair_histogram import AHEAD, BUFFER, candidate_buffers, count_pairs, within
from quantify.correlation.pairs import PairProblem, Threads


def count_in_classes(
    problem: PairProblem,
    group: tuple[int, int],
    eps: Floats,
    n_classes: int,
    rng: np.random.Generator,
    threads: Threads,
) -> tuple[Counts, float]:
    """Close pairs (B, B, group, n_eps) inside random classes, and the share of all pairs that these hold.

    Parameters
    ----------
    group : (int, int)
        Smallest and largest embedding dimension, both included.
    eps : array
        Some of the problem's scales.
    n_classes : int
    """
    m_lo, m_hi = group
    (z, order), n = problem.layout, problem.n
    salt = np.uint64(rng.integers(2**63))
    # One coordinate needs no strips: its points are sorted by it already.
    width = eps[0] if m_lo > 1 else np.inf
    strips = sort_into_strips(z, problem.tau, order, m_lo, n, salt, n_classes, width)
    bounds, n_strips = strips[1:]
    class_size = np.diff(bounds[::n_strips]).astype(float)
    share = float((class_size * (class_size - 1)).sum() / (n * (n - 1.0)))
    edges = np.searchsorted(bounds, np.arange(1, threads.tasks) * n // threads.tasks)
    edges = np.concatenate(([0], edges, [len(bounds) - 1]))
    bins = make_bins(eps)

    def run(first: int, last: int) -> Counts:
        histogram = problem.no_counts(m_hi - m_lo + 1, len(eps) + 1)
        count_strips(
            z, m_lo, problem.theiler, strips, first, last, eps[0], bins, problem.block_length, histogram
        )
        return histogram

    histogram = problem.no_counts(m_hi - m_lo + 1, len(eps) + 1)
    for part in threads.map(run, edges[:-1], edges[1:]):
        histogram += part
    return within(histogram), share


@njit(cache=True, nogil=True)
def _class_of(i, salt, n_classes):  # type: ignore[no-untyped-def]
    """Random class of point i."""
    return np.int64(((random_bits(i, salt) >> np.uint64(32)) * np.uint64(n_classes)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def sort_into_strips(z, tau, order, m, n, salt, n_classes, width):  # type: ignore[no-untyped-def]
    """Sort the points by class, then by strip of the first coordinate, then by coordinate m.

    Parameters
    ----------
    z, order : the series by phase (`pairs.Layout`)
    m : embedding dimension whose last coordinate sorts the points
    n : number of points: samples 0..n-1 begin a delay vector
    width : width of a strip

    Returns
    -------
    points : (n, 4) float64
        Their first, middle and m-th coordinate; the last column holds, as an integer, time * 2^32 + place.
        One record per point, because the records arrive in random order and memory is slow.
    bounds : (n_classes * n_strips + 1,) where each strip of each class begins
    n_strips : int
    """
    row = np.uint32(len(z) // tau)
    middle = (2 * m - 1) // 3  # two thirds of the way: less alike to both ends than half-way in flows
    lowest = z[order[0], 0]
    scale = 1 / width
    n_strips = np.int64((z[order[-1], 0] - lowest) * scale) + 1
    bounds = np.zeros(n_classes * n_strips + 2, np.int64)
    for phase in range(tau):
        for k in range((n - phase + tau - 1) // tau):
            i = phase * np.int64(row) + k
            b = np.int64((z[i, 0] - lowest) * scale) + _class_of(i, salt, n_classes) * n_strips
            bounds[b + 2] += 1
    for b in range(2, len(bounds)):
        bounds[b] += bounds[b - 1]
    flat = z.reshape(-1)
    points = np.empty((n, 4))
    identity = points.view(np.int64)
    for rank in range(len(order)):
        if rank + AHEAD < len(order):
            prefetch(flat, np.uint64(max(order[rank + AHEAD] - np.int32(m - 1), 0)) * np.uint64(z.shape[1]))
        p = order[rank]
        i = p - np.int32(m - 1)
        if i < 0:
            continue
        place = np.uint32(i)
        time = np.int64(place % row) * tau + np.int64(place // row)
        if time < n:
            # bounds[b + 1] moves from the beginning of b to its end while b fills up.
            b = np.int64((z[i, 0] - lowest) * scale) + _class_of(i, salt, n_classes) * n_strips
            q = bounds[b + 1]
            bounds[b + 1] = q + 1
            points[q, 0] = z[i, 0]
            points[q, 1] = z[i + middle, 0]
            points[q, 2] = z[p, 0]
            identity[q, 3] = (time << 32) | i
    return points, bounds[:-1], n_strips


@njit(cache=True, nogil=True)
def count_strips(  # type: ignore[no-untyped-def]
    z, m_lo, theiler, strips, bucket_lo, bucket_hi, reach, bins, block_length, histogram
):
    """Add to `histogram` the close pairs whose first point lies in the given strips.

    Parameters
    ----------
    z : the series by phase (`pairs.Layout`)
    m_lo : smallest embedding dimension that is counted
    strips : from `sort_into_strips` with m = m_lo and width reach
    bucket_lo, bucket_hi : half-open range of strips
    reach : largest scale counted
    bins, block_length, histogram : as in `count_pairs`, with bins of the scales counted, reach first
    """
    points, bounds, n_strips = strips
    identity = points.view(np.int64)
    one, two, distances = candidate_buffers(histogram)
    filled = np.uint64(0)
    for bucket in range(bucket_lo, bucket_hi):
        begin, end = bounds[bucket], bounds[bucket + 1]
        has_next = bucket % n_strips < n_strips - 1
        window = end
        window_end = bounds[bucket + 2] if has_next else end
        for a in range(begin, end):
            first, middle, last = points[a, 0], points[a, 1], points[a, 2]
            time = identity[a, 3] >> 32
            while window < window_end and points[window, 2] < last - reach:
                window += 1
            # Partners: later points of the same strip, then the moving window in the next strip.
            for side in range(2):
                b = np.uint64(a + 1 if side == 0 else window)
                b_end = np.uint64(end if side == 0 else window_end)
                while b < b_end and points[b, 2] - last <= reach:
                    one[filled] = identity[a, 3]
                    two[filled] = identity[b, 3]
                    near = max(abs(points[b, 0] - first), abs(points[b, 1] - middle)) <= reach
                    filled += np.uint64(near & (abs(time - (identity[b, 3] >> 32)) > theiler))
                    b += np.uint64(1)
                    if filled == BUFFER:
                        count_pairs(z, m_lo, one, two, bins, block_length, distances, histogram)
                        filled = np.uint64(0)
    n = np.int64(filled)
    count_pairs(z, m_lo, one[:n], two[:n], bins, block_length, distances, histogram)
