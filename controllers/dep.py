"""DEP, differential extrinsic plasticity: correlate sensor velocities, normalise, act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from numba import njit

from controllers.algebra import clipped
from controllers.base import Array, act
from controllers.config import Range, RuleConfig
from controllers.history import HistoryController, push


@dataclass(frozen=True)
class DEPConfig(RuleConfig):
    """Settings of DEP; the defaults are those of its authors for a hexapod (docs/controllers.md).

    Examples
    --------
    >>> from controllers import DEPConfig
    >>> DEPConfig(norm="global").kappa
    2.2
    """

    rate: Annotated[float, Range(0.0, 1.0)] = 1 / 35
    """1 / tau_C, the share of the correlations that is renewed per step, in [0, 1]; .7 s at 50 Hz."""
    kappa: Annotated[float, Range(0.0, 1000.0)] = 2.2
    """Norm to which the correlations are scaled, in [0, 1000]: the strength of the feedback."""
    d: Annotated[int, Range(1, 1000)] = 1
    """Delay in steps between the velocities that are correlated, in [1, 1000]."""
    norm: Literal["global", "row", "none"] = "row"
    """Whether the whole matrix is scaled, each row alone, which keeps all motors busy, or nothing."""
    row_share: Annotated[float, Range(0.0, 1000.0)] = 0.3
    """With norm = "row" each row gets the norm row_share * kappa, in [0, 1000]."""
    count: Literal["joints", "all"] = "joints"
    """Sensors that count in the norm: those with a motor, as the authors have it, or all."""
    regularisation: Annotated[float, Range(1e-15, 1.0)] = 1e-12
    """Added to the norm, in [1e-15, 1]: keeps correlations that are mere noise weak."""
    clip_C: Annotated[float, Range(0.0, 1e6)] = 5.0
    """Largest element of C with norm = "global", in [0, 1e6]."""
    eps_h: Annotated[float, Range(0.0, 1.0, on=0.05)] = 0.0
    """Rate at which h drives a motor away from where it is, in [0, 1]."""
    clip_h: Annotated[float, Range(0.0, 1e6)] = 0.05
    """Largest change of an element of h in one step, but for forgetting, in [0, 1e6]."""
    decay_h: Annotated[float, Range(0.0, 1.0)] = 0.001
    """Share of h that is forgotten per step, in [0, 1]."""
    eps_M: Annotated[float, Range(0.0, 1.0, on=0.01)] = 0.0
    """Learning rate of the inverse model M, in [0, 1]; 0 keeps M = identity on the joint sensors."""
    clip_M: Annotated[float, Range(0.0, 1e6)] = 0.05
    """Largest change of an element of M in one step, in [0, 1e6]."""


class DEPRates(NamedTuple):
    """What the kernel takes from the settings."""

    rate: float
    kappa: float
    row_share: float
    regularisation: float
    clip_C: float
    eps_h: float
    clip_h: float
    decay_h: float


@njit(cache=True)
def _dep(
    C: Array, h: Array, K: Array, M: Array, chi: Array, v_d: Array, a: Array, rates: DEPRates,
    per_row: bool, whole: bool, count_all: bool,
) -> None:  # fmt: skip
    """Move K and h in place by one step and write C; chi comes from v_t, v_d is v_{t-d}, a is a_{t-1}."""
    o, n = C.shape
    squares = np.zeros(o)
    for i in range(o):
        response = 0.0
        for j in range(n):
            response += M[i, j] * chi[j]
        for j in range(n):
            K[i, j] += rates.rate * (response * v_d[j] - K[i, j])
        if count_all:
            for j in range(n):
                squares[i] += K[i, j] ** 2
        else:  # a row of K M^T, from motors to motors
            for k in range(o):
                x = 0.0
                for j in range(n):
                    x += K[i, j] * M[k, j]
                squares[i] += x * x
        h[i] -= clipped(rates.eps_h * a[i], rates.clip_h) + rates.decay_h * h[i]
    for i in range(o):
        scale = rates.kappa
        if per_row:
            scale *= rates.row_share / (np.sqrt(squares[i]) + rates.regularisation)
        elif whole:
            scale /= np.sqrt(np.sum(squares)) + rates.regularisation
        for j in range(n):
            C[i, j] = scale * K[i, j]
            if whole:
                C[i, j] = clipped(C[i, j], rates.clip_C)


@njit(cache=True)
def _inverse_model(M: Array, v: Array, da: Array, eps_M: float, clip_M: float) -> None:
    """Move M in place, so that M v comes nearer to da."""
    for i in range(M.shape[0]):
        wrong = da[i]
        for j in range(v.size):
            wrong -= M[i, j] * v[j]
        for j in range(v.size):
            M[i, j] += clipped(eps_M * wrong * v[j], clip_M)


class DEP(HistoryController):
    """Learn by differential extrinsic plasticity (Der & Martius 2015, PNAS 112 E6224).

    The change that a motor command must have had to cause the present sensor velocity, as the inverse model M
    sees it, is correlated with the sensor velocity d steps before::

        v_t = s_t - s_{t-1}
        dK  = rate ( M v_t v_{t-d}^T - K )                       rate = 1 / tau_C, K_0 = 0
        C   = kappa K / (|K M^T| + regularisation)               norm "global", elements clipped to ± clip_C
        C_i = row_share kappa K_i / (|(K M^T)_i| + regularisation)   norm "row", for each motor i
                                                                 (|K| in place of |K M^T| with count "all")
        dh  = - eps_h a_{t-1} - decay_h h
        a_t = tanh(C s_t + h)                                    the rule acts with what it has just learned
        dM  = eps_M ( a_{t-d} - a_{t-d-1} - M v_t ) v_t^T

    K starts at zero, so the body must move, or its sensors be noisy, before anything happens. `C` is the
    normalised matrix that acts, and is what `freeze` keeps: with tau_C of a second it is the trace of what
    the body did in that second, and the behaviour lives by its change.

    n_sensors must be at least n_motors while M is the identity (eps_M = 0).

    Attributes
    ----------
    K, M : ndarray, shape (n_motors, n_sensors)
        Running correlations and inverse model.
    actions : ndarray, shape (d + 2, n_motors)
        The last actions, newest first.

    Examples
    --------
    Two joints that swing a quarter of a period apart: C becomes the rotation that drives them on.

    >>> import numpy as np
    >>> from controllers import DEP, DEPConfig
    >>> rule = DEP(2, 2, DEPConfig(norm="global", kappa=1.0))
    >>> for t in range(200):
    ...     a = rule.step([np.cos(0.3 * t), np.sin(0.3 * t)])
    >>> bool(rule.C[0, 1] < 0 < rule.C[1, 0]), round(float(np.linalg.norm(rule.C)), 2)
    (True, 1.0)
    """

    Config: ClassVar[type[RuleConfig]] = DEPConfig
    memory: ClassVar[tuple[str, ...]] = ("K", "M", "actions", *HistoryController.memory)
    learns_first: ClassVar[bool] = True
    config: DEPConfig

    def set_up(self) -> None:
        """Start without correlations, with the inverse model in which each joint follows its motor."""
        super().set_up()
        if self.config.eps_M == 0.0:
            self.need_joint_sensors("let it learn an inverse model with eps_M > 0")
        self.K: Array = np.zeros((self.n_motors, self.n_sensors))
        self.M: Array = np.eye(self.n_motors, self.n_sensors)
        self.actions: Array = np.zeros((int(self.config.d) + 2, self.n_motors))
        self._rates = self.config.rates(DEPRates)

    def span(self) -> int:
        """Give d + 2: two sensor values for each of the two velocities, d steps apart."""
        return int(self.config.d) + 2

    def chi(self, v: Array) -> Array:
        """Give what of the velocity v_t is correlated: all of it."""
        return v

    def update(self, s: Array) -> None:
        """Move K, C and h by one step of the rule, once d + 2 sensor values are known; then M."""
        config, a = self.config, np.empty(self.n_motors)
        complete = self.remember(s)
        v = self.history[0] - self.history[1]
        if complete:
            _dep(
                self.C, self.h, self.K, self.M, self.chi(v), self.history[-2] - self.history[-1],
                self.actions[0], self._rates, config.norm == "row", config.norm == "global",
                config.count == "all",
            )  # fmt: skip
        act(self.C, self.h, s, a)
        push(self.actions, a)
        if complete and config.eps_M > 0.0:
            _inverse_model(
                self.M, v, self.actions[-2] - self.actions[-1], float(config.eps_M), float(config.clip_M)
            )

    def restart(self) -> None:
        """Forget past sensor values and actions, not what was learned."""
        super().restart()
        self.actions[...] = 0.0


@dataclass(frozen=True)
class DEPNormConfig(DEPConfig):
    """Settings of the normalised variant of DEP.

    Examples
    --------
    >>> from controllers import DEPNormConfig
    >>> DEPNormConfig().c
    0.001
    """

    c: Annotated[float, Range(1e-12, 1000.0)] = 0.001
    """Added to the length of the velocity before division, in [1e-12, 1000]."""


class DEPNorm(DEP):
    """Learn by DEP with velocities of unit length, the nearest published relative of `ULR`.

    The authors' programs have it beside DEP and call it "very much simplified ... derived from TiPI
    maximization"::

        chi = v_t / (|v_t| + c)         dK = rate ( M chi v_{t-d}^T - K )         the rest as in `DEP`

    |v_t| is over all sensors. What is correlated then has the length of one velocity instead of two, so slow
    motion counts more. `ULR` is this with a larger c, TiPI's gamma term and a decay in place of the
    normalisation of C.

    Examples
    --------
    >>> import numpy as np
    >>> from controllers import DEPNorm, DEPNormConfig
    >>> rule = DEPNorm(2, 2, DEPNormConfig(norm="global", kappa=1.0))
    >>> for t in range(200):
    ...     a = rule.step([np.cos(0.3 * t), np.sin(0.3 * t)])
    >>> bool(rule.C[0, 1] < 0 < rule.C[1, 0]), round(float(np.linalg.norm(rule.C)), 2)
    (True, 1.0)
    """

    Config: ClassVar[type[RuleConfig]] = DEPNormConfig
    config: DEPNormConfig

    def chi(self, v: Array) -> Array:
        """Give v_t / (|v_t| + c)."""
        return v / (np.sqrt(np.sum(v**2)) + self.config.c)
