"""The delay for the embedding of a series."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from quantify.aliases import Bools, Counts, Floats, Rng
from quantify.errors import QuantifyError
from quantify.inputs import as_series

ENOUGH = 200_000
"""Samples that are enough for a delay; longer series are cut to this many around their middle."""
PER_CELL = 16
"""Samples for each cell of a table of two values, on average. Coarse classes blur the minimum of the mutual
information: it comes later, and chance moves it. With 32 of them, from 16,000 samples on, its place is that
of a long series.
"""
ROUGH = 0.8
"""Autocorrelation at lag 1 below which every sample tells something new: it was .76 at most for maps, and .94
at least for flows that are sampled some times a round."""

PER_OCTAVE = 3
"""Delays to choose from: 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, ... A number belongs to its delay, and
chance moves the bottom of a valley by some per cent. From these, recordings of one kind mostly get the same.
"""


@dataclass(frozen=True)
class Delay:
    """A delay for the embedding, and the alternatives.

    Attributes
    ----------
    tau : int
        The chosen delay in samples; but for a slow series one of three per octave, that nearest to what the
        rule says (`PER_OCTAVE`).
    rule : str
        Why: "minimum of the mutual information", "every sample is new", "autocorrelation below 1/e" or "slow
        series".
    minimum, below_e, zero : int or None
        First minimum of the mutual information; first lag at which the autocorrelation is below 1/e, and
        below 0. None if there is none up to the largest lag.
    mutual_information : (lags + 1,) float64
        In nats, for lags 0, 1, 2, ... as far as it was needed; averaged over the observables.
    autocorrelation : (max_lag + 1,) float64
        For lags 0, 1, ..., max_lag; averaged over the observables.

    Examples
    --------
    >>> from quantify import choose_delay
    >>> from quantify.systems import Henon
    >>> choose_delay(Henon().sample(2000, 1)[:, 0])  # a map: one step is all there is
    Delay(tau=1, rule='every sample is new', minimum=None, below_e=1, zero=1)
    """

    tau: int
    rule: str
    minimum: int | None
    below_e: int | None
    zero: int | None
    mutual_information: Floats = field(repr=False)
    autocorrelation: Floats = field(repr=False)


def choose_delay(series: ArrayLike, *, max_lag: int | None = None) -> Delay:
    """Delay at which a value tells little about the next one: the first minimum of the mutual information.

    The mutual information I of x_t and x_{t+lag} is that of a histogram of ranks (8 to 32 equally filled
    classes). A minimum is a lag with I < I(0) / 2 that is not undercut by the lags up to 1.25 times as large
    (at least by two lags); ripples of the estimate, and the flat curve of a periodic signal, are ruled out by
    that. If there is none up to twice the first zero of the autocorrelation (a map, a process without
    oscillation, a periodic signal), the delay is 1 where neighbouring samples are little alike (`ROUGH`),
    else the first lag with an autocorrelation below 1/e, and without that `max_lag`, with a warning. The
    bottom of the valley is that of a parabola through it. Of the delays 1, 2, 3, 4, 5, 6, 8, 10, 13, ...,
    three to an octave, the nearest one is taken: numbers belong to a delay, and chance decides between
    neighbours.

    Parameters
    ----------
    series : (N,) or (N, d) array
    max_lag : int, optional
        Largest lag considered; a tenth of the series by default, at most 5,000.

    Examples
    --------
    >>> from quantify import choose_delay
    >>> from quantify.systems import Lorenz
    >>> delay = choose_delay(Lorenz().sample(20_000, 1)[:, 0])
    >>> 15 < delay.tau < 30, delay.rule
    (True, 'minimum of the mutual information')
    >>> delay.tau, delay.minimum  # of three delays per octave, the nearest
    (16, 17)
    """
    x = _middle(as_series(series))
    n = x.shape[1]
    if n < 50:
        raise QuantifyError(f"{n} samples are too few to choose a delay; at least 50 are needed.")
    max_lag = min(n // 10, 5000) if max_lag is None else max_lag
    if not 1 <= max_lag < n - 20:
        raise QuantifyError(f"max_lag = {max_lag} must be at least 1 and below N - 20 = {n - 20}.")
    rho = np.mean([autocorrelation(values, max_lag) for values in x], axis=0)
    below_e, zero = _first(rho < np.exp(-1)), _first(rho < 0)
    (search,) = _first_minima(x, _last_lag(max_lag, zero), np.ones((1, 1)))
    bottom, information = search.bottom, np.array(search.curve)
    minimum = None if bottom is None else round(bottom)
    without, why = _without_minimum(rho, below_e)
    if bottom is not None:
        tau, rule = nearest_delay(bottom), "minimum of the mutual information"
    elif without is not None:
        tau, rule = without, why
    else:
        tau, rule = max_lag, "slow series"
        warnings.warn(
            f"The series hardly changes within max_lag = {max_lag} samples; tau is set to that. "
            "Use a longer or more coarsely sampled series, or give tau.",
            RuntimeWarning,
            stacklevel=2,
        )
    return Delay(tau, rule, minimum, below_e, zero, information, rho)


def _without_minimum(rho: Floats, below_e: int | None) -> tuple[int | None, str]:
    """The delay of a series whose mutual information has no minimum, if there is one, and why."""
    if rho[1] < ROUGH:
        return 1, "every sample is new"
    return None if below_e is None else nearest_delay(below_e), "autocorrelation below 1/e"


def nearest_delay(lag: float) -> int:
    """Of the delays to choose from (`PER_OCTAVE`), the one nearest to a lag, by their ratio.

    Examples
    --------
    >>> from quantify.delays import nearest_delay
    >>> [nearest_delay(lag) for lag in (1, 7.0, 7.2, 8.9, 100)]
    [1, 6, 8, 8, 102]
    """
    return round(2 ** (round(PER_OCTAVE * float(np.log2(lag))) / PER_OCTAVE))


def _first(condition: Bools) -> int | None:
    hits = np.flatnonzero(condition)
    return int(hits[0]) if len(hits) else None


def autocorrelation(values: Floats, max_lag: int) -> Floats:
    """Autocorrelation at lags 0..max_lag, with the mean of the whole and the divisor N."""
    from scipy import fft  # slow to import, so only where it is needed

    centred = values - values.mean()
    size = fft.next_fast_len(len(values) + max_lag, real=True)
    spectrum = np.abs(fft.rfft(centred, size)) ** 2
    covariance = fft.irfft(spectrum, size)[: max_lag + 1]
    return np.asarray(covariance / covariance[0])


class _FirstMinimum:
    """The first minimum of a curve that comes lag by lag.

    `over` tells that it is found, or that there is none: the curve is down at `nothing`.
    """

    def __init__(self, nothing: float) -> None:
        self.nothing, self.over = nothing, False
        self.curve: list[float] = []
        self.lowest = 0
        self.found: int | None = None

    def add(self, value: float) -> None:
        """The value at the next lag."""
        lag = len(self.curve)
        self.curve.append(value)
        if self.found is None:
            self.over = value < self.nothing
            if value < self.curve[self.lowest]:
                self.lowest = lag
            low = self.lowest
            if not self.over and lag >= low + _valley(low) and self.curve[low] < self.curve[0] / 2:
                self.found = low
        if self.found is not None and lag >= self.found + 2 * _valley(self.found):
            self.over = True

    @property
    def bottom(self) -> float | None:
        """Where the minimum is, between lags."""
        return None if self.found is None else _bottom(np.array(self.curve), self.found)


def _first_minima(x: Floats, max_lag: int, weights: Floats) -> list[_FirstMinimum]:
    """First minima of the mutual information, one for every row of `weights`, (n, blocks): how often each
    block of the series counts.
    """
    codes, classes = _classes(x)
    # 2 n I of independent values follows chi² with (classes - 1)² degrees of freedom: below its reach nothing
    # is left to fall, and what looks like a minimum is chance.
    freedom = (classes - 1) ** 2
    nothing = (freedom + 4 * np.sqrt(2 * freedom)) / (2 * x.shape[1])
    searches = [_FirstMinimum(nothing) for _ in weights]
    for lag in range(max_lag + 1):
        going = [not search.over for search in searches]
        if not any(going):
            break
        tables = [_tables(row, lag, classes, weights.shape[1]) for row in codes]
        mixed = [np.tensordot(weights[going], table, axes=1) for table in tables]
        for search, *each in zip(itertools.compress(searches, going), *mixed, strict=True):
            search.add(float(np.mean([_information(table) for table in each])))
    return searches


def _valley(lag: int) -> int:
    """Half the width of a valley around a lag that the estimate's ripples cannot make."""
    return max(2, lag // 4)


def _bottom(curve: Floats, lag: int) -> float:
    """The bottom of the valley around `lag`, by the vertex of a parabola: chance moves it less than the
    lowest value. The parabola is moved once to where it has its vertex, at most by the width of the valley.
    """
    bottom = float(lag)
    for _ in range(2):
        lag = round(bottom)
        near = np.arange(max(1, lag - _valley(lag)), min(len(curve), lag + _valley(lag) + 1))
        if len(near) < 4:
            break
        _, b, a = np.polynomial.polynomial.polyfit(near - lag, curve[near], 2).tolist()
        if not a > 0:
            break
        bottom = float(np.clip(lag - b / (2 * a), near[0], near[-1]))
    return bottom


def delay_draws(
    series: ArrayLike, delay: Delay, rng: Rng = 0, *, blocks: int = 16, draws: int = 50
) -> Counts:
    """Delays that chance might have chosen instead, (draws,); none if it is no minimum of the mutual
    information.

    The tables behind the mutual information are put together from blocks of the series drawn with
    replacement, and the delay is chosen anew. It may lie in another valley: a shallow first one comes and
    goes.
    """
    if delay.minimum is None:
        return np.zeros(0, np.int64)
    x = _middle(as_series(series))
    drawn = np.random.default_rng(rng).multinomial(blocks, np.full(blocks, 1 / blocks), size=draws)
    last = _last_lag(len(delay.autocorrelation) - 1, delay.zero)
    found = [search.bottom for search in _first_minima(x, last, drawn.astype(float))]
    without = _without_minimum(delay.autocorrelation, delay.below_e)[0] or delay.tau
    return np.array([without if bottom is None else nearest_delay(bottom) for bottom in found])


def _last_lag(max_lag: int, zero: int | None) -> int:
    """The last lag at which a minimum is looked for."""
    return max_lag if zero is None else min(max_lag, 2 * zero)


def _middle(x: Floats) -> Floats:
    """The middle `ENOUGH` samples of a (d, N) series."""
    start = max(0, (x.shape[1] - ENOUGH) // 2)
    return x[:, start : start + ENOUGH]


def _classes(x: Floats) -> tuple[Counts, int]:
    """Equally filled classes of the values of every observable, and their number."""
    n = x.shape[1]
    classes = int(np.clip(np.sqrt(n / PER_CELL), 8, 32))
    ranks = np.argsort(np.argsort(x, axis=1, kind="stable"), axis=1, kind="stable")
    return (ranks * classes // n).astype(np.int64), classes


@njit(cache=True)
def _tables(codes, lag, classes, blocks):  # type: ignore[no-untyped-def]
    """Frequencies of two classes `lag` apart, (blocks, classes, classes), by block of the earlier one."""
    n = len(codes) - lag
    table = np.zeros((blocks, classes, classes))
    for i in range(n):
        table[i * blocks // n, codes[i], codes[i + lag]] += 1
    return table


@njit(cache=True)
def _information(table):  # type: ignore[no-untyped-def]
    """Mutual information of a table of frequencies."""
    before, after = np.zeros(len(table)), np.zeros(len(table))
    for a in range(len(table)):
        for b in range(len(table)):
            before[a] += table[a, b]
            after[b] += table[a, b]
    n = before.sum()
    information = 0.0
    for a in range(len(table)):
        for b in range(len(table)):
            if table[a, b] > 0:
                information += table[a, b] / n * np.log(table[a, b] * n / (before[a] * after[b]))
    return information
