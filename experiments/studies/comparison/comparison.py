"""A finished comparison: sentences that say nothing that the numbers do not, tables and figure."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from experiments.feedback import plural
from experiments.reports.report import Film
from experiments.reports.tables import Table
from experiments.studies.scoring import COVERED, Row, sensors_of, value
from experiments.studies.study import Study, frame
from quantify import plots
from quantify.aliases import Figure
from quantify.null_test import WORDS
from quantify.plain import flat
from quantify.statistics import interval, number

if TYPE_CHECKING:
    import pandas

Summary = dict[str, Any]

SCALE_WORDS = {
    "common": "scales common to all",
    "relative": "scales relative to the amplitude",
    "auto": "scales on which each behaviour is deterministic",
}
ON = ", learning on"
"""Follows the name of a robot whose rules went on learning."""
LEVEL = 0.05
"""Differences with a corrected p-value below this count as shown."""
KAPPA = 0.5
"""Scales with a larger kappa count as stochastic, as in the decomposition."""
NO_VALUE = f"broke down, cannot be quantified, have no range, or too few pairs on {1 - COVERED:.0%} of scales"
"""What runs without a value have in common."""
SCALE_HEADS = {"common": "com.", "relative": "rel.", "auto": "auto"}
QUANTITIES = {
    "kappa": ("κ", "0 for deterministic scales, 1 for stochastic ones"),
    "E_state": ("state", "state complexity"),
    "E_mem": ("memory", "memory complexity"),
    "D": ("D", "dimension"),
    "std": ("std", "amplitude of the sensor"),
    "PI": ("PI", "predictive information"),
    "surrogate": ("surr.", "E_core of linear surrogates"),
}
"""Headings and meanings of what rankings and runs have in common, after E_core."""
EXCESS = ("excess", "how far E_core lies above that of surrogates; in how many runs that is shown, p <= .05")
COUNTS = {
    "broke_down": ("broke down", "runs that broke down in learning or when recorded"),
    "without_value": ("no value", f"runs that rank below all others, because they {NO_VALUE}"),
    "without_range": ("no range", "runs without a deterministic range of scales"),
    "not_stationary": ("not stat.", "runs that are not stationary"),
}


@dataclass(frozen=True)
class Comparison(Study):
    """Controllers ranked by core complexity.

    The document has settings, body and rule settings with their origin, a row per run, and for each robot the
    ranking and all paired differences; of a tuned comparison every setting that was tried. null stands for a
    value that does not exist; as a bound of an interval it is a run without one. A difference from such a run
    is "inf" or "-inf".
    """

    films: dict[str, dict[str, Film]] = field(default_factory=dict)
    """By robot and controller, for the page."""
    title = "Controllers compared by core complexity"
    _template = "comparison.html"

    def summaries(self) -> dict[str, Summary]:
        """What was found by robot, and by "ROBOT, learning on" for rules that went on learning."""
        on = self.document.get("learning_on", {"robots": {}})["robots"]
        return self.document["robots"] | {f"{robot}{ON}": summary for robot, summary in on.items()}

    def _rows(self, robot: str) -> list[Row]:
        """The runs behind one of the summaries."""
        name = robot.removesuffix(ON)
        part = self.document if name == robot else self.document["learning_on"]
        return [row for row in part["rows"] if row["robot"] == name]

    def ranking(self, robot: str) -> Table:
        """The controllers of one robot by rank."""
        summary = self.summaries()[robot]
        tested = any("tested" in entry for entry in summary["ranking"])
        others = {kind: SCALE_HEADS[kind] for kind in summary["ranking"][0]["E_core_by_scales"]}
        *before, surrogate = QUANTITIES
        heads = {
            **{"controller": "", "E_core": "core complexity"},
            **dict(QUANTITIES[name] for name in before),
            **{head: f"E_core on {SCALE_WORDS[kind]}" for kind, head in others.items()},
            **dict([QUANTITIES[surrogate], *([EXCESS] if tested else [])]),
            "covered": "the least share of the scales that a run's value rests on",
            **dict(COUNTS.values()),
        }
        rows = []
        for e in summary["ranking"]:
            medians = [*(e[name] for name in before), *(e["E_core_by_scales"][kind] for kind in others)]
            found = [interval(e["E_core"]), *(number(m, e["runs"]) for m in (*medians, e[surrogate]))]
            found += [excess(e)] if tested else []
            share = "-" if e["least_covered"] is None else f"{e['least_covered']:.0%}"
            counts = [f"{e[count]}/{e['runs']}" for count in COUNTS]
            broken = [cell.replace(" ", "\n", 1) for cell in found]
            rows.append([f"{e['rank']} {e['controller']}", *broken, share, *counts])
        title = f"{robot}: controllers by core complexity on {SCALE_WORDS[summary['scales']]}"
        return Table(heads, rows, title, " ".join([medians_words(summary), *missing_words(summary)]))

    def pairs(self, robot: str) -> Table:
        """The differences between one robot's controllers, paired by seed; no rows if there is only one."""
        summary = self.summaries()[robot]
        heads = {"pair": "", "E_core": "", "p": "", "p (Holm)": "", "shown": f"p (Holm) is below {LEVEL:g}"}
        rows = []
        for pair in summary["pairs"]:
            p = [f"{pair[kind]:.2g}" for kind in ("p", "p_holm")]
            shown = "yes" if pair["p_holm"] < LEVEL else ""
            rows.append([f"{pair['a']} - {pair['b']}", interval(pair["difference"], "+z.2f"), *p, shown])
        return Table(heads, rows, f"{robot}: differences paired by seed", pairs_words(summary))

    def runs(self) -> Table:
        """Every run, and what speaks against its numbers."""
        heads = {"run": "", "E_core": "core complexity", **dict(QUANTITIES.values())}
        rows = []
        for row in self.all_rows():
            scales = self.document["settings"]["rank"]
            found = [value(row, scales, name) for name in ("E_core", *QUANTITIES)]
            against = failure_words(row) or " ".join(row["caveats"]) or "-"
            rows.append([run_words(row), *("-" if n is None else f"{n:.2f}" for n in found), against])
        return Table(heads | {"what speaks against": ""}, rows, "All runs", wide=(len(heads),))

    def to_frame(self) -> pandas.DataFrame:
        """All runs as a pandas data frame, nested values as `common.E_core` and so on."""
        return frame(self.all_rows())

    def all_rows(self) -> list[Row]:
        """Every run, frozen or with learning on, and which of them it is, if both were done."""
        if "learning_on" not in self.document:
            return list(self.document["rows"])
        both = {"frozen": self.document["rows"], "learning on": self.document["learning_on"]["rows"]}
        return [{"behaviour": behaviour} | row for behaviour, rows in both.items() for row in rows]

    def tables(self) -> list[Table]:
        """For each robot the ranking and, if there are several controllers, their differences."""
        several = len(self.document["settings"]["controllers"]) > 1
        shown = (self.ranking, self.pairs) if several else (self.ranking,)
        return [table(robot) for robot in self.summaries() for table in shown]

    def sentences(self) -> list[str]:
        """What can be said about each robot's controllers, in the order of importance."""
        robots = self.summaries()
        named = len(robots) > 1
        return [f"{robot}: {s}" if named else s for robot, found in robots.items() for s in found["findings"]]

    def words(self) -> str:
        """What was done, and what becomes of runs without a value."""
        low, high = self.document["settings"]["common"]
        scales = f"Common scales are {low:g} to {high:g} in units of the sensor."
        what = self._recorded() + sensors_of(self.document["rows"])
        return f"{what} {scales} Runs without a value rank below all others: they {NO_VALUE}."

    def _recorded(self) -> str:
        settings = self.document["settings"]
        freeze = settings["minutes"] if settings["freeze"] is None else settings["freeze"]
        words = f"Frozen after {freeze:g} min of learning, {settings['samples']:,} samples each."
        if "learning_on" in self.document:
            words += (
                " Learning on: as many samples from the same minute on while the rule goes on; rules with "
                "fast synapses live by their change."
            )
        return words

    def figure(self) -> Figure:
        """Complexity, dimension, amplitude and predictive information of all controllers and seeds."""
        panels = {}
        for robot, summary in self.summaries().items():
            scales = summary["scales"]
            mine = runs_of(self._rows(robot), summary)
            panels[f"{robot}, on {SCALE_WORDS[scales]}"] = {
                name: {what: [value(row, scales, what) for row in rows] for what in ("E_core", *QUANTITIES)}
                for name, rows in mine.items()
            }
        return plots.groups(panels)

    def markdown(self) -> str:
        """The rankings as Markdown tables, with the sentences below each."""
        robots = self.summaries()
        legend = self.ranking(next(iter(robots))).legend()
        text = [f"# {self.title}", f"`{self.document['command']}`", f"{self._recorded()} {legend}"]
        for robot, summary in robots.items():
            text += [f"## {robot}", medians_words(summary), self.ranking(robot).markdown()]
            text.append("\n".join(f"- {sentence}" for sentence in summary["findings"]))
        return "\n\n".join(text) + "\n"

    def csv(self) -> str:
        """One line per run, nested numbers as common.E_core and so on."""
        rows: list[dict[str, Any]] = [
            {key: " ".join(cell) if isinstance(cell, list) else cell for key, cell in flat(row).items()}
            for row in self.all_rows()
        ]
        text = io.StringIO()
        writer = csv.DictWriter(text, dict.fromkeys(key for row in rows for key in row), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()


def excess(entry: dict[str, Any]) -> str:
    """The median excess over surrogates, and in how many runs of those tested it is shown."""
    if "tested" not in entry:
        return "-"
    return f"{entry['excess']['value']:+z.2f} ({entry['more_than_null']}/{entry['tested']})"


def narrow(summary: Summary) -> dict[str, str]:
    """The columns of a ranking that fit 80 characters, and how they are called there."""
    *_, other = (SCALE_HEADS[kind] for kind in summary["ranking"][0]["E_core_by_scales"])
    shown = {"memory": "mem.", "surr.": "lin.", "no value": "no\nvalue", "no range": "no\nrange"}
    *names, surrogate = (head for head, _ in QUANTITIES.values())
    names = ["controller", "E_core", *names, other]
    if any(entry["surrogate"] for entry in summary["ranking"]):
        names.append(surrogate)
    return {name: shown.get(name, name) for name in (*names, "no value", "no range")}


def run_words(row: Row) -> str:
    """Which run this is."""
    behaviour = ON if row.get("behaviour") == "learning on" else ""
    return f"{row['robot']} {row['controller']} seed {row['seed']}{behaviour}"


def failure_words(row: Row) -> str:
    """Why a run has no numbers; empty if it has."""
    return ("unfinished: " if row.get("unfinished") else "") + str(row["reason"])


def runs_of(rows: Iterable[Row], summary: Summary) -> dict[str, list[Row]]:
    """The runs behind one robot's ranking by controller, in its order."""
    counted = [row for row in rows if row["seed"] not in summary["left_out"]]
    names = [entry["controller"] for entry in summary["ranking"]]
    return {name: [row for row in counted if row["controller"] == name] for name in names}


def findings(summary: Summary, rows: Sequence[Row]) -> list[str]:
    """What can be said about the controllers of one robot, in the order of importance."""
    ranking = summary["ranking"]
    found = [_first(summary)]
    if summary["pairs"]:
        found.append(_differences(summary))
    found += missing_words(summary)
    if names := [e["controller"] for e in ranking if e["kappa"] and e["kappa"]["value"] > KAPPA]:
        found.append(
            f"The scales of {', '.join(names)} are mostly stochastic (median kappa above {KAPPA:g}): what is "
            "scored is the memory of a process that cannot be told from noise there."
        )
    found += _failures(ranking, summary["scales"])
    for kind in ranking[0]["E_core_by_scales"]:
        order = _order(ranking, [e["E_core_by_scales"][kind] for e in ranking])
        found.append(f"By E_core on {SCALE_WORDS[kind]}: {order}.")
    for name, words in (("D", "dimension"), ("std", "amplitude"), ("PI", "predictive information")):
        found.append(f"By {words}: {_order(ranking, [e[name] for e in ranking])}.")
    if any("surrogate" in row for row in rows):
        found.append(
            "Runs in which a linear surrogate, with the same spectrum and distribution, scores more than the "
            f"behaviour itself: {_surrogates(summary, rows)}."
        )
    if tested := [e for e in ranking if "tested" in e]:
        counts = ", ".join(f"{e['controller']} {e['more_than_null']} of {e['tested']}" for e in tested)
        nulls = " or ".join(sorted({WORDS[row["null"]["null"]] for row in rows if row.get("null")}))
        more = f"Runs whose core complexity is shown (p <= {LEVEL:g}) to be more than that of surrogates"
        found.append(f"{more}, {nulls}: {counts}.")
    return found


def _first(summary: Summary) -> str:
    """Who is first and who is last, as far as there are two."""
    first, last = summary["ranking"][0], summary["ranking"][-1]
    scales, seeds = SCALE_WORDS[summary["scales"]], _seeds(summary)
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
    if summary["smallest_p_holm"] >= LEVEL:
        return (
            f"With {_seeds(summary)} and {plural(len(pairs), 'pair')} no corrected p-value can be "
            f"below {summary['smallest_p_holm']:.2g}: the ranking is a description of these runs, not a test."
        )
    shown = []
    for pair in pairs:
        if pair["p_holm"] < LEVEL:
            above = float(pair["difference"]["value"]) >= 0
            high, low = (pair["a"], pair["b"]) if above else (pair["b"], pair["a"])
            shown.append(f"{high} above {low} (p = {pair['p_holm']:.2g})")
    level = f"p < {LEVEL:g} after Holm's correction"
    if not shown:
        return f"None of {plural(len(pairs), 'difference')} is shown at {level}."
    return f"Shown at {level}, {len(shown)} of {len(pairs)} differences: {', '.join(shown)}."


def _failures(ranking: list[dict[str, Any]], scales: str) -> list[str]:
    below, found = "and rank below all others", []
    few = f"less than {COVERED:.0%} of the scales have enough pairs"
    why = "there are no scales on which they are deterministic" if scales == "auto" else few
    valueless = f"have no value, because {why}, {below}"
    for words, count in (
        (f"broke down {below}", lambda e: e["broke_down"]),
        (f"cannot be quantified {below}", lambda e: e["not_quantified"]),
        (valueless, lambda e: e["without_value"] - e["broke_down"] - e["not_quantified"]),
        ("have no deterministic range of scales", lambda e: scales != "auto" and e["without_range"]),
        ("are not stationary", lambda e: e["not_stationary"]),
    ):
        if numbers := {e["controller"]: count(e) for e in ranking if count(e)}:
            which = ", ".join(f"{name} {n}" for name, n in numbers.items())
            runs = sum(e["runs"] for e in ranking)
            found.append(f"{sum(numbers.values())} of {runs} runs {words} ({which}).")
    return found if any(e["broke_down"] for e in ranking) else ["No run broke down.", *found]


def _order(ranking: list[dict[str, Any]], medians: list[dict[str, Any] | None]) -> str:
    """The controllers by one of their medians, with how many runs have it; those without it come last."""
    both = zip(ranking, medians, strict=True)
    words = []
    for entry, found in sorted(both, key=lambda e: -e[1]["value"] if e[1] else math.inf):
        shown, n = (f"{found['value']:z.2f}", found["n"]) if found else ("none", 0)
        some = f" ({n} of {plural(entry['runs'], 'run')})" if n < entry["runs"] else ""
        words.append(f"{entry['controller']} {shown}{some}")
    return ", ".join(words)


def _surrogates(summary: Summary, rows: Sequence[Row]) -> str:
    counts = []
    for name, mine in runs_of(rows, summary).items():
        both = [[value(row, summary["scales"], what) for what in ("E_core", "surrogate")] for row in mine]
        known = [(core, linear) for core, linear in both if core is not None and linear is not None]
        if known:
            counts.append(f"{name} {sum(linear > core for core, linear in known)} of {len(known)}")
    return ", ".join(counts) or "none of those with a value"


def medians_words(summary: Summary) -> str:
    """What the numbers of one robot's ranking are."""
    core = summary["ranking"][0]["E_core"]
    if core["n"] == 1:
        return f"Values of {_seeds(summary)} in nats."
    return (
        f"Medians over {_seeds(summary)} in nats; in brackets the interval that holds the median of "
        f"E_core with {core['coverage']:.1%}; in parentheses how many runs a median rests on, if not on all. "
        "E_core is state + memory in every run, not in the medians."
    )


def pairs_words(summary: Summary) -> str:
    """What the numbers of one robot's differences are."""
    if not summary["pairs"]:
        return "There is no pair: only one controller is ranked."
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
        cannot = f"no p (Holm) can be below {smallest:.2g}: nothing can be shown; add seeds."
        words.append(f"With so few seeds {cannot}")
    return " ".join(words)


def missing_words(summary: Summary) -> list[str]:
    """What is said about the seeds and controllers that are not in one robot's ranking."""
    words = []
    if seeds := summary["left_out"]:
        which = f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"
        words.append(f"Left out for all controllers, because a run is unfinished: {which}.")
    if names := summary["not_ranked"]:
        listed = ", ".join(f"{name} ({reason})" for name, reason in names.items())
        words.append(f"Not ranked, because every run is unfinished: {listed}.")
    return words


def _seeds(summary: Summary) -> str:
    """On how many seeds one robot's ranking rests, such as "8 of 10 seeds"."""
    used, lost = summary["ranking"][0]["runs"], len(summary["left_out"])
    return f"{used} of {used + lost} seeds" if lost else plural(used, "seed")
