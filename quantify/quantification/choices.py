"""What the numbers would be with another delay or another largest embedding.

Measured on a part of a long series: what a choice adds to the numbers hardly depends on the length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quantify.aliases import Floats, Progress
from quantify.correlation import CorrelationSums, correlation_sums
from quantify.decomposition import decompose
from quantify.errors import QuantifyError
from quantify.quantification.uncertainty import Span, read
from quantify.quantification_data import QUANTITIES

TAU_SHARES = (0.75, 1.25)
M_STEPS = (-2, 2)
M_SAMPLES, TAU_SAMPLES = 10_000, 20_000
"""Samples of the middle of a longer series that are enough to tell what a choice does. The delay, whose
scatter is part of the sampling error, needs more: state complexity shows at small scales only.
"""


def vary(
    series: Floats,
    counted: CorrelationSums,
    given: Span,
    progress: Progress | None = None,
    **decomposition: Any,
) -> tuple[dict[str, Floats], Floats]:
    """What other choices of tau and m_max add to the four numbers.

    Parameters
    ----------
    counted : CorrelationSums
        Of the whole series, with the delay and m_max that were chosen.

    Returns
    -------
    choices : "tau" and "m_max", each a (k, 4) array
    slope : (4,) array
        Change of the numbers with ln tau; 0 if the delay is too short to be varied.
    """
    tau, m_max, eps, theiler = counted.tau or 1, counted.m_max, counted.eps, counted.theiler
    taus = sorted({max(1, round(share * tau)) for share in TAU_SHARES} - {tau})
    ms = tuple(m_max + step for step in M_STEPS if m_max + step >= 2)
    done, total = 0, 1 + len(taus) + (1 if taus and len(series) > TAU_SAMPLES else 0)

    def numbers(samples: int, delay: int, largest: int, ms: tuple[int, ...], grid: Floats) -> list[Floats]:
        """The four numbers for each m in ms, from one count."""
        nonlocal done
        start = max(0, (len(series) - samples) // 2)
        part = series[start : start + samples]
        try:
            sums = correlation_sums(part, tau=delay, m_max=largest, eps=grid, theiler=theiler, blocks=0)
            found = [_numbers(sums.first(m), given, decomposition) for m in ms]
        except QuantifyError:
            found = [np.full(len(QUANTITIES), np.nan) for _ in ms]
        done += 1
        if progress is not None:
            progress(done, total)
        return found

    base, *others = numbers(M_SAMPLES, tau, max(ms), (m_max, *ms), eps)
    choices = {"m_max": np.array(others).reshape(-1, len(QUANTITIES)) - base}
    slope = np.zeros(len(QUANTITIES))
    if not taus:
        return {"tau": np.zeros((0, len(QUANTITIES))), **choices}, slope
    # Every second scale is enough for a difference.
    if len(series) <= TAU_SAMPLES:
        at = [_numbers(counted.every(2), given, decomposition)]
    else:
        at = numbers(TAU_SAMPLES, tau, m_max, (m_max,), eps[::2])
    for delay in taus:
        at += numbers(TAU_SAMPLES, delay, m_max, (m_max,), eps[::2])
    usable = np.isfinite(at).all(axis=1)
    if usable.sum() > 1:
        slope = np.polynomial.polynomial.polyfit(np.log([tau, *taus])[usable], np.array(at)[usable], 1)[1]
    return {"tau": np.array(at[1:]) - at[0], **choices}, slope


def _numbers(sums: CorrelationSums, given: Span, decomposition: dict[str, Any]) -> Floats:
    """The four numbers of correlation sums; NaN if they do not allow for any."""
    try:
        return read(decompose(sums, **decomposition), given)
    except QuantifyError:
        return np.full(len(QUANTITIES), np.nan)
