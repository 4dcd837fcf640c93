"""A quantification as a readable text."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quantify.quantification import Estimate, Quantification

QUANTITIES = ("E_state", "E_mem", "E_core", "D")
WIDTH = 100
EPS_MIN_WORDS = {
    "given": "as asked for",
    "pairs": "too few pairs in the largest embedding",
    "resolution": "finer than the resolution of the series",
    "grid": "the grid ends there",
}


def summary_text(q: Quantification) -> str:
    """The numbers with their uncertainties, the range they belong to, and what speaks against them."""
    n, r, parts = q.sums.n, q.range, q.decomposition.settings
    series = f"{n:,} samples" if n is not None else "correlation sums from a file"
    observables = f" of {q.sums.d} observables" if q.sums.d > 1 else ""
    which = "varying terms depend"
    if r.terms is not None:
        which = "terms {} to {} depend".format(*r.terms) if r.terms != (0, 0) else "no terms depend"
    text = [
        f"Range: eps {r.lo:.3g} to {r.hi:.3g} ({r.octaves:.1f} octaves, {q.settings['range_from']}); "
        f"{which} on eps; kappa {r.kappa:.2f}; drift {r.drift:+.2f} nats per e-fold of eps; "
        f"{r.no_fit:.0%} of the terms without fit.",
        f"Scales below eps {parts['eps_min']:.3g} are left out ({EPS_MIN_WORDS[parts['eps_min_from']]}).",
    ]
    if q.predictive_information is not None:
        p = q.predictive_information
        number, points = p.quoted, p.settings["points"]
        text.append(
            f"Predictive information (KSG, k = {p.k}, at most {points:,} points): {number.value:.2f} nats at "
            f"m = {number.m}, eta = {number.eta:.3g}; {number.half:.2f} from half the data."
        )
    text.append(
        "Not to be trusted without a second look:" if q.caveats else "Nothing speaks against these numbers."
    )
    return "\n".join(
        [
            f"Complexity of {series}: delay {q.sums.tau or '?'}, {q.sums.m_max} steps{observables}, in nats",
            f"{'':9}{'value':>8}{'sampling':>11}{'over eps':>11}{'s_min in [.05, .1]':>21}",
            *(_row(name, getattr(q, name)) for name in QUANTITIES),
            *(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in text),
            *(textwrap.fill(f"- {line}", WIDTH, subsequent_indent="  ") for line in q.caveats),
        ]
    )


def _row(name: str, e: Estimate) -> str:
    low, high = e.s_min_interval
    s_min = "" if name == "D" else f"{_short(low)} to {_short(high)}"
    row = (
        f"{name:9}{_short(e.value):>8}{'± ' + _short(e.sampling):>11}{'± ' + _short(e.spread):>11}{s_min:>21}"
    )
    return row.rstrip()


def _short(value: float) -> str:
    return "?" if math.isnan(value) else f"{value:.2f}"
