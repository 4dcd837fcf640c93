"""Count the pairs on diagonals of the plane of time and time that are drawn at random.

Where many pairs are close, a share of all pairs is enough. On a diagonal they are counted for all dimensions
and scales at once, by the fast kernel for all pairs. What chance adds is then much the same in neighbouring
dimensions, and cancels in their entropies.

Neighbours on a diagonal of a smooth series are nearly the same pair. So the series is taken apart by phase,
samples that are tau apart, and 64 neighbouring diagonals are counted of the plane of one phase and another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quantify.aliases import Counts, Floats, Progress
from quantify.correlation.all_pairs import count_lags, scales_by_words
from quantify.correlation.bins import MAX_BINS, make_bins, make_cells
from quantify.correlation.bit_kernels import LANES
from quantify.correlation.combine_shares import Share
from quantify.correlation.pairs import PairProblem, Threads

PARTS = 32  # of the bundles drawn, whose scatter tells the error
ENOUGH = 1000  # pairs whose scatter from part to part is worth a look
LONGEST = 16_384  # steps of a bundle; shorter ones say less of how long pairs stay close
# Fewer would not fill the pairs of blocks; beyond, short ones take longer to set up than to count.
FEWEST_BUNDLES, MOST_BUNDLES = 4000, 40_000


class Bundle(NamedTuple):
    """Pieces of neighbouring diagonals of the plane of two phases.

    They hold the pairs of the samples k tau + one and (k + l) tau + two, l = lag..lag + width - 1, with k in
    begin..end - 1.
    """

    one: int
    two: int
    begin: int
    end: int
    lag: int
    width: int


def draw_bundles(problem: PairProblem, pairs: float, rng: np.random.Generator) -> list[Bundle]:
    """Bundles that hold about so many pairs; all there are if these are fewer.

    Every so-manieth one in the order of their lags. Every stretch of time has lags of its own, so that chance
    in the lags shows as scatter from block to block.
    """
    tau, longest = problem.tau, -(-problem.n // problem.tau)
    length = min(steps_of_block(problem), LONGEST)
    rounds, kinds = -(-longest // LANES), tau**2 * -(-longest // length)
    there = rounds * kinds
    wanted = np.clip(there * pairs / problem.all_pairs, FEWEST_BUNDLES, MOST_BUNDLES)
    step = max(there / float(wanted), 1.0)
    places = np.arange(rng.random() * step, there, step).astype(np.int64)
    turns = places // kinds
    stretches, phases = np.divmod((places + rng.integers(kinds, size=rounds)[turns]) % kinds, tau**2)
    found = []
    for turn, stretch, phase in np.column_stack([turns, stretches, phases]).tolist():
        one, two = divmod(phase, tau)
        # The smallest lag in time beyond the Theiler window.
        lag = max(-((two - one - problem.theiler - 1) // tau), 0) + turn * LANES
        begin, width = stretch * length, min(LANES, vectors_of_phase(problem, two) - lag)
        if begin + lag < vectors_of_phase(problem, two):
            found.append(Bundle(one, two, begin, begin + length, lag, width))
    return found


def vectors_of_phase(problem: PairProblem, phase: int) -> int:
    """Number of delay vectors that begin at the samples phase, phase + tau, ..."""
    return max(-((phase - problem.n) // problem.tau), 0)


def steps_of_block(problem: PairProblem) -> int:
    """Length of a block of time in steps of tau."""
    return -(-problem.block_length // problem.tau)


def count_diagonals(
    problem: PairProblem,
    bundles: list[Bundle],
    rng: np.random.Generator,
    threads: Threads,
    progress: Progress | None = None,
) -> tuple[Counts, Floats]:
    """Close pairs in bundles of diagonals, and how many there are of any distance.

    Returns
    -------
    counts : (B, B, m_max, n_eps + 1) int64
        Pairs of all bundles by blocks of time; the first scale is beyond all distances. In steps of tau,
        blocks begin up to tau samples later.
    parts : (PARTS, m_max, n_eps + 1) float64
        How many more each `PARTS`-th bundle holds than is due to its blocks.
    """
    x, tau, eps = problem.x, problem.tau, problem.eps[: MAX_BINS - 1]
    grid = np.concatenate(([4 * float(np.ptp(x, axis=1).max())], eps))
    cells, bins = make_cells(x, grid, LANES), make_bins(grid)
    n_large, B = scales_by_words(x, grid, problem.m_max, rng), problem.n_blocks
    # One phase behind the other, all of them twice, each beginning with a block.
    length, longest = steps_of_block(problem), -(-x.shape[1] // tau)
    blocks = -(-longest // length)
    size = blocks * length
    values = np.zeros((len(x), 2 * tau * size))
    units = np.full((len(x), 2 * tau * size + LANES), cells.x[0, -1], np.int32)
    for place in range(2 * tau):
        phase = slice(place % tau, x.shape[1], tau)
        here = slice(place * size, place * size + x[:, phase].shape[1])
        values[:, here], units[:, here] = x[:, phase], cells.x[:, phase]
    look_up = cells._replace(x=units), bins, len(grid)

    def run(part: int) -> Counts:
        found = np.zeros((blocks, blocks, problem.m_max, len(grid)), np.int64)
        for one, two, begin, end, lag, width in bundles[part::PARTS]:
            first, second = one * size, (tau + two) * size
            lags = second - first + lag, width
            n = second + vectors_of_phase(problem, two)
            ends = first + begin, first + end, n
            count_lags(values, look_up, 1, problem.m_max, lags, ends, n_large, length, found)
        return found[:B, :B]

    counts = problem.no_counts(n_bins=len(grid))
    there = np.zeros((PARTS, B, B), np.int64)
    parts = np.zeros((PARTS, problem.m_max, len(grid)))
    for part, found in enumerate(threads.map(run, range(PARTS))):
        counts += found
        there[part], parts[part] = found[:, :, 0, 0], found.sum(axis=(0, 1))
        if progress:
            progress(part + 1, PARTS)
    every = counts[:, :, :1, :1]
    share = np.divide(counts, every, out=np.zeros(counts.shape), where=every > 0)
    # What is due was found from the same bundles.
    taken = np.count_nonzero(every) / max(len(bundles), 1)
    return counts, (parts - np.tensordot(there, share, axes=2)) / np.sqrt(1 - min(taken, 0.5))


def draw_diagonals(
    problem: PairProblem,
    pairs: float,
    rng: np.random.Generator,
    threads: Threads,
    progress: Progress | None = None,
) -> Share:
    """A share of about so many pairs, for m = 1..m_max and all scales.

    Of every pair of blocks another share may have been drawn: its close pairs count by how many it has. The
    pairs of a bundle are not independent; the scatter from part to part tells how much larger errors are than
    with independent ones.
    """
    counts, parts = count_diagonals(problem, draw_bundles(problem, pairs, rng), rng, threads, progress)
    there, total = counts[:, :, 0, 0], problem.block_pairs
    examined = float(there.sum())
    known = np.where(there > 0, total, 0.0)
    weight = np.divide(known / known.sum() * examined, there, out=np.zeros_like(known), where=there > 0)
    found = np.zeros((*there.shape, problem.m_max, len(problem.eps)))
    found[..., : counts.shape[-1] - 1] = counts[..., 1:] * weight[:, :, None, None]
    share = Share(found, examined, problem.all_pairs)
    share.clumping, times = _clumping(counts.sum(axis=(0, 1)), parts)
    share.variance[:, : times.shape[1]] *= times
    return share


def _clumping(close: Counts, parts: Floats) -> tuple[float, Floats]:
    """How many times larger variances are than with independent pairs, from the scatter between the parts.

    Parameters
    ----------
    close : (m_max, n_eps + 1) int64
        All pairs.
    parts : (PARTS, m_max, n_eps + 1) float64
        As `count_diagonals` returns them.

    Returns
    -------
    of_differences : float
        Of ln C_m - ln C_{m-1}, from which entropies are made: the median of all with enough pairs. What
        happens to all dimensions alike is no part of it.
    of_each : (m_max, n_eps) float64
        Of ln C, on average over an octave or so of scales.
    """
    every = close[0, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = parts[..., 1:] / close[:, 1:]
        inverse = 1 / close[:, 1:]  # variance of ln C, with independent pairs of which few are close
        steps = np.diff(relative, axis=1, prepend=0.0)
        seen, each = (PARTS / (PARTS - 1) * (some**2).sum(axis=0) for some in (steps, relative))
        seen /= np.diff(inverse, axis=0, prepend=1 / every)
        each /= inverse - 1 / every
    enough = (close[:, 1:] >= ENOUGH) & (np.diff(close[:, 1:], axis=0, prepend=every) <= -ENOUGH)
    of_differences = float(np.median(seen[enough])) if enough.any() else 1.0
    ends = np.pad(np.nan_to_num(each, nan=1.0, posinf=1.0), ((0, 0), (4, 4)), mode="edge")
    smooth = np.array([np.convolve(row, np.ones(9) / 9, "valid") for row in ends])
    return max(of_differences, 1.0), np.maximum(smooth, 1.0)
