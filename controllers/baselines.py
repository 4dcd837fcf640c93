"""Baselines that a comparison needs: fixed random weights, plain feedback, a sine pattern, motor babbling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from controllers.base import Array, Controller
from controllers.config import Range, RuleConfig
from controllers.start import initial_C


@dataclass(frozen=True)
class RandomConfig(RuleConfig):
    """Settings of fixed random weights.

    Examples
    --------
    >>> from controllers import RandomConfig
    >>> RandomConfig(radius=0.9)
    RandomConfig(radius=0.9)
    """

    radius: Annotated[float, Range(0.0, 100.0)] = 1.2
    """Spectral radius of the loop A C at rest, in [0, 100]; above 1 the rest position is unstable."""


class Random(Controller):
    """Act with a fixed random C: Gaussian, scaled to the spectral radius asked for.

    The generator draws C.

    Examples
    --------
    >>> import numpy as np
    >>> from controllers import Random, RandomConfig
    >>> rule = Random(3, 3, RandomConfig(radius=1.5), rng=7)
    >>> round(float(np.abs(np.linalg.eigvals(rule.C)).max()), 6)
    1.5
    """

    Config: ClassVar[type[RuleConfig]] = RandomConfig
    config: RandomConfig

    def set_up(self) -> None:
        """Draw C and scale it."""
        C = self.rng.standard_normal((self.n_motors, self.n_sensors))
        A, _ = self._model()
        self.C[...] = C * (self.config.radius / np.abs(np.linalg.eigvals(A @ C)).max())


@dataclass(frozen=True)
class IdentityConfig(RuleConfig):
    """Settings of plain feedback.

    Examples
    --------
    >>> from controllers import IdentityConfig
    >>> IdentityConfig(C_0=0.7)
    IdentityConfig(C_0=0.7, rotation=0.0, wave=0.0)
    """

    C_0: Annotated[float, Range(-10.0, 10.0)] = 1.0
    """Weight from each joint's sensor to its own motor, in [-10, 10]."""
    rotation: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Rotation between the two axes of each joint, motors (0, 1), (2, 3), ..., in [-10, 10]."""
    wave: Annotated[float, Range(-10.0, 10.0)] = 0.0
    """Coupling along a chain of such joints: +wave to the next, -wave to the one before, in [-10, 10]."""


class Identity(Controller):
    """Act with a fixed C = C_0 * identity: each motor keeps its joint where it is, or drives it further.

    Examples
    --------
    >>> from controllers import Identity, IdentityConfig
    >>> Identity(3, 2, IdentityConfig(C_0=0.7)).C
    array([[0.7, 0. , 0. ],
           [0. , 0.7, 0. ]])
    """

    Config: ClassVar[type[RuleConfig]] = IdentityConfig
    config: IdentityConfig

    def set_up(self) -> None:
        """Set C."""
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
    """Settings of the sine pattern.

    Examples
    --------
    >>> from controllers import SineConfig
    >>> SineConfig(period=25.0).amplitude
    0.5
    """

    amplitude: Annotated[float, Range(0.0, 1.0)] = 0.5
    """Amplitude of every motor, in [0, 1]."""
    period: Annotated[float, Range(2.0, 1e6)] = 50.0
    """Period in control steps, in [2, 1e6]; 50 steps are a second at 50 Hz."""
    axes: Annotated[int, Range(1, 1000)] = 1
    """Motors per joint or leg, in [1, 1000]: motor i is axis i % axes of joint i // axes."""
    lag: Annotated[float, Range(-10.0, 10.0, on=1.0)] = 0.0
    """Phase lag from one joint to the next in rad, in [-10, 10]; pi alternates neighbours."""
    axis_lag: Annotated[float, Range(-10.0, 10.0, on=1.5)] = 0.0
    """Phase lag from one axis of a joint to the next in rad, in [-10, 10]; pi/2 makes two axes circle."""


class Sine(OpenLoop):
    """Play a sine on every motor, with phase lags along the body: a central pattern generator.

    a_i = amplitude sin(2 pi k / period - (i // axes) lag - (i % axes) axis_lag) at step k.

    Examples
    --------
    >>> import numpy as np
    >>> from controllers import Sine, SineConfig
    >>> sine = Sine(1, 2, SineConfig(period=4.0, lag=np.pi / 2))  # the second motor a quarter later
    >>> [sine.act([0.0]).round(3).tolist() for _ in range(3)]
    [[0.0, -0.5], [0.5, 0.0], [0.0, 0.5]]
    """

    Config: ClassVar[type[RuleConfig]] = SineConfig
    memory: ClassVar[tuple[str, ...]] = (*OpenLoop.memory, "clock")
    config: SineConfig

    def set_up(self) -> None:
        """Start the clock."""
        self.clock = 0
        joint, axis = np.divmod(np.arange(self.n_motors), self.config.axes)
        self._lags = joint * self.config.lag + axis * self.config.axis_lag

    def play(self) -> Array:
        """Give the next action and move the clock on by one."""
        phase = 2.0 * np.pi * self.clock / self.config.period
        self.clock += 1
        return self.config.amplitude * np.sin(phase - self._lags)


@dataclass(frozen=True)
class BabblingConfig(RuleConfig):
    """Settings of motor babbling.

    Examples
    --------
    >>> from controllers import BabblingConfig
    >>> BabblingConfig(correlation=0.0).std  # white noise
    0.5
    """

    std: Annotated[float, Range(0.0, 100.0)] = 0.5
    """Standard deviation of the noise before tanh, in [0, 100]."""
    correlation: Annotated[float, Range(0.0, 1e6)] = 10.0
    """Correlation time of the noise in control steps, in [0, 1e6]; 0 gives white noise."""


class Babbling(OpenLoop):
    """Play coloured noise on every motor: a = tanh(std x), x a first-order process of unit variance.

    With rho = exp(-1 / correlation), x_{k+1} = rho x_k + sqrt(1 - rho^2) * (standard normal numbers).

    The generator draws the noise.

    Examples
    --------
    >>> from controllers import Babbling
    >>> babbling = Babbling(n_sensors=3, n_motors=2, rng=1)
    >>> a = babbling.act([0.0, 0.0, 0.0])
    >>> a.shape, bool(abs(a).max() < 1)
    ((2,), True)
    """

    Config: ClassVar[type[RuleConfig]] = BabblingConfig
    memory: ClassVar[tuple[str, ...]] = (*OpenLoop.memory, "x")
    config: BabblingConfig

    def set_up(self) -> None:
        """Draw the first noise."""
        self.x: Array = self.rng.standard_normal(self.n_motors)
        correlation = self.config.correlation
        self._rho = float(np.exp(-1.0 / correlation)) if correlation > 0.0 else 0.0

    def play(self) -> Array:
        """Give the next action and draw the noise for the one after."""
        a = np.tanh(self.config.std * self.x)
        noise = self.rng.standard_normal(self.n_motors)
        self.x[...] = self._rho * self.x + np.sqrt(1.0 - self._rho**2) * noise
        return a
