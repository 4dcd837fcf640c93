"""What a run file must hold to be one: types, sizes and ranges of all that whoever reads it relies on.

HDF5 finds damage; what is intact and yet none of ours is found here. All raise ValueError in words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from experiments.runfiles.hdf5 import attributes


def text(attrs: Mapping[str, Any], key: str) -> str:
    """An attribute that is text."""
    if not isinstance(attrs.get(key), str):
        raise ValueError(f"its {key} is {attrs.get(key, 'missing')!r}, not text")
    return _sound(attrs[key])


def _sound(words: str) -> str:
    """Text that can be written elsewhere; bytes that are none are read as half a letter each."""
    words.encode()
    return words


def whole(attrs: Mapping[str, Any], key: str, least: int = 0) -> int:
    """An attribute that is a whole number, and not too small."""
    value = attrs.get(key)
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"its {key} is {attrs.get(key, 'missing')!r}, not a whole number from {least} on")
    return int(value)


def table(attrs: Mapping[str, Any], key: str) -> dict[str, Any]:
    """An attribute that is a JSON object."""
    try:
        found = json.loads(text(attrs, key))
    except RecursionError as error:
        raise ValueError(f"its {key} is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError(f"its {key} is {found!r}, not an object")
    return found


def check_settings(config: Mapping[str, Any]) -> None:
    """The settings of an experiment say with which body."""
    if not isinstance(config.get("body"), dict):
        raise ValueError(f"{config.get('body')!r} in place of the settings of its body")


def check_frozen(kind: str, state: Mapping[str, Any]) -> None:
    """The state of a frozen controller: C and h that fit one another. A user's own holds what it likes."""
    if not (kind.startswith("controllers.") and kind.endswith(":Frozen")):
        return
    C, h = (np.asarray(state.get(key, "missing")) for key in ("C", "h"))
    for key, array in {"C": C, "h": h}.items():
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError(f"{key} of a frozen controller is missing, or no array of finite numbers")
    if C.ndim != 2 or h.shape != C.shape[:1]:
        raise ValueError(f"C and h of a frozen controller have shapes {C.shape} and {h.shape}")


def check_recording(name: str, attrs: Mapping[str, Any]) -> None:
    """What is told of a recording."""
    if "sources" in attrs:
        table(attrs, "sources")
    rate = attrs.get("rate_hz")
    # What was salvaged may have lost its rate.
    if not isinstance(rate, int | float | np.number) or rate <= 0 or math.isinf(rate):
        raise ValueError(f"the rate of {name} is {attrs.get('rate_hz', 'missing')!r}")
    for key in ("config", "versions", "stationarity"):
        found = table(attrs, key) if key in attrs else {}
        if key == "stationarity" and found and not isinstance(found.get("verdict"), str):
            raise ValueError(f"the verdict of {name} is {found.get('verdict', 'missing')!r}")


def are_words(found: Any, columns: tuple[int, ...]) -> bool:
    """Whether an attribute is a text for each column."""
    sound = isinstance(found, tuple) and all(isinstance(one, str) for one in found)
    if sound:
        _sound("".join(found))
    return sound and columns == (len(found),)


def check_tracks(name: str, tracks: Mapping[str, Any], rows: Mapping[str, int]) -> None:
    """The tracks of a recording: numbers, as many rows as are told, a name and a unit for every column."""
    for key, data in tracks.items():
        if not isinstance(data, h5py.Dataset) or not data.shape or data.dtype.kind not in "fiu":
            raise ValueError(f"{name}/{key} is no table of numbers")
        if len(data) < rows[key]:
            raise ValueError(f"{name}/{key} has {len(data)} of {rows[key]} rows")
    for key in ("sensors", "actions"):
        if key not in tracks:
            raise ValueError(f"{name}/{key} is gone")
        if attributes(tracks[key])["every"] != 1:
            raise ValueError(f"{name}/{key} has no row for every step")
    for key in ("sensors", "actions", "measures"):
        columns = tracks[key].shape[1:] if key in tracks else ()
        for what in ("names", "units") if key in tracks else ():
            found = attributes(tracks[key]).get(what)
            if not are_words(found, columns):
                raise ValueError(f"{name}/{key} has columns {columns}, but {what} {found!r:.300}")
    # Either may be lost of what was salvaged.
    motors, sensors = tracks["actions"].shape[1], tracks["sensors"].shape[1]
    for key, shape in {"C": (motors, sensors), "h": (motors,)}.items():
        if key in tracks and tracks[key].shape[1:] != shape:
            raise ValueError(f"{name}/{key} does not fit {sensors} sensors and {motors} motors")
    if {"C", "h"} <= tracks.keys() and rows["C"] != rows["h"]:
        raise ValueError(f"{name} has {rows['C']} rows of C, but {rows['h']} of h")
