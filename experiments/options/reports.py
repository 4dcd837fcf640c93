"""What figures, pages, films and tables can be asked for; the docs of the fields are the help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from experiments.settings import Own, Parallel, Part, Transplant, settings

Kind = Literal["progress", "learning", "traces", "behaviour"]
"""Of figures."""


@settings
class Plot:
    """Draw the figures of results, ready for print."""

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE")]
    """Run files, *.complexity.json, *-progress.json; several runs (seeds) share the figure of progress."""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("figure.pdf")
    """Picture to write (.png, .svg, .pdf). Several: pages of a PDF, else OUT-progress.png and so on."""
    figure: tuple[Kind, ...] = ()
    """Figures to draw: progress of learning; controller and body while learning; sensors and body of the
    behaviours; the paper's set for each behaviour. All that the files hold if not given."""
    freeze: tuple[float, ...] = ()
    """Behaviours of a run by freeze time in minutes; all if not given."""
    common: tuple[float, float] | None = None
    """Scales on which the progress of core complexity is drawn as well, the same for all behaviours."""


@settings
class Report(Own, Parallel):
    """Make one HTML page: table, interactive plots, films. It needs no network."""

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE")]
    """Run files, *.complexity.json, *-progress.json; a .mp4 is the film of the behaviour named before it."""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("report.html")
    """Page to write."""
    seconds: float = 5.0
    """Length of the films that are made of frozen controllers; 0 for none."""
    title: str = ""
    """Heading of the page."""


@settings
class Video(Transplant, Own):
    """Film the behaviour of a frozen controller."""

    run: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="[RUN.h5]")] = None
    """Run file written by `selforg learn`; not with --behaviour."""
    out: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="OUT.mp4")] = None
    """Film to write."""
    behaviour: str = ""
    """A behaviour by name, in place of a run; `selforg behaviours` lists those that there are."""
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


@settings
class Export(Part):
    """Write recordings of a run as CSV or in Minari's layout."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN.h5")]
    """Run file to read."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """Folder to write; it must not exist yet."""
    format: Literal["csv", "minari"] = "csv"
    """csv: one table per recording. minari: one episode per recording, for Minari's reader."""
    freeze: tuple[float, ...] = ()
    """Behaviours by freeze time in minutes; all recorded ones if not given."""
    learning: bool = False
    """Export the learning phase as well."""
