"""Predictive information by nearest neighbours: the estimator of Kraskov, Stögbauer and Grassberger (KSG)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Counts, Progress, Rng
from quantify.errors import QuantifyError
from quantify.inputs import as_array, as_series
from quantify.ksg.coordinates import canonical, embed
from quantify.ksg.mutual_information import mutual_information
from quantify.ksg.quote import QUOTED_POINTS, quote
from quantify.ksg.result import PredictiveInformation

Coordinates = Literal["delay", "canonical"]


def predictive_information(
    series: ArrayLike,
    *,
    tau: int,
    m: int | Sequence[int],
    k: int = 20,
    eta: float | Sequence[float] = 0.0,
    algorithm: int = 2,
    theiler: int = 0,
    coordinates: Coordinates = "delay",
    half: bool = True,
    points: int | None = None,
    quoted: int = QUOTED_POINTS,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> PredictiveInformation:
    """How much the last m values tell about the next m: mutual information by the distances of nearest
    neighbours.

        PI_m(eta) = I(x_t, x_{t-tau}, ..., x_{t-(m-1)tau} : x_{t+tau}, ..., x_{t+m tau})

    of the series plus uniform noise from [0, eta] (the paper's equation for I_KSG), which hides all structure
    finer than eta. Distances are max norms. With eps_i the distance of point i to its k-th neighbour in the
    joint space,

        algorithm 1:  psi(k) + psi(n) - < psi(n_x + 1) + psi(n_y + 1) >
        algorithm 2:  psi(k) - 1/k + psi(n) - < psi(n_x) + psi(n_y) >

    where n is the number of points and n_x (n_y) counts the other points that are close to point i in the
    past (future) alone: strictly closer than eps_i in algorithm 1, at most as far away as the farthest of the
    k neighbours is in that space in algorithm 2.

    Parameters
    ----------
    series : (N,) or (N, d) array
        Real and finite. Time runs along the first axis.
    tau : int
        Delay between consecutive values of past and future, in samples.
    m : int or sequence of int
        Lengths of past and future.
    k : int
        Neighbours. Few: little bias, large scatter; the paper uses 20 (2 for the hexapod).
    eta : float or sequence of float
        Noise strengths. The same random numbers serve all of them, so that a scan over eta is smooth.
    algorithm : 1 or 2
        2 gives the paper's published values (its Lorenz series, N = 1e6: .003 and .006 away at m = 2 and 3,
        where algorithm 1 stays .10 and .16 below); it has less bias where past and future determine each
        other.
    theiler : int
        Points at most so many samples apart are not taken for neighbours. 0 (the paper's choice) leaves out
        the point itself alone; successive points of a finely sampled series are then among the neighbours and
        PI comes out too large. For a series whose values are dependent over T samples take about T.
    coordinates : "delay" or "canonical"
        Mutual information does not change when past and future are each mapped linearly. "delay" takes the
        values as they are (the paper's choice, needed to compare scales eta). "canonical" maps them to
        canonical variates scaled to equal unpredicted width, which removes most of the bias for strongly
        correlated values.
    half : bool
        Also estimate from each half of the series, which doubles the time.
    points : int, optional
        Compare at most so many delay vectors, equally spaced over the whole series; half as many in each
        half. Default: all of them. Fewer are faster and resolve less: PI at small eta comes out smaller.
    quoted : int
        Estimate the number to quote as well (`ksg.quote`: canonical coordinates, four neighbours, without
        noise, with an error), from at most so many delay vectors; 0 leaves it out.
    rng : numpy.random.Generator or int
        Draws the noise.
    progress : callable, optional
        Called as ``progress(done, total)`` after each estimate.

    Returns
    -------
    PredictiveInformation

    Raises
    ------
    QuantifyError
        If the series or a setting cannot give an estimate; the message says what to change.

    Warns
    -----
    RuntimeWarning
        If values repeat so often that points have k neighbours at distance zero: there is no density to
        estimate. The estimate is NaN where this holds for more than half of the points.

    Notes
    -----
    Time grows as N log N for a given geometry, memory as N (m d). The result does not depend on the number of
    threads.

    Examples
    --------
    >>> from quantify import predictive_information
    >>> from quantify.systems import AutoRegressive
    >>> process = AutoRegressive((0.6,))
    >>> found = predictive_information(process.sample(4000, 1), tau=1, m=[1, 2], k=4)
    >>> abs(found.quoted.value - process.PI(1)) < 0.05  # .22 nats
    True
    """
    x = as_series(series)
    d, n = x.shape
    ms = _whole("m", m, 1)
    tau, k, theiler = _single("tau", tau, 1), _single("k", k, 1), _single("theiler", theiler, 0)
    etas = np.atleast_1d(as_array("eta", eta, float))
    if etas.ndim != 1 or not (np.isfinite(etas) & (etas >= 0)).all() or not len(etas):
        raise QuantifyError(f"eta = {eta} must be one or several finite numbers of at least 0.")
    if algorithm not in (1, 2):
        raise QuantifyError(f"algorithm = {algorithm}; KSG has algorithms 1 and 2.")
    if coordinates not in ("delay", "canonical"):
        raise QuantifyError(f"coordinates = {coordinates!r}; choose 'delay' or 'canonical'.")
    reach = (2 * int(ms.max()) - 1) * tau
    stride = 1 if points is None else max(1, -(-(n - reach) // _single("points", points, 1)))
    used = n // 2 if half else n
    left, theiler_points = -(-max(used - reach, 0) // stride), theiler // stride
    needed = k + 2 * theiler_points + 1
    if left < needed:
        raise QuantifyError(
            f"{used} samples{' in half of the series' if half else ''} leave {left} points for "
            f"m = {ms.max()}, tau = {tau}; k = {k} and theiler = {theiler} need {needed}. "
            "Use a longer series, more points, smaller m, tau, k or theiler"
            f"{', or half=False' if half else ''}."
        )

    noise = np.random.default_rng(rng).uniform(0.0, 1.0, x.shape)
    parts = [slice(None), slice(0, n // 2), slice(n // 2, None)][: 3 if half else 1]
    values = np.full((3, len(etas), len(ms)), np.nan)
    ties = 0.0
    done = 0
    for a, strength in enumerate(etas):
        noisy = x + strength * noise if strength > 0 else x
        for b, length in enumerate(ms):
            for p, part in enumerate(parts):
                columns = embed(noisy[:, part], 2 * int(length), tau)[:, ::stride]
                split = len(columns) // 2
                if coordinates == "canonical":
                    columns, split = canonical(columns)
                values[p, a, b], zero = mutual_information(columns, split, k, algorithm, theiler_points)
                ties = max(ties, zero)
                done += 1
                if progress is not None:
                    progress(done, len(etas) * len(ms) * len(parts))
    if ties > 0:
        warnings.warn(
            f"Up to {ties:.1%} of the points have k = {k} neighbours at distance zero: values repeat, "
            "and the estimate is too large, or NaN if most do. Add noise (eta) of the data's resolution.",
            RuntimeWarning,
            stacklevel=2,
        )
    return PredictiveInformation(
        PI=values[0],
        half=values[1:],
        m=ms,
        eta=etas,
        tau=tau,
        k=k,
        algorithm=algorithm,
        theiler=theiler,
        coordinates=coordinates,
        n=n,
        d=d,
        quote=quote(series, tau=tau, m=ms.tolist(), theiler=theiler, points=quoted, rng=rng)
        if quoted
        else None,
        settings={"half": half, "points": points, "stride": stride},
    )


def _whole(name: str, value: Any, least: int) -> Counts:
    """One or several whole numbers of at least `least`."""
    v = np.atleast_1d(as_array(name, value))
    numbers = v.ndim == 1 and len(v) and v.dtype.kind in "iuf"
    if not numbers or (v != np.floor(v)).any() or (v < least).any():
        raise QuantifyError(f"{name} = {value} must be whole and at least {least}.")
    return v.astype(np.int64)


def _single(name: str, value: Any, least: int) -> int:
    """One whole number of at least `least`."""
    v = _whole(name, value, least)
    if len(v) != 1:
        raise QuantifyError(f"{name} = {value} must be a single number.")
    return int(v[0])
