"""Numbers by which series are compared: complexities on the same scales for all, and of linear surrogates."""

from __future__ import annotations

from typing import Any

import numpy as np

from quantify.aliases import Floats
from quantify.errors import QuantifyError
from quantify.ksg import predictive_information
from quantify.null_test import null_tests, usual_null
from quantify.quantification import Quantification, quantify
from quantify.quantification.pipeline import NULL_SAMPLES
from quantify.surrogates import iaaft

# Delay vectors from which predictive information is estimated: the same number for all, so that the bias that
# is left is the same too.
PI_POINTS = 10_000


def comparable(
    series: Floats,
    result: Quantification,
    common: tuple[float, float],
    relative: tuple[float, float],
    *,
    eta: float = 0.01,
    surrogate: bool = True,
    nulls: int = 0,
    seed: int = 1,
    **options: Any,
) -> dict[str, Any]:
    """The numbers of a quantified series that can stand beside those of others, as plain values.

    Parameters
    ----------
    series : (n,) array
    result : Quantification
        What `quantify` says of it.
    common : (float, float)
        Scales that are the same for all series, in their unit.
    relative : (float, float)
        Scales in units of the standard deviation of the series.
    eta : float
        Noise strength of the predictive information: finer structure than this is hidden.
    surrogate : bool
        Whether to score an IAAFT surrogate of the series as well.
    nulls : int
        Compare E_core with that of so many surrogates of the usual null (19 at least) as well; 0 leaves it
        out. Of a longer series the middle `NULL_SAMPLES`.
    seed : int
        Of everything random.
    **options
        `tau`, `m_max` and `s_min` with which the series was quantified.

    Returns
    -------
    dict
        `auto`, `common`, `relative`: complexities on the scales chosen for this series, on scales common to
        all, and on scales relative to its spread. `PI`: predictive information. `stationary`, `caveats`: what
        speaks against the numbers. `surrogate`: the same three for a surrogate. `null`: which null
        hypothesis, the excess of E_core over its surrogates in nats and in standard deviations, its p-value.

    Examples
    --------
    >>> import quantify as q
    >>> from quantify.comparable import comparable
    >>> series, options = q.systems.Henon().sample(1500, 1)[:, 0], {"tau": 1, "m_max": 4}
    >>> result = q.quantify(series, replicates=0, **options)
    >>> found = comparable(series, result, (0.2, 0.8), (0.2, 0.8), **options)
    >>> sorted(found["surrogate"])
    ['auto', 'common', 'relative']
    """
    std = float(np.std(series))
    scales = {"common": common, "relative": (relative[0] * std, relative[1] * std)}
    chosen, stationary = result.range, result.stationarity
    names = ("lo", "hi", "E_core", "E_state", "E_mem", "D", "kappa")
    row = {
        "auto": {
            **{name: getattr(chosen, name) for name in names},
            "sampling": result.E_core.sampling,
            "usable": result.scaling_region,
        },
        **{name: result.decomposition.over_scales(*limits) for name, limits in scales.items()},
        "PI": _quoted(series, result, options["m_max"], {"eta": eta, "rng": seed}),
        "stationary": None if stationary is None else bool(stationary["stationary"]),
        "caveats": list(result.caveats),
    }
    if surrogate:
        # The range of the original: what a linear process would score where the series was quantified.
        scales["auto"] = (chosen.lo, chosen.hi)
        linear = quantify(
            iaaft(series, seed), replicates=0, stationarity=False, choices=False, rng=seed, **options
        )
        parts = linear.decomposition
        row["surrogate"] = {name: parts.over_scales(*limits) for name, limits in scales.items()}
    if nulls:
        row["null"] = _beside_null(series, nulls, seed)
    return row


def _beside_null(series: Floats, n: int, seed: int) -> dict[str, Any] | None:
    """E_core of the middle of a series beside n surrogates of it; None if it cannot be told."""
    start = max(0, (len(series) - NULL_SAMPLES) // 2)
    part = series[start : start + NULL_SAMPLES]
    try:
        found = null_tests(part, null=usual_null(part), n=n, statistics=("E_core",), rng=seed)["E_core"]
    except QuantifyError:  # too short, or too few rounds
        return None
    return {name: getattr(found, name) for name in ("null", "excess", "sds", "p", "n")}


def _quoted(series: Floats, result: Quantification, m_max: int, noise: dict[str, Any]) -> float | None:
    """Predictive information at small noise, the largest over m (as the paper quotes it)."""
    lengths = [m for m in (1, 2, 3, 4, 6, 8, 12) if m <= max(1, m_max // 2)]
    delays: dict[str, Any] = {"tau": result.sums.tau or 1, "theiler": result.sums.theiler or 0}
    try:
        found = predictive_information(
            series, m=lengths, half=False, points=PI_POINTS, quoted=0, **delays, **noise
        )
    except QuantifyError:  # a series too short for its dependence in time
        return None
    return found.quoted.value if np.isfinite(found.PI).any() else None
