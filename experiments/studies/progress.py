"""Learn, record and quantify in one go: how complexity grows while a robot learns."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.table import Table

import quantify as q
from experiments.console import console, plain_table, say
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, learn_all
from experiments.pipeline.loop import find_robot
from experiments.pipeline.quantify import Quantify, quantify_behaviours
from experiments.pipeline.record import Record, record
from experiments.runfiles import run_file as log
from experiments.settings import Settings, command, outcome
from experiments.sweeps.store import write_text
from quantify import plots

QUANTITIES = ("D", "E_state", "E_mem", "E_core")


@dataclass(frozen=True)
class Progress:
    """Learn, record and quantify: the table and the picture of learning progress."""

    robot: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ROBOT")]
    """Body to learn with, such as hexapod or snake."""
    controller: str = "ulr"
    """Learning rule by name, or your own as my_module:MyRule."""
    minutes: float = 8.0
    """Length of learning in simulated minutes."""
    freeze: tuple[float, ...] = (2.0, 4.0, 8.0)
    """Minutes at which the controller is frozen, recorded and quantified."""
    seeds: tuple[int, ...] = (1,)
    """One run per seed."""
    samples: int = 1_000_000
    """Samples to record per behaviour."""
    transient: int = 10_000
    """Samples to discard before recording."""
    eps_range: tuple[float, float] | None = None
    """Scales to average over; chosen for each behaviour if not given."""
    common: tuple[float, float] = (0.1, 0.4)
    """Scales on which core complexity is compared as well, the same for all behaviours."""
    out: Path = Path("runs")
    """Folder for runs, table and picture."""
    jobs: int = 0
    """Parallel processes; 0 for one per core."""
    body: Settings = field(default_factory=dict)
    """Settings of the body that differ from its defaults."""
    rule: Settings = field(default_factory=dict)
    """Settings of the learning rule that differ from its defaults."""
    quiet: bool = False
    """Say nothing while working."""


def progress(config: Progress) -> dict[str, Any]:
    """Run the whole experiment, print the table, save picture and numbers; goes on where it was interrupted.

    Returns
    -------
    dict
        What is saved as JSON: the settings, and one row per seed and freeze time. A behaviour that broke
        down or could not be quantified has the reason in its row.
    """
    if not config.seeds:
        raise ExperimentError("give at least one seed")
    if not config.freeze:
        raise ExperimentError("give at least one freeze time; there is nothing to quantify without")
    paths = learn_all([_learn_config(config, seed) for seed in dict.fromkeys(config.seeds)], config.jobs)
    alive = []
    for path in paths:
        with log.open_run(path) as learned:
            if learned.frozen:
                alive.append(path)
    if alive:
        recordings = Record(tuple(alive), config.samples, transient=config.transient)
        record(dataclasses.replace(recordings, jobs=config.jobs, quiet=config.quiet))
    rows = [row for path in paths for row in _rows(path, config)]
    document = {
        "command": command("progress", config),
        "settings": outcome(config),
        "versions": log.versions(),
        "rows": rows,
    }
    stem = config.out / f"{config.robot}-{config.controller.replace(':', '.')}-progress"
    # A rule of one's own has a dot in its name, which is no suffix.
    table_path, picture = (stem.with_name(stem.name + suffix) for suffix in (".json", ".png"))
    write_text(table_path, json.dumps(document, indent=1) + "\n")
    draw(document, picture)
    console().print(table(document))
    for row in rows:
        for caveat in row.get("caveats", ()):
            say(f"seed {row['seed']} {row['name']}: {caveat}", config.quiet)
    print(f"picture: {picture}\nnumbers: {table_path}\nruns:    {', '.join(map(str, paths))}")
    return document


def _learn_config(config: Progress, seed: int) -> Learn:
    shared = {f.name for f in dataclasses.fields(Learn)} & {f.name for f in dataclasses.fields(Progress)} - {
        "out"
    }
    name = config.controller.replace(":", ".")
    return Learn(
        **{key: getattr(config, key) for key in shared},
        seed=seed,
        out=config.out / f"{config.robot}-{name}-{seed}.h5",
    )


def _rows(path: Path, config: Progress) -> list[dict[str, Any]]:
    """One row per freeze time of a run."""
    with log.open_run(path) as run:
        seed, reason = run.seed, run.learning.reason
        sensor = find_robot(run.robot).sensor
        wanted = [minutes for minutes in sorted(set(config.freeze)) if log.label(minutes) in run.behaviours]
        amplitude = {
            log.label(t): float(np.std(run.behaviours[log.label(t)].sensors[:, sensor])) for t in wanted
        }
        reasons = {name: run.behaviours[name].reason for name in amplitude}
    settings = Quantify(str(path), freeze=tuple(wanted), eps_range=config.eps_range, quiet=config.quiet)
    results, _, failures = quantify_behaviours(settings, path) if wanted else ({}, {}, {})
    rows = []
    for minutes in sorted(set(config.freeze)):
        name = log.label(minutes)
        row: dict[str, Any] = {"seed": seed, "name": name, "minutes": minutes, "run": str(path)}
        if name not in amplitude:
            row["reason"] = reason or "not recorded"
        else:
            row |= {"std": amplitude[name], "reason": reasons[name] or str(failures.get(name, ""))}
        if name in results:
            row |= _numbers(results[name], config.common)
        rows.append(row)
    return rows


def _numbers(result: q.Quantification, common: tuple[float, float]) -> dict[str, Any]:
    plain = result.to_dict()
    row = {name: plain[name] for name in QUANTITIES}
    row |= {"range": [result.range.lo, result.range.hi], "caveats": list(result.caveats)}
    try:
        shared = result.decomposition.over(*common)
        row["common"] = {
            "E_core": shared.E_core,
            "E_core_sd": shared.E_core_sd,
            "D": shared.D,
            "kappa": shared.kappa,
        }
    except ValueError as error:
        row["common"] = {"reason": str(error)}
    return row


def table(document: dict[str, Any]) -> Table:
    """Learning progress as a table; ± is the sampling error (last column: the spread over scales)."""
    settings = document["settings"]
    (low, high), robot, rule = settings["common"], settings["robot"], settings["controller"]
    result = plain_table(
        *("seed", "min", "std", "D", "E_state", "E_mem", "E_core", "s_min", "scales", f"on {low:g}-{high:g}"),
        title=f"Learning progress of the {robot} under {rule}",
        caption="min: learning time. std: of the sensor. E in nats ± sampling error.\n"
        "s_min: E_core for s_min from .05 to .1. scales: eps averaged over.\n"
        "Last column: E_core ± spread on scales that are the same for all.",
    )
    for row in document["rows"]:
        cells = [str(row["seed"]), f"{row['minutes']:g}", f"{row['std']:.3f}" if "std" in row else ""]
        if "E_core" not in row:
            result.add_row(*cells, row["reason"])
            continue
        cells += [_with_error(row[name]["value"], row[name]["sampling"]) for name in QUANTITIES]
        cells.append("{:.2f}-{:.2f}".format(*row["E_core"]["s_min_interval"]))
        cells.append("-".join(f"{eps:.2g}".removeprefix("0") for eps in row["range"]))
        shared = row["common"]
        cells.append(_with_error(shared["E_core"], shared["E_core_sd"]) if "E_core" in shared else "-")
        result.add_row(*cells)
    return result


def _with_error(value: float | None, error: float | None) -> str:
    if value is None:
        return "-"
    return (
        f"{value:.2f}"
        if error is None or np.isnan(error)
        else f"{value:.2f}±{error:.2f}".replace("±0.", "±.")
    )


def draw(document: dict[str, Any], path: Path) -> None:
    """Draw dimension and complexities against learning time: a line per seed, and the median of several."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in document["rows"] if "E_core" in row]
    settings = document["settings"]
    figure, axes = plt.subplots(
        1, 2, figsize=(9, 3.8), layout="constrained", gridspec_kw={"width_ratios": [2, 1]}
    )
    low, high = settings["common"]
    for ax, name, words, colour, style in (
        # Core comes first and large: where state is 0, memory lies on top of it.
        (axes[0], "E_core", "core = state + memory", "#000000", "^-"),
        (axes[0], "E_mem", "memory", plots.MEMORY, "s-"),
        (axes[0], "E_state", "state", plots.STATE, "o-"),
        (axes[0], "common", f"core on scales {low:g}-{high:g}", "#777777", "^:"),
        (axes[1], "D", "dimension", plots.SECTIONS[1], "o-"),
    ):
        _draw_quantity(ax, rows, name, words, colour, style)
    axes[0].set(xlabel="learning time [min]", ylabel="complexity [nats]")
    axes[1].set(xlabel="learning time [min]", ylabel="dimension D")
    for ax in axes:
        ax.set_ylim(bottom=min(0, ax.get_ylim()[0]))
        ax.spines[["top", "right"]].set_visible(False)
        if not rows:
            ax.text(0.5, 0.5, "nothing could be quantified", ha="center", transform=ax.transAxes)
    if rows:
        axes[0].legend(frameon=False, fontsize="small")
    figure.suptitle(
        f"{settings['robot']} under {settings['controller']}, {settings['samples']:,} samples per behaviour"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_quantity(
    ax: Any, rows: list[dict[str, Any]], name: str, words: str, colour: str, style: str
) -> None:
    points = [(row["seed"], row["minutes"], *_value(row, name)) for row in rows]
    points = [point for point in points if point[2] is not None]
    seeds = sorted({seed for seed, *_ in points})
    several = len(seeds) > 1
    size = 10 if name == "E_core" else 5
    look: dict[str, Any] = {"color": colour, "mfc": "white", "capsize": 3, "markersize": size}
    for seed in seeds:
        _, x, y, error = zip(*[point for point in points if point[0] == seed], strict=True)
        faint = {"alpha": 0.35, "linewidth": 0.8} if several else {"linewidth": 1.8, "label": words}
        ax.errorbar(x, y, error, fmt=style, **look, **faint)
    if several:
        times = sorted({t for _, t, *_ in points})
        middle = [np.median([y for _, at, y, _ in points if at == t]) for t in times]
        ax.plot(times, middle, style, color=colour, linewidth=2.5, label=f"{words} (median)")


def _value(row: dict[str, Any], name: str) -> tuple[float | None, float]:
    if name == "common":
        return row["common"].get("E_core"), row["common"].get("E_core_sd", 0.0)
    return row[name]["value"], row[name]["sampling"] or 0.0
