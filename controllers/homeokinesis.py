"""Homeokinesis: descend the time-loop error, the error of a model that predicts backwards in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numba import njit

from controllers.algebra import cholesky, cholesky_solve, clipped, dot
from controllers.base import Array
from controllers.config import Range, RuleConfig
from controllers.model import ModelConfig, ModelController, ModelRates, damp, loop_jacobian


@dataclass(frozen=True)
class HomeokinesisConfig(ModelConfig):
    """Settings of homeokinesis; the defaults are those of its authors for a hexapod (docs/controllers.md).

    Examples
    --------
    >>> from controllers import HomeokinesisConfig
    >>> HomeokinesisConfig(log_error=False).eps_C
    0.105
    """

    eps_C: Annotated[float, Range(0.0, 100.0)] = 0.105
    """Learning rate of C and h per step, in [0, 100]."""
    C_0: Annotated[float, Range(-10.0, 10.0)] = 1.2
    """Initial weight from each joint's sensor to its own motor, in [-10, 10]."""
    g_floor: Annotated[float, Range(0.0, 1.0, on=0.05)] = 0.0
    """Added to g' = 1 - a^2 in the rule, so that a saturated neuron still learns, in [0, 1]; 0 is exact."""
    clip_C: Annotated[float, Range(0.0, 1e6)] = 0.05
    """Largest change of an element of C by learning in one step, in [0, 1e6]."""
    log_error: bool = True
    """Whether the logarithm of the error is descended: the size of the noise then matters little."""
    log_scale: Annotated[float, Range(0.0, 1e6)] = 0.1
    """Scale of the step down the logarithmic error, in [0, 1e6]."""
    log_floor: Annotated[float, Range(1e-12, 1e6)] = 0.001
    """Added to the error under the logarithm, in [1e-12, 1e6]: bounds the step where the model is perfect."""
    ridge: Annotated[float, Range(0.0, 1.0)] = 1e-8
    """Regularises the pseudo-inverse L^T (L L^T + ridge)^-1, in [0, 1]; for sensors without motors."""


class HomeokinesisRates(NamedTuple):
    """What the kernel takes from the settings that are homeokinesis' own."""

    ridge: float
    log_error: bool
    log_scale: float
    log_floor: float


@njit(cache=True)
def _homeokinesis(
    C: Array, h: Array, gamma: Array, A: Array, S: Array, s: Array, xi: Array, rates: ModelRates,
    own: HomeokinesisRates,
) -> None:  # fmt: skip
    """Move C and h in place by one step, with s = s_{t-1} and xi = xi_t."""
    o, n = C.shape
    a = np.tanh(dot(C, s) + h)
    g = 1.0 - a**2 + rates.g_floor
    L = loop_jacobian(A, S, C, g)
    LLT = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            for k in range(n):
                LLT[i, j] += L[i, k] * L[j, k]
    R = cholesky(LLT, own.ridge)

    v = dot(L.T, cholesky_solve(R, xi))
    chi = cholesky_solve(R, dot(L, v))
    mu = g * dot(A.T, chi)
    Cv = dot(C, v)
    w = rates.eps_C
    if own.log_error:
        w *= own.log_scale / (np.sum(v**2) + own.log_floor)
    for i in range(o):
        gamma[i] = 2.0 * rates.alpha * mu[i] * Cv[i]
        for j in range(n):
            C[i, j] += clipped(w * (mu[i] * v[j] - gamma[i] * a[i] * s[j]), rates.clip_C)
        h[i] += clipped(-w * gamma[i] * a[i], rates.clip_h)
    damp(C, rates)


class Homeokinesis(ModelController):
    """Learn by descending the time-loop error (Der & Martius, The Playful Machine, Springer 2012).

    v is the smallest change of s_{t-1} that would have explained the model error xi_t. Making E = |v|^2 small
    makes the loop sensitive, and keeps it where the model still works::

        L = A diag(g') C + S        v = L^+ xi        chi = (L^+)^T v        E = |v|^2
        mu = diag(g') A^T chi       gamma = 2 alpha mu * (C v)
        dC =   eps_C w ( mu v^T - (gamma * a) s^T ) + damping (1.2 - C)^3      (the cube of each element)
        dh = - eps_C w gamma * a             w = log_scale / (E + log_floor) for the logarithmic error, else 1

    with each term of an element clipped. L^+ = L^T (L L^T + ridge)^-1, the pseudo-inverse as ridge goes to 0.
    a, g' and L are those of s_{t-1} at the current C and h. With alpha = 1, g_floor = 0, w = 1, no damping,
    an invertible L and no ridge the step is exactly -eps_C/2 times the gradient of E for given xi, A, S.

    Examples
    --------
    One joint that follows its motor at once leaves rest: C climbs beyond the critical value 1.

    >>> from numpy.random import default_rng
    >>> from controllers import Homeokinesis, HomeokinesisConfig
    >>> rule, s = Homeokinesis(1, 1, HomeokinesisConfig(C_0=0.5)), 0.0
    >>> for noise in default_rng(0).normal(0.0, 0.05, (3000, 1)):
    ...     s = rule.step(s + noise)
    >>> bool(rule.C > 1)
    True
    """

    Config: ClassVar[type[RuleConfig]] = HomeokinesisConfig
    config: HomeokinesisConfig

    def set_up(self) -> None:
        """Start with the model, and C_0."""
        super().set_up()
        self._rates = self.config.rates(HomeokinesisRates)

    def span(self) -> int:
        """Give 2: the newest sensor values and those before."""
        return 2

    def move_weights(self) -> None:
        """Move C and h by one step of the rule."""
        _homeokinesis(
            self.C, self.h, self.gamma, self.A, self.S, self.history[1], self.xis[0],
            self._shared_rates, self._rates,
        )  # fmt: skip
