"""Ranges of scales: where a decomposition is deterministic, and how much each of them counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from quantify.aliases import Bools, Counts, Floats

LEAST_OCTAVES = 1.5
DETERMINISM_POWER = 8.0
FLAT, STRAIGHT = 0.02, 0.01
"""How much E_core may vary along a range, and E_M bend (`benchmarks/flatness.py`)."""


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


class Weights(NamedTuple):
    """How much every scale counts in an average over all plausible ranges, and what the ranges say.

    Attributes
    ----------
    scales : (n,) float64, summing to 1
    lo, hi : float
        Where the ranges begin and end on average, as x = ln eps.
    D, drift : float
        Inverted slope of E_M, and slope of E_core, over x within the ranges.
    octaves : float
        Width of the widest range that is deterministic throughout; ranges that are so in part count less.
    """

    scales: Floats
    lo: float
    hi: float
    D: float
    drift: float
    octaves: float


def weigh_ranges(
    x: Floats,
    E_core: Floats,
    E_raw: Floats,
    determinism: Floats,
    flat: float = FLAT,
    straight: float = STRAIGHT,
) -> Weights | None:
    """Average over all ranges of at least `LEAST_OCTAVES`; None if none has any deterministic scale.

    A range counts by its width w in octaves, its determinism g (0..1, mean over its scales), how much E_core
    varies over it (standard deviation sd), and how much E_M bends (that of its quadratic part over ln eps):

        w g^8 / ((1 + (sd / allowed)^2) (1 + (bend / allowed')^2))^2
        allowed = flat * max(E_core, .5 nats),   allowed' = straight * max(D, .5) w ln 2

    so flat, straight, deterministic and long ranges count most, all of them count something, and nothing
    jumps when a curve moves a little. Where E_core seems flat and E_M bends, noise or the size of the whole
    sets in. Wiggles of E_M are chance, or few distances, and no bend.
    """
    if len(x) < 3:
        return None
    scales, lo, hi, D, drift, octaves = _weigh(x, E_core, np.nan_to_num(E_raw), determinism, flat, straight)
    total = scales.sum()
    return None if not total > 0 else Weights(scales / total, lo, hi, D, drift, octaves)


@njit(cache=True)
def _weigh(x, E_core, E_raw, determinism, flat, straight):  # type: ignore[no-untyped-def]
    """Sums over all ranges i..j by differences of running sums; see `weigh_ranges`."""
    n = len(x)
    # Row i: running sums of determinism, e, e², e t, r, r t, r t², t, t², t³, t⁴ before scale i, with
    # e = E_core, r = E_raw and t = x - x_0.
    before = np.zeros((n + 1, 11))
    for i in range(n):
        t, e, r = x[i] - x[0], E_core[i], E_raw[i]
        terms = (determinism[i], e, e * e, e * t, r, r * t, r * t * t, t, t * t, t**3, t**4)
        for q, term in enumerate(terms):
            before[i + 1, q] = before[i, q] + term
    mean = np.empty(11)
    steps = np.zeros(n + 1)
    total = lo = hi = D = drift = widest = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            width = (x[i] - x[j]) / np.log(2.0)
            if width < LEAST_OCTAVES - 1e-9:
                continue
            m = j + 1 - i
            for q in range(11):
                mean[q] = (before[j + 1, q] - before[i, q]) / m
            g, e, ee, et, r, rt, rtt, t, t2, t3, t4 = mean
            g = g**DETERMINISM_POWER
            widest = max(widest, width * g)
            # Moments about the mean of t, and the quadratic q = s² - skew s - spread with s = t - mean.
            spread = t2 - t * t
            skew = (t3 - 3 * t * t2 + 2 * t**3) / spread
            size = t4 - 4 * t * t3 + 6 * t * t * t2 - 3 * t**4 - skew**2 * spread - spread**2
            along = rt - r * t
            curved = rtt - 2 * t * rt + t * t * r - skew * along - spread * r
            slope = along / spread
            bent = 1 + max(ee - e * e, 0.0) / (flat * max(abs(e), 0.5)) ** 2
            if size > 1e-12 * spread**2:  # two scales have no bend
                bent *= 1 + curved**2 / size / (straight * max(-slope, 0.5) * (x[i] - x[j])) ** 2
            weight = width * g / bent**2
            total += weight
            lo += weight * x[j]
            hi += weight * x[i]
            D -= weight * slope
            drift += weight * (et - e * t) / spread
            steps[i] += weight / m
            steps[j + 1] -= weight / m
    scale = 1 / total if total > 0 else 0.0
    return np.cumsum(steps[:n]), lo * scale, hi * scale, D * scale, drift * scale, widest


@njit(cache=True)
def plausible_numbers(x, parts, kappa_max, soft):  # type: ignore[no-untyped-def]
    """E_state, E_mem, E_core and D over all plausible ranges, and the ln of their smallest and largest scale,
    (n, 6), of many sets of curves at once.

    `parts` is what `split_many` returns, `soft` how far kappa may be from its limit and yet not sure. NaN
    where no scale is deterministic.
    """
    numbers = np.full((len(parts), 6), np.nan)
    for r in range(len(parts)):
        state, memory, raw = parts[r, 1], parts[r, 2], parts[r, 3].copy()
        determinism = np.empty_like(x)
        for i in range(len(x)):
            determinism[i] = min(max((kappa_max + soft - (1 - parts[r, 0, i])) / (2 * soft), 0.0), 1.0)
            if np.isnan(raw[i]):
                raw[i] = 0.0
        scales, lo, hi, D, _, _ = _weigh(x, state + memory, raw, determinism, FLAT, STRAIGHT)
        total = scales.sum()
        if total > 0:
            scales /= total
            numbers[r, 0], numbers[r, 1] = (scales * state).sum(), (scales * memory).sum()
            numbers[r, 2], numbers[r, 3] = numbers[r, 0] + numbers[r, 1], D
            numbers[r, 4], numbers[r, 5] = lo, hi
    return numbers
