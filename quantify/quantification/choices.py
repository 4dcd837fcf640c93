"""What the numbers would be with another delay or another largest embedding.

Measured on a part of a long series: what a choice adds to the numbers hardly depends on the length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quantify.aliases import Counts, Floats, Progress
from quantify.correlation import CorrelationSums, correlation_sums
from quantify.decomposition import decompose
from quantify.errors import QuantifyError
from quantify.quantification.uncertainty import Span, read, replicated
from quantify.quantification_data import QUANTITIES

TAU_SHARES = (0.75, 1.25)
M_STEPS = (-2, 2)
M_SAMPLES, TAU_SAMPLES = 10_000, 20_000
"""Samples of the middle of a longer series that are enough to tell what a choice does. The delay, whose
scatter is part of the sampling error, needs more: state complexity shows at small scales only.
"""
RARE = 0.05
"""Share of the delays that chance might have chosen below which a delay is not tried."""
DRAWS = 20
"""Draws for a number that does not jump. Its error is not asked for."""


def vary(
    series: Floats,
    counted: CorrelationSums,
    given: Span,
    progress: Progress | None = None,
    *,
    choices: bool = True,
    delays: Counts | None = None,
    **decomposition: Any,
) -> tuple[dict[str, Floats], Floats]:
    """What other choices of tau and m_max add to the four numbers, and what chance in tau does to them.

    Parameters
    ----------
    counted : CorrelationSums
        Of the whole series, with the delay and m_max that were chosen.
    choices : bool
        Whether to try any; otherwise there are none.
    delays : array of int, optional
        Delays that chance might have chosen (`delay_draws`); none if the delay was given.

    Returns
    -------
    choices : "tau" and "m_max", each a (k, 4) array
    of_tau : (k, 4) array
        What each of these delays adds to the four numbers; those that less than `RARE` of them are
        lie between the others. Numbers may depend on tau in a bent way, so that other choices of it say
        little.
    """
    tau, m_max, eps, theiler = counted.tau or 1, counted.m_max, counted.eps, counted.theiler
    taus = sorted({max(1, round(share * tau)) for share in TAU_SHARES if choices} - {tau})
    drawn = np.zeros(0, np.int64) if delays is None else delays
    near = {int(delay) for delay in set(drawn) if np.mean(drawn == delay) >= RARE} - {tau}
    ms = tuple(m_max + more for more in M_STEPS if m_max + more >= 2) if choices else ()
    blocks = 0 if counted.blocks is None else len(counted.blocks.total)
    whole = len(series) <= TAU_SAMPLES
    done, total = 0, int(choices) + len({*taus, *near}) + int(bool(taus or near) and not whole)

    def count(samples: int, delay: int, most: int, grid: Floats) -> CorrelationSums | None:
        nonlocal done
        start = max(0, (len(series) - samples) // 2)
        part = series[start : start + samples]
        try:
            sums = correlation_sums(part, tau=delay, m_max=most, eps=grid, theiler=theiler, blocks=blocks)
        except QuantifyError:
            sums = None
        done += 1
        if progress is not None:
            progress(done, total)
        return sums

    found = {name: np.zeros((0, len(QUANTITIES))) for name in ("tau", "m_max")} if choices else {}
    if choices:
        own = count(M_SAMPLES, tau, max(ms), eps)
        base, *others = (_numbers(own and own.first(m), given, decomposition) for m in (m_max, *ms))
        found["m_max"] = np.array(others).reshape(-1, len(QUANTITIES)) - base
    # Every second scale is enough for a difference.
    at = {
        delay: _numbers(count(TAU_SAMPLES, delay, m_max, eps[::2]), given, decomposition)
        for delay in sorted({*taus, *near})
    }
    of_tau = np.zeros((len(drawn), len(QUANTITIES)))
    if at:
        own = counted.every(2) if whole else count(TAU_SAMPLES, tau, m_max, eps[::2])
        at[tau] = _numbers(own, given, decomposition)
    if taus:
        found["tau"] = np.array([at[delay] for delay in taus]) - at[tau]
    if near:
        known = sorted({*near, tau})
        there = np.array([at[delay] for delay in known]) - at[tau]
        of_tau = np.column_stack([np.interp(drawn, known, each) for each in there.T])
    return found, np.nan_to_num(of_tau)


def _numbers(sums: CorrelationSums | None, given: Span, decomposition: dict[str, Any]) -> Floats:
    """The four numbers of correlation sums, as they are quoted; NaN if these do not allow for any."""
    try:
        if sums is None:
            return np.full(len(QUANTITIES), np.nan)
        parts = decompose(sums, **decomposition)
    except QuantifyError:
        return np.full(len(QUANTITIES), np.nan)
    drawn = None if given else replicated(sums, parts, None, True, DRAWS, np.random.default_rng(0))
    return (
        read(parts, given) if drawn is None or not drawn[0].usable.any() else drawn[0].mean[: len(QUANTITIES)]
    )
