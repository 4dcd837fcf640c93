"""Ranges of scales: what a decomposition says on average over one, and which one to quote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quantify.sums import Floats

if TYPE_CHECKING:
    from quantify.decomposition import Decomposition


@dataclass(frozen=True)
class ScalingRange:
    """Means over a range of scales, each grid scale with weight one. All in nats.

    Spreads are sample standard deviations (n - 1).

    Attributes
    ----------
    lo, hi : float
        Smallest and largest scale that was averaged over.
    n : int
        Number of scales.
    octaves : float
        log2(hi / lo).
    E_state, E_mem, E_core, E_eps : float
    E_state_sd, E_mem_sd : float
        Spread over the scales: mostly drift, not a statistical error.
    E_core_sd : float
        E_state_sd + E_mem_sd, the ± of the paper's tables (not the spread of the sum).
    E_core_sd_joint : float
        The spread of E_state + E_mem.
    drift : float
        Slope of E_core over ln eps: nats per e-fold of eps.
    D, const : float
        Least-squares line E_M = const - D ln eps through the raw excess entropy of the range.
    kappa, deterministic, no_fit, extrapolated, negative : float
        Means of the decomposition's quality; `deterministic` is the share of deterministic scales.
    terms : (int, int) or None
        (m_l, m_u) if all scales of the range share them.
    default : bool
        True for the range that `Decomposition.best_range` chose.
    """

    lo: float
    hi: float
    n: int
    octaves: float
    E_state: float
    E_state_sd: float
    E_mem: float
    E_mem_sd: float
    E_core: float
    E_core_sd: float
    E_core_sd_joint: float
    E_eps: float
    drift: float
    D: float
    const: float
    kappa: float
    deterministic: float
    no_fit: float
    extrapolated: float
    negative: float
    terms: tuple[int, int] | None
    default: bool = False
    unit: str = "nats"


def summarise(parts: Decomposition, first: int, last: int, default: bool = False) -> ScalingRange:
    """Average a decomposition over the grid indices first..last (both included)."""
    i = slice(first, last + 1)
    x = np.log(parts.eps[i])
    state_sd, mem_sd = _sd(parts.E_state[i]), _sd(parts.E_mem[i])
    D, const = _line(x, parts.E_raw[i])
    pairs = {(int(m_l), int(m_u)) for m_l, m_u in zip(parts.m_l[i], parts.m_u[i], strict=True)}
    return ScalingRange(
        lo=float(parts.eps[last]),
        hi=float(parts.eps[first]),
        n=last - first + 1,
        octaves=float(np.log2(parts.eps[first] / parts.eps[last])),
        E_state=float(parts.E_state[i].mean()),
        E_state_sd=state_sd,
        E_mem=float(parts.E_mem[i].mean()),
        E_mem_sd=mem_sd,
        E_core=float(parts.E_core[i].mean()),
        E_core_sd=state_sd + mem_sd,
        E_core_sd_joint=_sd(parts.E_core[i]),
        E_eps=float(parts.E_eps[i].mean()),
        drift=-_line(x, parts.E_core[i])[0],
        D=D,
        const=const,
        kappa=float(parts.kappa[i].mean()),
        deterministic=float(parts.deterministic[i].mean()),
        no_fit=float(parts.no_fit[i].mean()),
        extrapolated=float(parts.extrapolated[i].mean()),
        negative=float(parts.negative[i].mean()),
        terms=pairs.pop() if len(pairs) == 1 else None,
        default=default,
    )


def _sd(values: Floats) -> float:
    """Sample standard deviation (n - 1); 0 for a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """(s, o) of the least-squares line y = o - s x; NaN with fewer than two finite points."""
    ok = np.isfinite(y)
    if ok.sum() < 2:
        return float("nan"), float("nan")
    x, y = x[ok], y[ok]
    dx = x - x.mean()
    s = -float(dx @ (y - y.mean()) / (dx @ dx))
    return s, float(y.mean() + s * x.mean())


def points_per_octave(eps: Floats) -> float:
    """Steps of the eps grid per octave, on average."""
    return float((len(eps) - 1) / np.log2(eps[0] / eps[-1]))


def deterministic_runs(
    deterministic: NDArray[np.bool_], m_l: NDArray[np.int64], m_u: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """First and last index of every run of two or more deterministic scales that share (m_l, m_u)."""
    start = 0
    for i in range(1, len(deterministic) + 1):
        if i < len(deterministic) and (deterministic[i], m_l[i], m_u[i]) == (
            deterministic[start],
            m_l[start],
            m_u[start],
        ):
            continue
        if deterministic[start] and i - start > 1:
            yield start, i - 1
        start = i


def flattest_window(
    eps: Floats, E_core: Floats, deterministic: NDArray[np.bool_], octaves: float
) -> tuple[int, int] | None:
    """The all-deterministic window of the given width where E_core varies least, or None."""
    if len(eps) < 3:
        return None
    steps = max(2, round(octaves * points_per_octave(eps)))
    best: tuple[float, int] | None = None
    for i in range(len(eps) - steps):
        window = slice(i, i + steps + 1)
        if deterministic[window].all():
            sd = _sd(E_core[window])
            # 1e-9 nats: rounding shall not choose between windows without any spread.
            if best is None or sd < best[0] - 1e-9:
                best = (sd, i)
    return None if best is None else (best[1], best[1] + steps)
