"""What the tests of reports look at: the shared small run, and a page that is made once for all of them."""

from collections.abc import Callable
from pathlib import Path

import h5py
import pytest

import quantify as q
from experiments.reports.report import Report, report
from experiments.reports.results import Results, read_results
from experiments.reports.video import Video, video
from experiments.runfiles.run_file import open_run_file
from tests.experiments.reports.browser import chromium  # noqa: F401
from tests.experiments.reports.copies import copy_run


@pytest.fixture(scope="session")
def found(small_run: Path) -> Results:
    return read_results([small_run])


@pytest.fixture(scope="session")
def result(small_run: Path) -> q.Quantification:
    with open_run_file(small_run) as opened:
        return q.Quantification.from_dict(opened.results["0.1min"]["result"])


@pytest.fixture(scope="session")
def html(made_once: Callable[..., Path], small_run: Path) -> Path:
    """A report of four behaviours, one without result, whose recording broke off; two are filmed."""

    def fill(folder: Path) -> None:
        broken, film = copy_run(small_run, folder / "broken.h5"), folder / "film.mp4"
        broken.with_name("broken.0.2min.complexity.json").unlink()
        with h5py.File(broken, "r+") as file:
            reason = "the simulation blew up at step 7"
            file["behaviours/0.2min"].attrs.update(status="stopped", reason=reason)
        video(Video(small_run, film, freeze=0.2, seconds=0.5))
        report(Report((small_run, film, film, broken), out=folder / "report.html", seconds=0))

    return made_once("report", fill) / "report.html"
