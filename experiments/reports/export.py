"""Hand recordings to other programs: CSV for everything, Minari's layout for offline learning."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from experiments.errors import ExperimentError, FileError, refusing
from experiments.feedback import SILENT, Feedback
from experiments.options.reports import Export
from experiments.pipeline.loop import make_body
from experiments.runfiles.atomic import cannot_write
from experiments.runfiles.contents import CHUNK, Recording, Rows
from experiments.runfiles.growing import check_free_space
from experiments.runfiles.run_file import RunFile, label, open_run_file
from quantify import QuantifyError
from quantify.series_files import cut

# The version of Minari's layout that is written; later versions read it.
MINARI = "0.5.0"


def export(config: Export, feedback: Feedback = SILENT) -> Path:
    """Write recordings in a form that other programs read, in constant memory; returns the folder."""
    if config.out.exists():
        raise FileError(f"{config.out} exists already; choose a new folder")
    with open_run_file(config.run) as run:
        names = [label(minutes) for minutes in config.freeze] or list(run.behaviours)
        recordings = {"learning": run.learning} if config.learning else {}
        recordings |= {name: run.behaviour(name) for name in names}
        recordings = {name: recording for name, recording in recordings.items() if recording.steps > 1}
        with refusing(QuantifyError):
            parts = {name: _part(config, name, recording) for name, recording in recordings.items()}
        if not recordings:
            raise ExperimentError(f"{config.run} holds no recorded behaviour; record some, or use --learning")
        numbers = sum(
            (parts[name].stop - parts[name].start) * (r.sensors.shape[1] + r.actions.shape[1])
            for name, r in recordings.items()
        )
        with _new_folder(config.out, numbers * (14 if config.format == "csv" else 4)) as folder:
            if config.format == "csv":
                for name, recording in recordings.items():
                    _write_csv(folder / f"{name}.csv", recording, parts[name])
            else:
                _write_minari(folder, run, recordings, parts)
    feedback.say(f"{config.out}: {', '.join(recordings)}")
    return config.out


def _part(config: Export, name: str, recording: Recording) -> slice:
    """The rows that are asked for; two at least."""
    part = cut(recording.steps, config.start, config.stop, name, float(recording.attrs["rate_hz"]))
    if part.stop - part.start < 2:
        raise QuantifyError(f"--start {config.start} and --stop {config.stop} leave one sample of {name}")
    return part


@contextmanager
def _new_folder(path: Path, size: int) -> Iterator[Path]:
    """A folder to fill; it gets its name when the block ends well, and is gone otherwise."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_free_space(path.absolute(), size)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        yield temporary
        temporary.rename(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_csv(path: Path, recording: Recording, part: slice) -> None:
    """Time in seconds, sensors, actions; nine digits, so that reading gives the same float32 again."""
    sensors, actions = recording.sensors, recording.actions
    titles = ["time", *sensors.names, *(f"motor {name}" for name in actions.names)]
    form = ",".join(["%.10g"] + ["%.9g"] * (len(titles) - 1))
    step, start = 1 / float(recording.attrs["rate_hz"]), part.start
    with open(path, "w") as file:
        file.write(",".join(titles) + "\n")
        for s, a in zip(sensors.blocks(CHUNK, part), actions.blocks(CHUNK, part), strict=True):
            np.savetxt(file, np.column_stack([(start + np.arange(len(s))) * step, s, a]), form)
            start += len(s)


def _write_minari(
    folder: Path, run: RunFile, recordings: dict[str, Recording], parts: dict[str, slice]
) -> None:
    """data/main_data.hdf5 with one group per episode, and data/metadata.json.

    An episode has one observation more than actions, so the last action, whose outcome was not recorded, is
    left out. The reward is 0: there is no task.
    """
    (folder / "data").mkdir()
    with h5py.File(folder / "data" / "main_data.hdf5", "w", track_order=True) as file:
        for number, (name, recording) in enumerate(recordings.items()):
            part = parts[name]
            steps = part.stop - part.start - 1
            group = file.create_group(f"episode_{number}")
            group.attrs.update(id=number, total_steps=steps, seed=run.seed, behaviour=name)
            _copy_rows(group, "observations", recording.sensors, part)
            _copy_rows(group, "actions", recording.actions, slice(part.start, part.stop - 1))
            whole = part.stop == recording.steps
            last, broke_down = np.arange(steps) == steps - 1, recording.status == "stopped" and whole
            ends = {"terminations": last & broke_down, "truncations": last & (not broke_down)}
            for key, data in {"rewards": np.zeros(steps), **ends}.items():
                group.create_dataset(key, data=data, compression="gzip")
    with closing(make_body(run.robot, run.config["body"])) as body:
        spaces = {"observation_space": body.observation_space, "action_space": body.action_space}
    controller = re.sub(r"\W", "_", run.controller)
    metadata: dict[str, Any] = {
        "total_episodes": len(recordings),
        "total_steps": sum(part.stop - part.start - 1 for part in parts.values()),
        "data_format": "hdf5",
        "dataset_id": f"selforg/{run.robot}-{controller}-v0",
        "minari_version": MINARI,
        "algorithm_name": run.controller,
        "description": f"{run.robot} under {run.controller}, seed {run.seed}: {', '.join(recordings)}",
        "requirements": ["selforg"],
        **{key: json.dumps(_box(space)) for key, space in spaces.items()},
    }
    (folder / "data" / "metadata.json").write_text(json.dumps(metadata))


def _copy_rows(group: h5py.Group, name: str, rows: Rows, part: slice) -> None:
    """A part of the rows, in constant memory."""
    count = part.stop - part.start
    shape, chunks = (count, rows.shape[1]), (min(CHUNK, count), rows.shape[1])
    target = group.create_dataset(name, shape, "f4", chunks=chunks, compression="gzip")
    for start, block in zip(range(0, count, CHUNK), rows.blocks(CHUNK, part), strict=True):
        target[start : start + CHUNK] = block


def _box(space: Any) -> dict[str, Any]:
    low, high = space.low.tolist(), space.high.tolist()
    return {"type": "Box", "dtype": str(space.dtype), "shape": list(space.shape), "low": low, "high": high}
