"""Settings of a rule: a frozen dataclass whose fields carry their range and refuse what lies outside."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np


class ControllerError(ValueError):
    """A value that a controller cannot work with; the message names it, the limit and the remedy."""


@dataclass(frozen=True)
class Range:
    """Closed interval [low, high] that a field may lie in, written ``Annotated[float, Range(0, 1)]``."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{self.low:g}, {self.high:g}]".replace("e+0", "e").replace("e-0", "e-")


@dataclass(frozen=True)
class RuleConfig:
    """Base of every rule's settings: each field is checked when the object is made.

    A field is an int or a float annotated with a `Range`, a bool, or a `Literal` choice of words, and
    has a default. That is all a settings object can hold, so it always goes into plain arrays and back.

    Raises
    ------
    ControllerError
        When a field has the wrong type or lies outside its range.
    """

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self), include_extras=True)
        for field in dataclasses.fields(self):
            _check_field(type(self).__name__, field.name, getattr(self, field.name), hints[field.name])

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Make the settings from names and values, as read from a file or a command line."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise ControllerError(
                    f"{cls.__name__} has no field {name!r}; its fields are {', '.join(known)}."
                )
        return cls(**values)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Give every field as a numeric array; words become their UTF-8 bytes."""
        return {
            field.name: (
                np.frombuffer(value.encode(), dtype=np.uint8).copy()
                if isinstance(value := getattr(self, field.name), str)
                else np.array(value)
            )
            for field in dataclasses.fields(self)
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Invert `to_arrays`."""
        values: dict[str, Any] = {}
        for name, array in arrays.items():
            array = np.asarray(array)
            values[name] = array.item() if array.ndim == 0 else array.astype(np.uint8).tobytes().decode()
        return cls.from_mapping(values)


def _check_field(owner: str, name: str, value: object, hint: Any) -> None:
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise ControllerError(
                f"{owner}.{name} = {value!r} is not one of {', '.join(map(repr, choices))}; choose one."
            )
        return
    if hint is bool:
        if not isinstance(value, bool | np.bool_):
            raise ControllerError(f"{owner}.{name} = {value!r} is not a bool; give True or False.")
        return
    kind, limits = typing.get_args(hint)
    accepted: Any = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise ControllerError(
            f"{owner}.{name} = {value!r} is not {'an int' if kind is int else 'a number'}; "
            f"give one in {limits}."
        )
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number) or number not in limits:
        raise ControllerError(f"{owner}.{name} = {value!r} is outside {limits}; choose a value within.")
