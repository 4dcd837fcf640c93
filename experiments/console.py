"""What a command says while it works: a progress line with rate and time left, quiet in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

Report = Callable[[float, float], None]


def console() -> Console:
    """Standard output, for results as they are ([m/s] is no markup); a file has room for wide tables."""
    screen = sys.stdout.isatty()
    width = None if screen or "COLUMNS" in os.environ else 160
    return Console(highlight=False, markup=False, soft_wrap=not screen, width=width)


def plain_table(*headings: str, title: str | None = None, caption: str | None = None) -> Table:
    """Table without lines, so that eleven columns fit a narrow screen."""
    return Table(
        *headings,
        title=title,
        caption=caption,
        header_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        title_justify="left",
        caption_justify="left",
    )


def say(message: str, quiet: bool = False) -> None:
    """Tell what happened, on standard error, so that a pipe sees results only."""
    if not quiet:
        Console(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)


@contextmanager
def hush() -> Iterator[None]:
    """Drop what libraries write to standard error below Python's level."""
    sys.stderr.flush()
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


class _Rate(TextColumn):
    """Work per second; `unit` is a field of the task."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: object) -> Text:
        speed = getattr(task, "speed", None)
        unit = getattr(task, "fields", {}).get("unit", "")
        if not speed or not unit:
            return Text("")
        slow = speed < 1
        return Text(f"{60 * speed:.2g} {unit}/min" if slow else f"{speed:,.0f} {unit}/s", style="cyan")


@contextmanager
def bars(quiet: bool = False) -> Iterator[Callable[[str], Report]]:
    """Progress bars. Yields a function: title -> report(done, total); a title "record [steps]" has a unit.

    Shown on a terminal only; `report` does nothing in a pipe or when quiet.
    """
    screen = Console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda title: lambda done, total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # Half an hour: the rate of tasks that take minutes is a rate too.
    with Progress(*columns, console=screen, transient=True, speed_estimate_period=1800) as progress:

        def bar(title: str) -> Report:
            title, _, unit = title.partition(" [")
            task = progress.add_task(title, total=None, unit=unit.rstrip("]"))

            def report(done: float, total: float) -> None:
                progress.update(task, completed=done, total=total)

            return report

        yield bar
