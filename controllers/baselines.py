"""Baselines that a comparison needs: fixed random weights, plain feedback, a sine pattern, motor babbling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from controllers.base import Array, Controller, initial_C
from controllers.config import Range, RuleConfig


@dataclass(frozen=True)
class RandomConfig(RuleConfig):
    """Settings of fixed random weights."""

    radius: Annotated[float, Range(0.0, 100.0)] = 1.2
    """Spectral radius of the loop A C at rest, in [0, 100]; above 1 the rest position is unstable."""


class Random(Controller):
    """Act with a fixed random C: Gaussian, scaled to the spectral radius asked for.

    Parameters
    ----------
    n_sensors, n_motors : int
    config : RandomConfig, optional
    rng : numpy.random.Generator or int, optional
        Draws C.
    """

    Config: ClassVar[type[RuleConfig]] = RandomConfig
    config: RandomConfig

    def __init__(
        self,
        n_sensors: int,
        n_motors: int,
        config: RandomConfig | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(n_sensors, n_motors, config, rng)
        C = self.rng.standard_normal((n_motors, n_sensors))
        A, _ = self._model()
        self.C[...] = C * (self.config.radius / np.abs(np.linalg.eigvals(A @ C)).max())


@dataclass(frozen=True)
class IdentityConfig(RuleConfig):
    """Settings of plain feedback."""

    C_0: Annotated[float, Range(-10.0, 10.0)] = 1.0
    """Weight from each joint's sensor to its own motor, in [-10, 10]."""
    rotation: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Rotation between the two axes of each joint, motors (0, 1), (2, 3), ..., in [-10, 10]."""
    wave: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Coupling along a chain of such joints: +wave to the next, -wave to the one before, in [-10, 10]."""


class Identity(Controller):
    """Act with a fixed C = C_0 * identity: each motor keeps its joint where it is, or drives it further.

    Parameters
    ----------
    n_sensors, n_motors : int
    config : IdentityConfig, optional
    rng : numpy.random.Generator or int, optional
        Not used.
    """

    Config: ClassVar[type[RuleConfig]] = IdentityConfig
    config: IdentityConfig

    def __init__(
        self,
        n_sensors: int,
        n_motors: int,
        config: IdentityConfig | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(n_sensors, n_motors, config, rng)
        config = self.config
        self.C[...] = initial_C(self.n_motors, self.n_sensors, config.C_0, config.rotation, config.wave)


class OpenLoop(Controller, ABC):
    """A controller that plays a pattern whatever the sensors say; C and h stay zero.

    Acting moves the pattern on, unlike with all other controllers. There is nothing to learn and nothing to
    freeze: `freeze` gives a copy that plays on from the same place.
    """

    def freeze(self) -> Controller:
        """Give a copy that plays on from the same place."""
        return type(self).from_state(self.state())

    def _act(self, s: Array) -> Array:
        if not np.isfinite(s).all():
            self._refuse_sensors(s, f"action {self._acted}")
        self._acted += 1
        return self.play()

    @abstractmethod
    def play(self) -> Array:
        """Give the next action and move on."""


@dataclass(frozen=True)
class SineConfig(RuleConfig):
    """Settings of the sine pattern."""

    amplitude: Annotated[float, Range(0.0, 1.0)] = 0.5
    """Amplitude of every motor, in [0, 1]."""
    period: Annotated[float, Range(2.0, 1e6)] = 50.0
    """Period in control steps, in [2, 1e6]; 50 steps are a second at 50 Hz."""
    axes: Annotated[int, Range(1, 1000)] = 1
    """Motors per joint or leg, in [1, 1000]: motor i is axis i % axes of joint i // axes."""
    lag: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Phase lag from one joint to the next in rad, in [-10, 10]; pi alternates neighbours."""
    axis_lag: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Phase lag from one axis of a joint to the next in rad, in [-10, 10]; pi/2 makes two axes circle."""


class Sine(OpenLoop):
    """Play a sine on every motor, with phase lags along the body: a central pattern generator.

    a_i = amplitude sin(2 pi k / period - (i // axes) lag - (i % axes) axis_lag) at step k.

    Parameters
    ----------
    n_sensors, n_motors : int
    config : SineConfig, optional
    rng : numpy.random.Generator or int, optional
        Not used.
    """

    Config: ClassVar[type[RuleConfig]] = SineConfig
    memory: ClassVar[tuple[str, ...]] = (*OpenLoop.memory, "clock")
    config: SineConfig

    def __init__(
        self,
        n_sensors: int,
        n_motors: int,
        config: SineConfig | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(n_sensors, n_motors, config, rng)
        self.clock = 0
        joint, axis = np.divmod(np.arange(n_motors), self.config.axes)
        self._lags = joint * self.config.lag + axis * self.config.axis_lag

    def play(self) -> Array:
        """Give the next action and move the clock on by one."""
        phase = 2.0 * np.pi * self.clock / self.config.period
        self.clock += 1
        return self.config.amplitude * np.sin(phase - self._lags)


@dataclass(frozen=True)
class BabblingConfig(RuleConfig):
    """Settings of motor babbling."""

    std: Annotated[float, Range(0.0, 100.0)] = 0.5
    """Standard deviation of the noise before tanh, in [0, 100]."""
    correlation: Annotated[float, Range(0.0, 1e6)] = 10.0
    """Correlation time of the noise in control steps, in [0, 1e6]; 0 gives white noise."""


class Babbling(OpenLoop):
    """Play coloured noise on every motor: a = tanh(std x), x a first-order process of unit variance.

    With rho = exp(-1 / correlation), x_{k+1} = rho x_k + sqrt(1 - rho^2) * (standard normal numbers).

    Parameters
    ----------
    n_sensors, n_motors : int
    config : BabblingConfig, optional
    rng : numpy.random.Generator or int, optional
        Draws the noise.
    """

    Config: ClassVar[type[RuleConfig]] = BabblingConfig
    memory: ClassVar[tuple[str, ...]] = (*OpenLoop.memory, "x")
    config: BabblingConfig

    def __init__(
        self,
        n_sensors: int,
        n_motors: int,
        config: BabblingConfig | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(n_sensors, n_motors, config, rng)
        self.x: Array = self.rng.standard_normal(self.n_motors)
        correlation = self.config.correlation
        self._rho = float(np.exp(-1.0 / correlation)) if correlation > 0.0 else 0.0

    def play(self) -> Array:
        """Give the next action and draw the noise for the one after."""
        a = np.tanh(self.config.std * self.x)
        noise = self.rng.standard_normal(self.n_motors)
        self.x[...] = self._rho * self.x + np.sqrt(1.0 - self._rho**2) * noise
        return a
