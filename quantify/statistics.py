"""Few, skewed, paired values: medians with exact intervals, exact signed-rank tests, many tests at once.

The interval beside a test is that of the test: it holds the differences that the test does not reject, and
assumes, as the test does, that they scatter symmetrically. Nothing else here assumes a shape of the
distribution, and nothing relies on large numbers. A value of -inf is allowed everywhere: it stands for a run
that has no value because it failed, and ranks below every other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quantify.errors import QuantifyError

HOLDS, CONTRARY, OPEN = VERDICTS = "holds", "does not hold", "undecided"
Expected = Literal["rises", "falls", "stays level"]


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
    """How two groups of paired values differ: location of the differences a - b, and the p-value of none."""

    difference: Median
    p: float


@dataclass(frozen=True)
class Pair:
    """How group `a` differs from group `b` (`Paired`), with the p-value corrected for all pairs of groups."""

    a: str
    b: str
    difference: Median
    p: float
    p_holm: float


def median(values: Sequence[float], confidence: float = 0.95) -> Median:
    """Median with an exact interval from order statistics.

    The population's median lies between the k-th smallest and the k-th largest of n values with probability
    1 - 2 P(B < k), B binomial(n, 1/2), whatever the distribution. The largest k with at least `confidence` is
    taken; if n is too small for that (n < 6 for .95), the whole range, whose smaller coverage is stated. A
    bootstrap of so few values draws medians out of a handful of numbers, with a coverage that is not known.
    """
    x = np.sort(_checked(values))
    n = len(x)
    from scipy.stats import binom  # slow to import, so only where it is needed

    return _between(x, binom.cdf(np.arange(n), n, 0.5), confidence, n)


def known_median(values: Iterable[float | None]) -> Median | None:
    """The median of the values that exist, `n` of them; None if there are none.

    Examples
    --------
    >>> from quantify.statistics import known_median
    >>> known_median([1.0, None, 3.0])
    Median(value=2.0, lo=1.0, hi=3.0, coverage=0.5, n=2)
    """
    known = [value for value in values if value is not None]
    return median(known) if known else None


def judge(change: Median | None, expected: Expected, level: float = 0.0, confidence: float = 0.9) -> str:
    """Whether something changes as expected, by an interval for its change.

    Parameters
    ----------
    change : Median or None
        Of the differences after - before; None if there are none.
    expected : str
        "rises", "falls" or "stays level".
    level : float
        What stays level changes by no more than this.
    confidence : float
        An interval that covers less decides nothing.

    Returns
    -------
    str
        "holds" if the whole interval lies where it should, "does not hold" if it lies on the contrary side,
        else "undecided".

    Examples
    --------
    >>> from quantify.statistics import judge, median
    >>> judge(median([1, 2, 3, 4, 5], 0.9), "rises")
    'holds'
    >>> judge(median([1, 2, 3], 0.9), "rises")  # the range of three values covers 75 %
    'undecided'
    """
    if change is None or change.coverage < confidence:
        return OPEN
    if expected == "stays level":
        holds = -level <= change.lo and change.hi <= level
        contrary = change.lo > level or change.hi < -level
    else:
        up, down = change.lo > 0, change.hi < 0
        holds, contrary = (up, down) if expected == "rises" else (down, up)
    return HOLDS if holds else CONTRARY if contrary else OPEN


def hodges_lehmann(differences: Sequence[float], confidence: float = 0.95) -> Median:
    """Location of paired differences with the exact interval of the signed-rank test.

    The median of the n (n + 1) / 2 Walsh averages (d_i + d_j) / 2, i <= j (Hodges & Lehmann 1963). The sum T
    of the positive ranks of d - theta is the number of Walsh averages above theta, so that the k-th smallest
    and the k-th largest of them enclose what the test does not reject at 2 P(T < k): `coverage` is
    1 - 2 P(T < k). It assumes what the test assumes, differences that scatter symmetrically; ties make it
    wider than it need be. A failure on each side has no average: half of these pairs count as above
    everything and half as below, as they do in T.
    """
    d = _checked(differences)
    first, second = np.triu_indices(len(d))
    with np.errstate(invalid="ignore"):
        walsh = (d[first] + d[second]) / 2
    neither = np.isnan(walsh)
    sides = np.sign(np.arange(neither.sum()) - (neither.sum() - 1) / 2)
    walsh[neither] = np.where(sides, np.copysign(np.inf, sides), 0.0)
    walsh.sort()
    return _between(walsh, np.cumsum(_rank_sums(np.arange(1, len(d) + 1))), confidence, len(d))


def _checked(values: Sequence[float]) -> NDArray[np.float64]:
    x = np.asarray(values, dtype=float)
    if not len(x) or np.isnan(x).any():
        bad = np.isnan(x).sum()
        raise QuantifyError(f"{len(x)} values, {bad} of them NaN: a median needs at least one and no NaN.")
    return x


def _between(x: NDArray[np.float64], cdf: NDArray[np.float64], confidence: float, n: int) -> Median:
    """Middle, k-th smallest and k-th largest of sorted values; cdf[k - 1] is the chance to miss on a side."""
    size = len(x)
    k = max(1, int((2 * cdf[: size // 2] <= 1 - confidence).sum()))
    coverage = max(0.0, 1 - 2 * float(cdf[k - 1]))
    lower, upper = float(x[(size - 1) // 2]), float(x[size // 2])
    # As many failures on one side as on the other: no difference.
    middle = 0.0 if lower == -upper else (lower + upper) / 2
    return Median(middle, float(x[k - 1]), float(x[size - k]), coverage, n)


def paired(a: Sequence[float], b: Sequence[float]) -> Paired:
    """Compare values that belong together in pairs, such as two controllers with the same seed.

    Wilcoxon's signed-rank test, two-sided: under the null hypothesis each difference could as well have the
    other sign. The p-value is exact (all 2^n signs, ties included). Pairs that are equal say nothing and are
    left out; two failures are equal, and one failure is the largest difference there can be. The difference
    is that of Hodges and Lehmann, with the interval that belongs to this test.
    """
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or not len(x):
        raise QuantifyError(f"{x.shape} and {y.shape} are not pairs of at least one value.")
    with np.errstate(invalid="ignore"):
        difference = np.where(x == y, 0.0, x - y)
    return Paired(hodges_lehmann(difference.tolist()), signed_rank(difference))


def signed_rank(difference: Sequence[float] | np.ndarray) -> float:
    """Exact two-sided p-value of Wilcoxon's signed-rank test; 1 if all differences are 0."""
    d = np.asarray(difference, dtype=float)
    d = d[d != 0]
    if not len(d):
        return 1.0
    # Ranks of ties are halves: twice the ranks are whole numbers, whose sums can be counted, in steps as
    # large as they allow.
    from scipy.stats import rankdata  # slow to import

    ranks = np.rint(2 * rankdata(np.abs(d))).astype(int)
    ranks //= np.gcd.reduce(ranks)
    chance = _rank_sums(ranks)
    positive = ranks[d > 0].sum()
    return float(min(1.0, 2 * min(chance[: positive + 1].sum(), chance[positive:].sum())))


def _rank_sums(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Chance of every sum of the positive ranks when each sign is a fair coin."""
    chance = np.zeros(ranks.sum() + 1)
    chance[0] = 1.0
    top = 0
    for rank in np.sort(ranks):
        possible = chance[: top + rank + 1]
        possible *= 0.5  # at every coin: the number of ways, 2^n, is no float from 1024 pairs on
        possible[rank:] += possible[: top + 1]
        top += rank
    return chance


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


def all_pairs(groups: Mapping[str, Sequence[float]]) -> list[Pair]:
    """Every two of the groups, in their order, whose values belong together as in `paired`."""
    names = list(itertools.combinations(groups, 2))
    tests = [paired(groups[a], groups[b]) for a, b in names]
    corrected = holm([test.p for test in tests])
    return [
        Pair(a, b, test.difference, test.p, p)
        for (a, b), test, p in zip(names, tests, corrected, strict=True)
    ]


def number(found: Mapping[str, Any] | None, size: int = 0) -> str:
    """The value of a median in plain form, briefly; with how many it rests on, if that is less than `size`.

    Examples
    --------
    >>> from dataclasses import asdict
    >>> from quantify.statistics import median, number
    >>> number(asdict(median([1.0, 2.0])), size=3), number(None)
    ('1.50 (2)', '-')
    """
    if found is None or found["value"] is None:
        return "-"
    return f"{found['value']:z.2f}" + (f" ({found['n']})" if found["n"] < size else "")


def interval(found: Mapping[str, Any], style: str = "z.2f") -> str:
    """A median in plain form with its interval, which one value has not; "none" where there is no number.

    Examples
    --------
    >>> from dataclasses import asdict
    >>> from quantify.statistics import interval, median
    >>> interval(asdict(median([1.0, 2.0, 4.0])))
    '2.00 [1.00, 4.00]'
    """
    middle, lo, hi = (
        "none" if found[key] is None else format(float(found[key]), style) for key in ("value", "lo", "hi")
    )
    return middle if found["n"] == 1 else f"{middle} [{lo}, {hi}]"
