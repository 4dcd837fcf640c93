"""What noise does to the curves: the scale below which it hides the dynamics, and their limits at eps = 0."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from quantify.aliases import Floats
from quantify.correlation import CorrelationSums
from quantify.entropy_curves import entropies
from quantify.errors import QuantifyError
from quantify.scales import MIN_PAIRS

# Counting more pairs does not make C surer than this: neighbouring scales share the series.
FLOOR = 0.003
# Bends per smallest eps squared that are tried. From 1 on the limit lies in scales that were not seen.
BENDS = np.geomspace(0.01, 1.0, 40)
# The straight curve must miss by so many standard errors of the counts, and the bent one halve that;
# otherwise it would follow noise.
POOR, BETTER = 2.0, 2.0


@dataclass(frozen=True)
class SmallScaleLimit:
    """A curve over eps continued to eps = 0, in nats.

    Examples
    --------
    >>> from quantify import correlation_sums, small_scale_limit
    >>> from quantify.systems import AutoRegressive
    >>> x = AutoRegressive((0.6,)).sample(5000, 1)
    >>> limit = small_scale_limit(correlation_sums(x, tau=1, m_max=2, theiler=5), "PI", 1)
    >>> limit.curve, limit.m, limit.eps[0] < limit.eps[1]
    ('PI', 1, True)
    """

    value: float
    curve: str
    m: int
    eps: tuple[float, float]
    """Smallest and largest scale of the fit."""
    bend: float
    """Scale at which the curve bends; inf if it is straight in eps^2 over the fit."""
    residual: float
    """Root mean square of the fit, in standard errors of the counts."""
    shares: Floats = field(repr=False, compare=False)
    """How much the value changes with the curve at every scale, (n_eps,)."""


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

    The fit takes the smallest scales with enough pairs. What looking with resolution eps hides of a Gaussian
    process with the same autocovariances is known (`CorrelationSums.twin`) and added first, so that only the
    rest is continued: nothing for a Gaussian process. The straight form is used unless it is poor and the
    bent one halves the residuals. Without a twin (sums of other programs) the latter is .02 nats off at most
    for Gaussian processes where y falls by one nat over the fit.

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
        Close pairs that a scale must have among those counted, in the largest dimension involved (m or 2 m).

    Returns
    -------
    SmallScaleLimit

    Raises
    ------
    QuantifyError
        If there is no such curve, or fewer than four scales to fit.

    Examples
    --------
    How much one value of an autoregressive process tells about the next, -ln(1 - a²) / 2 = .22 nats:

    >>> from quantify import correlation_sums, small_scale_limit
    >>> from quantify.systems import AutoRegressive
    >>> process = AutoRegressive((0.6,))
    >>> sums = correlation_sums(process.sample(5000, 1), tau=1, m_max=2, theiler=5)
    >>> found = small_scale_limit(sums, "PI", 1).value
    >>> abs(found - process.PI(1)) < 0.03
    True
    """
    if curve not in ("E", "PI"):
        raise QuantifyError(f"curve = {curve!r}; choose 'E' or 'PI'.")
    dimension = m if curve == "E" else 2 * m
    least = 2 if curve == "E" else 1
    if not least <= m or dimension > sums.m_max:
        largest = sums.m_max if curve == "E" else sums.m_max // 2
        raise QuantifyError(
            f"m = {m}: {curve}_m is there for m = {least}..{largest}; count with a larger m_max for more."
        )
    curves = entropies(sums)
    y = (curves.E if curve == "E" else curves.PI)[m - 1]
    close = sums.C[dimension - 1] * sums.examined[dimension - 1]
    fits = (close >= min_pairs) & np.isfinite(y)
    if fits.any():
        fits &= sums.eps <= 2**octaves * sums.eps[fits].min()
    if fits.sum() < 4:
        raise QuantifyError(
            f"{fits.sum()} scales have {min_pairs:g} pairs in {dimension} dimensions within {octaves:g} "
            "octaves; a fit needs 4. Use a longer series, a finer grid of eps, a smaller m or fewer "
            "min_pairs."
        )
    eps, y = sums.eps[fits], y[fits]
    if sums.twin is not None:
        y = y + sums.twin.hidden(curve, m, eps)
    weight = 1 / (1 / close[fits] + FLOOR**2)
    u = (eps / eps[-1]) ** 2
    # Row 0: straight in eps^2; the others: bent more and more.
    rows = np.vstack([u, np.log1p(BENDS[:, None] * u)])
    value, residual = _fit(rows, y, weight)
    best = 1 + int(np.argmin(residual[1:]))
    bend = float(eps[-1] / np.sqrt(BENDS[best - 1]))
    if not residual[best] < residual[0] / BETTER or residual[0] < POOR:
        best, bend = 0, np.inf
    shares = np.zeros(len(sums.eps))
    columns = rows[[best]]
    if 1 < best < len(BENDS):  # the bend follows the data, too, unless it is the first or last that is tried
        bent = BENDS[best - 1] * u
        columns = np.vstack([columns, bent / (1 + bent)])
    shares[fits] = _shares(columns, weight)
    return SmallScaleLimit(
        float(value[best]), curve, m, (float(eps[-1]), float(eps[0])), bend, float(residual[best]), shares
    )


def _fit(u: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """y = value + slope u by weighted least squares, for every row of u: values, and root mean squares of the
    residuals in standard errors.
    """
    w = weight / weight.sum()
    du = u - (u @ w)[:, None]
    dy = y - y @ w
    slope = (du * dy) @ w / (du**2 @ w)
    rest = np.mean(weight * (dy - slope[:, None] * du) ** 2, axis=1)
    return y @ w - slope * (u @ w), np.sqrt(rest)


def _shares(columns: Floats, weight: Floats) -> Floats:
    """How much each y adds to the constant of a weighted fit by these columns, (k, n)."""
    X = np.vstack([np.ones_like(weight), columns])
    return np.asarray(np.linalg.pinv(X.T * np.sqrt(weight)[:, None])[0] * np.sqrt(weight))


def crossover(
    sums: CorrelationSums, *, m: int, pairs: float, plateau_m: int, plateau: tuple[float, float]
) -> float:
    """The scale eps* below which noise hides the deterministic dynamics (paper, eq. eps_ast).

        ln eps* = h_m^c - h_KS

    h_m^c is the mean of h_m + ln eps over the smallest octave with at least `pairs` close pairs in m + 1
    dimensions; h_KS the mean of h_{plateau_m} over the scales `plateau`.

    Parameters
    ----------
    sums : CorrelationSums
    m : int
        Below m_max.
    pairs : float
    plateau_m : int
        Below m_max.
    plateau : (float, float)
        Scales on which h_{plateau_m} is flat.

    Returns
    -------
    float
        0, not reached, if h_m does not grow as -ln eps in that octave but at less than half that rate; NaN
        if no scale has so many pairs.

    Examples
    --------
    A Hénon map seen through noise of width .02: the dynamics is visible above that, and hidden below.

    >>> import numpy as np
    >>> from quantify import correlation_sums, crossover
    >>> from quantify.systems import Henon
    >>> x = Henon().sample(20_000, 1)[:, 0] + np.random.default_rng(0).uniform(-0.01, 0.01, 20_000)
    >>> sums = correlation_sums(x, tau=1, m_max=4, theiler=5)
    >>> eps = crossover(sums, m=3, pairs=1000, plateau_m=2, plateau=(0.1, 0.4))
    >>> 0.01 < eps < 0.1
    True
    """
    if not (0 <= m < sums.m_max and 0 <= plateau_m < sums.m_max):
        raise QuantifyError(f"m = {m} and plateau_m = {plateau_m} must lie in 0..{sums.m_max - 1}.")
    e = entropies(sums)
    enough = sums.C[m] * sums.all_pairs >= pairs
    if enough.sum() < 2:
        return math.nan
    smallest = float(sums.eps[enough].min())
    octave = (e.eps >= smallest) & (e.eps <= 2 * smallest)
    x, h = np.log(e.eps[octave]), e.h[m][octave]
    if -np.polynomial.Polynomial.fit(x, h, 1).convert().coef[1] < 0.5:
        return 0.0
    flat = (e.eps >= plateau[0]) & (e.eps <= plateau[1])
    return float(np.exp(np.mean(h + x) - np.nanmean(e.h[plateau_m][flat])))
