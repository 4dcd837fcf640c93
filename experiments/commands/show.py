"""Say what a file holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import h5py
import tyro

from experiments.console import console, plain_table
from experiments.runfiles.hdf5 import attributes, reading
from experiments.runfiles.run_file import FORMAT, Recording, Run, open_run
from quantify.ksg import PredictiveInformation


@dataclass(frozen=True)
class Show:
    """Print what a run file (or any HDF5 file) holds."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """File to look into; it may still be growing."""


def show(config: Show) -> None:
    """Print the contents of a run file, finished or not, or the tree of any other HDF5 file."""
    with reading(config.file) as file:
        attrs = attributes(file)
        is_run = attrs.get("format") == FORMAT and "robot" in attrs
        if not is_run:
            print(f"{config.file}: an HDF5 file, not a run")
            file.visititems(_print_dataset)
            return
    with open_run(config.file) as run:
        _print_run(run)


def _print_dataset(name: str, item: object) -> None:
    if isinstance(item, h5py.Dataset):
        print(f"  /{name}  {item.shape} {item.dtype}")


def _print_run(run: Run) -> None:
    out = console()
    out.print(f"{run.path}: {run.robot} under {run.controller}, seed {run.seed}", style="bold")
    sensors = run.learning.sensors
    motors, rate = run.learning.actions, run.learning.attrs["rate_hz"]
    out.print(f"{len(sensors.names)} sensors, {len(motors.names)} motors at {rate:g} Hz")
    table = plain_table("phase", "samples", "wanted", "transient", "state")
    table.add_row(*_row("learning", run.learning))
    for name in run.frozen:
        if name in run.behaviours:
            table.add_row(*_row(name, run.behaviours[name]))
        else:
            table.add_row(name, "-", "-", "-", "frozen, not recorded")
    out.print(table)
    for name, result in run.results.items():
        numbers = ", ".join(
            f"{key} {result['result'][key]['value']:.2f}" for key in ("D", "E_state", "E_mem", "E_core")
        )
        low, high = result["result"]["range"]["lo"], result["result"]["range"]["hi"]
        words = f"{name}: {numbers} nats on scales {low:.2g} to {high:.2g}"
        scan = result["result"].get("predictive_information") or {}
        if "eta" in scan and "settings" in scan:
            quoted = PredictiveInformation.from_dict(scan).quoted
            words += f"; PI {quoted.value:.2f} at eta {quoted.eta:.2g}"
        out.print(words)
    libraries = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    out.print(f"made with {libraries}", style="dim")


def _row(name: str, recording: Recording) -> tuple[str, str, str, str, str]:
    state = recording.status + (f": {recording.reason}" if recording.reason else "")
    if "stationarity" in recording.attrs:
        state += f", {json.loads(recording.attrs['stationarity'])['verdict']}"
    return name, str(recording.steps), str(recording.wanted), str(recording.attrs.get("transient", 0)), state
