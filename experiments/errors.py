"""The errors that a user can mend: the command line prints them as one line and ends with status 2."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class ExperimentError(ValueError):
    """A request that cannot be fulfilled; the message names the value, the limit and the remedy.

    >>> import experiments as ex
    >>> try:
    ...     ex.learn("hexapod", minutes=3, freeze=[4])
    ... except ex.ExperimentError as error:
    ...     print(error)
    --freeze 4 lies outside the experiment of 3 minutes; freeze within 0..3, or make --minutes longer
    """


class FileError(ExperimentError):
    """A file that is missing, damaged, in use, or of another kind.

    >>> import experiments as ex
    >>> try:
    ...     ex.open_run("none.h5")
    ... except ex.FileError as error:
    ...     print(str(error).partition("none.h5")[2])
     does not exist; check the name (`selforg learn` makes run files)
    """


class DiskError(FileError):
    """HDF5 failed in the middle of writing. It cannot be shut down after that: end the process at once."""


def nearest(name: str, known: Iterable[str]) -> str:
    """End of an error message about an unknown name: the nearest known one, and all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {', '.join(known)}"


class BrokenDown(ExperimentError):
    """Work that ended before its time; what there is of it was stored, with the reason."""


def where_raised(error: BaseException) -> str:
    """An exception whose words were not made for users: its type and where it was raised beside them."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError in {Path(error.filename or '?').name} line {error.lineno}: {error.msg}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(place.filename).name} line {place.lineno}: {error}"


@contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Pass on what a package refuses, in its own words: `with refusing(q.QuantifyError): ...`."""
    try:
        yield
    except kinds as error:
        raise ExperimentError(str(error)) from error


@contextmanager
def containing(what: str) -> Iterator[None]:
    """Run code of the user's: whatever it raises, an exit included, comes out in one line that says where."""
    try:
        yield
    except ExperimentError:
        raise
    except (Exception, SystemExit) as error:
        raise ExperimentError(f"{what}: {where_raised(error)}") from error
