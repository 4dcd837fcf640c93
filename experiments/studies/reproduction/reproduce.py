"""The paper in one command: simulate, record, measure, and put its printed numbers beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from experiments.console import console
from experiments.errors import ExperimentError
from experiments.reports.figures import Plot, plot
from experiments.reports.report import Report, report
from experiments.runfiles import run_file as log
from experiments.settings import command, plain
from experiments.studies.reproduction.findings import sentences
from experiments.studies.reproduction.recipes import PARTS, Part, read_part
from experiments.studies.reproduction.robots import robot
from experiments.studies.reproduction.systems import ar2, lorenz
from experiments.studies.reproduction.table import (
    AGREES,
    DIFFERS,
    MISSING,
    ORDERED,
    as_html,
    markdown,
    terminal,
    to_plain_rows,
    to_rows,
)
from experiments.sweeps.store import write_text
from experiments.sweeps.sweep import Backend, Scale
from quantify.plain import to_plain

RUN: dict[str, Callable[[dict[str, Any], Path, Scale, bool], dict[str, Any]]] = {
    "lorenz": lorenz,
    "ar2": ar2,
    "snake": robot,
    "hexapod": robot,
}


@dataclass(frozen=True)
class Reproduce:
    """Rebuild the paper's tables and figures from nothing, and say what agrees."""

    part: Annotated[
        tyro.conf.Positional[Literal[Part, "all"]],
        tyro.conf.arg(metavar="lorenz|ar2|snake|hexapod|all"),
    ] = "all"
    """Which table."""
    quick: bool = False
    """Fewer samples: minutes instead of hours. What that costs in accuracy is said with the result."""
    samples: int | None = None
    """Samples per series or behaviour; the paper's number if not given."""
    seeds: tuple[int, ...] | None = None
    """Seeds by number (not how many); those of the table's settings, at least five, if not given."""
    seconds: float = 3.0
    """Length of the films on the page; 0 for none."""
    out: Path = Path("runs/paper")
    """Folder for runs, tables, pages and figures; an interrupted command goes on from there."""
    jobs: int = 0
    """Parallel processes on this machine; 0 for one per core."""
    backend: Backend = "local"
    """local, or dask for the series of lorenz and ar2; robots always run here."""
    scheduler: str | None = None
    """Address of the Dask scheduler, such as tcp://10.0.0.1:8786."""
    quiet: bool = False
    """Say nothing while working."""


def reproduce(config: Reproduce) -> list[dict[str, Any]]:
    """Rebuild the tables that were asked for; returns their documents, which are saved as JSON as well.

    Raises
    ------
    ExperimentError
        When the settings do not fit.
    """
    if config.samples is not None and config.samples < 1000:
        raise ExperimentError(f"--samples is {config.samples}; at least 1000 are needed to measure anything")
    if config.seeds is not None and (not config.seeds or len(set(config.seeds)) < len(config.seeds)):
        raise ExperimentError("--seeds must name one or more different seeds")
    if config.seeds is not None and min(config.seeds) < 0:
        raise ExperimentError(f"--seeds has {min(config.seeds)}; seeds are 0 or greater")
    names = PARTS if config.part == "all" else (config.part,)
    return [_reproduce(config, name) for name in names]


def settings_of(config: Reproduce, name: str) -> dict[str, Any]:
    """The settings of a part with what was asked for: --quick first, then --samples and --seeds."""
    part = read_part(name)
    quick = part.pop("quick")
    if config.quick:
        part |= quick
    if config.samples is not None:
        part["samples"] = config.samples
    if config.seeds is not None:
        part["seeds"] = list(config.seeds)
    if (config.samples, config.seeds) != (None, None):
        part.pop("cost", None)  # it tells of other samples and seeds
    return part


def _reproduce(config: Reproduce, name: Part) -> dict[str, Any]:
    part = settings_of(config, name)
    # Recordings of different lengths do not share a run file, and a short try leaves the full tables alone.
    samples = "" if config.samples is None else f"-{config.samples}"
    seeds = "" if config.seeds is None else "-seeds-" + "-".join(map(str, config.seeds))
    folder = config.out / f"{name}{'-quick' if config.quick else ''}{samples}"
    stem = config.out / f"reproduce-{folder.name}{seeds}"
    folder.mkdir(parents=True, exist_ok=True)
    done = RUN[name](part, folder, Scale(config.jobs, config.backend, config.scheduler), config.quiet)
    document: dict[str, Any] = to_plain(
        {
            "part": name,
            # The length of films changes no number.
            "command": command("reproduce", replace(config, part=name, seconds=Reproduce.seconds)),
            "reference": "exact" if name == "ar2" else "paper",
            "settings": plain(part),
            "versions": log.versions(),
            "rows": to_plain_rows(done["rows"]),
            "findings": done.get("findings", []),
            "measurements": done["measurements"],
        }
    )
    write_text(stem.with_suffix(".json"), json.dumps(document, indent=1) + "\n")
    write_text(stem.with_suffix(".md"), as_markdown(document))
    _print(document)
    written = [stem.with_suffix(".json"), stem.with_suffix(".md")]
    if done["files"]:
        rows = to_rows(document["rows"])
        before = as_html(
            rows,
            f"{document['reference'].capitalize()} beside ours",
            document["reference"],
            CAPTION,
            words(document),
        )
        films = config.seconds if name in ("snake", "hexapod") else 0
        files = tuple(done["files"])
        page = Report(files, stem.with_suffix(".html"), films, part["title"], config.jobs, quiet=True)
        written.append(report(page, before))
        written += plot(Plot(files, stem.with_suffix(".pdf"), quiet=True))
    print("written: " + ", ".join(map(str, written)))
    if all(row["verdict"] == MISSING for row in document["rows"] if row["paper"] is not None):
        raise ExperimentError(f"{name}: nothing could be measured; the reasons are in {written[0]}")
    return document


CAPTION = (
    "ours: median over the seeds. interval: of order statistics, covers the true median with at least 90 % "
    "from five seeds on. agrees: within the tolerance. same ordering: not, but the columns of this row are "
    "ordered as published."
)

COUNTED = {
    AGREES: ("agrees", "agree"),
    ORDERED: ("has the same ordering", "have the same ordering"),
    DIFFERS: ("differs", "differ"),
    MISSING: ("has no value", "have no value"),
}


def words(document: dict[str, Any]) -> list[str]:
    """What came out, in sentences: the count of verdicts, failures, the findings, and what a quick run costs.

    Sentences that belong to the one before are indented.
    """
    verdicts = [row["verdict"] for row in document["rows"] if row["paper"] is not None]
    numbers = {verdict: verdicts.count(verdict) for verdict in COUNTED}
    counts = [f"{n} {COUNTED[verdict][n > 1]}" for verdict, n in numbers.items() if n]
    settings = document["settings"]
    seeds = len(settings["seeds"])
    series = f"{settings['samples']:,} samples, {seeds} seed{'s' if seeds > 1 else ''}"
    said = [f"Of {len(verdicts)} numbers {', '.join(counts)} ({series})."]
    if wide := [f"{row.quantity} of {row.column}" for row in to_rows(document["rows"]) if row.wide]:
        said.append(
            f"Of those that agree, these have an interval that leaves the tolerance: {', '.join(wide)}."
        )
    if noisy := _stochastic(document["measurements"]):
        said.append(
            f"Less than half of the scales are deterministic in most seeds: {', '.join(noisy)}. The numbers "
            "there are mostly of noise, and where one agrees, it may be by chance."
        )
    measured = document["measurements"]
    if reasons := [one["reason"] for one in measured if one.get("reason")]:
        said.append(
            f"No numbers from {len(reasons)} of {len(measured)}: {'; '.join(dict.fromkeys(reasons))}."
        )
    for finding in document["findings"]:
        first, *rest = sentences(finding)
        said += [first, *(f"  On {text}" for text in rest)]
    if "cost" in settings:
        said.append(f"Quick: {settings['cost']}")
    return said


def _stochastic(measurements: list[dict[str, Any]]) -> list[str]:
    """Columns of a robot's table whose scales are not deterministic for the most part, in most seeds."""
    shares: dict[str, list[float]] = {}
    for one in measurements:
        for name, values in one.get("columns", {}).items():
            if values.get("deterministic") is not None:
                shares.setdefault(name, []).append(values["deterministic"])
    return [name for name, found in shares.items() if np.median(found) < 0.5]


def as_markdown(document: dict[str, Any]) -> str:
    """The table and the sentences of a part, as they stand in docs/paper.md."""
    table = markdown(to_rows(document["rows"]), document["reference"])
    said = [f"  - {text.strip()}" if text.startswith("  ") else f"- {text}" for text in words(document)]
    return "\n".join([f"`{document['command']}`", "", table, "", *said, ""])


def _print(document: dict[str, Any]) -> None:
    out = console()
    title, reference = document["settings"]["title"], document["reference"]
    out.print(terminal(to_rows(document["rows"]), title, reference, CAPTION))
    for text in words(document):
        out.print(text)
