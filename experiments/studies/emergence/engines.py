"""The same seeds in both engines, side by side: which findings hang on one simulator?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Any

from experiments.errors import ExperimentError
from experiments.feedback import Feedback
from experiments.pipeline.loop import find_body
from experiments.reports.tables import Table
from experiments.runfiles.run_file import label
from experiments.settings import Scales
from experiments.studies.emergence import trials
from experiments.studies.emergence.trials import Emergence, ModeStudy, Trial
from experiments.studies.scoring import STEP, Scoring, Yardstick, score, value
from robots import ENGINES, engine_version

SAMPLES = 100_000
"""Of each behaviour whose complexity is measured."""
MOST = 0.8
"""A finding holds in an engine if it does in this share of the seeds of which it can be told."""
COMPLEXITIES = {"E_core": "common", "D": "common", "E_core/std": "relative"}
"""Columns of the table, and the kind of scales that each is of."""
Row = dict[str, Any]
"""Of one seed in one engine: what a trial found, and by freeze time its `complexity`."""


@dataclass(frozen=True)
class Finding:
    """A sentence, and whether it is true of one seed; None where that cannot be told."""

    words: str
    holds: Callable[[Row], bool | None]


def _number(row: Row, name: str, key: str) -> Any:
    """A number of the frozen behaviour of this name; None if it broke down."""
    return row.get("frozen", {}).get(name, {}).get(key)


def _frozen(words: str, name: str, key: str, true: Callable[[Any], bool]) -> Finding:
    def holds(row: Row) -> bool | None:
        found = _number(row, name, key)
        return None if found is None else true(found)

    return Finding(f"{name}: {words}", holds)


def _grows(words: str, names: tuple[str, str], read: Callable[[Row, str], Any], by: float = 0.0) -> Finding:
    def holds(row: Row) -> bool | None:
        before, after = (read(row, name) for name in names)
        return None if before is None or after is None else bool(after > before + by)

    return Finding(f"{words} from {names[0]} to {names[1]}", holds)


def _complexity(quantity: str, scales: str = "common") -> Callable[[Row, str], float | None]:
    return lambda row, name: value(row.get("complexity", {}).get(name, {}), scales, quantity)


def findings(task: Trial, complexity: bool = True) -> Iterator[Finding]:
    """What docs/emergence.md says of a robot, as far as a seed alone can tell; of its complexity if asked."""
    names = [label(t) for t in task.freeze]
    first, last = names[0], names[-1]
    if trials.can_jump(task.robot):
        yield _frozen("stays on the ground", first, "airtime", lambda airtime: airtime <= 0.02)
        yield _frozen("moves widely, std of x_1 over .15", first, "std_x1", lambda std: std > 0.15)
        yield Finding("jumps while it learns", lambda row: row["learning"].get("first_jumps") is not None)
        yield _frozen("jumps regularly", last, "mode", lambda mode: mode == "jumping")
        yield _frozen("stands without the support", last, "support", lambda share: share == 0)
    else:
        crawls = bool(task.rule.get("wave"))
        words, begin = ("crawls", "crawling") if crawls else ("rolls", "rolling")
        for name in names:
            yield _frozen(words, name, "mode", lambda mode: mode.startswith(begin))
        key = "speed" if crawls else "roll"
        words = f"{'crawls' if crawls else 'rolls'} faster"
        yield _grows(words, (first, last), lambda row, name: _size(_number(row, name, key)))
    if not complexity:
        return
    for scales in ("common", "relative"):
        for pair in pairwise(names):
            yield _grows(
                f"core complexity on {scales} scales grows", pair, _complexity("E_core", scales), STEP
            )
    if len(names) > 1:
        yield _grows("the dimension grows", (first, last), _complexity("D"))


def _size(number: float | None) -> float | None:
    return None if number is None else abs(number)


def judged(found: Finding, rows: dict[str, list[Row]]) -> Row:
    """A finding in each engine: in how many seeds, of how many, and the verdict over both."""
    told = {engine: [found.holds(row) for row in mine if "frozen" in row] for engine, mine in rows.items()}
    counts = {
        engine: {"yes": answers.count(True), "of": len(answers) - answers.count(None)}
        for engine, answers in told.items()
    }
    unknown = [engine for engine, count in counts.items() if not count["of"]]
    holds = [engine for engine, count in counts.items() if count["of"] and count["yes"] >= MOST * count["of"]]
    if unknown:
        verdict = f"cannot be told in {' and '.join(unknown)}"
    elif len(holds) == len(counts):
        verdict = "holds in both"
    else:
        verdict = f"holds in {holds[0]} alone" if holds else "holds in neither"
    return {"finding": found.words, "seeds": counts, "verdict": verdict}


@dataclass(frozen=True)
class Engines(ModeStudy):
    """What emerged in each engine, and what of it in both."""

    def tables(self) -> list[Table]:
        """Least, median and greatest over the seeds by freeze time and engine; then the findings."""
        described = self.description
        measured = COMPLEXITIES if any("complexity" in row for row in self.document["rows"]) else {}
        heads = ["frozen", "engine", "modes", *described.headings, *measured]
        lines, counted = [], self.modes()
        for name in self._names():
            for engine in ENGINES:
                rows = self._rows(engine)
                modes = ", ".join(f"{mode} {n}" for mode, n in counted[f"{name}, {engine}"].most_common())
                cells = [
                    _spread([_number(row, name, key) for row in rows], form)
                    for key, (_, form) in described.columns.items()
                ]
                for quantity, scales in measured.items():
                    scored = [row.get("complexity", {}).get(name, {}) for row in rows]
                    plain = quantity.partition("/")[0]
                    cells.append(_spread([value(one, scales, plain) for one in scored], ".2f"))
                lines.append([name, engine, modes, *cells])
        meant = dict.fromkeys(heads, "")
        words = {"E_core": "on the scales common to all", "E_core/std": "on scales in units of the spread"}
        meant |= {name: words[name] for name in words if name in meant}
        caption = "Least / median / greatest over the seeds."
        held = [
            [one["finding"], *(f"{c['yes']} of {c['of']}" for c in one["seeds"].values()), one["verdict"]]
            for one in self.document["findings"]
        ]
        judged = Table(dict.fromkeys(("finding", *ENGINES, "verdict"), ""), held, wide=(0, 3))
        return [Table(meant, lines, caption=caption), judged]

    def markdown(self) -> str:
        """Command, numbers and verdicts for a document."""
        behaviours, findings = self.tables()
        engines = " and ".join(f"{name} {version}" for name, version in self.document["engines"].items())
        head = f"`{self.document['command']}`, {engines}. {behaviours.caption}"
        said = {_sentence(one) for one in self.document["findings"]}
        onsets = "\n".join(f"- {line}" for line in self.sentences() if line not in said)
        parts = (head, behaviours.markdown(), onsets, findings.markdown())
        return "\n\n".join(part for part in parts if part) + "\n"

    def modes(self) -> dict[str, Counter[str]]:
        """By freeze time and engine."""
        return {
            f"{name}, {engine}": trials.count_modes(
                (name, row["frozen"][name]) for row in self._rows(engine) if name in row.get("frozen", {})
            ).get(name, Counter())
            for name in self._names()
            for engine in ENGINES
        }

    def _rows(self, engine: str) -> list[Row]:
        return [row for row in self.document["rows"] if row["engine"] == engine]

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.document["rows"] for name in row.get("frozen", {})))


def _spread(values: list[Any], form: str) -> str:
    there = [found for found in values if found is not None]
    ends = (min(there), median(there), max(there)) if there else ()
    return " / ".join(format(end, form) for end in ends)


def run_engines(config: Emergence, feedback: Feedback) -> Engines:
    """Learn with the same seeds in both engines, look, and measure complexity where that is asked for."""
    if config.engine is not None:
        raise ExperimentError(f"--engines are both; leave --engine {config.engine} out")
    if not 0 <= config.complexity <= len(config.seeds):
        limit = f"it must be 0 to the number of seeds, {len(config.seeds)}"
        raise ExperimentError(f"--complexity is {config.complexity}; {limit}")
    names: Any = ENGINES  # the same words as the option's
    chosen = [replace(config, engine=name) for name in names]
    tasks = [trials.make_trial(one, seed) for one in chosen for seed in config.seeds]
    found = trials.run_tasks(trials.trial, tasks, config, f"{config.robot} in both engines", feedback)
    rows = [
        {"engine": engine, "seed": task.seed} | trials.with_modes(task, row)
        for engine, task, row in zip(
            [engine for engine in ENGINES for _ in config.seeds], tasks, found, strict=True
        )
    ]
    measured = config.seeds[: config.complexity]
    scorings = [one for task in tasks if task.seed in measured for one in scorings_of(task)]
    scored = trials.run_tasks(score, scorings, config, "complexity", feedback)
    for row, task in zip(rows, tasks, strict=True):
        if task.seed in measured:
            row["complexity"] = {label(t): scored.pop(0) for t in task.freeze}
    by_engine = {engine: [row for row in rows if row["engine"] == engine] for engine in ENGINES}
    held = [judged(one, by_engine) for one in findings(tasks[0], config.complexity > 0)]
    content = {"engines": {engine: engine_version(engine) for engine in ENGINES}, "rows": rows}
    content |= {"findings": held, "verdict": [*_onsets(by_engine), *map(_sentence, held)]}
    return Engines.made(config, "engines", content, feedback)


def scorings_of(task: Trial) -> list[Scoring]:
    """The behaviours of a trial as tasks whose complexity is measured."""
    kind, scales = find_body(task.robot), Scales()
    recorded = (SAMPLES, task.transient, kind.sensor, kind.tau, kind.m_max)
    measure = Yardstick(*recorded, scales.common, scales.relative, surrogate=False)
    who = (task.robot, task.controller, task.seed)
    parts = [task.freeze[: i + 1] for i in range(len(task.freeze))]
    return [Scoring(*who, part, task.body, task.rule, measure, task.sources) for part in parts]


def _onsets(rows: dict[str, list[Row]]) -> Iterator[str]:
    for engine, mine in rows.items():
        first = [t for row in mine if (t := row.get("learning", {}).get("first_jumps")) is not None]
        if first:
            ends = f"minute {min(first):.1f} to {max(first):.1f}, median {median(first):.1f}"
            yield f"{engine}: first jumps while learning in {len(first)} of {len(mine)} seeds, {ends}"


def _sentence(held: Row) -> str:
    counts = ", ".join(f"{engine} {c['yes']} of {c['of']}" for engine, c in held["seeds"].items())
    return f"{held['finding']}: {held['verdict']} ({counts})"
