"""Count all pairs of delay vectors, 64 pairs at a time.

A pair of delay vectors (t, t + lag) is close for dimension m if the m distances |x_u - x_{u+lag}|,
u = t, t + tau, ..., are all at most eps. Along a diagonal (fixed lag) neighbouring pairs share these
distances, so each distance is put into its bin once, and a pair's bin is the minimum over its m distances.

64 neighbouring lags are handled together: row t holds the bins of the distances from x_t to x_{t+lag}, one
lag per lane. Large scales, where many pairs are close: one bit per lane; the AND of words tau rows apart
and a population count settle 64 pairs at once. Small scales, where few are: walk along the set bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit

from quantify.aliases import Counts, Floats, Progress
from quantify.correlation.bins import CELL_SHIFT, LEAST, MAX_BINS, UNSETTLED, make_bins, make_cells
from quantify.correlation.bit_kernels import LANES, STRIDE, intersect_and_count, lanes_above, lowest_bit
from quantify.correlation.pairs import Counted, PairProblem

CHUNK = 256  # rows of 64 bytes that are worked on together: they stay in the first-level cache


def count_all(
    problem: PairProblem, rng: np.random.Generator, workers: int, progress: Progress | None
) -> Counted:
    """Count all pairs at every scale. Chance decides in which way, not what is counted."""
    x, eps, m_max = problem.x, problem.eps, problem.m_max
    counts = problem.no_counts()
    tasks: list[tuple[range, slice, int, Any]] = []
    whole = 0, problem.n, problem.n
    for first in range(0, len(eps), MAX_BINS):
        part = slice(first, first + MAX_BINS)
        n_large = scales_by_words(x, eps[part], m_max, rng)
        look_up = make_cells(x, eps[part], LANES), make_bins(eps[part]), len(eps[part])
        tasks += [(lags, part, n_large, look_up) for lags in _lag_ranges(problem.n, problem.theiler)]

    def run(task: tuple[range, slice, int, Any]) -> tuple[slice, Counts]:
        lags, part, n_large, look_up = task
        found = problem.no_counts(n_bins=len(eps[part]))
        for lag in lags:
            n_lags = min(lags.step, problem.n - lag)
            count_lags(
                x, look_up, problem.tau, m_max, (lag, n_lags), whole, n_large, problem.block_length, found
            )
        return part, found

    with ThreadPoolExecutor(workers) as pool:
        for done, (part, found) in enumerate(pool.map(run, tasks), start=1):
            counts[..., part] += found
            if progress:
                progress(done, len(tasks))
    pairs = counts.sum(axis=(0, 1))
    examined = np.full(pairs.shape, problem.all_pairs)
    return Counted(counts.astype(float), pairs, examined, pairs / problem.all_pairs, np.zeros(pairs.shape))


def scales_by_words(x: Floats, eps: Floats, m_max: int, rng: np.random.Generator) -> int:
    """Number of scales, from the largest, that are counted by words: 64 pairs at once, close or not."""
    gaps = np.abs(np.diff(rng.choice(x, (20_000, 2), axis=1), axis=2)).max(axis=0)[:, 0]
    C_1 = np.searchsorted(np.sort(gaps), eps, side="right") / len(gaps)  # rough, to plan the work by
    # Measured costs in ns per pair: a word pass per scale against a walk along each close pair.
    words = np.arange(len(eps) + 1) * (0.010 + 0.0026 * m_max)
    walks = np.append(C_1, 0.0) * (2.5 + 0.3 * m_max)
    return int(np.argmin(words + walks))


def _lag_ranges(n: int, theiler: int, n_ranges: int = 64) -> Iterator[range]:
    """Cut the lags theiler + 1 .. n - 1, 64 at a time, into ranges with about equally many pairs."""
    # Lag l has n - l pairs, so equal areas under a straight line: square roots.
    groups = -(-(n - theiler - 1) // LANES)
    edges = groups - (groups * np.sqrt(np.linspace(1, 0, n_ranges + 1))).astype(int)
    for first, last in itertools.pairwise(edges.tolist()):
        if last > first:
            yield range(theiler + 1 + first * LANES, theiler + 1 + last * LANES, LANES)


@njit(cache=True, nogil=True)
def _fill_rows(x, cells, bins, start, lag, scratch, rows):  # type: ignore[no-untyped-def]
    """rows[o, s] = LEAST + bin of the distance from x_t to x_{t+lag+s}, t = start + o."""
    distance, cell, exact = scratch
    units, least, cell_base, look_up = cells
    bits = distance.view(np.int32)
    for o in range(len(rows)):
        t = start + o
        for c in range(len(units)):
            here, there = units[c, t], units[c, t + lag : t + lag + LANES]
            for s in range(LANES):
                a, b = np.int32(there[s] - here), np.int32(here - there[s])
                gap = a if a > b else b
                gap = gap if gap > least else least
                distance[s] = np.float32(gap) if c == 0 else max(distance[s], np.float32(gap))
        # Loops of their own: this goes several lanes at a time, looking up one by one.
        for s in range(LANES):
            cell[s] = (bits[s] >> CELL_SHIFT) - cell_base
        row = rows[o]
        for s in range(LANES):
            row[s] = look_up[np.uint64(cell[s])]
    # In a pass of its own, because a row cannot be read as a whole right after it was written in bytes.
    shift, base, low, high, top, step = bins
    exact_bits = exact.view(np.int64)
    for o in range(len(rows)):
        unsettled = lanes_above(rows, o, UNSETTLED - 1)
        while unsettled:
            lane = np.int64(lowest_bit(unsettled))
            unsettled &= unsettled - np.uint64(1)
            if start + o + lag + lane >= x.shape[1]:  # padding, which belongs to no pair
                rows[o, lane] = LEAST
                continue
            farthest = low
            for c in range(len(x)):
                farthest = max(farthest, abs(x[c, start + o + lag + lane] - x[c, start + o]))
            exact[0] = min(farthest, high)
            k = (exact_bits[0] >> shift) - base
            rows[o, lane] = LEAST + np.int64(top[k]) - np.int64(exact_bits[0] > step[k])


@njit(cache=True, nogil=True)
def _compare(rows, k, word):  # type: ignore[no-untyped-def]
    """word[o] = lanes of rows[o] above k."""
    for o in range(len(word)):
        word[o] = lanes_above(rows, o, k)


@njit(cache=True, nogil=True)
def _between(outer, inner, step, word):  # type: ignore[no-untyped-def]
    """word = inner | outer & step."""
    for o in range(len(word)):
        word[o] = inner[o] | (outer[o] & step[o])


@njit(cache=True, nogil=True)
def _fill_words(rows, low, steps, words, first, last):  # type: ignore[no-untyped-def]
    """words[k, o] = lanes of rows[o] whose bin is at least k; first <= o < last.

    Comparing bytes is dear, so only every eighth k is: bin >= 8 a + b where bin >= 8 a + 8, or where
    bin >= 8 a and the last three bits are at least b.
    """
    fresh = rows[first:last]
    for o in range(len(fresh)):
        for s in range(LANES):
            low[o, s] = fresh[o, s] & 7
    for b in range(1, 8):
        _compare(low, b - 1, steps[b, : last - first])
    words[0, first:last] = ~np.uint64(0)
    for base in range(0, len(words) - 1, 8):
        outer, inner = words[base, first:last], words[base + 8, first:last]
        _compare(fresh, LEAST + base + 7, inner)
        for b in range(1, 8):
            _between(outer, inner, steps[b], words[base + b, first:last])


@njit(cache=True, nogil=True)
def _count_by_words(words, valid, tau, n_large, joint, counts):  # type: ignore[no-untyped-def]
    """Large scales: counts[m, k] += pairs of the chunk with bin > k, for k < n_large."""
    for k in range(n_large):
        for o in range(len(joint)):
            joint[o] = valid[o]
        for m in range(0, len(counts), 2):
            after = min(m + 1, len(counts) - 1)
            one, two = intersect_and_count(joint, words[k + 1], m * tau, after * tau)
            counts[m, k] += one
            if after > m:
                counts[after, k] += two
            if two == 0:
                break


@njit(cache=True, nogil=True)
def _count_by_walking(rows, words, valid, tau, n_large, histogram):  # type: ignore[no-untyped-def]
    """Small scales: histogram[m, bin] += pairs of the chunk, for bin > n_large, the lanes of `words`."""
    for o in range(len(valid)):
        close = words[o] & valid[o]
        both = close & words[o + tau] if len(histogram) > 1 else np.uint64(0)
        while close:
            s = lowest_bit(close)
            close &= close - np.uint64(1)
            histogram[0, np.uint64(np.int64(rows[o, s]) - LEAST)] += 1
        while both:
            s = lowest_bit(both)
            both &= both - np.uint64(1)
            r = rows[o, s]
            p = np.uint64(o)
            for m in range(1, len(histogram)):
                p += np.uint64(tau)
                r = min(r, rows[p, s])
                if r <= LEAST + n_large:
                    break
                histogram[m, np.uint64(np.int64(r) - LEAST)] += 1


@njit(cache=True, nogil=True)
def _move(values, start, n):  # type: ignore[no-untyped-def]
    """values[:n] = values[start : start + n]; start is positive."""
    there = values[start : start + n]
    for i in range(len(there)):
        values[i] = there[i]


@njit(cache=True, nogil=True)
def _first_lanes(n):  # type: ignore[no-untyped-def]
    """Word with the lowest n bits set, n clipped to 0..64."""
    if n <= 0:
        return np.uint64(0)
    return ~np.uint64(0) >> np.uint64(LANES - min(n, LANES))


@njit(cache=True, nogil=True)
def _fill_valid(valid, size, n_lags, end, edge, part):  # type: ignore[no-untyped-def]
    """Lanes of each row that are pairs and belong to the given part of the block edge.

    Row o has end - o partners left, edge - o of them before the edge. Rows from `size` on are empty.
    """
    valid[:] = _first_lanes(n_lags)
    if size == len(valid) and end - size >= LANES and edge - size >= LANES:
        return
    for o in range(len(valid)):
        same = _first_lanes(edge - o)
        valid[o] &= _first_lanes(end - o) & (same if part == 0 else ~same)
    valid[size:] = np.uint64(0)


@njit(cache=True, nogil=True)
def count_lags(x, look_up, tau, m_max, lags, ends, n_large, block_length, counts):  # type: ignore[no-untyped-def]
    """Add the close pairs of some neighbouring lags to `counts`.

    Parameters
    ----------
    x : (d, N) float64
    look_up : Cells of x, with 64 samples of padding, so that all lanes can be filled everywhere; Bins; and
        the number of scales
    lags : the first one, and how many: at most 64
    ends : where earlier points begin and end, and where later ones end
    n_large : number of scales, from the largest, that are counted by words
    block_length : samples per block of the time axis
    counts : (B, B, m_max, n_bins) int64, modified
        Close pairs by block of the earlier and of the later point; block B is block 0 again.
    """
    cells, bins, n_bins = look_up
    lag, n_lags = lags
    start, end, n = ends
    B = len(counts)
    halo = (m_max - 1) * tau
    chunk = max(CHUNK, -(-halo // STRIDE) * STRIDE)  # a halo is moved on, so it should not be the most of it
    scratch = np.empty(LANES, np.float32), np.empty(LANES, np.int32), np.empty(1)
    rows = np.empty((chunk + halo, LANES), np.int8)
    low = np.empty_like(rows)
    words = np.zeros((8 * (n_large // 8 + 1) + 1, chunk + halo + STRIDE), np.uint64)
    steps = np.empty((8, chunk + halo), np.uint64)
    joint = np.empty(chunk, np.uint64)
    valid = np.empty(chunk, np.uint64)
    histogram = np.zeros((m_max, n_bins + 1), np.int64)
    filled = 0  # rows that hold the bins of times start, start + 1, ...
    while start < min(n - lag, end):
        # A chunk ends where a block of the earlier point ends, and where the later point of the first or
        # of the last lane enters another block; in between, lanes belong to two blocks.
        block = start // block_length
        later = (start + lag) // block_length
        edge = (later + 1) * block_length - lag
        stop = min(start + chunk, n - lag, end, (block + 1) * block_length, edge)
        if start < edge - (LANES - 1):
            stop = min(stop, edge - (LANES - 1))
        size = stop - start
        _fill_rows(x, cells, bins, start + filled, lag, scratch, rows[filled : size + halo])
        _fill_words(rows, low, steps, words, filled, size + halo)

        strides = -(-size // STRIDE) * STRIDE
        for part in range(2 if edge < min(stop + LANES - 1, n - lag) else 1):
            _fill_valid(valid[:strides], size, min(n_lags, LANES), n - lag - start, edge - start, part)
            target = counts[block % B, (later + part) % B]
            _count_by_words(words, valid[:strides], tau, n_large, joint[:strides], target)
            if n_large < n_bins:
                _count_by_walking(rows, words[n_large + 1], valid[:size], tau, n_large, histogram)
                for m in range(m_max):
                    above = 0
                    for k in range(n_bins - 1, n_large - 1, -1):
                        above += histogram[m, k + 1]
                        histogram[m, k + 1] = 0
                        target[m, k] += above

        filled = halo
        _move(rows.reshape(-1), size * LANES, filled * LANES)
        for k in range(len(words)):
            _move(words[k], size, filled)
        start = stop
