"""What a grid of runs says about its controllers: medians, intervals, paired differences, the ranking."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

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
NO_VALUE = f"broke down, cannot be quantified, or have enough pairs on less than {COVERED:.0%} of the scales"
"""What runs without a value have in common."""
SCALE_WORDS = {
    "common": "scales common to all",
    "relative": "scales relative to the amplitude",
    "auto": "scales chosen for each behaviour",
}
SCALE_HEADS = {"common": "com.", "relative": "rel.", "auto": "auto"}


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

    Runs without a value (they broke down, cannot be quantified, or less than half of the scales are reliable)
    rank below all others, in medians, intervals and tests alike; how many they are stands beside. All other
    quantities are medians over the runs that have them. A run that is unfinished, for lack of memory, say,
    tells nothing about its controller: its seed is left out for all of them. A controller of which no run is
    finished would leave out every seed: it is not ranked instead.

    Raises
    ------
    ExperimentError
        When no controller or no seed is left.
    """
    unfinished = [row for row in rows if row.get("unfinished")]
    finished = {row["controller"] for row in rows if not row.get("unfinished")}
    # From the last to the first, which remains.
    reasons = {row["controller"]: row["reason"] for row in reversed(unfinished)}
    not_ranked = {name: reasons[name] for name in controllers if name not in finished}
    controllers = [name for name in controllers if name in finished]
    left_out = sorted({row["seed"] for row in unfinished if row["controller"] in finished})
    rows = counted([row for row in rows if row["controller"] in finished], left_out)
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
            "not_ranked": not_ranked,
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
    others = {s: over(value(row, s, "E_core") for row in rows) for s in SCALE_WORDS if s != scales}
    measured = [row for row in rows if not row["reason"]]
    # A run that has an amplitude was recorded to the end.
    broke_down = sum("std" not in row for row in rows)
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
        "broke_down": broke_down,
        "not_quantified": len(rows) - len(measured) - broke_down,
        "without_value": sum(math.isinf(score) for score in scores),
        "least_covered": min(shares, default=None),
        "without_range": sum(not row["auto"]["usable"] for row in measured),
        "not_stationary": sum(row["stationary"] is False for row in measured),
    }


def ranking_table(robot: str, summary: dict[str, Any]) -> Table:
    """The ranking of one robot's controllers."""
    ranking = summary["ranking"]
    surrogate = any(entry["surrogate"] for entry in ranking)
    *_, other = ranking[0]["E_core_by_scales"]  # one of them fits a narrow screen
    table = plain_table(
        *("controller", "E_core", "κ", "state", "mem.", "D", "std", "PI"),
        *(SCALE_HEADS[other], *(["lin."] if surrogate else []), "none", "range"),
        title=f"{robot}: controllers by core complexity on {SCALE_WORDS[summary['scales']]}",
    )
    table.pad_edge = False
    table.columns[0].no_wrap = True
    for entry in ranking:
        runs = entry["runs"]
        ranged = runs - entry["broke_down"] - entry["not_quantified"] - entry["without_range"]
        medians = [entry[q] for q in ("kappa", "E_state", "E_mem", "D", "std", "PI")]
        medians += [entry["E_core_by_scales"][other], *([entry["surrogate"]] if surrogate else [])]
        cells = [interval(entry["E_core"]), *(number(found, runs) for found in medians)]
        table.add_row(
            f"{entry['rank']} {entry['controller']}",
            *(cell.replace(" ", "\n", 1) for cell in cells),
            f"{entry['without_value']}/{runs}",
            f"{ranged}/{runs}",
        )
    linear = "; lin.: of linear surrogates" if surrogate else ""
    table.caption = _caption(
        medians_words(summary),
        "κ: 0 deterministic, 1 stochastic scales.",
        f"{SCALE_HEADS[other]}: E_core on {SCALE_WORDS[other]}{linear}.",
        f"none: runs without a value, which rank below all others: they {NO_VALUE}.",
        "range: runs with a deterministic range of scales.",
        *missing_words(summary),
    )
    return table


def pairs_table(robot: str, summary: dict[str, Any]) -> Table:
    """The differences between controllers, paired by seed."""
    title = f"{robot}: differences paired by seed"
    table = plain_table("pair", "E_core", "p", "p (Holm)", "", title=title)
    table.min_width = 64  # room for the words below
    for pair in summary["pairs"]:
        table.add_row(
            f"{pair['a']} - {pair['b']}",
            interval(pair["difference"], "+z.2f"),
            f"{pair['p']:.2g}",
            f"{pair['p_holm']:.2g}",
            "shown" if pair["p_holm"] < LEVEL else "",
        )
    table.caption = _caption(*pairs_words(summary))
    return table


def _caption(*sentences: str) -> Text:
    """Sentences that are wrapped at the width of their table, in a pipe as well."""
    return Text(" ".join(sentences), style="table.caption", no_wrap=False, overflow="fold")


def medians_words(summary: dict[str, Any]) -> str:
    """What the numbers of one robot's ranking are."""
    core = summary["ranking"][0]["E_core"]
    if core["n"] == 1:
        return f"Values of {seeds_words(summary)} in nats."
    return (
        f"Medians over {seeds_words(summary)} in nats; in brackets the interval that holds the median of "
        f"E_core with {core['coverage']:.1%}; in parentheses how many runs a median rests on, if not on all. "
        "E_core is state + memory in every run, not in the medians."
    )


def pairs_words(summary: dict[str, Any]) -> list[str]:
    """What the numbers of one robot's differences are."""
    if not summary["pairs"]:
        return ["There is no pair: only one controller is ranked."]
    difference, smallest = summary["pairs"][0]["difference"], summary["smallest_p_holm"]
    words = [
        "Differences of E_core: Hodges-Lehmann estimate, with the interval "
        f"({difference['coverage']:.1%}) of Wilcoxon's signed-rank test. p: this test, exact, two-sided; "
        "Holm: corrected for all pairs of this robot, which the interval is not."
        if difference["n"] > 1
        else "Differences of E_core in one seed. p: Wilcoxon's signed-rank test, exact, two-sided; Holm: "
        "corrected for all pairs of this robot.",
        "-inf: the first of the two has no value; +inf: the second.",
    ]
    if smallest >= LEVEL:
        few = f"With so few seeds no p (Holm) can be below {smallest:.2g}: nothing can be shown; add seeds."
        words.append(few)
    return words


def missing_words(summary: dict[str, Any]) -> list[str]:
    """What is said about the seeds and controllers that are not in one robot's ranking."""
    words = []
    if seeds := summary["left_out"]:
        which = "seed" if len(seeds) == 1 else "seeds"
        listed = ", ".join(map(str, seeds))
        words.append(f"Left out for all controllers, because a run is unfinished: {which} {listed}.")
    if names := summary["not_ranked"]:
        listed = ", ".join(f"{name} ({reason})" for name, reason in names.items())
        words.append(f"Not ranked, because every run is unfinished: {listed}.")
    return words


def seeds_words(summary: dict[str, Any]) -> str:
    """On how many seeds one robot's ranking rests, such as "8 of 10 seeds"."""
    used, lost = summary["ranking"][0]["runs"], len(summary["left_out"])
    return f"{used} of {used + lost} seeds" if lost else plural(used, "seed")


def plural(n: int, thing: str) -> str:
    """So many things."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def number(found: dict[str, Any] | None, runs: int = 0) -> str:
    """The value of a median, briefly; with how many of the `runs` have it, if not all."""
    if found is None or found["value"] is None:
        return "-"
    return f"{found['value']:z.2f}" + (f" ({found['n']})" if found["n"] < runs else "")


def share(found: float | None) -> str:
    """A share in per cent."""
    return "-" if found is None else f"{found:.0%}"


def interval(found: dict[str, Any], style: str = "z.2f") -> str:
    """A median with its interval, which one value has not.

    "none" is a run without a value, and inf the difference from one.
    """
    value, lo, hi = (
        "none" if found[key] is None else format(float(found[key]), style) for key in ("value", "lo", "hi")
    )
    return value if found["n"] == 1 else f"{value} [{lo}, {hi}]"
