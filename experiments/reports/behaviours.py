"""One behaviour and what was measured of it, from a run file or from a result beside the data.

A behaviour without a result is not left out: it says what is missing, and which command would make it.
"""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quantify as q
from experiments.errors import ExperimentError, FileError
from experiments.pipeline.loop import find_robot
from experiments.pipeline.quantify import Quantify, run_defaults
from experiments.runfiles import run_file as log
from experiments.runfiles.series import find_column, read_series, split_source
from experiments.settings import plain

Floats = NDArray[np.floating]
# Enough for a phase plot; the rest of a million samples looks the same.
SERIES = 20_000
EXCERPT_SECONDS = 10.0


@dataclass(frozen=True)
class Track:
    """Channels over time.

    Attributes
    ----------
    t : (n,) array
        Time in seconds.
    values : (n, channels) array
    names, units : tuples of str
    """

    t: Floats
    values: Floats
    names: tuple[str, ...]
    units: tuple[str, ...]

    def __getitem__(self, name: str) -> Floats:
        return self.values[:, self.names.index(name)]

    def __contains__(self, name: str) -> bool:
        return name in self.names


@dataclass(frozen=True)
class Behaviour:
    """One behaviour, what was measured of it, and what is missing.

    Attributes
    ----------
    label : str
        Short name, such as "8min" of "hexapod ulr 1", or the name of a file.
    what : str
        What was run or measured, in words.
    problem : str
        Why there is no result, or why the recording ended early; empty if all went well.
    result : Quantification or None
    command : str
        The command that measures it again, without the range of scales.
    series : array or None
        Beginning of the series that was measured, if it can be found.
    channel : str
        Name and unit of that series.
    sensors, body : Track or None
        Excerpts of all sensors, and of the body seen from outside.
    figures : dict
        Numbers over the whole recording, in words: mean height, airtime, speed.
    run, name : Path or None, and str
        Run file and name of the behaviour in it.
    group : str
        Robot and rule: runs that differ in their seed only belong together. Empty for other series.
    seed, minutes : int or None, float or None
    """

    label: str
    what: str
    problem: str = ""
    result: q.Quantification | None = None
    command: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    series: Floats | None = None
    channel: str = ""
    sensors: Track | None = None
    body: Track | None = None
    figures: dict[str, str] = dataclasses.field(default_factory=dict)
    run: Path | None = None
    name: str = ""
    group: str = ""
    seed: int | None = None
    minutes: float | None = None


def behaviour_of(run: log.Run, name: str, document: dict[str, Any] | None) -> Behaviour:
    """A behaviour of a run, with the result stored in `document`, or with what is missing."""
    recording, frozen = run.behaviours.get(name), run.frozen.get(name)
    minutes = frozen.minutes if frozen else None
    given = (
        f"{run_words(run)}, frozen at {minutes:g} min" if minutes is not None else f"{run_words(run)}, {name}"
    )
    file = shlex.quote(str(run.path))
    fields: dict[str, Any] = {
        "label": f"{run.path.stem} {name}",
        "run": run.path,
        "name": name,
        "group": _group(run),
        "seed": run.seed,
        "minutes": minutes,
    }
    if recording is None:
        problem = f"frozen, but not recorded; `selforg record {file}` records it"
        return Behaviour(what=given, problem=problem, **fields)
    rate = float(recording.attrs["rate_hz"])
    problem = (
        "" if recording.complete else f"the recording {recording.status} after {recording.steps:,} steps"
    )
    problem += f": {recording.reason}" if recording.reason else ""
    result, settings = None, {}
    if document is not None:
        result, settings = _restore(run.path, document), document["settings"]
    elif not problem:
        problem = f"recorded, but not quantified; `selforg quantify {file}` measures it"
    entry = find_robot(run.robot)
    sensors = recording.sensors
    column = find_column(
        sensors.shape[1], sensors.names, settings.get("sensor") or str(entry.sensor), str(run.path)
    )
    rows = round(EXCERPT_SECONDS * rate)
    fields |= {
        "what": "; ".join(part for part in (given, _measured(result, settings)) if part),
        "problem": problem,
        "result": result,
        "settings": settings,
        "command": _command(str(run.path), settings, run.robot, name) if settings else "",
        "series": sensors[:SERIES, column].astype(float),
        "channel": f"{sensors.names[column]} [{sensors.units[column]}]",
        "sensors": track(sensors, rows, rate),
    }
    if "measures" in recording.tracks:
        measures = recording.tracks["measures"]
        fields["body"] = track(measures, rows // measures.every, rate)
        fields["figures"] = _body_figures(measures, rate)
    return Behaviour(**fields)


def behaviour_from_json(path: Path, document: dict[str, Any]) -> Behaviour:
    """A behaviour from a JSON file; its series is looked for beside, and may be gone."""
    result = _restore(path, document)
    source, dataset = split_source(document["source"])
    settings = document["settings"]
    if dataset.startswith("/behaviours/"):
        run_path, name = path.with_name(source.name), dataset.split("/")[2]
        if run_path.exists():
            with log.open_run(run_path) as run:
                return behaviour_of(run, name, document)
        return Behaviour(
            label=name,
            what=f"{name} of {source.name}, {_measured(result, settings)}; the run file is not at hand",
            result=result,
            command=_command(str(run_path), settings, None, name),
            settings=settings,
            channel=f"sensor {settings['sensor']}",
        )
    label = source.name + (f" {dataset}" if dataset else "")
    if settings["sensor"] and settings["sensor"] != "0":
        label += f" {settings['sensor']}"
    series = None
    if source.suffix != ".c2":
        at = beside(path, source)
        try:
            wanted = f"{at}:{dataset}" if dataset else str(at)
            series = read_series(wanted, settings["sensor"]).values[:SERIES]
        except ExperimentError:
            pass  # The result stands without its series; the page says that the phase plot is missing.
    return Behaviour(
        label=label,
        what=_measured(result, settings),
        result=result,
        command=_command(document["source"], settings, None, ""),
        settings=settings,
        series=series,
        channel=settings["sensor"] if not settings["sensor"].isdigit() else "x",
    )


def beside(path: Path, other: Path) -> Path:
    """A file as it was named when the result was written, or in the folder of the result."""
    return other if other.exists() else path.with_name(other.name)


def _restore(path: Path, document: dict[str, Any]) -> q.Quantification:
    try:
        return q.Quantification.from_dict(document["result"])
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{path} holds a result that this version cannot read ({error}); quantify it again"
        ) from error


def _group(run: log.Run) -> str:
    return f"{run.robot} under {run.controller}"


def run_words(run: log.Run) -> str:
    """What was run, in words."""
    return f"{_group(run)}, seed {run.seed}"


def _measured(result: q.Quantification | None, settings: dict[str, Any]) -> str:
    if result is None:
        return ""
    sums = result.sums
    samples = f"{sums.n:,} samples" if sums.n is not None else "correlation sums from a file"
    return f"{samples}, delay {sums.tau or 'unknown'}, m up to {sums.m_max}, s_min {settings['s_min']:g}"


def track(rows: log.Rows, count: int, rate: float) -> Track:
    """The first `count` rows of a recording at `rate` steps per second."""
    values = rows[:count]
    return Track(np.arange(len(values)) * rows.every / rate, values, rows.names, rows.units)


def _body_figures(measures: log.Rows, rate: float) -> dict[str, str]:
    """Numbers of a whole recording that a look at the robot would ask for."""
    if len(measures) < 2:
        return {}
    whole = track(measures, len(measures), rate)
    seconds = float(whole.t[-1])
    figures = {}
    if "z" in whole:
        figures["height"] = f"{whole['z'].mean():.3f} ± {whole['z'].std():.3f} m"
    if "contacts" in whole:
        figures["airtime"] = f"{(whole['contacts'] == 0).mean():.1%}"
    if "x" in whole:
        way = np.hypot(whole["x"][-1] - whole["x"][0], whole["y"][-1] - whole["y"][0])
        figures["displacement"] = f"{way:.2f} m in {seconds / 60:.1f} min"
    return figures


def _command(source: str, settings: dict[str, Any], robot: str | None, name: str) -> str:
    """The words that measure a behaviour again; only what differs from the defaults is spelled out."""
    usual = Quantify(source)
    if robot is not None:
        usual = run_defaults(usual, robot)
    words = ["selforg", "quantify", source]
    if name:
        words += ["--freeze", name.removesuffix("min")]
    for key, value in settings.items():
        if key == "eps_range" or value is None or value == plain(getattr(usual, key, None)):
            continue
        words.append(f"--{key.replace('_', '-')}")
        if value is not True:
            words += [str(part) for part in (value if isinstance(value, list) else [value])]
    return shlex.join(words)
