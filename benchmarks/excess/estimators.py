"""Who measures: one short adapter for each estimator, all with the same arguments.

An adapter takes a series and its process and returns what it found, each with the quantity it stands for.
What is not for it, it refuses with `NotForIt` and the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from excess.processes import Process, Quantity
from quantify import QuantifyError, predictive_information, quantify, small_scale_limit, theiler_window

NONE = float("nan")
# Embedding of those who want one: at least twice the largest dimension.
EMBEDDING = 5
MAX_ORDER = 40


class NotForIt(Exception):
    """Why an estimator does not answer for a process."""


@dataclass(frozen=True)
class Found:
    """One number of an estimator; m = None is the limit of long stretches; order 1 is Shannon's."""

    quantity: Quantity
    m: int | None
    order: int
    value: float
    low: float = NONE
    high: float = NONE


def past_and_future(x: np.ndarray, p: Process) -> tuple[np.ndarray, np.ndarray]:
    """The last m and the next m values, a row for each time."""
    x = x.reshape(len(x), -1)
    n = len(x) - (2 * p.m - 1) * p.tau
    columns = [x[j * p.tau : j * p.tau + n] for j in range(2 * p.m)]
    return np.hstack(columns[: p.m]), np.hstack(columns[p.m :])


# --- ours ---


def ours(x: np.ndarray, p: Process) -> list[Found]:
    """`quantify` with its defaults, the delay given."""
    result = quantify(x, tau=p.tau)
    if p.kind == "deterministic":
        names: tuple[Quantity, ...] = ("D", "E_core") if p.core is not None else ("D",)
        return [Found(q, None, 2, getattr(result, q).value, *getattr(result, q).interval) for q in names]
    found = []
    for curve, m in (("E", p.m + 1), ("PI", p.m)):
        estimate = getattr(result, curve, None)
        if estimate is not None:
            m = getattr(estimate, "m", m if p.limit is None else None)
            found.append(Found(curve, m, 2, estimate.value, *estimate.interval))
        else:
            try:
                found.append(Found(curve, m, 2, small_scale_limit(result.sums, curve, m).value))
            except QuantifyError as error:
                raise NotForIt(str(error)) from error
    return found


def our_ksg(x: np.ndarray, p: Process) -> list[Found]:
    near = theiler_window(x, tau=p.tau)
    found = predictive_information(
        x, tau=p.tau, m=p.m, k=4, coordinates="canonical", theiler=near, half=False
    )
    return [Found("PI", p.m, 1, float(found.PI[0, 0]))]


# --- what users have ---


def gaussian(x: np.ndarray, p: Process) -> list[Found]:
    """Fit a linear process and take the formula: with partial autocorrelations f_k up to an order from BIC,

        E = -sum_k k ln(1 - f_k²) / 2

    Several channels, and processes without a limit E: the determinants of the covariances of the m past
    values, the m future ones and both.
    """
    if x.ndim > 1 or p.limit is None:
        past, future = past_and_future(x, p)
        size = past.shape[1]
        K = np.cov(np.hstack([past, future]).T)
        ln = [np.linalg.slogdet(part)[1] for part in (K[:size, :size], K[size:, size:], K)]
        return [Found("PI", p.m, 1, (ln[0] + ln[1] - ln[2]) / 2)]
    x = x - x.mean()
    r = np.array([x[: len(x) - k * p.tau] @ x[k * p.tau :] / len(x) for k in range(MAX_ORDER + 1)])
    f, coefficients, variance = np.zeros(MAX_ORDER), np.zeros(0), [r[0]]
    for k in range(1, MAX_ORDER + 1):
        f[k - 1] = (r[k] - coefficients @ r[k - 1 : 0 : -1]) / variance[-1]
        coefficients = np.append(coefficients - f[k - 1] * coefficients[::-1], f[k - 1])
        variance.append(variance[-1] * (1 - f[k - 1] ** 2))
    gain = -np.arange(1, MAX_ORDER + 1) * np.log1p(-(f**2)) / 2
    values = len(x) // p.tau
    order = int(np.argmin(values * np.log(variance) + np.arange(MAX_ORDER + 1) * np.log(values)))
    return [Found("E", None, 1, float(gain[:order].sum()))]


def ennemi(x: np.ndarray, p: Process) -> list[Found]:
    """Its public face takes single columns, its estimator inside takes several."""
    from ennemi._entropy_estimators import _estimate_single_mi

    return [Found("PI", p.m, 1, float(_estimate_single_mi(*past_and_future(x, p), k=3)))]


def scikit_learn(x: np.ndarray, p: Process) -> list[Found]:
    """Single columns only: the last value about the next."""
    from sklearn.feature_selection import mutual_info_regression

    if x.ndim > 1:
        raise NotForIt("takes one channel")
    found = mutual_info_regression(x[: -p.tau, None], x[p.tau :], n_neighbors=3)
    return [Found("PI", 1, 1, float(found[0]))]


def infomeasure_ksg(x: np.ndarray, p: Process) -> list[Found]:
    import infomeasure

    found = infomeasure.mutual_information(*past_and_future(x, p), approach="ksg", k=4)
    return [Found("PI", p.m, 1, float(found))]


def infomeasure_renyi(x: np.ndarray, p: Process) -> list[Found]:
    """Nearest neighbours for the entropies of order 2 of past, future and both: the quantity of ours."""
    import infomeasure

    found = infomeasure.mutual_information(*past_and_future(x, p), approach="renyi", alpha=2.0, k=4)
    return [Found("PI", p.m, 2, float(found))]


def nolds(x: np.ndarray, p: Process) -> list[Found]:
    import nolds

    return [Found("D", None, 2, float(nolds.corr_dim(x, EMBEDDING, lag=p.tau)))]


def neurokit(x: np.ndarray, p: Process) -> list[Found]:
    import neurokit2

    found, _ = neurokit2.fractal_correlation(x, delay=p.tau, dimension=EMBEDDING)
    return [Found("D", None, 2, float(found))]


@dataclass(frozen=True)
class Estimator:
    """An adapter, the package it needs, and whether it is for deterministic or for stochastic processes."""

    run: Callable[[np.ndarray, Process], list[Found]]
    package: str
    deterministic: bool
    stochastic: bool


ESTIMATORS = {
    "selforg": Estimator(ours, "selforg", True, True),
    "selforg, KSG": Estimator(our_ksg, "selforg", False, True),
    "Gaussian formula": Estimator(gaussian, "numpy", False, True),
    "ennemi": Estimator(ennemi, "ennemi", False, True),
    "scikit-learn": Estimator(scikit_learn, "scikit-learn", False, True),
    "infomeasure, KSG": Estimator(infomeasure_ksg, "infomeasure", False, True),
    "infomeasure, Rényi": Estimator(infomeasure_renyi, "infomeasure", False, True),
    "nolds": Estimator(nolds, "nolds", True, False),
    "NeuroKit2": Estimator(neurokit, "neurokit2", True, False),
}
