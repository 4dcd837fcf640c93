"""TiPI maximisation: climb the time-local predictive information of the sensor values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numba import njit

from controllers.algebra import cholesky, cholesky_solve, clipped, dot
from controllers.base import Array
from controllers.config import Range, RuleConfig
from controllers.model import ModelConfig, ModelController, ModelRates, clipped_step


@dataclass(frozen=True)
class TiPIConfig(ModelConfig):
    """Settings of TiPI maximisation.

    Examples
    --------
    >>> from controllers import TiPIConfig
    >>> TiPIConfig(tau=2).tau
    2
    """

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


class TiPIRates(NamedTuple):
    """What the kernel takes from the settings that are TiPI's own."""

    clip_ds: float
    eps_Sigma: float
    ridge: float
    metric: bool


@njit(cache=True)
def _tipi(
    C: Array, h: Array, gamma: Array, Sigma: Array, A: Array, S: Array, C_0: Array, history: Array,
    xis: Array, rates: ModelRates, own: TiPIRates,
) -> None:  # fmt: skip
    """Move C, h and Sigma in place by one step; history[k] is s_{t-k}, xis[k] is xi_{t-k}."""
    o, n = C.shape
    tau = len(xis)

    # ds[k] = ds_{t-k}, with all a, g' and L of the window at the current C and h
    a = np.empty((tau, o))
    g = np.empty((tau, o))
    ds = np.empty((tau, n))
    for j in range(n):
        ds[tau - 1, j] = clipped(xis[tau - 1, j], own.clip_ds)
    for k in range(tau - 1, 0, -1):
        z = dot(C, history[k])
        for i in range(o):
            a[k, i] = np.tanh(z[i] + h[i])
            g[k, i] = 1.0 - a[k, i] ** 2 + rates.g_floor
        L_ds = dot(A, g[k] * dot(C, ds[k])) + dot(S, ds[k])
        for j in range(n):
            ds[k - 1, j] = clipped(L_ds[j] + xis[k - 1, j], own.clip_ds)

    for i in range(n):
        for j in range(n):
            Sigma[i, j] += own.eps_Sigma * (ds[0, i] * ds[0, j] - Sigma[i, j])
    du = cholesky_solve(cholesky(Sigma, own.ridge), ds[0])

    dC = np.zeros((o, n))
    dh = np.zeros(o)
    gamma[:] = 0.0
    for k in range(1, tau):
        dmu = g[k] * dot(A.T, du)
        du = dot(C.T, dmu) + dot(S.T, du)
        Cds = dot(C, ds[k])
        for i in range(o):
            gamma_i = 2.0 * rates.alpha * dmu[i] * Cds[i]
            gamma[i] += gamma_i / (tau - 1)
            rate = rates.eps_C / (tau - 1)
            if own.metric:
                rate /= g[k, i] ** 2
            for j in range(n):
                dC[i, j] += rate * (dmu[i] * ds[k, j] - gamma_i * a[k, i] * history[k, j])
            dh[i] -= rate * gamma_i * a[k, i]
    clipped_step(C, h, dC, dh, C_0, rates)


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

    Examples
    --------
    Two joints in a world that rotates what the motors want: C turns into a rotation, too.

    >>> import numpy as np
    >>> from controllers import TiPI
    >>> turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    >>> rule, s, rng = TiPI(n_sensors=2, n_motors=2), np.zeros(2), np.random.default_rng(0)
    >>> for _ in range(5000):
    ...     s = turn @ rule.step(s) + 0.05 * rng.standard_normal(2)
    >>> bool(rule.C[0, 1] < -0.2) and bool(rule.C[1, 0] > 0.2)
    True
    """

    Config: ClassVar[type[RuleConfig]] = TiPIConfig
    memory: ClassVar[tuple[str, ...]] = ("Sigma", *ModelController.memory)
    config: TiPIConfig

    def set_up(self) -> None:
        """Start with the model, C_0, and the identity for Sigma."""
        super().set_up()
        self.Sigma: Array = np.eye(self.n_sensors)
        self._rates = self.config.rates(TiPIRates)

    def span(self) -> int:
        """Give tau + 1: the window and the value before it."""
        return int(self.config.tau) + 1

    def move_weights(self) -> None:
        """Move C, h and Sigma by one step of the rule."""
        _tipi(
            self.C, self.h, self.gamma, self.Sigma, self.A, self.S, self._C_0, self.history, self.xis,
            self._shared_rates, self._rates,
        )  # fmt: skip
