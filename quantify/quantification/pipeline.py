"""A time series in, one result out: complexities, their uncertainties, and when not to trust them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Progress, Rng
from quantify.correlation import CorrelationSums, correlation_sums
from quantify.decomposition import Decomposition, ScalingRange, decompose
from quantify.delays import choose_delay
from quantify.entropy_curves import entropies
from quantify.ksg import PredictiveInformation
from quantify.ksg import predictive_information as ksg_predictive_information
from quantify.quantification.caveats import Evidence, find_caveats
from quantify.quantification.result import Quantification
from quantify.quantification.uncertainty import estimates
from quantify.scaling import fit_scaling
from quantify.stationary import stationarity as test_stationarity

# Long enough to be nearly independent, many enough for a standard error.
BLOCKS = 16
# The scan of the predictive information. Few m are enough, since PI_m soon stops growing; and long embeddings
# under strong noise are slow.
PREDICTIVE_M = (1, 2, 3, 5, 8)
PREDICTIVE_ETAS = 8


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
    rng: Rng = 0,
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

    Examples
    --------
    >>> from quantify import quantify
    >>> from quantify.systems import Henon
    >>> result = quantify(Henon().sample(8000, 1)[:, 0], m_max=5, replicates=20)
    >>> abs(result.D.value - 1.21) < 0.15, result.unit  # the dimension of the Hénon attractor is 1.21
    (True, 'nats')

    A caveat is a sentence that says why not to trust the numbers:

    >>> from quantify.systems import UniformNoise
    >>> caveat = quantify(UniformNoise().sample(2000, 1), m_max=3, replicates=0).caveats[0]
    >>> "the series cannot be told from noise" in caveat
    True
    """
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
    return ksg_predictive_information(
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
    rng: Rng = 0,
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

    Examples
    --------
    >>> from quantify import correlation_sums, quantify_sums
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(5000, 1)[:, 0], tau=1, m_max=5, theiler=5)
    >>> result = quantify_sums(sums, eps_range=(0.05, 0.2), replicates=10)
    >>> result.settings["range_from"]
    'given'
    """
    parts = decompose(sums, s_min=s_min, **decomposition)
    quoted, range_from = _choose_range(parts, eps_range)
    found = estimates(
        sums,
        parts,
        quoted,
        replicates if sums.blocks is not None else 0,
        np.random.default_rng(rng),
        progress,
    )
    return Quantification(
        E_state=found["E_state"],
        E_mem=found["E_mem"],
        E_core=found["E_core"],
        D=found["D"],
        range=quoted,
        caveats=find_caveats(Evidence(sums, parts, quoted, found["E_core"], stationarity)),
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
