"""Put candidate pairs of delay vectors into the histogram of the scales they are within, by time block."""

from __future__ import annotations

import numpy as np
from numba import njit

from quantify.aliases import Counts

BUFFER = 2048  # candidate pairs collected before they are counted


@njit(cache=True, nogil=True)
def candidate_buffers(histogram):  # type: ignore[no-untyped-def]
    """Room for `BUFFER` candidate pairs: the names of both points, and their distances in each dimension."""
    return np.empty(BUFFER, np.int64), np.empty(BUFFER, np.int64), np.empty(BUFFER * histogram.shape[2])


@njit(cache=True, nogil=True)
def count_pairs(z, m_lo, one, two, bins, block_length, distance, histogram):  # type: ignore[no-untyped-def]
    """Add candidate pairs to the histogram; those that are too far go to entry 0. No branch depends on data.

    Parameters
    ----------
    z : the series by phase (`pairs.Layout`)
    m_lo : smallest embedding dimension that is counted; the histogram tells how many follow
    one, two : time * 2^32 + place of the points
    bins : `Bins` of the scales
    block_length : samples per block of the time axis
    distance : room for the distances, from `candidate_buffers`
    histogram : (B, B, dimensions, n_scales + 1) int64, modified
        By blocks of the earlier and the later point; entry r counts pairs within the first r scales only.
    """
    shift, base, low, high, top, step = bins[:6]
    n_m, n_r = np.uint64(histogram.shape[2]), np.uint64(histogram.shape[3])
    cells = histogram.reshape(-1)
    d = z.shape[1]
    flat = z.reshape(-1)
    place_bits = np.int64(0xFFFFFFFF)
    before, own = np.uint64((m_lo - 1) * d), np.uint64(d)
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
    per_block = n_m * n_r
    length, n_blocks = np.uint64(block_length), np.uint64(histogram.shape[1])
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
            r += n_r
            place += np.uint64(1)


def within(histogram: Counts) -> Counts:
    """From "within exactly r scales" to "within scale k": sum over r > k."""
    return np.cumsum(histogram[..., :0:-1], axis=-1)[..., ::-1]
