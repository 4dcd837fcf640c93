"""The four numbers and how sure they are: what chance does to them, and what the choices of the method do.

Chance: errors of the correlation sums are drawn again and again (`quantify.correlation.noise`), up and down
alike, and each time everything is done anew, the choice of the ranges included. Fits, terms and ranges are
choices, and the numbers of one series jump where a choice tips over. Their mean over the draws does not: it
is the number to quote (Efron 2014, "Estimation and accuracy after model selection": bagging), and its
standard error is what it owes to every block of the series, by regression on how much the blocks counted in
the draws. Student's factor for the number of blocks makes that a 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from quantify.aliases import Bools, Floats, Progress
from quantify.correlation import CorrelationSums
from quantify.decomposition import Decomposition, ScalingRange, decompose
from quantify.decomposition.algorithm import S_MIN, S_MIN_STEPS
from quantify.decomposition.result import resolved_arguments
from quantify.errors import QuantifyError
from quantify.quantification_data import QUANTITIES, Estimate

# No error is claimed to be smaller: rounding, and a draw in a thousand that is different.
LEAST_ERROR = 0.001

Span = tuple[float, float] | None


def read(parts: Decomposition, given: Span, region: bool = True) -> Floats:
    """The four numbers of a decomposition: over the given scales, else over all plausible ranges, else (no
    scaling region) over the smallest reliable scales. NaN where there are no such scales.
    """
    r = quoted_range(parts, given, region)
    return np.array([math.nan if r is None else getattr(r, name) for name in QUANTITIES])


def quoted_range(parts: Decomposition, given: Span, region: bool = True) -> ScalingRange | None:
    """The scales that are averaged over; None if the given ones lie outside the grid."""
    if given is not None:
        inside = (parts.eps >= given[0]) & (parts.eps <= given[1])
        return parts.over(*given) if inside.sum() > 1 else None
    if region:
        return parts.plausible()
    return parts.over(parts.eps[-1], min(4 * parts.eps[-1], parts.eps[0]))


@dataclass(frozen=True)
class Replicates:
    """The four numbers of series of the same kind, drawn in pairs with opposite errors.

    Attributes
    ----------
    up, down : (n, 4) arrays
    weights : (n, B) array
        How much more the blocks of the series counted in `up`, and how much less in `down`.
    """

    up: Floats
    down: Floats
    weights: Floats

    @cached_property
    def usable(self) -> Bools:
        """Pairs that have all numbers."""
        return np.asarray(np.isfinite(self.up + self.down).all(axis=1))

    @property
    def mean(self) -> Floats:
        """Mean over all draws, (4,); opposite errors cancel, so that few draws are enough."""
        both = (self.up + self.down)[self.usable] / 2
        return both.mean(axis=0) if len(both) else np.full(self.up.shape[1], np.nan)

    @property
    def plain_error(self) -> Floats:
        """Standard error of the numbers of one series, (4,).

        Half the difference of two opposite draws: what both have in common is not chance of this kind, but
        what an error does whichever way it goes, and the series has one such error already.
        """
        half = self._half
        return np.sqrt((half**2).mean(axis=0)) if len(half) > 1 else np.full(self.up.shape[1], np.nan)

    @property
    def mean_error(self) -> Floats:
        """Standard error of `mean`, (4,): what it owes to the blocks, by regression on their weights.

        half the difference = weights @ influence + rest, and the variance is the sum of the squared
        influences, less what the rest adds to it by chance; what could hide behind that chance is the least
        that is claimed. Without twice as many pairs as blocks, the whole scatter.
        """
        half, weights = self._half, self.weights[self.usable]
        n, B = weights.shape
        if n < 2 * B:
            return self.plain_error
        inverse = np.linalg.pinv(weights)  # weights add up to 0: their rank is B - 1
        influence = inverse @ half
        rest = ((half - weights @ influence) ** 2).sum(axis=0) / (n - B + 1)
        by_chance = rest * (inverse**2).sum()
        return np.sqrt(np.maximum((influence**2).sum(axis=0) - by_chance, by_chance))

    @property
    def _half(self) -> Floats:
        return ((self.up - self.down) / 2)[self.usable]


def replicated(
    sums: CorrelationSums,
    parts: Decomposition,
    given: Span,
    region: bool,
    n: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Replicates:
    """n series of the same kind, in n / 2 pairs; scales and widths as resolved for this one."""
    options = resolved_arguments(parts.settings)
    pairs = (n + 1) // 2
    noise = sums.blocks.noise if sums.blocks is not None else None
    numbers = np.full((2, pairs, len(QUANTITIES)), np.nan)
    weights = np.zeros((pairs, 0 if noise is None else noise.freedom + 1))
    for i in range(pairs if noise is not None else 0):
        assert noise is not None
        weights[i] = noise.weights(rng)
        error = noise.error(weights[i])
        for side, drawn in enumerate((error, -error)):
            numbers[side, i] = read(decompose(sums.off_by(drawn), **options), given, region)
        if progress is not None:
            progress(i + 1, pairs)
    return Replicates(numbers[0], numbers[1], weights)


def quoted_numbers(quoted: ScalingRange, drawn: Replicates) -> tuple[ScalingRange, Floats]:
    """The numbers to quote, and their standard errors.

    Over all plausible ranges: the mean over the draws. Over given scales: the numbers there.
    """
    if not quoted.default or not drawn.usable.any():
        return quoted, drawn.plain_error
    E_state, E_mem, E_core, D = drawn.mean.tolist()
    return replace(quoted, E_state=E_state, E_mem=E_mem, E_core=E_core, D=D), drawn.mean_error


def estimates(
    parts: Decomposition,
    quoted: ScalingRange,
    sampling: Floats,
    freedom: int,
    choices: dict[str, Floats],
    tau_scatter: Floats | float = 0.0,
) -> dict[str, Estimate]:
    """The four numbers with their uncertainties.

    Parameters
    ----------
    quoted, sampling
        As `quoted_numbers` returns them.
    freedom : degrees of freedom of the sampling error
    choices : what other choices of the method add to each number, by name of the choice, (k, 4) arrays
    tau_scatter : standard errors that the numbers owe to a delay chosen from the data
    """
    from scipy.stats import t  # slow to import, so only where it is needed

    factor = float(t.ppf(0.975, freedom)) if freedom > 0 else math.nan
    local_D = -np.gradient(parts.E_raw, np.log(parts.eps))
    inside = (parts.eps >= quoted.lo) & (parts.eps <= quoted.hi)
    spread = [quoted.E_state_sd, quoted.E_mem_sd, quoted.E_core_sd]
    spread.append(float(np.std(local_D[inside], ddof=1)) if inside.sum() > 1 else 0.0)
    scatter = np.broadcast_to(tau_scatter, len(QUANTITIES))
    found = {}
    for i, name in enumerate(QUANTITIES):
        value, error = getattr(quoted, name), math.nan
        if np.isfinite(sampling[i]):
            error = max(math.hypot(float(sampling[i]), float(scatter[i])), LEAST_ERROR)
        moved = {choice: _interval(value, added[:, i]) for choice, added in choices.items()}
        found[name] = Estimate(
            value=value,
            sampling=error,
            interval=(value - factor * error, value + factor * error),
            spread=spread[i],
            s_min_interval=moved.get("s_min", (value, value)),
            choices=moved,
        )
    return found


def _interval(value: float, added: Floats) -> tuple[float, float]:
    """The smallest and largest value that the other choices give."""
    seen = [0.0, *added[np.isfinite(added)]]
    return value + float(min(seen)), value + float(max(seen))


def over_s_min(sums: CorrelationSums, parts: Decomposition, given: Span, region: bool) -> Floats:
    """What other thresholds s_min of the usual interval add to the four numbers, (6, 4)."""
    options = resolved_arguments(parts.settings)
    base = read(parts, given, region)
    thresholds = np.linspace(*S_MIN, S_MIN_STEPS)
    return np.array(
        [read(decompose(sums, **options | {"s_min": float(s)}), given, region) - base for s in thresholds]
    )


def of_parts(sums: CorrelationSums, pieces: Sequence[slice], given: Span, **options: Any) -> Floats:
    """The four numbers of parts of the series, each a slice of its blocks, on average; NaN if there are none.

    Counts by block hold those of every part: nothing is counted again.
    """
    assert sums.blocks is not None
    found = []
    for piece in pieces:
        total = sums.blocks.total[piece, piece]
        if not total.sum() > 0:  # all within the Theiler window
            continue
        C = sums.blocks.close[piece, piece].sum(axis=(0, 1)) / total.sum()
        part = replace(sums, C=C, examined=np.full_like(sums.examined, int(total.sum())), blocks=None)
        try:
            found.append(read(decompose(part, **options), given))
        except QuantifyError:  # too short for three scales
            continue
    return np.mean(found, axis=0) if found else np.full(len(QUANTITIES), np.nan)


def of_shorter(sums: CorrelationSums, given: Span, **options: Any) -> dict[str, dict[str, float]]:
    """The four numbers of a quarter and of half of the series, on average over its quarters and halves."""
    assert sums.blocks is not None
    B, found = len(sums.blocks.total), {}
    for name, parts in (("quarter", 4), ("half", 2)):
        if B % parts == 0 and 2 * parts <= B:
            size = B // parts
            values = of_parts(sums, [slice(i * size, (i + 1) * size) for i in range(parts)], given, **options)
            found[name] = dict(zip(QUANTITIES, values.tolist(), strict=True))
    return found
