"""Choose, for each range of scales and group of dimensions, how large a share of the pairs to count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quantify.aliases import Counts, Floats, Progress
from quantify.correlation.bins import MAX_BINS
from quantify.correlation.combine_shares import Share, join_group, link_ranges, monotone
from quantify.correlation.diagonals import draw_diagonals
from quantify.correlation.pairs import Counted, PairProblem, Threads
from quantify.correlation.random_pairs import draw_pairs
from quantify.correlation.strips import count_in_classes

TRUSTED = 30  # random pairs fewer than this say too little about C
# Ranges of scales are linked at their rarest cell (see `link_ranges`), where the error then is that of the
# next range. In between, the variance p (1 - p) + p^2 / 5 (1/5: variance of the next range there) is at most
# a third of what the rarest cell has alone. Half of the pairs, not a third, leaves a margin: many cells are
# now at the limit, so that the largest error of all is a larger multiple of the standard error.
LINKED = 2.0
OCTAVES = (1.0, 1.5, 2.0, 3.0, 4.0)  # ranges of scales that may share a search
# Nanoseconds per point sorted and searched, pair looked at, pair counted and dimension of it, to weigh one
# against the other.
SORT_COST, LOOK_COST, PAIR_COST, DIMENSION_COST = 100.0, 5.0, 25.0, 5.0
# Entropy -ln C from which on the accuracy is the one asked for. Where it is smaller, so is what chance in the
# series does, and short plateaus there decide on state complexity: down to so many times finer. The second
# pair is for the searches that begin with dimension 1 or 2, whose errors do most and whose pairs cost least.
PLAIN, FINEST = (6.0, 8.0), (0.4, 0.25)
ON_DIAGONALS = 80.0  # pairs on diagonals per pair that a search may look at: five to ten seconds of one core
LEAST_STEPS = 1024  # of tau that a series must have for its diagonals
WORTH = 16.0  # a search is begun where its variance is so many times smaller than that of the diagonals
GROUP_PAIRS = 200_000  # counted per range of scales by a group whose dimensions have equally many


@dataclass(frozen=True)
class SamplingTarget:
    """How sure the counts must be, and how much work may go into it (see `correlation_sums`)."""

    accuracy: float
    min_pairs: float
    effort: float

    def variance(self, C: Floats | float, m_lo: int) -> Floats:
        """Of ln C, that is aimed at by a search that begins with dimension m_lo."""
        low = m_lo <= 2
        with np.errstate(divide="ignore"):
            return np.asarray((self.accuracy * np.clip(-np.log(C) / PLAIN[low], FINEST[low], 1.0)) ** 2)

    def classes(self, expected: float, m_lo: int, crowd: float, problem: PairProblem, linked: bool) -> int:
        """Number of random classes of points that makes the rarest cell sure enough.

        A share 1/k of the pairs, with X pairs to be found among all, has the relative error
        sqrt((k - 1) / X).

        Parameters
        ----------
        expected : close pairs among all at the rarest cell
        crowd : pairs among all that have to be looked at
        linked : whether a range of smaller scales will make it surer
        """
        variance = float(self.variance(expected / problem.all_pairs, m_lo))
        needed = int(1 + (LINKED if linked else 1) * variance * max(expected, self.min_pairs))
        return min(max(needed, self.affordable(crowd, problem.n)), max(problem.n // 4, 1))

    def affordable(self, crowd: float, n: int) -> int:
        """Smallest number of classes that keeps within the effort."""
        return int(np.ceil(crowd / (self.effort * n)))


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
    problem: PairProblem,
    target: SamplingTarget,
    rng: np.random.Generator,
    workers: int,
    progress: Progress | None,
) -> Counted:
    """Count close pairs in random shares that are just large enough.

    Scales where many pairs are close need only those on some diagonals. Below, for a group of dimensions and
    a range of scales, points are put into random classes, and pairs are counted inside classes (see
    `strips`). Below the scale where all pairs are needed, the rest of the scales is counted in one go.
    """
    m_max, n_eps = problem.m_max, len(problem.eps)
    split = np.zeros((problem.n_blocks, problem.n_blocks, m_max, n_eps))
    pairs = np.zeros((m_max, n_eps), np.int64)
    examined = np.zeros((m_max, n_eps), np.int64)
    C = np.zeros((m_max, n_eps))
    error = np.full((m_max, n_eps), np.nan)
    with Threads(workers) as threads:
        if problem.n >= LEAST_STEPS * problem.tau:
            half = progress and (lambda done, total: progress(done, 2 * total))
            rough = draw_diagonals(problem, ON_DIAGONALS * target.effort * problem.n, rng, threads, half)
        else:
            rough = draw_pairs(problem, rng, threads)
        plan = Plan(problem, target, rough)
        todo = groups(problem.n, rough.total)[::-1]
        # From the largest dimensions down: the rarer the close pairs, the larger the share and the surer the
        # value, towards which the smaller dimensions are moved.
        for g, (m_lo, m_hi) in enumerate(todo):
            first = g == 0 or m_lo == 1
            # The dimension that two groups share keeps the counts of the first one.
            own = slice(m_lo - 1, m_hi if first else m_hi - 1)
            shares: list[Share] = []
            known = np.zeros((2, n_eps))  # C of m_lo and m_hi, as far as counted
            k_lo = 0
            while k_lo < n_eps:
                k_hi = plan.settled((m_lo, m_hi)) if k_lo == 0 else 0
                if k_hi > 0:
                    share = rough.part(slice(m_lo - 1, m_hi), slice(0, k_hi + 1))
                else:
                    k_hi, share = plan.count_range((m_lo, m_hi), k_lo, known, rng, threads)
                shares.append(share)
                size, inside = own.stop - own.start, slice(0, k_hi - k_lo)
                pairs[own, k_lo:k_hi] = np.rint(share.total[:size, inside])
                examined[own, k_lo:k_hi] = round(share.examined)
                known[:, k_lo:k_hi] = share.C[[0, -1], inside]
                k_lo = k_hi
                if share.total[0, -1] == 0 and k_lo < n_eps:
                    # The same share holds no pair at smaller scales either: there is nothing to search for.
                    shares.append(share.nothing(n_eps - k_lo))
                    examined[own, k_lo:] = round(share.examined)
                    k_lo = n_eps
                if progress:
                    progress((len(todo) + g) * n_eps + k_lo, 2 * len(todo) * n_eps)
            rows = slice(m_lo - 1, None)
            join_group(link_ranges(shares), C[rows], error[rows], split[:, :, rows], first)
    C = monotone(C, error)
    # Corrections can make a few pairs fewer than none.
    return Counted(np.maximum(split, 0.0) * C * problem.all_pairs, pairs, examined, C, error)


@dataclass(frozen=True)
class Plan:
    """What is to be counted, how surely, and what some pairs drawn at random say about it."""

    problem: PairProblem
    target: SamplingTarget
    rough: Share

    def settled(self, group: tuple[int, int]) -> int:
        """Number of scales, from the largest one, at which the pairs drawn at random are enough if linked, or
        a search would be little surer.
        """
        m_lo, m_hi = group
        rough, all_pairs = self.rough, self.problem.all_pairs
        enough = (
            LINKED * self.target.variance(rough.C[m_hi - 1], m_lo) * rough.total[m_hi - 1] >= rough.clumping
        )
        crowd = rough.C[min(m_lo, 2) - 1] * all_pairs
        classes = np.maximum(np.ceil(crowd / (self.target.effort * self.problem.n)), 1.0)
        worth = WORTH * (classes - 1) < rough.clumping * (all_pairs / rough.examined - 1)
        return min(int(np.append(enough | ~worth, False).argmin()), len(crowd) - 1)

    def count_range(
        self, group: tuple[int, int], k_lo: int, known: Floats, rng: np.random.Generator, threads: Threads
    ) -> tuple[int, Share]:
        """Count the next range of scales, from k_lo on, and one scale more, in which ranges are linked.

        Returns
        -------
        k_hi : end of the range
        share : the scales k_lo..k_hi
        """
        problem, eps = self.problem, self.problem.eps
        k_hi, k_sure, n_classes, crowd = self.next_range(group, k_lo, known)
        while True:
            found, part = count_in_classes(problem, group, eps[k_lo : k_hi + 1], n_classes, rng, threads)
            rarest = found[:, :, -1, k_sure - k_lo - 1].sum()
            fewer = self.target.classes(rarest / part, group[0], crowd, problem, k_hi < len(eps))
            if n_classes == 1 or fewer > 0.7 * n_classes:
                return k_hi, Share(found, part * problem.all_pairs, problem.all_pairs, problem.excluded)
            n_classes = fewer

    def next_range(self, group: tuple[int, int], k_lo: int, known: Floats) -> tuple[int, int, int, float]:
        """How far the next range of scales goes and is to be sure, with how many classes, and the crowd to be
        looked at.

        A wide range saves sorting, a narrow one saves counting: the cheapest per octave is taken. `known`
        holds C of the group's smallest and largest dimension for the scales before k_lo.
        """
        m_lo, m_hi = group
        target, eps, rough = self.target, self.problem.eps, self.rough
        n, all_pairs = self.problem.n, self.problem.all_pairs
        crowd = max(rough.total[min(m_lo, 2) - 1, k_lo], 1) / rough.examined * all_pairs
        top = (known[0, k_lo - 1] if k_lo > 0 else 1.0) * all_pairs
        rest = np.log2(eps[k_lo] / eps[-1]) + 1
        least = target.affordable(crowd, n)
        plans: list[tuple[float, int, int]] = []
        for octaves in (*OCTAVES, rest):
            k_hi = int(np.searchsorted(-eps, -eps[k_lo] * 2.0**-octaves, side="right"))
            k_hi = min(max(k_hi, k_lo + 1), k_lo + MAX_BINS)
            expected = _expect(known[1], rough.total[m_hi - 1], rough.examined, eps, k_lo, k_hi) * all_pairs
            n_classes = target.classes(expected, m_lo, crowd, self.problem, k_hi < len(eps))
            if plans and n_classes == least > 1:
                break  # the effort would cut the accuracy, and a wider range only more so
            per_pair = PAIR_COST + DIMENSION_COST * (m_hi - m_lo)
            cost = SORT_COST * n + (per_pair * top + LOOK_COST * crowd) / n_classes
            saved = min(octaves, rest)
            if n_classes == 1:
                # All pairs of all the rest; most of the work lies in its first octaves, so it saves only two.
                k_hi, saved = min(len(eps), k_lo + MAX_BINS), min(rest, 2.0)
            plans.append((cost / saved, k_hi, n_classes))
        _, k_sure, n_classes = min(plans)
        most = _expect(known[0], rough.total[m_lo - 1], rough.examined, eps, k_lo, k_sure) * all_pairs
        if most >= target.min_pairs:
            return k_sure, k_sure, n_classes, crowd
        # Below, no dimension has pairs enough for an accuracy: what this search finds there will do.
        return min(len(eps), k_lo + MAX_BINS), k_sure, n_classes, crowd


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
