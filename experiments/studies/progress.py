"""Learn, record and quantify in one go: how complexity grows while a robot learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import quantify as q
from experiments.errors import ExperimentError
from experiments.feedback import SILENT, Feedback
from experiments.options.pipeline import file_name
from experiments.options.studies import Progress
from experiments.pipeline.learn import Learn, learn_all
from experiments.pipeline.loop import find_body
from experiments.pipeline.quantify import Quantify, quantify
from experiments.pipeline.record import Record, record
from experiments.reports.tables import Table
from experiments.runfiles.run_file import label, open_run_file
from experiments.settings import with_seeds
from experiments.studies.scoring import sensors_of
from experiments.studies.study import Study, document_of
from quantify import plots
from quantify.aliases import Figure

QUANTITIES = ("D", "E_state", "E_mem", "E_core")


class LearningProgress(Study):
    """Complexity at each freeze of one or several runs.

    The document has one row per seed and freeze time. A behaviour that broke down or could not be quantified
    has the reason in its row.
    """

    _title = "Learning progress of the {robot} under {controller}"

    def tables(self) -> list[Table]:
        """A line per seed and freeze."""
        low, high = self.document["settings"]["common"]
        heads = {
            **{
                "seed": "",
                "min": "learning time",
                "std": "of the sensor",
                "D": "dimension ± sampling error, none without a scaling region",
            },
            **dict.fromkeys(QUANTITIES[1:], "in nats ± sampling error"),
            **{"s_min": "E_core for s_min from .05 to .1", "scales": "eps averaged over"},
            f"on {low:g}-{high:g}": "E_core ± spread on scales that are the same for all",
        }
        rows = self.document["rows"]
        return [Table(heads, [_cells(row, len(heads)) for row in rows], self.title, sensors_of(rows).strip())]

    def sentences(self) -> list[str]:
        """What speaks against the numbers."""
        rows = self.document["rows"]
        return [f"seed {r['seed']} {r['name']}: {caveat}" for r in rows for caveat in r.get("caveats", ())]

    def figure(self) -> Figure:
        """Complexities and dimension against learning time: a line per seed, and the median of several."""
        chosen = self.document["settings"]
        who = f"{chosen['robot']} under {chosen['controller']}"
        points = [
            plots.ProgressPoint(who, Path(row["run"]).stem, row["minutes"], _values(row))
            for row in self.document["rows"]
            if "E_core" in row
        ]
        title = f"{who}, {chosen['samples']:,} samples per behaviour"
        return plots.progress(points, tuple(chosen["common"]), title)


def progress(config: Progress, feedback: Feedback = SILENT) -> LearningProgress:
    """Run the whole experiment, save picture and numbers; goes on where it was interrupted."""
    if not config.freeze:
        raise ExperimentError("give at least one freeze time; there is nothing to quantify without")
    config = with_seeds(config)
    stem = config.out / file_name(config.robot, config.controller, config.engine, config.preset)
    what = (config.robot, config.controller, config.minutes, config.freeze)
    outs = {seed: stem.with_name(f"{stem.name}-{seed}.h5") for seed in config.seeds}
    changes: dict[str, Any] = {"engine": config.engine, "body": config.body, "rule": config.rule}
    changes |= {"preset": config.preset, "replace": config.replace}
    wanted = [Learn(*what, seed, out, **changes) for seed, out in outs.items()]
    paths, frozen = learn_all(wanted, config.jobs, feedback), []
    for path in paths:
        with open_run_file(path) as run:
            frozen += [path] if run.frozen else []
    if frozen:
        asked: dict[str, Any] = {"transient": config.transient, "jobs": config.jobs}
        record(Record(tuple(frozen), config.samples, replace=config.replace, **asked), feedback)
    rows = [row for path in paths for row in _rows(path, config, feedback)]
    study = LearningProgress(document_of("progress", config, {"rows": rows}))
    return study.save(stem.with_name(f"{stem.name}-progress"), "png", "json")


def _rows(path: Path, config: Progress, feedback: Feedback) -> list[dict[str, Any]]:
    """Quantify the behaviours of a run; one row per freeze time."""
    times = {label(minutes): minutes for minutes in sorted(set(config.freeze))}
    with open_run_file(path) as run:
        seed, sensor = run.seed, find_body(run.robot).sensor
        rows: dict[str, dict[str, Any]] = {}
        for name in times:
            if behaviour := run.behaviours.get(name):
                std = float(np.std(behaviour.sensors[:, sensor]))
                rows[name] = {"sensor": behaviour.sensors.names[sensor], "std": std}
                rows[name]["reason"] = behaviour.reason
            else:
                rows[name] = {"reason": run.learning.reason or "not recorded"}
    if freeze := tuple(times[name] for name, row in rows.items() if "std" in row):
        found = quantify(Quantify(str(path), freeze, eps_range=config.eps_range), feedback)
        for name, error in found.failures.items():
            rows[name]["reason"] = rows[name]["reason"] or str(error)
        for name, result in found.items():
            rows[name] |= _numbers(result, config.common)
    return [
        {"seed": seed, "name": name, "minutes": times[name], "run": str(path)} | row
        for name, row in rows.items()
    ]


def _numbers(result: q.Quantification, common: tuple[float, float]) -> dict[str, Any]:
    plain = result.to_dict()
    row = {name: plain[name] for name in QUANTITIES}
    row |= {"range": [result.range.lo, result.range.hi], "caveats": list(result.caveats)}
    try:
        shared = result.decomposition.over(*common)
    except q.QuantifyError as error:
        return row | {"common": {"reason": str(error)}}
    return row | {"common": {name: getattr(shared, name) for name in ("E_core", "E_core_sd", "D", "kappa")}}


def _cells(row: dict[str, Any], columns: int) -> list[str]:
    cells = [str(row["seed"]), f"{row['minutes']:g}", f"{row['std']:.3f}" if "std" in row else ""]
    if "E_core" not in row:
        return [*cells, row["reason"], *[""] * (columns - len(cells) - 1)]
    values = _values(row)
    cells += [_with_error(*values[name]) for name in QUANTITIES]
    cells.append("{:.2f}-{:.2f}".format(*row["E_core"]["s_min_interval"]))
    cells.append("-".join(f"{eps:.2g}".removeprefix("0") for eps in row["range"]))
    return [*cells, _with_error(*values.get("common", (None, None)))]


def _with_error(value: float | None, error: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if error is None else f"{value:.2f}±{error:.2f}".replace("±0.", "±.")


def _values(row: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """What table and figure show of a row: values and errors."""
    shared = row["common"]
    values = {name: (row[name]["value"], row[name]["sampling"]) for name in QUANTITIES}
    return values | ({"common": (shared["E_core"], shared["E_core_sd"])} if "E_core" in shared else {})
