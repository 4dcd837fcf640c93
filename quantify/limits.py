"""What the entropies of a stochastic process tend to at vanishing eps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quantify.entropies import entropies
from quantify.scaling import MIN_PAIRS, all_pairs
from quantify.sums import CorrelationSums, Floats

# Counting more pairs does not make C surer than this: neighbouring scales share the series.
FLOOR = 0.003
# Bends per smallest eps squared that are tried. From 1 on the limit lies in scales that were not seen.
BENDS = np.geomspace(0.01, 1.0, 40)
# The bent curve must halve the residuals of the straight one, otherwise it would follow noise.
BETTER = 2.0


@dataclass(frozen=True)
class SmallScaleLimit:
    """A curve over eps continued to eps = 0, in nats.

    Attributes
    ----------
    value : float
    curve, m : which one
    eps : (float, float)
        Smallest and largest scale of the fit.
    bend : float
        Scale at which the curve bends; inf if it is straight in eps^2 over the fit.
    residual : float
        Root mean square of the fit, in standard errors of the counts.
    """

    value: float
    curve: str
    m: int
    eps: tuple[float, float]
    bend: float
    residual: float


def small_scale_limit(
    sums: CorrelationSums,
    curve: Literal["E", "PI"],
    m: int,
    *,
    octaves: float = 2.0,
    min_pairs: float = MIN_PAIRS,
) -> SmallScaleLimit:
    """Continue E_m or PI_m to eps = 0, where a process with a smooth density has a finite value.

    Looking with resolution eps is like adding noise of that size, of variance eps^2 / 6, to every sample. It
    hides what varies by less, and the information about that falls with the logarithm of eps:

        y(eps) = y(0) - b ln(1 + eps^2 / bend^2),   which is   y(0) - b' eps^2   for small eps

    The fit takes the smallest scales with enough pairs. The straight form is used unless the bent one halves
    the residuals. For Gaussian processes it is .02 nats off at most where y falls by one nat over the fit.

    Not for deterministic systems: their E and PI grow as -ln eps without limit.

    Parameters
    ----------
    sums : CorrelationSums
    curve : "E" or "PI"
        Excess entropy, or predictive information.
    m : int
        At least 2 for E, at least 1 for PI.
    octaves : float
        Width of the fit.
    min_pairs : float
        Close pairs among all that a scale must have in the largest dimension involved (m or 2 m).

    Returns
    -------
    SmallScaleLimit

    Raises
    ------
    ValueError
        If there is no such curve, or fewer than four scales to fit.
    """
    if curve not in ("E", "PI"):
        raise ValueError(f"curve = {curve!r}; choose 'E' or 'PI'.")
    dimension = m if curve == "E" else 2 * m
    least = 2 if curve == "E" else 1
    if not least <= m or dimension > sums.m_max:
        largest = sums.m_max if curve == "E" else sums.m_max // 2
        raise ValueError(
            f"m = {m}: {curve}_m is there for m = {least}..{largest}; count with a larger m_max for more."
        )
    curves = entropies(sums)
    y = (curves.E if curve == "E" else curves.PI)[m - 1]
    close = sums.C[dimension - 1] * all_pairs(sums)
    fits = (close >= min_pairs) & np.isfinite(y)
    if fits.any():
        fits &= sums.eps <= 2**octaves * sums.eps[fits].min()
    if fits.sum() < 4:
        raise ValueError(
            f"{fits.sum()} scales have {min_pairs:g} pairs in {dimension} dimensions within {octaves:g} "
            "octaves; a fit needs 4. Use a longer series, a finer grid of eps, a smaller m or fewer "
            "min_pairs."
        )
    eps, y = sums.eps[fits], y[fits]
    weight = 1 / np.sqrt(1 / close[fits] + FLOOR**2)
    u = (eps / eps[-1]) ** 2
    value, residual = _fit(u, y, weight)
    bend = np.inf
    for c in BENDS:
        other, rest = _fit(np.log1p(c * u), y, weight)
        if rest < residual / (BETTER if bend == np.inf else 1.0):
            value, residual, bend = other, rest, eps[-1] / np.sqrt(c)
    return SmallScaleLimit(value, curve, m, (float(eps[-1]), float(eps[0])), float(bend), residual)


def _fit(u: Floats, y: Floats, weight: Floats) -> tuple[float, float]:
    """y = value + slope u by weighted least squares: value, and root mean square of the residuals."""
    A = np.stack([np.ones_like(u), u], axis=1)
    coefficients = np.linalg.lstsq(weight[:, None] * A, weight * y, rcond=None)[0]
    residuals = weight * (y - A @ coefficients)
    return float(coefficients[0]), float(np.sqrt(np.mean(residuals**2)))
