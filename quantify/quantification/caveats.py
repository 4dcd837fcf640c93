"""When not to trust a quantification, in words.

Every rule is one function that looks at the evidence and returns a sentence or None. The limits are
conventions, chosen so that textbook systems (Lorenz, Hénon) with enough data pass and their noisy, short,
coarse or drifting versions do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quantify.correlation import CorrelationSums
from quantify.decomposition import Decomposition, ScalingRange
from quantify.quantification.stochastic import LEAST_GROWTH, close_decision
from quantify.quantification_data import Estimate, QuantificationData
from quantify.scales import MIN_PAIRS, pairs_needed

# Differences below this many nats are never worth a warning.
SMALL = 0.1


@dataclass(frozen=True)
class Evidence:
    """What the rules look at."""

    sums: CorrelationSums
    parts: Decomposition
    range: ScalingRange
    core: Estimate
    stationarity: Mapping[str, Any] | None
    scaling_region: bool = True
    stochastic_below: float | None = None
    limit: bool = False
    convergence: Mapping[str, Mapping[str, float]] | None = None
    growth: float | None = None

    @classmethod
    def of(cls, q: QuantificationData) -> Evidence:
        """The evidence of a result."""
        return cls(
            q.sums,
            q.decomposition,
            q.range,
            q.E_core,
            q.stationarity,
            q.scaling_region,
            q.stochastic_below,
            q.E is not None and not q.scaling_region,
            q.convergence,
            None if q.scaling_region else close_decision(q.decomposition, q.entropies, q.sums),
        )

    @property
    def scale(self) -> float:
        """Size of E_core against which deviations are measured."""
        return max(abs(self.core.value), 2 * SMALL)


def too_long(sums: CorrelationSums) -> bool:
    """Whether delay vectors span more than a quarter of the series: such stretches cannot come back."""
    return bool(sums.n and sums.tau and 4 * (sums.m_max - 1) * sums.tau > sums.n)


def stretched(e: Evidence) -> str | None:
    """A series that is short against its own memory."""
    if too_long(e.sums):
        share = (e.sums.m_max - 1) * (e.sums.tau or 1) / (e.sums.n or 1)
        return (
            f"{e.sums.m_max} steps of {e.sums.tau:,} samples are {share:.0%} of the series: it is too short "
            "for anything to come back, or it drifts. Use a longer series, a smaller m_max or delay."
        )
    return None


def stochastic(e: Evidence) -> str | None:
    """Scales that the decomposition itself calls stochastic."""
    if e.limit:
        return None  # told first, with what there is instead
    if not e.scaling_region:
        return (
            f"There is no scaling region down to eps {e.parts.eps[-1]:.3g} (mean kappa of the smallest "
            f"scales: {e.range.kappa:.2f}; 0: deterministic, 1: noise): the series cannot be told from noise "
            "there, and E_state, E_mem and D mean little. More data or a smaller m_max reach smaller scales."
        )
    if e.range.kappa > e.parts.settings["kappa_max"] / 2:
        return (
            f"The range is deterministic in part only: the mean kappa is {e.range.kappa:.2f} "
            "(0: deterministic, 1: noise)."
        )
    return None


def moving(e: Evidence) -> str | None:
    """A number that still changes with the length of the series."""
    if e.limit or not e.convergence or not {"half", "quarter"} <= set(e.convergence):
        return None
    half, quarter = (e.convergence[name]["E_core"] for name in ("half", "quarter"))
    change = e.core.value - half
    # Halves have errors of their own, and are not means over draws: theirs are larger.
    if not abs(change) > max(3 * e.core.sampling, SMALL / 2):
        return None
    before = f"{quarter:.2f} from a quarter of it, " if np.isfinite(quarter) else ""
    return (
        f"E_core still {'rises' if change > 0 else 'falls'} with the length of the series: {before}"
        f"{half:.2f} from half of it, {e.core.value:.2f} from all. The interval does not hold this."
    )


def close(e: Evidence) -> str | None:
    """A verdict that another recording might turn round."""
    if e.growth is None:
        return None
    verdict, other = ("is", "not be") if e.limit else ("is not", "be")
    return (
        f"It is a close decision that the series {verdict} called stochastic: what a step tells grows by "
        f"{e.growth:.2f} of what it would for noise, and the limit is {LEAST_GROWTH:g}. Another recording "
        f"might {other} called so, with another E_core."
    )


def narrow(e: Evidence) -> str | None:
    """A range too short to call it one."""
    if e.range.octaves < (1.9 if not e.range.default else 1.0):
        return f"The range spans {e.range.octaves:.1f} octaves of eps; a scaling range should span two."
    return None


def coarse(e: Evidence) -> str | None:
    """Scales of the size of the whole signal."""
    if e.range.hi > e.sums.eps[0] / 4:
        return (
            f"The range reaches up to {e.range.hi / e.sums.eps[0]:.0%} of the largest distance in the "
            "series: only the coarsest features of the signal count there."
        )
    return None


def ambiguous(e: Evidence) -> str | None:
    """Other deterministic ranges that tell another story."""
    others = [
        r
        for r in e.parts.ranges()
        if r.octaves >= 1
        and (r.hi <= e.range.lo or r.lo >= e.range.hi)
        and _differs(e, r.E_core - e.core.value)
    ]
    if others:
        most = max(others, key=lambda r: abs(r.E_core - e.core.value))
        return (
            f"Complexity depends on the scale: over eps {most.lo:.3g} to {most.hi:.3g}, deterministic as "
            f"well, E_core is {most.E_core:.2f} nats. State the range with the number."
        )
    return None


def few_pairs(e: Evidence) -> str | None:
    """Fewer close pairs than the default lower scale asks for."""
    column = int(np.argmin(np.abs(e.sums.eps - e.range.lo)))
    pairs = float(e.sums.C[-1, column] * e.sums.all_pairs)
    if pairs < MIN_PAIRS:
        return (
            f"Only {pairs:,.0f} pairs of the largest embedding are closer than eps = {e.range.lo:.3g}, of "
            f"{MIN_PAIRS:,} wanted: use more data, a smaller m_max or larger scales."
        )
    return None


def quantised(e: Evidence) -> str | None:
    """A resolution that the scales come near to."""
    if e.parts.settings["eps_min_from"] == "resolution" or e.range.lo < 10 * e.sums.resolution:
        return (
            f"The series is quantised in steps of {e.sums.resolution:.3g}; scales near that show the steps, "
            "not the dynamics. Record with more digits."
        )
    return None


def nonstationary(e: Evidence) -> str | None:
    """A series whose statistics change along the time axis."""
    if e.stationarity is not None and not e.stationarity["stationary"]:
        cut = e.stationarity["transient"]
        return (
            f"The series is not stationary: its {e.stationarity['feature']} changes, most at sample "
            f"{e.stationarity['change']:,}. The numbers mix different regimes; "
            + (
                f"leave out the first {cut:,} samples (--start)."
                if cut
                else "quantify parts of it (--start, --stop)."
            )
        )
    return None


def unsure(e: Evidence) -> str | None:
    """A sampling error that is not small against the value."""
    if e.core.sampling > 0.25 * e.scale:
        return f"The sampling error of E_core is {e.core.sampling:.2g} nats: the series is too short."
    return None


CHOICES = {
    "tau": ("delay", "25 % shorter or longer", "the same delay"),
    "m_max": ("largest embedding", "2 steps shorter or longer", "the same m_max"),
    "s_min": ("threshold s_min", "in [.05, .1]", "the same s_min"),
}


def sensitive(e: Evidence) -> str | None:
    """A result that another reasonable choice would change a lot."""
    told = []
    for choice, (low, high) in e.core.choices.items():
        if _differs(e, high - low):
            name, how, same = CHOICES[choice]
            told.append(f"{low:.2f} to {high:.2f} nats for a {name} {how} (compare only at {same})")
    return f"E_core depends on choices of the method: {'; '.join(told)}." if told else None


def drifting(e: Evidence) -> str | None:
    """No plateau of E_core over the range."""
    change = e.range.drift * np.log(e.range.hi / e.range.lo)
    if _differs(e, change):
        return (
            f"E_core changes by {change:+.2f} nats from the lower to the upper end of the range: there is no "
            "plateau, and the mean depends on where the range ends."
        )
    return None


def sampled(e: Evidence) -> str | None:
    """Scales given up because a share of the pairs was counted, where they make a difference."""
    enough = np.flatnonzero(e.sums.C[-1] * e.sums.all_pairs >= pairs_needed(e.sums.all_pairs))
    reached, within = float(e.parts.eps[-1]), float(e.sums.eps[enough[-1]]) if len(enough) else np.inf
    if e.parts.settings["eps_min_from"] == "pairs" and within < reached / np.sqrt(2) and drifting(e):
        return (
            f"A share of the pairs was counted, which ends at eps = {reached:.2g}; all of them would reach "
            f"{within:.2g}, and move E_core: count them (exact=True)."
        )
    return None


def unfitted(e: Evidence) -> str | None:
    """Values that rest on raw data or on extrapolation."""
    if e.range.no_fit > 0.5:
        return (
            f"{e.range.no_fit:.0%} of the terms in the range lie on no straight segment "
            f"({e.range.extrapolated:.0%} are extrapolated)."
        )
    return None


def long_memory(e: Evidence) -> str | None:
    """Memory that reaches beyond the largest embedding."""
    inside = (e.parts.eps >= e.range.lo) & (e.parts.eps <= e.range.hi)
    K = len(e.parts.delta_h)
    last = float(K * e.parts.delta_h[-1, inside].mean())
    if last > max(0.1 * e.scale, SMALL):
        return (
            f"The last term still adds {last:.2f} nats: memory reaches beyond {K} steps. "
            "Use a larger m_max or delay."
        )
    return None


def _differs(e: Evidence, difference: float) -> bool:
    """Whether a difference in E_core is worth a word: a quarter of it, and a tenth of a nat."""
    return abs(difference) > max(0.25 * e.scale, SMALL)


RULES = (
    *(stretched, stochastic, close, narrow, coarse, ambiguous, few_pairs, quantised, nonstationary),
    *(moving, unsure, sensitive, drifting, sampled, unfitted, long_memory),
)


def find_caveats(evidence: Evidence) -> tuple[str, ...]:
    """All sentences that apply, in the order of `RULES`; of a limit only those that are not about a range."""
    if evidence.limit:
        return tuple(
            text
            for rule in (stretched, close, quantised, nonstationary)
            if (text := rule(evidence)) is not None
        )
    return tuple(text for rule in RULES if (text := rule(evidence)) is not None)
