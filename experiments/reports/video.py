"""Film a frozen behaviour, picture by picture, straight into the encoder."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.errors import ExperimentError, FileError
from experiments.feedback import SILENT, Advance, Feedback
from experiments.options.reports import Video
from experiments.pipeline.loop import Loop, let_in, make_body, modules_of, put_back, thaw
from experiments.runfiles.atomic import replacing
from experiments.runfiles.contents import FrozenState
from experiments.runfiles.library import find_behaviour, leaves_home
from experiments.runfiles.run_file import open_run_file
from experiments.settings import LARGEST

STRIP, FILM = (640, 480), (448, 336)
"""Pixels of a picture: of a film as many as are drawn in real time without a graphics card."""
Pictures = Iterator[NDArray[np.uint8]]
PIECE = 1000
"""Steps that are kept in memory at once."""


def video(config: Video, feedback: Feedback = SILENT) -> Path:
    """Film a frozen behaviour from the moment it was frozen; memory does not grow with the length.

    A name that ends in .png gets a film strip: pictures side by side, the first at the left.
    """
    if not (0 < config.seconds <= LARGEST and 0 <= config.skip <= LARGEST and 0 < config.fps <= LARGEST):
        raise ExperimentError("--seconds and --fps must be greater than 0, --skip must be 0 or more")
    if config.pictures < 1:
        raise ExperimentError(f"--pictures is {config.pictures}; it must be at least 1")
    path, out = config.run, config.out
    if config.behaviour:
        if out is not None:
            raise ExperimentError(f"--behaviour takes the place of {path}: give the film's name alone")
        path, out = find_behaviour(config.behaviour, None if config.transplant else config.engine), path
    if path is None or out is None:
        raise ExperimentError("give RUN.h5 and OUT.mp4, or --behaviour NAME and OUT.mp4")
    strip = out.suffix.lower() == ".png"
    if not strip and out.suffix.lower() not in (".mp4", ".mkv", ".mov"):
        raise ExperimentError(f"{out} must end in .mp4, .mkv, .mov, or in .png for a film strip")
    let_in(config.module)
    with open_run_file(path) as run:
        modules_of(run)
        if not run.frozen:
            raise FileError(f"{path} holds no frozen controller yet")
        last = next(reversed(run.frozen.items()))
        name, frozen = last if config.freeze is None else run.frozen_at(config.freeze)
        robot, body = run.robot, run.config["body"]
        if leaves_home(run, config.engine, config.transplant, "films its frozen controllers there"):
            body = body | {"engine": config.engine}
    fps = config.pictures / config.seconds if strip else config.fps
    size = STRIP if strip else FILM
    shots = pictures(robot, body, frozen, config.skip, config.seconds, fps, size)
    with replacing(out) as temporary, feedback.bars() as bar:
        if strip:
            _write_strip(temporary, shots)
        else:
            _write_film(temporary, shots, fps, round(config.seconds * fps), bar("film [pictures]"))
    feedback.say(f"{out}: {config.seconds:g} s of {config.behaviour or name}")
    return out


def pictures(
    robot: str,
    settings: dict[str, Any],
    frozen: FrozenState,
    skip: float,
    seconds: float,
    fps: float,
    size: tuple[int, int] = STRIP,
) -> Pictures:
    """Let a frozen controller act and draw it, `fps` times per second of simulated time."""
    with closing(make_body(robot, settings, render_mode="rgb_array")) as body:
        loop, done = Loop(body, thaw(frozen)), 0
        loop.s = put_back(body, frozen.body)
        if hasattr(body, "camera"):
            body.camera = replace(body.camera, width=size[0], height=size[1])
        rate = 1 / body.config.control_step
        first = round(skip * rate)
        # The k-th picture is due at the control step nearest to k/fps.
        due = (first + round(k * rate / fps) for k in range(max(1, round(seconds * fps))))
        for t, _ in itertools.groupby(due):
            for stop in (*range(done + PIECE, t, PIECE), t):
                if reason := loop.advance(done, stop).reason:
                    raise ExperimentError(reason)
                done = stop
            yield annotated(body.render(), (t - first) / rate, getattr(body, "camera", None))


def annotated(picture: NDArray[np.uint8], seconds: float, camera: Any) -> NDArray[np.uint8]:
    """A picture with a clock and, if the camera is known, a bar as long as a metre where the robot is."""
    from PIL import Image, ImageDraw

    image = Image.fromarray(np.ascontiguousarray(picture))
    draw, (width, height) = ImageDraw.Draw(image), image.size
    size, dark = max(10, height // 24), (40, 40, 40)
    font = _font(size)
    edge = width // 12 + size  # a film strip cuts a twelfth off each side
    draw.text((edge, size), f"{seconds:.2f} s", fill=dark, font=font)
    if camera is not None:
        metre = height / (2 * np.tan(np.pi / 8) * camera.distance)  # an angle of view of 45 degrees
        right, bottom = width - edge, height - size
        draw.rectangle((right - metre, bottom - size // 4, right, bottom), fill=dark)
        draw.text((right - metre, bottom - 3 * size // 2 - 2), "1 m", fill=dark, font=font)
    return np.array(image)


@cache
def _font(size: int) -> Any:
    """Letters of this height, made once for all pictures."""
    from PIL import ImageFont

    return ImageFont.load_default(size)


@cache
def _encoder() -> str | None:
    """The encoder, by name where the program is the one that comes along: to try it out takes as long as a
    second of film."""
    import imageio_ffmpeg

    bundled = Path(imageio_ffmpeg.get_ffmpeg_exe()).is_relative_to(Path(imageio_ffmpeg.__file__).parent)
    return "libx264" if bundled else None


def _write_film(path: Path, shots: Pictures, fps: float, total: int, advance: Advance) -> None:
    import imageio_ffmpeg

    first = next(shots)
    # The encoder's quicker preset: a third of the time, files as large and as good within a few per cent.
    look = {"macro_block_size": 2, "ffmpeg_log_level": "error", "output_params": ["-preset", "veryfast"]}
    size = first.shape[1::-1]
    writer = imageio_ffmpeg.write_frames(str(path), size, fps=fps, codec=_encoder(), **look)
    writer.send(None)
    for done, picture in enumerate(itertools.chain([first], shots), start=1):
        writer.send(picture)
        advance(done, max(1, total))
    writer.close()


def _write_strip(path: Path, shots: Pictures) -> None:
    """Pictures in a row; each is drawn by the camera that follows the robot and cut to its middle."""
    import matplotlib.image

    cut = [shot[:, shot.shape[1] // 12 : -shot.shape[1] // 12] for shot in shots]
    row = np.hstack([np.pad(shot, ((0, 0), (0, 4), (0, 0)), constant_values=255) for shot in cut])[:, :-4]
    matplotlib.image.imsave(path, row[::2, ::2], format="png")


def first_picture(film: bytes) -> bytes:
    """The first picture of a film as JPEG: shown before it plays, and on paper."""
    import imageio_ffmpeg

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        path.write_bytes(film)
        read = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(path)]
        done = subprocess.run([*read, "-frames:v", "1", "-f", "mjpeg", "-"], capture_output=True, check=False)
    if done.returncode or not done.stdout:
        detail = done.stderr.decode(errors="replace").strip() or "it holds no picture"
        raise ExperimentError(f"a film cannot be read: {detail}")
    return done.stdout
