"""Results of tasks as files named after what they are results of, so that nothing is computed twice.

    STORE/KEY.json    a finished task: function, configuration, result, versions, cost
    STORE/KEY/        where a task keeps heavy data while it runs; removed when it has finished

KEY is the SHA-256 of function and configuration. A file appears complete or not at all; several processes,
also of different sweeps, may use one store at the same time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.errors import ExperimentError, FileError
from experiments.settings import difference, plain

# Part of every key: raise it when the meaning of stored results changes.
FORMAT = 1

Task = Callable[[Any], dict[str, Any]]
"""A pure function of a frozen dataclass, which knows everything that decides the result, seeds included."""


def task_named(name: str) -> Callable[[Task], Task]:
    """Give a task a name of its own: results are found again by it, wherever the function moves to."""

    def name_it(function: Task) -> Task:
        function.task_name = name  # type: ignore[attr-defined]
        return function

    return name_it


def task_name(function: Task) -> str:
    """The name a task was given, or else the one under which its function can be imported."""
    return str(getattr(function, "task_name", f"{function.__module__}:{function.__qualname__}"))


def task_key(function: Task, config: Any) -> str:
    """SHA-256 of a function's name and its configuration, the same on every machine."""
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise ExperimentError(f"the configuration of a task is a {type(config).__name__}, not a dataclass")
    content = {"function": task_name(function), "config": settings(config), "format": FORMAT}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def settings(config: Any) -> dict[str, Any]:
    """A configuration as plain JSON values."""
    values: dict[str, Any] = plain(dataclasses.asdict(config))
    return values


def entry_path(store: Path, key: str) -> Path:
    """Where a finished task lies."""
    return store / f"{key}.json"


def read_entry(store: Path, function: Task, config: Any) -> dict[str, Any] | None:
    """A finished task, or None if there is none; refuses a file that is not what its name says."""
    path = entry_path(store, task_key(function, config))
    try:
        entry = json.loads(path.read_text())
        wrong = _not_of(entry, function, config)
    except FileNotFoundError:
        return None
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise FileError(f"{path} is damaged ({wrong}); delete it to have it computed again")
    found: dict[str, Any] = entry
    return found


def _not_of(entry: Any, function: Task, config: Any) -> str:
    """Why an entry is none of this task; empty if it is."""
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(part), dict) for part in ("config", "result", "versions", "cost")
    ):
        return "it holds no finished task"
    if entry.get("function") != task_name(function):
        return f"it holds a result of {entry.get('function')}, not of {task_name(function)}"
    differing = difference(entry["config"], settings(config))
    return f"it holds another task: {'; '.join(differing[:3])}" if differing else ""


def write_entry(store: Path, key: str, entry: dict[str, Any]) -> None:
    """Store a finished task; whoever looks sees nothing or all of it."""
    write_text(entry_path(store, key), json.dumps(entry, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file in one move, and make sure that it is on the disk."""
    # Two machines may finish the same task at the same time: each writes a file of its own, the last stays.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise FileError(f"cannot write {path}: {error.strerror}") from error
