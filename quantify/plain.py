"""Results as plain values, and back: what JSON can hold."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts only; NaN and infinity become None."""
    if isinstance(value, dict):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_plain(values: dict[str, Any], cls: type[T], optional: tuple[str, ...] = ()) -> T:
    """An instance of a flat class from its plain form.

    Lists become tuples, None becomes NaN except in `optional` fields.
    """

    def back(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(back(name, v) for v in value)
        return math.nan if value is None and name not in optional else value

    return cls(**{name: back(name, value) for name, value in values.items()})
