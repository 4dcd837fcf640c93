"""What rules with a learned forward model have in common: the model, its error, and how it learns."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numba import njit

from controllers.algebra import cholesky, cholesky_solve, clipped, dot
from controllers.base import Array, act
from controllers.config import Range, RuleConfig
from controllers.history import HistoryController, push
from controllers.start import initial_C

RIDGE = 1e-8
"""Regularises the pseudo-inverse of A, as the authors' own does."""


@dataclass(frozen=True)
class ModelConfig(RuleConfig):
    """Settings that TiPI and homeokinesis share."""

    eps_C: Annotated[float, Range(0.0, 100.0)] = 0.001
    """Learning rate of C and h per step, in [0, 100]."""
    eps_A: Annotated[float, Range(0.0, 1.0)] = 0.05
    """Learning rate of the forward model per step, in [0, 1]; 0 keeps A = identity on the joint sensors."""
    alpha: Annotated[float, Range(0.0, 100.0)] = 1.0
    """Strength of the term that keeps neurons out of saturation, in [0, 100]; 1 follows the gradient."""
    C_0: Annotated[float, Range(-10.0, 10.0)] = 1.0
    """Initial weight from each joint's sensor to its own motor, in [-10, 10]."""
    rotation: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Initial rotation between the two axes of each joint, motors (0, 1), (2, 3), ..., in [-10, 10]."""
    S_0: Annotated[float, Range(-1.0, 1.0, on=0.05)] = 0.05
    """Initial weight in the model from each sensor to its own next value, in [-1, 1]."""
    extended: bool = False
    """Whether the model learns S, the part of the next sensor values that does not depend on the action."""
    cause: Annotated[float, Range(0.0, 1.0, on=0.01)] = 0.0
    """Share of the error, as motors would have caused it, that is added to a when A learns, in [0, 1]."""
    g_floor: Annotated[float, Range(0.0, 1.0, on=0.05)] = 0.05
    """Added to g' = 1 - a^2 in the rule, so that a saturated neuron still learns, in [0, 1]; 0 is exact."""
    clip_C: Annotated[float, Range(0.0, 1e6)] = 0.015
    """Largest change of an element of C by learning in one step, in [0, 1e6]; TiPI clips each lag alone."""
    clip_h: Annotated[float, Range(0.0, 1e6)] = 0.05
    """Largest change of an element of h by learning in one step, in [0, 1e6]; TiPI clips each lag alone."""
    clip_A: Annotated[float, Range(0.0, 1e6)] = 0.1
    """Largest change of an element of the model in one step, in [0, 1e6]."""
    damping: Annotated[float, Range(0.0, 1.0, on=1e-5)] = 1e-5
    """Pulls C to native * identity and A to the identity with the cube of the distance, in [0, 1]."""
    native: Annotated[float, Range(-10.0, 10.0)] = 1.2
    """The multiple of the identity to which damping pulls C, in [-10, 10]."""
    clip_damping: Annotated[float, Range(0.0, 1e6)] = 0.05
    """Largest change of an element of C by damping in one step, in [0, 1e6]."""


class ModelRates(NamedTuple):
    """What the kernels take from the settings that TiPI and homeokinesis share."""

    eps_C: float
    eps_A: float
    alpha: float
    extended: bool
    cause: float
    g_floor: float
    clip_C: float
    clip_h: float
    clip_A: float
    damping: float
    native: float
    clip_damping: float


@njit(cache=True)
def _model_error(A: Array, S: Array, b: Array, a: Array, s: Array, s_next: Array) -> Array:
    """Give xi = s_next - (A a + S s + b)."""
    n, o = A.shape
    xi = np.empty(n)
    for i in range(n):
        x = b[i]
        for j in range(o):
            x += A[i, j] * a[j]
        for j in range(n):
            x += S[i, j] * s[j]
        xi[i] = s_next[i] - x
    return xi


@njit(cache=True)
def _learn_model(A: Array, S: Array, b: Array, xi: Array, a: Array, s: Array, rates: ModelRates) -> None:
    """Move A, b and, if extended, S down the gradient of |xi|^2 / 2, and damp them."""
    n, o = A.shape
    a_hat = a.copy()
    if rates.cause > 0.0:
        ATA = np.zeros((o, o))
        for i in range(o):
            for j in range(i + 1):
                for k in range(n):
                    ATA[i, j] += A[k, i] * A[k, j]
        a_hat += rates.cause * cholesky_solve(cholesky(ATA, RIDGE), dot(A.T, xi))
    for i in range(n):
        for j in range(o):
            A[i, j] += clipped(rates.eps_A * xi[i] * a_hat[j], rates.clip_A)
            A[i, j] += clipped(rates.damping * ((i == j) - A[i, j]) ** 3, rates.clip_A)
        b[i] += clipped(rates.eps_A * xi[i] - rates.damping * b[i], rates.clip_A)
        if rates.extended:
            for j in range(n):
                S[i, j] += clipped(rates.eps_A * xi[i] * s[j] - 10.0 * rates.damping * S[i, j], rates.clip_A)


@njit(cache=True)
def loop_jacobian(A: Array, S: Array, C: Array, g: Array) -> Array:
    """Give L = A diag(g') C + S."""
    n, o = A.shape
    L = S.copy()
    for i in range(n):
        for k in range(o):
            Ag = A[i, k] * g[k]
            for j in range(n):
                L[i, j] += Ag * C[k, j]
    return L


@njit(cache=True)
def damp(C: Array, rates: ModelRates) -> None:
    """Pull C in place towards native * identity, with the cube of the distance, if C learns."""
    if rates.eps_C == 0.0:
        return
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            away = rates.native * (i == j) - C[i, j]
            C[i, j] += clipped(rates.damping * away**3, rates.clip_damping)


class ModelController(HistoryController):
    """A controller with the forward model s^_{t+1} = A a_t + S s_t + b, learned online.

    A subclass moves C and h in `move_weights`, which is called at every step once the history is complete
    and sees the model before it learns from the newest error::

        xi_t = s_t - s^_t
        dA = eps_A xi (a_{t-1} + cause A^+ xi)^T + damping (1 - A)^3  (the cube of each element)
        db = eps_A xi - damping b
        dS = eps_A xi s_{t-1}^T - 10 damping S                        (if extended)

    with every term of an element clipped to ± clip_A; nothing moves with eps_A = 0.

    Attributes
    ----------
    A, S, b : ndarray, shapes (n_sensors, n_motors), (n_sensors, n_sensors), (n_sensors,)
        The model; A starts as the identity on the joint sensors, S as S_0 times the identity, b as zero.
    xis : ndarray, shape (span - 1, n_sensors)
        ``xis[k]`` is the error xi_{t-k}.
    a : ndarray, shape (n_motors,)
        The action on the newest sensor values.
    """

    memory: ClassVar[tuple[str, ...]] = ("A", "S", "b", "xis", "a", *HistoryController.memory)
    config: ModelConfig

    def set_up(self) -> None:
        """Start with the model in which each joint follows its motor."""
        super().set_up()
        self.A: Array = np.eye(self.n_sensors, self.n_motors)
        self.S: Array = self.config.S_0 * np.eye(self.n_sensors)
        self.b: Array = np.zeros(self.n_sensors)
        self.xis: Array = np.zeros((len(self.history) - 1, self.n_sensors))
        self.a: Array = np.zeros(self.n_motors)
        self.C[...] = initial_C(self.n_motors, self.n_sensors, self.config.C_0, self.config.rotation)
        self._shared_rates = self.config.rates(ModelRates)

    def update(self, s: Array) -> None:
        """Take in s, let the rule move C and h, then let the model learn from its newest error."""
        a = np.empty(self.n_motors)
        act(self.C, self.h, s, a)
        if not self.filled:
            self.remember(s)
            self.a[...] = a
            return
        s_before = self.history[0].copy()
        xi = _model_error(self.A, self.S, self.b, self.a, s_before, s)
        push(self.xis, xi)
        complete = self.remember(s)
        self.look_back()
        if complete:
            self.move_weights()
        if self.config.eps_A > 0.0:
            _learn_model(self.A, self.S, self.b, xi, self.a, s_before, self._shared_rates)
        self.a[...] = a

    def look_back(self) -> None:
        """Keep what the rule needs of step t-1, `history[1]` and the action `a`; here nothing."""

    @abstractmethod
    def move_weights(self) -> None:
        """Move C and h in place; `history[k]` is s_{t-k} and `xis[k]` the model error xi_{t-k}."""

    def restart(self) -> None:
        """Forget past sensor values and errors, not what was learned."""
        super().restart()
        self.xis[...] = 0.0
        self.a[...] = 0.0

    def _model(self) -> tuple[Array, Array]:
        return self.A, self.S

    def _model_error(self) -> float:
        return float(np.linalg.norm(self.xis[0])) if self.filled > 1 else float("nan")
