"""What a comparison found, in sentences and in a Markdown table: nothing that the numbers do not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.studies.comparison.ranking import (
    COVERED,
    LEVEL,
    NO_VALUE,
    SCALE_HEADS,
    SCALE_WORDS,
    counted,
    interval,
    medians_words,
    missing_words,
    number,
    plural,
    seeds_words,
    share,
    value,
)

KAPPA = 0.5
"""Scales with a larger kappa count as stochastic, as in the decomposition."""

Summary = dict[str, Any]
Row = dict[str, Any]


def findings(summary: Summary, rows: Sequence[Row]) -> list[str]:
    """What can be said about the controllers of one robot, in the order of importance."""
    ranking, scales = summary["ranking"], summary["scales"]
    rows = counted(rows, summary["left_out"])
    found = [_first(summary)]
    if summary["pairs"]:
        found.append(_differences(summary))
    found += missing_words(summary)
    found += _stochastic(ranking)
    found += _failures(ranking)
    for kind in ranking[0]["E_core_by_scales"]:
        order = _order(ranking, [e["E_core_by_scales"][kind] for e in ranking])
        found.append(f"By E_core on {SCALE_WORDS[kind]}: {order}.")
    for name, words in (("D", "dimension"), ("std", "amplitude"), ("PI", "predictive information")):
        found.append(f"By {words}: {_order(ranking, [e[name] for e in ranking])}.")
    found += _surrogates(ranking, rows, scales)
    return found


def _first(summary: Summary) -> str:
    """Who is first and who is last, as far as there are two."""
    first, last = summary["ranking"][0], summary["ranking"][-1]
    scales, seeds = SCALE_WORDS[summary["scales"]], seeds_words(summary)
    quantity = "core complexity" if first["runs"] == 1 else "median core complexity"
    if first["E_core"]["value"] is None:
        return f"On {scales} no controller has a {quantity} over {seeds}: too many runs have no value."
    core = f"{interval(first['E_core'])} nats over {seeds}"
    if first is last:
        return f"On {scales} {first['controller']} has a {quantity} of {core}."
    return (
        f"On {scales} {first['controller']} has the highest {quantity}, {core}, {last['controller']} the "
        f"lowest, {interval(last['E_core'])}."
    )


def _differences(summary: Summary) -> str:
    pairs = summary["pairs"]
    shown = [pair for pair in pairs if pair["p_holm"] < LEVEL]
    if summary["smallest_p_holm"] >= LEVEL:
        return (
            f"With {seeds_words(summary)} and {plural(len(pairs), 'pair')} no corrected p-value can be below "
            f"{summary['smallest_p_holm']:.2g}: the ranking is a description of these runs, not a test."
        )
    if not shown:
        return (
            f"None of {plural(len(pairs), 'difference')} is shown at p < {LEVEL:g} after Holm's correction."
        )
    words = ", ".join(f"{_higher(pair)} (p = {pair['p_holm']:.2g})" for pair in shown)
    count = f"{len(shown)} of {len(pairs)} differences"
    return f"Shown at p < {LEVEL:g} after Holm's correction, {count}: {words}."


def _higher(pair: dict[str, Any]) -> str:
    a, b = (pair["a"], pair["b"]) if float(pair["difference"]["value"]) >= 0 else (pair["b"], pair["a"])
    return f"{a} above {b}"


def _stochastic(ranking: list[dict[str, Any]]) -> list[str]:
    names = [e["controller"] for e in ranking if e["kappa"] and e["kappa"]["value"] > KAPPA]
    if not names:
        return []
    return [
        f"The scales of {', '.join(names)} are mostly stochastic (median kappa above {KAPPA:g}): what is "
        "scored is the memory of a process that cannot be told from noise there."
    ]


def _failures(ranking: list[dict[str, Any]]) -> list[str]:
    found = []
    for read, words in (
        (lambda e: e["broke_down"], "broke down and rank below all others"),
        (lambda e: e["not_quantified"], "cannot be quantified and rank below all others"),
        (
            lambda e: e["without_value"] - e["broke_down"] - e["not_quantified"],
            f"have no value, because less than {COVERED:.0%} of the scales have enough pairs, and rank below "
            "all others",
        ),
        (lambda e: e["without_range"], "have no deterministic range of scales"),
        (lambda e: e["not_stationary"], "are not stationary"),
    ):
        numbers = {e["controller"]: read(e) for e in ranking if read(e)}
        runs = sum(e["runs"] for e in ranking)
        if numbers:
            which = ", ".join(f"{name} {n}" for name, n in numbers.items())
            found.append(f"{sum(numbers.values())} of {runs} runs {words} ({which}).")
    if all(not e["broke_down"] for e in ranking):
        found.insert(0, "No run broke down.")
    return found


def _order(ranking: list[dict[str, Any]], medians: list[dict[str, Any] | None]) -> str:
    """The controllers by one of their medians, with how many runs have it; those without it come last."""
    known = [(m["value"], m["n"], e) for e, m in zip(ranking, medians, strict=True) if m is not None]
    words = [
        f"{e['controller']} {v:z.2f}" + (f" ({n} of {plural(e['runs'], 'run')})" if n < e["runs"] else "")
        for v, n, e in sorted(known, key=lambda found: -found[0])
    ]
    without = [e for e, m in zip(ranking, medians, strict=True) if m is None]
    return ", ".join(words + [f"{e['controller']} none (0 of {plural(e['runs'], 'run')})" for e in without])


def _surrogates(ranking: list[dict[str, Any]], rows: Sequence[Row], scales: str) -> list[str]:
    if not any("surrogate" in row for row in rows):
        return []
    counts = []
    for entry in ranking:
        mine = [row for row in rows if row["controller"] == entry["controller"]]
        both = [
            (value(row, scales, "E_core"), value(row.get("surrogate", {}), scales, "E_core")) for row in mine
        ]
        known = [(a, b) for a, b in both if a is not None and b is not None]
        counts.append(f"{entry['controller']} {sum(b > a for a, b in known)} of {len(known)}")
    return [
        "Runs in which a linear surrogate, with the same spectrum and distribution, scores more than the "
        f"behaviour itself: {', '.join(counts)}."
    ]


def as_markdown(document: dict[str, Any]) -> str:
    """The rankings as Markdown tables, with the sentences below each."""
    settings = document["settings"]
    freeze = settings["minutes"] if settings["freeze"] is None else settings["freeze"]
    others = [s for s in SCALE_WORDS if s != settings["rank"]]
    text = [
        "# Controllers compared by core complexity",
        f"`{document['command']}`",
        f"Frozen after {freeze:g} minutes of learning, {settings['samples']:,} samples. "
        + "".join(f"{SCALE_HEADS[s]}: E_core on {SCALE_WORDS[s]}. " for s in others)
        + "surr.: E_core of linear surrogates. κ: 0 for deterministic scales, 1 for stochastic ones. "
        "covered: the least share of the scales that a run's value rests on. no value: runs that rank below "
        f"all others, because they {NO_VALUE}.",
    ]
    for robot, summary in document["robots"].items():
        text += [f"## {robot}", medians_words(summary), _markdown_table(summary)]
        text.append("\n".join(f"- {sentence}" for sentence in summary["findings"]))
    return "\n\n".join(text) + "\n"


def _markdown_table(summary: Summary) -> str:
    others = list(summary["ranking"][0]["E_core_by_scales"])
    heads = (
        *("", "controller", "E_core", "κ", "state", "memory", "D", "std", "PI"),
        *(*(SCALE_HEADS[s] for s in others), "surr."),
        *("covered", "broke down", "no value", "no range"),
    )
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for e in summary["ranking"]:
        cells = [
            f"{e['rank']}",
            e["controller"],
            interval(e["E_core"]),
            *(number(e[q], e["runs"]) for q in ("kappa", "E_state", "E_mem", "D", "std", "PI")),
            *(number(e["E_core_by_scales"][s], e["runs"]) for s in others),
            number(e["surrogate"], e["runs"]),
            share(e["least_covered"]),
            *(f"{e[q]} of {e['runs']}" for q in ("broke_down", "without_value", "without_range")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
