"""All that is to be said of a series before anything is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Bools, Floats
from quantify.errors import QuantifyError
from quantify.gate.columns import differing_units, redundant_columns
from quantify.gate.finding import Finding
from quantify.gate.samples import WILD_SHARE, outliers, saturation, ties, wild_samples
from quantify.gate.stretches import held, repeated, uneven_time
from quantify.inputs import as_series, rescaled


@dataclass(frozen=True)
class DataReport:
    """A series that is ready to be counted, and what was found in it.

    Attributes
    ----------
    series : (N,) or (N, d) array
        The series as given, in float64; times a power of two if its magnitude is extreme.
    scale : float
        Lengths in units of `series` (eps, the resolution, standard deviations) times this are in the user's
        units. A power of two: no digit changes. 1 for ordinary series. Entropies and D need no scaling.
    largest_scale : float
        Where a grid of scales should begin, in units of `series`: the widest range between the .1 and 99.9 %
        quantiles of a column. At larger eps nearly all pairs are close and all entropies are zero, whatever
        few samples far outside do to the range itself.
    wild : (N,) or (N, d) bool
        Samples far from all others (see `gate.samples.wild_samples`).
    findings : tuple of Finding

    Examples
    --------
    >>> from quantify.gate import look_over
    >>> from quantify.systems import Henon
    >>> x = Henon().sample(5000, 1)
    >>> look_over(x).sentences
    ()
    >>> x[1234, 1] = 50
    >>> report = look_over(x, names=["left", "right"])
    >>> report.sentences[0].partition(":")[0]
    "1 sample of 'right' lies far from all others"
    >>> report.largest_scale < 3
    True
    """

    series: Floats = field(repr=False)
    scale: float
    largest_scale: float
    wild: Bools = field(repr=False)
    findings: tuple[Finding, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each finding in words."""
        return tuple(finding.sentence for finding in self.findings)

    @property
    def facts(self) -> dict[str, Any]:
        """Plain values, for JSON: `samples`, `columns`, `scale`, `largest_scale`, and a list for each kind of
        finding that was made, without blanks (`constant_stretches`).
        """
        n, d = self.series.shape[0], 1 if self.series.ndim == 1 else self.series.shape[1]
        said: dict[str, Any] = {
            "samples": n,
            "columns": d,
            "scale": self.scale,
            "largest_scale": self.largest_scale * self.scale,
        }
        for finding in self.findings:
            said.setdefault(finding.kind.replace(" ", "_"), []).append(finding.facts)
        return said

    def tamed(self) -> Floats:
        """`series` with wild samples replaced by the line between their neighbours, for what rests on
        variances: the delay and the Theiler window. The same array if there are none.

        Examples
        --------
        >>> import numpy as np
        >>> from quantify.gate import look_over
        >>> x = np.sin(np.arange(2000) / 7)
        >>> x[500] = 1e6
        >>> look_over(x).tamed().max() <= 1
        np.True_
        """
        if not self.wild.any():
            return self.series
        x, t = self.series.copy(), np.arange(len(self.series))
        columns = x.reshape(len(x), -1).T  # views
        for values, wild in zip(columns, self.wild.reshape(len(x), -1).T, strict=True):
            values[wild] = np.interp(t[wild], t[~wild], values[~wild])
        return x


def look_over(
    series: ArrayLike, *, time: ArrayLike | None = None, names: Sequence[str] | None = None
) -> DataReport:
    """Look for what makes numbers wrong in silence: outliers, ties, held and repeated samples, constant
    stretches, gaps in time, units, redundant columns, extreme magnitudes.

    Nothing is removed or changed; every finding is a sentence. Whether the series is stationary is a question
    of its own (`stationarity`).

    Parameters
    ----------
    series : (N,) or (N, d) array
    time : (N,) array, optional
        Times of the samples, numbers or datetime64, to look for gaps.
    names : sequence of str, optional
        Names of the columns, for the sentences. Default: "column 0", "column 1", ...

    Returns
    -------
    DataReport

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.gate import look_over
    >>> x = np.random.default_rng(0).standard_normal(4000)
    >>> look_over(np.concatenate([x, x])).sentences[0].partition(".")[0]
    'Samples 4,000 to 7,999 are an exact copy of samples 0 to 3,999'
    """
    given = as_series(series)
    d, n = given.shape
    if names is not None and len(names) != d:
        raise QuantifyError(f"{len(names)} names are given for {d} columns; give one for each.")
    labels = tuple(f"column {c}" for c in range(d)) if names is None else tuple(names)
    x, scale = rescaled(given)
    wild = np.stack([wild_samples(values) for values in x])
    spreads = np.array([_spread(values[~w]) for values, w in zip(x, wild, strict=True)])
    findings: list[Finding | None] = [_magnitude(given, scale)]
    for c, values in enumerate(given):
        findings += [outliers(values, wild[c], c, labels), *held(values, c, labels)]
    again = repeated(x, spreads)
    findings.append(again)
    if again is None or again.kind != "period":
        # A copy repeats values, and is found already.
        copy = slice(0, 0) if again is None else slice(*again.facts["copy"])
        for c, values in enumerate(given):
            findings += [saturation(values, c, labels), ties(np.delete(values, copy), c, labels)]
    if time is not None:
        findings.append(uneven_time(time, n))
    if d > 1:
        with np.errstate(over="ignore"):  # a range may exceed the largest number
            findings += [differing_units(spreads * scale, labels), redundant_columns(x, labels)]
    one = np.ndim(series) == 1
    return DataReport(
        series=x[0] if one else x.T,
        scale=scale,
        largest_scale=float(spreads.max()),
        wild=wild[0] if one else wild.T,
        findings=tuple(finding for finding in findings if finding is not None),
    )


def _spread(values: Floats) -> float:
    low, high = np.quantile(values, [WILD_SHARE, 1 - WILD_SHARE])
    # Few samples may be all that moves; of a column in a far smaller unit nothing may be left.
    return float(high - low) or float(np.ptp(values)) or 1.0


def _magnitude(x: Floats, scale: float) -> Finding | None:
    if scale == 1:
        return None
    size = float(np.abs(x).max())
    return Finding(
        "magnitude",
        f"The largest value is {size:.3g}. The series is divided by 2^{round(np.log2(scale))} while it is "
        "counted, which changes no digit; scales are given in your unit.",
        {"largest": size, "scale": scale},
    )
