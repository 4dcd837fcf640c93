"""Results of the quantifier, one JSON file each beside its data, and the libraries that they depend on."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.runfiles.atomic import write_json
from quantify.series_files import split_source

LIBRARIES = ("selforg", "numpy", "scipy", "numba", "pybullet", "gymnasium", "h5py")


@functools.cache  # looking it up takes longer than a small task
def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # PyBullet, where MuJoCo takes its place
        return ""


def result_path(data: Path, name: str = "") -> Path:
    """Where the result of a file goes: data.csv -> data.complexity.json, or run.8min.complexity.json.

    Where such a file holds the result of other data (data.npy), it is data.csv.complexity.json.
    """
    short, long = (
        data.with_name(".".join(part for part in (first, name, "complexity", "json") if part))
        for first in (data.stem, data.name)
    )
    return short if _belongs_to(short) in ("", data.name) else long


def write_result(data: Path, name: str, document: dict[str, Any]) -> Path:
    """Write a result beside its data; returns where it is."""
    return write_json(result_path(data, name), document)


def read_result(data: Path, name: str = "") -> dict[str, Any] | None:
    """The result that stands beside its data, or None if there is none."""
    try:
        document = json.loads(result_path(data, name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and "result" in document else None


def _belongs_to(path: Path) -> str:
    """Name of the file whose result stands in `path`; empty if none does."""
    try:
        return split_source(json.loads(path.read_text(encoding="utf-8"))["source"])[0].name
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def versions(engine: str | None = None) -> dict[str, str]:
    """Versions of Python and of the libraries that results depend on, one of them the engine of the body."""
    named = [engine if name == "pybullet" and engine else name for name in LIBRARIES]
    return {"python": platform.python_version()} | {
        name: found for name in named if (found := _version(name))
    }


def other_versions(stored: Mapping[str, str]) -> str:
    """Which libraries have changed since, such as "numpy 2.4.5, now 2.4.6"; empty if none has."""
    now = versions("mujoco" if "mujoco" in stored else None)
    names = [name for name in {**stored, **now} if stored.get(name) != now.get(name)]
    return ", ".join(
        f"{name} {stored.get(name, 'absent')}, now {now.get(name, 'not looked at')}" for name in names
    )
