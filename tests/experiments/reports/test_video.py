"""Films of frozen behaviours."""

import shutil
import time
from contextlib import closing
from pathlib import Path

import h5py
import imageio_ffmpeg
import matplotlib.image
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from PIL import ImageFont

from controllers import Frozen
from experiments.errors import ExperimentError
from experiments.pipeline.loop import make_body
from experiments.reports.video import Video, first_picture, video
from robots import default_engine


def test_a_film_is_written_and_can_be_read(learned_run: Path, tmp_path: Path) -> None:
    out = video(Video(learned_run, tmp_path / "film.mp4", freeze=0.05, seconds=0.4, skip=0))
    frames = imageio_ffmpeg.read_frames(str(out))
    meta = next(frames)
    assert meta["fps"] == 25 and len(list(frames)) == 10
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]
    assert first_picture(out.read_bytes()).startswith(b"\xff\xd8")
    with pytest.raises(ExperimentError, match="a film cannot be read"):
        first_picture(b"no film")


def test_a_film_strip_has_its_pictures_side_by_side(learned_run: Path, tmp_path: Path) -> None:
    out = video(Video(learned_run, tmp_path / "strip.png", seconds=0.2, skip=0, pictures=3))
    # Half the size of the camera's pictures, 1/12 cut off at either side, with gaps between.
    assert matplotlib.image.imread(out).shape[:2] == (240, (3 * (640 - 53 - 54) + 2 * 4 + 1) // 2)


def test_pictures_have_a_clock_and_a_metre() -> None:
    from types import SimpleNamespace

    from experiments.reports.video import annotated

    blank = np.full((480, 640, 3), 255, np.uint8)
    drawn = annotated(blank, 1.5, SimpleNamespace(distance=2.0)) < 128
    assert drawn[:60, :200].any() and blank.min() == 255
    bar = np.flatnonzero(drawn[458, :, 0])
    # At two metres an angle of view of 45 degrees is 1.657 m high.
    assert len(bar) == pytest.approx(480 / 1.657, abs=3)
    assert not (annotated(blank, 0.0, None)[400:] < 128).any()


def test_letters_are_made_once_and_no_encoder_is_tried_out(
    learned_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both took more time than pictures do: a tenth of a short film."""
    made = []
    load = ImageFont.load_default
    monkeypatch.setattr(ImageFont, "load_default", lambda size=None: made.append(size) or load(size))
    bundled = Path(imageio_ffmpeg.get_ffmpeg_exe()).is_relative_to(Path(imageio_ffmpeg.__file__).parent)
    if bundled:
        monkeypatch.setattr(imageio_ffmpeg._io, "get_first_available_h264_encoder", pytest.fail)
    video(Video(learned_run, tmp_path / "film.mp4", freeze=0.05, seconds=0.4, skip=0))
    assert len(made) <= 1


@pytest.mark.guard
def test_a_picture_is_quick_enough_for_films_in_real_time() -> None:
    """Of processor time, three times what real time at 25 pictures a second leaves: machines are busy."""
    with closing(make_body("hexapod", {"engine": default_engine()}, render_mode="rgb_array")) as body:
        body.reset(seed=1)
        body.render()
        start = time.process_time()
        for _ in range(10):
            body.render()
        assert (time.process_time() - start) / 10 < 3 / 25


class Giving(Frozen):
    """Acts well for some steps."""

    def act(self, s: ArrayLike) -> NDArray[np.float64]:
        if self._acted == 5:
            raise KeyError("no such luck")
        return super().act(s)


def test_a_frozen_class_that_breaks_down_in_a_film_is_one_line(learned_run: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(learned_run, tmp_path / "run.h5"))
    with h5py.File(path, "r+") as file:
        file["frozen/0.05min"].attrs["kind"] = f"{__name__}:Giving"
    with pytest.raises(ExperimentError, match="the controller broke down at step 5: KeyError in test_video"):
        video(Video(path, tmp_path / "film.mp4", freeze=0.05, seconds=0.4, skip=0))
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]
