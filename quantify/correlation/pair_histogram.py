"""Put candidate pairs of delay vectors into the histogram of the scales they are within, by time block."""

from __future__ import annotations

import numpy as np
from numba import njit

from quantify.aliases import Counts
from quantify.correlation.bit_kernels import prefetch

BUFFER = 2048  # candidate pairs collected before they are counted
AHEAD = 16  # pairs whose values are on their way from memory


@njit(cache=True, nogil=True)
def candidate_buffers(histogram):  # type: ignore[no-untyped-def]
    """Room for `BUFFER` candidate pairs: the names of both points, and their distances before the first
    dimension that is counted and in each that is.
    """
    one, two = np.empty(BUFFER, np.int64), np.empty(BUFFER, np.int64)
    return one, two, (np.empty(BUFFER), np.empty(BUFFER * histogram.shape[2]))


@njit(cache=True, nogil=True)
def _drop_far(flat, own, before, last, pairs, low, high, gaps):  # type: ignore[no-untyped-def]
    """Move the pairs whose first `before` values are less than `high` apart to the front, with this distance.

    The values up to `last` are asked for some pairs ahead: they lie anywhere in memory. Returns the number of
    pairs left.
    """
    one, two = pairs
    place_bits, line = np.int64(0xFFFFFFFF), np.uint64(8)
    i, ii, iii, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    kept = 0
    for q in range(len(one)):
        if q + AHEAD < len(one):
            u = np.uint64(one[q + AHEAD] & place_bits) * own
            v = np.uint64(two[q + AHEAD] & place_bits) * own
            k = np.uint64(0)
            while k < last:
                prefetch(flat, u + k)
                prefetch(flat, v + k)
                k += line
        u = np.uint64(one[q] & place_bits) * own
        v = np.uint64(two[q] & place_bits) * own
        # Four maxima, so that none waits for the one before.
        a = b = c = d = low
        k = np.uint64(0)
        while k + four <= before:
            a = max(a, abs(flat[u + k] - flat[v + k]))
            b = max(b, abs(flat[u + k + i] - flat[v + k + i]))
            c = max(c, abs(flat[u + k + ii] - flat[v + k + ii]))
            d = max(d, abs(flat[u + k + iii] - flat[v + k + iii]))
            k += four
        while k < before:
            a = max(a, abs(flat[u + k] - flat[v + k]))
            k += i
        a = max(max(a, b), max(c, d))
        one[kept], two[kept], gaps[kept] = one[q], two[q], a
        kept += a < high
    return kept


@njit(cache=True, nogil=True)
def count_pairs(z, m_lo, one, two, bins, block_length, distances, histogram):  # type: ignore[no-untyped-def]
    """Add candidate pairs to the histogram, as far as they are within any scale. Reorders the pairs.

    Parameters
    ----------
    z : the series by phase (`pairs.Layout`)
    m_lo : smallest embedding dimension that is counted; the histogram tells how many follow
    one, two : time * 2^32 + place of the points
    bins : `Bins` of the scales
    block_length : samples per block of the time axis
    distances : room for the distances, from `candidate_buffers`
    histogram : (B, B, dimensions, n_scales + 1) int64, modified
        By blocks of the earlier and the later point; entry r counts pairs within the first r scales only.
        Entry 0, no scale at all, is not complete.
    """
    shift, base, low, high, top, step = bins[:6]
    n_m, n_r = np.uint64(histogram.shape[2]), np.uint64(histogram.shape[3])
    cells = histogram.reshape(-1)
    flat, own = z.reshape(-1), np.uint64(z.shape[1])
    place_bits = np.int64(0xFFFFFFFF)
    before = np.uint64(m_lo - 1) * own
    gaps, distance = distances
    n = _drop_far(flat, own, before, before + n_m * own, (one, two), low, high, gaps)
    # Distances first, then bins: loops of few steps each, of which the processor has several under way.
    place = np.uint64(0)
    for q in range(n):
        u = np.uint64(one[q] & place_bits) * own + before
        v = np.uint64(two[q] & place_bits) * own + before
        gap = gaps[q]
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
    gaps[0] = high
    far = gaps.view(np.int64)[0]
    place = np.uint64(0)
    per_block = n_m * n_r
    length, n_blocks = np.uint64(block_length), np.uint64(histogram.shape[1])
    # Division by `length` as a multiplication, exact for 31 bits (Granlund and Montgomery 1994).
    more = np.uint64(31)
    while np.uint64(1) << (more - np.uint64(31)) < length:
        more += np.uint64(1)
    magic = ((np.uint64(1) << more) + length - np.uint64(1)) // length
    for q in range(n):
        earlier = (np.uint64(min(one[q], two[q]) >> 32) * magic) >> more
        later = (np.uint64(max(one[q], two[q]) >> 32) * magic) >> more
        r = (earlier * n_blocks + later) * per_block
        for k in range(n_m):
            b = bits[place + k]
            if b >= far:  # in all further dimensions, too
                break
            c = np.uint64((b >> shift) - base)
            cells[r + np.uint64(top[c]) - np.uint64(b > step[c])] += 1
            r += n_r
        place += n_m


def within(histogram: Counts) -> Counts:
    """From "within exactly r scales" to "within scale k": sum over r > k."""
    return np.cumsum(histogram[..., :0:-1], axis=-1)[..., ::-1]
