"""What rules with a learned forward model have in common: the model, its error, and how it learns."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numba import njit

from controllers.algebra import clipped
from controllers.base import Array, act
from controllers.config import Range, RuleConfig
from controllers.history import HistoryController, push
from controllers.start import initial_C


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
    extended: bool = False
    """Whether the model learns S, the part of the next sensor values that does not depend on the action."""
    g_floor: Annotated[float, Range(0.0, 1.0)] = 0.05
    """Added to g' = 1 - a^2 in the rule, so that a saturated neuron still learns, in [0, 1]; 0 is exact."""
    clip_C: Annotated[float, Range(0.0, 1e6)] = 0.015
    """Largest change of an element of C by learning in one step, in [0, 1e6]."""
    clip_h: Annotated[float, Range(0.0, 1e6)] = 0.05
    """Largest change of an element of h by learning in one step, in [0, 1e6]."""
    pull_C: Annotated[float, Range(0.0, 1.0)] = 0.0
    """Share of C - C_0 that is taken back per step, in [0, 1]."""
    pull_A: Annotated[float, Range(0.0, 1.0)] = 0.0
    """Share of A - identity that is taken back per step, in [0, 1]."""


class ModelRates(NamedTuple):
    """What the kernels take from the settings that TiPI and homeokinesis share."""

    eps_C: float
    eps_A: float
    alpha: float
    extended: bool
    g_floor: float
    clip_C: float
    clip_h: float
    pull_C: float
    pull_A: float


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
    """Move A, b and, if extended, S down the gradient of |xi|^2 / 2; pull A back to the identity."""
    n, o = A.shape
    for i in range(n):
        for j in range(o):
            A[i, j] += rates.eps_A * xi[i] * a[j] - rates.pull_A * (A[i, j] - (i == j))
        b[i] += rates.eps_A * xi[i]
        if rates.extended:
            for j in range(n):
                S[i, j] += rates.eps_A * xi[i] * s[j]


@njit(cache=True)
def clipped_step(C: Array, h: Array, dC: Array, dh: Array, C_0: Array, rates: ModelRates) -> None:
    """Move C and h in place by dC and dh, no element further than the clips allow; pull C back to C_0."""
    o, n = C.shape
    for i in range(o):
        for j in range(n):
            C[i, j] += clipped(dC[i, j], rates.clip_C) - rates.pull_C * (C[i, j] - C_0[i, j])
        h[i] += clipped(dh[i], rates.clip_h)


class ModelController(HistoryController):
    """A controller with the forward model s^_{t+1} = A a_t + S s_t + b, learned online.

    A subclass moves C and h in `move_weights`, which is called at every step once the history is complete
    and sees the model before it learns from the newest error::

        xi_t = s_t - s^_t      dA = eps_A xi a^T - pull_A (A - 1)      db = eps_A xi      dS = eps_A xi s^T

    Attributes
    ----------
    A, S, b : ndarray, shapes (n_sensors, n_motors), (n_sensors, n_sensors), (n_sensors,)
        The model; A starts as the identity on the joint sensors, S and b as zero.
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
        self.S: Array = np.zeros((self.n_sensors, self.n_sensors))
        self.b: Array = np.zeros(self.n_sensors)
        self.xis: Array = np.zeros((len(self.history) - 1, self.n_sensors))
        self.a: Array = np.zeros(self.n_motors)
        self._C_0 = initial_C(self.n_motors, self.n_sensors, self.config.C_0, self.config.rotation)
        self.C[...] = self._C_0
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
        if self.remember(s):
            self.move_weights()
        _learn_model(self.A, self.S, self.b, xi, self.a, s_before, self._shared_rates)
        self.a[...] = a

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
