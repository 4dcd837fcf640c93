"""Quantify recorded behaviours, or any time series of the user, and write the result beside the data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import h5py
import numpy as np
import tyro

import quantify as q
from experiments.console import Report, bars, say
from experiments.errors import ExperimentError, FileError
from experiments.pipeline.loop import find_robot
from experiments.runfiles import run_file as log
from experiments.runfiles.growing import writing
from experiments.runfiles.hdf5 import attributes, put, reading
from experiments.runfiles.series import Series, find_column, read_series, split_source
from experiments.settings import outcome
from experiments.sweeps.store import write_text
from quantify.sums import Floats

Outcome = tuple[dict[str, q.Quantification], dict[str, Path]]
"""Results and the files they were written to, by name."""


@dataclass(frozen=True)
class Quantify:
    """Measure the complexity of recorded behaviours, or of any time series."""

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """A run file; or .csv, text, .npy, any HDF5 dataset as FILE.h5:/group/dataset, or TISEAN's .c2."""
    freeze: tuple[float, ...] = ()
    """Behaviours of a run by freeze time in minutes; all recorded ones if not given."""
    sensor: str = ""
    """Column by index (from 0) or name; the robot's default for run files (hexapod 0, snake 6)."""
    tau: int | None = None
    """Delay of the embedding in samples; the robot's default for run files, else chosen from the data."""
    m_max: int | None = None
    """Largest embedding; the robot's default for run files, else 10."""
    theiler: int | None = None
    """Pairs at most this many samples apart in time are left out; chosen from the data if not given."""
    eps_range: tuple[float, float] | None = None
    """Scales to average over, smallest and largest; the flattest deterministic two octaves if not given."""
    s_min: float = 0.07
    """Slope above which a term depends on eps; the effect of .05 to .1 is reported in any case."""
    replicates: int = 100
    """Resampled series for the sampling error; 0 for none."""
    predictive: int = 10_000
    """Points, at most, for the predictive information by nearest neighbours; 0 for none. More are slow."""
    exact: bool = False
    """Count all pairs, instead of a share where they are many."""
    json: bool = False
    """Print the results as JSON."""
    quiet: bool = False
    """Say nothing while working."""


def quantify(config: Quantify, show: bool = True) -> dict[str, q.Quantification]:
    """Quantify a file, print the results if `show`, and return them by behaviour (or name of the series).

    Results go into the run file (`results/8min`), and as JSON beside the data (`data.8min.complexity.json`),
    with all settings and versions.

    Raises
    ------
    ExperimentError
        When the file or column does not exist, or the series is too short for the embedding.
    """
    path, dataset = split_source(config.source)
    if path.suffix == ".c2":
        results = {"": _quantify_sums(config, path)}
        places = {"": write_json(path, "", _document(config, config.source, results[""]))}
    elif not dataset and _is_run(path):
        results, places = _quantify_run(config, path)
    else:
        results, places = _quantify_series(config, path, dataset)
    if config.json:
        print(json.dumps({name or "series": result.to_dict() for name, result in results.items()}, indent=1))
    elif show:
        _print(config, places, results)
    return results


def _quantify_series(config: Quantify, path: Path, dataset: str) -> Outcome:
    series = read_series(config.source, config.sensor)
    with bars(config.quiet) as bar:
        result = compute(series, config, bar(f"quantify {series.source}"))
    name = "" if series.name.isdigit() and not config.sensor else series.name
    document = _document(dataclasses.replace(config, sensor=series.name), config.source, result)
    return {name: result}, {name: write_json(path, _file_name(dataset, name), document)}


def _is_run(path: Path) -> bool:
    if not (path.is_file() and h5py.is_hdf5(path)):
        return False
    with reading(path) as file:
        return bool(attributes(file).get("format") == log.FORMAT)


def compute(series: Series, config: Quantify, progress: Report | None = None) -> q.Quantification:
    """Quantify one series; errors of the quantifier name the series."""
    values = series.values
    m_max = 10 if config.m_max is None else config.m_max
    for name, value, least in (
        ("tau", config.tau, 1),
        ("m-max", m_max, 2),
        ("replicates", config.replicates, 0),
        ("predictive", config.predictive, 0),
    ):
        if value is not None and value < least:
            raise ExperimentError(f"--{name} is {value}; it must be at least {least}")
    if config.eps_range is not None and not 0 < config.eps_range[0] < config.eps_range[1]:
        raise ExperimentError(
            "--eps-range is {:g} {:g}; give the smallest scale first, both above 0".format(*config.eps_range)
        )
    needed = (m_max - 1) * (config.tau or 1) + 100
    if len(values) < needed:
        raise ExperimentError(
            f"{series.source} has {len(values)} samples; m_max {m_max} with delay {config.tau or 1} needs "
            f"{needed} at the very least, and many more to say something; record more, or use a smaller "
            "--m-max or --tau"
        )
    try:
        return q.quantify(
            values,
            tau=config.tau,
            m_max=m_max,
            theiler=config.theiler,
            eps_range=config.eps_range,
            s_min=config.s_min,
            replicates=config.replicates,
            predictive=config.predictive,
            exact=config.exact,
            progress=progress,
        )
    except ValueError as error:
        raise ExperimentError(f"{series.source}: {error}") from error


def _quantify_run(config: Quantify, path: Path) -> Outcome:
    results, places, failures = quantify_behaviours(config, path)
    for error in failures.values():
        raise error
    return results, places


def quantify_behaviours(
    config: Quantify, path: Path
) -> tuple[dict[str, q.Quantification], dict[str, Path], dict[str, ExperimentError]]:
    """Quantify the behaviours of a run; one that cannot be quantified does not stop the others.

    Returns
    -------
    results, files, errors : dicts by the name of the behaviour
    """
    results, documents, failures = {}, {}, {}
    measured: dict[str, tuple[int, Floats]] = {}
    with log.open_run(path) as run:
        config = run_defaults(config, run.robot)
        names = [log.label(minutes) for minutes in config.freeze] or list(run.behaviours)
        if not names:
            raise FileError(f"{path} holds no recorded behaviour; `selforg record {path}` makes them")
        for name in names:
            if run.behaviour(name).status == "running":
                raise FileError(
                    f"the recording of {name} in {path} is not finished; run `selforg record` again first"
                )
        with bars(config.quiet) as bar:
            for name in names:
                sensors = run.behaviour(name).sensors
                column = find_column(sensors.shape[1], sensors.names, config.sensor, f"{path} {name}")
                document = _document(config, f"{path.name}:/behaviours/{name}/sensors", None)
                stored = run.results.get(name)
                if stored is not None and _same(stored, document):
                    results[name], documents[name] = q.Quantification.from_dict(stored["result"]), stored
                    continue
                series = Series(sensors[:, column].astype(float), sensors.names[column], f"{path} {name}")
                try:
                    results[name] = compute(series, config, bar(f"quantify {name}"))
                    documents[name] = document | {"result": results[name].to_dict()}
                    measured[name] = column, series.values
                except ExperimentError as error:
                    failures[name] = error
    places = {name: write_json(path, name, document) for name, document in documents.items()}
    if measured:
        texts = {name: json.dumps(documents[name]) for name in measured}
        # After the JSON, and with patience: hours of work are not to be lost to another writer.
        with writing(path, 60):
            _check_unchanged(path, measured, places)
            with log.rewriting(path, 2**20 + sum(map(len, texts.values()))) as file:
                for name, text in texts.items():
                    if f"results/{name}" in file:
                        del file[f"results/{name}"]
                    put(file, f"results/{name}", text)
    return results, places, failures


def _check_unchanged(
    path: Path, measured: Mapping[str, tuple[int, Floats]], places: Mapping[str, Path]
) -> None:
    """Refuse to store results in a file whose recordings were replaced while they were being measured."""
    with log.open_run(path) as run:
        for name, (column, values) in measured.items():
            now = run.behaviours.get(name)
            if now is None or not np.array_equal(now.sensors[:, column], values):
                raise FileError(
                    f"{name} in {path} was recorded anew while it was being measured; {places[name]} is of "
                    "the former recording, run the same command again"
                )


def run_defaults(config: Quantify, robot: str) -> Quantify:
    """Fill in the sensor, delay and embedding that the paper uses for this robot."""
    entry = find_robot(robot)
    return dataclasses.replace(
        config,
        sensor=config.sensor or str(entry.sensor),
        tau=entry.tau if config.tau is None else config.tau,
        m_max=entry.m_max if config.m_max is None else config.m_max,
    )


def _quantify_sums(config: Quantify, path: Path) -> q.Quantification:
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    try:
        sums = q.read_tisean(path)
        return q.quantify_sums(
            sums, eps_range=config.eps_range, s_min=config.s_min, replicates=config.replicates
        )
    except ValueError as error:
        raise ExperimentError(f"{path}: {error}" if str(path) not in str(error) else str(error)) from error


def _document(config: Quantify, source: str, result: q.Quantification | None) -> dict[str, Any]:
    """A result with everything needed to repeat it."""
    settings = {key: value for key, value in outcome(config).items() if key not in ("source", "freeze")}
    document = {"source": source, "settings": settings, "versions": log.versions()}
    return document if result is None else document | {"result": result.to_dict()}


def _same(stored: dict[str, Any], document: dict[str, Any]) -> bool:
    return all(stored.get(key) == document[key] for key in ("settings", "versions"))


def _file_name(dataset: str, name: str) -> str:
    return ".".join(
        part
        for part in (dataset.strip("/").replace("/", "-"), name.replace("/", "-").replace(" ", "-"))
        if part
    )


def write_json(path: Path, name: str, document: dict[str, Any]) -> Path:
    """Write a result beside its data: data.csv -> data.complexity.json, or run.8min.complexity.json.

    Where such a file holds the result of other data (data.npy), it is data.csv.complexity.json.
    """
    short, long = (
        path.with_name(".".join(part for part in (first, name, "complexity", "json") if part))
        for first in (path.stem, path.name)
    )
    out = short if _measured_file(short) in ("", path.name) else long
    write_text(out, json.dumps(document, indent=1) + "\n")
    return out


def _measured_file(path: Path) -> str:
    """Name of the file whose result stands in `path`; empty if none does."""
    try:
        return split_source(json.loads(path.read_text())["source"])[0].name
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _print(config: Quantify, places: dict[str, Path], results: dict[str, q.Quantification]) -> None:
    for name, result in results.items():
        if name:
            print(f"{name}")
        print(result.summary())
        say(f"written to {places[name]}", config.quiet)
