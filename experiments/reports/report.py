"""One page to look at: the numbers in a table, interactive plots, films; everything in a single HTML file."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.console import say
from experiments.errors import ExperimentError, FileError
from experiments.reports.behaviours import Behaviour
from experiments.reports.page import Film, page
from experiments.reports.results import read_results
from experiments.reports.video import Video, video
from experiments.sweeps.processes import in_parallel

FILMS = (".mp4",)
# Pictures cost a quarter of a second each; so few still look smooth enough.
FPS = 50 / 3


@dataclass(frozen=True)
class Report:
    """Make one HTML page of results: table, interactive plots, films. It needs no network."""

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE")]
    """Run files, *.complexity.json, *-progress.json; a .mp4 is the film of the behaviour named before it."""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("report.html")
    """Page to write."""
    seconds: float = 5.0
    """Length of the films that are made of frozen controllers; 0 for none."""
    title: str = ""
    """Heading of the page."""
    jobs: int = 0
    """Films made at the same time; 0 for one per core."""
    quiet: bool = False
    """Say nothing while working."""


def report(config: Report, before: str = "") -> Path:
    """Write the page, with HTML of your own before its table if wanted; returns where it is.

    Raises
    ------
    ExperimentError
        When a file is missing or holds no results; nothing is written then.
    """
    if config.out.suffix.lower() not in (".html", ".htm"):
        raise ExperimentError(f"{config.out} must end in .html")
    if config.seconds < 0:
        raise ExperimentError(f"--seconds is {config.seconds:g}; it must be 0 (no films) or more")
    if not config.files:
        raise ExperimentError("give at least one run file or result; `selforg progress hexapod` makes some")
    found = read_results(path for path in config.files if path.suffix.lower() not in FILMS)
    given = _given_films(config.files, found.behaviours)
    temporary = config.out.with_name(config.out.name + ".tmp")
    try:
        # Found out before minutes of filming.
        config.out.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        text = page(found, _film(config, found.behaviours, given), config.title, before)
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, config.out)
    except OSError as error:
        raise FileError(f"cannot write {config.out}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    say(f"{config.out}: {len(found.behaviours)} behaviour(s), {len(text) / 1e6:.1f} MB", config.quiet)
    return config.out


def _given_films(files: tuple[Path, ...], behaviours: list[Behaviour]) -> dict[int, Film]:
    """The films named after results, by the index of the behaviour they show."""
    films: dict[int, Film] = {}
    before: Path | None = None
    for path in files:
        if path.suffix.lower() not in FILMS:
            before = path
            continue
        if not path.is_file():
            raise FileError(f"{path} does not exist; check the name")
        shown = {_identity(b) for b in read_results([before]).behaviours} if before else set()
        free = [i for i, b in enumerate(behaviours) if _identity(b) in shown and i not in films]
        if not free:
            raise ExperimentError(
                f"{path} belongs to no behaviour; name it after the file whose behaviour it shows"
            )
        films[free[0]] = path.read_bytes()
    return films


def _identity(b: Behaviour) -> tuple[str, str]:
    """What tells behaviours apart: files in two folders may have the same name."""
    return (str(b.run.resolve()), b.name) if b.run else (b.label, b.command)


def _film(config: Report, behaviours: list[Behaviour], given: dict[int, Film]) -> list[Film]:
    """Film the frozen controllers that have no film yet, several at a time; a film that fails says why."""
    films = dict(given)
    wanted: list[tuple[int, Path, float]] = []
    for i, b in enumerate(behaviours):
        if i in films:
            continue
        if b.minutes is None or b.run is None:
            films[i] = "No film: only runs with a frozen controller can be filmed."
        elif not config.seconds:
            films[i] = "No film was asked for."
        else:
            wanted.append((i, b.run, b.minutes))
    if wanted:
        say(f"filming {len(wanted)} behaviours; --seconds 0 leaves films out", config.quiet)
        made = in_parallel(
            _film_one, [(run, minutes, config.seconds) for _, run, minutes in wanted], config.jobs
        )
        films |= {i: film for (i, _, _), film in zip(wanted, made, strict=True)}
    return [films[i] for i in range(len(behaviours))]


def _film_one(wish: tuple[Path, float, float]) -> Film:
    run, minutes, seconds = wish
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "film.mp4"
        try:
            video(Video(run, out, freeze=minutes, seconds=seconds, fps=FPS, quiet=True))
        except ExperimentError as error:
            return f"No film: {error}"
        return out.read_bytes()
