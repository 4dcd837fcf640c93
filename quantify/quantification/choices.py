"""What the numbers would be with another delay or another largest embedding.

Measured on a part of a long series: what a choice adds to the numbers hardly depends on the length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quantify.aliases import Floats, Progress
from quantify.correlation import correlation_sums
from quantify.decomposition import decompose
from quantify.errors import QuantifyError
from quantify.quantification.uncertainty import Span, read
from quantify.quantification_data import QUANTITIES

TAU_SHARES = (0.75, 1.25)
M_STEPS = (-2, 2)
SAMPLES = 10_000
"""Samples of the middle of a longer series that are enough to tell what a choice does."""


def vary(
    series: Floats,
    tau: int,
    m_max: int,
    given: Span,
    progress: Progress | None = None,
    *,
    eps: Floats,
    theiler: int | None,
    **decomposition: Any,
) -> tuple[dict[str, Floats], Floats]:
    """What other choices of tau and m_max add to the four numbers.

    Returns
    -------
    choices : "tau" and "m_max", each a (k, 4) array
    slope : (4,) array
        Change of the numbers with ln tau; 0 if the delay is too short to be varied.
    """
    start = max(0, (len(series) - SAMPLES) // 2)
    part = series[start : start + SAMPLES]

    def numbers(delay: int, largest: int, ms: tuple[int, ...]) -> list[Floats]:
        """The four numbers for each m in ms, from one count."""
        nothing = np.full(len(QUANTITIES), np.nan)
        try:
            sums = correlation_sums(part, tau=delay, m_max=largest, eps=eps, theiler=theiler, blocks=0)
        except QuantifyError:
            return [nothing for _ in ms]
        found = []
        for m in ms:
            try:
                found.append(read(decompose(sums.first(m), **decomposition), given))
            except QuantifyError:
                found.append(nothing)
        return found

    ms = tuple(m_max + step for step in M_STEPS if m_max + step >= 2)
    taus = sorted({max(1, round(share * tau)) for share in TAU_SHARES} - {tau})
    done, total = 0, 1 + len(taus)

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    base, *others = numbers(tau, max(ms), (m_max, *ms))
    advance()
    delayed = []
    for delay in taus:
        delayed += numbers(delay, m_max, (m_max,))
        advance()
    slope = np.zeros(len(QUANTITIES))
    if taus:
        at = np.array([base, *delayed])
        x = np.log([tau, *taus])
        usable = np.isfinite(at).all(axis=1)
        if usable.sum() > 1:
            slope = np.polynomial.polynomial.polyfit(x[usable], at[usable], 1)[1]
    rows = len(QUANTITIES)
    return {
        "tau": (np.array(delayed).reshape(-1, rows) - base),
        "m_max": (np.array(others).reshape(-1, rows) - base),
    }, slope
