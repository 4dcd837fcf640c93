"""What a grid of runs says about its controllers: medians, intervals, paired differences, the ranking."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal

from rich.table import Table

from experiments.console import plain_table
from experiments.errors import ExperimentError
from experiments.statistics import holm, median, paired, smallest_p
from quantify.plain import to_plain

Scales = Literal["common", "relative", "auto"]
Row = dict[str, Any]

LEVEL = 0.05
"""Differences with a corrected p-value below this count as shown."""
COVERED = 0.5
"""A value must rest on at least this share of its scales. Complexity changes with scale, so a mean over less
than half of the octaves says more about which of them are left than about the behaviour."""


def value(row: Row, scales: str, quantity: str) -> float | None:
    """A complexity of one run on one kind of scales; None if it has none, or on too small a share of them."""
    numbers = row.get(scales, {})
    found = numbers.get(quantity)
    return None if found is None or numbers.get("covered", 1.0) < COVERED else float(found)


def over(numbers: Iterable[float | None]) -> dict[str, Any] | None:
    """The median of the numbers that exist, with its interval and their count `n`; None if there are none."""
    found = [number for number in numbers if number is not None]
    return asdict(median(found)) if found else None


def counted(rows: Iterable[Row], left_out: Sequence[int]) -> list[Row]:
    """The runs of all seeds but those that are left out."""
    return [row for row in rows if row["seed"] not in left_out]


def summarise(rows: Sequence[Row], controllers: Sequence[str], scales: Scales) -> dict[str, Any]:
    """Rank the controllers of one robot by the median of E_core over seeds, and test all pairs.

    Runs without a value (they broke down, or less than half of the scales are reliable) rank below all
    others, in medians, intervals and tests alike; how many they are stands beside. All other quantities are
    medians over the runs that have them. A run that is unfinished, for lack of memory, say, tells nothing
    about its controller: its seed is left out for all of them.

    Raises
    ------
    ExperimentError
        When no seed is left.
    """
    unfinished = [row for row in rows if row.get("unfinished")]
    left_out = sorted({row["seed"] for row in unfinished})
    rows = counted(rows, left_out)
    if not rows:
        first = unfinished[0]
        raise ExperimentError(
            f"every seed has a run that is unfinished, such as {first['controller']} seed {first['seed']} "
            f"({first['reason']}); mend that and run the same command, or leave that controller out"
        )
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
        pairs.append({"a": a, "b": b, "difference": _signed(asdict(found.difference)), "p": found.p})
    for pair, corrected in zip(pairs, holm([pair["p"] for pair in pairs]), strict=True):
        pair["p_holm"] = corrected
    seeds = len(rows) // max(len(controllers), 1)
    plain: dict[str, Any] = to_plain(
        {
            "scales": scales,
            "ranking": [entries[name] for name in order],
            "pairs": pairs,
            "left_out": left_out,
            "smallest_p_holm": min(1.0, smallest_p(seeds) * max(len(pairs), 1)),
        }
    )
    return plain


def _score(row: Row, scales: str) -> float:
    found = value(row, scales, "E_core")
    return -math.inf if found is None else found


def _signed(found: dict[str, Any]) -> dict[str, Any]:
    """Infinite numbers as words, because JSON has none and which of the two failed must not be lost."""
    return {key: str(x) if math.isinf(x) else x for key, x in found.items()}


def _entry(name: str, rows: list[Row], scores: list[float], scales: str) -> dict[str, Any]:
    quantities = {q: over(value(row, scales, q) for row in rows) for q in ("E_state", "E_mem", "D", "kappa")}
    others = {s: over(value(row, s, "E_core") for row in rows) for s in ("common", "relative", "auto")}
    measured = [row for row in rows if not row["reason"]]
    shares = [row[scales]["covered"] for row in measured if "covered" in row[scales]]
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
        "least_covered": min(shares, default=None),
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
        "κ: 0 deterministic, 1 stochastic scales. E_core is state + mem. in every run, not in the\n"
        "medians. auto, surr.: E_core on scales chosen for each behaviour, and of linear surrogates.\n"
        "broke: runs that broke down; they rank below all others, as those without a value.\n"
        "range: runs with a deterministic range of scales."
    )
    if summary["left_out"]:
        table.caption += f"\n{left_out_words(summary['left_out'])}"
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
    table.caption = PAIRS_WORDS.format(coverage=summary["pairs"][0]["difference"]["coverage"])
    if smallest >= LEVEL:
        table.caption += (
            f"\nWith so few seeds no p (Holm) can be below {smallest:.2g}: nothing can be shown; add seeds."
        )
    return table


PAIRS_WORDS = (
    "Differences of E_core: Hodges-Lehmann estimate, with the interval ({coverage:.1%}) of Wilcoxon's\n"
    "signed-rank test. p: this test, exact, two-sided; Holm: corrected for all pairs of this robot,\n"
    "which the interval is not. -inf: the first of the two has no value; +inf: the second."
)
SCALE_WORDS = {
    "common": "scales common to all",
    "relative": "scales relative to the amplitude",
    "auto": "scales chosen for each behaviour",
}


def number(found: dict[str, Any] | None) -> str:
    """The value of a median, briefly."""
    return "-" if found is None or found["value"] is None else f"{found['value']:.2f}"


def share(found: float | None) -> str:
    """A share in per cent."""
    return "-" if found is None else f"{found:.0%}"


def interval(found: dict[str, Any], style: str = ".2f") -> str:
    """A median with its interval; "none" is a run without a value, and inf the difference from one."""
    value, lo, hi = (
        "none" if found[key] is None else format(float(found[key]), style) for key in ("value", "lo", "hi")
    )
    return f"{value} [{lo}, {hi}]"


def left_out_words(seeds: Sequence[int]) -> str:
    """What is said about the seeds that are left out."""
    which = ", ".join(map(str, seeds))
    return f"Left out for all controllers, because a run is unfinished: seed {which}."
