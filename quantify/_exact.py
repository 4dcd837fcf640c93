"""Count all pairs of delay vectors, 64 pairs at a time.

A pair of delay vectors (i, i + lag) is close for dimension m if the m distances |x_t - x_{t+lag}|,
t = i, i + tau, ..., are all at most eps. Along a diagonal (fixed lag) neighbouring pairs share these
distances, so each distance is put into its bin once, and a pair's bin is the minimum over its m distances.

Large scales, where many pairs are close: one bit per distance and scale; the AND of shifted words and a
population count settle 64 pairs at once. Small scales, where few are: walk along the set bits and count.

The bits are laid out so that a shift by tau moves whole words: a chunk of a diagonal is cut into 64
segments of equal length, and word o holds the o-th distance of every segment.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quantify._bits import LANES, lanes_above, lowest_bit, popcount

CHUNK_WORDS = 256  # so that the bins of a chunk, 64 bytes a word, stay close to the processor


@njit(cache=True, nogil=True)
def _distances(x, start, lag, low, high, out):  # type: ignore[no-untyped-def]
    """out[q] = max norm of x_{start+q+lag} - x_{start+q}, clipped to [low, high]."""
    size = len(out)
    a = x[0, start : start + size]
    b = x[0, start + lag : start + lag + size]
    for q in range(size):
        out[q] = min(max(abs(b[q] - a[q]), low), high)
    for c in range(1, len(x)):
        a = x[c, start : start + size]
        b = x[c, start + lag : start + lag + size]
        for q in range(size):
            out[q] = min(max(abs(b[q] - a[q]), out[q]), high)


@njit(cache=True, nogil=True)
def _bin_lane(bits, shift, base, top, step, lane):  # type: ignore[no-untyped-def]
    """Put distances, given as their bits, into bins (see `Bins`); lane is a column of the chunk."""
    for o in range(len(bits)):
        cell = np.uint64((bits[o] >> shift) - base)
        lane[o] = top[cell] - np.uint8(bits[o] > step[cell])


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
def count_lags(x, tau, m_max, lags, n_large, bins, n_bins, block_length, counts):  # type: ignore[no-untyped-def]
    """Add the close pairs of the given lags to `counts`.

    Parameters
    ----------
    x : (d, N) float64
    lags : (n_lags,) int64
    n_large : number of scales, from the largest, that are counted by words
    bins : Bins
    n_bins : number of scales
    block_length : samples per block of the time axis
    counts : (B, B, m_max, n_bins) int64, modified
        Close pairs by block of the earlier and of the later point.
    """
    shift, base, low, high, top, step = bins
    halo = (m_max - 1) * tau
    n = x.shape[1] - halo
    distance = np.empty(CHUNK_WORDS + halo)
    bits = distance.view(np.int64)
    chunk = np.zeros((CHUNK_WORDS + halo, LANES), np.uint8)
    words = np.empty(CHUNK_WORDS + halo, np.uint64)
    joint = np.empty(CHUNK_WORDS, np.uint64)
    valid = np.empty(CHUNK_WORDS, np.uint64)
    histogram = np.zeros((m_max, n_bins + 1), np.int64)
    for lag in lags:
        start = 0
        while start < n - lag:
            block_i = start // block_length
            block_j = (start + lag) // block_length
            stop = min(n - lag, (block_i + 1) * block_length, (block_j + 1) * block_length - lag)
            size = min(stop - start, LANES * CHUNK_WORDS)
            length = (size + LANES - 1) // LANES
            rows = chunk[: length + halo]

            for s in range(LANES):
                # The last segment goes on into the halo; the others find theirs in the next segment.
                first = s * length
                want = length if s < LANES - 1 else length + halo
                have = max(0, min(want, size + halo - first))
                _distances(x, start + first, lag, low, high, distance[:have])
                _bin_lane(bits[:have], shift, base, top, step, rows[:have, s])
                rows[have:want, s] = 0
            for o in range(length, length + halo):
                rows[o, : LANES - 1] = rows[o - length, 1:]
            for o in range(length):
                lanes = np.uint64((size - o + length - 1) // length)
                valid[o] = ~np.uint64(0) >> (np.uint64(LANES) - lanes)

            target = counts[block_i, block_j]
            inside = valid[:length]
            _count_by_words(rows, inside, tau, n_large, words[: length + halo], joint[:length], target)
            if n_large < n_bins:
                _count_by_walking(rows, inside, tau, n_large, histogram)
            start += size

            if start >= stop and n_large < n_bins:
                for m in range(m_max):
                    above = 0
                    for k in range(n_bins - 1, n_large - 1, -1):
                        above += histogram[m, k + 1]
                        histogram[m, k + 1] = 0
                        target[m, k] += above
