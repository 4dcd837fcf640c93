"""Whether a number of the quantifier has settled: over embedding, delay and length of a series."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import quantify as q
from experiments.errors import ExperimentError, FileError
from experiments.feedback import SILENT, Feedback
from experiments.options.pipeline import Quantify
from experiments.options.studies import Convergence
from experiments.pipeline.quantify import is_run, read_wanted, recorded_series, with_robot_defaults
from experiments.reports.tables import Table
from experiments.runfiles.run_file import label, open_run_file
from experiments.studies.study import Study, document_of
from quantify import plots
from quantify.aliases import Figure
from quantify.convergence_data import Sweep
from quantify.series_files import Series, split_source

NAMES = {"m_max": "m_max", "tau": "delay", "n": "samples"}


class Settling(Study):
    """How the numbers of one series depend on m_max, tau and its length; a row per quantification."""

    _title = "Convergence of {what}"

    @property
    def found(self) -> q.Convergence:
        """The numbers with their intervals."""
        return q.Convergence.from_dict(self.document["convergence"])

    def tables(self) -> list[Table]:
        """All numbers with the intervals of core complexity."""
        heads = {
            "varied": "what differs from the rest",
            "value": "its value; * marks the one that the others use, - no scaling region",
            "E_core": "core complexity in nats",
            "95 %": "its interval",
            "E_state": "state complexity",
            "E_mem": "memory complexity",
            "D": "dimension",
        }
        rows = [row for sweep in self.found.sweeps for row in _rows(sweep)]
        return [Table(heads, rows, self.title, "Complexities in nats.")]

    def sentences(self) -> list[str]:
        """What has settled and what has not."""
        return self.found.sentences()

    def figure(self) -> Figure:
        """Complexity and dimension over the three settings."""
        return plots.convergence(self.found)


def convergence(config: Convergence, feedback: Feedback = SILENT) -> Settling:
    """Vary embedding, delay and length of one series; writes figure and numbers beside the data.

    Raises ExperimentError when the file, the behaviour or the column does not exist, or the series is too
    short for the embedding.
    """
    path, dataset = split_source(config.source)
    name = ""
    if not dataset and is_run(path):
        name, series, usual = _recorded(config, path)
    else:
        series = read_wanted(config, config.source, config.sensor)
        usual = Quantify(config.source, sensor=series.name, tau=config.tau, m_max=config.m_max or 10)
    stem = config.out or path.with_name(".".join(filter(None, (path.name, name, "convergence.png"))))
    if stem.suffix not in (".png", ".pdf"):
        raise ExperimentError(f"--out {stem} is no figure; give a name that ends in .png or .pdf")
    options: dict[str, Any] = {"tau": usual.tau, "m_max": usual.m_max}
    with feedback.bars() as bar:
        advance = bar(f"convergence of {series.source}")
        try:
            chosen = {"samples": config.samples, "replicates": config.replicates, **options}
            found = q.convergence(series.values, **chosen, progress=advance)
        except q.QuantifyError as error:
            raise ExperimentError(f"{series.source}: {error}") from error
    content = {
        "what": f"{series.source}, {series.name}",
        "convergence": found.to_dict(),
        "rows": [
            {"varied": sweep.setting, "value": value, "region": sweep.region[i]}
            | {quantity: dataclasses.asdict(found[i]) for quantity, found in sweep.estimates.items()}
            for sweep in found.sweeps
            for i, value in enumerate(sweep.values)
        ],
    }
    document = document_of("convergence", config, content, **options, sensor=series.name)
    return Settling(document).save(stem.with_suffix(""), "json", stem.suffix[1:])


def _recorded(config: Convergence, path: Path) -> tuple[str, Series, Quantify]:
    """The wanted behaviour of a run: its name, its sensor, and how such are quantified."""
    with open_run_file(path) as run:
        if not run.behaviours:
            raise FileError(f"{path} holds no recorded behaviour; `selforg record {path}` makes them")
        name = label(config.freeze) if config.freeze is not None else list(run.behaviours)[-1]
        asked = Quantify(config.source, sensor=config.sensor, tau=config.tau, m_max=config.m_max)
        usual = with_robot_defaults(asked, run.robot)
        return name, recorded_series(run, name, usual.sensor, config), usual


def _rows(sweep: Sweep) -> list[list[str]]:
    rows = []
    for i, value in enumerate(sweep.values):
        core, state, memory, dimension = (
            sweep.estimates[name][i] for name in ("E_core", "E_state", "E_mem", "D")
        )
        mark = "*" * (value == sweep.chosen) + "-" * (not sweep.region[i])
        interval = "{:.2f} to {:.2f}".format(*core.interval)
        numbers = [f"{e.value:.2f}" for e in (state, memory, dimension)]
        rows.append([NAMES[sweep.setting], f"{value:,}{mark}", f"{core.value:.2f}", interval, *numbers])
    return rows
