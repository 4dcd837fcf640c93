"""Does a number still move? Complexity over the largest embedding, the delay and the length of the series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Floats, Progress
from quantify.convergence_data import Convergence, Sweep
from quantify.delays import choose_delay
from quantify.errors import QuantifyError
from quantify.gate import look_over
from quantify.inputs import check_whole
from quantify.quantification import Estimate, quantify
from quantify.quantification_data import QUANTITIES
from quantify.theiler import theiler_window

M_STEPS = (-6, -4, -2, 0, 2, 4)
TAU_SHARES = (0.5, 0.63, 0.75, 1.0, 1.25, 1.6, 2.0)
LENGTH_SHARES = (0.125, 0.25, 0.5, 1.0)
# Fewer samples say nothing about any embedding.
SHORTEST = 1000


def convergence(
    series: ArrayLike,
    *,
    tau: int | None = None,
    m_max: int = 10,
    samples: int = 20_000,
    theiler: int | None = None,
    replicates: int = 50,
    rng: int = 0,
    progress: Progress | None = None,
    **settings: Any,
) -> Convergence:
    """Quantify a series for other embeddings, other delays and shorter pieces of it.

    Parameters
    ----------
    series : (N,) or (N, d) array
    tau, theiler : int, optional
        As in `quantify`; chosen once, from the whole series.
    m_max : int
        Around which embeddings are varied: 6 fewer to 4 more, in steps of 2. Delays go from half to twice
        tau.
    samples : int
        Samples from the middle of a longer series with which m_max and tau are varied; an eighth, a quarter
        and half of the series are pieces from its middle, too.
    replicates, rng, **settings
        As in `quantify`; the same for all.
    progress : callable, optional
        ``progress(done, total)``.

    Returns
    -------
    Convergence

    Examples
    --------
    >>> from quantify import convergence
    >>> from quantify.systems import Henon
    >>> found = convergence(Henon().sample(8000, 1)[:, 0], m_max=4, replicates=20)
    >>> found.m_max.values, found.tau.values, found.n.values
    ((2, 4, 6, 8), (1, 2), (1000, 2000, 4000, 8000))
    >>> found.n.extent("D")[0] > 1  # the dimension of the Hénon attractor is 1.21
    True
    """
    check_whole("samples", samples, SHORTEST)
    check_whole("m_max", m_max, 2)
    report = look_over(series)
    x, tame = np.asarray(series, dtype=float), report.tamed()
    tau = choose_delay(tame).tau if tau is None else tau
    theiler = theiler_window(tame) if theiler is None else theiler
    part = _middle(x, samples)
    pieces = sorted({max(round(share * len(x)), min(SHORTEST, len(x))) for share in LENGTH_SHARES})
    jobs = [
        *((part, tau, m) for m in _embeddings(m_max)),
        *((part, delay, m_max) for delay in _delays(tau)),
        *((_middle(x, n), tau, m_max) for n in pieces),
    ]
    found = []
    for i, (piece, delay, m) in enumerate(jobs):
        same = {"theiler": theiler, "replicates": replicates, "rng": rng, **settings}
        found.append(_numbers(piece, tau=delay, m_max=m, **same))
        if progress is not None:
            progress(i + 1, len(jobs))
    columns = iter(found)

    def sweep(setting: str, chosen: int, values: Sequence[int]) -> Sweep:
        rows = [next(columns) for _ in values]
        estimates = {name: tuple(row[name] for row, _ in rows) for name in QUANTITIES}
        return Sweep(setting, chosen, tuple(values), estimates, tuple(region for _, region in rows))

    return Convergence(
        m_max=sweep("m_max", m_max, _embeddings(m_max)),
        tau=sweep("tau", tau, _delays(tau)),
        n=sweep("n", len(x), pieces),
        samples=len(part),
        theiler=theiler,
    )


def _embeddings(m_max: int) -> list[int]:
    return [m_max + step for step in M_STEPS if m_max + step >= 2]


def _delays(tau: int) -> list[int]:
    return sorted({max(1, round(share * tau)) for share in TAU_SHARES})


def _middle(x: Floats, n: int) -> Floats:
    start = max(0, (len(x) - n) // 2)
    return x[start : start + n]


def _numbers(piece: Floats, **settings: Any) -> tuple[dict[str, Estimate], bool]:
    """The four numbers of a piece, and whether it has a scaling region; NaN if it is too short."""
    try:
        result = quantify(piece, choices=False, stationarity=False, **settings)
    except QuantifyError:
        nan = math.nan
        return {name: Estimate(nan, nan, (nan, nan), nan, (nan, nan)) for name in QUANTITIES}, False
    return {name: getattr(result, name) for name in QUANTITIES}, result.scaling_region
