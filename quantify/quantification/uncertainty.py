"""The four numbers and how sure they are: what chance does to them, and what the choices of the method do.

Chance: errors of the correlation sums are drawn again and again (`quantify.correlation.noise`), up and down
alike, and each time everything is done anew, the choice of the ranges and of the smallest scale included.
Fits, terms and ranges are choices, and the numbers of one series jump where a choice tips over. Their mean
over the draws does not: it is the number to quote (Efron 2014, "Estimation and accuracy after model
selection": bagging), and its standard error is what it owes to the pairs of blocks of the series, by
regression on how much they counted in the draws. It tells how the number moves here; it may move a lot a
little farther on, and the middle 95 % of the draws tell of that, down and up: a quarter of the variance of
the interval is theirs (`BY_DRAWS`).
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
from quantify.correlation.noise import SIZE, WIDER, Noise, variances
from quantify.decomposition import Decomposition, ScalingRange, decompose
from quantify.decomposition.algorithm import S_MIN
from quantify.decomposition.ranges import line_through, plausible_numbers
from quantify.decomposition.result import SOFT, resolved_arguments
from quantify.decomposition.split import split_many, split_rule
from quantify.errors import QuantifyError
from quantify.quantification_data import QUANTITIES, Estimate
from quantify.scales import LEAST_SCALES, scales_resolved, scales_with_pairs

# No error is claimed to be smaller: rounding, and a draw in a thousand that is different.
LEAST_ERROR = 0.001
# Draws of each size that make a regression worth while.
LEAST_DRAWS = 50
MORE_PAIRS = 2.0
"""The smallest scale of a draw has the pairs needed up to so many times over, or as many times fewer."""
BY_DRAWS, BY_DELAYS = 0.25, 0.5
"""Share of the variance of an interval that the middle 95 % of the draws say, down and up, and likewise of
the delays that chance might have chosen, among which numbers jump more."""
S_MIN_CHOICES = 6
"""Thresholds of the usual interval, both ends included, that are tried one by one."""
NORMAL = 1.96
"""Standard deviations on either side of the middle 95 % of a normal distribution."""

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
    """The four numbers with errors of the correlation sums that were drawn, up and down alike.

    Attributes
    ----------
    noise : Noise
    draws : (n, P) array
        What makes the errors.
    up, down : (n, k) arrays
        The four numbers with these errors and with the opposite ones, and over all plausible ranges the ln of
        where these begin and end.
    size : float
        Variance of the errors in units of the usual one.
    times : (n,) array
        How many times the usual number of pairs the smallest scale of each must have.
    """

    noise: Noise
    draws: Floats
    up: Floats
    down: Floats
    size: float = 1.0
    times: Floats | float = 1.0

    @cached_property
    def usable(self) -> Bools:
        """Pairs that have all numbers."""
        return np.asarray(np.isfinite(self.up + self.down).all(axis=1))

    @cached_property
    def numbers(self) -> Floats:
        """All draws that have all numbers, (2 n, k)."""
        return np.concatenate([self.up[self.usable], self.down[self.usable]])

    @property
    def by_chance(self) -> Floats:
        """How far all draws lie from their mean, (2 n, k), but for what the smallest scale does to them."""
        off = self.numbers - self.mean
        times = np.broadcast_to(self.times, len(self.up))[self.usable]
        scale = np.log(np.concatenate([times, times]))
        return np.asarray(off - np.outer(scale, scale @ off / max(scale @ scale, 1e-12)))

    @property
    def mean(self) -> Floats:
        """Mean over all draws, (k,); opposite errors cancel, so that few draws are enough."""
        return self.numbers.mean(axis=0) if len(self.numbers) else np.full(self.up.shape[1], np.nan)

    @property
    def half(self) -> Floats:
        """Half the difference of opposite draws. What both have in common is not chance of this kind, but
        what an error does whichever way it goes, and the series has one such error already.
        """
        return ((self.up - self.down) / 2)[self.usable]

    @property
    def scatter(self) -> Floats:
        """Standard error of the numbers of one series, (k,): their scatter over the draws, as if in
        proportion to the errors.
        """
        half = self.half
        if len(half) < 2:
            return np.full(self.up.shape[1], np.nan)
        return np.sqrt((half**2).mean(axis=0) / (SIZE * self.size))

    @property
    def sd(self) -> Floats:
        """Standard deviation over all draws, (k,): the standard error of the numbers as they are, which jump
        where a fit tips over, if the errors are as large as the real ones. A jump is as high with errors half
        as large: the scatter over larger ones, scaled down, would be too small.
        """
        return self.numbers.std(axis=0) if len(self.numbers) > 2 else np.full(self.up.shape[1], np.nan)

    @property
    def added(self) -> Floats:
        """What every pair of blocks adds to `mean`, (P, k)."""
        return self.noise.added(self.draws[self.usable], self.half, self.size)


def replicated(
    sums: CorrelationSums,
    parts: Decomposition,
    given: Span,
    region: bool,
    n: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> tuple[Replicates, ...] | None:
    """Sets of n errors; scales and widths as resolved for this series.

    For a mean over all plausible ranges two sets, the second wider (`WIDER`); else one of the real size.
    """
    if sums.blocks is None or n < 1:
        return None
    noise, found = sums.blocks.noise, []
    sizes = (1.0, WIDER) if given is None and region else (1 / SIZE,)
    times = MORE_PAIRS ** rng.permutation((2 * np.arange(n) + 1) / n - 1)
    for size in sizes:
        draws = noise.draws(n, rng)
        errors = noise.errors(draws, size)
        up, down = (read_many(sums, parts, error, given, region, times) for error in (errors, -errors))
        found.append(Replicates(noise, draws, up, down, size, times))
        if progress is not None:
            progress(len(found), len(sizes))
    return tuple(found)


def read_many(
    sums: CorrelationSums,
    parts: Decomposition,
    errors: Floats,
    given: Span,
    region: bool = True,
    times: Floats | float = 1.0,
) -> Floats:
    """`read` of the decompositions of sums with errors of ln C, (n, m_max, n_eps), as `Replicates` has it.

    Over all plausible ranges each has its own smallest scale, that with `times` as many pairs as are needed:
    numbers jump where fits lose their last scale.
    """
    with np.errstate(divide="ignore"):
        ln_C = np.where(sums.C > 0, np.log(sums.C), np.nan) + errors
    x, rule = np.log(sums.eps), split_rule(parts.settings)
    if given is None and region:
        kept = np.full(len(errors), len(parts.eps))
        if parts.settings["eps_min_from"] != "given":
            wanted = scales_with_pairs(np.exp(ln_C[:, -1]) * sums.examined[-1], sums.all_pairs, times)
            kept = np.clip(wanted, LEAST_SCALES, scales_resolved(sums.eps, sums.resolution))
        limit, numbers = float(parts.settings["kappa_max"]), np.full((len(errors), 6), np.nan)
        for n in np.unique(kept):
            some = kept == n
            curves = split_many(x[:n], 0.0 - ln_C[some, :, :n], rule)
            numbers[some] = plausible_numbers(x[:n], curves, limit, SOFT)
        return numbers
    r = quoted_range(parts, given, region)
    if r is None:
        return np.full((len(errors), len(QUANTITIES)), np.nan)
    x = np.log(parts.eps)
    curves = split_many(x, 0.0 - ln_C[..., : len(x)], rule)
    inside = (parts.eps >= r.lo) & (parts.eps <= r.hi)
    state, memory = curves[:, 1, inside].mean(axis=1), curves[:, 2, inside].mean(axis=1)
    D = [line_through(x[inside], raw)[0] for raw in curves[:, 3, inside]]
    return np.column_stack([state, memory, state + memory, D])


def quoted_numbers(quoted: ScalingRange, drawn: tuple[Replicates, ...] | None) -> tuple[ScalingRange, Floats]:
    """The numbers to quote, and their standard errors.

    Over all plausible ranges: the mean over the draws, also of where these begin and end, with the error

        variance of f(x) = integral over t from 0 to 1 of  gradient(x) . covariance . E gradient(x_t)

    where x_t has the correlation t with x. That holds for any smooth f of normal x. The gradient at x_t, on
    average, is that of the mean over wider errors; 1 - t² is 2/3 on average, and so is the width that is
    added. The gradient alone, squared, would overstate the error of a number that goes up and down with the
    data. Over given scales: the numbers there, with their standard deviation over draws of the real size.
    """
    if drawn is None:
        return quoted, np.full(len(QUANTITIES), np.nan)
    if not quoted.default:
        return quoted, drawn[0].sd[: len(QUANTITIES)]
    near, wide = drawn
    if not near.usable.any():
        return quoted, near.scatter[: len(QUANTITIES)]
    E_state, E_mem, E_core, D, lo, hi = near.mean.tolist()
    ends = {"lo": math.exp(lo), "hi": math.exp(hi), "octaves": (hi - lo) / math.log(2)}
    quoted = replace(quoted, E_state=E_state, E_mem=E_mem, E_core=E_core, D=D, **ends)
    if min(near.usable.sum(), wide.usable.sum()) < LEAST_DRAWS:
        return quoted, near.scatter[: len(QUANTITIES)]
    found = variances(near.added, near.noise.blocks, wide.added).total
    return quoted, np.sqrt(np.maximum(found, 0.0))[: len(QUANTITIES)]


def student_factor(freedom: int) -> float:
    """Standard errors, as estimated with so many degrees of freedom, on either side of a 95 % interval."""
    from scipy.stats import t  # slow to import, so only where it is needed

    return float(t.ppf(0.975, freedom)) if freedom > 0 else math.nan


def errors_down_and_up(drawn: tuple[Replicates, ...]) -> Floats | None:
    """Standard errors down and up, (2, 4), by which the middle 95 % of all draws lie around the mean, with
    drawn errors brought to their real size; None if there are few draws.

    A number that jumps, such as state complexity where a plateau comes and goes, has a small error on either
    side of the jump, and draws beyond it.
    """
    off = [one.by_chance[:, : len(QUANTITIES)] / np.sqrt(SIZE * one.size) for one in drawn]
    every = np.concatenate(off)
    return middle_of_draws(every) if len(every) >= 2 * LEAST_DRAWS else None


def middle_of_draws(off: Floats) -> Floats:
    """Standard errors down and up, (2, k), by which the middle 95 % of all draws, (n, k), lie around 0."""
    low, high = np.quantile(off, (0.025, 0.975), axis=0) / NORMAL
    return np.maximum([-low, high], 0.0)


def estimates(
    parts: Decomposition,
    quoted: ScalingRange,
    sampling: Floats,
    freedom: int,
    choices: dict[str, Floats],
    of_tau: Floats | None = None,
    sides: Floats | None = None,
) -> dict[str, Estimate]:
    """The four numbers with their uncertainties.

    Parameters
    ----------
    quoted, sampling
        As `quoted_numbers` returns them.
    freedom : degrees of freedom of the sampling error
    choices : what other choices of the method add to each number, by name of the choice, (k, 4) arrays
    of_tau : what delays that chance might have chosen add to each number, (k, 4), if it was chosen at all
    sides : errors down and up by the draws, a delay chosen from the data aside (`errors_down_and_up`)
    """
    factor = student_factor(freedom)
    local_D = -np.gradient(parts.E_raw, np.log(parts.eps))
    inside = (parts.eps >= quoted.lo) & (parts.eps <= quoted.hi)
    spread = [quoted.E_state_sd, quoted.E_mem_sd, quoted.E_core_sd]
    spread.append(float(np.std(local_D[inside], ddof=1)) if inside.sum() > 1 else 0.0)
    own = np.zeros((1, len(QUANTITIES)))
    by_tau = own if of_tau is None or not len(of_tau) else of_tau
    scatter = by_tau.std(axis=0)
    sides = np.broadcast_to(sampling if sides is None else sides, (2, len(QUANTITIES)))
    by_tau_sides = middle_of_draws(np.concatenate([own, by_tau]))
    by_draws = (1 - BY_DRAWS) * sampling**2 + BY_DRAWS * sides**2
    reach = np.sqrt(by_draws + (1 - BY_DELAYS) * scatter**2 + BY_DELAYS * by_tau_sides**2)
    reach = factor * np.maximum(reach, LEAST_ERROR)
    found = {}
    for i, name in enumerate(QUANTITIES):
        value, error = getattr(quoted, name), math.nan
        if np.isfinite(sampling[i]):
            error = max(math.hypot(float(sampling[i]), float(scatter[i])), LEAST_ERROR)
        down, up = reach[:, i].tolist()
        # Complexities are sums of terms that are none below 0.
        least = 0.0 if name != "D" and parts.settings["remove_negative"] else -math.inf
        moved = {choice: _interval(value, added[:, i], least) for choice, added in choices.items()}
        found[name] = Estimate(
            value=value,
            sampling=error,
            interval=(max(value - down, least), value + up),
            spread=spread[i],
            s_min_interval=moved.get("s_min", (value, value)),
            choices=moved,
        )
    return found


def _interval(value: float, added: Floats, least: float) -> tuple[float, float]:
    """The smallest and largest value that the other choices give, not below the least that there is."""
    seen = [0.0, *added[np.isfinite(added)]]
    return max(value + float(min(seen)), least), value + float(max(seen))


def over_s_min(sums: CorrelationSums, parts: Decomposition, given: Span, region: bool) -> Floats:
    """What other thresholds s_min of the usual interval add to the four numbers, (6, 4)."""
    options = resolved_arguments(parts.settings)
    base = read(parts, given, region)
    thresholds = np.linspace(*S_MIN, S_MIN_CHOICES)
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
        examined = np.rint(sums.examined * (total.sum() / sums.all_pairs)).astype(np.int64)
        part = replace(sums, C=C, examined=examined, blocks=None)
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
