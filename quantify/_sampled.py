"""Count close pairs of delay vectors among random pairs, and inside random classes of points.

At large scales many pairs are close, and some drawn at random are enough. At small scales close pairs have
to be searched. Pairs of points of the same class are a random share of all pairs, and every point takes part,
so that the share's counts differ from the full ones by little more than the Poisson error of the counted
pairs. One class means all pairs.

Neighbours are searched in three coordinates of the delay vector: points lie in strips of width eps of the
first coordinate and are sorted by the last one inside a strip; the middle one is compared before anything
else is fetched. The sort costs next to nothing: all coordinates are values of one series, sorted once.

The series is laid out by phase: samples that are tau apart lie side by side, so that a delay vector is a
contiguous piece of memory. Points are named by their place in this layout; `time` gives their sample.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from quantify.sums import Floats

BUFFER = 2048  # candidate pairs collected before they are counted


@njit(cache=True, nogil=True)
def _mixed(i, salt):  # type: ignore[no-untyped-def]
    """64 random bits for number i, by the mixing hash splitmix64, so that chance needs no memory."""
    z = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + salt
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def _class_of(i, salt, n_classes):  # type: ignore[no-untyped-def]
    """Random class of point i."""
    return np.int64(((_mixed(i, salt) >> np.uint64(32)) * np.uint64(n_classes)) >> np.uint64(32))


def by_phase(x: Floats, tau: int) -> tuple[Floats, NDArray[np.int32]]:
    """Lay out a (d, N) series so that samples that are tau apart are neighbours.

    Returns
    -------
    z : (tau * W, d) float64, padded with NaN
        Place p holds sample (p mod W) tau + p div W.
    order : (N,) int32, the places that sort the first observable
    """
    d, n_samples = x.shape
    width = -(-n_samples // tau)
    z = np.full((tau * width, d), np.nan)
    t = np.arange(n_samples)
    z[t % tau * width + t // tau] = x.T
    return z, np.argsort(z[:, 0])[:n_samples].astype(np.int32)


@njit(cache=True, nogil=True)
def sort_into_strips(z, tau, order, m, n, salt, n_classes, width):  # type: ignore[no-untyped-def]
    """Sort the points by class, then by strip of the first coordinate, then by coordinate m.

    Parameters
    ----------
    z, order : from `by_phase`
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
    points = np.empty((n, 4))
    identity = points.view(np.int64)
    for p in order:
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
def _count_pairs(z, m_lo, m_hi, one, two, bins, blocks, distance, cells, n_r):  # type: ignore[no-untyped-def]
    """Add candidate pairs to the histogram; those that are too far go to entry 0. No branch depends on data.

    one, two : time * 2^32 + place of the points
    blocks : length and number of the blocks of the time axis
    cells : the histogram, flat; n_r : its entries per dimension
    """
    shift, base, low, high, top, step = bins[:6]
    d = z.shape[1]
    flat = z.reshape(-1)
    place_bits = np.int64(0xFFFFFFFF)
    before, own = np.uint64((m_lo - 1) * d), np.uint64(d)
    n_m = np.uint64(m_hi - m_lo + 1)
    place = np.uint64(0)
    for q in range(len(one)):
        u = np.uint64(one[q] & place_bits) * own
        v = np.uint64(two[q] & place_bits) * own
        gap = low
        for k in range(before):
            gap = max(gap, abs(flat[u + k] - flat[v + k]))
        u += before
        v += before
        if own == 1:
            for k in range(n_m):
                gap = max(gap, abs(flat[u + k] - flat[v + k]))
                distance[place + k] = min(gap, high)
        else:
            for k in range(n_m):
                for _ in range(own):
                    gap = max(gap, abs(flat[u] - flat[v]))
                    u += np.uint64(1)
                    v += np.uint64(1)
                distance[place + k] = min(gap, high)
        place += n_m
    bits = distance.view(np.int64)
    place = np.uint64(0)
    per_block = n_m * np.uint64(n_r)
    length, n_blocks = np.uint64(blocks[0]), np.uint64(blocks[1])
    # Division by `length` as a multiplication, exact for 31 bits (Granlund and Montgomery 1994).
    more = np.uint64(31)
    while np.uint64(1) << (more - np.uint64(31)) < length:
        more += np.uint64(1)
    magic = ((np.uint64(1) << more) + length - np.uint64(1)) // length
    for q in range(len(one)):
        earlier = (np.uint64(min(one[q], two[q]) >> 32) * magic) >> more
        later = (np.uint64(max(one[q], two[q]) >> 32) * magic) >> more
        r = (earlier * n_blocks + later) * per_block
        for _ in range(n_m):
            c = np.uint64((bits[place] >> shift) - base)
            cells[r + np.uint64(top[c]) - np.uint64(bits[place] > step[c])] += 1
            r += np.uint64(n_r)
            place += np.uint64(1)


@njit(cache=True, nogil=True)
def count_strips(  # type: ignore[no-untyped-def]
    z, m_lo, m_hi, theiler, strips, bucket_lo, bucket_hi, reach, bins, block_length, histogram
):
    """Add to `histogram` the close pairs whose first point lies in the given strips.

    Parameters
    ----------
    z : from `by_phase`
    m_lo, m_hi : embedding dimensions counted, both included
    strips : from `sort_into_strips` with m = m_lo and width reach
    bucket_lo, bucket_hi : half-open range of strips
    reach : largest scale counted
    bins : Bins of the scales counted, reach first
    block_length : samples per block of the time axis
    histogram : (B, B, m_hi - m_lo + 1, n_scales + 1) int64, modified
        By blocks of the earlier and the later point; entry r counts pairs within the first r scales only.
    """
    points, bounds, n_strips = strips
    identity = points.view(np.int64)
    n_blocks, _, n_m, n_r = histogram.shape
    blocks = (block_length, n_blocks)
    cells = histogram.reshape(-1)
    one = np.empty(BUFFER, np.int64)
    two = np.empty(BUFFER, np.int64)
    distance = np.empty(BUFFER * n_m)
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
                        _count_pairs(z, m_lo, m_hi, one, two, bins, blocks, distance, cells, n_r)
                        filled = np.uint64(0)
    n = np.int64(filled)
    _count_pairs(z, m_lo, m_hi, one[:n], two[:n], bins, blocks, distance, cells, n_r)


@njit(cache=True, nogil=True)
def count_random(  # type: ignore[no-untyped-def]
    z, tau, m_max, theiler, tiles, draws, salts, bins, block_length, histogram
):
    """Add to `histogram` pairs drawn at random, with replacement, whatever their distance.

    A pair (a, b), a < b, stands for the samples a and b + theiler, which are more than `theiler` apart: all
    admissible pairs are met in this way, each once.

    Parameters
    ----------
    z : from `by_phase`
    tiles : (n_tiles, 4), half-open range of a and half-open range of b, the same or behind the first
    draws, salts : (n_tiles,), number of pairs to draw in each, and the seed of chance
    bins, block_length, histogram : as for `count_strips`, with m_lo = 1 and m_hi = m_max
    """
    row, period = np.uint32(len(z) // tau), np.uint32(tau)
    n_blocks, _, n_m, n_r = histogram.shape
    blocks = (block_length, n_blocks)
    cells = histogram.reshape(-1)
    one = np.empty(BUFFER, np.int64)
    two = np.empty(BUFFER, np.int64)
    distance = np.empty(BUFFER * n_m)
    for tile in range(len(tiles)):
        a_lo, a_hi, b_lo, b_hi = tiles[tile]
        same = a_lo == b_lo
        n_a, n_b = np.uint64(a_hi - a_lo), np.uint64(b_hi - b_lo - same)
        for begin in range(0, draws[tile], BUFFER):
            n = min(BUFFER, draws[tile] - begin)
            for q in range(n):
                bits = _mixed(begin + q, salts[tile])
                a = a_lo + np.int64(((bits >> np.uint64(32)) * n_a) >> np.uint64(32))
                b = b_lo + np.int64(((bits & np.uint64(0xFFFFFFFF)) * n_b) >> np.uint64(32))
                b += same and b >= a  # two different points of one tile
                i, j = np.uint32(min(a, b)), np.uint32(max(a, b) + theiler)
                one[q] = (np.int64(i) << 32) | np.int64(i % period * row + i // period)
                two[q] = (np.int64(j) << 32) | np.int64(j % period * row + j // period)
            _count_pairs(z, 1, m_max, one[:n], two[:n], bins, blocks, distance, cells, n_r)
