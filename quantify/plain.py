"""Results as plain values, and back: what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, TypeVar, overload

import numpy as np

T = TypeVar("T")


@overload
def to_plain(value: Mapping[Any, Any]) -> dict[str, Any]: ...


@overload
def to_plain(value: Any) -> Any: ...


def to_plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts only: what JSON can hold.

    Arrays and tuples become lists, mappings dicts with strings as keys, paths strings; NaN and infinity
    become None. Values of other types are left as they are.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> import numpy as np
    >>> to_plain({"C": np.array([0.5, np.nan]), "file": PurePosixPath("runs/a.h5"), 2: (1, np.int64(3))})
    {'C': [0.5, None], 'file': 'runs/a.h5', '2': [1, 3]}
    """
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested mapping as one level, with keys that are joined by dots.

    Examples
    --------
    >>> flat({"seed": 1, "common": {"E_core": 2.0}})
    {'seed': 1, 'common.E_core': 2.0}
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def from_plain(values: dict[str, Any], cls: type[T], optional: tuple[str, ...] = ()) -> T:
    """An instance of a flat class from its plain form.

    Lists become tuples, None becomes NaN except in `optional` fields.

    Examples
    --------
    >>> from quantify import ScalingFit
    >>> fit = from_plain({"D": 1.2, "const": None, "eps": [0.1, 1.0], "i": [0, 5], "n_points": 6}, ScalingFit)
    >>> fit.const, fit.eps
    (nan, (0.1, 1.0))
    """

    def back(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(back(name, v) for v in value)
        return math.nan if value is None and name not in optional else value

    return cls(**{name: back(name, value) for name, value in values.items()})
