"""Where compiled kernels are kept when neither the installation nor the home can be written to.

`controllers` and `quantify` do not know each other: each has this module, word for word.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import numba


def find_place() -> None:
    """Give numba a folder, for this process and its children, where it finds none.

    Numba keeps compiled code beside its source or else in the user's cache, and refuses to declare a kernel
    without one. Compiling takes a minute: the folder is the same for all commands of a user.
    """
    try:
        numba.njit(cache=True)(find_place)
    except RuntimeError:
        place = str(_private(Path(tempfile.gettempdir(), f"selforg-{os.geteuid()}")))
        numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = place  # type: ignore[attr-defined]
        os.environ.setdefault("MPLCONFIGDIR", place)  # for whoever draws: it has the same need


def _private(folder: Path) -> Path:
    """A folder that nobody else could have put code into; a new one if this is not such."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    if not mine:
        folder = Path(tempfile.mkdtemp(prefix="selforg-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
