"""Does a finding of the paper hold here? Differences between behaviours over seeds, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from experiments.statistics import median

HOLDS, CONTRARY, OPEN = VERDICTS = "holds", "does not hold", "undecided"
# An interval for the median of few seeds shall cover it with at least this probability (5 seeds: 94 %, their
# whole range).
CONFIDENCE = 0.9

Values = Mapping[str, Mapping[int, float]]
"""One quantity on one choice of scales: behaviour -> seed -> value."""


@dataclass(frozen=True)
class Step:
    """How a quantity changes from one behaviour to another, paired by seed.

    Attributes
    ----------
    before, after, expected : str
        Behaviours, and what the finding says: "rises", "falls" or "stays level".
    median, low, high : float or None
        Median of the differences and its interval; None without any pair.
    coverage : float
        Probability with which the interval covers the true median.
    up, n : int
        Seeds in which it rises, and seeds with both values.
    verdict : str
        "holds" or "does not hold" where the whole interval says so, else "undecided".
    """

    before: str
    after: str
    expected: str
    median: float | None
    low: float | None
    high: float | None
    coverage: float
    up: int
    n: int
    verdict: str


def judge(finding: Mapping[str, Any], views: Mapping[str, Values]) -> dict[str, Any]:
    """Try a finding on every choice of scales.

    Parameters
    ----------
    finding : dict
        `claim`, `quantity`, `steps` as (before, after, expected), and `level`: how much "level" may change.
    views : dict
        By the name of the choice of scales, the values of the finding's quantity.

    Returns
    -------
    dict
        The claim, and per choice of scales the verdict and its steps, as plain values.
    """
    tried = []
    for scales, values in views.items():
        steps = [_step(values, finding.get("level", 0.0), *step) for step in finding["steps"]]
        verdicts = {step.verdict for step in steps}
        verdict = CONTRARY if CONTRARY in verdicts else OPEN if OPEN in verdicts else HOLDS
        tried.append({"scales": scales, "verdict": verdict, "steps": [asdict(step) for step in steps]})
    return {"claim": finding["claim"], "quantity": finding["quantity"], "tried": tried}


def _step(values: Values, level: float, before: str, after: str, expected: str) -> Step:
    a, b = values.get(before, {}), values.get(after, {})
    differences = [b[seed] - a[seed] for seed in sorted(a.keys() & b.keys())]
    if not differences:
        return Step(before, after, expected, None, None, None, 0.0, 0, 0, OPEN)
    found = median(differences, CONFIDENCE)
    sure = found.coverage >= CONFIDENCE
    sign = {"rises": 1, "falls": -1, "stays level": 0}[expected]
    low, high = sorted((sign * found.lo, sign * found.hi)) if sign else (found.lo, found.hi)
    if sign:
        holds, contrary = low > 0, high < 0
    else:
        holds, contrary = -level <= low and high <= level, low > level or high < -level
    verdict = HOLDS if sure and holds else CONTRARY if sure and contrary else OPEN
    up = sum(d > 0 for d in differences)
    return Step(
        before,
        after,
        expected,
        found.value,
        found.lo,
        found.hi,
        found.coverage,
        up,
        len(differences),
        verdict,
    )


def sentences(judged: Mapping[str, Any]) -> list[str]:
    """A finding in words: first where each of its steps holds, then the numbers on every choice of scales."""
    tried = judged["tried"]
    parts = []
    for i, step in enumerate(tried[0]["steps"]):
        by = {v: [t["scales"] for t in tried if t["steps"][i]["verdict"] == v] for v in VERDICTS}
        where = [f"{v} on {_scales(v, scales, len(tried))}" for v, scales in by.items() if scales]
        parts.append(f'"{step["before"]} to {step["after"]} {step["expected"]}" {", ".join(where)}')
    head = f"{judged['claim']}: {'; '.join(parts)}."
    return [head, *(f"{t['scales']}: {', '.join(map(_words, t['steps']))}." for t in tried)]


def _scales(verdict: str, names: Sequence[str], of: int) -> str:
    if len(names) == of > 1:
        return "any choice of scales" if verdict == CONTRARY else "all choices of scales"
    return _list(names)


def _words(step: Mapping[str, Any]) -> str:
    span = f"{step['before']} to {step['after']}"
    if not step["n"]:
        return f"{span} no values"
    sign = [f"{step[key]:+.2f}".replace("-", "−") for key in ("median", "low", "high")]
    interval = f" ({sign[1]} to {sign[2]})" if step["n"] > 1 else ""
    return f"{span} {sign[0]}{interval}, up in {step['up']} of {step['n']} seeds"


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
