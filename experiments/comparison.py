"""What a grid of runs says about its controllers: medians, intervals, paired differences, the ranking."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal

from rich.table import Table

from experiments.console import plain_table
from experiments.statistics import holm, median, paired, smallest_p
from quantify.plain import to_plain

Scales = Literal["common", "relative", "auto"]
Row = dict[str, Any]

LEVEL = 0.05
"""Differences with a corrected p-value below this count as shown."""


def value(row: Row, scales: str, quantity: str) -> float | None:
    """A complexity of one run on one kind of scales; None if the run has none."""
    found = row.get(scales, {}).get(quantity)
    return None if found is None else float(found)


def summarise(rows: Sequence[Row], controllers: Sequence[str], scales: Scales) -> dict[str, Any]:
    """Rank the controllers of one robot by the median of E_core over seeds, and test all pairs.

    Runs without a value (they broke down, or have no reliable scale in the range) rank below all others, in
    medians, intervals and tests alike; how many they are stands beside. All other quantities are medians over
    the runs that have them.
    """
    of = {name: [row for row in rows if row["controller"] == name] for name in controllers}
    scores = {name: [_score(row, scales) for row in of[name]] for name in controllers}
    entries = {name: _entry(name, of[name], scores[name], scales) for name in controllers}
    order = sorted(controllers, key=lambda name: -median(scores[name]).value)
    for name in order:
        better = sum(entries[o]["E_core"]["value"] > entries[name]["E_core"]["value"] for o in order)
        entries[name]["rank"] = 1 + better
    pairs: list[dict[str, Any]] = []
    for a, b in itertools.combinations(order, 2):
        found = paired(scores[a], scores[b])
        pairs.append({"a": a, "b": b, "difference": asdict(found.difference), "p": found.p})
    for pair, corrected in zip(pairs, holm([pair["p"] for pair in pairs]), strict=True):
        pair["p_holm"] = corrected
    seeds = len(rows) // max(len(controllers), 1)
    plain: dict[str, Any] = to_plain(
        {
            "scales": scales,
            "ranking": [entries[name] for name in order],
            "pairs": pairs,
            "smallest_p_holm": min(1.0, smallest_p(seeds) * max(len(pairs), 1)),
        }
    )
    return plain


def _score(row: Row, scales: str) -> float:
    found = value(row, scales, "E_core")
    return -math.inf if found is None else found


def _entry(name: str, rows: list[Row], scores: list[float], scales: str) -> dict[str, Any]:
    def over(numbers: Iterable[float | None]) -> dict[str, Any] | None:
        found = [number for number in numbers if number is not None]
        return asdict(median(found)) if found else None

    quantities = {q: over(value(row, scales, q) for row in rows) for q in ("E_state", "E_mem", "D", "kappa")}
    others = {s: over(value(row, s, "E_core") for row in rows) for s in ("common", "relative", "auto")}
    measured = [row for row in rows if not row["reason"]]
    return {
        "controller": name,
        "E_core": asdict(median(scores)),
        **quantities,
        "std": over(row.get("std") for row in rows),
        "PI": over(row.get("PI") for row in rows),
        "E_core_by_scales": others,
        "surrogate": over(value(row.get("surrogate", {}), scales, "E_core") for row in rows),
        "runs": len(rows),
        "broke_down": len(rows) - len(measured),
        "without_value": sum(math.isinf(score) for score in scores),
        "without_range": sum(not row["auto"]["usable"] for row in measured),
        "not_stationary": sum(row["stationary"] is False for row in measured),
    }


def ranking_table(robot: str, summary: dict[str, Any]) -> Table:
    """The ranking of one robot's controllers."""
    surrogate = any(entry["surrogate"] for entry in summary["ranking"])
    table = plain_table(
        *("controller", "E_core", "κ", "state", "mem.", "D", "std", "PI"),
        *("auto", *(["surr."] if surrogate else []), "broke", "range"),
        title=f"{robot}: controllers by core complexity on {SCALE_WORDS[summary['scales']]}",
    )
    for entry in summary["ranking"]:
        table.add_row(
            f"{entry['rank']} {entry['controller']}",
            interval(entry["E_core"]).replace(" ", "\n", 1),
            *(number(entry[q]) for q in ("kappa", "E_state", "E_mem", "D", "std", "PI")),
            number(entry["E_core_by_scales"]["auto"]),
            *([number(entry["surrogate"])] if surrogate else []),
            f"{entry['broke_down']}/{entry['runs']}",
            f"{entry['runs'] - entry['broke_down'] - entry['without_range']}/{entry['runs']}",
        )
    coverage = summary["ranking"][0]["E_core"]["coverage"]
    table.caption = (
        f"Medians over seeds in nats; below E_core the interval that holds its median with {coverage:.1%}.\n"
        "κ: 0 deterministic, 1 stochastic scales. state + mem. = E_core. auto, surr.: E_core on\n"
        "scales chosen for each behaviour, and of linear surrogates. broke: runs that broke down;\n"
        "they rank below all others. range: runs with a deterministic range of scales."
    )
    return table


def pairs_table(robot: str, summary: dict[str, Any]) -> Table:
    """The differences between controllers, paired by seed."""
    title = f"{robot}: differences paired by seed"
    table = plain_table("pair", "E_core [interval]", "p", "p (Holm)", "", title=title)
    for pair in summary["pairs"]:
        table.add_row(
            f"{pair['a']} - {pair['b']}",
            interval(pair["difference"], "+.2f"),
            f"{pair['p']:.2g}",
            f"{pair['p_holm']:.2g}",
            "shown" if pair["p_holm"] < LEVEL else "",
        )
    smallest = summary["smallest_p_holm"]
    table.caption = "Wilcoxon's signed-rank test, exact, two-sided; corrected for all pairs of this robot."
    if smallest >= LEVEL:
        table.caption += (
            f"\nWith so few seeds no p (Holm) can be below {smallest:.2g}: nothing can be shown; add seeds."
        )
    return table


SCALE_WORDS = {
    "common": "scales common to all",
    "relative": "scales relative to the amplitude",
    "auto": "scales chosen for each behaviour",
}


def number(found: dict[str, Any] | None) -> str:
    """The value of a median, briefly."""
    return "-" if found is None or found["value"] is None else f"{found['value']:.2f}"


def interval(found: dict[str, Any], style: str = ".2f") -> str:
    """A median with its interval; a bound that is a failed run is called so."""
    value, lo, hi = (
        "failed" if found[key] is None else format(found[key], style) for key in ("value", "lo", "hi")
    )
    return f"{value} [{lo}, {hi}]"
