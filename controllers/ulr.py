"""ULR, the unsupervised rule of two antagonistic activities: towards instability, out of saturation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numba import njit

from controllers.algebra import clipped
from controllers.base import Array, initial_C
from controllers.config import ControllerError, Range, RuleConfig
from controllers.history import HistoryController


@dataclass(frozen=True)
class ULRConfig(RuleConfig):
    """Settings of ULR; what suits a body depends on it (docs/emergence.md)."""

    eps: Annotated[float, Range(0.0, 10.0)] = 0.0026
    """Learning rate of C per step, in [0, 10]; the faster, the sooner a hexapod jumps."""
    alpha: Annotated[float, Range(0.0, 100.0)] = 4.0
    """Strength of the term that keeps neurons out of saturation, in [0, 100]; 0 turns it off."""
    d: Annotated[int, Range(1, 1000)] = 4
    """Delay in steps over which changes are chained, in [1, 1000]."""
    decay: Annotated[float, Range(0.0, 1.0)] = 5e-5
    """lambda, the share of C that is forgotten per step, in [0, 1]."""
    c: Annotated[float, Range(1e-9, 1000.0)] = 0.1
    """Added to the norm of the sensor velocity when the response is normalised, in [1e-9, 1000]."""
    C_0: Annotated[float, Range(-10.0, 10.0)] = 0.6
    """Initial weight from each joint's sensor to its own motor, in [-10, 10]."""
    rotation: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Initial rotation between the two axes of each joint, motors (0, 1), (2, 3), ..., in [-10, 10]."""
    wave: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Initial coupling along such a chain: +wave to the next joint, -wave to the one before, in [-10, 10]."""
    clip: Annotated[float, Range(0.0, 1e6)] = 0.015
    """Largest change of an element of C or h by learning in one step, in [0, 1e6]."""
    eps_h: Annotated[float, Range(0.0, 10.0)] = 0.0
    """Learning rate of h per step, in [0, 10]; 0 leaves h at 0."""


@njit(cache=True)
def _ulr(
    C: Array, h: Array, gamma: Array, history: Array,
    eps: float, alpha: float, decay: float, c: float, clip: float, eps_h: float,
) -> None:  # fmt: skip
    """Move C and h in place by one step of ULR and write the rates gamma; history[k] is s_{t-k}."""
    o, n = C.shape
    d = len(history) - 2
    norm = 0.0
    for j in range(n):
        norm += (history[0, j] - history[1, j]) ** 2
    norm = np.sqrt(norm) + c
    for i in range(o):
        z = h[i]
        Cv = 0.0
        for j in range(n):
            z += C[i, j] * history[d, j]
            Cv += C[i, j] * (history[d, j] - history[d + 1, j])
        chi = (history[0, i] - history[1, i]) / norm
        gamma[i] = 2.0 * alpha * chi * Cv
        gamma_a = gamma[i] * np.tanh(z)
        for j in range(n):
            dC = eps * (chi * (history[d, j] - history[d + 1, j]) - gamma_a * history[d, j])
            C[i, j] += clipped(dC, clip) - decay * C[i, j]
        h[i] -= clipped(eps_h * gamma_a, clip)


class ULR(HistoryController):
    """Learn by ULR, our form of the unsupervised rule of Der (2012) and Der & Martius (ECAL 2013).

    With the sensor velocity v_t = s_t - s_{t-1} and the model A = identity from each motor to its own joint
    sensor (zero for sensors without a motor)::

        chi   = A^T v_t / (|v_t| + c)                       normalised response
        gamma = 2 alpha chi * (C v_{t-d})                   channel-specific rates
        dC    = eps [ chi v_{t-d}^T - (gamma * a) s_{t-d}^T ] - lambda C
        dh    = - eps_h gamma * a                           a = tanh(C s_{t-d} + h) with the current C, h

    The first term chains what changes together over d steps and so drives the loop towards instability,
    the second keeps neurons out of saturation, lambda forgets. The eps-part of every element is clipped.
    This form is our definition, not that of the papers: docs/controllers.md derives it from TiPI.

    During the first d + 1 steps after the start or a `restart` nothing is learned and nothing forgotten.

    Parameters
    ----------
    n_sensors, n_motors : int
        n_sensors must be at least n_motors: each motor learns from its own joint sensor.
    config : ULRConfig, optional
    rng : numpy.random.Generator or int, optional
        Not used: the rule is deterministic.
    """

    Config: ClassVar[type[RuleConfig]] = ULRConfig
    config: ULRConfig

    def __init__(
        self,
        n_sensors: int,
        n_motors: int,
        config: ULRConfig | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(n_sensors, n_motors, config, rng)
        config = self.config
        if n_sensors < n_motors:
            raise ControllerError(
                f"{n_sensors} sensors for {n_motors} motors: ULR needs a joint sensor for every motor; "
                "add the missing sensors or use a rule with a learned model, such as tipi."
            )
        self.C[...] = initial_C(self.n_motors, self.n_sensors, config.C_0, config.rotation, config.wave)
        self.gamma: Array = np.full(self.n_motors, np.nan)
        rates = (config.eps, config.alpha, config.decay, config.c, config.clip, config.eps_h)
        self._rates = tuple(map(float, rates))

    def span(self) -> int:
        """Give d + 2: two sensor values for each of the two velocities, d steps apart."""
        return int(self.config.d) + 2

    def update(self, s: Array) -> None:
        """Move C and h by one step of the rule, once d + 2 sensor values are known."""
        if self.remember(s):
            _ulr(self.C, self.h, self.gamma, self.history, *self._rates)

    def _gamma(self) -> Array:
        return self.gamma.copy()
