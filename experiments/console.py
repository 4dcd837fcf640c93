"""The terminal: tables on standard output; notes and progress, with rate and time left, on standard error."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.table import Column
from rich.text import Text

from experiments.feedback import Advance, Feedback, plain

FIRST_LINE, LAST_LINE = 10.0, 300.0
"""Seconds to the first line about progress where there is no terminal, and between two lines in the end."""


class _Plain(Console):
    """A console that shows text as it is: no character of it commands the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Text that is printed, or stands in a cell of a table."""
        return super().render_str(plain(text), **options)

    def on_broken_pipe(self) -> None:
        """Whoever read our output has gone: for the command line to end as it does for any other text."""
        raise BrokenPipeError


def put(*lines: object) -> None:
    """Print lines on standard output as they are; on a terminal they are wrapped at words."""
    width = room()
    for line in lines:
        text = plain(str(line))
        print(text if width is None else "\n".join(wrapped(one, width) for one in text.split("\n")))


def wrapped(line: str, width: int) -> str:
    """A line in pieces of at most so many columns; the rest stands below what follows a name.

    >>> print(wrapped("ulr    moves the weights", 18))
    ulr    moves the
           weights
    """
    name = re.match(r"\s*\S+\s{2,}", line)
    rest = len(name[0]) if name and 2 * len(name[0]) <= width else 2
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    fill.subsequent_indent = rest * " "
    return fill.fill(line) if len(line) > width else line


def console() -> Console:
    """Standard output, for results as they are ([m/s] is no markup); a file has room for wide tables."""
    screen = sys.stdout.isatty()
    width = None if screen or "COLUMNS" in os.environ else 160
    return _Plain(highlight=False, markup=False, soft_wrap=not screen, width=width)


def room() -> int | None:
    """Columns of the terminal, in which lines are wrapped at words; None elsewhere, where they stay whole."""
    return console().width if sys.stdout.isatty() else None


class _Rate(ProgressColumn):
    """Work per second; `unit` is a field of the task."""

    def render(self, task: Task) -> Text:
        speed, unit = task.speed, task.fields["unit"]
        if not speed or not unit:
            return Text("")
        slow = speed < 1
        return Text(f"{60 * speed:.2g} {unit}/min" if slow else f"{speed:,.0f} {unit}/s", style="cyan")


class _Times(ProgressColumn):
    """How long it has taken, and how long it will take; `begun` is what had been done before."""

    def render(self, task: Task) -> Text:
        passed = task.finished_time if task.finished else task.elapsed
        if passed is None:
            return Text("")
        left = time_left(passed, task.completed - task.fields["begun"], (task.total or 0) - task.completed)
        words = [span(passed), f"about {left} left" if left and not task.finished else ""]
        return Text(", ".join(filter(None, words)), style="yellow")


def time_left(passed: float, done: float, left: float) -> str:
    """How long the rest will take in words, at the mean pace so far; empty if nothing can be said.

    Not at the latest pace: work that stands still would promise its end all the while.

    >>> time_left(passed=60, done=1, left=3)
    '3 min'
    """
    return span(passed * left / done) if done > 0 and left > 0 else ""


def span(seconds: float) -> str:
    """A time as one says it.

    >>> span(7.4), span(500), span(10_000)
    ('7 s', '8 min', '2.8 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class Terminal(Feedback):
    """Notes and progress on standard error, so that a pipe sees results only."""

    def say(self, text: str) -> None:
        """Print a note."""
        _Plain(stderr=True, highlight=False, soft_wrap=True).print(text, markup=False)

    @contextmanager
    def bars(self) -> Iterator[Callable[[str], Advance]]:
        """Bars that vanish when the work is done; where there is no terminal, a line now and then."""
        screen = Console(stderr=True)
        if not (screen.is_terminal or screen.is_jupyter):
            yield self._lines
            return
        with progress_bars(screen) as shown:

            def add(title: str) -> Advance:
                title, _, unit = plain(title).partition(" [")
                task = shown.add_task(title, total=None, unit=unit.rstrip("]"), begun=0)
                begun = -1.0

                def advance(done: float, total: float) -> None:
                    nonlocal begun
                    begun = done if begun < 0 else begun
                    shown.update(task, completed=done, total=total, begun=begun)

                return advance

            yield add
            for one in shown.tasks:  # what has ended well is seen at its end
                shown.update(one.id, completed=one.total)

    def _lines(self, title: str) -> Advance:
        """A line after a while, and then more and more seldom."""
        title, _, unit = plain(title).partition(" [")
        unit = f" {unit.rstrip(']')}" if unit == "tasks]" else ""
        start = last = time.monotonic()
        wait, begun = FIRST_LINE, -1.0

        def advance(done: float, total: float) -> None:
            nonlocal last, wait, begun
            begun = done if begun < 0 else begun
            now = time.monotonic()
            if now - last < wait or done >= total:
                return
            last, wait = now, min(2 * wait, LAST_LINE)
            left = time_left(now - start, done - begun, total - done)
            far = f"{done:,.0f} of {total:,.0f}{unit}" if unit else f"{done / total:.0%}"
            words = [far, span(now - start), f"about {left} left" if left else ""]
            self.say(f"{title}: {', '.join(filter(None, words))}")

        return advance


def progress_bars(screen: Console) -> Progress:
    """Bars that fit any width: what is done, share, rate, time passed and time left."""
    return Progress(
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=2)),
        BarColumn(None, table_column=Column(ratio=2)),
        TaskProgressColumn(),
        _Rate(Column(no_wrap=True)),
        _Times(Column(no_wrap=True)),
        console=screen,
        transient=True,
        expand=True,
        speed_estimate_period=1800,  # half an hour: the rate of tasks that take minutes is a rate too
    )
