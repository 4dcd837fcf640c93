"""Quantify recorded behaviours, or any time series of the user; results are kept beside the data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import quantify as q
from experiments.errors import ExperimentError, FileError, refusing
from experiments.feedback import SILENT, Advance, Feedback
from experiments.options.pipeline import Quantify
from experiments.pipeline.loop import find_body
from experiments.runfiles.atomic import check_writable, real
from experiments.runfiles.hdf5 import attributes, reading
from experiments.runfiles.results import quantification, read_result, result_path, versions, write_result
from experiments.runfiles.run_file import FORMAT, RunFile, label, open_run_file
from experiments.settings import Part, Reading, deciding
from quantify.plain import to_plain
from quantify.series_files import Series, cut, find_columns, read_series, split_source
from quantify.series_files.read import STANDARD_INPUT


@dataclass(frozen=True)
class Quantified(Mapping[str, q.Quantification]):
    """The results of a file by the name of the behaviour ("8min") or of the series ("" if it has none)."""

    results: dict[str, q.Quantification] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    """Where each result is stored."""
    failures: dict[str, ExperimentError] = field(default_factory=dict)
    """Why there is no result, of behaviours that cannot be quantified."""
    unstored: dict[str, ExperimentError] = field(default_factory=dict)
    """Why a result is stored nowhere."""
    sensors: dict[str, q.Sensors] = field(default_factory=dict)
    """If each sensor was quantified by itself: their table and agreement, by the name of the behaviour."""
    full: bool = False
    """Whether all curves are wanted as JSON, too."""

    def __getitem__(self, name: str) -> q.Quantification:
        return self.results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def store(self, data: Path, name: str, words: str, document: dict[str, Any]) -> None:
        """Write a result beside its data; one that cannot be written is no less a result."""
        try:
            self.files[name] = write_result(data, words, document)
        except ExperimentError as error:
            self.unstored[name] = error

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the curves if these are wanted."""
        found: dict[str, Any] = {
            name or "series": result.to_dict() if self.full else result.brief()
            for name, result in self.items()
        }
        agreements = {name or "series": one.agreement for name, one in self.sensors.items()}
        for name, one in agreements.items():
            found[f"{name}: agreement"] = to_plain(dataclasses.asdict(one) | {"sentence": one.sentence})
        return found

    def _repr_html_(self) -> str:
        if self.sensors:
            return "".join(f"<h4>{escape(n)}</h4>{one._repr_html_()}" for n, one in self.sensors.items())
        return "".join(f"<h4>{escape(name)}</h4>{result._repr_html_()}" for name, result in self.items())


def quantify(config: Quantify, feedback: Feedback = SILENT) -> Quantified:
    """Quantify a file; results go as JSON beside the data (`data.8min.complexity.json`).

    A behaviour that was quantified before, with the same settings and versions, is not computed again. One
    that cannot be quantified does not stop the others: it is found among the failures. Raises ExperimentError
    when the file or column does not exist, or the series is too short for the embedding.
    """
    path, dataset = split_source(config.source)
    if path.suffix == ".c2":
        return _quantify_sums(config, path)
    if not dataset and is_run(path):
        return _quantify_run(config, path, feedback)
    return _quantify_table(config, path, dataset, feedback)


def _quantify_table(config: Quantify, path: Path, dataset: str, feedback: Feedback) -> Quantified:
    """Quantify columns of any file, or of standard input, together or each by itself."""
    series = read_wanted(config, config.source, config.sensor or ("all" if config.each else ""))
    found = Quantified(full=config.full)
    stored = str(path) != STANDARD_INPUT
    if not stored:
        feedback.say("note: what comes from standard input has no file beside which its result could stand")
    with feedback.bars() as bar:
        for one in series.each() if config.each else [series]:
            name = "" if one.name.isdigit() and not (config.sensor or config.each) else one.name
            words = file_words(dataset.strip("/"), *(one.names if name else ()))
            if stored:
                _warn_if_unwritable(path, words, feedback)
            try:
                found.results[name] = quantify_series(
                    one, config, bar(f"quantify {one.source} {name}".strip())
                )
            except ExperimentError as error:
                if not config.each:
                    raise
                found.failures[name] = error
                continue
            if stored:
                sensor = one.name if config.each or not config.sensor else config.sensor
                document = _document(dataclasses.replace(config, sensor=sensor), config.source)
                found.store(path, name, words, document | {"result": found[name].to_dict()})
    if config.each:
        found.sensors[""] = _table(found, {one.name: one.name for one in series.each()})
    return found


def _table(found: Quantified, keys: dict[str, str]) -> q.Sensors:
    """The results of some sensors by their names, from the keys under which they were found.

    A sensor without a result, one that never moves for one, is told in the table; it is a failure only if
    all are.
    """
    missing = {name: key for name, key in keys.items() if key in found.failures}
    table = q.Sensors(
        {name: found.results[key] for name, key in keys.items() if key in found.results},
        {name: q.QuantifyError(str(found.failures[key])) for name, key in missing.items()},
    )
    for key in missing.values() if table.results else ():
        del found.failures[key]
    return table


def read_wanted(config: Reading, source: str, sensor: str) -> Series:
    """The columns and the part of a file that are asked for."""
    with refusing(q.QuantifyError):
        asked = {f.name: getattr(config, f.name) for f in dataclasses.fields(Reading)}
        return read_series(source, sensor, **asked)


def recorded_series(run: RunFile, name: str, sensor: str, part: Part) -> Series:
    """Sensors of a recorded behaviour: one, several with commas between them, or all."""
    sensors, source = run.behaviour(name).sensors, f"{run.path} {name}"
    rate = float(run.behaviour(name).attrs["rate_hz"])
    with refusing(q.QuantifyError):
        columns = find_columns(sensors.shape[1], sensors.names, sensor, source)
        columns = list(range(sensors.shape[1])) if columns is None else columns
        kept = cut(len(sensors), part.start, part.stop, source, rate)
    values = np.stack([sensors[kept, i] for i in columns], axis=1).astype(float)
    names = tuple(sensors.names[i] for i in columns)
    values = values if len(columns) > 1 else values[:, 0]
    return Series(values, ", ".join(names), source, names, rate)


def file_words(*parts: str) -> str:
    """Part of the name of a result's file: dataset and sensors, many of them by their number."""
    names = parts[1:] if len(parts) < 5 else (f"{len(parts) - 1} sensors",)
    words = ".".join(filter(None, (parts[0], "+".join(names))))
    return "".join("-" if one in " /" or not one.isprintable() else one for one in words)


def _warn_if_unwritable(data: Path, name: str, feedback: Feedback) -> None:
    try:
        check_writable(result_path(data, name))
    except ExperimentError as error:
        feedback.say(f"note: {error}; the result will be printed, but not stored")


def is_run(path: Path) -> bool:
    """Whether this is a run file of ours, and not any other file."""
    if not (path.is_file() and h5py.is_hdf5(path)):
        return False
    with reading(path) as file:
        return bool(attributes(file).get("format") == FORMAT)


def quantify_series(series: Series, config: Quantify, advance: Advance | None = None) -> q.Quantification:
    """Quantify one series; errors of the quantifier name the series."""
    m_max, tau = 10 if config.m_max is None else config.m_max, config.tau or 1
    names = ("tau", "theiler", "eps_range", "replicates", "predictive", "surrogates", "null", "exact")
    options: dict[str, Any] = {"m_max": m_max} | {name: getattr(config, name) for name in names}
    options["s_min"] = q.S_MIN if config.s_min is None else config.s_min
    for flag, least in (("tau", 1), ("m-max", 2), ("replicates", 0), ("predictive", 0), ("surrogates", 0)):
        value = options[flag.replace("-", "_")]
        if value is not None and value < least:
            raise ExperimentError(f"--{flag} is {value}; it must be at least {least}")
    _check_eps_range(config)
    needed = (m_max - 1) * tau + 100
    if len(series.values) < needed:
        raise ExperimentError(
            f"{series.source} has {len(series.values)} samples; m_max {m_max} with delay {tau} needs "
            f"{needed} at the very least, and many more to say something; record more, or use a smaller "
            "--m-max or --tau"
        )
    try:
        return q.quantify(series, **options, progress=advance)
    except q.QuantifyError as error:
        raise ExperimentError(f"{series.source}: {error}") from error


def _check_eps_range(config: Quantify) -> None:
    if config.eps_range is not None and not 0 < config.eps_range[0] < config.eps_range[1] < math.inf:
        raise ExperimentError(
            "--eps-range is {:g} {:g}; give the smallest scale first, both above 0 and finite".format(
                *config.eps_range
            )
        )


def _quantify_run(config: Quantify, path: Path, feedback: Feedback) -> Quantified:
    """Quantify the recorded behaviours of a run."""
    found, path = Quantified(full=config.full), real(path)
    with open_run_file(path) as run, feedback.bars() as bar:
        config = with_robot_defaults(config, run.robot)
        names = [label(minutes) for minutes in config.freeze] or list(run.behaviours)
        if not names:
            raise FileError(f"{path} holds no recorded behaviour; `selforg record {path}` makes them")
        for name in names:
            if run.behaviour(name).status == "running":
                raise FileError(
                    f"the recording of {name} in {path} is not finished; run `selforg record` again first"
                )
        for name in names:
            whole = recorded_series(run, name, config.sensor, config)
            if not config.each:
                _quantify_recorded(found, run, name, (name, name), whole, config, bar, feedback)
                continue
            keys = {}
            for one in whole.each():
                keys[one.name] = f"{name} {one.name}"
                place = keys[one.name], file_words(name, one.name)
                alone = dataclasses.replace(config, sensor=one.name)
                _quantify_recorded(found, run, name, place, one, alone, bar, feedback)
            found.sensors[name] = _table(found, keys)
    return found


def _quantify_recorded(
    found: Quantified,
    run: RunFile,
    name: str,
    place: tuple[str, str],
    series: Series,
    config: Quantify,
    bar: Callable[[str], Advance],
    feedback: Feedback,
) -> None:
    """Add a result, stored or computed; `place`: its name among the results, and in its file's name."""
    key, words = place
    path = run.path
    document = _document(config, f"{path.name}:/behaviours/{name}/sensors", run.engine)
    document |= {"recording": run.identity(name)}
    stored, result = _stored(run, name, words, document, feedback)
    if result is not None:
        found.results[key] = result
        if words != name or read_result(path, words) == stored:
            found.files[key] = result_path(path, words)
            return
    else:
        _warn_if_unwritable(path, words, feedback)
        try:
            found.results[key] = quantify_series(series, config, bar(f"quantify {key}"))
        except ExperimentError as error:
            found.failures[key] = error
            return
    if _identity(path, name) != document["recording"]:
        anew = f"{path} was recorded anew or replaced while {name} was quantified; quantify it again"
        found.unstored[key] = FileError(anew)
        return
    found.store(path, key, words, document | {"result": found[key].to_dict()})


def _stored(
    run: RunFile, name: str, words: str, document: dict[str, Any], feedback: Feedback
) -> tuple[dict[str, Any] | None, q.Quantification | None]:
    """The result that a run has already, if it is what is asked for and intact."""
    try:
        stored = run.result(name) if words == name else read_result(run.path, words)
        if stored is not None and _same(stored, document):
            return stored, quantification(stored, run.path)
    except FileError as error:
        feedback.say(f"note: {error}; it is computed again")
    return None, None


def _same(stored: dict[str, Any], document: dict[str, Any]) -> bool:
    """Whether a stored result is what is asked for; settings that it does not know had their defaults."""
    settings = stored_settings(Quantify("")) | stored["settings"]
    recording = stored.get("recording", document["recording"])
    same = settings == document["settings"] and stored.get("versions") == document["versions"]
    return same and bool(recording == document["recording"])


def _identity(path: Path, name: str) -> str:
    """Which recording a run holds by now; empty if there is none any more."""
    with suppress(FileError), open_run_file(path) as run:
        return run.identity(name)
    return ""


def with_robot_defaults(config: Quantify, robot: str) -> Quantify:
    """Fill in the sensor, delay and embedding that the paper uses for this robot."""
    kind = find_body(robot)
    return dataclasses.replace(
        config,
        sensor=config.sensor or ("all" if config.each else str(kind.sensor)),
        tau=kind.tau if config.tau is None else config.tau,
        m_max=kind.m_max if config.m_max is None else config.m_max,
    )


def _quantify_sums(config: Quantify, path: Path) -> Quantified:
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    if given := [name for name in ("sensor", "each", "start", "stop", "time") if getattr(config, name)]:
        raise ExperimentError(f"{path} holds correlation sums, no series: leave out --{given[0]}")
    _check_eps_range(config)
    try:
        result = q.quantify_sums(
            q.read_tisean(path),
            eps_range=config.eps_range,
            s_min=q.S_MIN if config.s_min is None else config.s_min,
            replicates=config.replicates,
        )
    except q.QuantifyError as error:
        raise ExperimentError(f"{path}: {error}" if str(path) not in str(error) else str(error)) from error
    found = Quantified({"": result}, full=config.full)
    found.store(path, "", "", _document(config, config.source) | {"result": result.to_dict()})
    return found


def _document(config: Quantify, source: str, engine: str | None = None) -> dict[str, Any]:
    """Everything needed to repeat a result, which is added to it."""
    return {"source": source, "settings": stored_settings(config), "versions": versions(engine)}


def stored_settings(config: Quantify) -> dict[str, Any]:
    """The settings as they stand in a result: all but the data, which are named beside."""
    return {key: value for key, value in deciding(config).items() if key not in ("source", "freeze", "each")}
