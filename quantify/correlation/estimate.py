"""Correlation sums of a time series for all embedding dimensions in one pass."""

from __future__ import annotations

import warnings

import numpy as np
from numba import get_num_threads
from numpy.typing import ArrayLike

from quantify.aliases import Floats, Progress, Rng
from quantify.correlation.all_pairs import count_all
from quantify.correlation.choose_shares import SamplingTarget, count_shares
from quantify.correlation.pairs import PairProblem
from quantify.correlation.result import BlockCounts, CorrelationSums
from quantify.errors import QuantifyError
from quantify.gaussian import gaussian_twin
from quantify.inputs import as_array, as_series, check_positive, check_whole, resolution_of
from quantify.theiler import theiler_window

POINTS_PER_OCTAVE = 8
MAX_OCTAVES = 20
FEW_PAIRS = 100  # the default grid ends where fewer pairs of two-dimensional vectors are this close
# Pairs x dimensions that two cores count in about ten seconds: all of them, no draw needed.
SMALL_WORK = 1.3e11

# Accuracy of random shares and effort put into them: of this many samples and more, and at best.
LONG, LONG_ACCURACY, BEST_ACCURACY = 1_000_000, 0.001, 0.0005
LONG_EFFORT = 30.0


def correlation_sums(
    series: ArrayLike,
    *,
    tau: int,
    m_max: int,
    eps: ArrayLike | None = None,
    largest: float | None = None,
    theiler: int | None = None,
    exact: bool = False,
    accuracy: float | None = None,
    min_pairs: float = 1e4,
    effort: float | None = None,
    blocks: int | None = None,
    rng: Rng = 0,
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
        of the data down to its resolution or to where fewer than `FEW_PAIRS` pairs are left at m = 2; one of
        them, were they to go on, is the distance between the deciles of the data.
    largest : float, optional
        Where the default grid begins, instead of at the range of the data (which a single wild sample sets).
    theiler : int, optional
        Pairs at most this many samples apart in time do not count; 0 leaves out only a point with itself.
        Default: `theiler_window` of the series.
    exact : bool
        Count all pairs at every scale. Otherwise this is done for short series only (`SMALL_WORK`); of a long
        one all pairs are counted where they are few, and a random share where they are many.
    accuracy : float, optional
        Relative standard error of C_m(eps), against counting all pairs, that the random shares aim at
        wherever all pairs would count at least `min_pairs`; finer where C is large, above all for m of 1 to
        about 4. The error reached is in the result. Default: `share_accuracy`.
    min_pairs : float
        See `accuracy`.
    effort : float, optional
        Limit on the candidate pairs per point that one share may look at. Noise in many dimensions would
        need more for the accuracy asked; it gets what this allows, and a larger `error`. Default:
        `share_effort`.
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

    Examples
    --------
    >>> import numpy as np
    >>> from quantify import correlation_sums
    >>> from quantify.systems import Henon
    >>> x = Henon().sample(3000, 1)[:, 0]
    >>> sums = correlation_sums(x, tau=1, m_max=3, theiler=5)
    >>> sums.m_max, sums.settings["mode"]
    (3, 'all pairs')

    The slope of ln C_m over ln eps is the correlation dimension, 1.21 for the Hénon map:

    >>> some = (sums.eps > 0.02) & (sums.eps < 0.2)
    >>> D = np.polyfit(np.log(sums.eps[some]), np.log(sums.C[2, some]), 1)[0]
    >>> bool(1.1 < D < 1.3)
    True
    """
    x = as_series(series)
    check_whole("tau", tau, 1)
    check_whole("m_max", m_max, 1)
    if accuracy is not None:
        check_positive("accuracy", accuracy)
    if effort is not None:
        check_positive("effort", effort)
    if theiler is None:
        theiler = theiler_window(x.T)
    check_whole("theiler", theiler, 0)
    n_samples = x.shape[1]
    n = n_samples - (m_max - 1) * tau
    if n - theiler < 2:
        raise QuantifyError(
            f"{n_samples} samples are too few for m_max = {m_max}, tau = {tau} and theiler = {theiler}: "
            f"at least {(m_max - 1) * tau + theiler + 2} are needed; use a longer series or smaller values."
        )
    resolution = resolution_of(x)
    grid = _default_grid(x, resolution, largest) if eps is None else _check_grid(eps, resolution)
    n_blocks = (0 if exact else 16) if blocks is None else blocks
    check_whole("blocks", n_blocks, 0)
    if n_blocks > n:
        raise QuantifyError(f"blocks = {n_blocks} exceeds the {n} delay vectors; use fewer.")
    problem = PairProblem(x, tau, m_max, theiler, grid, block_length=-(-n // max(n_blocks, 1)))
    n_blocks = problem.n_blocks if n_blocks else 0
    rng = np.random.default_rng(rng)
    workers = workers or get_num_threads()
    check_whole("workers", workers, 1)

    all_pairs = problem.all_pairs
    every_pair = exact or all_pairs * m_max <= SMALL_WORK
    if every_pair:
        close, pairs, examined, C, error = count_all(problem, rng, workers, progress)
    else:
        accuracy = share_accuracy(n_samples) if accuracy is None else accuracy
        effort = share_effort(n_samples) if effort is None else effort
        target = SamplingTarget(accuracy, min_pairs, effort)
        close, pairs, examined, C, error = count_shares(problem, target, rng, workers, progress)
    keep = len(grid)
    if eps is None:
        scarce = np.flatnonzero(C[min(1, m_max - 1)] * all_pairs < FEW_PAIRS)
        keep = max(int(scarce[0]) if len(scarce) else len(grid), 1)
    block_counts = BlockCounts(close[..., :keep], problem.block_pairs) if n_blocks >= 2 else None
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
            "mode": "all pairs" if every_pair else "random shares",
            "accuracy": 0.0 if every_pair else accuracy,
            "min_pairs": min_pairs,
            "effort": 0.0 if every_pair else effort,
            "blocks": n_blocks,
            "eps": "given" if eps is not None else f"{POINTS_PER_OCTAVE} per octave from the data's range",
        },
        blocks=block_counts,
        twin=gaussian_twin(x, tau, m_max),
    )


def share_accuracy(n: int) -> float:
    """The accuracy of random shares that takes some seconds, whatever the length of the series.

    A random share moves state complexity most, which rests on short plateaus at large scales. Its scatter
    over draws is proportional to the accuracy. A million samples leave no time for the finest one.
    """
    return float(np.clip(LONG_ACCURACY * (n / LONG) ** 0.25, BEST_ACCURACY, LONG_ACCURACY))


def share_effort(n: int) -> float:
    """The effort that looks at the same number of candidate pairs whatever the length of the series; not less
    for a long one.
    """
    return LONG_EFFORT * max(1.0, LONG / n)


def _check_grid(eps: ArrayLike, resolution: float) -> Floats:
    grid = np.array(as_array("eps", eps, np.float64), ndmin=1)
    if grid.ndim != 1 or len(grid) == 0:
        raise QuantifyError(f"eps has shape {grid.shape}; a one-dimensional array of scales is needed.")
    if not (np.isfinite(grid).all() and (grid > 0).all()):
        bad = grid[~(np.isfinite(grid) & (grid > 0))][0]
        raise QuantifyError(f"eps holds {bad}; scales must be finite and positive.")
    if (np.diff(grid) >= 0).any():
        raise QuantifyError("eps must be strictly descending; sort it with np.unique(eps)[::-1].")
    below = int((grid < resolution).sum())
    if below:
        warnings.warn(
            f"{below} of {len(grid)} scales lie below the smallest distance between two values of the series "
            f"({resolution:.3g}); only exact ties count there. Raise the smallest eps.",
            stacklevel=3,
        )
    return grid


def _default_grid(x: Floats, resolution: float, largest: float | None) -> Floats:
    """Scales from the range of the data down to its resolution, `MAX_OCTAVES` at most.

    They lie on a lattice that the middle 80 % of the data set: fits depend a little on where scales lie, and
    the range, which two samples set, would move them from one recording to the next.
    """
    largest = float(np.ptp(x, axis=1).max()) if largest is None else largest
    low, high = np.quantile(x, (0.1, 0.9), axis=1)
    middle = float((high - low).max()) or largest
    first = np.floor(POINTS_PER_OCTAVE * np.log2(largest / middle) + 1e-9)
    octaves = min(MAX_OCTAVES, np.log2(largest / resolution))
    steps = first - np.arange(int(octaves * POINTS_PER_OCTAVE) + 1)
    grid = middle * 2.0 ** (steps / POINTS_PER_OCTAVE)
    return np.asarray(grid[(grid >= resolution) | (steps == first)])
