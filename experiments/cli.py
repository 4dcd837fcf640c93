"""The `selforg` command: a row per subcommand, each a settings class and a function in its own module."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.errors import DiskError, ExperimentError, nearest

# name: (module, settings, function, what it does); modules are imported when needed, so that help is quick.
COMMANDS: dict[str, tuple[str, str, str, str]] = {
    "learn": ("experiments.pipeline.learn", "Learn", "learn", "let a robot learn, freeze its controller"),
    "record": ("experiments.pipeline.record", "Record", "record", "record how frozen controllers behave"),
    "quantify": (
        "experiments.pipeline.quantify",
        "Quantify",
        "quantify",
        "measure complexity, of any series",
    ),
    "progress": (
        "experiments.studies.progress",
        "Progress",
        "progress",
        "learn, record and quantify in one go",
    ),
    "compare": (
        "experiments.studies.comparison.compare",
        "Compare",
        "compare",
        "rank controllers by complexity, over seeds",
    ),
    "learning-curve": (
        "experiments.studies.learning_curve",
        "LearningCurve",
        "learning_curve",
        "complexity against learning time, over seeds",
    ),
    "reproduce": (
        "experiments.studies.reproduction.reproduce",
        "Reproduce",
        "reproduce",
        "rebuild the paper's tables",
    ),
    "plot": ("experiments.reports.figures", "Plot", "plot", "draw the figures of results, for print"),
    "report": (
        "experiments.reports.report",
        "Report",
        "report",
        "one page with table, interactive plots and films",
    ),
    "video": ("experiments.reports.video", "Video", "video", "film a frozen behaviour"),
    "show": ("experiments.commands.show", "Show", "show", "print what a file holds"),
    "export": (
        "experiments.reports.export",
        "Export",
        "export",
        "write recordings as CSV or in Minari's layout",
    ),
    "bodies": ("experiments.commands.bodies", "Bodies", "bodies", "print the robots' data sheets, draw them"),
    "emergence": (
        "experiments.studies.emergence.trials",
        "Emergence",
        "emergence",
        "what emerges, seed by seed; controls",
    ),
    "behaviours": (
        "experiments.studies.emergence.library",
        "Behaviours",
        "behaviours",
        "list behaviours that come along",
    ),
    "doctor": ("experiments.commands.doctor", "Doctor", "doctor", "check installation and speed"),
    "salvage": (
        "experiments.runfiles.salvage",
        "Salvage",
        "salvage",
        "save what can be read of a damaged run file",
    ),
}

USAGE = "usage: selforg COMMAND [options]; `selforg COMMAND --help` explains one command"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status (2: the request cannot be fulfilled, 130: interrupted)."""
    try:
        _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        return 0
    except ExperimentError as error:
        print(f"selforg: {error}", file=sys.stderr, flush=True)
        if isinstance(error, DiskError):
            os._exit(2)
        return 2
    except BrokenPipeError:
        # Whoever read our output has gone; nothing is left to say, and nothing may be flushed at exit.
        sys.stdout = None  # type: ignore[assignment]
        return 141
    except OSError as error:
        # What the system refuses has a number; anything else is a mistake of ours, to be seen in full.
        if error.errno is None:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"selforg: {where}{error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        message = "interrupted; what was committed is safe, run the same command to go on"
        print(f"selforg: {message}", file=sys.stderr)
        return 130


def _dispatch(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return
    name, *rest = arguments
    if name == "--version":
        print(importlib.metadata.version("selforg"))
        return
    if name not in COMMANDS:
        raise ExperimentError(f"unknown command {name!r}; {nearest(name, COMMANDS)}")
    module_name, settings, function, _ = COMMANDS[name]
    module = importlib.import_module(module_name)
    run: Callable[[Any], object] = getattr(module, function)
    config = parse(getattr(module, settings), rest, f"selforg {name}")
    with warnings.catch_warnings():
        warnings.showwarning = _print_warning
        run(config)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"selforg: note: {message}", file=sys.stderr)


def parse(cls: type[Any], arguments: list[str], prog: str) -> Any:
    """Settings from `--config FILE` and from flags, which beat the file."""
    import tyro

    from experiments.settings import defaults, read_toml

    path, arguments = _take_config(arguments)
    default = defaults(cls, read_toml(path, cls) if path else {})
    note = "Every option can also come from a TOML file: --config FILE."
    description = f"{(cls.__doc__ or '').strip()}\n\n{note}"
    return tyro.cli(
        cls,
        prog=prog,
        description=description,
        args=arguments,
        default=default,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def _take_config(arguments: list[str]) -> tuple[Path | None, list[str]]:
    rest, path = [], None
    words = iter(arguments)
    for word in words:
        if word == "--config":
            path = next(words, None)
            if path is None:
                raise ExperimentError("--config needs a file name")
        elif word.startswith("--config="):
            path = word.removeprefix("--config=")
        else:
            rest.append(word)
    return (Path(path) if path else None), rest


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = [f"  {name:<{width}}  {text}" for name, (_, _, _, text) in COMMANDS.items()]
    return "\n".join(["Self-organising robots: learn, freeze, record, quantify.", "", USAGE, "", *rows])


if __name__ == "__main__":
    sys.exit(main())
