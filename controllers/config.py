"""Settings of a rule: a frozen dataclass whose fields carry their range and refuse what lies outside."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

import numpy as np

from controllers.errors import ControllerError

SWITCHED = 0.25
"""Share of switches, choices and zeros that are drawn anew when settings are tried out."""
Rates = TypeVar("Rates", bound=tuple[Any, ...])


@dataclass(frozen=True)
class Range:
    """Closed interval [low, high] that a field may lie in, written ``Annotated[float, Range(0, 1)]``.

    `on` is the usual size of what 0 switches off, for those who try out settings: without it a 0 stays 0, and
    what is not 0 is not switched off.

    Examples
    --------
    >>> from controllers import Range
    >>> 0.5 in Range(0, 1), 2 in Range(0, 1), str(Range(0, 1e6))
    (True, False, '[0, 1e6]')
    """

    low: float
    high: float
    on: float = 0.0

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

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import typing
    >>> from controllers import Range, RuleConfig
    >>> @dataclass(frozen=True)
    ... class OjaConfig(RuleConfig):
    ...     eps: typing.Annotated[float, Range(0, 1)] = 0.01
    >>> OjaConfig.from_mapping({"eps": 0.2})
    OjaConfig(eps=0.2)
    >>> OjaConfig.from_arrays(OjaConfig().to_arrays()) == OjaConfig()
    True
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

    @classmethod
    def varied(cls, values: Mapping[str, Any], rng: np.random.Generator, factor: float) -> dict[str, Any]:
        """Names and values in which every number is multiplied by a factor of its own, and some are switched.

        Factors lie between 1/`factor` and `factor`, evenly on a logarithmic scale; numbers are kept within
        their range, and ints at 1 or more. One in four of what can be switched is: a bool, a choice, to
        another of its words, and a number whose range states what it is when `on`, from 0 or to 0.

        Examples
        --------
        >>> import numpy as np
        >>> from controllers import SineConfig
        >>> changed = SineConfig.varied({"period": 1.5}, np.random.default_rng(1), factor=4.0)
        >>> 1.5 / 4 <= changed["period"] <= 1.5 * 4
        True
        """
        hints = typing.get_type_hints(cls, include_extras=True)
        found = dict(values)
        for name, value in values.items():
            # two draws for every setting, so that what one rule draws does not depend on its values
            times, switched = factor ** rng.uniform(-1.0, 1.0), rng.random()
            found[name] = _varied(value, hints[name], times, switched < SWITCHED, switched / SWITCHED)
        return found

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
            try:
                values[name] = array.item() if array.ndim == 0 else array.astype(np.uint8).tobytes().decode()
            except UnicodeDecodeError as error:
                raise ControllerError(
                    f"stored {name} is not a word ({error}); the state is mixed up."
                ) from error
        return cls.from_mapping(values)

    def rates(self, kind: type[Rates]) -> Rates:
        """Give the fields that a NamedTuple of numbers asks for, each as exactly the type that it states.

        Kernels take their rates as such a tuple. Numba compiles anew for every type, so an int where the
        tuple states a float is made a float here, once.
        """
        return kind(**{name: hint(getattr(self, name)) for name, hint in typing.get_type_hints(kind).items()})


def _varied(value: Any, hint: Any, times: float, switch: bool, which: float) -> Any:
    """A value of a field as `RuleConfig.varied` draws it; `which` in [0, 1) tells which other word."""
    if typing.get_origin(hint) is Literal:
        others = [word for word in typing.get_args(hint) if word != value]
        return others[int(which * len(others))] if switch and others else value
    if hint is bool:
        return bool(value) != switch
    kind, *limits = typing.get_args(hint) or (None,)
    if kind not in (int, float) or not isinstance(limits[0], Range):
        return value
    if switch and limits[0].on:
        value = 0 if value else limits[0].on
    number = min(max(value * times, limits[0].low), limits[0].high)
    if not value:
        return value if kind is int else 0.0
    return max(1, round(number)) if kind is int else float(number)


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
