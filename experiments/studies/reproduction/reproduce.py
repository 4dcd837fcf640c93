"""The paper in one command: simulate, record, quantify, and compare its printed numbers with ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.errors import ExperimentError
from experiments.feedback import SILENT, Feedback, plural
from experiments.options.studies import Part, Reproduce
from experiments.reports.figures import Plot, plot
from experiments.reports.report import Report, report
from experiments.reports.tables import Section, Table
from experiments.runfiles.atomic import make_folder, write_text
from experiments.runfiles.results import versions
from experiments.settings import Scale, command, with_seeds
from experiments.studies.reproduction.rebuild import ar2, lorenz, robot
from experiments.studies.reproduction.table import PARTS, Rebuilt, in_words, read_part
from experiments.studies.study import Study
from experiments.sweeps.sweep import mixed
from quantify.aliases import Figure
from quantify.plain import to_plain
from quantify.plots import published
from quantify.published import AGREES, BIASED, DIFFERS, MISSING, ORDERED, UNSURE, Row, finding_words

Rebuild = Callable[[dict[str, Any], Path, Scale, Feedback], Rebuilt]
REBUILD: dict[str, Rebuild] = {"lorenz": lorenz, "ar2": ar2, "snake": robot, "hexapod": robot}
COUNTED = {
    AGREES: ("agrees", "agree"),
    ORDERED: ("has the same ordering", "have the same ordering"),
    UNSURE: ("cannot be told from so few samples", "cannot be told from so few samples"),
    BIASED: ("is biased by so few samples", "are biased by so few samples"),
    DIFFERS: ("differs", "differ"),
    MISSING: ("has no value", "have no value"),
}


@dataclass(frozen=True)
class Reproduction(Study):
    """One table of the paper, made again."""

    sources: tuple[Path, ...] = ()
    """Results and runs that its page shows."""
    seconds: float = 0.0
    """Length of the films on the page; 0 for none."""
    jobs: int = 0
    """Films made at the same time; 0 for one per core."""
    _title = "{title}"

    @property
    def rows(self) -> list[Row]:
        """Its numbers."""
        return [Row.from_dict(row) for row in self.document["rows"]]

    def tables(self) -> list[Table]:
        """Every number, published and ours."""
        return [in_words(self.rows, self.document["reference"], self.title)]

    def sentences(self) -> list[str]:
        """Counts of verdicts, failures, findings (with details, indented), and what a quick run costs."""
        verdicts = [row.verdict for row in self.rows if row.paper is not None]
        counts = [f"{n} {words[n > 1]}" for one, words in COUNTED.items() if (n := verdicts.count(one))]
        settings, measurements = self.document["settings"], self.document["measurements"]
        seeds = len(settings["seeds"])
        series = f"{settings['samples']:,} samples, {plural(seeds, 'seed')}"
        said = [f"Of {len(verdicts)} numbers {', '.join(counts)} ({series})."]
        if wide := [f"{row.quantity} of {row.column}" for row in self.rows if row.wide]:
            interval = "these have an interval that leaves the tolerance"
            said.append(f"Of those that agree, {interval}: {', '.join(wide)}.")
        if noisy := _stochastic(measurements):
            said.append(
                f"Less than half of the scales are deterministic in most seeds: {', '.join(noisy)}. The "
                "numbers there are mostly of noise, and where one agrees, it may be by chance."
            )
        if reasons := [one["reason"] for one in measurements if one.get("reason")]:
            listed = "; ".join(dict.fromkeys(reasons))
            said.append(f"No numbers from {len(reasons)} of {len(measurements)}: {listed}.")
        for finding in self.document["findings"]:
            first, *rest = finding_words(finding)
            said += [first, *(f"  On {text}" for text in rest)]
        if "cost" in settings:
            said.append(f"Quick: {settings['cost']}")
        return said

    def markdown(self) -> str:
        """The table and the sentences, as they stand in docs/paper.md."""
        table = in_words(self.rows, self.document["reference"]).markdown().replace("*", "\\*")
        lines = [f"  - {text.strip()}" if text.startswith("  ") else f"- {text}" for text in self.sentences()]
        return "\n".join([f"`{self.document['command']}`", "", table, "", *lines, ""])

    def figure(self) -> Figure:
        """Published values as open circles, ours as dots with their intervals, a panel for each quantity."""
        return published(self.rows, self.document["reference"])

    def report(self, path: str | Path) -> Path:
        """Write a page with the table, and with all that is known of its first series or behaviours."""
        if not self.sources:
            return super().report(path)
        (table,) = self.tables()
        title = f"{self.document['reference'].capitalize()} and ours"
        section = Section(title, replace(table, title=""), sentences=self.sentences())
        config = Report(self.sources, Path(path), self.seconds, self.title, jobs=self.jobs)
        return report(config, before=section)


def reproduce(config: Reproduce, feedback: Feedback = SILENT) -> list[Reproduction]:
    """Rebuild the tables that were asked for, with their files; refuses if not one number could be found."""
    if config.samples is not None and config.samples < 1000:
        raise ExperimentError(f"--samples is {config.samples}; at least 1000 are needed to quantify anything")
    if config.seeds or config.n_seeds is not None:
        config = with_seeds(config)
    names = PARTS if config.part == "all" else (config.part,)
    return [reproduce_part(config, name, feedback) for name in names]


def settings_of(config: Reproduce, name: str) -> dict[str, Any]:
    """The settings of a part with what was asked for: --quick first, then --samples and --seeds."""
    part = read_part(name)
    quick = part.pop("quick")
    asked: dict[str, Any] = {"samples": config.samples, "seeds": list(config.seeds) or None}
    asked = {key: value for key, value in asked.items() if value is not None}
    if asked:
        quick.pop("cost", None)  # it tells of other samples and seeds
    engine = {"engine": config.engine} if config.engine and "run" in part else {}
    return part | (quick if config.quick else {}) | asked | engine


def reproduce_part(config: Reproduce, name: Part, feedback: Feedback = SILENT) -> Reproduction:
    """Rebuild one table."""
    part = settings_of(config, name)
    # Recordings of different lengths do not share a run file, and a short try leaves the full tables alone.
    samples = "" if config.samples is None else f"-{config.samples}"
    seeds = "-seeds-" + "-".join(map(str, config.seeds)) if config.seeds else ""
    engine = f"-{part['engine']}" if "engine" in part else ""
    folder = config.out / f"{name}{'-quick' if config.quick else ''}{samples}{engine}"
    stem = config.out / f"reproduce-{folder.name}{seeds}"
    make_folder(folder)
    done = REBUILD[name](part, folder, config, feedback)
    document: dict[str, Any] = to_plain(
        {
            "part": name,
            "command": command("reproduce", replace(config, part=name)),
            "reference": "exact" if name == "ar2" else "paper",
            "settings": part,
            "versions": mixed(done.measurements, versions(part.get("engine"))),
            "rows": [row.to_dict() for row in done.rows],
            "findings": done.findings,
            "measurements": done.measurements,
        }
    )
    films = config.seconds if name in ("snake", "hexapod") else 0.0
    study = Reproduction(document, sources=tuple(done.sources), seconds=films, jobs=config.jobs)
    study = study.save(stem, "json", *(["html"] if study.sources else []))
    files = [*study.files, write_text(stem.with_suffix(".md"), study.markdown())]
    if study.sources:
        files += plot(Plot(study.sources, stem.with_suffix(".pdf")), feedback)
    if all(row.verdict == MISSING for row in study.rows if row.paper is not None):
        raise ExperimentError(f"{name}: nothing could be quantified; the reasons are in {files[0]}")
    return replace(study, files=tuple(files))


def _stochastic(measurements: list[dict[str, Any]]) -> list[str]:
    """Columns of a robot's table whose scales are not deterministic for the most part, in most seeds."""
    shares: dict[str, list[float]] = {}
    for one in measurements:
        for name, values in one.get("columns", {}).items():
            if values.get("deterministic") is not None:
                shares.setdefault(name, []).append(values["deterministic"])
    return [name for name, found in shares.items() if np.median(found) < 0.5]
