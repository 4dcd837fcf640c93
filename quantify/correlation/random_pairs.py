"""Count pairs of delay vectors that are drawn at random, whatever their distance.

At large scales many pairs are close, and some drawn at random are enough.
"""

from __future__ import annotations

import itertools

import numpy as np
from numba import njit

from quantify.aliases import Counts
from quantify.correlation.bins import MAX_BINS, make_bins
from quantify.correlation.combine_shares import Share
from quantify.correlation.hashing import random_bits
from quantify.correlation.pair_histogram import BUFFER, candidate_buffers, count_pairs, within
from quantify.correlation.pairs import PairProblem, Threads

RANDOM_PAIRS = 4  # pairs drawn at random, per point
TILES = 16  # per side of the plane of pairs: draws of one tile stay in a part of the memory


def draw_pairs(problem: PairProblem, rng: np.random.Generator, threads: Threads) -> Share:
    """Pairs drawn at random, equally densely all over the plane of time and time, for m = 1..m_max."""
    z, eps = problem.layout.z, problem.eps[:MAX_BINS]
    bins = make_bins(eps)
    # Tiles of equal sides, and in each as many draws as it has a share of the pairs.
    last = problem.n - problem.theiler
    sides = list(itertools.pairwise((np.arange(TILES + 1) * last // TILES).tolist()))
    tiles = np.array([(*a, *b) for a, b in itertools.combinations_with_replacement(sides, 2)])
    a_lo, a_hi, b_lo, b_hi = tiles.T
    area = np.where(a_lo < b_lo, (a_hi - a_lo) * (b_hi - b_lo), (a_hi - a_lo) * (a_hi - a_lo - 1) / 2)
    draws = np.rint(RANDOM_PAIRS * problem.n * area / area.sum()).astype(np.int64)
    salts = rng.integers(2**63, size=len(tiles), dtype=np.uint64)

    def run(part: slice) -> Counts:
        histogram = problem.no_counts(n_bins=len(eps) + 1)
        count_random(
            z,
            problem.tau,
            problem.theiler,
            tiles[part],
            draws[part],
            salts[part],
            bins,
            problem.block_length,
            histogram,
        )
        return histogram

    step = -(-len(tiles) // threads.tasks)
    parts = [slice(k, k + step) for k in range(0, len(tiles), step)]
    histogram = np.sum(list(threads.map(run, parts)), axis=0)
    drawn = problem.no_counts()
    drawn[..., :MAX_BINS] = within(histogram)
    return Share(drawn, float(draws.sum()), problem.all_pairs)


@njit(cache=True, nogil=True)
def count_random(z, tau, theiler, tiles, draws, salts, bins, block_length, histogram):  # type: ignore[no-untyped-def]
    """Add to `histogram` pairs drawn at random, with replacement, whatever their distance.

    A pair (a, b), a < b, stands for the samples a and b + theiler, which are more than `theiler` apart: all
    admissible pairs are met in this way, each once.

    Parameters
    ----------
    z : the series by phase (`pairs.Layout`)
    tiles : (n_tiles, 4), half-open range of a and half-open range of b, the same or behind the first
    draws, salts : (n_tiles,), number of pairs to draw in each, and the seed of chance
    bins, block_length, histogram : as in `count_pairs`, from dimension 1 on
    """
    row, period = np.uint32(len(z) // tau), np.uint32(tau)
    one, two, distances = candidate_buffers(histogram)
    for tile in range(len(tiles)):
        a_lo, a_hi, b_lo, b_hi = tiles[tile]
        same = a_lo == b_lo
        n_a, n_b = np.uint64(a_hi - a_lo), np.uint64(b_hi - b_lo - same)
        for begin in range(0, draws[tile], BUFFER):
            n = min(BUFFER, draws[tile] - begin)
            for q in range(n):
                bits = random_bits(begin + q, salts[tile])
                a = a_lo + np.int64(((bits >> np.uint64(32)) * n_a) >> np.uint64(32))
                b = b_lo + np.int64(((bits & np.uint64(0xFFFFFFFF)) * n_b) >> np.uint64(32))
                b += same and b >= a  # two different points of one tile
                i, j = np.uint32(min(a, b)), np.uint32(max(a, b) + theiler)
                one[q] = (np.int64(i) << 32) | np.int64(i % period * row + i // period)
                two[q] = (np.int64(j) << 32) | np.int64(j % period * row + j // period)
            count_pairs(z, 1, one[:n], two[:n], bins, block_length, distances, histogram)
