"""Write safely: in one move, so that nobody sees half a file, and one writer at a time."""

from __future__ import annotations

import json
import math
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock

from experiments.errors import FileError


@contextmanager
def replacing(path: Path, remedy: str = "", shared: bool = False) -> Iterator[Path]:
    """A name to write to; what stands there replaces `path` when the block ends well, and is gone otherwise.

    Its folder is made. If the system refuses, `path` is as it was, and the error ends with the `remedy`. Of a
    `shared` file, which two machines may write at the same time, each writes under a name of its own; without
    it a name that a killed process left behind is used again.
    """
    unique = f".{uuid.uuid4().hex}" if shared else ""
    # The suffix stays last: encoders choose their format by it.
    temporary = path.with_name(f".{path.stem}{unique}.tmp{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with open(temporary, "rb") as raw:
            os.fsync(raw.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, error, remedy) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def cannot_write(path: Path, error: Exception, remedy: str = "") -> FileError:
    """The error for a file that the system refuses to write."""
    number = getattr(error, "errno", None)
    detail = os.strerror(number) if number else str(error).partition("\n")[0]
    return FileError(f"cannot write {path}: {detail}" + (f"; {remedy}" if remedy else ""))


def write_text(path: Path, text: str, shared: bool = False) -> Path:
    """Write a text in one move; returns where it is."""
    with replacing(path, shared=shared) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, document: Any, shared: bool = False) -> Path:
    """Write plain values (see `quantify.plain.to_plain`) as JSON in one move; returns where it is."""
    return write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n", shared)


def lock_path(path: Path) -> Path:
    """The lock of a file."""
    return path.with_name(path.name + ".lock")


@contextmanager
def writing(path: Path, patience: float = 2.0) -> Iterator[None]:
    """Be the only writer of `path`; a second one is refused.

    `patience` [s] lets the workers of a process that was just killed notice it and go.
    """
    lock = filelock.FileLock(lock_path(path))
    try:
        lock.acquire(timeout=-1 if math.isinf(patience) else patience, poll_interval=0.05)
    except filelock.Timeout as error:
        raise FileError(f"{path} is being written by another process; wait or stop it") from error
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield
    finally:
        # Still locked: whoever waits for this one notices that it is gone and takes the next.
        lock_path(path).unlink(missing_ok=True)
        lock.release()


def remove_stale_lock(path: Path) -> None:
    """Remove the lock that a killed process left behind, unless somebody holds it."""
    if lock_path(path).exists():
        with suppress(FileError), writing(path, 0):
            pass
