"""The time after which two points of a series count as independent: the Theiler window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Counts, Floats
from quantify.delays import choose_delay
from quantify.errors import QuantifyError
from quantify.inputs import as_series


@dataclass(frozen=True)
class SpaceTimeSeparation:
    """How far apart two points are after a time: quantiles of the distance, over the time between them.

    Attributes
    ----------
    lags : (n_lags,) int64
    quantiles : (n_quantiles,) float64
    distance : (n_quantiles, n_lags) float64
        The share `quantile` of the pairs of delay vectors `lag` samples apart is closer than this (max norm).
    tau, m : int
        Embedding.
    """

    lags: Counts
    quantiles: Floats
    distance: Floats
    tau: int
    m: int


def space_time_separation(
    series: ArrayLike,
    *,
    tau: int | None = None,
    m: int = 3,
    quantiles: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9),
    max_lag: int | None = None,
    points: int = 2000,
) -> SpaceTimeSeparation:
    """Space-time separation plot (Provenzale et al. 1992).

    Parameters
    ----------
    series : (N,) or (N, d) array
    tau, m : int
        Delay (default: `choose_delay`) and length of the delay vectors.
    quantiles : tuple of float
        Shares of pairs, each in (0, 1).
    max_lag : int, optional
        Default: a quarter of the series. Lags up to 64 are all looked at, larger ones in steps of 5 %.
    points : int
        Pairs for each lag. Their times are spread by the golden ratio, which keeps step with no period of the
        series; nothing is drawn at random.
    """
    x = as_series(series)
    tau = choose_delay(series).tau if tau is None else tau
    if m < 1 or tau < 1:
        raise QuantifyError(f"m = {m} and tau = {tau} must be at least 1.")
    if not quantiles or not all(0 < q < 1 for q in quantiles):
        raise QuantifyError(f"quantiles = {quantiles} must lie between 0 and 1.")
    n = x.shape[1] - (m - 1) * tau
    max_lag = n // 4 if max_lag is None else max_lag
    if not 1 <= max_lag < n:
        raise QuantifyError(
            f"{x.shape[1]} samples leave {max(n, 0)} delay vectors for m = {m}, tau = {tau}; "
            f"lags up to max_lag = {max_lag} need more. Use a longer series or smaller values."
        )
    lags = np.concatenate([np.arange(1, 65), np.floor(64 * 1.05 ** np.arange(400))]).astype(np.int64)
    lags = np.unique(lags[lags <= max_lag])
    golden = (5**0.5 - 1) / 2
    distance = np.empty((len(quantiles), len(lags)))
    for column, lag in enumerate(lags):
        i = np.unique((np.arange(points) * golden % 1 * (n - lag)).astype(np.int64))
        apart = np.zeros(len(i))
        for j in range(m):
            difference = np.abs(x[:, i + j * tau] - x[:, i + j * tau + lag])
            apart = np.maximum(apart, difference.max(axis=0))
        distance[:, column] = np.quantile(apart, quantiles)
    return SpaceTimeSeparation(lags, np.array(quantiles, dtype=float), distance, tau, m)


def theiler_window(series: ArrayLike, *, tau: int | None = None, m: int = 3, quantile: float = 0.1) -> int:
    """Time within which points are close because they are neighbours in time, not because the dynamics
    returned.

    Read off the space-time separation plot: the first lag at which the distance below which the share
    `quantile` of the pairs lies has reached 90 % of its plateau, the median over all lags in the upper half
    of those looked at. Pairs at most so far apart in time should be left out of correlation sums and
    neighbour searches.

    Parameters
    ----------
    series : (N,) or (N, d) array
    tau, m, quantile
        As in `space_time_separation`. A small quantile watches the close pairs, which matter.

    Returns
    -------
    int
        In samples, at least 1.

    Examples
    --------
    Points of the Lorenz attractor are near one another for a while because they follow one another; those
    of noise are not:

    >>> from quantify import theiler_window
    >>> from quantify.systems import Lorenz, UniformNoise
    >>> theiler_window(UniformNoise().sample(2000, 1))
    1
    >>> theiler_window(Lorenz().sample(20_000, 1)[:, 0]) > 10
    True
    """
    plot = space_time_separation(series, tau=tau, m=m, quantiles=(quantile,))
    curve = plot.distance[0]
    plateau = np.median(curve[plot.lags >= plot.lags[-1] / 2])
    return int(plot.lags[np.argmax(curve >= 0.9 * plateau)])
