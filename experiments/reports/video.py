"""Film a frozen behaviour, picture by picture, straight into the encoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from numpy.typing import NDArray

import controllers
from experiments.console import bars, say
from experiments.errors import ExperimentError, FileError, nearest
from experiments.pipeline.loop import make_body
from experiments.runfiles import run_file as log
from experiments.runfiles.library import find_behaviour


@dataclass(frozen=True)
class Video:
    """Film the behaviour of a frozen controller."""

    run: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="[RUN.h5]")] = None
    """Run file written by `selforg learn`; not with --behaviour."""
    out: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="OUT.mp4")] = None
    """Film to write."""
    behaviour: str = ""
    """A behaviour that comes with the project, in place of a run; `selforg behaviours` lists them."""
    freeze: float | None = None
    """Freeze time in minutes; the last one of the run if not given."""
    seconds: float = 20.0
    """Length of the film."""
    skip: float = 10.0
    """Seconds after freezing that are left out, while the behaviour settles."""
    fps: float = 25.0
    """Pictures per second, in real time."""
    pictures: int = 6
    """Pictures of a film strip (OUT.png), evenly spread over --seconds."""
    quiet: bool = False
    """Say nothing while working."""


def video(config: Video) -> Path:
    """Film a frozen behaviour from the moment it was frozen; memory does not grow with the length.

    A name that ends in .png gets a film strip: pictures side by side, the first at the left.

    Raises
    ------
    ExperimentError
        When the run lacks that freeze time, or a setting does not fit.
    """
    if config.seconds <= 0 or config.skip < 0 or config.fps <= 0:
        raise ExperimentError("--seconds and --fps must be greater than 0, --skip must be 0 or more")
    path, out = _paths(config)
    if out.suffix.lower() not in (".mp4", ".mkv", ".mov", ".png"):
        raise ExperimentError(f"{out} must end in .mp4, .mkv, .mov, or in .png for a film strip")
    with log.open_run(path) as run:
        if not run.frozen:
            raise FileError(f"{path} holds no frozen controller yet")
        name = list(run.frozen)[-1] if config.freeze is None else log.label(config.freeze)
        if name not in run.frozen:
            raise FileError(f"{path} has no controller frozen at {name}; {nearest(name, run.frozen)}")
        robot, settings, frozen = run.robot, run.config["body"], run.frozen[name]
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.stem}.tmp{out.suffix}")
    try:
        if out.suffix.lower() == ".png":
            _write_strip(temporary, robot, settings, frozen, config)
        else:
            _write_film(temporary, robot, settings, frozen, config)
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)
    say(f"{out}: {config.seconds:g} s of {config.behaviour or name}", config.quiet)
    return out


def _paths(config: Video) -> tuple[Path, Path]:
    """What to film and where to write it."""
    run, out = config.run, config.out
    if config.behaviour:
        if out is not None:
            raise ExperimentError(f"--behaviour takes the place of {run}: give the film's name alone")
        run, out = find_behaviour(config.behaviour), run
    if run is None or out is None:
        raise ExperimentError("give RUN.h5 and OUT.mp4, or --behaviour NAME and OUT.mp4")
    return run, out


def pictures(
    robot: str, settings: dict[str, object], frozen: log.FrozenState, skip: float, seconds: float, fps: float
) -> Iterator[NDArray[np.uint8]]:
    """Let a frozen controller act and draw it, `fps` times per second of simulated time."""
    body = make_body(robot, dict(settings), render_mode="rgb_array")
    controller = controllers.find(frozen.kind).from_state(frozen.controller)
    try:
        s = body.restore(frozen.body)
        rate = 1 / body.config.control_step
        first, steps = round(skip * rate), round((skip + seconds) * rate)
        # The k-th picture is due at the control step nearest to k/fps.
        due = {first + round(k * rate / fps) for k in range(max(1, round(seconds * fps)))}
        for t in range(steps):
            if t in due:
                yield np.ascontiguousarray(body.render())
            s, _, ended, _, info = body.step(controller.step(s).astype(np.float32))
            if ended:
                raise ExperimentError(f"the simulation broke down at step {t}: {info['reason']}")
    finally:
        body.close()


def _write_film(
    path: Path, robot: str, settings: dict[str, object], frozen: log.FrozenState, config: Video
) -> None:
    import imageio_ffmpeg

    writer = None
    total = max(1, round(config.seconds * config.fps))
    with bars(config.quiet) as bar:
        report = bar("film [pictures]")
        shots = pictures(robot, settings, frozen, config.skip, config.seconds, config.fps)
        for done, picture in enumerate(shots):
            if writer is None:
                height, width = picture.shape[:2]
                writer = imageio_ffmpeg.write_frames(
                    str(path), (width, height), fps=config.fps, macro_block_size=2, ffmpeg_log_level="error"
                )
                writer.send(None)
            writer.send(picture)
            report(done + 1, total)
    if writer is not None:
        writer.close()


def _write_strip(
    path: Path, robot: str, settings: dict[str, object], frozen: log.FrozenState, config: Video
) -> None:
    """Pictures in a row; each is drawn by the camera that follows the robot and cut to its middle."""
    import matplotlib.image

    fps = config.pictures / config.seconds
    shots = [
        picture[:, picture.shape[1] // 12 : -picture.shape[1] // 12]
        for picture in pictures(robot, settings, frozen, config.skip, config.seconds, fps)
    ]
    gap = np.full((shots[0].shape[0], 4, 3), 255, np.uint8)
    row = [part for shot in shots for part in (shot, gap)][:-1]
    matplotlib.image.imsave(path, np.hstack(row)[::2, ::2], format="png")
