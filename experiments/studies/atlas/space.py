"""The space of an exploration: which settings of body and rule are drawn, and between which limits.

    [body]
    gravity = { choices = [6.0, 8.0, 9.81] }
    knee_limit = { range = [0.5, 1.2] }          # any value between, all alike
    servo_speed = { log_range = [15.0, 40.0] }   # every factor alike
    noise = 0.01                                 # for all the same

    [rule]
    d = { range = [3, 7] }                       # whole numbers, because the ends are

Every setting is a point of the unit cube, one coordinate for each axis; what is not named keeps its default.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from experiments.errors import ExperimentError, nearest
from quantify.aliases import Floats

KINDS = ("range", "log_range", "choices")
DIGITS = 4
"""Significant digits of a drawn value: what stands in a command can be typed."""
Point = dict[str, dict[str, Any]]
"""Settings of "body" and of "rule"."""


@dataclass(frozen=True)
class Axis:
    """A setting that is drawn.

    >>> Axis("rule", "eps", log=True, low=0.001, high=0.1).value(0.5)
    0.01
    >>> [Axis("body", "gravity", choices=(6.0, 9.81)).value(u) for u in (0.0, 0.49, 0.5, 1.0)]
    [6.0, 6.0, 9.81, 9.81]
    """

    part: str
    name: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    whole: bool = False
    choices: tuple[Any, ...] = ()

    def value(self, u: float) -> Any:
        """The setting at a coordinate in [0, 1]."""
        if self.choices:
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        if self.whole:  # each whole number has an equal part
            return min(int(self.low + u * (self.high - self.low + 1)), int(self.high))
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        found = low + u * (high - low)
        return float(f"{math.exp(found) if self.log else found:.{DIGITS}g}")


@dataclass(frozen=True)
class Space:
    """Settings that are drawn, and settings that differ from the defaults and are the same for all."""

    axes: tuple[Axis, ...]
    held: Point

    def at(self, u: Floats) -> Point:
        """The settings at a point of the unit cube."""
        found: Point = {part: dict(values) for part, values in self.held.items()}
        for axis, coordinate in zip(self.axes, u, strict=True):
            found[axis.part][axis.name] = axis.value(float(coordinate))
        return found

    def design(self, n: int, seed: int) -> Floats:
        """(n, axes) points that fill the unit cube evenly; the first of a larger design are those of this.

        A scrambled Sobol sequence.
        """
        sequence = qmc.Sobol(len(self.axes), rng=np.random.default_rng(seed))
        return np.asarray(sequence.random_base2(max(0, math.ceil(math.log2(n))))[:n])


def read_space(path: Path) -> Space:
    """The space in a TOML file; refuses what is none, and says what would be."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExperimentError(f"cannot read the space {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path} is not valid TOML: {error}") from error
    axes: list[Axis] = []
    held: Point = {"body": {}, "rule": {}}
    for part, content in table.items():
        if part not in held or not isinstance(content, dict):
            raise ExperimentError(f"{path}: {part!r} is neither [body] nor [rule]")
        for name, value in content.items():
            if isinstance(value, dict):
                axes.append(_axis(part, name, value, f"{path}: {part}.{name}"))
            else:
                held[part][name] = value
    if not axes:
        raise ExperimentError(f"{path} draws nothing; write NAME = {{ range = [LOW, HIGH] }} below [body]")
    return Space(tuple(axes), held)


def _axis(part: str, name: str, given: Mapping[str, Any], where: str) -> Axis:
    if len(given) != 1 or next(iter(given)) not in KINDS:
        known = nearest(next(iter(given), ""), KINDS)
        raise ExperimentError(f"{where}: one of range, log_range or choices is needed; {known}")
    ((kind, ends),) = given.items()
    if kind == "choices":
        if not isinstance(ends, list) or len(ends) < 2:
            raise ExperimentError(f"{where}: choices = {ends!r}; a list of two or more is needed")
        return Axis(part, name, choices=tuple(ends))
    numbers = isinstance(ends, list) and all(type(end) in (int, float) for end in ends)
    if not numbers or len(ends) != 2 or not -math.inf < ends[0] < ends[1] < math.inf:
        raise ExperimentError(f"{where}: {kind} = {ends!r}; [LOW, HIGH] with LOW < HIGH is needed")
    low, high = ends
    if kind == "log_range" and low <= 0:
        raise ExperimentError(f"{where}: log_range = {ends!r}; both ends must be greater than 0")
    whole = kind == "range" and all(isinstance(end, int) for end in ends)
    return Axis(part, name, float(low), float(high), kind == "log_range", whole)
