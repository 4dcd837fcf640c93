"""Does a series keep its statistics along the time axis?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Counts, Floats, Rng
from quantify.delays import autocorrelation
from quantify.errors import QuantifyError
from quantify.inputs import as_series
from quantify.plain import to_plain

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
        The change itself, as stated in `stationarity`.
    change : int
        Sample at which the series changes most.
    effect : float
        Size of the largest change there: of the mean in standard deviations, of the logarithm of a standard
        deviation, or of the share of a class.
    feature : str
        What changes most there.
    transient : int or None
        Samples to cut off at the start to make the rest stationary, 0 if it is stationary as it stands; None
        if cutting up to half of the series does not help.
    blocks, block_length : int
        How the series was cut.
    alpha, least_effect : float
        As given.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify import stationarity
    >>> x = np.random.default_rng(0).standard_normal(2000)
    >>> x[:500] += 3  # a transient
    >>> verdict = stationarity(x)
    >>> verdict.stationary, 400 <= verdict.change <= 600
    (False, True)
    >>> stationarity(x[500:]).stationary
    True
    """

    stationary: bool
    p_value: float
    statistic: float
    change: int
    effect: float
    feature: str
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
    rng: Rng = 0,
) -> Stationarity:
    """Test whether mean, spread, speed and coarse distribution of a series change along the time axis.

    The series is cut into B blocks (32, or fewer such that each holds at least five correlation times, but at
    least 8). Of every block we take the mean, the logarithms of the standard deviations of the values and of
    their increments, and the share of values in each fifth of the distribution of the whole. The statistic is

        sum over features, mean over split points s of  s (B - s) / B * (mean before s - mean after s)² /
        variance

    of the blocks' features. If the series is stationary its blocks are exchangeable, so shuffling their order
    tells how large the statistic gets by chance, however strongly values depend on their neighbours within a
    block.

    A change that is significant but tiny does no harm to estimates and is let pass: its effect (see
    `Stationarity`) must exceed `least_effect` as well. A stationary process that is slower than an eighth of
    the series may pass for a drift: the series does not show what it does in the long run.

    Parameters
    ----------
    series : (N,) or (N, d) array
        At least 80 samples. With several observables, the features of all of them are compared.
    alpha : float
        Level of the test, in (0, 1).
    least_effect : float
    replicates : int
        Number of shuffled orders, at least 1 / alpha.
    rng : numpy.random.Generator or int

    Examples
    --------
    >>> from quantify import stationarity
    >>> from quantify.systems import Henon
    >>> stationarity(Henon().sample(2000, 1)[:, 0]).stationary
    True
    """
    x = as_series(series)
    n = x.shape[1]
    if n < 10 * FEWEST_BLOCKS:
        raise QuantifyError(f"{n} samples are too few for a test; at least {10 * FEWEST_BLOCKS} are needed.")
    if not 0 < alpha < 1 or not least_effect >= 0:
        raise QuantifyError(
            f"alpha = {alpha} must be in (0, 1) and least_effect = {least_effect} at least 0."
        )
    if replicates < 1 / alpha:
        raise QuantifyError(
            f"replicates = {replicates} cannot show p < {alpha}; use {1 / alpha:.0f} or more."
        )
    rng = np.random.default_rng(rng)
    memory = max(_correlation_time(values) for values in x)
    blocks = int(np.clip(min(n // (5 * memory), n // 10), FEWEST_BLOCKS, MOST_BLOCKS))
    length = n // blocks
    features = np.concatenate([_features(values, blocks, length) for values in x], axis=1)
    p_value, statistic, split, feature, effect = _shuffle_test(features, replicates, rng)
    stationary = p_value >= alpha or effect <= least_effect
    transient: int | None = 0
    if not stationary:
        transient = None
        for cut in range(1, blocks // 2 + 1):
            p, _, _, _, left = _shuffle_test(features[cut:], replicates, rng)
            if p >= alpha or left <= least_effect:
                transient = cut * length
                break
    return Stationarity(
        stationary=stationary,
        p_value=p_value,
        statistic=statistic,
        change=split * length,
        effect=effect,
        feature=_name(feature, len(x)),
        transient=transient,
        blocks=blocks,
        block_length=length,
        alpha=alpha,
        least_effect=least_effect,
    )


def _correlation_time(values: Floats) -> int:
    """Last lag, plus one, at which the autocorrelation of x or x² exceeds .2 in size.

    Taken from the values standardised within eighths of the series: a drift must not pass for memory.
    """
    length = len(values) // FEWEST_BLOCKS
    cut = values[: FEWEST_BLOCKS * length].reshape(FEWEST_BLOCKS, length)
    spread = cut.std(axis=1, keepdims=True)
    standard = ((cut - cut.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)).ravel()
    last = 0
    for v in (standard, standard**2):
        if np.ptp(v) > 0:
            last = max(last, int(np.flatnonzero(np.abs(autocorrelation(v, length)) > 0.2)[-1]))
    return last + 1


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


def _contrast(features: Floats, orders: Counts) -> Floats:
    """s (B - s) / B (mean before s - mean after s)² / variance, an (orders, splits, features) array."""
    blocks = len(features)
    spread = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf)
    s = np.arange(1, blocks)[:, None]
    # The sum over all blocks is zero, so that the difference of the means is before * B / (s (B - s)).
    before = np.cumsum(standard[orders], axis=1)[:, :-1]
    return np.asarray(before**2 * (blocks / (s * (blocks - s))))


def _shuffle_test(
    features: Floats, replicates: int, rng: np.random.Generator
) -> tuple[float, float, int, int, float]:
    """p-value and statistic; split point, feature and size of the largest change."""
    blocks = len(features)
    contrast = _contrast(features, np.arange(blocks)[None])[0]
    statistic = contrast.mean(axis=0).max()
    orders = rng.permuted(np.tile(np.arange(blocks), (replicates, 1)), axis=1)
    shuffled = _contrast(features, orders).mean(axis=1).max(axis=1)
    # Equal up to rounding counts as equal; the true order is one of those possible.
    p_value = (1 + np.sum(shuffled >= statistic * (1 - 1e-12))) / (1 + replicates)
    feature = int(np.argmax(contrast.mean(axis=0)))
    split = int(np.argmax(contrast[:, feature])) + 1
    effect = abs(features[:split, feature].mean() - features[split:, feature].mean())
    return float(p_value), float(statistic), split, feature, float(effect)


def _name(feature: int, observables: int) -> str:
    observable, which = divmod(feature, len(FEATURES))
    return FEATURES[which] if observables == 1 else f"{FEATURES[which]} of observable {observable}"


def stationarity_verdict(
    columns: Mapping[int, ArrayLike], names: Sequence[str], level: float = 0.01
) -> dict[str, Any]:
    """Test several observables of a recording at once; the verdict is a sentence.

    Parameters
    ----------
    columns : mapping of int to (N,) array
        The observables to test, by index.
    names : sequence of str
        Names of all observables.
    level : float
        Chance of calling a stationary recording not stationary, for all tests together: each of n has a level
        of level / n (Bonferroni).

    Returns
    -------
    dict
        `verdict`, and of the observable that moves most `sensor` and the fields of `Stationarity`; `tested`
        and `moving`, indices of those that were tested and of those that move. Plain values, for JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify import stationarity_verdict
    >>> x = np.random.default_rng(0).standard_normal((2000, 2))
    >>> x[:500, 1] += 3
    >>> found = stationarity_verdict({0: x[:, 0], 1: x[:, 1]}, ["left", "right"])
    >>> found["moving"], found["verdict"].partition(":")[0]
    ([1], '1 of 2 sensors NOT stationary')
    """
    each = level / len(columns)
    found, notes = {}, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i, x in columns.items():
            try:
                values = np.asarray(x, dtype=float)
                found[i] = stationarity(values, alpha=each, replicates=max(999, round(2 / each)))
            except QuantifyError as error:
                notes.append(f"{names[i]} was not tested: {error}")
    notes += [str(note.message) for note in caught]
    if not found:
        return {"verdict": f"stationarity not tested ({'; '.join(notes)})"}
    moving = [i for i, test in found.items() if not test.stationary]
    worst = min(found, key=lambda i: (found[i].stationary, found[i].p_value))
    test, one = found[worst], len(columns) == 1
    which = f"sensor {names[worst]!r}" if one else f"{len(found)} sensors"
    if not moving:
        verdict = f"{which} stationary (p = {min(1.0, len(columns) * test.p_value):.3f})"
    else:
        which = which if one else f"{len(moving)} of {len(found)} sensors"
        feature = test.feature + ("" if one else f" of {names[worst]!r}")
        verdict = f"{which} NOT stationary: {feature} changes by {test.effect:.2g} at sample {test.change}"
    said = {"sensor": worst, "verdict": "; ".join([verdict, *notes]), "tested": list(found), "moving": moving}
    return said | to_plain(asdict(test))
