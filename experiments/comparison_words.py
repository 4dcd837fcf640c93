"""What a comparison found, in sentences and in a Markdown table: nothing that the numbers do not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.comparison import (
    COVERED,
    LEVEL,
    SCALE_WORDS,
    counted,
    interval,
    left_out_words,
    number,
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
    first, last = ranking[0], ranking[-1]
    seeds = first["runs"]
    found = [
        f"On {SCALE_WORDS[scales]} {first['controller']} has the highest median core complexity, "
        f"{interval(first['E_core'])} nats over {seeds} seeds, {last['controller']} the lowest, "
        f"{interval(last['E_core'])}."
    ]
    if summary["pairs"]:
        found.append(_differences(summary, seeds))
    if summary["left_out"]:
        found.append(left_out_words(summary["left_out"]))
    found += _stochastic(ranking)
    found += _failures(ranking)
    orders = {
        words: _order(ranking, read)
        for words, read in (
            ("E_core on scales common to all", lambda e: e["E_core_by_scales"]["common"]),
            ("E_core on scales relative to the amplitude", lambda e: e["E_core_by_scales"]["relative"]),
            ("E_core on scales chosen for each behaviour", lambda e: e["E_core_by_scales"]["auto"]),
            ("dimension", lambda e: e["D"]),
            ("amplitude", lambda e: e["std"]),
            ("predictive information", lambda e: e["PI"]),
        )
    }
    found += [f"By {words}: {order}." for words, order in orders.items() if order]
    found += _surrogates(ranking, rows, scales)
    return found


def _differences(summary: Summary, seeds: int) -> str:
    pairs = summary["pairs"]
    shown = [pair for pair in pairs if pair["p_holm"] < LEVEL]
    if summary["smallest_p_holm"] >= LEVEL:
        return (
            f"With {seeds} seeds and {len(pairs)} pairs no corrected p-value can be below "
            f"{summary['smallest_p_holm']:.2g}: the ranking is a description of these runs, not a test."
        )
    if not shown:
        return f"None of the {len(pairs)} differences is shown at p < {LEVEL:g} after Holm's correction."
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
        (
            lambda e: e["without_value"] - e["broke_down"],
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


def _order(ranking: list[dict[str, Any]], read: Any) -> str:
    known = [(n["value"], e["controller"], n["n"], e["runs"]) for e in ranking if (n := read(e)) is not None]
    return ", ".join(
        f"{name} {v:.2f}" + (f" ({n} of {runs} runs)" if n < runs else "")
        for v, name, n, runs in sorted(known, reverse=True)
    )


def _surrogates(ranking: list[dict[str, Any]], rows: Sequence[Row], scales: str) -> list[str]:
    counts = []
    for entry in ranking:
        mine = [row for row in rows if row["controller"] == entry["controller"]]
        both = [
            (value(row, scales, "E_core"), value(row.get("surrogate", {}), scales, "E_core")) for row in mine
        ]
        known = [(a, b) for a, b in both if a is not None and b is not None]
        if known:
            above = sum(b > a for a, b in known)
            counts.append(f"{entry['controller']} {above} of {len(known)}")
    if not counts:
        return []
    return [
        "Runs in which a linear surrogate, with the same spectrum and distribution, scores more than the "
        f"behaviour itself: {', '.join(counts)}."
    ]


def as_markdown(document: dict[str, Any]) -> str:
    """The rankings as Markdown tables, with the sentences below each."""
    settings = document["settings"]
    freeze = settings["minutes"] if settings["freeze"] is None else settings["freeze"]
    text = [
        "# Controllers compared by core complexity",
        f"`{document['command']}`",
        f"{settings['seeds']} seeds, frozen after {freeze:g} minutes of "
        f"learning, {settings['samples']:,} samples. Medians over seeds in nats; in brackets the interval "
        f"that contains the median of E_core with {_coverage(document):.1%}. rel., auto, surr.: E_core on "
        "scales relative to the amplitude, on scales chosen for each behaviour, and of linear surrogates. "
        "κ: 0 for deterministic scales, 1 for stochastic ones. covered: the least share of the scales that "
        f"a run's value rests on; below {COVERED:.0%} it has none.",
    ]
    for robot, summary in document["robots"].items():
        text += [f"## {robot}", _markdown_table(summary)]
        text.append("\n".join(f"- {sentence}" for sentence in summary["findings"]))
    return "\n\n".join(text) + "\n"


def _coverage(document: dict[str, Any]) -> float:
    (first, *_) = document["robots"].values()
    return float(first["ranking"][0]["E_core"]["coverage"])


def _markdown_table(summary: Summary) -> str:
    heads = (
        *("", "controller", "E_core", "κ", "state", "memory", "D", "std", "PI", "rel.", "auto", "surr."),
        *("covered", "broke down", "no value", "no range"),
    )
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for e in summary["ranking"]:
        cells = [
            f"{e['rank']}",
            e["controller"],
            interval(e["E_core"]),
            *(number(e[q]) for q in ("kappa", "E_state", "E_mem", "D", "std", "PI")),
            *(number(e["E_core_by_scales"][s]) for s in ("relative", "auto")),
            number(e["surrogate"]),
            share(e["least_covered"]),
            *(f"{e[q]} of {e['runs']}" for q in ("broke_down", "without_value", "without_range")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
