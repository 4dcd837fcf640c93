"""Film a frozen behaviour, picture by picture, straight into the encoder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

import controllers
from experiments import log
from experiments.console import bars, say
from experiments.errors import ExperimentError, FileError, nearest
from experiments.loop import make_body


@dataclass(frozen=True)
class Video:
    """Film the behaviour of a frozen controller."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN.h5")]
    """Run file written by `selforg learn`."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT.mp4")]
    """Film to write."""
    freeze: float | None = None
    """Freeze time in minutes; the last one of the run if not given."""
    seconds: float = 20.0
    """Length of the film."""
    skip: float = 10.0
    """Seconds after freezing that are left out, while the behaviour settles."""
    fps: float = 25.0
    """Pictures per second, in real time."""
    quiet: bool = False
    """Say nothing while working."""


def video(config: Video) -> Path:
    """Film a frozen behaviour from the moment it was frozen; memory does not grow with the length.

    Raises
    ------
    ExperimentError
        When the run lacks that freeze time, or a setting does not fit.
    """
    if config.seconds <= 0 or config.skip < 0 or config.fps <= 0:
        raise ExperimentError("--seconds and --fps must be greater than 0, --skip must be 0 or more")
    if config.out.suffix.lower() not in (".mp4", ".mkv", ".mov"):
        raise ExperimentError(f"{config.out} must end in .mp4, .mkv or .mov")
    with log.open_run(config.run) as run:
        if not run.frozen:
            raise FileError(f"{config.run} holds no frozen controller yet")
        name = list(run.frozen)[-1] if config.freeze is None else log.label(config.freeze)
        if name not in run.frozen:
            raise FileError(f"{config.run} has no controller frozen at {name}; {nearest(name, run.frozen)}")
        film(run.robot, run.config["body"], run.frozen[name], config)
    say(f"{config.out}: {config.seconds:g} s of {name}", config.quiet)
    return config.out


def film(robot: str, settings: dict[str, object], frozen: log.FrozenState, config: Video) -> None:
    """Let a frozen controller act and stream pictures of it into a film."""
    import imageio_ffmpeg

    body = make_body(robot, dict(settings), render_mode="rgb_array")
    controller = controllers.find(frozen.kind).from_state(frozen.controller)
    temporary = config.out.with_name(f".{config.out.stem}.tmp{config.out.suffix}")
    config.out.parent.mkdir(parents=True, exist_ok=True)
    try:
        s = body.restore(frozen.body)
        rate = 1 / body.config.control_step
        # A picture is due whenever real time has moved on by 1/fps.
        every = max(1, round(rate / config.fps))
        first = round(config.skip * rate)
        steps = first + round(config.seconds * rate)
        writer = None
        with bars(config.quiet) as bar:
            report = bar("film [steps]")
            for t in range(steps):
                if t >= first and (t - first) % every == 0:
                    picture = np.ascontiguousarray(body.render())
                    if writer is None:
                        height, width = picture.shape[:2]
                        writer = imageio_ffmpeg.write_frames(
                            str(temporary),
                            (width, height),
                            fps=rate / every,
                            macro_block_size=2,
                            ffmpeg_log_level="error",
                        )
                        writer.send(None)
                    writer.send(picture)
                    report(t, steps)
                s, _, ended, _, info = body.step(controller.step(s).astype(np.float32))
                if ended:
                    raise ExperimentError(f"the simulation broke down at step {t}: {info['reason']}")
        if writer is not None:
            writer.close()
        temporary.replace(config.out)
    finally:
        temporary.unlink(missing_ok=True)
        body.close()
