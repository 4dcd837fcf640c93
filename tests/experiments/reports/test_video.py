"""Films of frozen behaviours."""

from pathlib import Path

import imageio_ffmpeg
import matplotlib.image
import pytest

from experiments.errors import ExperimentError
from experiments.reports.video import Video, first_picture, video


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
