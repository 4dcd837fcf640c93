"""DEP, differential extrinsic plasticity: correlate sensor velocities, normalise, act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from numba import njit

from controllers.base import Array, act
from controllers.config import Range, RuleConfig
from controllers.history import HistoryController, push


@dataclass(frozen=True)
class DEPConfig(RuleConfig):
    """Settings of DEP; the defaults let the hexapod pass from an up-down motion to jumping.

    Examples
    --------
    >>> from controllers import DEPConfig
    >>> DEPConfig(norm="row").kappa
    1.6
    """

    rate: Annotated[float, Range(0.0, 1.0)] = 2.5e-5
    """1 / tau_C, the share of the correlations that is renewed per step, in [0, 1]."""
    kappa: Annotated[float, Range(0.0, 1000.0)] = 1.6
    """Norm to which the correlations are scaled, in [0, 1000]: the strength of the feedback."""
    d: Annotated[int, Range(1, 1000)] = 4
    """Delay in steps between the velocities that are correlated, in [1, 1000]."""
    norm: Literal["global", "row"] = "global"
    """Whether the whole matrix has the norm kappa (Frobenius), or each row, which keeps all motors busy."""
    regularisation: Annotated[float, Range(1e-12, 1.0)] = 0.003
    """Added to the norm, in [1e-12, 1]: keeps correlations that are mere noise weak."""
    eps_h: Annotated[float, Range(0.0, 1.0)] = 0.0
    """Rate at which h drives a motor away from where it is, in [0, 1]."""
    decay_h: Annotated[float, Range(0.0, 1.0)] = 0.001
    """Share of h that is forgotten per step, in [0, 1]."""
    eps_M: Annotated[float, Range(0.0, 1.0)] = 0.0
    """Learning rate of the inverse model M, in [0, 1]; 0 keeps M = identity on the joint sensors."""


class DEPRates(NamedTuple):
    """What the kernel takes from the settings."""

    rate: float
    kappa: float
    regularisation: float
    eps_h: float
    decay_h: float
    eps_M: float


@njit(cache=True)
def _dep(
    C: Array, h: Array, K: Array, M: Array, history: Array, a: Array, da: Array, rates: DEPRates,
    per_row: bool,
) -> None:  # fmt: skip
    """Move K, M and h in place by one step and write C, normalised per row or as a whole.

    history[k] is s_{t-k}, a the newest action, and da the change of action that caused the newest velocity.
    """
    o, n = C.shape
    d = len(history) - 2
    whole = 0.0
    rows = np.zeros(o)
    for i in range(o):
        response = 0.0
        for j in range(n):
            response += M[i, j] * (history[0, j] - history[1, j])
        for j in range(n):
            M[i, j] += rates.eps_M * (da[i] - response) * (history[0, j] - history[1, j])
            K[i, j] += rates.rate * (response * (history[d, j] - history[d + 1, j]) - K[i, j])
            rows[i] += K[i, j] ** 2
        h[i] -= rates.eps_h * a[i] + rates.decay_h * h[i]
        whole += rows[i]
    for i in range(o):
        norm = np.sqrt(rows[i] if per_row else whole) + rates.regularisation
        for j in range(n):
            C[i, j] = rates.kappa * K[i, j] / norm


class DEP(HistoryController):
    """Learn by differential extrinsic plasticity (Der & Martius 2015, PNAS 112 E6224).

    The change that a motor command must have had to cause the present sensor velocity, as the inverse model M
    sees it, is correlated with the sensor velocity d steps before::

        v_t = s_t - s_{t-1}
        dK  = rate ( M v_t v_{t-d}^T - K )               rate = 1 / tau_C, K_0 = 0
        C   = kappa K / (norm(K) + regularisation)       norm of the whole matrix or of each row
        dh  = - eps_h a_t - decay_h h
        dM  = eps_M ( a_{t-1} - a_{t-2} - M v_t ) v_t^T

    K starts at zero, so the body must move, or its sensors be noisy, before anything happens. `C` is the
    normalised matrix that acts, and is what `freeze` keeps.

    n_sensors must be at least n_motors while M is the identity (eps_M = 0).

    Attributes
    ----------
    K, M : ndarray, shape (n_motors, n_sensors)
        Running correlations and inverse model.
    actions : ndarray, shape (2, n_motors)
        The last two actions, newest first.

    Examples
    --------
    Two joints that swing a quarter of a period apart: C becomes the rotation that drives them on.

    >>> import numpy as np
    >>> from controllers import DEP, DEPConfig
    >>> rule = DEP(2, 2, DEPConfig(rate=0.05, d=1, kappa=1.0))
    >>> for t in range(200):
    ...     a = rule.step([np.cos(0.3 * t), np.sin(0.3 * t)])
    >>> bool(rule.C[0, 1] < 0 < rule.C[1, 0]), round(float(np.linalg.norm(rule.C)), 2)
    (True, 0.95)
    """

    Config: ClassVar[type[RuleConfig]] = DEPConfig
    memory: ClassVar[tuple[str, ...]] = ("K", "M", "actions", *HistoryController.memory)
    config: DEPConfig

    def set_up(self) -> None:
        """Start without correlations, with the inverse model in which each joint follows its motor."""
        super().set_up()
        if self.config.eps_M == 0.0:
            self.need_joint_sensors("let it learn an inverse model with eps_M > 0")
        self.K: Array = np.zeros((self.n_motors, self.n_sensors))
        self.M: Array = np.eye(self.n_motors, self.n_sensors)
        self.actions: Array = np.zeros((2, self.n_motors))
        self._rates = self.config.rates(DEPRates)
        self._per_row = self.config.norm == "row"

    def span(self) -> int:
        """Give d + 2: two sensor values for each of the two velocities, d steps apart."""
        return int(self.config.d) + 2

    def update(self, s: Array) -> None:
        """Move K, M and h by one step of the rule, once d + 2 sensor values are known."""
        a = np.empty(self.n_motors)
        act(self.C, self.h, s, a)
        if self.remember(s):
            da = self.actions[0] - self.actions[1]
            _dep(self.C, self.h, self.K, self.M, self.history, a, da, self._rates, self._per_row)
        push(self.actions, a)

    def restart(self) -> None:
        """Forget past sensor values and actions, not what was learned."""
        super().restart()
        self.actions[...] = 0.0
