"""Missing values, and gaps in a column of times: refused, cut out, or filled in; always said in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from quantify.aliases import Bools, Floats
from quantify.errors import QuantifyError
from quantify.gate.finding import percent
from quantify.gate.stretches import runs, steps_and_breaks

Missing = Literal["refuse", "split", "interpolate"]
FILLED = 1.0  # at most so many filled-in samples for each measured one
UNEVEN = 0.1  # of a step: times printed with few digits are even


@dataclass(frozen=True)
class Treated:
    """Samples without missing values.

    Attributes
    ----------
    values : (N, d) float64
    t : (N,) float64 or None
        Their times.
    first : int
        Sample of the given series with which they begin.
    note : str
        What was done; empty if nothing.
    """

    values: Floats
    t: Floats | None
    first: int = 0
    note: str = ""


def treat(values: Floats, t: Floats | None, how: Missing, source: str, names: Sequence[str]) -> Treated:
    """Refuse missing values, take the longest stretch without any, or fill them in.

    Parameters
    ----------
    values : (N, d) float64
        NaN or infinity where a value is missing.
    t : (N,) float64, optional
        Times. Samples may be missing there as well; this is not refused, but found by `look_over`.
    """
    if how not in get_args(Missing):
        raise QuantifyError(f"--missing is {how!r}; it must be one of {', '.join(get_args(Missing))}")
    bad: Bools = np.asarray(~np.isfinite(values).all(axis=1))
    if bad.all():
        raise QuantifyError(f"{source}: all {len(bad):,} values of {_listed(names)} are missing")
    if how == "refuse":
        _refuse(values, bad, source, names)
        return Treated(values, t)
    return _longest(values, t, bad) if how == "split" else _filled(values, t, bad, source)


def _refuse(values: Floats, bad: Bools, source: str, names: Sequence[str]) -> None:
    if not bad.any():
        return
    holes = ~np.isfinite(values)
    of = [f"{n:,} of {name}" for n, name in zip(holes.sum(axis=0), names, strict=True) if n]
    listed = ", ".join(of[:5]) + (", ..." if len(of) > 5 else "")
    raise QuantifyError(
        f"{source}: values are missing in {bad.sum():,} of {len(bad):,} samples ({listed}), first in sample "
        f"{int(bad.argmax()):,}; --missing split takes the longest stretch without any, --missing "
        "interpolate fills them in"
    )


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _longest(values: Floats, t: Floats | None, bad: Bools) -> Treated:
    """The longest stretch of samples without missing values, and without a gap in time."""
    after = np.zeros(0, int)
    if t is not None and len(t) > 2:
        _, _, gaps, back = steps_and_breaks(t)
        after = np.union1d(gaps, back)
    if not bad.any() and not len(after):
        return Treated(values, t)
    stretches = []
    for start, length in zip(*runs(~bad), strict=True):
        inner = after[(after >= start) & (after < start + length - 1)] + 1
        edges = [start, *inner.tolist(), start + length]
        stretches += [slice(int(a), int(b)) for a, b in pairwise(edges)]
    longest = max(stretches, key=lambda one: one.stop - one.start)
    n = longest.stop - longest.start
    why = [_count(int(bad.sum()), "sample") + " with missing values"] if bad.any() else []
    why += [_count(len(after), "break") + " in time"] if len(after) else []
    note = (
        f"The series was cut at {' and '.join(why)}. Of {len(stretches):,} stretches the longest is used, "
        f"samples {longest.start:,} to {longest.stop - 1:,}, {percent(n / len(values))} of all: no delay "
        "vector reaches over a gap."
    )
    return Treated(values[longest], None if t is None else t[longest], longest.start, note)


def _filled(values: Floats, t: Floats | None, bad: Bools, source: str) -> Treated:
    """Straight lines over what is missing; with times, on even steps of time."""
    n = len(values)
    if t is None:
        if not bad.any():
            return Treated(values, t)
        place, good = np.arange(n, dtype=float), np.arange(n, dtype=float)[~bad]
    else:
        steps, median, gaps, back = steps_and_breaks(t)
        if len(back):
            raise QuantifyError(
                f"{source}: time stands still or goes back after sample {back[0]:,}, and at {len(back):,} "
                "places in all; nothing can be filled in there: use --missing split, or sort the rows"
            )
        if not bad.any() and not len(gaps) and (np.abs(steps - median) <= UNEVEN * median).all():
            return Treated(values, t)
        wanted = float((t[-1] - t[0]) / median) + 1
        if wanted > (1 + FILLED) * n:
            raise QuantifyError(
                f"{source}: even steps of time would have {wanted:,.0f} samples where {n:,} were measured; "
                "more invented than seen: use --missing split"
            )
        place, good = t[0] + median * np.arange(round(wanted)), t[~bad]
    filled = np.stack([np.interp(place, good, column[~bad]) for column in values.T], axis=1)
    far = np.interp(place, good, np.arange(len(good)))
    measured = int((np.abs(far - np.round(far)) < 1e-9).sum())
    note = (
        f"{_count(int(bad.sum()), 'sample')} had missing values; {len(place) - measured:,} of "
        f"{len(place):,} samples are straight lines between their neighbours"
        + (" on even steps of time" if t is not None else "")
        + ". What is filled in is smoother than what was measured: small scales show it."
    )
    return Treated(filled, None if t is None else place, 0, note)
