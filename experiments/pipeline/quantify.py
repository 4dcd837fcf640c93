"""Quantify recorded behaviours, or any time series of the user; results are kept beside the data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import h5py

import quantify as q
from experiments.errors import ExperimentError, FileError, refusing
from experiments.feedback import SILENT, Advance, Feedback
from experiments.options.pipeline import Quantify
from experiments.pipeline.loop import find_body
from experiments.runfiles.atomic import check_writable, real
from experiments.runfiles.hdf5 import attributes, reading
from experiments.runfiles.results import read_result, result_path, versions, write_result
from experiments.runfiles.run_file import FORMAT, label, open_run_file
from experiments.settings import deciding
from quantify.series_files import Series, find_column, read_series, split_source


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
        """Plain values for JSON."""
        return {name or "series": result.to_dict() for name, result in self.items()}

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{escape(name)}</h4>{result._repr_html_()}" for name, result in self.items())


def quantify(config: Quantify, feedback: Feedback = SILENT) -> Quantified:
    """Quantify a file; results go as JSON beside the data (`data.8min.complexity.json`).

    A behaviour that was quantified before, with the same settings and versions, is not computed again. One
    that cannot be quantified does not stop the others: it is found among the failures. Raises ExperimentError
    when the file or column does not exist, or the series is too short for the embedding.
    """
    path, dataset = split_source(config.source)
    name = words = ""
    if path.suffix == ".c2":
        result = _quantify_sums(config, path)
    elif not dataset and is_run(path):
        return _quantify_run(config, path, feedback)
    else:
        with refusing(q.QuantifyError):
            series = read_series(config.source, config.sensor)
        name = "" if series.name.isdigit() and not config.sensor else series.name
        words = ".".join(filter(None, (dataset.strip("/"), name)))
        words = "".join("-" if one in " /" or not one.isprintable() else one for one in words)
        _warn_if_unwritable(path, words, feedback)
        with feedback.bars() as bar:
            result = quantify_series(series, config, bar(f"quantify {series.source}"))
        config = dataclasses.replace(config, sensor=series.name)
    found = Quantified({name: result})
    found.store(path, name, words, _document(config, config.source) | {"result": result.to_dict()})
    return found


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
        return q.quantify(series.values, **options, progress=advance)
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
    found, path = Quantified(), real(path)
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
            sensors = run.behaviour(name).sensors
            with refusing(q.QuantifyError):
                column = find_column(sensors.shape[1], sensors.names, config.sensor, f"{path} {name}")
            document = _document(config, f"{path.name}:/behaviours/{name}/sensors", run.engine)
            document |= {"recording": run.identity(name)}
            stored = run.results.get(name)
            if stored is not None and all(stored[key] == document[key] for key in ("settings", "versions")):
                found.results[name] = q.Quantification.from_dict(stored["result"])
                if read_result(path, name) == stored:
                    found.files[name] = result_path(path, name)
                    continue
            else:
                series = Series(sensors[:, column].astype(float), sensors.names[column], f"{path} {name}")
                _warn_if_unwritable(path, name, feedback)
                try:
                    found.results[name] = quantify_series(series, config, bar(f"quantify {name}"))
                except ExperimentError as error:
                    found.failures[name] = error
                    continue
            if _identity(path, name) != document["recording"]:
                anew = f"{path} was recorded anew or replaced while {name} was quantified; quantify it again"
                found.unstored[name] = FileError(anew)
                continue
            found.store(path, name, name, document | {"result": found[name].to_dict()})
    return found


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
        sensor=config.sensor or str(kind.sensor),
        tau=kind.tau if config.tau is None else config.tau,
        m_max=kind.m_max if config.m_max is None else config.m_max,
    )


def _quantify_sums(config: Quantify, path: Path) -> q.Quantification:
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    _check_eps_range(config)
    try:
        return q.quantify_sums(
            q.read_tisean(path),
            eps_range=config.eps_range,
            s_min=q.S_MIN if config.s_min is None else config.s_min,
            replicates=config.replicates,
        )
    except q.QuantifyError as error:
        raise ExperimentError(f"{path}: {error}" if str(path) not in str(error) else str(error)) from error


def _document(config: Quantify, source: str, engine: str | None = None) -> dict[str, Any]:
    """Everything needed to repeat a result, which is added to it."""
    return {"source": source, "settings": stored_settings(config), "versions": versions(engine)}


def stored_settings(config: Quantify) -> dict[str, Any]:
    """The settings as they stand in a result: all but the data, which are named beside."""
    return {key: value for key, value in deciding(config).items() if key not in ("source", "freeze")}
