"""Check that this installation can do its work, and say how fast it does."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from experiments.errors import ExperimentError
from experiments.runfiles.run_file import versions


@dataclass(frozen=True)
class Doctor:
    """Check versions, disk, body, controller, file, video and quantifier, and measure their speed."""


def doctor(config: Doctor | None = None) -> None:
    """Print what was found; ends with an error if something that is needed does not work."""
    for name, version in versions().items():
        print(f"{name:12s} {version}")
    print(f"{'cores':12s} {os.cpu_count()}")
    print(f"{'free disk':12s} {shutil.disk_usage(Path.cwd()).free / 2**30:.1f} GiB")
    failed = []
    for name, check in (
        ("robots", _robots),
        ("quantifier", _quantifier),
        ("files", _files),
        ("video", _video),
    ):
        try:
            print(f"{name:12s} {check()}")
        except Exception as error:  # whatever it is, the user wants to know it and see the other checks
            failed.append(name)
            print(f"{name:12s} FAILED: {type(error).__name__}: {error}")
    if failed:
        raise ExperimentError(f"{', '.join(failed)} do not work on this machine; see above")


def _robots() -> str:
    """Steps per second of every robot under ULR on one core."""
    import controllers
    from experiments.pipeline import loop as loops

    speeds = []
    for name in loops.robots.ROBOTS:
        body = loops.make_body(name, {})
        try:
            loop = loops.Loop(body, controllers.make("ulr", len(body.sensor_names), len(body.motor_names)))
            loop.s, _ = body.reset(seed=1)
            loop.advance(0, 100)
            start = time.perf_counter()
            loop.advance(100, 600)
            speeds.append(f"{name} {500 / (time.perf_counter() - start):,.0f} steps/s")
        finally:
            body.close()
    return ", ".join(speeds)


def _quantifier() -> str:
    """Time to quantify a known system; its dimension tells whether the answer is right."""
    from quantify import quantify
    from quantify.systems import Henon

    series = Henon().sample(20_000, 1)[:, 0]
    quantify(series[:2000], tau=1, m_max=6, replicates=0)
    start = time.perf_counter()
    result = quantify(series, tau=1, m_max=6, replicates=0)
    taken = time.perf_counter() - start
    # The correlation dimension of the Hénon map is 1.21; a window of two octaves scatters by about .1.
    if abs(result.D.value - 1.21) > 0.3:
        raise ValueError(f"the dimension of the Hénon map came out as {result.D.value:.2f} instead of 1.21")
    return f"20,000 samples of the Hénon map in {taken:.1f} s, D = {result.D.value:.2f}"


def _files() -> str:
    """Write, commit and read a small work file."""
    import numpy as np

    from experiments.runfiles.growing import Track, WorkFile, read_state

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "check.h5")
        track = Track("sensors", (19,), "<f4")
        state = {"x": np.arange(3.0)}
        with WorkFile.create(path, attrs={}, group="g", tracks=[track], steps=3000, state=state) as work:
            start = time.perf_counter()
            work.append("sensors", np.ones((3000, 19), np.float32), 0)
            work.commit(3000, state)
            taken = time.perf_counter() - start
        if not np.array_equal(read_state(path)["x"], state["x"]):
            raise OSError("what was written is not what is read")
    return f"HDF5 works, a checkpoint of 3000 rows takes {1e3 * taken:.1f} ms"


def _video() -> str:
    import imageio_ffmpeg

    return f"ffmpeg {imageio_ffmpeg.get_ffmpeg_version()}"
