"""The terminal: tables on standard output; notes and progress, with rate and time left, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from experiments.feedback import Advance, Feedback, plain


class _Plain(Console):
    """A console that shows text as it is: no character of it commands the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Text that is printed, or stands in a cell of a table."""
        return super().render_str(plain(text), **options)


def put(*lines: object) -> None:
    """Print lines on standard output as they are, without wrapping."""
    for line in lines:
        print(plain(str(line)))


def console() -> Console:
    """Standard output, for results as they are ([m/s] is no markup); a file has room for wide tables."""
    screen = sys.stdout.isatty()
    width = None if screen or "COLUMNS" in os.environ else 160
    return _Plain(highlight=False, markup=False, soft_wrap=not screen, width=width)


class _Rate(ProgressColumn):
    """Work per second; `unit` is a field of the task."""

    def render(self, task: Task) -> Text:
        speed, unit = task.speed, task.fields["unit"]
        if not speed or not unit:
            return Text("")
        slow = speed < 1
        return Text(f"{60 * speed:.2g} {unit}/min" if slow else f"{speed:,.0f} {unit}/s", style="cyan")


class Terminal(Feedback):
    """Notes and progress bars on standard error, so that a pipe sees results only."""

    def say(self, text: str) -> None:
        """Print a note."""
        _Plain(stderr=True, highlight=False, soft_wrap=True).print(text, markup=False)

    @contextmanager
    def bars(self) -> Iterator[Callable[[str], Advance]]:
        """Bars that vanish when the work is done; none in a pipe."""
        screen = Console(stderr=True)
        if not (screen.is_terminal or screen.is_jupyter):
            yield lambda title: self._advance
            return
        title, bar, percentage, left = Progress.get_default_columns()
        rate = _Rate(Column(no_wrap=True))
        columns = (title, bar, percentage, rate, TimeElapsedColumn(), "left", left)
        # Half an hour: the rate of tasks that take minutes is a rate too.
        with Progress(*columns, console=screen, transient=True, speed_estimate_period=1800) as shown:

            def add(title: str) -> Advance:
                title, _, unit = plain(title).partition(" [")
                task = shown.add_task(title, total=None, unit=unit.rstrip("]"))
                return lambda done, total: shown.update(task, completed=done, total=total)

            yield add
