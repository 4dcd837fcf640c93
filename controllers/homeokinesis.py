"""Homeokinesis: descend the time-loop error, the error of a model that predicts backwards in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numba import njit

from controllers.algebra import cholesky, cholesky_solve, clipped, dot, dot_T
from controllers.base import Array
from controllers.config import Range, RuleConfig
from controllers.model import ModelConfig, ModelController


@dataclass(frozen=True)
class HomeokinesisConfig(ModelConfig):
    """Settings of homeokinesis."""

    eps_C: Annotated[float, Range(0.0, 100.0)] = 0.1
    """Learning rate of C and h per step, in [0, 100]."""
    log_error: bool = True
    """Whether the logarithm of the error is descended: the size of the noise then matters little."""
    ridge: Annotated[float, Range(0.0, 1.0)] = 1e-3
    """Regularises the pseudo-inverse L^T (L L^T + ridge)^-1, in [0, 1]; for sensors without motors."""


@njit(cache=True)
def _homeokinesis(
    C: Array, h: Array, gamma: Array, A: Array, S: Array, C_0: Array, s: Array, xi: Array,
    eps_C: float, alpha: float, g_floor: float, clip_C: float, clip_h: float, pull_C: float,
    ridge: float, log_error: bool,
) -> None:  # fmt: skip
    """Move C and h in place by one step, with s = s_{t-1} and xi = xi_t."""
    o, n = C.shape
    a = np.tanh(dot(C, s) + h)
    g = 1.0 - a**2 + g_floor
    L = S.copy()
    for i in range(n):
        for k in range(o):
            Ag = A[i, k] * g[k]
            for j in range(n):
                L[i, j] += Ag * C[k, j]
    LLT = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            for k in range(n):
                LLT[i, j] += L[i, k] * L[j, k]
    R = cholesky(LLT, ridge)

    v = dot_T(L, cholesky_solve(R, xi))
    chi = cholesky_solve(R, dot(L, v))
    mu = g * dot_T(A, chi)
    Cv = dot(C, v)
    w = eps_C
    if log_error:
        w *= 0.1 / (np.sum(v**2) + 0.001)
    for i in range(o):
        gamma[i] = 2.0 * alpha * mu[i] * Cv[i]
        for j in range(n):
            dC = w * (mu[i] * v[j] - gamma[i] * a[i] * s[j])
            C[i, j] += clipped(dC, clip_C) - pull_C * (C[i, j] - C_0[i, j])
        h[i] -= clipped(w * gamma[i] * a[i], clip_h)


class Homeokinesis(ModelController):
    """Learn by descending the time-loop error (Der & Martius, The Playful Machine, Springer 2012).

    v is the smallest change of s_{t-1} that would have explained the model error xi_t. Making E = |v|^2 small
    makes the loop sensitive, and keeps it where the model still works::

        L = A diag(g') C + S        v = L^+ xi        chi = (L^+)^T v        E = |v|^2
        mu = diag(g') A^T chi       gamma = 2 alpha mu * (C v)
        dC =   eps_C w ( mu v^T - (gamma * a) s^T )
        dh = - eps_C w gamma * a                      w = 0.1 / (E + 0.001) for the logarithmic error, else 1

    L^+ = L^T (L L^T + ridge)^-1, the pseudo-inverse as ridge goes to 0. a, g' and L are those of s_{t-1} at
    the current C and h. With alpha = 1, g_floor = 0, w = 1, an invertible L and no ridge the step is exactly
    -eps_C/2 times the gradient of E for given xi, A, S.

    Parameters
    ----------
    n_sensors, n_motors : int
    config : HomeokinesisConfig, optional
    rng : numpy.random.Generator or int, optional
        Not used: the rule is deterministic.
    """

    Config: ClassVar[type[RuleConfig]] = HomeokinesisConfig
    config: HomeokinesisConfig

    def __init__(
        self,
        n_sensors: int,
        n_motors: int,
        config: HomeokinesisConfig | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(n_sensors, n_motors, config, rng)
        config = self.config
        rates = (config.eps_C, config.alpha, config.g_floor, config.clip_C, config.clip_h, config.pull_C)
        self._rates: tuple[Any, ...] = *map(float, (*rates, config.ridge)), bool(config.log_error)

    def span(self) -> int:
        """Give 2: the newest sensor values and those before."""
        return 2

    def descend(self) -> None:
        """Move C and h by one step of the rule."""
        _homeokinesis(
            self.C, self.h, self.gamma, self.A, self.S, self._C_0, self.history[1], self.xis[0], *self._rates
        )
