"""Check that this installation can do its work."""

import importlib.metadata
import platform
import shutil
from pathlib import Path

REQUIRED = ("numpy", "scipy", "numba", "pybullet", "gymnasium", "h5py")


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that results depend on."""
    libraries = {name: importlib.metadata.version(name) for name in REQUIRED}
    return {"python": platform.python_version()} | libraries


def doctor() -> None:
    """Print the versions in use and the free disk space."""
    for name, version in versions().items():
        print(f"{name:12s} {version}")
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    print(f"{'free disk':12s} {free:.1f} GiB")
