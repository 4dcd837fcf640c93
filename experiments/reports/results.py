"""Read back what experiments left behind: behaviours and learning runs, ready to be drawn or reported.

A behaviour without a result is not left out: it says what is missing, and which command would make it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

import quantify as q
from controllers import ControllerError, Frozen
from experiments.errors import FileError, refusing
from experiments.pipeline.loop import OBSERVED, find_body
from experiments.pipeline.quantify import Quantify, with_robot_defaults
from experiments.runfiles.contents import Recording, Rows
from experiments.runfiles.results import check_result, is_result, quantification, read_json
from experiments.runfiles.run_file import RunFile, open_run_file
from experiments.settings import Reading, command
from quantify.series_files import cut, find_columns, read_series, split_source
from robots import motion_in_windows, motion_in_words

Floats = NDArray[np.floating]
# Enough for a phase plot; the rest of a million samples looks the same.
SERIES = 20_000
EXCERPT_SECONDS = 10.0
BODY_WINDOWS = 240
NO_FILES = "give at least one run file or result; `selforg progress hexapod` makes some"


@dataclass(frozen=True)
class Channels:
    """Channels over time."""

    t: Floats
    """Time in seconds."""
    values: Floats
    """A row per time, a column per channel."""
    names: tuple[str, ...]
    units: tuple[str, ...]

    def __getitem__(self, name: str) -> Floats:
        return self.values[:, self.names.index(name)]

    def columns(self) -> dict[str, Floats]:
        """The channels by name."""
        return dict(zip(self.names, self.values.T, strict=True))


@dataclass(frozen=True)
class Behaviour:
    """One behaviour, its result, and what is missing."""

    label: str
    """Short name, such as "8min" of "hexapod ulr 1", or the name of a file."""
    what: str
    """What was run and quantified, in words."""
    problem: str = ""
    """Why there is no result, or why the recording ended early; empty if all went well."""
    result: q.Quantification | None = None
    command: str = ""
    """The command that quantifies it again, without the range of scales."""
    settings: dict[str, Any] = field(default_factory=dict)
    series: Floats | None = None
    """Beginning of the series that was quantified, if it can be found."""
    channel: str = ""
    """Name and unit of that series."""
    sensors: Channels | None = None
    """Excerpt of all sensors."""
    body: Channels | None = None
    """Excerpt of the body seen from outside."""
    motion: dict[str, str] = field(default_factory=dict)
    """What the body did in the whole recording, in words: mean height, airtime, displacement."""
    run: Path | None = None
    name: str = ""
    """Its name in the run file."""
    group: str = ""
    """Robot and rule: runs that differ in their seed only belong together. Empty for other series."""
    seed: int | None = None
    minutes: float | None = None


@dataclass(frozen=True)
class LearningPhase:
    """The learning phase of a run. The loop is linearised at rest, its eigenvalues are largest first."""

    label: str
    path: Path
    problem: str
    """Why learning ended early or is not finished; empty if it is complete."""
    minutes: Floats
    """Times at which the spectrum is known."""
    moduli: Floats
    """Moduli of the loop's eigenvalues, a row per time: above 1, a small motion grows."""
    C: dict[str, Floats]
    """The controller by freeze time, motors by sensors."""
    eigenvalues: dict[str, NDArray[np.complexfloating]]
    """Those of the loop by freeze time."""
    sensors: tuple[str, ...]
    motors: tuple[str, ...]
    body: Channels | None
    """`height`, its smallest and largest value (`low`, `high`), share of time without ground contact
    (`airtime`), and distance from the start (`displacement`), in windows of learning time."""


@dataclass(frozen=True)
class Results:
    """Everything that was found in the files, in their order."""

    behaviours: list[Behaviour]
    learning: list[LearningPhase]
    found_in: dict[Path, list[int]] = field(default_factory=dict)
    """By file, the indices of the behaviours that were found in it."""


def read_results(files: Iterable[Path]) -> Results:
    """Read run files, results (`*.complexity.json`) and tables of learning progress (`*-progress.json`).

    A result that is named twice, by its own file and by that of its run, is there once.
    """
    behaviours: dict[str, Behaviour] = {}
    learning: dict[Path, LearningPhase] = {}
    found_in: dict[Path, list[int]] = {}
    for path in files:
        for part in _read(path):
            if isinstance(part, LearningPhase):
                learning.setdefault(part.path.resolve(), part)
                continue
            key = json.dumps([str((part.run or path).resolve()), part.name, part.settings])
            behaviours.setdefault(key, part)
            found_in.setdefault(path, []).append(list(behaviours).index(key))
    return Results(list(behaviours.values()), list(learning.values()), found_in)


def _read(path: Path) -> list[Behaviour | LearningPhase]:
    if path.suffix == ".h5" or (path.is_file() and h5py.is_hdf5(path)):
        return _read_run(path)
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    wanted = "give run files, *.complexity.json or *-progress.json"
    if path.suffix != ".json":
        makes = f"(`selforg quantify {shlex.quote(str(path))}` makes a result of a series)"
        raise FileError(f"{path} holds no results; {wanted} {makes}")
    document = read_json(path)
    if is_result(document):
        return [_behaviour_of_result(path, check_result(document, path))]
    rows = document.get("rows") if isinstance(document, dict) else None
    if isinstance(rows, list) and all(isinstance(row, dict) and "run" in row for row in rows):
        runs = dict.fromkeys(row["run"] for row in rows)
        return [part for run in runs for part in _read_run(_find_data(path, Path(run)))]
    raise FileError(f"{path} is no result of `selforg quantify` or `selforg progress`; {wanted}")


def _find_data(result: Path, named: Path) -> Path:
    """A file as it was named when the result was written, or in the folder of the result."""
    return named if named.exists() else result.with_name(named.name)


def _read_run(path: Path) -> list[Behaviour | LearningPhase]:
    with open_run_file(path) as run:
        learning = _learning_phase(run)
        names = dict.fromkeys((*run.frozen, *run.behaviours))
        if not names:
            missing = f"no controller was frozen: {learning.problem or 'no freeze time was asked for'}"
            return [learning, Behaviour(run.path.stem, _run_words(run), missing, seed=run.seed, run=path)]
        return [learning, *(_behaviour_in_run(run, name, run.results.get(name)) for name in names)]


def _learning_phase(run: RunFile) -> LearningPhase:
    """The learning phase of a run, and why it ended early if it did."""
    recording = run.learning
    rate = float(recording.attrs["rate_hz"])
    frozen = {name: _linear(state.controller) for name, state in run.frozen.items()}
    closed = {name: one for name, one in frozen.items() if one is not None}
    minutes, moduli = np.empty(0), np.empty((0, 0))
    if {"C", "h"} <= recording.tracks.keys():
        C, h = recording.tracks["C"], recording.tracks["h"]
        # Some hundred points make a smooth line, whatever the interval of the run.
        every = max(1, len(C) // 400)
        minutes = np.arange(0, len(C), every) * C.every / rate / 60
        rows = zip(C[::every], h[::every], strict=True)
        with refusing(ControllerError):
            moduli = np.abs([Frozen(*row).inspect()["L_eigenvalues"] for row in rows])
    return LearningPhase(
        label=f"{run.path.stem}: {_run_words(run)}",
        path=run.path,
        problem=_ended_early("learning", recording),
        minutes=minutes,
        moduli=moduli,
        C={name: one.C for name, one in closed.items()},
        eigenvalues={name: one.inspect()["L_eigenvalues"] for name, one in closed.items()},
        sensors=recording.sensors.names,
        motors=recording.actions.names,
        body=_windows(recording.tracks[OBSERVED], rate) if OBSERVED in recording.tracks else None,
    )


def _linear(state: Mapping[str, NDArray[Any]]) -> Frozen | None:
    """A frozen state as a = tanh(C s + h), if that is what it holds; a user's own may hold anything."""
    if {"C", "h"} <= state.keys():
        with suppress(ControllerError, TypeError, ValueError):
            return Frozen(state["C"], state["h"])
    return None


def _windows(observed: Rows, rate: float) -> Channels | None:
    """The body during learning, in windows."""
    whole = _channels(observed, rate)
    if not len(whole.t) or not {"x", "y", "z", "contacts"} <= set(whole.names):
        return None
    found = motion_in_windows(whole.columns(), BODY_WINDOWS)
    t = whole.t[found.pop("start")]
    return Channels(t, np.stack(list(found.values()), axis=1), tuple(found), tuple("mmm1m"))


def _behaviour_in_run(run: RunFile, name: str, document: dict[str, Any] | None) -> Behaviour:
    """A behaviour of a run, with the result stored in `document`, or with what is missing."""
    recording, frozen = run.behaviours.get(name), run.frozen.get(name)
    file = shlex.quote(str(run.path))
    found = Behaviour(
        label=f"{run.path.stem} {name}",
        what=f"{_run_words(run)}, " + (f"frozen at {frozen.minutes:g} min" if frozen else name),
        problem=f"frozen, but not recorded; `selforg record {file}` records it",
        run=run.path,
        name=name,
        group=f"{run.robot} under {run.controller}",
        seed=run.seed,
        minutes=frozen.minutes if frozen else None,
    )
    if recording is None:
        return found
    problem = _ended_early("the recording", recording)
    if document is not None:
        stored = _result_fields(run.path, document, str(run.path), name, run.robot)
        found = replace(found, **stored | {"what": f"{found.what}; {stored['what']}"})
    elif not problem:
        problem = f"recorded, but not quantified; `selforg quantify {file}` quantifies it"
    sensors, rate = recording.sensors, float(recording.attrs["rate_hz"])
    wanted = found.settings.get("sensor") or str(find_body(run.robot).sensor)
    with refusing(q.QuantifyError):
        width = sensors.shape[1]
        column, *more = find_columns(width, sensors.names, wanted, str(run.path)) or range(width)
        part = found.settings.get("start", 0), found.settings.get("stop")
        kept = cut(len(sensors), *part, str(run.path), rate) if len(sensors) else slice(0, 0)
    excerpt = round(EXCERPT_SECONDS * rate)
    found = replace(
        found,
        problem=problem,
        series=sensors[kept.start : min(kept.stop, kept.start + SERIES), column].astype(float),
        channel=f"{sensors.names[column]} [{sensors.units[column]}]" + " and others" * bool(more),
        sensors=_channels(sensors, rate, excerpt),
    )
    if OBSERVED not in recording.tracks:
        return found
    observed = recording.tracks[OBSERVED]
    whole = _channels(observed, rate)
    motion = motion_in_words(whole.columns(), whole.t[-1]) if len(whole.t) > 1 else {}
    return replace(found, body=_channels(observed, rate, excerpt // observed.every), motion=motion)


def _behaviour_of_result(path: Path, document: dict[str, Any]) -> Behaviour:
    """A behaviour from a JSON file; its series is looked for nearby, and may be gone."""
    source, dataset = split_source(document["source"])
    settings = document["settings"]
    sensor = settings.get("sensor", "")
    if dataset.startswith("/behaviours/"):
        run_path, name = path.with_name(source.name), dataset.split("/")[2]
        if run_path.exists():
            with open_run_file(run_path) as run:
                return _behaviour_in_run(run, name, document)
        stored = _result_fields(path, document, str(run_path), name)
        what = f"{name} of {source.name}, {stored.pop('what')}; the run file is not at hand"
        return Behaviour(label=name, what=what, channel=f"sensor {sensor}", **stored)
    label = " ".join(filter(None, (source.name, dataset, sensor if sensor != "0" else "")))
    channel = sensor if not sensor.isdigit() else "x"
    found = Behaviour(label, channel=channel, **_result_fields(path, document, document["source"]))
    if source.suffix != ".c2":
        at = _find_data(path, source)
        # The result stands without its series; the page says that the phase plot is missing.
        with suppress(q.QuantifyError):
            asked = {f.name: settings[f.name] for f in fields(Reading) if f.name in settings}
            series = read_series(f"{at}:{dataset}" if dataset else str(at), sensor, **asked).each()[0]
            return replace(found, series=series.values[:SERIES])
    return found


def _result_fields(
    path: Path, document: dict[str, Any], source: str, name: str = "", robot: str = ""
) -> dict[str, Any]:
    """The fields of a behaviour that its stored result fills."""
    settings = document["settings"]
    result = quantification(document, path)
    sums = result.sums
    samples = f"{sums.n:,} samples" if sums.n is not None else "correlation sums from a file"
    s_min = _threshold(settings.get("s_min"))
    what = f"{samples}, delay {sums.tau or 'unknown'}, m up to {sums.m_max}, s_min {s_min}"
    # Only what differs from the defaults is spelled out.
    usual = with_robot_defaults(Quantify(source), robot) if robot else Quantify(source)
    known = {f.name for f in fields(Quantify)} - {"eps_range"}
    chosen = {key: value for key, value in settings.items() if key in known and value is not None}
    if name:
        chosen["freeze"] = (float(name.removesuffix("min")),)
    again = command("quantify", replace(usual, **chosen), usual=vars(usual))
    return {"what": what, "result": result, "settings": settings, "command": again}


def _channels(rows: Rows, rate: float, count: int | None = None) -> Channels:
    """The first `count` rows of a recording, or all, at `rate` steps per second."""
    values = rows[:count]
    return Channels(np.arange(len(values)) * rows.every / rate, values, rows.names, rows.units)


def _ended_early(what: str, recording: Recording) -> str:
    """Why a recording is not complete; empty if it is."""
    problem = "" if recording.complete else f"{what} {recording.status} after {recording.steps:,} steps"
    return problem + (f": {recording.reason}" if recording.reason else "")


def _run_words(run: RunFile) -> str:
    return run.words


def _threshold(s_min: float | None) -> str:
    """One threshold, or the interval that is averaged over if none is given."""
    return f"{s_min:g}" if s_min is not None else "{:g} to {:g}".format(*q.S_MIN)
