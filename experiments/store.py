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

from experiments.config import plain
from experiments.errors import ExperimentError, FileError

# Part of every key: raise it when the meaning of stored results changes.
FORMAT = 1

Task = Callable[[Any], dict[str, Any]]
"""A pure function of a frozen dataclass, which knows everything that decides the result, seeds included."""


def task_name(function: Task) -> str:
    """The name under which a function can be imported."""
    return f"{function.__module__}:{function.__qualname__}"


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


def read_entry(store: Path, key: str) -> dict[str, Any] | None:
    """A finished task, or None if there is none."""
    path = entry_path(store, key)
    try:
        entry: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise FileError(f"{path} is damaged ({error}); delete it to have it computed again") from error
    return entry


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
