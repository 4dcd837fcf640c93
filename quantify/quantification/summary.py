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


HEADINGS = ("value", "95 % interval", "other choices", "over eps")
CHOICE_WORDS = {"tau": "the delay ± 25 %", "m_max": "m_max ± 2", "s_min": "s_min in [.05, .1]"}


def summary_text(q: QuantificationData, width: int = WIDTH) -> str:
    """Three lines first (what it is, how sure, the largest doubt), then the numbers and all that belongs to
    them.
    """

    def filled(*lines: str) -> list[str]:
        return [textwrap.fill(line, width, subsequent_indent="  ") for line in lines]

    return "\n".join(
        [
            *filled(_title(q), *headlines(q)),
            "",
            f"{'':9}" + "".join(f"{head:>16}" for head in HEADINGS),
            *(_row(name, getattr(q, name)) for name in QUANTITIES),
            *filled(*_account(q), _verdict(q)),
            *filled(*(f"- {line}" for line in q.caveats)),
        ]
    )


def headlines(q: QuantificationData) -> list[str]:
    """What it is, how sure, and the largest doubt, in three sentences."""
    core = q.E_core
    below = "" if q.stochastic_below is None else f", stochastic below eps = {q.stochastic_below:.3g}"
    if q.scaling_region:
        what = (
            f"Deterministic over eps {q.range.lo:.3g} to {q.range.hi:.3g}{below}: core complexity "
            f"{_short(core.value)} nats (state {_short(q.E_state.value)}, memory {_short(q.E_mem.value)}), "
            f"dimension {_short(q.D.value)}."
        )
    elif q.E is not None or q.PI is not None:
        parts = [
            f"{name} {_short(limit.value)} ± {_short(limit.sampling)}"
            for name, limit in (("excess entropy", q.E), ("predictive information", q.PI))
            if limit is not None
        ]
        delay = q.settings.get("limit_tau")
        at = f" at delay {delay}" if delay is not None and delay != q.sums.tau else ""
        what = (
            f"No scaling region{below}: in the limit of small scales{at} {', '.join(parts)} nats, all of it "
            "memory."
        )
    else:
        what = f"No scaling region{below}: the numbers are those of the smallest reliable scales."
    sure = "How sure: not known, for the correlation sums carry no block counts."
    if math.isfinite(core.sampling):
        sure = "How sure: many series like this one have a mean E_core within {} to {} nats (95 %).".format(
            *map(_short, core.interval)
        )
    return [what, sure, f"Largest doubt: {_doubt(q)}"]


def _doubt(q: QuantificationData) -> str:
    """The largest of the uncertainties, in words."""
    core = q.E_core
    reach = {"chance": (core.interval[1] - core.interval[0]) / 2 if math.isfinite(core.sampling) else 0.0}
    words = {"chance": "chance, that is, the length of the series."}
    for choice, (low, high) in core.choices.items():
        reach[choice] = max(high - core.value, core.value - low)
        words[choice] = f"{CHOICE_WORDS[choice]} gives E_core from {_short(low)} to {_short(high)} nats."
    half = (q.convergence or {}).get("half", {}).get("E_core", math.nan)
    if q.scaling_region and math.isfinite(half):
        reach["length"] = abs(core.value - half)
        words["length"] = f"half of the series gives {_short(half)} nats."
    if q.stationarity is not None and not q.stationarity["stationary"]:
        return "the series is not stationary (see below)."
    if not q.scaling_region and q.E is None and q.PI is None:
        return "whether it is noise cannot be told at any scale that this series reaches (see below)."
    return words[max(reach, key=lambda name: reach[name])]


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
    first = "".join(f"<p>{escape(line)}</p>" for line in headlines(q))
    return (
        f"<div>{first}<table><caption>{escape(_title(q))}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f"{account}{f'<ul>{caveats}</ul>' if caveats else ''}</div>"
    )


def short_text(q: QuantificationData) -> str:
    """The four numbers and their range in one line."""
    numbers = ", ".join(f"{name} {_short(getattr(q, name).value)}" for name in QUANTITIES)
    n = len(q.caveats)
    of = f" of {sensors}" if (sensors := sensors_in_words(q)) else ""
    return (
        f"<Quantification{of}: {numbers} over eps {q.range.lo:.3g} to {q.range.hi:.3g}, in {q.unit}; "
        f"{n or 'no'} caveat{'' if n == 1 else 's'}>"
    )


def _title(q: QuantificationData) -> str:
    n = q.sums.n
    series = f"{n:,} samples" if n is not None else "correlation sums from a file"
    sensors, rate = sensors_in_words(q), q.settings.get("rate")
    if sensors:
        series = f"{sensors}, {series}"
    delay = str(q.sums.tau or "?")
    if rate:
        series, delay = f"{series} at {rate:.4g} Hz", f"{delay} ({(q.sums.tau or 0) / rate:.3g} s)"
    observables = f" of {q.sums.d} observables" if q.sums.d > 1 else ""
    return f"Complexity of {series}: delay {delay}, {q.sums.m_max} steps{observables}, in nats"


def sensors_in_words(q: QuantificationData) -> str:
    """Names of the sensors that were quantified; few of many; empty if they have none."""
    names = [f"column {name}" if str(name).isdigit() else str(name) for name in q.settings.get("sensors", ())]
    return ", ".join(names if len(names) <= 6 else [*names[:3], "...", names[-1]])


def _account(q: QuantificationData) -> list[str]:
    """Sentences about the scales that were averaged over, and the predictive information."""
    r, parts = q.range, q.decomposition.settings
    which = "varying terms depend"
    if r.terms is not None:
        which = "terms {} to {} depend".format(*r.terms) if r.terms != (0, 0) else "no terms depend"
    text = [
        f"Range: eps {r.lo:.3g} to {r.hi:.3g} ({r.octaves:.1f} octaves, {q.settings['range_from']}); "
        f"{which} on eps; kappa {r.kappa:.2f} (0: deterministic, 1: noise); E_core drifts by {r.drift:+.2f} "
        f"nats per e-fold of eps; {r.no_fit:.0%} of the terms lie on no straight line over ln eps and are "
        "taken as they are or continued.",
        f"Scales below eps {parts['eps_min']:.3g} are left out ({EPS_MIN_WORDS[parts['eps_min_from']]}).",
    ]
    text += q.settings.get("notes", ())
    if q.predictive_information is not None:
        p = q.predictive_information
        number = p.quoted
        text.append(
            f"Predictive information at delay {p.tau} (KSG, k = {number.k or p.k}, {number.coordinates} "
            "coordinates): "
            f"{number.value:.2f} nats between {number.m} past and {number.m} future steps, "
            f"± {number.error:.2f}; {number.half:.2f} from half the data"
            + (f"; noise of strength eta = {number.eta:.3g} was added." if number.eta else ".")
        )
    return text + [test.sentence for test in q.null_tests.values()]


def _verdict(q: QuantificationData) -> str:
    if q.caveats:
        return "Not to be trusted without a second look:"
    return "Nothing speaks against these numbers."


def _cells(name: str, e: Estimate) -> tuple[str, str, str, str]:
    """Value, interval, what other choices give, and spread over the scales, as words."""
    interval = "{} to {}".format(*map(_short, e.interval)) if math.isfinite(e.sampling) else ""
    choices = "{} to {}".format(*map(_short, e.choice_interval)) if e.choices else ""
    return _short(e.value), interval, choices, f"± {_short(e.spread)}" if math.isfinite(e.spread) else ""


def _row(name: str, e: Estimate) -> str:
    return (f"{name:9}" + "".join(f"{cell:>16}" for cell in _cells(name, e))).rstrip()


def _short(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.2f}"
