"""Times of samples: the rate that a column of times tells, and positions in samples or in seconds."""

from __future__ import annotations

import re

import numpy as np

from quantify.aliases import Floats
from quantify.errors import QuantifyError
from quantify.series_files.table import Column, Table

Position = int | str
"""A place in a series: a number of samples, or a time after its beginning such as "150s", "2.5min", "1h"."""
TIME_NAMES = {"time", "t", "timestamp", "datetime", "date", "seconds", "elapsed", "zeit", "datum"}
UNITS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
UNITS |= {"min": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0}
# Seconds since 1970 have ten digits today, milliseconds thirteen.
EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
RISING = 0.9  # share of steps that must go on in time


def time_candidates(table: Table) -> list[int]:
    """Columns that are called as times are ("time"), then those whose names begin so ("time_utc")."""
    stems = [_stem_and_unit(name)[0] for name in table.names]
    begun = [re.split(r"[\W_]+", stem)[0] for stem in stems]
    exact = [i for i, stem in enumerate(stems) if stem in TIME_NAMES]
    return exact + [i for i, word in enumerate(begun) if word in TIME_NAMES - {"t"} and i not in exact]


def _stem_and_unit(name: str) -> tuple[str, str]:
    """ "Time [ms]", "time (ms)" and "time_ms" are the time in ms."""
    text = name.strip().lower()
    match = re.fullmatch(r"(.*?)[\s_]*[\[(]\s*([^\])]*)\s*[\])]", text) or re.fullmatch(
        r"(.*)[ _](\w+)", text
    )
    if match and match[2] in UNITS:
        return match[1].strip(), match[2]
    return text, ""


def as_seconds(column: Column, name: str) -> Floats | None:
    """Seconds after the first sample; None if these are no times that go on."""
    t = column.values
    if column.kind == "text" or len(t) < 3 or not np.isfinite(t).all():
        return None
    _, unit = _stem_and_unit(name)
    scale = UNITS.get(unit, 1.0)
    if column.kind == "number" and not unit:
        scale = next((factor for least, factor in EPOCHS if abs(t[0]) >= least), 1.0)
    t = (t - t[0]) * scale
    steps = np.diff(t)
    return t if (steps > 0).mean() >= RISING else None


def median_rate(t: Floats) -> float:
    """Samples per second, to the six digits that times tell."""
    return float(f"{1 / np.median(np.diff(t)):.6g}")


def sample_of(position: Position, flag: str, rate: float | None, t: Floats | None = None) -> int:
    """The sample at a position.

    Examples
    --------
    >>> from quantify.series_files.times import sample_of
    >>> sample_of(7500, "start", None), sample_of("7500", "start", None), sample_of("1.5min", "start", 50.0)
    (7500, 7500, 4500)
    """
    text = str(position).strip()
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)", text)
    if not match or (match[2] and match[2] not in UNITS) or (not match[2] and not match[1].isdigit()):
        raise QuantifyError(
            f"--{flag} is {text[:40]!r}; give a number of samples, such as 7500, or a time after the "
            "beginning, such as 150s or 2.5min"
        )
    if not match[2]:
        return int(match[1][:18])
    seconds = float(match[1]) * UNITS[match[2]]
    if t is not None:
        return int(np.searchsorted(t, seconds - 1e-9))
    if rate is None:
        raise QuantifyError(
            f"--{flag} {text} is a time, and how many samples there are in a second is not known: name the "
            "column of times with --time, give --rate, or count in samples"
        )
    return round(min(seconds * rate, 1e18))


def cut(
    n: int,
    start: Position,
    stop: Position | None,
    source: str,
    rate: float | None = None,
    t: Floats | None = None,
) -> slice:
    """The part of a series from `start` up to `stop`."""
    first = sample_of(start, "start", rate, t)
    last = n if stop is None else min(sample_of(stop, "stop", rate, t), n)
    if first >= n:
        raise QuantifyError(f"--start {start} is beyond the {n:,} samples of {source}")
    if last <= first:
        raise QuantifyError(
            f"--start {start} and --stop {stop} leave none of the {n:,} samples of {source}; stop later"
        )
    return slice(first, last)
