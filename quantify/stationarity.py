"""Does a series keep its statistics along the time axis?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quantify._series import as_series
from quantify.delays import autocorrelation

Floats = NDArray[np.float64]

CLASSES = 5
MOST_BLOCKS, FEWEST_BLOCKS = 32, 8
FEATURES = ("mean", "spread", "spread of increments", *(f"share of fifth {c + 1}" for c in range(CLASSES)))


@dataclass(frozen=True)
class Stationarity:
    """Verdict of `stationarity`.

    Attributes
    ----------
    stationary : bool
        False if a change is both significant (p_value < alpha) and large (effect > least_effect).
    p_value : float
        Share of the shuffled orders of the blocks that show as large a change as the true order.
    statistic : float
        The change itself: the largest standardised difference between before and after.
    effect : float
        Size of that change: of the mean in standard deviations, of the logarithm of a standard deviation, or
        of the share of a class.
    feature : str
        What changes most.
    change : int
        Sample at which it changes most.
    transient : int or None
        Samples to cut off at the start to make the rest stationary, 0 if it is stationary as it stands; None
        if cutting up to half of the series does not help.
    blocks, block_length : int
        How the series was cut.
    alpha, least_effect : float
        As given.
    """

    stationary: bool
    p_value: float
    statistic: float
    effect: float
    feature: str
    change: int
    transient: int | None
    blocks: int
    block_length: int
    alpha: float
    least_effect: float


def stationarity(
    series: ArrayLike,
    *,
    alpha: float = 0.01,
    least_effect: float = 0.1,
    replicates: int = 999,
    rng: np.random.Generator | int = 0,
) -> Stationarity:
    """Test whether mean, variances and coarse distribution of a series change along the time axis.

    The series is cut into blocks (32, or fewer such that each holds at least five correlation times of x and
    of x², but at least 8). Of every block we take the mean, the logarithms of the variance and of the
    variance of the increments, and the share of values in each fifth of the distribution of the whole. The
    statistic is a CUSUM:

        max over features and split points s of  |mean of blocks before s - mean after s| sqrt(s (B - s) / B)
        / sd

    If the series is stationary the blocks are exchangeable, so shuffling their order tells how large the
    statistic gets by chance, however strongly values depend on their neighbours within a block.

    A change that is significant but tiny does no harm to estimates and is let pass: its effect (see
    `Stationarity`) must exceed `least_effect` as well.

    Parameters
    ----------
    series : (N,) or (N, d) array
        At least 80 samples. With several observables, the features of all of them are compared.
    alpha : float
        Level of the test, in (0, 1).
    least_effect : float
    replicates : int
        Number of shuffled orders.
    rng : numpy.random.Generator or int

    Returns
    -------
    Stationarity

    Warns
    -----
    RuntimeWarning
        If values depend on each other for so long that eight blocks cannot be taken as independent; a verdict
        "not stationary" may then be due to slow but stationary dynamics.
    """
    x = as_series(series)
    n = x.shape[1]
    if n < 10 * FEWEST_BLOCKS:
        raise ValueError(f"{n} samples are too few for a test; at least {10 * FEWEST_BLOCKS} are needed.")
    if not 0 < alpha < 1 or not least_effect >= 0:
        raise ValueError(f"alpha = {alpha} must be in (0, 1) and least_effect = {least_effect} at least 0.")
    if replicates < 1 / alpha:
        raise ValueError(f"replicates = {replicates} cannot show p < {alpha}; use {1 / alpha:.0f} or more.")
    rng = np.random.default_rng(rng)
    memory = max(_correlation_time(f(values), n // 10) for values in x for f in (np.asarray, np.square))
    blocks = int(np.clip(min(n // (5 * memory), n // 10), FEWEST_BLOCKS, MOST_BLOCKS))
    length = n // blocks
    if length < memory:
        warnings.warn(
            f"Values depend on each other over about {memory} samples, and a block holds {length} only: "
            "a slow, stationary series may be called non-stationary. Use a longer series.",
            RuntimeWarning,
            stacklevel=2,
        )
    features = np.concatenate([_features(values, blocks, length) for values in x], axis=1)
    p_value, statistic, feature, split = _shuffle_test(features, replicates, rng)
    effect = _effect(features, feature, split)
    stationary = not (p_value < alpha and effect > least_effect)
    transient: int | None = 0
    if not stationary:
        transient = None
        for cut in range(1, blocks // 2 + 1):
            p, _, f, s = _shuffle_test(features[cut:], replicates, rng)
            if p >= alpha or _effect(features[cut:], f, s) <= least_effect:
                transient = cut * length
                break
    return Stationarity(
        stationary=stationary,
        p_value=p_value,
        statistic=statistic,
        effect=effect,
        feature=_name(feature, len(x)),
        change=split * length,
        transient=transient,
        blocks=blocks,
        block_length=length,
        alpha=alpha,
        least_effect=least_effect,
    )


def _correlation_time(values: Floats, max_lag: int) -> int:
    """Last lag, plus one, at which the autocorrelation still exceeds .2 in size."""
    if np.ptp(values) == 0:
        return 1
    return int(np.flatnonzero(np.abs(autocorrelation(values, max_lag)) > 0.2)[-1]) + 1


def _features(values: Floats, blocks: int, length: int) -> Floats:
    """(blocks, features) array: what is compared between blocks, in comparable units."""
    values = (values - values.mean()) / values.std()
    cut = values[: blocks * length].reshape(blocks, length)
    tiny = 1e-12  # a block may be constant
    edges = np.quantile(values, np.arange(1, CLASSES) / CLASSES)
    classes = np.searchsorted(edges, cut)
    shares = [(classes == c).mean(axis=1) for c in range(CLASSES)]
    # Half the logarithm of the variance is the logarithm of the standard deviation.
    spread = 0.5 * np.log(cut.var(axis=1) + tiny)
    speed = 0.5 * np.log(np.diff(cut, axis=1).var(axis=1) + tiny)
    return np.stack([cut.mean(axis=1), spread, speed, *shares], axis=1)


def _cusum(features: Floats, orders: NDArray[np.int64]) -> Floats:
    """Standardised differences between the blocks before and after a split, (orders, splits, features)."""
    blocks = len(features)
    spread = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    s = np.arange(1, blocks)[None, :, None]
    before = np.cumsum(standard[orders], axis=1)[:, :-1]
    # With mean zero over all blocks: before/s - after/(B-s) = before B / (s (B-s)).
    return np.abs(before) * np.sqrt(blocks / (s * (blocks - s)))


def _shuffle_test(
    features: Floats, replicates: int, rng: np.random.Generator
) -> tuple[float, float, int, int]:
    """p-value, statistic, and the feature and split point with the largest change."""
    blocks = len(features)
    true = _cusum(features, np.arange(blocks)[None])[0]
    split, feature = np.unravel_index(np.argmax(true), true.shape)
    orders = rng.permuted(np.tile(np.arange(blocks), (replicates, 1)), axis=1)
    shuffled = _cusum(features, orders).max(axis=(1, 2))
    statistic = true.max()
    # Equal up to rounding counts as equal; the true order is one of those possible.
    p_value = (1 + np.sum(shuffled >= statistic * (1 - 1e-12))) / (1 + replicates)
    return float(p_value), float(statistic), int(feature), int(split) + 1


def _effect(features: Floats, feature: int, split: int) -> float:
    column = features[:, feature]
    return float(abs(column[:split].mean() - column[split:].mean()))


def _name(feature: int, observables: int) -> str:
    observable, which = divmod(feature, len(FEATURES))
    return FEATURES[which] if observables == 1 else f"{FEATURES[which]} of observable {observable}"
