"""Correlation sums of a time series for all embedding dimensions in one pass."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import ArrayLike

from quantify._bins import MAX_BINS, make_bins, make_cells
from quantify._bits import LANES
from quantify._exact import count_lags
from quantify._series import as_series, resolution_of
from quantify._shares import Demand, count_shares
from quantify.sums import BlockCounts, CorrelationSums, Counts, Floats

Progress = Callable[[float, float], None]

POINTS_PER_OCTAVE = 8
MAX_OCTAVES = 20
FEW_PAIRS = 100  # the default grid ends where fewer pairs of two-dimensional vectors are this close
SMALL_WORK = 1e10  # pairs x dimensions that are counted in two or three seconds: all of them, no draw needed


def correlation_sums(
    series: ArrayLike,
    *,
    tau: int,
    m_max: int,
    eps: ArrayLike | None = None,
    theiler: int | None = None,
    exact: bool = False,
    accuracy: float = 0.0035,
    min_pairs: float = 1e4,
    effort: float = 300.0,
    blocks: int | None = None,
    rng: np.random.Generator | int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> CorrelationSums:
    """Share of pairs of delay vectors at most eps apart, C_m(eps), for m = 1..m_max.

        C_m(eps) = share of pairs, j - i > theiler, with max_{k<m} |x_{i+k tau} - x_{j+k tau}| <= eps

    The norm is the maximum over coordinates and observables. All m use the same vectors, i = 0..n - 1 with
    n = N - (m_max - 1) tau, so that C_m never grows with m.

    Parameters
    ----------
    series : (N,) or (N, d) array
        One or several observables; time runs along the first axis.
    tau : int
        Delay in samples.
    m_max : int
        Largest embedding dimension.
    eps : array, optional
        Scales, strictly descending, positive. Default: `POINTS_PER_OCTAVE` scales per octave from the range
        of the data down to its resolution or to where fewer than `FEW_PAIRS` pairs are left at m = 2.
    theiler : int, optional
        Pairs at most this many samples apart in time do not count; 0 leaves out only a point with itself.
        Default: `theiler_window` of the series.
    exact : bool
        Count all pairs at every scale. Otherwise this is done for short series only (`SMALL_WORK`); of a long
        one all pairs are counted where they are few, and a random share where they are many.
    accuracy : float
        Relative standard error of C_m(eps), against counting all pairs, that the random shares aim at
        wherever all pairs would count at least `min_pairs`. The error reached is in the result.
    min_pairs : float
        See `accuracy`.
    effort : float
        Limit on the candidate pairs per point that one share may look at. Noise in many dimensions would
        need more for the accuracy asked; it gets what this allows, and a larger `error`.
    blocks : int, optional
        Number of blocks of the time axis by which counts are kept for error bars; 0 for none. Default: 16,
        and 0 in exact mode.
    rng : Generator or int
        Chooses the random shares.
    workers : int, optional
        Threads; the result does not depend on it. Default: `numba.get_num_threads()`, all cores unless told
        otherwise.
    progress : callable, optional
        Called as progress(done, total).

    Returns
    -------
    CorrelationSums

    Notes
    -----
    Equation for C^(2)(eps) in the paper's section on estimation; its Heaviside step counts distance = eps.
    """
    x = as_series(series)
    _check_whole("tau", tau, 1)
    _check_whole("m_max", m_max, 1)
    _check_positive("accuracy", accuracy)
    _check_positive("effort", effort)
    if theiler is None:
        from quantify.delays import theiler_window

        theiler = theiler_window(x.T)
    _check_whole("theiler", theiler, 0)
    n_samples = x.shape[1]
    n = n_samples - (m_max - 1) * tau
    if n - theiler < 2:
        raise ValueError(
            f"{n_samples} samples are too few for m_max = {m_max}, tau = {tau} and theiler = {theiler}: "
            f"at least {(m_max - 1) * tau + theiler + 2} are needed; use a longer series or smaller values."
        )
    resolution = resolution_of(x)
    grid = _default_grid(x, resolution) if eps is None else _check_grid(eps, resolution)
    n_blocks = (0 if exact else 16) if blocks is None else blocks
    _check_whole("blocks", n_blocks, 0)
    if n_blocks > n:
        raise ValueError(f"blocks = {n_blocks} exceeds the {n} delay vectors; use fewer.")
    block_length = -(-n // max(n_blocks, 1))
    n_blocks = -(-n // block_length) if n_blocks else 0
    rng = np.random.default_rng(rng)
    workers = workers or get_num_threads()

    demand = Demand(accuracy, min_pairs, effort)
    all_pairs = (n - theiler) * (n - theiler - 1) // 2
    count_all = exact or all_pairs * m_max <= SMALL_WORK
    if count_all:
        counts = _count_all(x, tau, m_max, theiler, grid, block_length, rng, workers, progress)
        pairs = counts.sum(axis=(0, 1))
        examined = np.full(pairs.shape, all_pairs)
        C = pairs / all_pairs
        error = np.zeros(pairs.shape)
    else:
        counts, pairs, examined, C, error = count_shares(
            x, tau, m_max, theiler, grid, block_length, demand, rng, workers, progress
        )
    keep = len(grid)
    if eps is None:
        scarce = np.flatnonzero(C[min(1, m_max - 1)] * all_pairs < FEW_PAIRS)
        keep = max(int(scarce[0]) if len(scarce) else len(grid), 1)
    block_counts = None
    if n_blocks >= 2:
        close = counts.astype(float)
        if not count_all:  # scale the pairs of a share up to all pairs
            close *= np.divide(C * all_pairs, pairs, out=np.zeros_like(C), where=pairs > 0)
        block_counts = BlockCounts(close[..., :keep], _block_pairs(n, theiler, block_length, n_blocks))
    return CorrelationSums(
        eps=grid[:keep],
        C=C[:, :keep],
        pairs=pairs[:, :keep],
        examined=examined[:, :keep],
        error=error[:, :keep],
        tau=tau,
        theiler=theiler,
        n=n_samples,
        d=len(x),
        resolution=resolution,
        settings={
            "mode": "all pairs" if count_all else "random shares",
            "accuracy": 0.0 if count_all else accuracy,
            "min_pairs": min_pairs,
            "effort": effort,
            "blocks": n_blocks,
            "eps": "given" if eps is not None else f"{POINTS_PER_OCTAVE} per octave from the data's range",
        },
        blocks=block_counts,
    )


def _check_whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} = {value!r} must be a whole number of at least {least}.")


def _check_positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} = {value} must be a positive number.")


def _check_grid(eps: ArrayLike, resolution: float) -> Floats:
    grid = np.array(eps, dtype=np.float64, ndmin=1)
    if grid.ndim != 1 or len(grid) == 0:
        raise ValueError(f"eps has shape {grid.shape}; a one-dimensional array of scales is needed.")
    if not (np.isfinite(grid).all() and (grid > 0).all()):
        bad = grid[~(np.isfinite(grid) & (grid > 0))][0]
        raise ValueError(f"eps holds {bad}; scales must be finite and positive.")
    if (np.diff(grid) >= 0).any():
        raise ValueError("eps must be strictly descending; sort it with np.unique(eps)[::-1].")
    below = int((grid < resolution).sum())
    if below:
        warnings.warn(
            f"{below} of {len(grid)} scales lie below the smallest distance between two values of the series "
            f"({resolution:.3g}); only exact ties count there. Raise the smallest eps.",
            stacklevel=3,
        )
    return grid


def _default_grid(x: Floats, resolution: float) -> Floats:
    """Scales from the range of the data down to its resolution, `MAX_OCTAVES` at most."""
    largest = float(np.ptp(x, axis=1).max())
    octaves = min(MAX_OCTAVES, np.log2(largest / resolution))
    return largest * 2.0 ** (-np.arange(int(octaves * POINTS_PER_OCTAVE) + 1) / POINTS_PER_OCTAVE)


def _block_pairs(n: int, theiler: int, block_length: int, n_blocks: int) -> Floats:
    """Number of pairs i < j, j - i > theiler, with i in block a and j in block b."""
    edges = np.minimum(np.arange(n_blocks + 1) * block_length, n)

    def ordered(i_end: int, j_end: int) -> int:
        """Pairs with i < i_end, j < j_end, j - i > theiler."""
        longest = j_end - 1 - theiler  # number of partners of i = 0
        terms = min(i_end, max(longest, 0))
        return terms * longest - terms * (terms - 1) // 2

    upto = np.array([[ordered(int(i), int(j)) for j in edges] for i in edges])
    return np.diff(np.diff(upto, axis=0), axis=1).astype(float)


def _count_all(
    x: Floats,
    tau: int,
    m_max: int,
    theiler: int,
    eps: Floats,
    block_length: int,
    rng: np.random.Generator,
    workers: int,
    progress: Progress | None,
) -> Counts:
    """Close pairs (B, B, m_max, n_eps), all pairs counted."""
    n = x.shape[1] - (m_max - 1) * tau
    n_blocks = -(-n // block_length)
    counts = np.zeros((n_blocks, n_blocks, m_max, len(eps)), np.int64)
    gaps = np.abs(np.diff(rng.choice(x, (20_000, 2), axis=1), axis=2)).max(axis=0)[:, 0]
    C_1 = np.searchsorted(np.sort(gaps), eps, side="right") / len(gaps)  # rough, to plan the work by
    tasks: list[tuple[range, slice, int, Any]] = []
    for first in range(0, len(eps), MAX_BINS):
        part = slice(first, first + MAX_BINS)
        # Measured costs in ns per pair: a word pass per scale against a walk along each close pair.
        k = np.arange(len(eps[part]) + 1)
        words = k * (0.010 + 0.0026 * m_max)
        walks = np.append(C_1[part], 0.0) * (2.5 + 0.3 * m_max)
        n_large = int(np.argmin(words + walks))
        look_up = make_cells(x, eps[part], LANES), make_bins(eps[part]), len(eps[part])
        tasks += [(lags, part, n_large, look_up) for lags in _lag_ranges(n, theiler)]

    def run(task: tuple[range, slice, int, Any]) -> tuple[slice, Counts]:
        lags, part, n_large, look_up = task
        found = np.zeros((n_blocks, n_blocks, m_max, len(eps[part])), np.int64)
        for lag in lags:
            n_lags = min(lags.step, n - lag)
            count_lags(x, look_up, tau, m_max, lag, n_lags, n_large, block_length, found)
        return part, found

    with ThreadPoolExecutor(workers) as pool:
        for done, (part, found) in enumerate(pool.map(run, tasks), start=1):
            counts[..., part] += found
            if progress:
                progress(done, len(tasks))
    return counts


def _lag_ranges(n: int, theiler: int, n_ranges: int = 64) -> Iterator[range]:
    """Cut the lags theiler + 1 .. n - 1, 64 at a time, into ranges with about equally many pairs."""
    # Lag l has n - l pairs, so equal areas under a straight line: square roots.
    groups = -(-(n - theiler - 1) // LANES)
    edges = groups - (groups * np.sqrt(np.linspace(1, 0, n_ranges + 1))).astype(int)
    for first, last in itertools.pairwise(edges.tolist()):
        if last > first:
            yield range(theiler + 1 + first * LANES, theiler + 1 + last * LANES, LANES)
