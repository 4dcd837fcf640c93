"""Ranges of scales: where a decomposition is deterministic, and where it is flattest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quantify.aliases import Bools, Counts, Floats
from quantify.scales import points_per_octave


def sample_sd(values: Floats) -> float:
    """Sample standard deviation (n - 1); 0 for a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def line_through(x: Floats, y: Floats) -> tuple[float, float]:
    """(s, o) of the least-squares line y = o - s x; NaN with fewer than two finite points."""
    ok = np.isfinite(y)
    if ok.sum() < 2:
        return float("nan"), float("nan")
    x, y = x[ok], y[ok]
    dx = x - x.mean()
    s = -float(dx @ (y - y.mean()) / (dx @ dx))
    return s, float(y.mean() + s * x.mean())


def deterministic_runs(deterministic: Bools, m_l: Counts, m_u: Counts) -> Iterator[tuple[int, int]]:
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
    eps: Floats, E_core: Floats, deterministic: Bools, octaves: float
) -> tuple[int, int] | None:
    """The all-deterministic window of the given width where E_core varies least, or None."""
    if len(eps) < 3:
        return None
    steps = max(2, round(octaves * points_per_octave(eps)))
    best: tuple[float, int] | None = None
    for i in range(len(eps) - steps):
        window = slice(i, i + steps + 1)
        if deterministic[window].all():
            sd = sample_sd(E_core[window])
            # 1e-9 nats: rounding shall not choose between windows without any spread.
            if best is None or sd < best[0] - 1e-9:
                best = (sd, i)
    return None if best is None else (best[1], best[1] + steps)
