"""Read back what experiments left behind: behaviours and learning runs, ready to be drawn or reported."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py

from experiments.errors import FileError
from experiments.reports.behaviours import Behaviour, behaviour_from_json, behaviour_of, beside, run_words
from experiments.reports.learning_phase import LearningRun, learning_of
from experiments.runfiles import run_file as log


@dataclass(frozen=True)
class Results:
    """Everything that was found in the files, in their order."""

    behaviours: list[Behaviour]
    learning: list[LearningRun]


def read_results(files: Iterable[Path]) -> Results:
    """Read run files, results (`*.complexity.json`) and tables of learning progress (`*-progress.json`).

    Raises
    ------
    FileError
        When a file is missing, damaged, or holds something else.
    """
    found = Results([], [])
    seen: set[Path] = set()
    for path in files:
        for part in _read(path):
            if isinstance(part, Behaviour):
                if not any(_same(part, other) for other in found.behaviours):
                    found.behaviours.append(part)
            elif part.path.resolve() not in seen:
                seen.add(part.path.resolve())
                found.learning.append(part)
    return found


def _same(a: Behaviour, b: Behaviour) -> bool:
    """The same measurement, once from the run file and once from the JSON beside it."""
    if a.run is None or b.run is None or a.run.resolve() != b.run.resolve():
        return False
    return a.name == b.name and a.settings == b.settings


def _read(path: Path) -> list[Behaviour | LearningRun]:
    if path.suffix == ".h5" or (path.is_file() and h5py.is_hdf5(path)):
        return _read_run(path)
    if path.suffix == ".json":
        return _read_json(path)
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    raise FileError(
        f"{path} holds no results; give run files, *.complexity.json or *-progress.json "
        f"(`selforg quantify {shlex.quote(str(path))}` makes a result of a series)"
    )


def _read_json(path: Path) -> list[Behaviour | LearningRun]:
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read as JSON: {error}") from error
    if isinstance(document, dict) and {"source", "settings", "result"} <= document.keys():
        return [behaviour_from_json(path, document)]
    rows = document.get("rows") if isinstance(document, dict) else None
    if isinstance(rows, list) and all(isinstance(row, dict) and "run" in row for row in rows):
        runs = dict.fromkeys(row["run"] for row in rows)
        return [part for run in runs for part in _read_run(beside(path, Path(run)))]
    raise FileError(
        f"{path} is no result of `selforg quantify` or `selforg progress`; "
        "give run files, *.complexity.json or *-progress.json"
    )


def _read_run(path: Path) -> list[Behaviour | LearningRun]:
    with log.open_run(path) as run:
        learning = learning_of(run)
        names = list(run.frozen) + [name for name in run.behaviours if name not in run.frozen]
        if not names:
            missing = f"no controller was frozen: {learning.problem or 'no freeze time was asked for'}"
            return [learning, Behaviour(run.path.stem, run_words(run), missing, seed=run.seed, run=path)]
        return [learning, *(behaviour_of(run, name, run.results.get(name)) for name in names)]


def learned(behaviours: Sequence[Behaviour]) -> list[Behaviour]:
    """The behaviours of runs with a result and a freeze time, by time: what makes a curve of progress."""
    return sorted(
        (b for b in behaviours if b.result is not None and b.minutes is not None),
        key=lambda b: b.minutes or 0.0,
    )
