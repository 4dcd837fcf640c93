"""Write safely: in one move, so that nobody sees half a file, and one writer at a time."""

from __future__ import annotations

import fcntl
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


def real(path: Path) -> Path:
    """The file itself where `path` is a link to it: what is locked, replaced and written beside."""
    return path.resolve() if path.is_symlink() else path


def is_still(path: Path, descriptor: int) -> bool:
    """Whether a name still belongs to the file that is open as `descriptor`."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


@contextmanager
def replacing(
    path: Path, remedy: str = "", *, shared: bool = False, new: bool = False, old: int | None = None
) -> Iterator[Path]:
    """A name to write to; what stands there replaces `path` when the block ends well, and is gone otherwise.

    Its folder is made. If the system refuses, `path` is as it was, and the error ends with the `remedy`. Who
    writes the same file on this machine waits for the other; a name that a killed process left behind is used
    again. Of a `shared` file, which two machines may write at the same time, each writes under a name of its
    own. What others put there meanwhile is not overwritten: a `new` file must not exist by then, and `old` is
    the descriptor of the file that may be replaced.
    """
    try:
        path = real(path)
        temporary = _beside(path, f".{uuid.uuid4().hex}" if shared else "")
        if path.exists() and not path.is_file():
            raise FileError(f"{path} is no file that could be replaced; choose another name")
        path.parent.mkdir(parents=True, exist_ok=True)
        with _claimed(temporary):
            yield temporary
            with open(temporary, "rb") as raw:
                os.fsync(raw.fileno())
            if (new and path.exists()) or (old is not None and not is_still(path, old)):
                other = "exists already" if new else "is no longer the file that it was"
                raise FileError(f"{path} {other}: it was written or moved meanwhile; nothing was changed")
            os.replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, error, remedy) from error


def make_folder(path: Path) -> Path:
    """Make a folder and those above it, or say in words why not; returns it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "there is a file of this name" if isinstance(error, FileExistsError) else error.strerror
        raise FileError(f"cannot make the folder {path}: {why}; choose another place") from error
    return path


def check_writable(path: Path) -> None:
    """Find out before hours of work whether a small file can be written."""
    try:
        path.exists()  # its name may be too long
        with _claimed(_beside(real(path))), open(_beside(real(path)), "wb") as raw:
            raw.write(bytes(2**16))
    except OSError as error:
        raise cannot_write(path, error) from error


def _beside(path: Path, unique: str = "") -> Path:
    """Where a file is written before it is moved to its place."""
    # The suffix stays last: encoders choose their format by it. A long name is cut: 255 bytes is the limit.
    return path.with_name(f".{path.stem[:40]}{unique}.tmp{path.suffix}")


@contextmanager
def _claimed(temporary: Path) -> Iterator[None]:
    """Be the only one to write under a name, from nothing; it is gone afterwards."""
    while True:
        with open(temporary, "ab") as mine:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(mine, fcntl.LOCK_EX)
            if not is_still(temporary, mine.fileno()):
                continue  # whoever had it has finished: there is a new one to be had
            try:
                mine.truncate(0)
                yield
                return
            finally:
                if is_still(temporary, mine.fileno()):  # and not what the next one has made under this name
                    with suppress(OSError):
                        temporary.unlink()


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


PATIENCE = 2.0
"""How long a second writer waits [s]: the workers of a process that was just killed notice it and go."""


@contextmanager
def writing(path: Path, patience: float | None = None) -> Iterator[Path]:
    """Be the only writer of a file, under whatever name it is asked for; a second one is refused.

    What was known of the file before may have changed while this waited, for `patience` [s] at most: look
    again. Gives the file itself, if `path` is a link.
    """
    path, patience = real(path), PATIENCE if patience is None else patience
    lock = filelock.FileLock(lock_path(path))
    try:
        lock.acquire(timeout=-1 if math.isinf(patience) else patience, poll_interval=0.05)
    except filelock.Timeout as error:
        raise FileError(f"{path} is being written by another process; wait or stop it") from error
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield path
    finally:
        # Still locked: whoever waits for this one notices that it is gone and takes the next.
        lock_path(path).unlink(missing_ok=True)
        lock.release()


def is_being_written(path: Path) -> bool:
    """Whether somebody on this machine writes a file now; nothing is changed by looking."""
    try:
        with open(lock_path(real(path)), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:  # somebody has it, or the file system has no locks
        return True
    return False


def remove_stale_lock(path: Path) -> None:
    """Remove the lock that a killed process left behind, unless somebody holds it."""
    if lock_path(path).exists():
        with suppress(FileError), writing(path, 0):
            pass
