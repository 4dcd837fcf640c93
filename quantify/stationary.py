"""Does a series keep its statistics along the time axis?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Floats
from quantify.errors import QuantifyError
from quantify.inputs import as_series, rescaled
from quantify.plain import to_plain

FEATURES = ("mean", "spread", "spread of increments", "skewness", "kurtosis", "extremes")
PARTS = 32  # places at which the series may be cut
FEWEST_SAMPLES = 80
MOST_BLOCKS = 512  # means of the features that the waves are fitted to
SLOW = 6  # waves 1..6: periods down to a third of the series
WAVES = 64  # the waves after the slow ones tell how large these are by chance
MEMORY = 12  # waves; memory up to a 12 pi-th, about a fortieth, of the series is allowed for


@dataclass(frozen=True)
class Stationarity:
    """Verdict of `stationarity`.

    Attributes
    ----------
    stationary : bool
        False if a change is both significant (p_value < alpha) and large (effect > least_effect).
    p_value : float
        Chance that a stationary series moves as much, for all features and waves together.
    statistic : float
        Size of the most significant slow wave, in units of what chance makes of it.
    change : int
        Sample at which the series changes most.
    effect : float
        From crest to trough of that wave: of the mean in standard deviations, of the logarithm of a standard
        deviation, of a higher power in standard deviations of that power, but no more than the shift or
        growth of all values that would do the same.
    feature : str
        What changes most.
    transient : int or None
        Samples to cut off at the start to make the rest stationary, 0 if it is stationary as it stands; None
        if cutting up to half of the series does not help.
    blocks, block_length : int
        Parts between which `change` and `transient` are looked for, and their length in samples.
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


def stationarity(series: ArrayLike, *, alpha: float = 0.01, least_effect: float = 0.1) -> Stationarity:
    """Test whether mean, spread, speed and shape of a series move slowly along the time axis.

    Six features of every sample are followed: the powers 1, 2, 3, 4 and 7 of its deviation from the mean, and
    its squared increment; samples beyond the .1 and 99.9 % quantiles count as these. Each is split into
    waves cos(pi j t / N), j half periods in the series. Of a stationary series whose memory is
    short against its length all slow waves are of one size: their coefficients are nearly independent and
    Gaussian, with a variance S_j that hardly depends on j. So waves j = 7..64 tell what chance makes of the
    waves j = 1..6, which a drift, a step, a swing with a period beyond a third of the series and a random
    walk make large. What still rises towards small j because of memory is allowed for by

        S_j = S / (1 + (j / w)^2),   w >= 12,

    the spectrum of a memory of N / (pi w) samples, fitted to the waves 7..64 by (Whittle's) likelihood. The
    largest coefficient over sqrt(S_j) follows Student's t; its p-value is multiplied by the number of waves
    and features (Bonferroni).

    A change that is significant but tiny does no harm to estimates and is let pass: its effect (see
    `Stationarity`) must exceed `least_effect` as well. A stationary process that remembers more than a
    fortieth of the series may pass for a drift: the series does not show what it does in the long run.

    Parameters
    ----------
    series : (N,) or (N, d) array
        At least 80 samples. With several observables, the features of all of them are tested together.
    alpha : float
        Level of the test, in (0, 1).
    least_effect : float

    Examples
    --------
    >>> from quantify import stationarity
    >>> from quantify.systems import Henon
    >>> stationarity(Henon().sample(2000, 1)[:, 0]).stationary
    True
    """
    x = as_series(series)
    n = x.shape[1]
    if n < FEWEST_SAMPLES:
        raise QuantifyError(f"{n} samples are too few for a test; at least {FEWEST_SAMPLES} are needed.")
    if not 0 < alpha < 1 or not least_effect >= 0:
        raise QuantifyError(
            f"alpha = {alpha} must be in (0, 1) and least_effect = {least_effect} at least 0."
        )
    blocks = min(MOST_BLOCKS, n // 2) // PARTS * PARTS
    features = np.concatenate([_features(values, blocks) for values in x])
    moves, p_value, statistic, feature, effect = _slow_waves(features, alpha, least_effect)
    transient: int | None = 0
    if moves:
        transient = None
        for cut in range(1, PARTS // 2 + 1):
            if not _slow_waves(features[:, cut * blocks // PARTS :], alpha, least_effect)[0]:
                transient = cut * n // PARTS
                break
    return Stationarity(
        stationary=not moves,
        p_value=p_value,
        statistic=statistic,
        change=_largest_step(features[feature].reshape(PARTS, -1).mean(axis=1)) * n // PARTS,
        effect=effect,
        feature=_name(feature, len(x)),
        transient=transient,
        blocks=PARTS,
        block_length=n // PARTS,
        alpha=alpha,
        least_effect=least_effect,
    )


def _features(values: Floats, blocks: int) -> Floats:
    """(features, blocks) array: means over blocks of what is followed, in comparable units.

    Smooth functions of the values, not shares of classes: a share jumps whenever the samples of a periodic
    signal slip past the edge of a class. The seventh power sees the extremes, which a drift carries beyond
    the bounds of an attractor.
    """
    x = rescaled(values)[0]
    low, high = np.quantile(x, [0.001, 0.999])
    if low < high:  # one wild sample would be all that powers see
        x = np.clip(x, low, high)
    z = (x - x.mean()) / x.std()
    edges = np.arange(blocks + 1) * len(z) // blocks
    square, speed = z**2, np.diff(z, prepend=z[0]) ** 2
    cube, fourth = square * z, square**2
    found = (z, square, speed, cube, fourth, cube * fourth)
    # Half the relative change of a variance is the change of the logarithm of the standard deviation. A
    # power k answers a shift with k z^(k-1), a growth with k z^k, which must not look larger than it is.
    units = (
        *(1.0, 2.0, 2 * speed.mean(), max(cube.std(), 3.0), max(fourth.std(), 4 * fourth.mean())),
        max(found[-1].std(), 7 * (cube**2).mean()),
    )
    return np.stack(
        [np.add.reduceat(f, edges[:-1]) / np.diff(edges) / u for f, u in zip(found, units, strict=True)]
    )


def _slow_waves(features: Floats, alpha: float, least_effect: float) -> tuple[bool, float, float, int, float]:
    """Whether any slow wave of (features, blocks) is significant and large; p-value, statistic, feature and
    effect of the most significant of those, or of all if there is none.
    """
    from scipy.special import stdtr  # slow to import, so only where it is needed

    blocks = features.shape[1]
    waves = min(WAVES, blocks // 2)
    j = np.arange(1, waves + 1)
    basis = np.cos(np.pi * np.outer((np.arange(blocks) + 0.5) / blocks, j))
    amplitude = (features - features.mean(axis=1, keepdims=True)) @ basis * (2 / blocks)
    # Profile likelihood of w: the level S is the mean of what is left after division by the shape.
    w = np.append(MEMORY * 2.0 ** np.arange(0, 6, 0.5), np.inf)
    shape = 1 / (1 + (j / w[:, None]) ** 2)
    level = np.mean(amplitude[:, None, SLOW:] ** 2 / shape[:, SLOW:], axis=2)
    level = np.maximum(level, 1e-24)  # of a periodic signal only rounding may be left
    best = np.argmin((waves - SLOW) * np.log(level) + np.log(shape[:, SLOW:]).sum(axis=1), axis=1)
    chance = np.sqrt(np.take_along_axis(level, best[:, None], axis=1) * shape[best, :SLOW])
    t = np.abs(amplitude[:, :SLOW]) / chance
    p_value = np.minimum(1.0, 2 * t.size * stdtr(waves - SLOW - 1, -t))
    effect = 2 * np.abs(amplitude[:, :SLOW])
    moves = (p_value < alpha) & (effect > least_effect)
    most = np.unravel_index(np.argmax(np.where(moves, t, 0.0) if moves.any() else t), t.shape)
    return bool(moves.any()), float(p_value[most]), float(t[most]), int(most[0]), float(effect[most])


def _largest_step(means: Floats) -> int:
    """The split s with the largest s (B - s) / B (mean before s - mean after s)²."""
    s = np.arange(1, len(means))
    before = np.cumsum(means - means.mean())[:-1]
    return int(np.argmax(before**2 / (s * (len(means) - s)))) + 1


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
                found[i] = stationarity(values, alpha=each)
            except QuantifyError as error:
                notes.append(f"{names[i]} was not tested: {error}")
    notes += [str(note.message) for note in caught]
    if not found:
        return {"verdict": f"stationarity not tested ({'; '.join(notes)})"}
    moving = [i for i, test in found.items() if not test.stationary]
    worst = min(found, key=lambda i: (found[i].stationary, found[i].p_value))
    test, one = found[worst], len(columns) == 1
    which = f"sensor {names[worst]!r}" if one else f"{len(found)} sensors"
    p = f"p = {min(1.0, len(columns) * test.p_value):.2g}"
    if not moving and test.p_value >= each:
        verdict = f"{which} stationary ({p}; a change is called one below {level:g})"
    elif not moving:
        verdict = f"{which} stationary: a change of {test.effect:.2g} is certain ({p}, below {level:g}), "
        verdict += f"but too small to matter, which begins at {test.least_effect:g}"
    else:
        which = which if one else f"{len(moving)} of {len(found)} sensors"
        feature = test.feature + ("" if one else f" of {names[worst]!r}")
        verdict = f"{which} NOT stationary: {feature} changes by {test.effect:.2g} at sample {test.change} "
        verdict += f"({p}, below {level:g})"
    said = {"sensor": worst, "verdict": "; ".join([verdict, *notes]), "tested": list(found), "moving": moving}
    return said | to_plain(asdict(test))
