"""Count all pairs of delay vectors, 64 pairs at a time.

A pair of delay vectors (t, t + lag) is close for dimension m if the m distances |x_u - x_{u+lag}|,
u = t, t + tau, ..., are all at most eps. Along a diagonal (fixed lag) neighbouring pairs share these
distances, so each distance is put into its bin once, and a pair's bin is the minimum over its m distances.

64 neighbouring lags are handled together: row t holds the bins of the distances from x_t to x_{t+lag}, one
lag per lane. Large scales, where many pairs are close: one bit per lane; the AND of words tau rows apart
and a population count settle 64 pairs at once. Small scales, where few are: walk along the set bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quantify._bins import UNSETTLED
from quantify._bits import LANES, lanes_above, lowest_bit, popcount
from quantify.sums import Floats

CHUNK = 1024  # rows of 64 bytes that are worked on together, so that they stay close to the processor


def padded(x: Floats) -> Floats:
    """Append samples that are infinitely far away, so that all 64 lanes can be filled everywhere."""
    return np.concatenate([x, np.full((len(x), LANES), np.inf)], axis=1)


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _distances(x, t, lag, low, high, distance):  # type: ignore[no-untyped-def]
    """distance[s] = max norm of x_{t+lag+s} - x_t, clipped to [low, high]."""
    there = x[0, t + lag : t + lag + LANES]
    here = x[0, t]
    for s in range(LANES):
        distance[s] = min(max(abs(there[s] - here), low), high)
    for c in range(1, len(x)):
        there = x[c, t + lag : t + lag + LANES]
        here = x[c, t]
        for s in range(LANES):
            distance[s] = min(max(abs(there[s] - here), distance[s]), high)


@njit(cache=True, nogil=True)
def _fill_rows(x, start, lag, bins, distance, rows, first, last):  # type: ignore[no-untyped-def]
    """rows[o, s] = bin of the distance from x_t to x_{t+lag+s}; t = start + o, first <= o < last."""
    shift, base, low, high, top, step, fine_shift, fine_base, fine = bins
    bits = distance.view(np.int64)
    for o in range(first, last):
        _distances(x, start + o, lag, low, high, distance)
        row = rows[o]
        for s in range(LANES):
            row[s] = fine[np.uint64((bits[s] >> fine_shift) - fine_base)]
    # In a pass of its own, because a row cannot be read as a whole right after it was written in bytes.
    for o in range(first, last):
        unsettled = lanes_above(rows, o, UNSETTLED - 1)
        while unsettled:
            lane = np.int64(lowest_bit(unsettled))
            unsettled = unsettled & (unsettled - np.uint64(1))
            gap = low
            for c in range(len(x)):
                gap = max(gap, abs(x[c, start + o + lag + lane] - x[c, start + o]))
            distance[0] = min(gap, high)
            cell = (bits[0] >> shift) - base
            rows[o, lane] = top[cell] - np.uint8(bits[0] > step[cell])


@njit(cache=True, nogil=True)
def _join(joint, words):  # type: ignore[no-untyped-def]
    """joint &= words; returns the number of bits left."""
    found = np.uint64(0)
    for o in range(len(joint)):
        joint[o] &= words[o]
        found += popcount(joint[o])
    return np.int64(found)


@njit(cache=True, nogil=True)
def _count_by_words(rows, valid, tau, n_large, words, joint, counts):  # type: ignore[no-untyped-def]
    """Large scales: counts[m, k] += pairs of the chunk with bin > k, for k < n_large."""
    for k in range(n_large):
        for o in range(len(words)):
            words[o] = lanes_above(rows, o, k)
        joint[:] = valid
        for m in range(len(counts)):
            found = _join(joint, words[m * tau : m * tau + len(joint)])
            if found == 0:
                break
            counts[m, k] += found


@njit(cache=True, nogil=True)
def _count_by_walking(rows, valid, tau, n_large, histogram):  # type: ignore[no-untyped-def]
    """Small scales: histogram[m, bin] += pairs of the chunk, for bin > n_large."""
    for o in range(len(valid)):
        close = lanes_above(rows, o, n_large) & valid[o]
        while close:
            s = lowest_bit(close)
            close &= close - np.uint64(1)
            r = rows[o, s]
            histogram[0, r] += 1
            p = np.uint64(o)
            for m in range(1, len(histogram)):
                p += np.uint64(tau)
                r = min(r, rows[p, s])
                if r <= n_large:
                    break
                histogram[m, r] += 1


@njit(cache=True, nogil=True)
def _first_lanes(n):  # type: ignore[no-untyped-def]
    """Word with the lowest n bits set, n clipped to 0..64."""
    if n <= 0:
        return np.uint64(0)
    return ~np.uint64(0) >> np.uint64(LANES - min(n, LANES))


@njit(cache=True, nogil=True)
def count_lags(x, tau, m_max, lag, n_lags, n_large, bins, n_bins, block_length, counts):  # type: ignore[no-untyped-def]
    """Add the close pairs of the lags lag .. lag + n_lags - 1 to `counts`.

    Parameters
    ----------
    x : (d, N + 64) float64, from `padded`
    n_lags : at most 64
    n_large : number of scales, from the largest, that are counted by words
    bins : Bins
    n_bins : number of scales
    block_length : samples per block of the time axis
    counts : (B, B, m_max, n_bins) int64, modified
        Close pairs by block of the earlier and of the later point.
    """
    halo = (m_max - 1) * tau
    n = x.shape[1] - LANES - halo
    distance = np.empty(LANES)
    rows = np.empty((CHUNK + halo, LANES), np.uint8)
    words = np.empty(CHUNK + halo, np.uint64)
    joint = np.empty(CHUNK, np.uint64)
    valid = np.empty(CHUNK, np.uint64)
    histogram = np.zeros((m_max, n_bins + 1), np.int64)
    filled = 0  # rows that hold the bins of times start, start + 1, ...
    start = 0
    while start < n - lag:
        # A chunk ends where a block of the earlier point ends, and where the later point of the first or
        # of the last lane enters another block; in between, lanes belong to two blocks.
        block = start // block_length
        later = (start + lag) // block_length
        edge = (later + 1) * block_length - lag
        stop = min(start + CHUNK, n - lag, (block + 1) * block_length, edge)
        if start < edge - (LANES - 1):
            stop = min(stop, edge - (LANES - 1))
        size = stop - start
        _fill_rows(x, start, lag, bins, distance, rows, filled, size + halo)
        filled = max(filled, size + halo)

        for part in range(2):
            n_valid = 0
            for o in range(size):
                inside = _first_lanes(min(n_lags, n - lag - start - o))
                same = _first_lanes(edge - start - o)
                valid[o] = inside & (same if part == 0 else ~same)
                n_valid += valid[o] != 0
            if n_valid == 0:
                continue
            target = counts[block, later + part]
            _count_by_words(rows, valid[:size], tau, n_large, words[: size + halo], joint[:size], target)
            if n_large < n_bins:
                _count_by_walking(rows, valid[:size], tau, n_large, histogram)
                for m in range(m_max):
                    above = 0
                    for k in range(n_bins - 1, n_large - 1, -1):
                        above += histogram[m, k + 1]
                        histogram[m, k + 1] = 0
                        target[m, k] += above

        filled -= size
        for o in range(filled):
            rows[o] = rows[o + size]
        start = stop
