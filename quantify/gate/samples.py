"""Single samples: those far from all others, and values that come again."""

from __future__ import annotations

import numpy as np

from quantify.aliases import Bools, Floats
from quantify.gate.finding import Finding, of_column, percent
from quantify.gate.stretches import runs

WILD_SHARE = 0.001  # more than this are no accident but part of what the series does
TAIL_SHARE = 0.01  # of the samples, farthest from the median: they tell how heavy the tails are
CHANCE = 1e-4  # of accusing the largest value of a heavy-tailed series
BURST = 3  # more wild samples than this, with fewer than ten others between any two, are a burst
MANY_TIES = 0.1
SATURATED = 0.005


def wild_samples(values: Floats) -> Bools:
    """Which samples lie so far from all others that they cannot belong to the same distribution.

    Sorted by their distance from the median, D_1 >= D_2 >= ..., the first i are accused if they are few, and
    if the gap D_i - D_{i+1} both exceeds the range between the .1 and 99.9 % quantiles and is too wide for
    the tail below it: in a tail that falls as D^(-1/gamma), i ln(D_i / D_{i+1}) follows an exponential
    distribution of mean gamma, for which Hill's estimate is taken, the mean of ln(D_l / D_K) over the rest of
    the tail. Tails may therefore be as heavy as they like (gamma = 1 for Cauchy's distribution). Samples that
    come in bursts are what the series does, too.
    """
    n = len(values)
    far = np.abs(values - np.median(values))
    most, tail = max(1, int(WILD_SHARE * n)), max(20, int(TAIL_SHARE * n))
    wild = np.zeros(n, dtype=bool)
    if n < 2 * tail:
        return wild
    low, high = np.quantile(values, [WILD_SHARE, 1 - WILD_SHARE])
    order = np.argpartition(far, n - tail)[n - tail :]
    order = order[np.argsort(far[order])[::-1]]
    D = far[order]
    if not D[-1] > 0:
        return wild
    log = np.log(D)
    i = np.arange(1, most + 1)
    left = tail - i  # samples in the tail below the gap
    hill = (log.sum() - np.cumsum(log)[:most]) / left - log[-1]
    # One wild sample of a short series moves the quantiles: the range is that of those below the gap.
    reach = np.minimum(high - low, 2 * D[i])
    gap = D[i - 1] - D[i]
    apart = (gap > reach) & (i * (log[i - 1] - log[i]) > -np.log(CHANCE) * hill)
    if apart.any():
        places = np.sort(order[: np.flatnonzero(apart)[-1] + 1])
        for together in np.split(places, np.flatnonzero(np.diff(places) > 10) + 1):
            wild[together] = len(together) <= BURST
    return wild


def outliers(values: Floats, wild: Bools, column: int, names: tuple[str, ...]) -> Finding | None:
    """Samples far from all others."""
    places = np.flatnonzero(wild)
    if len(places) == 0:
        return None
    rest = values[~wild]
    worst = places[np.argmax(np.abs(values[places] / 2 - np.median(values) / 2))]  # 1e308 - -1e308 overflows
    one = len(places) == 1
    several = f"{len(places)} sample{'s' * (not one)}{of_column(names, column)} lie{'s' * one}"
    return Finding(
        "outliers",
        f"{several} far from all others: {values[worst]:.3g} at sample {worst:,} is the worst, the others "
        f"stay between {rest.min():.3g} and {rest.max():.3g}. Scales are taken from the range of the others, "
        "so that the numbers hardly change; remove such samples if the sensor made them.",
        {
            "column": column,
            "count": len(places),
            "samples": places[:100].tolist(),
            "worst": float(values[worst]),
            "others": [float(rest.min()), float(rest.max())],
        },
    )


def ties(values: Floats, column: int, names: tuple[str, ...]) -> Finding | None:
    """Values that come again, beside repeats of the sample before, which are another finding."""
    changing = values[np.append(True, values[1:] != values[:-1])]
    # Many samples at the end of a sensor's range are no rounding.
    inside = changing[(changing != values.min()) & (changing != values.max())]
    if len(inside) < 100:
        return None
    found = np.unique(inside)
    share = 1 - len(found) / len(inside)
    if share < MANY_TIES:
        return None
    steps = np.diff(found)
    step = float(steps.min())
    uniform = bool(np.abs(steps / step - np.round(steps / step)).max() < 1e-3)
    text = (
        f"{percent(share)} of the samples{of_column(names, column)} repeat an earlier value: there are "
        f"{len(found):,} different ones"
        + (f", in steps of {step:.3g}. Below that scale" if uniform else ". At small scales")
        + " distances are ties and not dynamics, and E and D mean nothing. Record with more digits."
    )
    facts = {"column": column, "share": share, "different": len(found), "step": step if uniform else None}
    return Finding("ties", text, facts)


def saturation(values: Floats, column: int, names: tuple[str, ...]) -> Finding | None:
    """Samples that pile up at the smallest or largest value: the sensor cannot go beyond it."""
    found, counts = np.unique(values, return_counts=True)
    ends = []
    for end, next_to in ((0, 1), (-1, -2)):
        share = counts[end] / len(values)
        # Rounded values are as frequent next to the end as at it, and rest is no end of the range.
        if share > SATURATED and counts[end] > 5 * counts[next_to] and len(runs(values == found[end])[0]) > 5:
            ends.append((float(found[end]), float(share)))
    if not ends:
        return None
    said = " and ".join(
        f"{percent(share)} of the samples{of_column(names, column)} are {end:.3g}" for end, share in ends
    )
    return Finding(
        "saturation",
        f"{said}, at the end of the range: the sensor saturates, or rests there. These samples have "
        "distance 0 from one another and count at every scale. Record with a wider range if it saturates.",
        {"column": column, "ends": [{"value": end, "share": share} for end, share in ends]},
    )
