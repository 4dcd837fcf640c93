"""A time series in, one result out: complexities, their uncertainties, and when not to trust them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Floats, Progress, Rng
from quantify.correlation import CorrelationSums, correlation_sums
from quantify.decomposition import decompose
from quantify.decomposition.algorithm import S_MIN
from quantify.delays import choose_delay, delay_draws
from quantify.entropy_curves import entropies
from quantify.gate import DataReport, look_over
from quantify.inputs import as_array
from quantify.ksg import PredictiveInformation
from quantify.ksg import predictive_information as ksg_predictive_information
from quantify.null_test import Null, check_null, null_tests, usual_null
from quantify.quantification.caveats import Evidence, find_caveats, too_long
from quantify.quantification.choices import vary
from quantify.quantification.result import Quantification
from quantify.quantification.stochastic import shows_noise, stochastic_below, with_limits
from quantify.quantification.uncertainty import (
    errors_down_and_up,
    estimates,
    of_shorter,
    over_s_min,
    quoted_numbers,
    quoted_range,
    replicated,
)
from quantify.quantification_data import Estimate
from quantify.scaling import fit_scaling
from quantify.series_files import Series, series_of
from quantify.stationary import stationarity as test_stationarity
from quantify.theiler import theiler_window

# Long enough to be nearly independent, many enough for a standard error.
BLOCKS = 16
# The scan of the predictive information. Few m are enough, since PI_m soon stops growing; and long embeddings
# under strong noise are slow.
PREDICTIVE_M = (1, 2, 3, 5, 8)
PREDICTIVE_ETAS = 8
# Without a scaling region there is none.
NO_DIMENSION = Estimate(math.nan, math.nan, (math.nan, math.nan), math.nan, (math.nan, math.nan))
# Samples from the middle of a longer series that are compared with surrogates, lest it take many minutes.
NULL_SAMPLES = 10_000


def quantify(
    series: Any,
    *,
    tau: int | None = None,
    m_max: int = 10,
    eps: ArrayLike | None = None,
    theiler: int | None = None,
    eps_range: tuple[float, float] | None = None,
    s_min: float | tuple[float, float] = S_MIN,
    replicates: int = 200,
    choices: bool = True,
    stationarity: bool = True,
    predictive: int = 0,
    surrogates: int = 0,
    null: Null | None = None,
    exact: bool = False,
    time: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    rng: Rng = 0,
    progress: Progress | None = None,
    **decomposition: Any,
) -> Quantification:
    """Quantify the complexity of a time series, with uncertainties, in one call.

    Looks the data over, chooses the delay, counts the correlation sums, splits the excess entropy, averages
    over all plausible ranges of scales, and finds out what chance and other choices would have changed. A
    series without a scaling region has an excess entropy in the limit of small scales instead, if it is
    stochastic.

    Parameters
    ----------
    series : (N,) or (N, d) array
        Equally spaced samples; columns are observables, in units that make one eps meaningful for all of
        them. Also a `Series` (`read_series`), a data frame of pandas or polars, or a labelled array of
        xarray: all its columns of numbers.
    tau : int, optional
        Delay in samples. Default: `choose_delay`.
    m_max : int
        Steps of the past and present that are looked at together. More see longer memory and need more data.
    eps, theiler, exact
        As in `correlation_sums`.
    eps_range : (float, float), optional
        Scales to average over. Default: all plausible ranges (`Decomposition.best_range`).
    s_min : float or (float, float)
        As in `decompose`; by default the parts are averaged over the usual interval.
    replicates : int
        Number of errors that are drawn, up and down and in two sizes, for the number quoted and its sampling
        error; 0 leaves it out. With fewer than 50, the error is rough.
    choices : bool
        Whether to find out what another delay and another m_max would give, from at most 10,000 samples.
    stationarity : bool
        Whether to test the series for stationarity.
    predictive : int
        Estimate the predictive information by nearest neighbours as well, over m and the scale, from at most
        so many delay vectors spread over the series; 0 leaves it out. 10000 take seconds.
    surrogates : int
        Compare E_core and D with those of so many surrogates (19 at least), by `null_tests`; 0 leaves it out.
        Of a longer series the middle 10,000 samples; 99 surrogates of these take a minute.
    null : str, optional
        Which surrogates. Default: `usual_null`.
    time, names : optional
        Times of the samples, to look for gaps, and names of the observables, for every account of the result;
        labelled series bring their own.
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

    Noise has no scaling region, and no excess entropy:

    >>> from quantify.systems import UniformNoise
    >>> noise = quantify(UniformNoise().sample(2000, 1), m_max=3, replicates=20)
    >>> noise.scaling_region, abs(noise.PI.value) < 0.02
    (False, True)
    """
    generator, whole = np.random.default_rng(rng), progress
    if surrogates:  # they take most of the time, and are asked for at the end: nothing may be lost by then
        check_null(null, surrogates, "surrogates")
        progress = _part(progress, 0.0, 0.2)
    labelled = series_of(series)
    if labelled is not None:
        series, time, names = labelled.values, labelled.time, labelled.names
    report = look_over(series, time=time, names=names)
    x, tame = report.series, report.tamed()
    tau_from, delays = "given", np.zeros(0, np.int64)
    if tau is None:
        delay = choose_delay(tame)
        tau, tau_from = delay.tau, delay.rule
        if replicates:
            delays = delay_draws(tame, delay, generator)
    if theiler is None:
        theiler = theiler_window(tame)
    counting: dict[str, Any] = {
        "m_max": m_max,
        "eps": None if eps is None else as_array("eps", eps, float) / report.scale,
        "largest": float(np.ptp(tame, axis=0).max()) if report.wild.any() else None,
        "theiler": theiler,
        "exact": exact,
        "blocks": BLOCKS if replicates else 0,
        "rng": generator,
    }
    shares = (0.0, 0.45, 0.6, 0.7) if predictive else (0.0, 0.6, 0.85, 1.0)
    sums = correlation_sums(x, tau=tau, **counting, progress=_part(progress, *shares[:2]))
    varied: dict[str, Floats] = {}
    of_tau: Floats | None = None
    if choices or len(delays):
        given = None if eps_range is None else (eps_range[0] / report.scale, eps_range[1] / report.scale)
        varied, of_tau = vary(
            x,
            sums,
            given,
            _part(progress, *shares[1:3]),
            choices=choices,
            delays=delays,
            s_min=s_min,
            **decomposition,
        )
    result = _assemble(
        _in_units(sums, report.scale),
        eps_range=eps_range,
        s_min=s_min,
        replicates=replicates,
        rng=generator,
        varied=varied,
        of_tau=of_tau,
        stationarity=asdict(test_stationarity(tame)) if stationarity else None,
        report=report,
        progress=_part(progress, *shares[2:]),
        decomposition=decomposition,
    )
    result = replace(result, settings=result.settings | {"tau_from": tau_from} | _origin(names, labelled))
    if result.stochastic_below is not None and not result.scaling_region and tau_from != "given" and tau > 1:
        # The excess entropy of a process is that of all its samples, not of every tau-th.
        each = _in_units(correlation_sums(x, tau=1, **counting), report.scale)
        # A smooth series looks deterministic from sample to sample: its noise shows at the longer delay only.
        if shows_noise(decompose(each, s_min=s_min, **decomposition), entropies(each)):
            result = with_limits(result, each, generator)
    if predictive:
        scan = _scan_predictive(x, result, predictive, generator, _part(progress, shares[3], 1.0))
        result = replace(result, predictive_information=scan)
    if surrogates:
        start = max(0, (len(x) - NULL_SAMPLES) // 2)
        part = x[start : start + NULL_SAMPLES]
        asked: dict[str, Any] = {"null": null or usual_null(part), "n": surrogates, "tau": tau}
        asked |= {"statistics": ("E_core", "D"), "rng": generator, "progress": _part(whole, 0.2, 1.0)}
        tests = null_tests(part, **asked).items()
        in_units = {k: replace(t, lo=t.lo * report.scale, hi=t.hi * report.scale) for k, t in tests}
        result = replace(result, null_tests=in_units)
    if whole is not None:
        whole(1.0, 1.0)
    return result


def _origin(names: Sequence[str] | None, labelled: Series | None) -> dict[str, Any]:
    """What is known of the series beside its numbers: sensors, rate, and what was done when it was read."""
    found: dict[str, Any] = {} if names is None else {"sensors": list(names)}
    if labelled is not None and labelled.rate is not None:
        found["rate"] = labelled.rate
    if labelled is not None and labelled.notes:
        found["notes"] = list(labelled.notes)
    return found


def _in_units(sums: CorrelationSums, scale: float) -> CorrelationSums:
    """Scales in the unit of the user's series again."""
    twin = sums.twin and replace(sums.twin, sd=sums.twin.sd * scale)
    return replace(sums, eps=sums.eps * scale, resolution=sums.resolution * scale, twin=twin)


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
    s_min: float | tuple[float, float] = S_MIN,
    replicates: int = 200,
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
    result = _assemble(
        sums,
        eps_range=eps_range,
        s_min=s_min,
        replicates=replicates,
        rng=np.random.default_rng(rng),
        stationarity=stationarity,
        progress=progress,
        decomposition=decomposition,
    )
    return replace(result, predictive_information=predictive_information)


def _assemble(
    sums: CorrelationSums,
    *,
    eps_range: tuple[float, float] | None,
    s_min: float | tuple[float, float],
    replicates: int,
    rng: np.random.Generator,
    stationarity: dict[str, Any] | None,
    decomposition: dict[str, Any],
    varied: dict[str, Floats] | None = None,
    of_tau: Floats | None = None,
    report: DataReport | None = None,
    progress: Progress | None = None,
) -> Quantification:
    """The result of correlation sums and of what was found out besides."""
    parts, curves = decompose(sums, s_min=s_min, **decomposition), entropies(sums)
    region = eps_range is not None or (parts.best_range() is not None and not too_long(sums))
    # Given scales must exist: `over` says which there are.
    quoted = parts.over(*eps_range) if eps_range is not None else quoted_range(parts, None, region)
    assert quoted is not None
    replicates = replicates if sums.blocks is not None else 0
    # The same draws for every series: where all pairs are counted, the numbers depend on no seed.
    fixed = np.random.default_rng(0).spawn(1)[0]
    drawn = replicated(sums, parts, eps_range, region, replicates, fixed, progress)
    freedom = sums.blocks.noise.freedom if replicates and sums.blocks is not None else 0
    swept = {"s_min": over_s_min(sums, parts, eps_range, region)}
    quoted, sampling = quoted_numbers(quoted, drawn)
    sides = errors_down_and_up(drawn) if drawn is not None and quoted.default else None
    found = estimates(parts, quoted, sampling, freedom, (varied or {}) | swept, of_tau, sides)
    result = Quantification(
        E_state=found["E_state"],
        E_mem=found["E_mem"],
        E_core=found["E_core"],
        D=found["D"] if region else NO_DIMENSION,
        range=quoted,
        caveats=(),
        sums=sums,
        entropies=curves,
        decomposition=parts,
        scaling=fit_scaling(sums, eps_min=parts.settings["eps_min"]),
        settings={
            "tau": sums.tau,
            "theiler": sums.theiler,
            "m_max": sums.m_max,
            "s_min": parts.settings["s_min"],
            "range_from": "given" if eps_range else "all plausible ranges" if region else "no scaling region",
            "replicates": replicates,
        },
        stationarity=stationarity,
        scaling_region=region,
        stochastic_below=stochastic_below(parts, curves, sums),
        convergence=of_shorter(sums, eps_range, s_min=s_min, **decomposition) if replicates else None,
        data=report.facts if report is not None else None,
    )
    result = with_limits(result, sums, rng)
    said = report.sentences if report is not None else ()
    return replace(result, caveats=(*said, *find_caveats(Evidence.of(result))))
