"""A quantification as a readable text, as a table for notebooks, and in one line."""

from __future__ import annotations

import math
import textwrap
from html import escape

from quantify.quantification_data import QUANTITIES, Estimate, QuantificationData

WIDTH = 100
EPS_MIN_WORDS = {
    "given": "as asked for",
    "pairs": "too few pairs in the largest embedding",
    "resolution": "finer than the resolution of the series",
    "grid": "the grid ends there",
}


HEADINGS = ("value", "sampling", "over eps", "s_min in [.05, .1]")


def summary_text(q: QuantificationData) -> str:
    """The numbers with their uncertainties, the range they belong to, and what speaks against them."""
    value, sampling, spread, s_min = HEADINGS
    return "\n".join(
        [
            _title(q),
            f"{'':9}{value:>8}{sampling:>11}{spread:>11}{s_min:>21}",
            *(_row(name, getattr(q, name)) for name in QUANTITIES),
            *(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in [*_account(q), _verdict(q)]),
            *(textwrap.fill(f"- {line}", WIDTH, subsequent_indent="  ") for line in q.caveats),
        ]
    )


def summary_html(q: QuantificationData) -> str:
    """The same as an HTML table with the account and the caveats below it."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in ("", *HEADINGS))
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(name, getattr(q, name)))
        + "</tr>"
        for name in QUANTITIES
    )
    account = "".join(f"<p>{escape(line)}</p>" for line in [*_account(q), _verdict(q)])
    caveats = "".join(f"<li>{escape(line)}</li>" for line in q.caveats)
    return (
        f"<div><table><caption>{escape(_title(q))}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f"{account}{f'<ul>{caveats}</ul>' if caveats else ''}</div>"
    )


def short_text(q: QuantificationData) -> str:
    """The four numbers and their range in one line."""
    numbers = ", ".join(f"{name} {_short(getattr(q, name).value)}" for name in QUANTITIES)
    n = len(q.caveats)
    return (
        f"<Quantification: {numbers} over eps {q.range.lo:.3g} to {q.range.hi:.3g}, in {q.unit}; "
        f"{n or 'no'} caveat{'' if n == 1 else 's'}>"
    )


def _title(q: QuantificationData) -> str:
    n = q.sums.n
    series = f"{n:,} samples" if n is not None else "correlation sums from a file"
    observables = f" of {q.sums.d} observables" if q.sums.d > 1 else ""
    return f"Complexity of {series}: delay {q.sums.tau or '?'}, {q.sums.m_max} steps{observables}, in nats"


def _account(q: QuantificationData) -> list[str]:
    """Sentences about the scales that were averaged over, and the predictive information."""
    r, parts = q.range, q.decomposition.settings
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
    return text


def _verdict(q: QuantificationData) -> str:
    if q.caveats:
        return "Not to be trusted without a second look:"
    return "Nothing speaks against these numbers."


def _cells(name: str, e: Estimate) -> tuple[str, str, str, str]:
    """Value, sampling error, spread over the scales and the interval over s_min, as words."""
    low, high = e.s_min_interval
    s_min = "" if name == "D" else f"{_short(low)} to {_short(high)}"
    return _short(e.value), f"± {_short(e.sampling)}", f"± {_short(e.spread)}", s_min


def _row(name: str, e: Estimate) -> str:
    value, sampling, spread, s_min = _cells(name, e)
    return f"{name:9}{value:>8}{sampling:>11}{spread:>11}{s_min:>21}".rstrip()


def _short(value: float) -> str:
    return "?" if math.isnan(value) else f"{value:.2f}"
