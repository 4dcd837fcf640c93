"""The predictive information to quote: one number with its error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.inputs import as_series
from quantify.ksg.coordinates import canonical, embed
from quantify.ksg.mutual_information import local_information
from quantify.ksg.result import Quoted

QUOTED_POINTS = 20_000
PARTS = 8  # of the time axis, for the error
BLOCKS = 16  # for the rough error that decides on m
NEIGHBOURS = 4


class _Estimate(NamedTuple):
    value: float
    error: float
    bias: float
    coordinates: str


def quote(
    series: ArrayLike,
    *,
    tau: int,
    m: int | Sequence[int],
    k: int = NEIGHBOURS,
    theiler: int = 0,
    points: int = QUOTED_POINTS,
    rng: Rng = 0,
) -> Quoted:
    """Predictive information with an error: nearest neighbours in canonical coordinates, less their bias.

    Mutual information does not change when each observable is mapped monotonously, nor when past and future
    are each mapped linearly. So the values of each observable are replaced by normal scores of their ranks
    (values that repeat in random order, which is noise of the data's resolution), and past and future by
    canonical variates. What bias is left at this number of points, above all in many coordinates, is measured
    on Gaussian values with the same canonical correlations, whose information is known, and taken off.

    The lengths m are tried in ascending order. A longer one is taken if it tells more by its standard error;
    two that do not end the search.

    Parameters
    ----------
    series, tau, m, k, theiler
        As in `predictive_information`, whose algorithm 2 is used.
    points : int
        Compare at most so many delay vectors, equally spaced over the whole series.
    rng : numpy.random.Generator or int
        Orders equal values and draws the Gaussian ones.

    Returns
    -------
    Quoted
        NaN if the series is too short for any m.

    Notes
    -----
    The error is the scatter of the estimates from eighths of the series, each made from its own points alone,
    over the square root of 8. (That of the points' contributions would be too small in many coordinates,
    where the points share their neighbours.) There are no canonical coordinates where past and future share
    a linear combination; there, the normal scores are used as they are and no bias is taken off.

    Examples
    --------
    >>> from quantify.ksg import quote
    >>> from quantify.systems import AutoRegressive
    >>> process = AutoRegressive((1.6, -0.8))
    >>> found = quote(process.sample(4000, 1), tau=1, m=[1, 2, 3])
    >>> found.m, abs(found.value - process.PI(2)) < 3 * found.error  # 1.80 nats
    (2, True)
    """
    generator = np.random.default_rng(rng)
    scores = _normal_scores(as_series(series), generator)
    n = scores.shape[1]

    def estimate(part: Floats, length: int) -> _Estimate:
        stride = _stride(n, length, tau, points)
        return _estimate(embed(part, 2 * length, tau)[:, ::stride], k, theiler // stride, generator)

    def of_parts(length: int, parts: int) -> list[float]:
        """Estimates from parts of the series; none if they are too short."""
        stride = _stride(n, length, tau, points)
        left = (n // parts - (2 * length - 1) * tau) // stride
        if left < max(BLOCKS, k + 2 * (theiler // stride) + 1):
            return []
        return [estimate(part, length).value for part in np.array_split(scores, parts, axis=1)]

    chosen, best, no_gain = 0, _Estimate(-np.inf, 0.0, 0.0, ""), 0
    for length in sorted({int(v) for v in np.atleast_1d(m)}):
        stride = _stride(n, length, tau, points)
        if (n - (2 * length - 1) * tau) // stride < max(BLOCKS, k + 2 * (theiler // stride) + 1):
            break
        found = estimate(scores, length)
        if found.value - found.error > best.value:
            chosen, best, no_gain = length, found, 0
        else:
            no_gain += 1
        if no_gain == 2:
            break
    if not chosen:
        return Quoted(np.nan, np.nan, int(np.min(m)), 0.0, k=k)
    halves, eighths = of_parts(chosen, 2), of_parts(chosen, PARTS)
    half = float(np.mean(halves)) if halves else np.nan
    error = float(np.std(eighths, ddof=1) / np.sqrt(PARTS)) if eighths else np.nan
    return Quoted(best.value, half, chosen, 0.0, error, best.bias, k, best.coordinates)


def _stride(n: int, length: int, tau: int, points: int) -> int:
    """Every how many-th delay vector is compared."""
    return max(1, -(-(n - (2 * length - 1) * tau) // points))


def _normal_scores(x: Floats, rng: np.random.Generator) -> Floats:
    """Each row's ranks as quantiles of the normal distribution; equal values in random order."""
    from scipy.special import ndtri  # slow to import

    ranks = np.empty(x.shape)
    for row, values in zip(ranks, x, strict=True):
        row[np.lexsort((rng.random(len(values)), values))] = np.arange(len(values))
    return np.asarray(ndtri((ranks + 0.5) / x.shape[1]))


def _estimate(columns: Floats, k: int, theiler: int, rng: np.random.Generator) -> _Estimate:
    """Information between the two halves of the coordinates."""
    try:
        columns, split = canonical(columns)
        coordinates = "canonical"
        bias = _gaussian_bias(columns, split, k, rng)
    except QuantifyError:
        split, coordinates, bias = len(columns) // 2, "delay", 0.0
    local, _ = local_information(columns, split, k, 2, theiler)
    blocks = [block.mean() for block in np.array_split(local, BLOCKS)]
    error = float(np.std(blocks, ddof=1) / np.sqrt(BLOCKS))
    return _Estimate(float(local.mean()) - bias, error, bias, coordinates)


def _gaussian_bias(columns: Floats, split: int, k: int, rng: np.random.Generator) -> float:
    """Error of the estimate for independent Gaussian points with the same canonical correlations."""
    pairs = min(split, len(columns) - split)
    u, v = columns[:pairs], columns[split : split + pairs]
    rho = (u * v).mean(axis=1) / np.sqrt((u**2).mean(axis=1) * (v**2).mean(axis=1))
    z = rng.standard_normal(columns.shape)
    z[split : split + pairs] = (
        rho[:, None] * z[:pairs] + np.sqrt(1 - rho[:, None] ** 2) * z[split : split + pairs]
    )
    # The correlations that these points happen to have: their scatter is not the estimator's.
    seen = [np.corrcoef(z[i], z[split + i])[0, 1] for i in range(pairs)]
    exact = -0.5 * np.log1p(-np.square(seen)).sum()
    scale = columns.std(axis=1, keepdims=True)
    return float(local_information(scale * z, split, k, 2, 0)[0].mean() - exact)
