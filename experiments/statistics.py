"""Few, skewed, paired values: medians with exact intervals, exact signed-rank tests, many tests at once.

Nothing here assumes a shape of the distribution, and nothing relies on large numbers. A value of -inf is
allowed everywhere: it stands for a run that has no value because it failed, and ranks below every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, rankdata


@dataclass(frozen=True)
class Median:
    """A median with an interval that contains the population's median with probability `coverage`."""

    value: float
    lo: float
    hi: float
    coverage: float
    n: int


@dataclass(frozen=True)
class Paired:
    """How two groups of paired values differ: median of the differences a - b, and the p-value of none."""

    difference: Median
    p: float


def median(values: Sequence[float], confidence: float = 0.95) -> Median:
    """Median with an exact interval from order statistics.

    The population's median lies between the k-th smallest and the k-th largest of n values with probability
    1 - 2 P(B < k), B binomial(n, 1/2), whatever the distribution. The largest k with at least `confidence` is
    taken; if n is too small for that (n < 6 for .95), the whole range, whose smaller coverage is stated. A
    bootstrap of so few values draws medians out of a handful of numbers, with a coverage that is not known.
    """
    x = np.sort(np.asarray(values, dtype=float))
    n = len(x)
    if not n or np.isnan(x).any():
        bad = np.isnan(x).sum()
        raise ValueError(f"{n} values, {bad} of them NaN: a median needs at least one and no NaN.")
    k = max([1, *(k for k in range(1, n // 2 + 1) if 2 * binom.cdf(k - 1, n, 0.5) <= 1 - confidence)])
    coverage = max(0.0, 1 - 2 * float(binom.cdf(k - 1, n, 0.5)))
    lower, upper = float(x[(n - 1) // 2]), float(x[n // 2])
    # As many failures on one side as on the other: no difference.
    middle = 0.0 if lower == -upper else (lower + upper) / 2
    return Median(middle, float(x[k - 1]), float(x[n - k]), coverage, n)


def paired(a: Sequence[float], b: Sequence[float]) -> Paired:
    """Compare values that belong together in pairs, such as two controllers with the same seed.

    Wilcoxon's signed-rank test, two-sided: under the null hypothesis each difference could as well have the
    other sign. The p-value is exact (all 2^n signs, ties included). Pairs that are equal say nothing and are
    left out; two failures are equal, and one failure is the largest difference there can be.
    """
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or not len(x):
        raise ValueError(f"{x.shape} and {y.shape} are not pairs of at least one value.")
    with np.errstate(invalid="ignore"):
        difference = np.where(x == y, 0.0, x - y)
    return Paired(median(difference.tolist()), signed_rank(difference))


def signed_rank(difference: Sequence[float] | np.ndarray) -> float:
    """Exact two-sided p-value of Wilcoxon's signed-rank test; 1 if all differences are 0."""
    d = np.asarray(difference, dtype=float)
    d = d[d != 0]
    if not len(d):
        return 1.0
    # Ranks of ties are halves: twice the ranks are whole numbers, whose sums can be counted.
    ranks = np.rint(2 * rankdata(np.abs(d))).astype(int)
    ways = np.zeros(ranks.sum() + 1)
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[:-rank]
    ways /= ways.sum()
    positive = ranks[d > 0].sum()
    return float(min(1.0, 2 * min(ways[: positive + 1].sum(), ways[positive:].sum())))


def smallest_p(n: int) -> float:
    """The smallest p-value that n pairs can have: all differences of the same sign."""
    return min(1.0, 2.0 ** (1 - n))


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for many tests (Holm 1979): the chance of any false alarm stays below the level."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = (len(values) - np.arange(len(values))) * values[order]
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(v) for v in corrected]
