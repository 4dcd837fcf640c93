"""A published table of complexities made again: choices behind a column, its numbers and ours, findings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from quantify.correlation import CorrelationSums
from quantify.decomposition import decompose
from quantify.plain import from_plain
from quantify.scaling import fit_scaling, longest_overlapping
from quantify.statistics import CONTRARY, HOLDS, OPEN, VERDICTS, Expected, Median, judge, median

AGREES, ORDERED, DIFFERS, ALONE, MISSING = "agrees", "same ordering", "differs", "no reference", "no value"
UNSURE, BIASED = "too few samples to tell", "biased by so few samples"
CONFIDENCE = 0.9
"""An interval for the median of few seeds shall cover it with at least this probability (5 seeds: 94 %, their
whole range)."""
Values = Mapping[str, Mapping[int, float]]
"""One quantity on one choice of scales: behaviour -> seed -> value."""
_NOTHING = Median(math.nan, math.nan, math.nan, 0.0, 0)


@dataclass(frozen=True)
class Recipe:
    """The choices behind one column of a table: scales, decomposition, and the fit that gives D and const.

    The short fits have a length, on the paper's grid in points, on any grid in octaves; so do the straight
    pieces of E_M (`line_...`). One of the two is given. The other fields are as in `quantify.decompose`.

    Examples
    --------
    >>> from quantify import correlation_sums
    >>> from quantify.published import Recipe
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> usual = {"s_min": 0.07, "kappa_max": 0.5, "quantile": 0.25, "remove_negative": True}
    >>> lines = {"line_quantile": 0.25, "line_octaves": 2.0}
    >>> column = Recipe(eps_min=0.01, range=(0.05, 0.3), fit_octaves=1.5, **usual, **lines)
    >>> found = column.evaluate(sums)
    >>> round(found["D"]), found["E_core"] == found["E_state"] + found["E_mem"]
    (1, True)
    """

    eps_min: float
    s_min: float
    kappa_max: float
    quantile: float
    remove_negative: bool
    range: tuple[float, float]
    """Scales that are averaged over."""
    line_quantile: float
    """Quantile of the fits that give D and const."""
    fit_points: int | None = None
    fit_octaves: float | None = None
    line_points: int | None = None
    line_octaves: float | None = None

    @property
    def decomposition(self) -> dict[str, Any]:
        """The arguments of `quantify.decompose`."""
        keys = ("eps_min", "s_min", "kappa_max", "quantile", "remove_negative")
        width = {"fit_points": self.fit_points} if self.fit_points else {"fit_octaves": self.fit_octaves}
        return {key: getattr(self, key) for key in keys} | width

    def evaluate(self, sums: CorrelationSums) -> dict[str, float | None]:
        """The column from correlation sums: D, const, E_state, E_mem, E_core and their quality.

        D and const belong to the longest straight piece of E_M that overlaps the range (the paper chose by
        hand among several; this picks the same ones on its data). They are None if there is none.
        """
        mean = decompose(sums, **self.decomposition).over(*self.range)
        quality = ("E_core_sd", "drift", "kappa", "deterministic", "no_fit")
        found = {name: float(getattr(mean, name)) for name in ("E_state", "E_mem", "E_core", *quality)}
        width: dict[str, Any] = {"fit_octaves": self.line_octaves or 2.0}
        if self.line_points:
            width = {"fit_points": self.line_points}
        fits = fit_scaling(sums, eps_min=self.eps_min, quantile=self.line_quantile, **width)
        line = longest_overlapping(fits, *self.range)
        return {**found, "D": line.D if line else None, "const": line.const if line else None}


@dataclass(frozen=True)
class Row:
    """One number of a table, published and ours.

    Examples
    --------
    >>> from quantify.published import Row
    >>> row = Row("D", "Lorenz", 2.0, ours=2.1, low=1.9, high=2.3, n=5, of=5, tolerance=0.2, verdict="agrees")
    >>> row.wide  # 2.3 is too far off
    True
    """

    quantity: str
    """Row of the published table."""
    column: str
    paper: float | None
    """Published (or exact) value; None if there is none."""
    ours: float
    """Median over the seeds; NaN without value."""
    low: float
    high: float
    """The interval of the median (see `quantify.statistics.median`)."""
    n: int
    """Number of seeds that gave a value."""
    of: int
    """Number of seeds that were tried."""
    tolerance: float | None
    """Largest difference that counts as agreement."""
    verdict: str
    """agrees: within the tolerance. too few samples to tell: not, but by no more than chance does with so few
    of them. biased by so few samples: farther off, but where estimates from so few are known to lie. same
    ordering: every pair of columns that the published row tells apart is ordered the same way
    here. differs: nothing of this."""
    chance: float = 0.0
    """How far chance moves our value: two standard errors with this number of samples and seeds; 0 where it
    is not known beforehand."""
    bias: tuple[float, float] = (0.0, 0.0)
    """Between which differences so few samples move our value whatever the seed; zeros where nothing is known
    of it."""

    @property
    def difference(self) -> float:
        """Ours minus published; NaN if one of them is missing."""
        return math.nan if self.paper is None else self.ours - self.paper

    @property
    def wide(self) -> bool:
        """Whether it agrees, but with an interval that leaves the tolerance."""
        if self.verdict != AGREES or self.n < 2:
            return False
        return not all(_within(self.paper, end, self.tolerance) for end in (self.low, self.high))

    def to_dict(self) -> dict[str, Any]:
        """As it is stored in JSON, with the difference."""
        return asdict(self) | {"difference": self.difference}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Row:
        """The row that `to_dict` gave."""
        kept = {key: value for key, value in plain.items() if key != "difference"}
        return from_plain(kept, cls, optional=("paper", "tolerance"))


def compare(
    columns: Mapping[str, Mapping[str, Any]],
    quantities: Iterable[str],
    found: Mapping[str, Sequence[Mapping[str, float | None]]],
    ordering: bool = True,
) -> list[Row]:
    """Compare the published values of a table with ours.

    Parameters
    ----------
    columns : dict of dict
        The columns of the published table, each with its `paper` and `tolerance` by quantity; either may lack
        a quantity. With `chance`: how far chance moves our values, likewise; with `bias`: between which
        differences so few samples bring them on average.
    quantities : str
        Its rows.
    found : dict of lists of dict
        By column the values of each seed: None where it gave no value, empty if it failed.
    ordering : bool
        Whether the order of the columns says anything.

    Examples
    --------
    >>> from quantify.published import compare
    >>> published = {"Lorenz": {"paper": {"D": 2.06}, "tolerance": {"D": 0.05}}}
    >>> [row.verdict for row in compare(published, ["D"], {"Lorenz": [{"D": 2.03}, {"D": 2.08}]})]
    ['agrees']
    >>> published["Lorenz"]["chance"] = {"D": 0.1}  # from so few samples
    >>> [row.verdict for row in compare(published, ["D"], {"Lorenz": [{"D": 1.92}]})]
    ['too few samples to tell']
    >>> published["Lorenz"]["bias"] = {"D": (-0.5, -0.3)}
    >>> [row.verdict for row in compare(published, ["D"], {"Lorenz": [{"D": 1.6}]})]
    ['biased by so few samples']
    """
    table = []
    for quantity in quantities:
        middle = {}
        for name in columns:
            values = [v for one in found[name] if (v := one.get(quantity)) is not None and math.isfinite(v)]
            middle[name] = median(values, CONFIDENCE) if values else _NOTHING
        paper = {name: column["paper"].get(quantity) for name, column in columns.items()}
        ordered = ordering and _same_ordering(
            [(value, middle[name].value) for name, value in paper.items() if value is not None]
        )
        for name, column in columns.items():
            ours, printed, limit = middle[name], paper[name], column["tolerance"].get(quantity)
            if not found[name] or (ours.n == 0 and printed is None):
                continue
            chance = column.get("chance", {}).get(quantity, 0.0)
            low, high = bias = column.get("bias", {}).get(quantity, (0.0, 0.0))
            verdict = _verdict(printed, ours.value, limit, chance, ordered)
            if verdict in (DIFFERS, ORDERED) and printed is not None:
                expected = min(max(ours.value, printed + low), printed + high)
                biased = low < high or low != 0
                if biased and _within(expected, ours.value, (limit or 0.0) + chance):
                    verdict = BIASED
            # A seed that failed has no entry at all; one that was not asked for this quantity has others.
            tried = sum(quantity in one or not one for one in found[name])
            middle_and_ends = (ours.value, ours.lo, ours.hi, ours.n, tried)
            table.append(Row(quantity, name, printed, *middle_and_ends, limit, verdict, chance, bias))
    return table


def _same_ordering(pairs: Sequence[tuple[float, float]]) -> bool:
    """Whether our values are ordered as the published ones, wherever these differ; at least one must."""
    told_apart = [(a, b) for i, a in enumerate(pairs) for b in pairs[:i] if a[0] != b[0]]
    return bool(told_apart) and all((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in told_apart)


def _verdict(paper: float | None, ours: float, tolerance: float | None, chance: float, ordered: bool) -> str:
    if math.isnan(ours):
        return MISSING
    if paper is None:
        return ALONE
    if _within(paper, ours, tolerance):
        return AGREES
    if chance and _within(paper, ours, (tolerance or 0.0) + chance):
        return UNSURE
    return ORDERED if ordered else DIFFERS


def _within(paper: float | None, ours: float, tolerance: float | None) -> bool:
    # Nine digits: 2.59 - 2.54 is meant to be .05 whatever its last bit.
    return paper is not None and tolerance is not None and round(abs(ours - paper), 9) <= tolerance


def try_finding(finding: Mapping[str, Any], views: Mapping[str, Values]) -> dict[str, Any]:
    """Does a published finding hold for other data? Try it on every choice of scales.

    Parameters
    ----------
    finding : dict
        `claim`, `quantity`, `steps` as (before, after, expected), and `level`: how much "level" may change.
    views : dict
        By the name of the choice of scales, the values of the finding's quantity.

    Returns
    -------
    dict
        The `claim`, its `quantity`, and what was `tried`: by choice of `scales` the `verdict` and its
        `steps`, each with the differences between two behaviours over the seeds.

    Examples
    --------
    >>> from quantify.published import try_finding
    >>> rise = {"claim": "Learning helps", "quantity": "E_core", "steps": [("early", "late", "rises")]}
    >>> values = {"early": dict.fromkeys(range(5), 1.0), "late": {0: 1.5, 1: 2.0, 2: 1.2, 3: 1.1, 4: 1.9}}
    >>> found = try_finding(rise, {"all scales": values})["tried"][0]
    >>> found["verdict"], found["steps"][0]["median"]
    ('holds', 0.5)
    """
    tried = []
    for scales, values in views.items():
        steps = [_step(values, finding.get("level", 0.0), *step) for step in finding["steps"]]
        verdicts = {step["verdict"] for step in steps}
        verdict = CONTRARY if CONTRARY in verdicts else OPEN if OPEN in verdicts else HOLDS
        tried.append({"scales": scales, "verdict": verdict, "steps": steps})
    return {"claim": finding["claim"], "quantity": finding["quantity"], "tried": tried}


def _step(values: Values, level: float, before: str, after: str, expected: Expected) -> dict[str, Any]:
    a, b = values.get(before, {}), values.get(after, {})
    differences = [b[seed] - a[seed] for seed in sorted(a.keys() & b.keys())]
    found = median(differences, CONFIDENCE) if differences else None
    return {
        "before": before,
        "after": after,
        "expected": expected,
        "median": found and found.value,
        "low": found and found.lo,
        "high": found and found.hi,
        "coverage": found.coverage if found else 0.0,
        "up": sum(d > 0 for d in differences),
        "n": len(differences),
        "verdict": judge(found, expected, level, CONFIDENCE),
    }


def number(value: float) -> str:
    """Two decimals, as the paper prints; a dash for a missing value."""
    text = f"{value:.2f}"
    return "–" if math.isnan(value) else ("0.00" if text == "-0.00" else text.replace("-", "−"))


def signed(value: float) -> str:
    """Two decimals with a sign, as the paper prints."""
    return f"{value:+.2f}".replace("-", "−")


def finding_words(finding: Mapping[str, Any]) -> list[str]:
    """A finding that was tried, in words: first where its steps hold, then numbers for each choice of scales.

    Examples
    --------
    >>> from quantify.published import finding_words, try_finding
    >>> rise = {"claim": "Learning helps", "quantity": "E_core", "steps": [("early", "late", "rises")]}
    >>> values = {"early": dict.fromkeys(range(5), 1.0), "late": {0: 1.5, 1: 2.0, 2: 1.2, 3: 1.1, 4: 1.9}}
    >>> for line in finding_words(try_finding(rise, {"all scales": values})):
    ...     print(line)
    Learning helps: "early to late rises" holds on all scales.
    all scales: early to late +0.50 (+0.10 to +1.00), up in 5 of 5 seeds.
    """
    tried = finding["tried"]
    parts = []
    for i, step in enumerate(tried[0]["steps"]):
        by = {v: [t["scales"] for t in tried if t["steps"][i]["verdict"] == v] for v in VERDICTS}
        where = [f"{v} on {_scales(v, scales, len(tried))}" for v, scales in by.items() if scales]
        parts.append(f'"{step["before"]} to {step["after"]} {step["expected"]}" {", ".join(where)}')
    head = f"{finding['claim']}: {'; '.join(parts)}."
    return [head, *(f"{t['scales']}: {', '.join(map(_words, t['steps']))}." for t in tried)]


def _scales(verdict: str, names: Sequence[str], of: int) -> str:
    if len(names) == of > 1:
        return "any choice of scales" if verdict == CONTRARY else "all choices of scales"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _words(step: Mapping[str, Any]) -> str:
    span = f"{step['before']} to {step['after']}"
    if not step["n"]:
        return f"{span} no values"
    middle, low, high = (signed(step[key]) for key in ("median", "low", "high"))
    interval = f" ({low} to {high})" if step["n"] > 1 else ""
    return f"{span} {middle}{interval}, up in {step['up']} of {step['n']} seeds"
