"""The decomposition at every scale, and what it says on average over a range of scales."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quantify.aliases import Bools, Counts, Floats
from quantify.correlation.result import scales_in_words
from quantify.decomposition.ranges import deterministic_runs, flattest_window, line_through, sample_sd
from quantify.errors import QuantifyError
from quantify.segments import Segment


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

    Examples
    --------
    >>> from quantify import correlation_sums, decompose
    >>> from quantify.systems import Henon
    >>> parts = decompose(correlation_sums(Henon().sample(8000, 1)[:, 0], tau=1, m_max=5, theiler=5))
    >>> best = parts.best_range()
    >>> best.default, best.deterministic, f"{best.octaves:.0f} octaves"
    (True, 1.0, '2 octaves')
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
        1 - (sum of the slopes of the terms m_l_own..m_u_own) / d: 0 deterministic, 1 stochastic; neither is
        a bound.
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
        default (`best_range`, marked ``default=True``), which may lie inside a run or across several.
        """
        runs = [summarise(self, i, j) for i, j in deterministic_runs(self.deterministic, self.m_l, self.m_u)]
        best = self.best_range()
        return tuple(sorted([*runs, *([best] if best else [])], key=lambda r: (-r.hi, r.default)))

    def best_range(self, octaves: float = 2.0) -> ScalingRange | None:
        """The range to quote when nobody has looked at the curves: where E_core is flattest.

        Of all windows of `octaves` octaves in which every scale is deterministic, the one with the smallest
        standard deviation of E_core (the one at larger scales, if tied). If there is none, windows of half
        that width are tried.

        Returns
        -------
        ScalingRange, or None if no window of either width is deterministic throughout
        """
        for width in (octaves, octaves / 2):
            window = flattest_window(self.eps, self.E_core, self.deterministic, width)
            if window is not None:
                return summarise(self, *window, default=True)
        return None


def summarise(parts: Decomposition, first: int, last: int, default: bool = False) -> ScalingRange:
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
        default=default,
    )


def resolved_arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `decompose` behind `Decomposition.settings`, scales and widths as resolved."""
    derived = ("eps_min_from", "fit_octaves", "d")
    return {name: value for name, value in settings.items() if name not in derived}
