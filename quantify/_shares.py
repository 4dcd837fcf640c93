"""Choose, for each range of scales and group of dimensions, how large a share of the pairs to count."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quantify._bins import MAX_BINS, make_bins
from quantify._linked import Share, join, link, monotone
from quantify._sampled import by_phase, count_random, count_strips, sort_into_strips
from quantify.sums import Counts, Floats

RANDOM_PAIRS = 4  # pairs drawn at random, per point
TRUSTED = 30  # random pairs fewer than this say too little about C
TILES = 16  # per side of the plane of pairs: draws of one tile stay in a part of the memory
# Ranges of scales are linked at their rarest cell (see `link`), where the error then is that of the next
# range. In between the variance p (1 - p) + p^2 / 5 (1/5: variance of the next range there) is at most a
# third of what the rarest cell has alone. Half of the pairs, not a third, leaves a margin: as many cells are
# now at the limit, the largest error of all of them is a larger multiple of the standard error.
LINKED = 2.0
OCTAVES = (1.0, 1.5, 2.0, 3.0, 4.0)  # ranges of scales that may share a search
# Nanoseconds per point sorted and searched, pair looked at, pair counted and dimension of it, to weigh one
# against the other.
SORT_COST, LOOK_COST, PAIR_COST, DIMENSION_COST = 100.0, 5.0, 40.0, 10.0
GROUP_PAIRS = 200_000  # counted per range of scales by a group whose dimensions have equally many


class Crew(ThreadPoolExecutor):
    """Threads, and into how many tasks work is cut for them: some for each, that all end together."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.tasks = 4 * workers if workers > 1 else 1


@dataclass(frozen=True)
class Demand:
    """How sure the counts must be, and how much work may go into it (see `correlation_sums`)."""

    accuracy: float
    min_pairs: float
    effort: float

    def classes(self, expected: float, crowd: float, n: int, linked: bool) -> int:
        """Number of random classes of n points that makes the rarest cell sure enough.

        A share 1/k of the pairs, with X pairs to be found among all, has the relative error
        sqrt((k - 1) / X).

        Parameters
        ----------
        expected : close pairs among all at the rarest cell
        crowd : pairs among all that have to be looked at
        linked : whether a range of smaller scales will make it surer
        """
        needed = int(1 + (LINKED if linked else 1) * self.accuracy**2 * max(expected, self.min_pairs))
        return min(max(needed, self.affordable(crowd, n)), max(n // 4, 1))

    def sure(self, total: Counts) -> int:
        """Number of scales, from the largest one, at which so many random pairs are enough if linked."""
        return min(int((LINKED * self.accuracy**2 * total >= 1).sum()), len(total) - 1)

    def affordable(self, crowd: float, n: int) -> int:
        """Smallest number of classes that keeps within the effort."""
        return int(np.ceil(crowd / (self.effort * n)))


@dataclass(frozen=True)
class Layout:
    """The series laid out for the neighbour search (see `by_phase`), and what counts as a pair."""

    z: Floats
    order: NDArray[np.int32]
    tau: int
    n: int
    theiler: int
    block_length: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks of the time axis."""
        return -(-self.n // self.block_length)

    @property
    def all_pairs(self) -> float:
        """Number of admissible pairs."""
        return (self.n - self.theiler) * (self.n - self.theiler - 1) / 2

    @property
    def excluded(self) -> float:
        """Number of pairs that the Theiler window leaves out."""
        return self.n * (self.n - 1) / 2 - self.all_pairs


def groups(n: int, rough: Counts) -> list[tuple[int, int]]:
    """Groups of dimensions that share a search: 1 alone, and from 2 on those that make the work least.

    Few groups save sorting; many save counting, because a group counts what is close in its first dimension
    until it has enough in its last one. Neighbouring groups overlap in one dimension, by which they are
    joined.

    Parameters
    ----------
    n : number of points
    rough : (m_max, n_eps) int64, close pairs among some drawn at random

    Returns
    -------
    (first, last) dimension of each group; a flow has few, noise has many
    """
    m_max = len(rough)
    if m_max <= 2:
        return [(m, m) for m in range(1, m_max + 1)]
    best: dict[int, tuple[float, list[tuple[int, int]]]] = {2: (0.0, [(1, 1)])}
    for last in range(3, m_max + 1):
        # The smallest scale where the last dimension has a number of pairs that says something.
        k = max(int((rough[last - 1] >= 10 * TRUSTED).sum()) - 1, 0)
        options = []
        for first in range(2, last):
            surplus = rough[first - 1, k] / max(rough[last - 1, k], 1)
            cost = SORT_COST * n + GROUP_PAIRS * surplus * (PAIR_COST + DIMENSION_COST * (last - first))
            before, parts = best[first]
            options.append((before + cost, [*parts, (first, last)]))
        best[last] = min(options)
    return best[m_max][1]


def count_shares(
    x: Floats,
    tau: int,
    m_max: int,
    theiler: int,
    eps: Floats,
    block_length: int,
    demand: Demand,
    rng: np.random.Generator,
    workers: int,
    progress: Callable[[float, float], None] | None,
) -> tuple[Counts, Counts, Counts, Floats, Floats]:
    """Count close pairs in random shares that are just large enough.

    Large scales, where many pairs are close, need only some pairs drawn at random. Below, for a group of
    dimensions and a range of scales, points are put into random classes, and pairs are counted inside classes
    (see `_sampled`). Below the scale where all pairs are needed, the rest of the scales is counted in one go.

    Returns
    -------
    counts : (B, B, m_max, n_eps) int64, pairs counted, by time block
    pairs, examined : (m_max, n_eps) int64
    C, error : (m_max, n_eps) float64
    """
    n = x.shape[1] - (m_max - 1) * tau
    layout = Layout(*by_phase(x, tau), tau, n, theiler, block_length)
    counts = np.zeros((layout.n_blocks, layout.n_blocks, m_max, len(eps)), np.int64)
    pairs = np.zeros((m_max, len(eps)), np.int64)
    examined = np.zeros((m_max, len(eps)), np.int64)
    C = np.zeros((m_max, len(eps)))
    error = np.full((m_max, len(eps)), np.nan)
    with Crew(workers) as crew:
        rough = _count_random(layout, m_max, eps, rng, crew)
        task = Task(layout, demand, eps, rough)
        todo = groups(n, rough.total)[::-1]
        # From the largest dimensions down: the rarer the close pairs, the larger the share and the surer the
        # value, towards which the smaller dimensions are moved.
        for g, (m_lo, m_hi) in enumerate(todo):
            first = g == 0 or m_lo == 1
            # The dimension that two groups share keeps the counts of the first one.
            own = slice(m_lo - 1, m_hi if first else m_hi - 1)
            shares: list[Share] = []
            known = np.zeros((2, len(eps)))  # C of m_lo and m_hi, as far as counted
            k_lo = 0
            while k_lo < len(eps):
                k_hi = demand.sure(rough.total[m_hi - 1]) if k_lo == 0 else 0
                if k_hi > 0:
                    share = rough.part(slice(m_lo - 1, m_hi), slice(0, k_hi + 1))
                else:
                    k_hi, share = _count_range(task, (m_lo, m_hi), k_lo, known, rng, crew)
                shares.append(share)
                size, inside = own.stop - own.start, slice(0, k_hi - k_lo)
                counts[:, :, own, k_lo:k_hi] = share.counts[:, :, :size, inside]
                pairs[own, k_lo:k_hi] = share.total[:size, inside]
                examined[own, k_lo:k_hi] = round(share.examined)
                known[:, k_lo:k_hi] = share.C[[0, -1], inside]
                k_lo = k_hi
                if progress:
                    progress(g * len(eps) + k_lo, len(todo) * len(eps))
            join(*link(shares), C[m_lo - 1 :], error[m_lo - 1 :], first)
    return counts, pairs, examined, monotone(C, error), error


@dataclass(frozen=True)
class Task:
    """What is to be counted, how surely, and what some pairs drawn at random say about it."""

    layout: Layout
    demand: Demand
    eps: Floats
    rough: Share


def _count_range(
    task: Task,
    group: tuple[int, int],
    k_lo: int,
    known: Floats,
    rng: np.random.Generator,
    crew: Crew,
) -> tuple[int, Share]:
    """Count the next range of scales, from k_lo on, and one scale more, in which ranges are linked.

    Returns
    -------
    k_hi : end of the range
    share : the scales k_lo..k_hi
    """
    layout, eps = task.layout, task.eps
    k_hi, n_classes, crowd = _plan(task, group, k_lo, known)
    while True:
        found, part = _count_group(layout, group, eps[k_lo : k_hi + 1], n_classes, rng, crew)
        rarest = found[:, :, -1, k_hi - k_lo - 1].sum()
        fewer = task.demand.classes(rarest / part, crowd, layout.n, k_hi < len(eps))
        if n_classes == 1 or fewer > 0.7 * n_classes:
            return k_hi, Share(found, part * layout.all_pairs, layout.all_pairs, layout.excluded)
        n_classes = fewer


def _plan(task: Task, group: tuple[int, int], k_lo: int, known: Floats) -> tuple[int, int, float]:
    """How far the next range of scales goes, with how many classes, and the crowd to be looked at.

    A wide range saves sorting, a narrow one saves counting: the cheapest per octave is taken. `known` holds C
    of the group's smallest and largest dimension for the scales before k_lo.
    """
    m_lo, m_hi = group
    demand, eps, rough = task.demand, task.eps, task.rough
    n, all_pairs = task.layout.n, task.layout.all_pairs
    crowd = max(rough.total[min(m_lo, 2) - 1, k_lo], 1) / rough.examined * all_pairs
    top = (known[0, k_lo - 1] if k_lo > 0 else 1.0) * all_pairs
    rest = np.log2(eps[k_lo] / eps[-1]) + 1
    least = demand.affordable(crowd, n)
    plans: list[tuple[float, int, int]] = []
    for octaves in (*OCTAVES, rest):
        k_hi = int(np.searchsorted(-eps, -eps[k_lo] * 2.0**-octaves, side="right"))
        k_hi = min(max(k_hi, k_lo + 1), k_lo + MAX_BINS)
        expected = _expect(known[1], rough.total[m_hi - 1], rough.examined, eps, k_lo, k_hi) * all_pairs
        n_classes = demand.classes(expected, crowd, n, k_hi < len(eps))
        if plans and n_classes == least > 1:
            break  # the effort would cut the accuracy, and a wider range only more so
        per_pair = PAIR_COST + DIMENSION_COST * (m_hi - m_lo)
        cost = SORT_COST * n + (per_pair * top + LOOK_COST * crowd) / n_classes
        saved = min(octaves, rest)
        if n_classes == 1:
            # All pairs of all the rest; most of the work lies in its first octaves, so it saves only two.
            k_hi, saved = min(len(eps), k_lo + MAX_BINS), min(rest, 2.0)
        plans.append((cost / saved, k_hi, n_classes))
    _, k_hi, n_classes = min(plans)
    return k_hi, n_classes, crowd


def _expect(C: Floats, rough: Counts, examined: float, eps: Floats, k_lo: int, k_hi: int) -> float:
    """C at the smallest of the scales k_lo..k_hi - 1, before it is counted.

    From the pairs drawn at random where these are enough, else by going on with the slope of the last octave.
    """
    if rough[k_hi - 1] >= TRUSTED:
        return float(rough[k_hi - 1] / examined)
    counted = k_lo > 0 and C[k_lo - 1] > 0
    seen = np.flatnonzero(C[:k_lo] > 0 if counted else rough >= TRUSTED)
    if len(seen) < 2:
        return 1 / examined
    found = C if counted else rough / examined
    last = seen[-1]
    before = seen[max(0, int(np.searchsorted(-eps[seen], -2 * eps[last])) - 1)]
    slope = np.log(found[before] / found[last]) / np.log(eps[before] / eps[last])
    return float(found[last] * (eps[k_hi - 1] / eps[last]) ** max(slope, 0.0))


def _count_random(layout: Layout, m_max: int, eps: Floats, rng: np.random.Generator, crew: Crew) -> Share:
    """Pairs drawn at random, equally densely all over the plane of time and time, for m = 1..m_max."""
    n_blocks = layout.n_blocks
    bins = make_bins(eps[:MAX_BINS])
    # Tiles of equal sides, and in each as many draws as it has a share of the pairs.
    sides = list(itertools.pairwise((np.arange(TILES + 1) * (layout.n - layout.theiler) // TILES).tolist()))
    tiles = np.array([(*a, *b) for a, b in itertools.combinations_with_replacement(sides, 2)])
    a_lo, a_hi, b_lo, b_hi = tiles.T
    area = np.where(a_lo < b_lo, (a_hi - a_lo) * (b_hi - b_lo), (a_hi - a_lo) * (a_hi - a_lo - 1) / 2)
    draws = np.rint(RANDOM_PAIRS * layout.n * area / area.sum()).astype(np.int64)
    salts = rng.integers(2**63, size=len(tiles), dtype=np.uint64)

    def run(part: slice) -> Counts:
        histogram = np.zeros((n_blocks, n_blocks, m_max, len(eps[:MAX_BINS]) + 1), np.int64)
        count_random(
            layout.z,
            layout.tau,
            m_max,
            layout.theiler,
            tiles[part],
            draws[part],
            salts[part],
            bins,
            layout.block_length,
            histogram,
        )
        return histogram

    step = -(-len(tiles) // crew.tasks)
    parts = [slice(k, k + step) for k in range(0, len(tiles), step)]
    histogram = np.sum(list(crew.map(run, parts)), axis=0)
    drawn = np.zeros((n_blocks, n_blocks, m_max, len(eps)), np.int64)
    drawn[..., :MAX_BINS] = _within(histogram)
    return Share(drawn, float(draws.sum()), layout.all_pairs)


def _within(histogram: Counts) -> Counts:
    """From "within exactly r scales" to "within scale k": sum over r > k."""
    return np.cumsum(histogram[..., :0:-1], axis=-1)[..., ::-1]


def _count_group(
    layout: Layout,
    group: tuple[int, int],
    eps: Floats,
    n_classes: int,
    rng: np.random.Generator,
    crew: Crew,
) -> tuple[Counts, float]:
    """Close pairs (B, B, group, n_eps) inside random classes, and the share of all pairs that these hold."""
    m_lo, m_hi = group
    z, n, n_blocks = layout.z, layout.n, layout.n_blocks
    salt = np.uint64(rng.integers(2**63))
    # One coordinate needs no strips: its points are sorted by it already.
    width = eps[0] if m_lo > 1 else np.inf
    strips = sort_into_strips(z, layout.tau, layout.order, m_lo, n, salt, n_classes, width)
    bounds, n_strips = strips[1:]
    class_size = np.diff(bounds[::n_strips]).astype(float)
    share = float((class_size * (class_size - 1)).sum() / (n * (n - 1.0)))
    shape = (n_blocks, n_blocks, m_hi - m_lo + 1, len(eps) + 1)
    edges = np.searchsorted(bounds, np.arange(1, crew.tasks) * n // crew.tasks)
    edges = np.concatenate(([0], edges, [len(bounds) - 1]))
    bins = make_bins(eps)

    def run(first: int, last: int) -> Counts:
        histogram = np.zeros(shape, np.int64)
        count_strips(
            z, m_lo, m_hi, layout.theiler, strips, first, last, eps[0], bins, layout.block_length, histogram
        )
        return histogram

    histogram = np.zeros(shape, np.int64)
    for part in crew.map(run, edges[:-1], edges[1:]):
        histogram += part
    return _within(histogram), share
