"""Commands that look: at robots, at this machine, at files, at the behaviours that come along."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import re
import shutil
import tempfile
import time
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import h5py

import quantify as q
from experiments.errors import ExperimentError, FileError, nearest
from experiments.feedback import Feedback
from experiments.options.commands import Behaviours, Bodies, Doctor, Show
from experiments.runfiles.atomic import replacing
from experiments.runfiles.contents import Recording
from experiments.runfiles.hdf5 import attributes, reading
from experiments.runfiles.library import folders, own_folder
from experiments.runfiles.results import quantification, versions
from experiments.runfiles.run_file import FORMAT, open_run_file
from experiments.runfiles.salvage import Salvage, Saved
from experiments.runfiles.salvage import salvage as save

HEAD = 50
"""Height of the line with the robots' names above their pictures, in pixels."""


def bodies(config: Bodies, feedback: Feedback) -> Path | dict[str, str]:
    """The data sheets by robot, or the contact sheet, if a picture is asked for."""
    import robots

    names = list(robots.ROBOTS) if config.robot is None else [config.robot]
    for name in names:
        if name not in robots.ROBOTS:
            raise ExperimentError(f"there is no robot {name!r}; {nearest(name, robots.ROBOTS)}")
    if config.picture is not None:
        ids = {name: robots.ROBOTS[name].id for name in names}
        return _write_picture(config.picture, ids, config.engine)
    return {name: robots.data_sheet(name, config.engine) for name in names}


def _write_picture(path: Path, ids: dict[str, str], engine: str | None) -> Path:
    """Write the contact sheet with the robots' names above."""
    from matplotlib.figure import Figure

    from robots import contact_sheet

    if path.suffix.lower() != ".png":
        raise ExperimentError(f"--picture {path} is not a PNG file: give a name that ends in .png")
    if not path.absolute().parent.is_dir():
        raise ExperimentError(f"the folder of --picture {path} does not exist: make it first")
    sheet = contact_sheet(list(ids), engine=engine)
    height, width = sheet.shape[:2]
    figure = Figure(figsize=(width / 100, (height + HEAD) / 100), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, height / (height + HEAD)))
    axes.imshow(sheet, interpolation="nearest")
    axes.set_axis_off()
    for i, (name, id_) in enumerate(ids.items()):
        middle = ((i + 0.5) / len(ids), 1 - HEAD / 2 / (height + HEAD))
        figure.text(*middle, f"{name}  ({id_})", ha="center", va="center", size=15)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=100)
    return path


FAILED = "FAILED: "
LEAST_DISK = 1.0
"""GiB: a million samples of a hexapod take .15 while they grow, and files are written anew beside the old."""
D_HENON, D_MARGIN = 1.21, 0.3
"""Correlation dimension of the Hénon map; over a window of two octaves it scatters by about .1."""


class Findings(dict[str, str]):
    """What was found, in words; the last says whether everything works."""

    @property
    def failures(self) -> dict[str, ExperimentError]:
        """One error for all that does not work."""
        names = ", ".join(name for name, words in self.items() if words.startswith(FAILED))
        return {names: ExperimentError(f"{names} do not work on this machine; see above")} if names else {}


def doctor(config: Doctor, feedback: Feedback) -> Findings:
    """Check everything, also after something failed."""
    found = Findings()
    for name, version in versions().items():
        least = _least_versions().get(name)
        found[name] = version + (f" (expected: {least} or newer)" if least else "")
    found["cores"] = str(os.cpu_count())
    for name, check in CHECKS.items():
        try:
            found[name] = check()
        except Exception as error:  # whatever it is, the user wants to know it and see the other checks
            found[name] = f"{FAILED}{type(error).__name__}: {error}"
    wrong = next(iter(found.failures), "")
    found["ready"] = f"no: {wrong}" if wrong else "yes"
    return found


def _least_versions() -> dict[str, str]:
    """The oldest versions of Python and the libraries that will do, as the installation states them."""
    python = importlib.metadata.metadata("selforg")["Requires-Python"]
    stated = [f"python{python}", *(importlib.metadata.requires("selforg") or ())]
    matches = [re.match(r"([\w.-]+)>=([\w.]+)", one) for one in stated if "extra ==" not in one]
    return {match[1]: match[2] for match in matches if match}


def check_disk() -> str:
    """Free disk in this folder."""
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    if free < LEAST_DISK:
        raise OSError(f"{free:.1f} GiB are free here, {LEAST_DISK:g} are expected; make room")
    return f"{free:.1f} GiB (expected: {LEAST_DISK:g} or more)"


def check_robots() -> str:
    """Engines, the usual one first, and the steps per second of every robot under ULR on one core."""
    import controllers
    import robots
    from experiments.pipeline.loop import Loop, make_body

    default, speeds, real = robots.default_engine(), [], 0.0
    here = [engine for engine in robots.ENGINES if robots.engine_version(engine)]
    for engine, name in product(sorted(here, key=lambda one: one != default), robots.ROBOTS):
        with closing(make_body(name, {"engine": engine})) as body:
            loop = Loop(body, controllers.make("ulr", len(body.sensor_names), len(body.motor_names)))
            loop.s, _ = body.reset(seed=1)
            loop.advance(0, 100)
            start = time.perf_counter()
            loop.advance(100, 600)
            speeds.append(f"{name} {500 / (time.perf_counter() - start):,.0f} steps/s")
            real = 1 / body.config.control_step
            if name == next(iter(robots.ROBOTS)):
                usual = " (the usual one here)" if engine == default else ""
                speeds[-1] = f"in {engine} {robots.engine_version(engine)}{usual}: {speeds[-1]}"
    return f"{', '.join(speeds)} (expected: well above {real:g}, which is real time)"


def check_quantifier() -> str:
    """Time to quantify a known system; its dimension tells whether the answer is right."""
    from quantify import quantify
    from quantify.systems import Henon

    series = Henon().sample(20_000, 1)[:, 0]
    quantify(series[:2000], tau=1, m_max=6, replicates=0)
    start = time.perf_counter()
    result = quantify(series, tau=1, m_max=6, replicates=0)
    taken = time.perf_counter() - start
    words = f"D = {result.D.value:.2f} (expected: {D_HENON} ± {D_MARGIN})"
    if not abs(result.D.value - D_HENON) <= D_MARGIN:
        raise ValueError(f"the dimension of the Hénon map comes out as {words}")
    return f"20,000 samples of the Hénon map in {taken:.1f} s (expected: seconds), {words}"


def check_files() -> str:
    """Write, commit and read a small work file."""
    import numpy as np

    from experiments.runfiles.growing import GrowingFile, Track, read_state

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "check.h5")
        track = Track("sensors", (19,), "<f4")
        state = {"x": np.arange(3.0)}
        with GrowingFile.create(path, attrs={}, group="g", tracks=[track], steps=3000, state=state) as work:
            start = time.perf_counter()
            work.append("sensors", np.ones((3000, 19), np.float32), 0)
            work.commit(3000, state)
            taken = time.perf_counter() - start
        if not np.array_equal(read_state(path)["x"], state["x"]):
            raise OSError("what was written is not what is read")
    return f"HDF5 works, a checkpoint of 3000 rows takes {1e3 * taken:.1f} ms (expected: less than 100)"


def check_video() -> str:
    """Version of the encoder."""
    import imageio_ffmpeg

    return f"ffmpeg {imageio_ffmpeg.get_ffmpeg_version()}"


CHECKS = {
    "free disk": check_disk,
    "robots": check_robots,
    "quantifier": check_quantifier,
    "files": check_files,
    "video": check_video,
}


def show(config: Show, feedback: Feedback) -> dict[str, Any]:
    """The contents of a run file, finished or not, or the datasets of any other HDF5 file, in words."""
    with reading(config.file) as file:
        attrs = attributes(file)
        if attrs.get("format") != FORMAT or "robot" not in attrs:
            found: list[tuple[str, Any]] = []
            file.visititems(lambda name, item: found.append((name, item)))
            kept = [(name, item) for name, item in found if isinstance(item, h5py.Dataset)]
            return {"datasets": {f"/{name}": f"{item.shape} {item.dtype}" for name, item in kept}}
    with open_run_file(config.file) as run:
        channels = f"{len(run.learning.sensors.names)} sensors, {len(run.learning.actions.names)} motors"
        phases = {"learning": run.learning} | {name: run.behaviours.get(name) for name in run.frozen}
        return {
            "run": run.words,
            "channels": f"{channels} at {run.learning.attrs['rate_hz']:g} Hz",
            "recordings": [_row(name, recording) for name, recording in phases.items()],
            "results": {name: _numbers(quantification(one, run.path)) for name, one in run.results.items()},
            "versions": run.versions,
        }


def _row(name: str, recording: Recording | None) -> list[str]:
    if recording is None:
        return [name, *"---", "frozen, not recorded"]
    state = recording.status + (f": {recording.reason}" if recording.reason else "")
    if "stationarity" in recording.attrs:
        state += f", {json.loads(recording.attrs['stationarity'])['verdict']}"
    counts = (recording.steps, recording.wanted, recording.attrs.get("transient", 0))
    return [name, *map(str, counts), state]


def _numbers(result: q.Quantification) -> str:
    numbers = ", ".join(
        f"{name} {_number(getattr(result, name).value)}" for name in ("D", "E_state", "E_mem", "E_core")
    )
    sensors = ", ".join(result.settings.get("sensors", ()))
    words = f"{sensors}, {numbers}" if sensors else numbers
    words += f" nats on scales {result.range.lo:.2g} to {result.range.hi:.2g}"
    if result.predictive_information is not None:
        quoted = result.predictive_information.quoted
        noise = f", with noise of strength eta = {quoted.eta:.2g} added" if quoted.eta else ""
        words += f"; predictive information {quoted.value:.2f} nats{noise}"
    return words


def salvage(config: Salvage, feedback: Feedback) -> dict[str, Saved]:
    """Save what can be read; the rows saved per dataset, of how many."""
    saved = save(config)
    try:
        open_run_file(config.out).close()
    except FileError as error:
        feedback.say(
            f"note: {config.out} is no whole run ({error.__cause__ or error}); its rows can be read all the "
            f"same, as by `selforg quantify {config.out}:/learning/sensors`"
        )
    return saved


def behaviours(config: Behaviours, feedback: Feedback) -> dict[str, dict[str, Any]]:
    """Keep a behaviour if asked to; then what is stated of each, or what a check finds of it."""
    from experiments.pipeline.loop import let_in
    from experiments.studies.emergence import library

    if config.keep is not None:
        if len(config.name) != 1 or config.freeze is None or config.check or config.engine:
            raise ExperimentError(
                "--keep RUN.h5 goes with one --name, with --freeze, and without --check and --engine"
            )
        let_in(config.module)
        path = library.keep_as(config.name[0], config.keep, config.freeze, config.about, config.folder)
        feedback.say(f"{path}: {path.stat().st_size / 1000:.0f} kB")
        if path.parent not in folders():
            feedback.say(f"note: behaviours are found by name in {own_folder()}; this one as {path}")
    chosen = library.choose(config.name, config.folder, config.engine)
    if config.check:
        asked = (config.samples, config.transient, config.out, config.jobs, feedback)
        return {name: library.check(item, *asked) for name, item in chosen.items()}
    return {
        name: {
            key: str(value) if key == "path" else value for key, value in vars(item).items() if key != "name"
        }
        for name, item in chosen.items()
    }


def _number(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.2f}"
