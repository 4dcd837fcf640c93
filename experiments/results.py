"""Read back what experiments left behind: behaviours and learning runs, ready to be drawn or reported.

A behaviour without a result is not left out: it says what is missing, and which command would make it.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

import quantify as q
from controllers import Frozen
from experiments import log
from experiments.config import plain
from experiments.errors import ExperimentError, FileError
from experiments.loop import find_robot
from experiments.quantify import Quantify, run_defaults
from experiments.series import find_column, read_series, split_source
from quantify.ksg import PredictiveInformation

Floats = NDArray[np.floating]
# Enough for a phase plot; the rest of a million samples looks the same.
SERIES = 20_000
EXCERPT_SECONDS = 10.0
BODY_WINDOWS = 240


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


@dataclass(frozen=True)
class LearningRun:
    """The learning phase of a run.

    Attributes
    ----------
    label : str
    path : Path
    problem : str
        Why learning ended early or is not finished; empty if it is complete.
    seed : int
    minutes : (n,) array
        Times at which the spectrum is known.
    moduli : (n, sensors) array
        Moduli of the eigenvalues of the loop, linearised at rest, largest first.
    C : dict of (motors, sensors) arrays by freeze time
    eigenvalues : dict of complex arrays by freeze time
    body : Track or None
        `height`, its smallest and largest value (`low`, `high`), share of time without ground contact
        (`airtime`), and distance from the start (`displacement`), in windows of learning time.
    """

    label: str
    path: Path
    problem: str
    seed: int
    minutes: Floats
    moduli: Floats
    C: dict[str, Floats]
    eigenvalues: dict[str, NDArray[np.complexfloating]]
    sensors: tuple[str, ...]
    motors: tuple[str, ...]
    body: Track | None


@dataclass(frozen=True)
class Results:
    """Everything that was found in the files, in their order."""

    behaviours: list[Behaviour]
    learning: list[LearningRun]


def read_results(files: Iterable[Path]) -> Results:
    """Read run files, results (`*.complexity.json`) and tables of learning progress (`*-progress.json`).

    Raises
    ------
    FileError
        When a file is missing, damaged, or holds something else.
    """
    found = Results([], [])
    seen: set[Path] = set()
    for path in files:
        for part in _read(path):
            if isinstance(part, Behaviour):
                if not any(_same(part, other) for other in found.behaviours):
                    found.behaviours.append(part)
            elif part.path.resolve() not in seen:
                seen.add(part.path.resolve())
                found.learning.append(part)
    return found


def _same(a: Behaviour, b: Behaviour) -> bool:
    """The same measurement, once from the run file and once from the JSON beside it."""
    if a.run is None or b.run is None or a.run.resolve() != b.run.resolve():
        return False
    return a.name == b.name and a.settings == b.settings


def _read(path: Path) -> list[Behaviour | LearningRun]:
    if path.suffix == ".h5" or (path.is_file() and h5py.is_hdf5(path)):
        return _read_run(path)
    if path.suffix == ".json":
        return _read_json(path)
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    raise FileError(
        f"{path} holds no results; give run files, *.complexity.json or *-progress.json "
        f"(`selforg quantify {shlex.quote(str(path))}` makes a result of a series)"
    )


def _read_json(path: Path) -> list[Behaviour | LearningRun]:
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read as JSON: {error}") from error
    if isinstance(document, dict) and "rows" in document:
        runs = dict.fromkeys(row["run"] for row in document["rows"])
        return [part for run in runs for part in _read_run(_beside(path, Path(run)))]
    if isinstance(document, dict) and "result" in document:
        return [_from_document(path, document)]
    raise FileError(f"{path} is no result of `selforg quantify` or `selforg progress`")


def _beside(path: Path, other: Path) -> Path:
    """A file as it was named when the result was written, or in the folder of the result."""
    return other if other.exists() else path.with_name(other.name)


def _from_document(path: Path, document: dict[str, Any]) -> Behaviour:
    """A behaviour from a JSON file; its series is looked for beside, and may be gone."""
    result = _restore(path, document)
    source, dataset = split_source(document["source"])
    settings = document["settings"]
    if dataset.startswith("/behaviours/"):
        run_path, name = path.with_name(source.name), dataset.split("/")[2]
        if run_path.exists():
            with log.open_run(run_path) as run:
                return _behaviour(run, name, document)
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
        at = _beside(path, source)
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


def _restore(path: Path, document: dict[str, Any]) -> q.Quantification:
    try:
        return q.Quantification.from_dict(document["result"])
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{path} holds a result that this version cannot read ({error}); quantify it again"
        ) from error


def _read_run(path: Path) -> list[Behaviour | LearningRun]:
    with log.open_run(path) as run:
        learning = _learning(run)
        names = list(run.frozen) + [name for name in run.behaviours if name not in run.frozen]
        if not names:
            missing = f"no controller was frozen: {learning.problem or 'no freeze time was asked for'}"
            return [learning, Behaviour(run.path.stem, _run_words(run), missing, seed=run.seed, run=path)]
        return [learning, *(_behaviour(run, name, run.results.get(name)) for name in names)]


def _group(run: log.Run) -> str:
    return f"{run.robot} under {run.controller}"


def _run_words(run: log.Run) -> str:
    return f"{_group(run)}, seed {run.seed}"


def _measured(result: q.Quantification | None, settings: dict[str, Any]) -> str:
    if result is None:
        return ""
    sums = result.sums
    samples = f"{sums.n:,} samples" if sums.n is not None else "correlation sums from a file"
    return f"{samples}, delay {sums.tau or 'unknown'}, m up to {sums.m_max}, s_min {settings['s_min']:g}"


def _behaviour(run: log.Run, name: str, document: dict[str, Any] | None) -> Behaviour:
    recording, frozen = run.behaviours.get(name), run.frozen.get(name)
    minutes = frozen.minutes if frozen else None
    given = (
        f"{_run_words(run)}, frozen at {minutes:g} min"
        if minutes is not None
        else f"{_run_words(run)}, {name}"
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
        "sensors": _track(sensors, rows, rate),
    }
    if "measures" in recording.tracks:
        measures = recording.tracks["measures"]
        fields["body"] = _track(measures, rows // measures.every, rate)
        fields["figures"] = _body_figures(measures, rate)
    return Behaviour(**fields)


def _track(rows: log.Rows, count: int, rate: float) -> Track:
    values = rows[:count]
    return Track(np.arange(len(values)) * rows.every / rate, values, rows.names, rows.units)


def _body_figures(measures: log.Rows, rate: float) -> dict[str, str]:
    """Numbers of a whole recording that a look at the robot would ask for."""
    if len(measures) < 2:
        return {}
    whole = _track(measures, len(measures), rate)
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


def _learning(run: log.Run) -> LearningRun:
    recording = run.learning
    problem = "" if recording.complete else f"learning {recording.status} after {recording.steps:,} steps"
    problem += f": {recording.reason}" if recording.reason else ""
    rate = float(recording.attrs["rate_hz"])
    closed = {name: state.controller for name, state in run.frozen.items() if "C" in state.controller}
    minutes, moduli = np.empty(0), np.empty((0, 0))
    if "C" in recording.tracks:
        C, h = recording.tracks["C"], recording.tracks["h"]
        # Some hundred points make a smooth line, whatever the interval of the run.
        every = max(1, len(C) // 400)
        minutes = np.arange(0, len(C), every) * C.every / rate / 60
        moduli = np.array(
            [np.abs(loop_eigenvalues(c, b)) for c, b in zip(C[::every], h[::every], strict=True)]
        )
    return LearningRun(
        label=f"{run.path.stem}: {_run_words(run)}",
        path=run.path,
        problem=problem,
        seed=run.seed,
        minutes=minutes,
        moduli=moduli,
        C={name: state["C"] for name, state in closed.items()},
        eigenvalues={name: loop_eigenvalues(state["C"], state["h"]) for name, state in closed.items()},
        sensors=recording.sensors.names,
        motors=recording.actions.names,
        body=_windows(recording.tracks["measures"], rate) if "measures" in recording.tracks else None,
    )


def loop_eigenvalues(C: Floats, h: Floats) -> NDArray[np.complexfloating]:
    """Eigenvalues of the loop through body and controller, linearised at rest; largest modulus first.

    L = A diag(1 - tanh(h)^2) C, with a body in which every joint follows its motor (A_ij = 1 if i = j): above
    modulus 1, a small motion grows.
    """
    values: NDArray[np.complexfloating] = Frozen(C, h).inspect()["L_eigenvalues"]
    return values


def _windows(measures: log.Rows, rate: float) -> Track | None:
    """The body during learning, in windows: height (mean, low, high), airtime, displacement."""
    whole = _track(measures, len(measures), rate)
    if not len(whole.t) or not {"x", "y", "z", "contacts"} <= set(whole.names):
        return None
    edges = np.linspace(0, len(whole.t), min(BODY_WINDOWS, len(whole.t)) + 1).astype(int)[:-1]
    count = np.diff([*edges, len(whole.t)])
    z = whole["z"]
    way = np.hypot(whole["x"] - whole["x"][0], whole["y"] - whole["y"][0])
    columns = [
        np.add.reduceat(z, edges) / count,
        np.minimum.reduceat(z, edges),
        np.maximum.reduceat(z, edges),
        np.add.reduceat((whole["contacts"] == 0).astype(float), edges) / count,
        way[edges],
    ]
    names, units = ("height", "low", "high", "airtime", "displacement"), ("m", "m", "m", "1", "m")
    return Track(whole.t[edges], np.stack(columns, axis=1), names, units)


def predictive_information(result: q.Quantification) -> PredictiveInformation | None:
    """The KSG estimate stored with a result, in the form it was made in; None if there is none."""
    stored = result.predictive_information
    if stored is None:
        return None
    PI = np.array([stored["PI"]], dtype=float)  # None becomes NaN
    half = np.full((2, *PI.shape), np.nan)
    half[:] = np.array(stored.get("halves", np.nan), dtype=float)
    return PredictiveInformation(
        PI=PI,
        half=half,
        m=np.arange(1, PI.shape[1] + 1),
        eta=np.array([stored["eta"]]),
        tau=result.sums.tau or 1,
        k=stored["k"],
        algorithm=1,
        theiler=result.sums.theiler or 0,
        coordinates="",
        n=result.sums.n or 0,
    )


def learned(behaviours: Sequence[Behaviour]) -> list[Behaviour]:
    """The behaviours of runs with a result and a freeze time, by time: what makes a curve of progress."""
    return sorted(
        (b for b in behaviours if b.result is not None and b.minutes is not None),
        key=lambda b: b.minutes or 0.0,
    )
