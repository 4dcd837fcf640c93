"""TiPI maximisation: climb the time-local predictive information of the sensor values."""

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
class TiPIConfig(ModelConfig):
    """Settings of TiPI maximisation."""

    tau: Annotated[int, Range(2, 1000)] = 5
    """Window in steps over which noise is propagated through the loop, in [2, 1000]."""
    clip_ds: Annotated[float, Range(1e-9, 1e6)] = 0.1
    """Largest component of the propagated noise ds, in [1e-9, 1e6]."""
    eps_Sigma: Annotated[float, Range(0.0, 1.0)] = 0.01
    """Rate of the running covariance Sigma of ds, in [0, 1]; 0 keeps it at the identity."""
    ridge: Annotated[float, Range(0.0, 1.0)] = 1e-3
    """Added to the diagonal of Sigma before inversion, in [0, 1]: bounds the gain where there is no noise."""
    metric: bool = False
    """Whether each row of the update is divided by g'^2, so that saturated neurons move faster."""


@njit(cache=True)
def _tipi(
    C: Array, h: Array, gamma: Array, Sigma: Array, A: Array, S: Array, C_0: Array,
    history: Array, xis: Array,
    eps_C: float, alpha: float, g_floor: float, clip_C: float, clip_h: float, pull_C: float,
    clip_ds: float, eps_Sigma: float, ridge: float, metric: bool,
) -> None:  # fmt: skip
    """Move C, h and Sigma in place by one step; history[k] is s_{t-k}, xis[k] is xi_{t-k}."""
    o, n = C.shape
    tau = len(xis)

    # ds[k] = ds_{t-k}, with all a, g' and L of the window at the current C and h
    a = np.empty((tau, o))
    g = np.empty((tau, o))
    ds = np.empty((tau, n))
    for j in range(n):
        ds[tau - 1, j] = clipped(xis[tau - 1, j], clip_ds)
    for k in range(tau - 1, 0, -1):
        z = dot(C, history[k])
        for i in range(o):
            a[k, i] = np.tanh(z[i] + h[i])
            g[k, i] = 1.0 - a[k, i] ** 2 + g_floor
        L_ds = dot(A, g[k] * dot(C, ds[k])) + dot(S, ds[k])
        for j in range(n):
            ds[k - 1, j] = clipped(L_ds[j] + xis[k - 1, j], clip_ds)

    for i in range(n):
        for j in range(n):
            Sigma[i, j] += eps_Sigma * (ds[0, i] * ds[0, j] - Sigma[i, j])
    du = cholesky_solve(cholesky(Sigma, ridge), ds[0])

    dC = np.zeros((o, n))
    dh = np.zeros(o)
    gamma[:] = 0.0
    for k in range(1, tau):
        dmu = g[k] * dot_T(A, du)
        du = dot_T(C, dmu) + dot_T(S, du)
        Cds = dot(C, ds[k])
        for i in range(o):
            gamma_i = 2.0 * alpha * dmu[i] * Cds[i]
            gamma[i] += gamma_i / (tau - 1)
            rate = eps_C / (tau - 1)
            if metric:
                rate /= g[k, i] ** 2
            for j in range(n):
                dC[i, j] += rate * (dmu[i] * ds[k, j] - gamma_i * a[k, i] * history[k, j])
            dh[i] -= rate * gamma_i * a[k, i]
    for i in range(o):
        for j in range(n):
            C[i, j] += clipped(dC[i, j], clip_C) - pull_C * (C[i, j] - C_0[i, j])
        h[i] += clipped(dh[i], clip_h)


class TiPI(ModelController):
    """Learn by climbing the time-local predictive information (Martius, Der & Ay 2013, PLoS ONE 8(5) e63400).

    The noise of the last tau steps is propagated through the loop, L_l = A diag(g'_l) C + S, and the rule
    climbs 1/2 ln |Sigma|, the entropy of where it ends up::

        ds_{t-tau} = 0         ds_{l+1} = L_l ds_l + xi_{l+1}          l = t-tau .. t-1
        du_t = Sigma^-1 ds_t   du_l = L_l^T du_{l+1}                   Sigma = running covariance of ds_t
        dmu_l = diag(g'_l) A^T du_{l+1}
        gamma_l = 2 alpha dmu_l * (C ds_l)
        dC =   eps_C / (tau - 1) * sum_l ( dmu_l ds_l^T - (gamma_l * a_l) s_l^T )
        dh = - eps_C / (tau - 1) * sum_l gamma_l * a_l

    a, g' and L of the whole window are taken at the current C and h, so that with alpha = 1, g_floor = 0 and
    wide clips the step is the exact gradient of 1/2 ds_t^T Sigma^-1 ds_t for given s, xi, A and Sigma.
    `inspect` reports gamma averaged over the window. Before tau + 1 sensor values are known, only the model
    learns.

    Parameters
    ----------
    n_sensors, n_motors : int
    config : TiPIConfig, optional
    rng : numpy.random.Generator or int, optional
        Not used: the rule is deterministic.
    """

    Config: ClassVar[type[RuleConfig]] = TiPIConfig
    memory: ClassVar[tuple[str, ...]] = ("Sigma", *ModelController.memory)
    config: TiPIConfig

    def __init__(
        self,
        n_sensors: int,
        n_motors: int,
        config: TiPIConfig | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(n_sensors, n_motors, config, rng)
        self.Sigma: Array = np.eye(self.n_sensors)
        config = self.config
        rates = (config.eps_C, config.alpha, config.g_floor, config.clip_C, config.clip_h, config.pull_C)
        guards = (config.clip_ds, config.eps_Sigma, config.ridge)
        self._rates: tuple[Any, ...] = *map(float, rates + guards), bool(config.metric)

    def span(self) -> int:
        """Give tau + 1: the window and the value before it."""
        return int(self.config.tau) + 1

    def descend(self) -> None:
        """Move C, h and Sigma by one step of the rule."""
        _tipi(
            self.C, self.h, self.gamma, self.Sigma, self.A, self.S, self._C_0, self.history, self.xis,
            *self._rates,
        )  # fmt: skip
