"""What was found in the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or worth knowing, about a series.

    Attributes
    ----------
    kind : str
        "outliers", "saturation", "ties", "held samples", "constant stretches", "repeated stretch", "period",
        "time", "units", "redundant columns" or "magnitude".
    sentence : str
        What, how many, where, what it does to the numbers, what to do.
    facts : dict
        The same as plain values, for programs. Samples and columns are counted from 0.

    Examples
    --------
    >>> from quantify.gate import look_over
    >>> from quantify.systems import UniformNoise
    >>> look_over(UniformNoise().sample(3000, 1).repeat(2)).findings[0].facts
    {'column': 0, 'times': 2, 'share': 0.5}
    """

    kind: str
    sentence: str
    facts: dict[str, Any]


def of_column(names: tuple[str, ...], column: int) -> str:
    """ " of 'speed'", or nothing if there is one column only."""
    return f" of {names[column]!r}" if len(names) > 1 else ""


def percent(share: float) -> str:
    """A share in words: two digits, but never 0 % or 100 % of what is not."""
    return "all" if share == 1 else f"{100 * share:.2g} %" if share < 0.99 else f"{100 * share:.4g} %"
