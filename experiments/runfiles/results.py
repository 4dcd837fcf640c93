"""Results of the quantifier, one JSON file each beside its data, and the libraries that they depend on."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from experiments.errors import ExperimentError, FileError
from experiments.options.pipeline import Quantify
from experiments.runfiles.atomic import write_json
from experiments.settings import checked
from quantify import Quantification
from quantify.series_files import split_source

LIBRARIES = ("selforg", "numpy", "scipy", "numba", "pybullet", "gymnasium", "h5py")
CHECKSUM = "checksum"
"""SHA-256 of all else that stands in a result."""


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
    return write_json(result_path(data, name), signed(document))


def read_result(data: Path, name: str = "") -> dict[str, Any] | None:
    """The result that stands beside its data, or None if there is none; refuses one that is damaged."""
    path = result_path(data, name)
    return check_result(read_json(path), path) if path.exists() else None


def read_json(path: Path) -> Any:
    """What a JSON file holds, or a clear error."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(document, ensure_ascii=False).encode()  # half a letter, which JSON can hold, is no text
        return document
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"{path} cannot be read as JSON: {error}") from error


def is_result(document: Any) -> bool:
    """Whether a document looks like a result of the quantifier."""
    return isinstance(document, dict) and {"source", "settings", "result"} <= document.keys()


def check_result(document: Any, path: Path) -> dict[str, Any]:
    """A result as it was written, with its settings as `Quantify` has them; refuses any other.

    Results of earlier versions have no checksum.
    """
    again = f"{path} is no result as it was written: {{}}; delete it, and quantify the data again"
    if not is_result(document):
        raise FileError(again.format("it holds something else"))
    if CHECKSUM in document and document != signed(document):
        raise FileError(again.format("it does not agree with its checksum"))
    kinds = {"source": str, "settings": dict, "result": dict, "versions": dict, "recording": str}
    for key, kind in kinds.items():
        if not isinstance(document.get(key, kind()), kind):
            raise FileError(again.format(f"{key} is {document[key]!r}"))
    for name, value in document["settings"].items():
        if name in Quantify.__dataclass_fields__:
            try:
                checked(Quantify, name, value, name)
            except ExperimentError as error:
                raise FileError(again.format(str(error))) from error
    return document


def quantification(document: dict[str, Any], path: Path) -> Quantification:
    """The result in a document that was checked; refuses what this version cannot read.

    Without a checksum it may have been edited by hand: then all that it says is said once, to find out.
    """
    foreign = CHECKSUM not in document
    try:
        result = Quantification.from_dict(document["result"])
        if foreign:
            result.summary()
    except Exception as error:
        if not foreign and not isinstance(error, KeyError | TypeError | ValueError):
            raise
        cannot = f"holds a result that this version cannot read ({type(error).__name__}: {error})"
        raise FileError(f"{path} {cannot}; quantify it again") from error
    return result


def signed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document of plain values with the checksum of all else that stands in it."""
    content = {key: value for key, value in document.items() if key != CHECKSUM}
    text = json.dumps(content, sort_keys=True)
    return content | {CHECKSUM: hashlib.sha256(text.encode()).hexdigest()}


def _belongs_to(path: Path) -> str:
    """Name of the file whose result stands in `path`; empty if none does."""
    with suppress(FileError):
        document = read_json(path)
        if isinstance(document, dict) and isinstance(document.get("source"), str):
            return split_source(document["source"])[0].name
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
