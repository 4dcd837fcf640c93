"""What a stochastic series has: its excess entropy and predictive information in the limit of small scales.

A deterministic series has an excess entropy that grows without limit as one looks closer. That of a process
with noise ends at a number, which is what remains of state and memory then.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from quantify.aliases import Floats
from quantify.correlation import CorrelationSums
from quantify.correlation.noise import covariance
from quantify.decomposition import Decomposition
from quantify.entropy_curves import Entropies
from quantify.errors import QuantifyError
from quantify.noise import SmallScaleLimit, small_scale_limit
from quantify.quantification.result import Quantification
from quantify.quantification.uncertainty import LEAST_ERROR
from quantify.quantification_data import Estimate, Limit

LEAST_OCTAVES = 1.0
"""Stochastic scales, from the smallest on, that make the limit worth a look."""
LEAST_GROWTH = 0.25
"""Of h in units of the growth of H_1: 1 for noise, 0 for a deterministic system."""
FEW_STEPS = (1, 2, 3, 4)
FEW_PAIRS = 1000
"""Close pairs from which on growth over an octave is known to .05: a quarter of it is .17."""
SHOWN = 1 / 3
"""The same by which noise shows: .4 to .7 for an AR(2) process that swings, with delay 1, and .2 to .3 for
flows and cycles with a little noise that are sampled finely."""
SURE = 2.0
"""More steps of memory count if they add this many standard errors."""
POOR = 3.0
"""Standard errors by which a fit may miss the curve. Beyond, the limit lies in scales that were not seen."""
REPLICATES = 200
"""Draws that tell how often each m is the one."""


def stochastic_below(parts: Decomposition, curves: Entropies, sums: CorrelationSums) -> float | None:
    """The scale below which all scales are stochastic; None if these are less than an octave.

    At stochastic scales every step tells as much more as the first when one looks closer: h grows with H_1.
    Where it does not, it is not noise that takes the slopes away. A perfect cycle has few distances, say,
    and H_1 grows in steps between them. And m_max steps of a short series reach large scales only, where
    anything looks stochastic: fewer steps must show the same on the smaller scales that they reach.
    """
    first = _noisy_from(parts)
    if first is None or _stops_growing(curves, sums, len(parts.eps)):
        return None
    return float(parts.eps[first]) if _growth(curves, first, len(parts.eps) - 1) > LEAST_GROWTH else None


def _noisy_from(parts: Decomposition) -> int | None:
    """The scale below which fits say that all scales are stochastic, if these are an octave or more."""
    noisy = parts.determinism < 0.5
    first = int(np.append(noisy[::-1], False).argmin())
    first = len(noisy) - max(first, 1)
    octaves = float(np.log2(parts.eps[first] / parts.eps[-1]))
    return first if noisy[-1] and octaves >= LEAST_OCTAVES else None


def close_decision(parts: Decomposition, curves: Entropies, sums: CorrelationSums) -> float | None:
    """How fast h grows, in units of the growth of H_1, if chance decided whether that is enough for noise."""
    first, last = _noisy_from(parts), len(parts.eps) - 1
    if first is None or sums.blocks is None or _stops_growing(curves, sums, last + 1):
        return None
    found, noise = _growth(curves, first, last), sums.blocks.noise
    # What pairs of blocks add to H_m = -ln C_m, and to its growth.
    added = noise.chance[:, :, first] - noise.chance[:, :, last]
    step, one = added[:, -1] - added[:, -2], added[:, 0]
    per_pair = (step - found * one) / (curves.h[0, last] - curves.h[0, first])
    error = float(np.sqrt(max(covariance(per_pair[:, None], noise.blocks)[0, 0], 0.0)))
    return found if abs(found - LEAST_GROWTH) < SURE * error else None


def _stops_growing(curves: Entropies, sums: CorrelationSums, kept: int) -> bool:
    """Whether h_m of a few steps m grows no more with H_1 over the smallest octave that is counted well, if
    that lies below the scales that are kept for all steps.
    """
    for m in FEW_STEPS:
        if m + 1 >= sums.m_max:
            break
        last = int((sums.C[m] * sums.all_pairs >= FEW_PAIRS).sum()) - 1
        first = int(np.argmax(sums.eps <= 2.001 * sums.eps[last]))
        if last >= kept and not _growth(curves, first, last, m) > LEAST_GROWTH:
            return True
    return False


def shows_noise(parts: Decomposition, curves: Entropies) -> bool:
    """Whether h grows fast over the smallest octave: noise hides at short delays of a smooth series.

    Slopes of single terms say the same less surely: a term may take the straight piece of a larger scale.
    """
    last = len(parts.eps) - 1
    octave = int(np.argmax(parts.eps <= 2.001 * parts.eps[-1]))  # of the default grid, but for rounding
    return _growth(curves, min(octave, last - 1), last) > SHOWN


def _growth(curves: Entropies, first: int, last: int, m: int = -1) -> float:
    """By how much h_m, of most steps unless told, grows from one scale to a smaller one, in units of H_1."""
    growth = curves.h[:, last] - curves.h[:, first]  # h_0 = H_1
    return float(growth[m] / growth[0]) if growth[0] > 0 else 0.0


def with_limits(result: Quantification, sums: CorrelationSums, rng: np.random.Generator) -> Quantification:
    """Add E and PI in the limit of small scales, where the smallest scales are stochastic.

    Without a scaling region all of E is memory: it is the core complexity then, and there is no dimension.
    """
    if result.stochastic_below is None:
        return result
    some = REPLICATES if result.settings["replicates"] else 0
    found = limits(sums, some, rng)
    result = replace(result, E=found.get("E"), PI=found.get("PI"))
    if result.scaling_region or not found:
        return result
    # Both tend to the same number. E_m may stand still over some m before it goes on growing; PI_m does not.
    core = found.get("PI", found.get("E"))
    assert core is not None
    memory = Estimate(core.value, core.sampling, core.interval, 0.0, (core.value, core.value))
    return replace(
        result,
        settings=result.settings | {"limit_tau": sums.tau},
        E_state=Estimate(0.0, 0.0, (0.0, 0.0), 0.0, (0.0, 0.0)),
        E_mem=memory,
        E_core=memory,
    )


def limits(sums: CorrelationSums, replicates: int, rng: np.random.Generator) -> dict[str, Limit]:
    """E and PI in the limit of small scales, as far as the data support them."""
    found = {}
    for curve in ("E", "PI"):
        limit = _limit(sums, curve, replicates, rng)  # type: ignore[arg-type]
        if limit is not None:
            found[curve] = limit
    return found


def _limit(
    sums: CorrelationSums, curve: Literal["E", "PI"], replicates: int, rng: np.random.Generator
) -> Limit | None:
    """The limit at the m from which on more steps add nothing that is sure, on average over what chance may
    make of that m.

    E_m and PI_m grow with m, and so do their errors. The smallest m that no larger one exceeds by more than
    `SURE` times what their difference scatters by is a number that jumps, and the limit with it. So every m
    counts by how often it is that one when errors are drawn (`soft_stop`), and the error is that of the
    average.
    """
    from scipy.stats import t  # slow to import, so only where it is needed

    first, last = (2, sums.m_max) if curve == "E" else (1, sums.m_max // 2)

    found: list[SmallScaleLimit] = []
    for m in range(first, last + 1):
        try:
            limit = small_scale_limit(sums, curve, m)
        except QuantifyError:
            break
        if not found or limit.residual <= POOR:
            found.append(limit)
    if not found:
        return None
    own = np.array([limit.value for limit in found])
    if not replicates or sums.blocks is None:
        return Limit(float(own[-1]), math.nan, (math.nan, math.nan), found[-1].m)
    # A limit is a sum over the curve, a curve one over ln C: what pairs of blocks add to it needs no draws.
    noise = sums.blocks.noise
    added = np.column_stack([_added(noise.chance, limit) for limit in found])
    spread = covariance(added, noise.blocks)
    errors = rng.multivariate_normal(np.zeros(len(own)), spread, size=replicates, method="eigh")
    share = soft_stop(own, errors)
    value = float(share @ own)
    again = own + errors
    drawn = np.array([soft_stop(one, errors) @ one for one in again])
    error = max(float(np.std(drawn, ddof=1)), LEAST_ERROR)
    wide = float(t.ppf(0.975, sums.blocks.noise.freedom)) * error
    return Limit(value, error, (value - wide, value + wide), found[int(np.argmax(share))].m)


def _added(chance: Floats, limit: SmallScaleLimit) -> Floats:
    """What every pair of blocks adds to a limit, (P,), if it adds `chance`, (P, m_max, n_eps), to ln C."""
    m = limit.m
    if limit.curve == "PI":  # 2 H_m - H_2m
        return np.asarray((chance[:, 2 * m - 1] - 2 * chance[:, m - 1]) @ limit.shares)
    # m H_{m-1} - (m - 1) H_m
    return np.asarray(((m - 1) * chance[:, m - 1] - m * chance[:, m - 2]) @ limit.shares)


def soft_stop(values: Floats, errors: Floats) -> Floats:
    """How often each m is the smallest that no larger one surely exceeds, if chance adds these errors.

    Parameters
    ----------
    values : (M,) array
    errors : (n, M) array

    Returns
    -------
    (M,) array, summing to 1

    Examples
    --------
    Values that grow by far more than their errors, and then no more:

    >>> import numpy as np
    >>> from quantify.quantification.stochastic import soft_stop
    >>> errors = 0.01 * np.random.default_rng(0).standard_normal((200, 3))
    >>> share = soft_stop(np.array([0.1, 0.4, 0.4]), errors)
    >>> float(share[0]), bool(share[1] > 0.9)
    (0.0, True)
    """
    n, last = errors.shape[0], len(values) - 1
    drawn = values + errors
    stops = np.full(n, last)
    for m in range(last - 1, -1, -1):
        scatter = np.std(errors[:, m + 1 :] - errors[:, [m]], axis=0, ddof=1)
        exceeded = (drawn[:, m + 1 :] - drawn[:, [m]] > SURE * scatter).any(axis=1)
        stops[~exceeded] = m
    return np.bincount(stops, minlength=last + 1) / n
