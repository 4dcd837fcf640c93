"""The grid of scales: which of them the data support, and how fine it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quantify.aliases import Counts, Floats
from quantify.correlation import CorrelationSums
from quantify.errors import QuantifyError

# 1 % relative error of C_M if pairs were independent. E_M weighs it by up to M - 1: 0.1 nats at M = 10.
MIN_PAIRS = 10_000
MIN_SHARE = 0.01
LEAST_SCALES = 3
BEARABLE = 0.25  # of the pairs needed, at scales between others that have them: twice the error


def points_per_octave(eps: Floats) -> float:
    """Steps of the eps grid per octave, on average."""
    return float((len(eps) - 1) / np.log2(eps[0] / eps[-1]))


def pairs_needed(all_pairs: float) -> float:
    """Close pairs that a scale must have in the largest embedding."""
    return min(MIN_PAIRS, MIN_SHARE * all_pairs)


def scales_with_pairs(counted: Floats, all_pairs: float, times: Floats | float = 1.0) -> Counts:
    """Number of scales, from the largest on, that have enough close pairs, or so many times as many.

    Of a long series a random share is counted, and what counts is how many close pairs are in the share.
    Shares are larger again at small scales, down to all pairs: a stretch in between with a quarter of what is
    needed does not end the scales.

    Parameters
    ----------
    counted : (..., n_eps) array, close pairs in the largest embedding
    times : (...) array
    """
    needed = np.asarray(times)[..., None] * pairs_needed(all_pairs) * (1 - 1e-12)
    before = np.logical_and.accumulate(counted >= BEARABLE * needed, axis=-1)
    enough = before & (counted >= needed)
    return np.asarray(enough.cumsum(axis=-1).argmax(axis=-1) + enough.any(axis=-1))


def scales_resolved(eps: Floats, resolution: float) -> int:
    """Number of scales, from the largest on, down to where a step of the grid may hold no distance."""
    coarse = eps[:-1] - eps[1:] < resolution
    return int(coarse.argmax()) + 1 if coarse.any() else len(eps)


def default_eps_min(sums: CorrelationSums) -> tuple[float, str]:
    """The smallest scale that the data support, and what limits it.

    Two conditions, the larger wins:

    - *pairs*: of all pairs at least 10,000 are closer than eps in the largest embedding (or 1 % of
      them, if the series is so short that this is less); of a random share as many must have been counted,
      or a quarter of that between scales where they were;
    - *resolution*: every step of the grid contains at least one distance that the data can take,
      eps (1 - 1 / ratio) >= resolution, where ratio is that of neighbouring scales.

    Returns
    -------
    eps_min : float
    reason : "pairs", "resolution" or "grid" (all scales qualify)

    Raises
    ------
    QuantifyError
        If fewer than three scales qualify.

    Examples
    --------
    >>> from quantify import correlation_sums, default_eps_min
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(5000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> eps_min, reason = default_eps_min(sums)
    >>> reason, bool(sums.eps[-1] < eps_min < sums.eps[0])
    ('pairs', True)
    """
    eps, total = sums.eps, sums.all_pairs
    by_pairs = int(scales_with_pairs(sums.C[-1] * sums.examined[-1], total))
    by_resolution = scales_resolved(eps, sums.resolution)
    n = min(by_pairs, by_resolution)
    reason = "grid" if n == len(eps) else "pairs" if by_pairs <= by_resolution else "resolution"
    if n < LEAST_SCALES:
        needed = pairs_needed(total)
        cure = (
            f"The series is quantised in steps of {sums.resolution:g}: record it with more digits"
            if reason == "resolution"
            else f"The largest embedding needs {needed:,.0f} close pairs: use more data or a smaller m_max"
        )
        raise QuantifyError(f"Only {n} of {len(eps)} scales can be used. {cure}, or give eps_min.")
    return float(eps[n - 1]), reason


def keep_scales(sums: CorrelationSums, eps_min: float | None) -> tuple[CorrelationSums, str]:
    """Leave out the scales below eps_min (closed: eps_min itself stays); also say what set eps_min."""
    if len(sums.eps) < 3:
        raise QuantifyError(f"{len(sums.eps)} scales; at least three are needed.")
    if not np.all(np.diff(sums.eps) < 0) or not sums.eps[-1] > 0:
        raise QuantifyError("The scales eps must be positive and strictly descending.")
    if eps_min is None:
        eps_min, reason = default_eps_min(sums)
    else:
        reason = "given"
        if not eps_min >= 0:
            raise QuantifyError(f"eps_min = {eps_min}; it must be a number, not negative.")
    n = int((sums.eps >= eps_min).sum())
    if n < 3:
        raise QuantifyError(
            f"eps_min = {eps_min:g} leaves {n} scales; at least three are needed (largest: {sums.eps[0]:g})."
        )
    if n == len(sums.eps):
        return sums, reason
    kept = replace(
        sums,
        eps=sums.eps[:n],
        C=sums.C[:, :n],
        pairs=sums.pairs[:, :n],
        examined=sums.examined[:, :n],
        error=sums.error[:, :n],
        blocks=None,
    )
    return kept, reason


def segment_length(sums: CorrelationSums, octaves: float, points: int | None) -> int:
    """Length of the short fits in grid steps: `points` if given, else nearest to `octaves` octaves."""
    if points is not None:
        return points
    if not octaves > 0:
        raise QuantifyError(f"fit_octaves = {octaves}; it must be positive.")
    return max(2, round(octaves * points_per_octave(sums.eps)))
