"""Predictive information by nearest neighbours: the estimator of Kraskov, Stögbauer and Grassberger (KSG)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from quantify import neighbours
from quantify._series import as_series

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Coordinates = Literal["delay", "canonical"]


@dataclass(frozen=True)
class Quoted:
    """The predictive information as papers quote it: one number, in nats.

    Attributes
    ----------
    value : float
        The largest PI over m at the smallest scale.
    half : float
        Mean of the same from both halves of the data; NaN if it is not known. The paper's error bar ends
        there.
    m : int
        Where it is largest.
    eta : float
        Strength of the noise, the smallest of the scan.
    """

    value: float
    half: float
    m: int
    eta: float


@dataclass(frozen=True)
class PredictiveInformation:
    """Predictive information over embedding lengths and noise strengths, in nats.

    Attributes
    ----------
    PI : (n_eta, n_m) float64
        I(past of m values : future of m values), the paper's equation for PI_m.
    half : (2, n_eta, n_m) float64
        The same from the first and from the second half of the series alone; NaN if it was not asked for. How
        far they lie from `PI` shows the bias that is left at this length, how far from each other the
        sampling error or a drift.
    m : (n_m,) int64
        Number of values in the past, and in the future.
    eta : (n_eta,) float64
        Strength of the added noise in the unit of the series; compare with correlation sums at eps = eta / 2.
    tau, k, algorithm, theiler, coordinates
        As given to `predictive_information`.
    n, d : int
        Samples of the series and observables per sample.
    unit : str
        Always "nats".
    settings : dict
        Everything else that was chosen.
    """

    PI: Floats
    half: Floats
    m: Counts
    eta: Floats
    tau: int
    k: int
    algorithm: int
    theiler: int
    coordinates: str
    n: int
    d: int = 1
    unit: str = "nats"
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PredictiveInformation:
        """A scan from its plain form (`dataclasses.asdict`, arrays as lists, None for NaN)."""
        kinds = {"PI": float, "half": float, "m": np.int64, "eta": float}
        return cls(**values | {name: np.array(values[name], dtype=kind) for name, kind in kinds.items()})

    @property
    def error(self) -> Floats:
        """The paper's error bar: distance of PI to the mean of its two halves, an (n_eta, n_m) array."""
        return np.asarray(np.abs(self.PI - self.half.mean(axis=0)))

    @property
    def quoted(self) -> Quoted:
        """The number to quote: the largest PI over m at the smallest eta that gave an estimate.

        NaN if there is none. It depends on the amount of data, so never compare it across lengths.
        """
        found = np.flatnonzero(np.isfinite(self.PI).any(axis=1))
        row = found[np.argmin(self.eta[found])] if len(found) else int(np.argmin(self.eta))
        best = int(np.nanargmax(self.PI[row])) if len(found) else 0
        half = float(self.half[:, row, best].mean())
        return Quoted(float(self.PI[row, best]), half, int(self.m[best]), float(self.eta[row]))


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
    rng: np.random.Generator | int = 0,
    progress: Callable[[float, float], None] | None = None,
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
    rng : numpy.random.Generator or int
        Draws the noise.
    progress : callable, optional
        Called as ``progress(done, total)`` after each estimate.

    Returns
    -------
    PredictiveInformation

    Raises
    ------
    TypeError, ValueError
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
    """
    x = as_series(series)
    d, n = x.shape
    ms = _whole("m", m, 1)
    tau, k, theiler = _single("tau", tau, 1), _single("k", k, 1), _single("theiler", theiler, 0)
    etas = np.atleast_1d(np.asarray(eta, dtype=float))
    if etas.ndim != 1 or not (np.isfinite(etas) & (etas >= 0)).all() or not len(etas):
        raise ValueError(f"eta = {eta} must be one or several finite numbers of at least 0.")
    if algorithm not in (1, 2):
        raise ValueError(f"algorithm = {algorithm}; KSG has algorithms 1 and 2.")
    if coordinates not in ("delay", "canonical"):
        raise ValueError(f"coordinates = {coordinates!r}; choose 'delay' or 'canonical'.")
    reach = (2 * int(ms.max()) - 1) * tau
    stride = 1 if points is None else max(1, -(-(n - reach) // _single("points", points, 1)))
    used = n // 2 if half else n
    left, theiler_points = -(-max(used - reach, 0) // stride), theiler // stride
    needed = k + 2 * theiler_points + 1
    if left < needed:
        raise ValueError(
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
                columns = _embed(noisy[:, part], 2 * int(length), tau)[:, ::stride]
                if coordinates == "canonical":
                    columns = _canonical(columns)
                values[p, a, b], zero = _mutual_information(
                    columns, len(columns) // 2, k, algorithm, theiler_points
                )
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
        settings={"half": half, "points": points, "stride": stride},
    )


def _whole(name: str, value: Any, least: int) -> Counts:
    """One or several whole numbers of at least `least`."""
    v = np.atleast_1d(np.asarray(value))
    numbers = v.ndim == 1 and len(v) and v.dtype.kind in "iuf"
    if not numbers or (v != np.floor(v)).any() or (v < least).any():
        raise ValueError(f"{name} = {value} must be whole and at least {least}.")
    return v.astype(np.int64)


def _single(name: str, value: Any, least: int) -> int:
    """One whole number of at least `least`."""
    v = _whole(name, value, least)
    if len(v) != 1:
        raise ValueError(f"{name} = {value} must be a single number.")
    return int(v[0])


def _embed(x: Floats, m: int, tau: int) -> Floats:
    """Delay vectors as columns, (m d, n): row j d + c holds observable c at t + j tau. A view if d = 1."""
    windows = sliding_window_view(x, (m - 1) * tau + 1, axis=1)[:, :, ::tau]  # (d, n, m)
    return windows.transpose(2, 0, 1).reshape(-1, windows.shape[1])


def _canonical(columns: Floats) -> Floats:
    """Past and future in canonical variates, each pair scaled to an unpredicted standard deviation of 1."""
    both = columns - columns.mean(axis=1, keepdims=True)
    half = len(both) // 2
    K = both @ both.T / both.shape[1]
    try:
        past, future = np.linalg.cholesky(K[:half, :half]), np.linalg.cholesky(K[half:, half:])
        A, rho, B = np.linalg.svd(np.linalg.solve(past, np.linalg.solve(future, K[half:, :half]).T))
        if rho.max() >= 1 - 1e-12:
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        raise ValueError(
            f"The covariance of m = {half} values is singular, so there are no canonical coordinates; "
            "use a smaller m or coordinates='delay'."
        ) from None
    scale = 1 / np.sqrt(1 - rho[:, None] ** 2)
    u, v = A.T @ np.linalg.solve(past, both[:half]), B @ np.linalg.solve(future, both[half:])
    return np.concatenate([scale * u, scale * v])


def _mutual_information(
    columns: Floats, split: int, k: int, algorithm: int, theiler: int
) -> tuple[float, float]:
    """Estimate between the first `split` coordinates and the rest, and the share of points with eps_i = 0."""
    n = columns.shape[1]
    counts, distance = _neighbourhoods(columns, split, k, algorithm, theiler)
    zero = float(np.mean(distance == 0))
    if zero > 0.5:
        return np.nan, zero
    # Points admitted as neighbours of i, itself included: all but those in the Theiler window.
    i = np.arange(n)
    admitted = n - (np.minimum(i + theiler, n - 1) - np.maximum(i - theiler, 0))
    if algorithm == 1:
        marginals = _mean_psi(counts[0] + 1) + _mean_psi(counts[1] + 1)
    else:
        marginals = _mean_psi(counts[0]) + _mean_psi(counts[1]) + 1 / k
    return float(digamma(k) + _mean_psi(admitted) - marginals), zero


def _neighbourhoods(
    columns: Floats, split: int, k: int, algorithm: int, theiler: int
) -> tuple[Counts, Floats]:
    """n_x and n_y as a (2, n) array, and the distances eps_i."""
    joint = neighbours.build(columns)
    distance, extent = neighbours.nearest(joint, k, theiler, split if algorithm == 2 else 0)
    # "As close as the farthest" is "strictly closer than the next number above it".
    radius = np.stack([distance, distance]) if algorithm == 1 else np.nextafter(extent, np.inf)
    counts = np.empty((2, columns.shape[1]), dtype=np.int64)
    for side, part in enumerate((columns[:split], columns[split:])):
        if len(part) == 1:
            counts[side] = neighbours.count_on_line(np.ascontiguousarray(part[0]), radius[side])
        else:
            counts[side] = neighbours.count(neighbours.build(part), radius[side])
        counts[side] -= neighbours.count_in_time(part, radius[side], theiler)
    return counts, distance


def _mean_psi(counts: Counts) -> float:
    """Mean digamma of positive integers; psi is computed once per value."""
    frequency = np.bincount(counts)
    values = np.flatnonzero(frequency)
    return float(frequency[values] @ digamma(values) / len(counts))
