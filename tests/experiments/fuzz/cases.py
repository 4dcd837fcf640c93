"""What a fuzz needs to know of a case: a command in a folder of its own, how it ended, and what is wrong."""

from __future__ import annotations

import importlib
import io
import os
import random
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import experiments.pipeline.loop
import experiments.reports.video
import experiments.sweeps.sweep
from experiments.cli import COMMANDS, main
from tests.experiments.children import in_child

SECONDS = 20
"""What takes longer hangs."""
BATCH = 200
"""Cases that share a child of the test: each child loads what was compiled anew."""


@dataclass(frozen=True)
class End:
    """How a command ended, and what it said."""

    status: int
    out: str
    error: str
    parser: bool = False
    """Whether the words made no sense to begin with: the parser says so in its own way."""

    @property
    def complaints(self) -> list[str]:
        """What it said on standard error, without notes."""
        return [line for line in self.error.splitlines() if not line.startswith("selforg: note: ")]


@dataclass(frozen=True)
class Case:
    """A command, and what must be true if it says that it was successful."""

    words: list[str]
    about: str
    """What is strange about it, to find the case again."""
    wrong: Callable[[End], str] = lambda end: ""
    """What is wrong with the result of a command that ended with status 0; empty if nothing is."""


Family = Callable[[random.Random, Path], Case]
"""Puts strange files into the folder and says what to do with them."""


class Enough(KeyboardInterrupt):
    """The command has gone to work; it is not waited for."""


@contextmanager
def impatiently() -> Iterator[None]:
    """Interrupt, as a user would, whatever works for longer than a moment: a day's work is no fault."""
    advance, left = experiments.pipeline.loop.Loop.advance, [1000]

    def step(self: Any, start: int, stop: int, *rest: Any, **more: Any) -> Any:
        left[0] -= stop - start
        if left[0] < 0:
            raise Enough
        return advance(self, start, stop, *rest, **more)

    def never(*_: Any, **__: Any) -> Any:
        raise Enough

    with (
        mock.patch.object(experiments.pipeline.loop.Loop, "advance", step),
        mock.patch.object(experiments.sweeps.sweep, "as_finished", never),
        mock.patch.object(experiments.reports.video, "make_body", never),
    ):
        yield


def ended(words: list[str]) -> End:
    """Run a command in this process; an exception that escapes it is its own."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error), impatiently():
        try:
            status, parser = main(words), False
        except SystemExit as end:
            status, parser = end.code if isinstance(end.code, int) else 1, True
    return End(status, out.getvalue(), error.getvalue(), parser)


def judged(case: Case) -> str:
    """What is wrong with a case; empty if nothing is."""
    try:
        end = ended(case.words)
    except BaseException:
        return f"a traceback: {traceback.format_exc()[-1500:]}"
    if end.status == 130:
        return ""
    if end.status == 0:
        return case.wrong(end)
    if end.status not in (2, 3):
        return f"status {end.status}: {end.error}"
    if end.parser:
        return "" if end.status == 2 and end.error else f"status {end.status} without a word"
    if len(end.complaints) != 1 or not end.complaints[0].startswith("selforg: "):
        return f"status {end.status}, but not one line: {end.error!r}"
    return ""


def attempt(family: Family, numbers: range, folder: Path) -> None:
    """Some cases of a family, each from its own number; fails at the first that goes wrong."""
    for place, _ in COMMANDS.values():
        importlib.import_module(f"experiments.{place}")  # once, not in every child
    for start in range(numbers.start, numbers.stop, BATCH):
        batch = range(start, min(start + BATCH, numbers.stop))
        said = in_child(lambda batch=batch: _all(family, batch, folder), seconds=6 * SECONDS)
        assert said == "all went well", said if "\n" in said else f"{last(folder)}: {said or 'it died'}"


def _all(family: Family, numbers: range, folder: Path) -> str:
    """Runs in a child; the words of the last case are known even if it kills the process."""
    note = folder / "now"
    for number in numbers:
        here = folder / "case"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        os.chdir(here)
        note.write_text(f"{family.__name__} {number}")
        # Of the processor, which may be busy with others; whoever sleeps is woken in the end.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(6 * SECONDS)
        case = family(random.Random(f"{family.__name__} {number}"), here)
        words = f"{family.__name__} {number}: {case.about}: selforg {' '.join(case.words)}"
        note.write_text(words, errors="backslashreplace")
        if wrong := judged(case):
            return f"{words}\n{wrong}"
    return "all went well"


def last(folder: Path) -> str:
    """The case that was under way."""
    return (folder / "now").read_text()
