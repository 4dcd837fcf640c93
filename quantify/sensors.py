"""Each sensor of a recording by itself: one number for each, and do they agree?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from quantify.aliases import Progress
from quantify.errors import QuantifyError
from quantify.quantification import Quantification, quantify
from quantify.series_files import Series, series_of

HEADINGS = ("sensor", "E_core", "95 % interval", "E_state", "E_mem", "D", "scales", "agrees")


@dataclass(frozen=True)
class Agreement:
    """Whether sensors that watch one behaviour say the same of it.

    A sensor agrees if its 95 % interval holds the median of all sensors' E_core. Sensors without a scaling
    region have another kind of number (all of it memory, at vanishing scales), and are not asked.

    Attributes
    ----------
    median : float
        Of E_core over the sensors with a scaling region; NaN if there is none.
    scatter : float
        Standard deviation of E_core over these sensors.
    expected : float
        What their sampling errors alone would make: the root mean square of these.
    agree, differ, without : tuple of str
        Sensors whose interval holds the median; those whose does not; those without a scaling region.
    """

    median: float
    scatter: float
    expected: float
    agree: tuple[str, ...]
    differ: tuple[str, ...]
    without: tuple[str, ...]

    @classmethod
    def of(cls, results: Mapping[str, Quantification]) -> Agreement:
        """The agreement of some results by the name of the sensor."""
        asked = {name: one.E_core for name, one in results.items() if one.scaling_region}
        values = np.array([e.value for e in asked.values()])
        middle = float(np.median(values)) if len(values) else math.nan
        sure = {name: e for name, e in asked.items() if math.isfinite(e.sampling)}
        agree = [name for name, e in sure.items() if e.interval[0] <= middle <= e.interval[1]]
        errors = np.array([e.sampling for e in sure.values()])
        return cls(
            median=middle,
            scatter=float(values.std(ddof=1)) if len(values) > 1 else math.nan,
            expected=float(np.sqrt((errors**2).mean())) if len(errors) else math.nan,
            agree=tuple(agree),
            differ=tuple(name for name in sure if name not in agree),
            without=tuple(name for name in results if name not in asked),
        )

    @property
    def sentence(self) -> str:
        """The agreement in words."""
        n = len(self.agree) + len(self.differ)
        aside = (
            f" {_count(len(self.without))} no scaling region: {', '.join(self.without)}."
            if self.without
            else ""
        )
        if math.isnan(self.scatter):
            return f"Fewer than two sensors have a scaling region: there is nothing to compare.{aside}"
        scatter = f"E_core scatters by {self.scatter:.2f} nats between sensors"
        if not n:
            return f"{scatter}, around {self.median:.2f}; there are no intervals to judge it by.{aside}"
        differ = f" Not in: {', '.join(self.differ)}." if self.differ else ""
        return (
            f"The median of E_core, {self.median:.2f} nats, lies in the 95 % interval of {len(self.agree)} "
            f"of {n} sensors.{differ} {scatter}, {self.expected:.2f} would be chance alone.{aside}"
        )


def _count(n: int) -> str:
    return "1 sensor has" if n == 1 else f"{n} sensors have"


@dataclass(frozen=True)
class Sensors(Mapping[str, Quantification]):
    """The results of each sensor, by its name, and their agreement.

    Examples
    --------
    Both coordinates of the Hénon map see the same dynamics:

    >>> from quantify import quantify_each
    >>> from quantify.systems import Henon
    >>> found = quantify_each(Henon().sample(8000, 1), names=["x", "y"], m_max=5, replicates=20)
    >>> list(found), found.agreement.agree
    (['x', 'y'], ('x', 'y'))
    """

    results: dict[str, Quantification] = field(default_factory=dict)
    failures: dict[str, QuantifyError] = field(default_factory=dict)
    """Why a sensor has no result."""

    def __getitem__(self, name: str) -> Quantification:
        return self.results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def agreement(self) -> Agreement:
        """Do the sensors say the same?"""
        return Agreement.of(self.results)

    def rows(self) -> list[list[str]]:
        """The table under `HEADINGS`, in words."""
        agreement = self.agreement
        return [
            *(_row(name, one, agreement) for name, one in self.results.items()),
            *([name, "none", *[""] * 5, str(error)] for name, error in self.failures.items()),
        ]

    def summary(self) -> str:
        """The table and the agreement as text."""
        rows = [list(HEADINGS), *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS) - 1)]
        lines = [
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(c.rjust(w) for c, w in zip(row[1:-1], widths[1:], strict=True)),
                    row[-1],
                ]
            )
            for row in rows
        ]
        return "\n".join([*(line.rstrip() for line in lines), self.agreement.sentence])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows()
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{escape(self.agreement.sentence)}</p>"


def _row(name: str, one: Quantification, agreement: Agreement) -> list[str]:
    core = one.E_core
    interval = "{:.2f} to {:.2f}".format(*core.interval) if math.isfinite(core.sampling) else ""
    numbers = ["none" if math.isnan(e.value) else f"{e.value:.2f}" for e in (one.E_state, one.E_mem, one.D)]
    scales = f"{one.range.lo:.2g} to {one.range.hi:.2g}" if one.scaling_region else "none"
    unknown = "not known" if one.scaling_region else "no scaling region"
    verdict = "yes" if name in agreement.agree else "no" if name in agreement.differ else unknown
    return [name, f"{core.value:.2f}", interval, *numbers, scales, verdict]


def quantify_each(
    series: Any, *, names: Any = None, progress: Progress | None = None, **settings: Any
) -> Sensors:
    """Quantify each sensor by itself, and see whether they agree.

    Sensors that watch one behaviour should say the same of it, whatever their unit; those that do not, see
    something else, or too little.

    Parameters
    ----------
    series : (N, d) array, Series, or an object with labels
    names : sequence of str, optional
        Names of the sensors; labelled series bring their own.
    progress : callable, optional
        ``progress(done, total)``.
    **settings
        As in `quantify`. The delay is chosen for each sensor, unless it is given.

    Returns
    -------
    Sensors

    Examples
    --------
    >>> from quantify import quantify_each
    >>> from quantify.systems import Henon
    >>> x = Henon().sample(3000, 1)
    >>> found = quantify_each({"x": x[:, 0], "still": 0 * x[:, 1]}, m_max=4, replicates=0, choices=False)
    >>> list(found), list(found.failures)
    (['x'], ['still'])
    """
    if isinstance(series, Mapping) and not hasattr(series, "columns"):
        series, names = np.stack([np.asarray(one) for one in series.values()], axis=1), list(series)
    whole = series_of(series)
    if whole is None:
        values = np.asarray(series, dtype=float)
        width = values.shape[1] if values.ndim == 2 else 1
        names = tuple(map(str, range(width) if names is None else names))
        whole = Series(values, ", ".join(names), "the array", names)
    found = Sensors()
    for i, one in enumerate(whole.each()):
        part = None if progress is None else _part(progress, i, len(whole.names))
        try:
            found.results[one.name] = quantify(one, progress=part, **settings)
        except QuantifyError as error:
            found.failures[one.name] = error
    return found


def _part(progress: Progress, i: int, of: int) -> Progress:
    return lambda done, total: progress(i + done / total, of)
