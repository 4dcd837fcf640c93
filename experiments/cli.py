"""The `selforg` command: parse, call, print. One row per subcommand."""

from __future__ import annotations

import dataclasses
import errno
import importlib
import inspect
import io
import itertools
import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from experiments.errors import BrokenDown, DiskError, ExperimentError, nearest
from experiments.feedback import plain

# The module that a command is in, and what it does. Settings and function have its name (LearningCurve,
# learning_curve); the settings are in the module of `options` that is called as the room, which is all that
# help has to import. `commands.printing` prints the result.
COMMANDS = {
    "learn": ("pipeline.learn", "let a robot learn, freeze its controller"),
    "record": ("pipeline.record", "record how frozen controllers behave"),
    "quantify": ("pipeline.quantify", "measure complexity, of any series"),
    "convergence": ("studies.convergence", "does the number still move? with embedding, delay, length"),
    "progress": ("studies.progress", "learn, record and quantify in one go"),
    "compare": ("studies.comparison.compare", "rank controllers by complexity, over seeds"),
    "learning-curve": ("studies.learning_curve", "complexity against learning time, over seeds"),
    "explore": ("studies.atlas.explore", "many bodies and rules: where does complexity grow?"),
    "reproduce": ("studies.reproduction.reproduce", "rebuild the paper's tables"),
    "plot": ("reports.figures", "draw the figures of results, for print"),
    "report": ("reports.report", "one page with table, interactive plots and films"),
    "video": ("reports.video", "film a frozen behaviour"),
    "runs": ("studies.inventory", "list every run, recording, result and study below a folder"),
    "show": ("commands.looking", "print what a file holds"),
    "export": ("reports.export", "write recordings as CSV or in Minari's layout"),
    "robots": ("commands.kinds", "list the robots, and what can be changed of one"),
    "rules": ("commands.kinds", "list the learning rules, and what can be changed of one"),
    "explain": ("commands.kinds", "say what a quantity means: E_core, kappa, eps, ..."),
    "bodies": ("commands.looking", "print the robots' data sheets, draw them"),
    "emergence": ("studies.emergence.emergence", "what emerges, seed by seed; controls"),
    "behaviours": ("commands.looking", "list behaviours that come along and your own, keep one"),
    "doctor": ("commands.looking", "check installation and speed"),
    "salvage": ("commands.looking", "save what can be read of a damaged run file"),
}
USAGE = "usage: selforg COMMAND [options]; `selforg COMMAND --help` explains one command"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Output:
    """What every command has."""

    json: bool = dataclasses.field(default=False, metadata={"aside": True})
    """Print the result as JSON."""
    quiet: bool = dataclasses.field(default=False, metadata={"aside": True})
    """Say nothing while working."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status.

    2: the request cannot be fulfilled; 3: a run broke down, what there is of it was stored; 130: interrupted.
    """
    _make_streams_safe()
    try:
        _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return 0
    except ExperimentError as error:
        _complain(str(error))
        if isinstance(error, DiskError):
            os._exit(2)
        return 3 if isinstance(error, BrokenDown) else 2
    except BrokenPipeError:
        # Whoever read our output has gone; nothing is left to say, and nothing may be flushed at exit.
        _let_output_go()
        return 141
    except OSError as error:
        # What the system refuses has a number; anything else is a mistake of ours, to be seen in full.
        if error.errno is None:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        closed = error.errno == errno.EBADF
        _complain("standard output is closed" if closed else f"{where}{error.strerror}")
        if error.filename is None:
            _let_output_go()
        return 2
    except MemoryError:
        _complain("there is not enough memory for this; ask for less at a time")
        return 2
    except KeyboardInterrupt:
        _complain("interrupted; what was committed is safe, run the same command to go on")
        return 130


def _let_output_go() -> None:
    """Let what was not written go nowhere: it is tried again when the stream is closed at the end."""
    with suppress(OSError, ValueError):  # of a stream that is no file
        if sys.stdout.fileno() == 1:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _make_streams_safe() -> None:
    """Make sure that everything can be printed, or is refused in words, whoever started this and how."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Closed: the next file to be opened would get the number, and what libraries print.
            os.open(os.devnull, os.O_RDONLY if number < 2 else os.O_WRONLY)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # and no letter is unknown to an encoding
            stream.reconfigure(errors="backslashreplace")
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and not 40 <= int(columns) <= 1000:
        # Help hangs in a few columns, and a table of none is empty; 0 is what a terminal without a size says.
        os.environ["COLUMNS"] = str(min(max(int(columns) or 80, 40), 1000))


def _complain(words: str) -> None:
    """One line on standard error."""
    print("selforg:", plain(" ".join(words.splitlines())), file=sys.stderr, flush=True)


def _dispatch(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        width = max(map(len, COMMANDS))
        rows = [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
        print("Self-organising robots: learn, freeze, record, quantify.", "", USAGE, "", *rows, sep="\n")
        return
    name, *rest = arguments
    if name == "--version":
        from importlib.metadata import version

        print(version("selforg"))
        return
    if name not in COMMANDS:
        raise ExperimentError(f"unknown command {name!r}; {nearest(name, COMMANDS)}")
    place, function = COMMANDS[name][0], name.replace("-", "_")
    options = importlib.import_module(f"experiments.options.{place.partition('.')[0]}")
    config = parse(getattr(options, name.title().replace("-", "")), rest, f"selforg {name}")
    module = importlib.import_module(f"experiments.{place}")
    from experiments.commands import printing
    from experiments.console import Terminal
    from experiments.feedback import SILENT
    from quantify.plain import to_plain

    feedback = SILENT if config.quiet else Terminal()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _complain(f"note: {message}")
        result = getattr(module, function)(config, feedback)
        failed = printing.failures(name, result)
        if config.json and (result or not failed):
            found = to_plain(result.to_dict() if hasattr(result, "to_dict") else result)
            text = json.dumps(found, indent=1, allow_nan=False, default=lambda one: to_plain(one.to_dict()))
            print(text)
        elif not config.json and hasattr(printing, function):
            getattr(printing, function)(result, config, feedback)
        if not config.json and not failed and (line := printing.what_next(name, result, config)):
            feedback.say(line)
        # What failed is said after what was found.
        if failed:
            raise failed[0]


def parse(cls: type[Any], arguments: list[str], prog: str) -> Any:
    """Settings from `--config FILE` and from flags, which beat the file; with `json` and `quiet` added."""
    import tyro

    from experiments.settings import read_toml, settings, unfilled

    combined: type[Any] = settings(type(cls.__name__, (cls, Output), {"__annotations__": {}}))
    path, rest = _take_config(arguments)
    default = unfilled(combined, read_toml(path, combined) if path else {})
    about = f"{inspect.getdoc(cls)}\n\nEvery option can also come from a TOML file: --config FILE."
    pairs_off = (tyro.conf.FlagCreatePairsOff,)
    try:
        return tyro.cli(combined, prog=prog, description=about, args=rest, default=default, config=pairs_off)
    except SystemExit as end:
        if not end.code and {"-h", "--help"} & set(rest) and hasattr(default, "rule"):
            print("\n" + _choices(default, rest))
        raise


def _choices(default: Any, words: list[str]) -> str:
    """What robots, rules and settings there are, of those that a command line with --help names."""
    from experiments.options.keys import keys_in_words

    given = dict(itertools.pairwise(words))
    robot = words[0] if not words[0].startswith("-") else getattr(default, "robot", None)
    named = robot if isinstance(robot, str) else None
    return keys_in_words(named, given.get("--controller", default.controller))


def _take_config(arguments: list[str]) -> tuple[Path | None, list[str]]:
    path, rest, words = None, [], iter(arguments)
    for word in words:
        flag, _, name = word.partition("=")
        if flag != "--config":
            rest.append(word)
        elif not (path := name or next(words, None)):
            raise ExperimentError("--config needs a file name")
    return (Path(path) if path else None), rest


if __name__ == "__main__":
    sys.exit(main())
