"""The decomposition at every scale, and what it says on average over a range of scales."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quantify.aliases import Bools, Counts, Floats
from quantify.correlation.result import scales_in_words
from quantify.decomposition.ranges import (
    LEAST_OCTAVES,
    Weights,
    deterministic_runs,
    line_through,
    sample_sd,
    weigh_ranges,
)
from quantify.errors import QuantifyError
from quantify.segments import Segment

SOFT = 0.1  # a kappa this far from its limit is surely on one side of it
LEAST_D = 0.7  # 1, less what a range of few octaves may be off by


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
        True for the average over all plausible ranges (`Decomposition.best_range`): lo and hi are then where
        these begin and end on average.

    Examples
    --------
    >>> from quantify import correlation_sums, decompose
    >>> from quantify.systems import Henon
    >>> parts = decompose(correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=5, theiler=5))
    >>> best = parts.best_range()
    >>> best.default, best.deterministic > 0.9, f"{best.octaves:.0f} octaves"
    (True, True, '2 octaves')
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


@dataclass(frozen=True, repr=False)
class Decomposition:
    """E_state, E_eps and E_mem at every scale, with what the split rests on. All in nats.

    At every eps, E_state + E_eps + E_mem = sum_k k delta_h_k (of the smoothed delta_h; `E_raw` is the sum
    of the raw ones).

    Attributes
    ----------
    eps : (n,) array, descending
    E_state, E_eps, E_mem : (n,) arrays
        State complexity, eps-dependent part, memory complexity (paper, eq. E_decomp:algo).
    E_core : (n,) array
        Core complexity E_state + E_mem.
    E_raw : (n,) array
        Excess entropy E_M without fits; NaN where C_M is missing.
    m_l, m_u : (n,) int arrays
        The terms m_l..m_u are eps-dependent. At stochastic scales they are inherited from larger scales;
        (0, 0) = none yet.
    m_l_own, m_u_own : (n,) int arrays
        The same without inheritance.
    kappa : (n,) array
        1 - (sum of the slopes of the terms m_l_own..m_u_own) / (slope of H_1; 1 for one observable):
        0 deterministic, 1 stochastic; neither is a bound.
    deterministic : (n,) bool array
        kappa <= kappa_max.
    no_fit, extrapolated, negative : (n,) arrays
        Share of the delta_h without a valid fit (extrapolated ones included), extrapolated to this scale,
        and below -0.001.
    delta_h, slope, plateau : (M - 1, n) arrays
        Values and inverted slopes of delta_h_m after the fits, and the constants c_m of the eps-dependent
        terms.
    fits : tuple over m = 1..M-1 of tuples of Segment
    settings : dict
        Everything that was chosen or derived: eps_min and where it comes from, fit_points, s_min, ...

    Examples
    --------
    >>> import numpy as np
    >>> from quantify import correlation_sums, decompose
    >>> from quantify.systems import Henon
    >>> parts = decompose(correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=5, theiler=5))
    >>> np.allclose(parts.E_core, parts.E_state + parts.E_mem)
    True
    >>> len(parts.fits), parts.settings["eps_min_from"]  # one tuple of segments for each delta_h_m
    (4, 'pairs')
    """

    eps: Floats
    E_state: Floats
    E_eps: Floats
    E_mem: Floats
    E_core: Floats
    E_raw: Floats
    m_l: Counts
    m_u: Counts
    m_l_own: Counts
    m_u_own: Counts
    kappa: Floats
    deterministic: Bools
    no_fit: Floats
    extrapolated: Floats
    negative: Floats
    delta_h: Floats
    slope: Floats
    plateau: Floats
    fits: tuple[tuple[Segment, ...], ...]
    settings: dict[str, Any]
    unit: str = "nats"

    def __repr__(self) -> str:
        return (
            f"<Decomposition: {scales_in_words(len(self.delta_h) + 1, self.eps)}, "
            f"{int(self.deterministic.sum())} of them deterministic, in {self.unit}>"
        )

    @property
    def constants(self) -> Floats:
        """The constants c_m, (M - 1, n), at the scales where the term is eps-dependent; NaN at the others."""
        m = np.arange(1, len(self.plateau) + 1)[:, None]
        used = (self.m_l <= m) & (m <= self.m_u) & (self.plateau > 0)
        return np.where(used, self.plateau, np.nan)

    def over(self, lo: float, hi: float) -> ScalingRange:
        """Means and spreads over all grid scales of the closed range [lo, hi], each scale with weight one.

        Raises
        ------
        QuantifyError
            If no scale of the grid lies in the range.
        """
        inside = np.flatnonzero((self.eps >= lo) & (self.eps <= hi))
        if not len(inside):
            raise QuantifyError(
                f"No scale of the grid lies in [{lo:g}, {hi:g}]; the grid has {len(self.eps)} scales "
                f"from {self.eps[-1]:g} to {self.eps[0]:g}."
            )
        return summarise(self, int(inside[0]), int(inside[-1]))

    def over_scales(self, lo: float, hi: float) -> dict[str, float | None]:
        """Means over the scales [lo, hi], equal weight per octave, also where the series is smaller than
        these.

        At scales above the largest distance in the series all vectors are neighbours, every entropy is 0, and
        so is every complexity: these scales count as 0. Scales below the smallest reliable one are left out.
        So series of different size can be compared over the same scales.

        Returns
        -------
        dict
            lo and hi as given; `covered`, the share of the range that is not left out; and E_core, E_state,
            E_mem, D and kappa (None if all scales count as 0). Without the numbers if `covered` is 0.

        Examples
        --------
        >>> from quantify import correlation_sums, decompose
        >>> from quantify.systems import Henon
        >>> parts = decompose(correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=5, theiler=5))
        >>> parts.over_scales(10, 20)["E_core"]  # the attractor is smaller than that
        0.0
        >>> parts.over_scales(1e-7, 1e-6)  # and its pairs are too few for this
        {'lo': 1e-07, 'hi': 1e-06, 'covered': 0.0}
        """
        if not 0 < lo < hi:
            raise QuantifyError(f"The scales [{lo:g}, {hi:g}] are no range; 0 < lo < hi is needed.")
        top, bottom = float(self.eps[0]), float(self.eps[-1])
        width = math.log(hi / lo)
        covered = math.log(hi / max(lo, min(bottom, hi))) / width
        found: dict[str, float | None] = {"lo": lo, "hi": hi, "covered": covered}
        if lo >= top:
            return found | {"E_core": 0.0, "E_state": 0.0, "E_mem": 0.0, "D": 0.0, "kappa": None}
        inside = (self.eps >= lo) & (self.eps <= hi)
        if not inside.any():
            return found | {"covered": 0.0}
        r = self.over(lo, hi)
        share = min(1.0, math.log(top / max(lo, bottom)) / math.log(hi / max(lo, bottom)))
        return (
            found
            | {name: share * getattr(r, name) for name in ("E_core", "E_state", "E_mem", "D")}
            | {"kappa": r.kappa}
        )

    def ranges(self) -> tuple[ScalingRange, ...]:
        """Every candidate range, by descending eps, with its quality.

        The candidates are all runs of at least two deterministic scales with constant (m_l, m_u), and the
        default (`best_range`, marked ``default=True``), an average over all plausible ranges.
        """
        runs = [summarise(self, i, j) for i, j in deterministic_runs(self.deterministic, self.m_l, self.m_u)]
        best = self.best_range()
        return tuple(sorted([*runs, *([best] if best else [])], key=lambda r: (-r.hi, r.default)))

    @property
    def determinism(self) -> Floats:
        """1 at deterministic scales, 0 at stochastic ones, and in between where kappa is near its limit."""
        limit = self.settings["kappa_max"]
        return np.clip((limit + SOFT - self.kappa) / (2 * SOFT), 0.0, 1.0)

    @cached_property
    def weights(self) -> Weights | None:
        """How much every scale counts in the average over all plausible ranges; None if none is
        deterministic.
        """
        return weigh_ranges(np.log(self.eps), self.E_core, self.E_raw, self.determinism)

    def plausible(self) -> ScalingRange | None:
        """The average over all plausible ranges, whether or not they make a scaling region.

        Every range of an octave and a half or more counts by its width, its determinism and the flatness of
        E_core (`quantify.decomposition.ranges.weigh_ranges`). None if no scale is deterministic.
        """
        return None if self.weights is None else average(self, self.weights)

    def best_range(self) -> ScalingRange | None:
        """What to quote when nobody has looked at the curves: the average over all plausible ranges.

        Returns
        -------
        ScalingRange, or None without a scaling region: if no range of an octave and a half is deterministic
        throughout, or the dimension over the ranges is below `LEAST_D`. What moves deterministically and
        never stands still moves along a curve at least, D = 1; slow noise seen on coarse scales does not.
        """
        found = self.weights
        if found is None or found.octaves < LEAST_OCTAVES or found.D < LEAST_D:
            return None
        return average(self, found)


def summarise(parts: Decomposition, first: int, last: int) -> ScalingRange:
    """Average a decomposition over the grid indices first..last (both included)."""
    i = slice(first, last + 1)
    x = np.log(parts.eps[i])
    state_sd, mem_sd = sample_sd(parts.E_state[i]), sample_sd(parts.E_mem[i])
    D, const = line_through(x, parts.E_raw[i])
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
        E_core_sd_joint=sample_sd(parts.E_core[i]),
        E_eps=float(parts.E_eps[i].mean()),
        drift=-line_through(x, parts.E_core[i])[0],
        D=D,
        const=const,
        kappa=float(parts.kappa[i].mean()),
        deterministic=float(parts.deterministic[i].mean()),
        no_fit=float(parts.no_fit[i].mean()),
        extrapolated=float(parts.extrapolated[i].mean()),
        negative=float(parts.negative[i].mean()),
        terms=pairs.pop() if len(pairs) == 1 else None,
    )


def average(parts: Decomposition, w: Weights) -> ScalingRange:
    """Average a decomposition over its scales with given weights."""

    def mean(values: Floats) -> float:
        return float(w.scales @ np.nan_to_num(values))

    def sd(values: Floats) -> float:
        return math.sqrt(max(mean(values**2) - mean(values) ** 2, 0.0))

    counting = w.scales > 0.1 * w.scales.max()
    pairs = {(int(m_l), int(m_u)) for m_l, m_u in zip(parts.m_l[counting], parts.m_u[counting], strict=True)}
    state_sd, mem_sd = sd(parts.E_state), sd(parts.E_mem)
    middle = mean(np.log(parts.eps))
    return ScalingRange(
        lo=math.exp(w.lo),
        hi=math.exp(w.hi),
        n=int(counting.sum()),
        octaves=(w.hi - w.lo) / math.log(2),
        E_state=mean(parts.E_state),
        E_state_sd=state_sd,
        E_mem=mean(parts.E_mem),
        E_mem_sd=mem_sd,
        E_core=mean(parts.E_core),
        E_core_sd=state_sd + mem_sd,
        E_core_sd_joint=sd(parts.E_core),
        E_eps=mean(parts.E_eps),
        drift=w.drift,
        D=w.D,
        const=mean(parts.E_raw) + w.D * middle,
        kappa=mean(parts.kappa),
        deterministic=mean(parts.deterministic.astype(float)),
        no_fit=mean(parts.no_fit),
        extrapolated=mean(parts.extrapolated),
        negative=mean(parts.negative),
        terms=pairs.pop() if len(pairs) == 1 else None,
        default=True,
    )


def resolved_arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `decompose` behind `Decomposition.settings`, scales and widths as resolved."""
    derived = ("eps_min_from", "fit_octaves", "d")
    return {name: value for name, value in settings.items() if name not in derived}
