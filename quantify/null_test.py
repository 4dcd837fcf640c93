"""Is a series more than its null? Its complexity beside that of surrogates, quantified in the same way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from quantify import surrogates
from quantify.aliases import Floats, Progress, Rng
from quantify.correlation import CorrelationSums, correlation_sums
from quantify.decomposition import decompose
from quantify.delays import choose_delay
from quantify.errors import QuantifyError
from quantify.inputs import as_series, check_whole, resolution_of
from quantify.plain import from_plain, to_plain
from quantify.scales import default_eps_min, keep_scales
from quantify.theiler import theiler_window

Null = Literal["shuffle", "phase", "iaaft", "cycles", "pseudo-periodic", "twins"]
Side = Literal["two-sided", "more", "less"]
MOST = 9999
"""So many surrogates at most: all are kept, and p is told to a ten-thousandth."""
STATISTICS = ("E_core", "E_state", "E_mem", "E", "D")
# What a series is according to each null hypothesis.
WORDS = {
    "shuffle": "independent values",
    "phase": "a linear Gaussian process",
    "iaaft": "a linear Gaussian process seen through a monotone function",
    "cycles": "a cycle with noise that is forgotten within a round",
    "pseudo-periodic": "a cycle with noise",
    "twins": "another course of the same dynamics",
}
# Making one of these surrogates adds something of its own (joints, jumps): what, is seen by making it twice.
MADE_TWICE = ("cycles", "pseudo-periodic", "twins")
# Samples that are kept of a quarter of a round, about the usual delay. More say nothing new, and hide the
# difference: of 8 Rössler series with 63 samples a round E_core told none from its surrogates, and 7 when
# every third sample was kept.
QUARTER = 5
COHERENT = 0.15
# The grid of scales, down from the extent of the series.
PER_OCTAVE, OCTAVES = 8, 12


@dataclass(frozen=True)
class NullTest:
    """A number of a series beside the same number of surrogates, which are what the null hypothesis says.

    Attributes
    ----------
    statistic : str
        Which number, in nats except D.
    value : float
        Of the series, on the scales `lo` to `hi`. Not that of `quantify`, which chooses other scales.
    null : str
        Which surrogates.
    null_mean, null_sd : float
        Mean and standard deviation of the surrogates' numbers.
    offset : float
        How much making a surrogate changes the number by itself: that of a surrogate less that of its own
        surrogate, on average. 0 for nulls whose surrogates need no such correction.
    excess : float
        value - null_mean - offset.
    sds : float
        The excess in standard deviations of what it is under the null.
    p : float
        Rank p-value, (r + 1) / (n + 1), where r surrogates lie at least as far out as the series. Where
        making a surrogate changes the number by itself, the larger one of those of number and change.
    side : str
        What counts as far out: "two-sided" from the median of all, "more" or "less" than others.
    n : int
        Number of surrogates.
    lo, hi : float
        Scales, the same for all.
    tau, m_max, theiler : int
        Settings, the same for all.
    cut : float
        Share of the series that was left out to match its ends (Fourier surrogates).
    every : int
        Only every so many samples were compared (cycles that are sampled finely); `tau` and `theiler` are in
        samples of the series all the same.

    Examples
    --------
    >>> from quantify.null_test import NullTest, against_null
    >>> from quantify.systems import Henon
    >>> found = against_null(Henon().sample(800, 1)[:, 0], null="iaaft", n=19, statistic="D", m_max=3)
    >>> found.p
    0.05
    >>> found.sentence.partition(": ")[2]
    'the series is not just a linear Gaussian process seen through a monotone function.'
    >>> NullTest.from_dict(found.to_dict()) == found
    True
    """

    statistic: str
    value: float
    null: str
    null_mean: float
    null_sd: float
    offset: float
    excess: float
    sds: float
    p: float
    side: str
    n: int
    lo: float
    hi: float
    tau: int
    m_max: int
    theiler: int
    cut: float = 0.0
    every: int = 1

    @property
    def sentence(self) -> str:
        """What was found, in words; a p-value up to .05 counts as a difference."""
        if not math.isfinite(self.p):
            return (
                f"{self.statistic} has no value on scales {self.lo:.3g} to {self.hi:.3g}: nothing was tested."
            )
        unit = "" if self.statistic == "D" else " nats"
        way = "more" if self.excess >= 0 else "less"
        verdict = (
            f"the series is not just {WORDS[self.null]}"
            if self.p <= 0.05
            else f"the series cannot be told from {WORDS[self.null]}"
        )
        return (
            f"{self.statistic} is {self.value:.2f}{unit} on scales {self.lo:.3g} to {self.hi:.3g}, "
            f"{abs(self.excess):.2f}{unit} ({abs(self.sds):.1f} standard deviations) {way} than {self.n} "
            f"surrogates let expect; p = {self.p:.2g} ({self.side}): {verdict}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON (None for NaN), and the sentence."""
        return to_plain(asdict(self) | {"sentence": self.sentence})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> NullTest:
        """A result from `to_dict`."""
        return from_plain({name: v for name, v in values.items() if name != "sentence"}, cls)


def usual_null(series: ArrayLike) -> Null:
    """The null hypothesis for a series: a cycle with noise if it goes in rounds, else a linear process.

    It goes in rounds if their lengths have a standard deviation of at most 15 % of the mean: noisy limit
    cycles, the Rössler system and tori have 2 to 10 %, resonant linear processes 17 % and more, noise and
    maps 40 %.

    Examples
    --------
    >>> from quantify.null_test import usual_null
    >>> from quantify.systems import Henon, Roessler
    >>> usual_null(Roessler().sample(2000, 1)[:, 0]), usual_null(Henon().sample(2000, 1)[:, 0])
    ('cycles', 'iaaft')
    """
    try:
        lengths = np.diff(surrogates.find_rounds(series).start)
    except QuantifyError:
        return "iaaft"
    return "cycles" if lengths.std() <= COHERENT * lengths.mean() else "iaaft"


def against_null(
    series: ArrayLike,
    *,
    null: Null = "cycles",
    n: int = 99,
    statistic: str = "E_core",
    **settings: Any,
) -> NullTest:
    """How much more a series is than the null hypothesis: its complexity beside that of n surrogates.

    See `null_tests`, which does this for several statistics at once at the same cost.

    Examples
    --------
    Values that follow one another are more than independent ones:

    >>> from quantify.null_test import against_null
    >>> from quantify.systems import AutoRegressive
    >>> found = against_null(AutoRegressive((0.8,)).sample(500, 1), null="shuffle", n=19, m_max=3, tau=1)
    >>> found.p, found.excess > 0.1
    (0.05, True)
    """
    return null_tests(series, statistics=(statistic,), null=null, n=n, **settings)[statistic]


def check_null(null: str | None, n: int, name: str = "n") -> None:
    """Refuse a null that is not known, and a number of surrogates that cannot be."""
    if null is not None and null not in WORDS:
        raise QuantifyError(f"null = {null!r}; choose one of {', '.join(WORDS)}.")
    check_whole(name, n, 19, MOST)


def null_tests(
    series: ArrayLike,
    *,
    null: Null = "cycles",
    n: int = 99,
    statistics: Sequence[str] = STATISTICS,
    side: Side = "two-sided",
    tau: int | None = None,
    m_max: int = 6,
    theiler: int | None = None,
    rng: Rng = 0,
    progress: Progress | None = None,
    **decomposition: Any,
) -> dict[str, NullTest]:
    """Numbers of a series beside those of n surrogates, each with a rank p-value.

    The rank test is exact if the series and its surrogates are exchangeable under the null hypothesis and are
    treated alike. So whatever is chosen from the data is chosen from all of them together, by rules in which
    the series has no special place: tau and the Theiler window are the median of theirs, the scales are the
    lowest octave that has enough pairs in every one of them, and which terms belong to state, core and memory
    is decided on their mean entropies. (Each on its own would jump where a slope crosses s_min.)

    Shuffled and Fourier surrogates fulfil their null hypothesis by construction. The rounds of a cycle need
    joints, a pseudo-periodic or twin surrogate jumps; this alone changes every number a little, so that the
    series would stand out among its surrogates for no good reason. Therefore the change is compared, not the
    number: T(series) - T(its surrogate) beside T(surrogate) - T(surrogate of the surrogate), each made in
    the same way. If the series is what the null hypothesis says, the first change is like the others. That is
    so but for small differences: a surrogate has its joints already where its own surrogates get theirs. So
    the number must stand out as well, and p is the larger one of the two. Of a cycle that is sampled finely
    only every so many samples are used, so that the delay has about five.

    Parameters
    ----------
    series : (N,) or (N, d) array
    null : str
        "shuffle", "phase", "iaaft" (ends matched first), "cycles", "pseudo-periodic" or "twins".
    n : int
        Number of surrogates, at least 19 (p cannot be below 1 / (n + 1)), at most 9,999. Surrogates that are
        made twice cost twice.
    statistics : sequence of str
        Of "E_core", "E_state", "E_mem", "E" (excess entropy) and "D".
    side : "two-sided", "more" or "less"
        Whether the series may differ either way, or is expected to have more, or less.
    tau, theiler : int, optional
        Delay and Theiler window in samples, for all. Default: the median of what `choose_delay` and
        `theiler_window` say of the series and its surrogates.
    m_max : int
        Largest embedding. With the default delay, about a quarter of a cycle, 6 look back over a round.
    rng : numpy Generator or seed
    progress : callable, optional
        ``progress(done, total)``.
    **decomposition
        Further settings of `decompose`.

    Returns
    -------
    dict of NullTest by statistic
    """
    check_null(null, n)
    unknown = set(statistics) - set(STATISTICS)
    if unknown:
        raise QuantifyError(f"statistic = {min(unknown)!r}; choose from {', '.join(STATISTICS)}.")
    if side not in ("two-sided", "more", "less"):
        raise QuantifyError(f"side = {side!r}; choose 'two-sided', 'more' or 'less'.")
    x, cut = np.asarray(series, dtype=float), 0.0
    twice, every = null in MADE_TWICE, 1
    if twice:
        every = max(1, round((choose_delay(x).tau if tau is None else tau) / QUARTER))
        x = x[::every]
        tau = None if tau is None else max(1, round(tau / every))
        theiler = None if theiler is None else math.ceil(theiler / every)
    rows = as_series(x)
    extent, resolution = float(np.ptp(rows, axis=1).max()), resolution_of(rows)
    if null in ("phase", "iaaft"):
        ends = surrogates.match_ends(x)
        x, cut = x[ends.start : ends.stop], ends.cut
    generators = np.random.default_rng(rng).spawn(n + 1)
    make = _maker(x, null, tau)
    # The series and the surrogates that it is ranked with; and, if made twice, a surrogate of each.
    ranked = [x, *(make(g) for g in generators[1:])]
    tau = _median([choose_delay(y).tau for y in ranked]) if tau is None else tau
    theiler = _median([theiler_window(y, tau=tau) for y in ranked]) if theiler is None else theiler
    eps = extent / 2.0 ** (np.arange(PER_OCTAVE * OCTAVES + 1) / PER_OCTAVE)
    eps = eps[eps >= resolution]
    total = (1 + twice) * len(ranked)
    done = 0

    def count(y: Floats) -> CorrelationSums:
        nonlocal done
        found = correlation_sums(y, tau=tau, m_max=m_max, eps=eps, theiler=theiler, blocks=0)
        done += 1
        if progress is not None:
            progress(done, total)
        return found

    sums = [count(y) for y in ranked]
    if twice:
        makers = (make, *(_maker(y, null, tau) for y in ranked[1:]))
        sums += [count(again(g)) for again, g in zip(makers, generators, strict=True)]
    lo = max(default_eps_min(s)[0] for s in sums)
    values = _numbers(sums, lo, decomposition)
    made = {"null": null, "n": n, "side": side, "m_max": m_max, "every": every}
    made |= {"tau": tau * every, "theiler": theiler * every}
    return {name: _ranked(values[name], twice, name, lo, cut, made) for name in statistics}


def _median(values: list[int]) -> int:
    """The lower median, which is one of the values."""
    return sorted(values)[(len(values) - 1) // 2]


def _maker(x: Floats, null: Null, tau: int | None) -> Callable[[np.random.Generator], Floats]:
    """Makes surrogates of one series; what they share is found once."""
    if null == "cycles":
        rounds = surrogates.find_rounds(x)
        return lambda rng: surrogates.cycle_shuffle(x, rng, rounds=rounds)
    if null in ("pseudo-periodic", "twins"):
        own = choose_delay(x).tau if tau is None else tau
        if null == "twins":
            twins = surrogates.find_twins(x, tau=own)
            return lambda rng: surrogates.twin(x, rng, tau=own, twins=twins)
        rho = surrogates.noise_radius(x, tau=own)
        return lambda rng: surrogates.pseudo_periodic(x, rng, tau=own, rho=rho)
    simple = {"shuffle": surrogates.shuffle, "phase": surrogates.phase, "iaaft": surrogates.iaaft}[null]
    return lambda rng: simple(x, rng)


def _numbers(sums: list[CorrelationSums], lo: float, decomposition: dict[str, Any]) -> dict[str, Floats]:
    """All statistics over the octave above `lo`, an array over the series each; one split serves all."""
    kept = [keep_scales(s, lo)[0] for s in sums]
    H = -np.log([s.C for s in kept])  # (series, m, eps)
    parts = decompose(replace(kept[0], C=np.exp(-H.mean(axis=0))), eps_min=lo, **decomposition)
    octave = parts.eps <= 2 * lo * (
        1 + 1e-9
    )  # the scale an octave above belongs to it, whatever its rounding
    m = np.arange(1, H.shape[1])[:, None]
    h = np.diff(H, axis=1, prepend=0)
    terms = (m * -np.diff(h, axis=1))[:, :, octave]  # m delta_h_m
    m_l, m_u = parts.m_l[octave], parts.m_u[octave]
    within = (m_l <= m) & (m <= m_u)
    state = (terms * (m < m_l)).sum(axis=1) + (within * m * parts.plateau[:, octave]).sum(axis=0)
    memory = (terms * (m > m_u)).sum(axis=1)
    E = terms.sum(axis=1)
    x = np.log(parts.eps[octave])
    slope = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    return {
        "E_core": (state + memory).mean(axis=1),
        "E_state": state.mean(axis=1),
        "E_mem": memory.mean(axis=1),
        "E": E.mean(axis=1),
        "D": -E @ slope,
    }


def _rank_p(values: Floats, side: Side) -> float:
    """Share of the values, the first included, that lie at least as far out as the first; NaN if it has none.

    A surrogate without a value counts as far out.
    """
    if not math.isfinite(values[0]):
        return math.nan
    out = {"two-sided": np.abs(values - np.median(values)), "more": values, "less": -values}[side]
    return float(np.mean(~(out < out[0])))


def _ranked(
    values: Floats, twice: bool, statistic: str, lo: float, cut: float, made: dict[str, Any]
) -> NullTest:
    """The test of one statistic from its values: of the series, its surrogates, and those of them all."""
    n = made["n"]
    first = values[: n + 1]
    compared = first - values[n + 1 :] if twice else first
    offset = float(compared[1:].mean()) if twice else 0.0
    null_mean, null_sd = float(first[1:].mean()), float(first[1:].std(ddof=1))
    excess = float(first[0]) - null_mean - offset
    sd = float(compared[1:].std(ddof=1))
    p = max(_rank_p(one, made["side"]) for one in ((compared, first) if twice else (first,)))
    return NullTest(
        statistic=statistic,
        value=float(first[0]),
        null_mean=null_mean,
        null_sd=null_sd,
        offset=offset,
        excess=excess,
        sds=excess / sd if sd > 0 else math.nan,
        p=p,
        lo=lo,
        hi=2 * lo,
        cut=cut,
        **made,
    )
