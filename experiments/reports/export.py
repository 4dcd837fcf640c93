"""Hand recordings to other programs: CSV for everything, Minari's layout for offline learning."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import h5py
import numpy as np
import tyro

from experiments.console import say
from experiments.errors import ExperimentError, FileError
from experiments.pipeline.loop import make_body
from experiments.runfiles import run_file as log
from experiments.runfiles.growing import check_free_space

# The version of Minari's layout that is written; later versions read it.
MINARI = "0.5.0"


@dataclass(frozen=True)
class Export:
    """Write recordings of a run as CSV or in Minari's layout."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN.h5")]
    """Run file to read."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """Folder to write; it must not exist yet."""
    format: Literal["csv", "minari"] = "csv"
    """csv: one table per recording. minari: one episode per recording, for Minari's reader."""
    freeze: tuple[float, ...] = ()
    """Behaviours by freeze time in minutes; all recorded ones if not given."""
    learning: bool = False
    """Export the learning phase as well."""
    quiet: bool = False
    """Say nothing while working."""


def export(config: Export) -> Path:
    """Write recordings in a form that other programs read, in constant memory; returns the folder.

    Raises
    ------
    ExperimentError
        When there is nothing to export or the folder exists.
    """
    if config.out.exists():
        raise FileError(f"{config.out} exists already; choose a new folder")
    with log.open_run(config.run) as run:
        names = [log.label(minutes) for minutes in config.freeze] or list(run.behaviours)
        recordings = {name: run.behaviour(name) for name in names}
        if config.learning:
            recordings = {"learning": run.learning} | recordings
        recordings = {name: recording for name, recording in recordings.items() if recording.steps > 1}
        if not recordings:
            raise ExperimentError(f"{config.run} holds no recorded behaviour; record some, or use --learning")
        width = sum(
            recording.sensors.shape[1] + recording.actions.shape[1] for recording in recordings.values()
        )
        steps = max(recording.steps for recording in recordings.values())
        check_free_space(config.out.absolute(), steps * width * (14 if config.format == "csv" else 4))
        temporary = config.out.with_name(f".{config.out.name}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            if config.format == "csv":
                for name, recording in recordings.items():
                    with open(temporary / f"{name}.csv", "w") as file:
                        _write_csv(file, recording)
            else:
                _write_minari(temporary, run, recordings)
            temporary.rename(config.out)
        except OSError as error:
            raise FileError(f"cannot write {config.out}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    say(f"{config.out}: {', '.join(recordings)}", config.quiet)
    return config.out


def _write_csv(file: TextIO, recording: log.Recording) -> None:
    """Time in seconds, sensors, actions; nine digits, so that reading gives the same float32 again."""
    sensors, actions = recording.sensors, recording.actions
    titles = ["time", *sensors.names, *(f"motor {name}" for name in actions.names)]
    file.write(",".join(titles) + "\n")
    step = 1 / float(recording.attrs["rate_hz"])
    form = ",".join(["%.10g"] + ["%.9g"] * (len(titles) - 1))
    start = 0
    for s, a in _blocks(recording):
        time = (start + np.arange(len(s))) * step
        np.savetxt(file, np.column_stack([time, s, a]), form)
        start += len(s)


def _blocks(recording: log.Recording) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    yield from zip(recording.sensors.blocks(log.CHUNK), recording.actions.blocks(log.CHUNK), strict=True)


def _write_minari(folder: Path, run: log.Run, recordings: dict[str, log.Recording]) -> None:
    """data/main_data.hdf5 with one group per episode, and data/metadata.json.

    An episode has one observation more than actions, so the last action, whose outcome was not recorded, is
    left out. The reward is 0: there is no task.
    """
    data = folder / "data"
    data.mkdir()
    total = 0
    with h5py.File(data / "main_data.hdf5", "w", track_order=True) as file:
        for number, (name, recording) in enumerate(recordings.items()):
            steps = recording.steps - 1
            total += steps
            group = file.create_group(f"episode_{number}")
            group.attrs["id"] = number
            group.attrs["total_steps"] = steps
            group.attrs["seed"] = run.seed
            group.attrs["behaviour"] = name
            for key, rows, count in (
                ("observations", recording.sensors, steps + 1),
                ("actions", recording.actions, steps),
            ):
                target = group.create_dataset(
                    key,
                    (count, rows.shape[1]),
                    "f4",
                    chunks=(min(log.CHUNK, count), rows.shape[1]),
                    compression="gzip",
                )
                start = 0
                for block in rows.blocks(log.CHUNK):
                    block = block[: count - start]
                    target[start : start + len(block)] = block
                    start += len(block)
            last = np.arange(steps) == steps - 1
            broke_down = recording.status == "stopped"
            group.create_dataset("rewards", data=np.zeros(steps), compression="gzip")
            group.create_dataset("terminations", data=last & broke_down, compression="gzip")
            group.create_dataset("truncations", data=last & (not broke_down), compression="gzip")
    body = make_body(run.robot, run.config["body"])
    try:
        spaces = {"observation_space": body.observation_space, "action_space": body.action_space}
    finally:
        body.close()
    controller = re.sub(r"\W", "_", run.controller)
    metadata: dict[str, Any] = {
        "total_episodes": len(recordings),
        "total_steps": total,
        "data_format": "hdf5",
        "dataset_id": f"selforg/{run.robot}-{controller}-v0",
        "minari_version": MINARI,
        "algorithm_name": run.controller,
        "description": f"{run.robot} under {run.controller}, seed {run.seed}: {', '.join(recordings)}",
        "requirements": ["selforg"],
        **{key: json.dumps(_box(space)) for key, space in spaces.items()},
    }
    (data / "metadata.json").write_text(json.dumps(metadata))


def _box(space: Any) -> dict[str, Any]:
    return {
        "type": "Box",
        "dtype": str(space.dtype),
        "shape": list(space.shape),
        "low": space.low.tolist(),
        "high": space.high.tolist(),
    }
