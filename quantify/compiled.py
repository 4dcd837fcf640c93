"""Where compiled kernels are kept when neither the installation nor the home can be written to."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path


def find_place() -> None:
    """Give numba a folder of its own, for this process and its children, where it would find none.

    Numba keeps compiled code beside its source or else in the user's cache, and refuses to work without one.
    The folder is private and new: code that others could have put there must not be run.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")
    places = (Path(__file__).parent / "__pycache__", home)
    if "NUMBA_CACHE_DIR" in os.environ or any(_writable(place) for place in places):
        return
    folder = tempfile.mkdtemp(prefix="selforg-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


def _writable(place: Path) -> bool:
    """Whether a folder can be written to, or made."""
    while not place.exists() and place != place.parent:
        place = place.parent
    return place.is_dir() and os.access(place, os.W_OK)
