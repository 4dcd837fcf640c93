"""A time series in, one result out: complexities, their uncertainties, and when not to trust them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.caveats import Evidence, find_caveats
from quantify.decomposition import Decomposition, decompose
from quantify.entropies import Entropies, entropies
from quantify.plain import from_plain, to_plain
from quantify.ranges import ScalingRange
from quantify.scaling import ScalingFit, fit_scaling
from quantify.summary import QUANTITIES, summary_text
from quantify.sums import CorrelationSums

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from quantify.ksg import PredictiveInformation

Progress = Callable[[float, float], None]

# The interval of s_min over which the paper's own choices vary.
S_MIN_INTERVAL = (0.05, 0.1)
# Long enough to be nearly independent, many enough for a standard error.
BLOCKS = 16
# The scan of the predictive information. Few m are enough, since PI_m soon stops growing; and long embeddings
# under strong noise are slow.
PREDICTIVE_M = (1, 2, 3, 5, 8)
PREDICTIVE_ETAS = 8


@dataclass(frozen=True)
class Estimate:
    """A number with three uncertainties that must not be mixed. In nats (D: no unit).

    Attributes
    ----------
    value : float
        Mean over the scales of the range.
    sampling : float
        Standard error from the finite series: blocks of the time axis drawn again, the range kept. NaN if
        the correlation sums carry no block counts.
    interval : (float, float)
        The middle 95 % of those replicates.
    spread : float
        Standard deviation over the scales of the range: drift rather than error.
    s_min_interval : (float, float)
        Smallest and largest value for s_min in [.05, .1].
    """

    value: float
    sampling: float
    interval: tuple[float, float]
    spread: float
    s_min_interval: tuple[float, float]


@dataclass(frozen=True)
class Quantification:
    """How complex a time series is, on which scales, how surely, and what speaks against it.

    Attributes
    ----------
    E_state, E_mem, E_core, D : Estimate
        State, memory and core complexity, and dimension, over the scales of `range`.
    range : ScalingRange
        The scales that were averaged over, with their quality.
    caveats : tuple of str
        Sentences that say why the numbers should not be trusted; empty if nothing was found.
    sums : CorrelationSums
    entropies : Entropies
    decomposition : Decomposition
    scaling : tuple of ScalingFit
        All straight pieces of the excess entropy E_M.
    settings : dict
        Everything that was chosen or derived: tau, m_max, theiler, s_min, how the range was chosen, ...
    stationarity : dict or None
        Plain values of the test, if it was asked for.
    predictive_information : PredictiveInformation or None
        The KSG estimate over m and eta, if it was asked for; its `quoted` is the number at the smallest
        scale.
    """

    E_state: Estimate
    E_mem: Estimate
    E_core: Estimate
    D: Estimate
    range: ScalingRange
    caveats: tuple[str, ...]
    sums: CorrelationSums
    entropies: Entropies
    decomposition: Decomposition
    scaling: tuple[ScalingFit, ...]
    settings: dict[str, Any]
    stationarity: dict[str, Any] | None = None
    predictive_information: PredictiveInformation | None = None
    unit: str = "nats"

    def summary(self) -> str:
        """A readable account, with the caveats in words."""
        return summary_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON (None for NaN), from which `from_dict` gives the result back."""
        return to_plain(
            {
                **{name: asdict(getattr(self, name)) for name in QUANTITIES},
                "unit": self.unit,
                "range": asdict(self.range),
                "ranges": [asdict(r) for r in self.decomposition.ranges()],
                "caveats": self.caveats,
                "scaling": [asdict(f) for f in self.scaling],
                "settings": self.settings,
                "decomposition_settings": self.decomposition.settings,
                "curves": {name: getattr(self.decomposition, name) for name in _CURVES},
                "sums": {
                    name: getattr(self.sums, name)
                    for name in (*_SUM_ARRAYS, "tau", "theiler", "n", "d", "resolution", "settings")
                },
                "stationarity": self.stationarity,
                "predictive_information": asdict(self.predictive_information)
                if self.predictive_information
                else None,
            }
        )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Quantification:
        """Rebuild a result from `to_dict`: the estimates as saved, the curves again from the sums."""
        from quantify.ksg import PredictiveInformation

        saved = {name: v for name, v in values["sums"].items() if name not in _SUM_ARRAYS}
        for name in _SUM_ARRAYS:
            # None (NaN) only occurs in float arrays.
            saved[name] = np.array(values["sums"][name], dtype=np.int64 if name in _COUNTS else float)
        sums = CorrelationSums(**saved)
        resolved, scan = values["decomposition_settings"], values["predictive_information"]
        options = {k: v for k, v in resolved.items() if k not in ("eps_min_from", "fit_octaves", "d")}
        parts = replace(decompose(sums, **options), settings=resolved)
        return cls(
            **{name: from_plain(values[name], Estimate) for name in QUANTITIES},
            range=from_plain(values["range"], ScalingRange, optional=("terms",)),
            caveats=tuple(values["caveats"]),
            sums=sums,
            entropies=entropies(sums),
            decomposition=parts,
            scaling=tuple(from_plain(fit, ScalingFit) for fit in values["scaling"]),
            settings=values["settings"],
            stationarity=values["stationarity"],
            predictive_information=PredictiveInformation.from_dict(scan) if scan else None,
            unit=values["unit"],
        )

    def plot(self, series: ArrayLike | None = None) -> Figure:
        """Draw entropies, terms, predictive information, decomposition and quality over the scale.

        Given the series, its phase plot too.
        """
        from quantify import plots

        return plots.quantification(self, series=series)


_CURVES = (
    *("eps", "E_state", "E_eps", "E_mem", "E_core", "E_raw", "m_l", "m_u"),
    *("kappa", "deterministic", "no_fit", "extrapolated", "negative"),
)
_COUNTS = ("pairs", "examined")
_SUM_ARRAYS = ("eps", "C", "error", *_COUNTS)


def quantify(
    series: ArrayLike,
    *,
    tau: int | None = None,
    m_max: int = 10,
    eps: ArrayLike | None = None,
    theiler: int | None = None,
    eps_range: tuple[float, float] | None = None,
    s_min: float = 0.07,
    replicates: int = 100,
    stationarity: bool = True,
    predictive: int = 0,
    exact: bool = False,
    rng: np.random.Generator | int = 0,
    progress: Progress | None = None,
    **decomposition: Any,
) -> Quantification:
    """Quantify the complexity of a time series, with uncertainties, in one call.

    Chooses the delay, counts the correlation sums, splits the excess entropy, chooses the scales to average
    over, and repeats the split on resampled time blocks and for other values of s_min.

    Parameters
    ----------
    series : (N,) or (N, d) array
        Equally spaced samples; columns are observables, in units that make one eps meaningful for all of
        them.
    tau : int, optional
        Delay in samples. Default: `choose_delay`.
    m_max : int
        Steps of the past and present that are looked at together. More see longer memory and need more data.
    eps, theiler, exact
        As in `correlation_sums`.
    eps_range : (float, float), optional
        Scales to average over. Default: the flattest deterministic two octaves
        (`Decomposition.best_range`); if no scale range is deterministic, the two smallest reliable octaves.
    s_min : float
        As in `decompose`; its influence is reported in any case.
    replicates : int
        Number of resampled series for the sampling error; 0 leaves it out. (The range and s_min are kept.)
    stationarity : bool
        Whether to test the series for stationarity.
    predictive : int
        Estimate the predictive information by nearest neighbours as well, over m and the scale, from at most
        so many delay vectors spread over the series; 0 leaves it out. 10000 take seconds.
    rng : numpy Generator or seed
    progress : callable, optional
        ``progress(done, total)``.
    **decomposition
        Further settings of `decompose`.

    Returns
    -------
    Quantification
    """
    from quantify.correlation import correlation_sums
    from quantify.delays import choose_delay
    from quantify.stationarity import stationarity as test_stationarity

    generator = np.random.default_rng(rng)
    tau_from = "given"
    if tau is None:
        delay = choose_delay(series)
        tau, tau_from = delay.tau, delay.rule
    sums = correlation_sums(
        series,
        tau=tau,
        m_max=m_max,
        eps=eps,
        theiler=theiler,
        exact=exact,
        blocks=BLOCKS if replicates else 0,
        rng=generator,
        progress=_part(progress, 0.0, 0.5 if predictive else 0.9),
    )
    result = quantify_sums(
        sums,
        eps_range=eps_range,
        s_min=s_min,
        replicates=replicates,
        rng=generator,
        stationarity=asdict(test_stationarity(series)) if stationarity else None,
        progress=_part(progress, *((0.5, 0.6) if predictive else (0.9, 1.0))),
        **decomposition,
    )
    result = replace(result, settings=result.settings | {"tau_from": tau_from})
    if predictive:
        scan = _scan_predictive(series, result, predictive, generator, _part(progress, 0.6, 1.0))
        result = replace(result, predictive_information=scan)
    if progress is not None:
        progress(1.0, 1.0)
    return result


def _part(progress: Progress | None, start: float, end: float) -> Progress | None:
    """A callback that reports one step of the work as the part start..end of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(start + (end - start) * done / total, 1.0)


def _scan_predictive(
    series: ArrayLike,
    result: Quantification,
    points: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> PredictiveInformation | None:
    """PI_m(eta) by KSG from well below the smallest reliable scale, where it saturates, up to the spread of
    the series; None if the series is too short for any m.
    """
    from quantify.ksg import predictive_information

    sums, k = result.sums, 20
    x, tau = np.asarray(series, dtype=float), sums.tau or 1
    # Ten times as many points as neighbours, in each half.
    longest = (len(x) // 2 - 10 * k) // tau // 2
    ms = [m for m in PREDICTIVE_M if m <= min(max(sums.m_max // 2, 1), longest)]
    if not ms or points < 20 * k:
        return None
    # Noise as strong as the steps of a rounded series hides that values repeat.
    low = max(result.decomposition.settings["eps_min"] / 4, sums.resolution)
    high = max(2 * float(x.std(axis=0).max()), 4 * low)
    etas = np.geomspace(low, high, PREDICTIVE_ETAS)
    return predictive_information(
        x,
        tau=tau,
        m=ms,
        k=k,
        eta=[float(eta) for eta in etas],
        theiler=sums.theiler or 0,
        points=points,
        rng=rng,
        progress=progress,
    )


def quantify_sums(
    sums: CorrelationSums,
    *,
    eps_range: tuple[float, float] | None = None,
    s_min: float = 0.07,
    replicates: int = 100,
    rng: np.random.Generator | int = 0,
    stationarity: dict[str, Any] | None = None,
    predictive_information: PredictiveInformation | None = None,
    progress: Progress | None = None,
    **decomposition: Any,
) -> Quantification:
    """Quantify from correlation sums, for those who have them already (`read_tisean`, `correlation_sums`).

    Parameters
    ----------
    sums : CorrelationSums
        With block counts, if a sampling error is wanted.
    eps_range, s_min, replicates, rng, **decomposition
        As in `quantify`.
    stationarity, predictive_information : dict and PredictiveInformation, optional
        Results to carry along.

    Returns
    -------
    Quantification
    """
    parts = decompose(sums, s_min=s_min, **decomposition)
    quoted, range_from = _choose_range(parts, eps_range)
    estimates = _estimates(
        sums,
        parts,
        quoted,
        replicates if sums.blocks is not None else 0,
        np.random.default_rng(rng),
        progress,
    )
    return Quantification(
        E_state=estimates["E_state"],
        E_mem=estimates["E_mem"],
        E_core=estimates["E_core"],
        D=estimates["D"],
        range=quoted,
        caveats=find_caveats(Evidence(sums, parts, quoted, estimates["E_core"], stationarity)),
        sums=sums,
        entropies=entropies(sums),
        decomposition=parts,
        scaling=fit_scaling(sums, eps_min=parts.settings["eps_min"]),
        settings={
            "tau": sums.tau,
            "theiler": sums.theiler,
            "m_max": sums.m_max,
            "s_min": s_min,
            "range_from": range_from,
            "replicates": replicates if sums.blocks is not None else 0,
        },
        stationarity=stationarity,
        predictive_information=predictive_information,
    )


def _choose_range(parts: Decomposition, given: tuple[float, float] | None) -> tuple[ScalingRange, str]:
    """The range to average over and how it was chosen."""
    if given is not None:
        return parts.over(*given), "given"
    best = parts.best_range()
    if best is not None:
        return best, "flattest deterministic"
    return parts.over(parts.eps[-1], min(4 * parts.eps[-1], parts.eps[0])), "smallest reliable scales"


def _estimates(
    sums: CorrelationSums,
    parts: Decomposition,
    r: ScalingRange,
    replicates: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> dict[str, Estimate]:
    """The four numbers with their three uncertainties, all over the same fixed range."""
    # Scales and widths as resolved for the series itself: replicates must not choose their own.
    options = {k: v for k, v in parts.settings.items() if k not in ("eps_min_from", "fit_octaves", "d")}

    def values(some_sums: CorrelationSums, **changed: Any) -> list[float]:
        mean = decompose(some_sums, **(options | changed)).over(r.lo, r.hi)
        return [getattr(mean, name) for name in QUANTITIES]

    drawn = np.full((max(replicates, 1), len(QUANTITIES)), np.nan)
    for i in range(replicates):
        drawn[i] = values(sums.resampled(rng))
        if progress is not None:
            progress(i + 1, replicates)
    swept = np.array([values(sums, s_min=float(s)) for s in np.linspace(*S_MIN_INTERVAL, 6)])
    local_D = -np.gradient(parts.E_raw, np.log(parts.eps))[(parts.eps >= r.lo) & (parts.eps <= r.hi)]
    spread = [
        r.E_state_sd,
        r.E_mem_sd,
        r.E_core_sd,
        float(np.std(local_D, ddof=1)) if len(local_D) > 1 else 0.0,
    ]
    return {
        name: Estimate(
            value=getattr(r, name),
            sampling=float(np.std(drawn[:, i], ddof=1)) if replicates > 1 else math.nan,
            interval=(float(np.quantile(drawn[:, i], 0.025)), float(np.quantile(drawn[:, i], 0.975))),
            spread=spread[i],
            s_min_interval=(float(swept[:, i].min()), float(swept[:, i].max())),
        )
        for i, name in enumerate(QUANTITIES)
    }
