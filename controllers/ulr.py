"""ULR, the unsupervised rule of two antagonistic activities: towards instability, out of saturation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numba import njit

from controllers.algebra import clipped
from controllers.base import Array
from controllers.config import Range, RuleConfig
from controllers.history import HistoryController
from controllers.start import initial_C


@dataclass(frozen=True)
class ULRConfig(RuleConfig):
    """Settings of ULR; what suits a body depends on it (docs/emergence.md).

    Examples
    --------
    >>> from controllers import ULRConfig
    >>> ULRConfig(eps=0.003).alpha
    4.0
    """

    eps: Annotated[float, Range(0.0, 10.0)] = 0.0026
    """Learning rate of C per step, in [0, 10]; the faster, the sooner a hexapod jumps."""
    alpha: Annotated[float, Range(0.0, 100.0)] = 4.0
    """Strength of the term that keeps neurons out of saturation, in [0, 100]; 0 turns it off."""
    d: Annotated[int, Range(1, 1000)] = 4
    """Delay in steps over which changes are chained, in [1, 1000]."""
    decay: Annotated[float, Range(0.0, 1.0, on=5e-5)] = 5e-5
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
    eps_h: Annotated[float, Range(0.0, 10.0, on=0.001)] = 0.0
    """Learning rate of h per step, in [0, 10]; 0 leaves h at 0."""


class ULRRates(NamedTuple):
    """What the kernel takes from the settings."""

    eps: float
    alpha: float
    decay: float
    c: float
    clip: float
    eps_h: float


@njit(cache=True)
def _ulr(C: Array, h: Array, gamma: Array, history: Array, rates: ULRRates) -> None:
    """Move C and h in place by one step of ULR and write the rates gamma; history[k] is s_{t-k}."""
    o, n = C.shape
    d = len(history) - 2
    norm = 0.0
    for j in range(n):
        norm += (history[0, j] - history[1, j]) ** 2
    norm = np.sqrt(norm) + rates.c
    for i in range(o):
        z = h[i]
        Cv = 0.0
        for j in range(n):
            z += C[i, j] * history[d, j]
            Cv += C[i, j] * (history[d, j] - history[d + 1, j])
        chi = (history[0, i] - history[1, i]) / norm
        gamma[i] = 2.0 * rates.alpha * chi * Cv
        gamma_a = gamma[i] * np.tanh(z)
        for j in range(n):
            dC = rates.eps * (chi * (history[d, j] - history[d + 1, j]) - gamma_a * history[d, j])
            C[i, j] += clipped(dC, rates.clip) - rates.decay * C[i, j]
        h[i] -= clipped(rates.eps_h * gamma_a, rates.clip)


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
    This form is our definition, not that of the papers: docs/explanation/ulr.md derives it from TiPI.

    During the first d + 1 steps after the start or a `restart` nothing is learned and nothing forgotten.

    n_sensors must be at least n_motors: each motor learns from its own joint sensor.

    Examples
    --------
    One joint that needs four steps to follow its motor, the delay over which the rule chains changes:

    >>> import numpy as np
    >>> from controllers import ULR
    >>> rule = ULR(n_sensors=1, n_motors=1)
    >>> actions, noise = [np.zeros(1)] * 4, np.random.default_rng(0)
    >>> for _ in range(20_000):
    ...     s = actions[-4] + noise.normal(0.0, 0.05, 1)
    ...     actions.append(rule.step(s))
    >>> bool(0.9 < rule.C[0, 0] < 1.2)  # from .6 to slightly above the critical value 1
    True
    """

    Config: ClassVar[type[RuleConfig]] = ULRConfig
    config: ULRConfig

    def set_up(self) -> None:
        """Start from C_0 and its couplings."""
        super().set_up()
        config = self.config
        self.need_joint_sensors("use a rule with a learned model, such as tipi")
        self.C[...] = initial_C(self.n_motors, self.n_sensors, config.C_0, config.rotation, config.wave)
        self._rates = config.rates(ULRRates)

    def span(self) -> int:
        """Give d + 2: two sensor values for each of the two velocities, d steps apart."""
        return int(self.config.d) + 2

    def update(self, s: Array) -> None:
        """Move C and h by one step of the rule, once d + 2 sensor values are known."""
        if self.remember(s):
            _ulr(self.C, self.h, self.gamma, self.history, self._rates)
