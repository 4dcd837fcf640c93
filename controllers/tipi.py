"""TiPI maximisation: climb the time-local predictive information of the sensor values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numba import njit

from controllers.algebra import cholesky, cholesky_solve, clipped, dot
from controllers.base import Array
from controllers.config import Range, RuleConfig
from controllers.history import push
from controllers.model import ModelConfig, ModelController, ModelRates, damp, loop_jacobian


@dataclass(frozen=True)
class TiPIConfig(ModelConfig):
    """Settings of TiPI maximisation; the defaults are the authors' own (docs/controllers.md).

    Examples
    --------
    >>> from controllers import TiPIConfig
    >>> TiPIConfig(tau=5).tau
    5
    """

    tau: Annotated[int, Range(2, 1000)] = 2
    """Window in steps over which noise is propagated through the loop, in [2, 1000]."""
    clip_ds: Annotated[float, Range(1e-9, 1e6)] = 0.1
    """Largest component of the propagated noise ds_t, the newest of the window, in [1e-9, 1e6]."""
    eps_Sigma: Annotated[float, Range(0.0, 1.0)] = 0.01
    """Rate of the running covariance Sigma of ds, in [0, 1]; 0 keeps it where it starts."""
    Sigma_0: Annotated[float, Range(1e-12, 1e6)] = 0.01
    """Sigma starts as this multiple of the identity, in [1e-12, 1e6]."""
    ridge: Annotated[float, Range(0.0, 1.0)] = 1e-4
    """Added to the diagonal of Sigma before inversion, in [0, 1]: bounds the gain where there is no noise."""
    metric: bool = True
    """Whether each row of the update is divided by g'^2, so that saturated neurons move faster."""


class TiPIRates(NamedTuple):
    """What the kernel takes from the settings that are TiPI's own."""

    clip_ds: float
    eps_Sigma: float
    ridge: float
    metric: bool


@njit(cache=True)
def _slopes(C: Array, h: Array, s: Array, g_floor: float) -> Array:
    """Give g' = 1 - tanh(C s + h)^2 + g_floor."""
    return 1.0 - np.tanh(dot(C, s) + h) ** 2 + g_floor


@njit(cache=True)
def _tipi(
    C: Array, h: Array, gamma: Array, Sigma: Array, A: Array, history: Array, xis: Array, actions: Array,
    gs: Array, Ls: Array, rates: ModelRates, own: TiPIRates,
) -> None:  # fmt: skip
    """Move C, h and Sigma in place by one step; history[k] is s_{t-k}, xis[k] is xi_{t-k}.

    actions[k], gs[k] and Ls[k] are a, g' and, row by row, L of step t-1-k.
    """
    o, n = C.shape
    tau = len(xis)

    ds = np.empty((tau, n))  # ds[k] = ds_{t-k}
    ds[tau - 1] = xis[tau - 1]
    for k in range(tau - 1, 0, -1):
        ds[k - 1] = dot(Ls[k - 1].reshape(n, n), ds[k]) + xis[k - 1]
    for j in range(n):
        ds[0, j] = clipped(ds[0, j], own.clip_ds)

    for i in range(n):
        for j in range(n):
            Sigma[i, j] += own.eps_Sigma * (ds[0, i] * ds[0, j] - Sigma[i, j])
    du = cholesky_solve(cholesky(Sigma, own.ridge), ds[0])

    dC = np.zeros((o, n))
    dh = np.zeros(o)
    gamma[:] = 0.0
    for k in range(1, tau):
        g, a = gs[k - 1], actions[k - 1]
        dmu = g * dot(A.T, du)
        du = dot(Ls[k - 1].reshape(n, n).T, du)
        Cds = dot(C, ds[k])
        for i in range(o):
            gamma_i = 2.0 * rates.alpha * dmu[i] * Cds[i]
            gamma[i] += gamma_i / (tau - 1)
            rate = rates.eps_C / (tau - 1)
            if own.metric:
                rate /= g[i] ** 2
            for j in range(n):
                push_C = rate * (dmu[i] * ds[k, j] - gamma_i * a[i] * history[k, j])
                dC[i, j] += clipped(push_C, rates.clip_C)
            dh[i] += clipped(-rate * gamma_i * a[i], rates.clip_h)
    C += dC
    h += dh
    damp(C, rates)


class TiPI(ModelController):
    """Learn by climbing the time-local predictive information (Martius, Der & Ay 2013, PLoS ONE 8(5) e63400).

    The noise of the last tau steps is propagated through the loop, L_l = A diag(g'_l) C + S, and the rule
    climbs 1/2 ln |Sigma|, the entropy of where it ends up::

        ds_{t-tau} = 0         ds_{l+1} = L_l ds_l + xi_{l+1}          l = t-tau .. t-1, ds_t clipped
        du_t = Sigma^-1 ds_t   du_l = L_l^T du_{l+1}                   Sigma = running covariance of ds_t
        dmu_l = diag(g'_l) A^T du_{l+1}
        gamma_l = 2 alpha dmu_l * (C ds_l)
        dC =   eps_C / (tau - 1) * sum_l m_l * ( dmu_l ds_l^T - (gamma_l * a_l) s_l^T ) + damping (1.2 - C)^3
        dh = - eps_C / (tau - 1) * sum_l m_l * gamma_l * a_l           m_l = 1/g'_l^2 with the metric, else 1

    Every term of the sums is clipped. a_l are the actions that were taken; g'_l = 1 - a^2 + g_floor and L_l
    are those of step l with the weights right after it. With fixed weights before, alpha = 1, g_floor = 0, no
    metric, no damping and wide clips the step is the exact gradient of 1/2 ds_t^T Sigma^-1 ds_t for given s,
    xi, A and Sigma. `inspect` reports gamma averaged over the window. Before tau + 1 sensor values are known,
    only the model learns.

    Attributes
    ----------
    Sigma : ndarray, shape (n_sensors, n_sensors)
        Running covariance of ds_t.
    actions, gs, Ls : ndarray, shapes (tau - 1, n_motors), (tau - 1, n_motors), (tau - 1, n_sensors^2)
        a, g' and, row by row, L of the last steps, newest first.

    Examples
    --------
    Two joints in a world that rotates what the motors want: C turns into a rotation, too.

    >>> import numpy as np
    >>> from controllers import TiPI
    >>> turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    >>> rule, s, rng = TiPI(n_sensors=2, n_motors=2), np.zeros(2), np.random.default_rng(0)
    >>> for _ in range(20_000):
    ...     s = turn @ rule.step(s) + 0.05 * rng.standard_normal(2)
    >>> bool(rule.C[0, 1] < -0.2) and bool(rule.C[1, 0] > 0.2)
    True
    """

    Config: ClassVar[type[RuleConfig]] = TiPIConfig
    memory: ClassVar[tuple[str, ...]] = ("Sigma", "gs", "Ls", "actions", *ModelController.memory)
    config: TiPIConfig

    def set_up(self) -> None:
        """Start with the model, C_0, and Sigma_0."""
        super().set_up()
        window, n, o = int(self.config.tau) - 1, self.n_sensors, self.n_motors
        self.Sigma: Array = self.config.Sigma_0 * np.eye(n)
        self.actions: Array = np.zeros((window, o))
        self.gs: Array = np.zeros((window, o))
        self.Ls: Array = np.zeros((window, n * n))
        self._rates = self.config.rates(TiPIRates)

    def span(self) -> int:
        """Give tau + 1: the window and the value before it."""
        return int(self.config.tau) + 1

    def look_back(self) -> None:
        """Keep the action, g' and L of step t-1."""
        g = _slopes(self.C, self.h, self.history[1], float(self.config.g_floor))
        push(self.actions, self.a)
        push(self.gs, g)
        push(self.Ls, loop_jacobian(self.A, self.S, self.C, g).ravel())

    def move_weights(self) -> None:
        """Move C, h and Sigma by one step of the rule."""
        _tipi(
            self.C, self.h, self.gamma, self.Sigma, self.A, self.history, self.xis, self.actions, self.gs,
            self.Ls, self._shared_rates, self._rates,
        )  # fmt: skip

    def restart(self) -> None:
        """Forget past sensor values, errors and actions, not what was learned."""
        super().restart()
        for past in (self.actions, self.gs, self.Ls):
            past[...] = 0.0
