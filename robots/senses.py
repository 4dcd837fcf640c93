"""Hexapods with another sense in place of the vertical velocity: what does that sense bring along?"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from robots.body import Body, Sensor
from robots.hexapod import LEGS, Hexapod, HexapodConfig


class OtherSense(Hexapod):
    """A hexapod whose sensor 18 reads something else; a subclass says what, and reads it in `_further`."""

    sense: ClassVar[Sensor]

    @classmethod
    def body(cls, config: HexapodConfig) -> Body:
        """The hexapod with this sensor as its last."""
        return replace(super().body(config), sensors=(cls.sense,))


class PitchRate(OtherSense):
    """A hexapod that senses how fast its head goes down.

    Examples
    --------
    >>> from robots.senses import PitchRate
    >>> PitchRate().sensor_names[18]
    'pitch rate'
    """

    sense = Sensor("pitch rate", "1/s", 500.0)

    def _further(self) -> list[float]:
        x, y, z, w = self.world.orientation
        left = (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w))  # the trunk's y-axis
        return [sum(a * b for a, b in zip(left, self.world.spin, strict=True))]


class Load(OtherSense):
    """A hexapod that senses how hard the ground pushes it, that is its vertical acceleration.

    0 at rest, -2.5 in the air: in units of .4 of the weight it varies as much as the vertical velocity does
    in its own unit when the hexapod rocks.

    Examples
    --------
    >>> from robots.senses import Load
    >>> s, _ = Load(noise=0.0).reset(seed=0)
    >>> float(s[18])  # right after a reset nothing bears it yet
    -2.5
    """

    sense = Sensor("load on the ground", ".4 weight", 1e4)

    def _further(self) -> list[float]:
        weight = self.config.mass * self.config.gravity
        return [(self.world.touches().forces[:, 2].sum() / weight - 1.0) / 0.4]


class Feet(OtherSense):
    """A hexapod that senses how many feet are on the ground, as a share from 0 to 1.

    Examples
    --------
    >>> from robots.senses import Feet
    >>> env = Feet(noise=0.0)
    >>> s, _ = env.reset(seed=0)
    >>> for _ in range(200):
    ...     s, *_ = env.step([0.0] * 18)
    >>> float(s[18])
    1.0
    """

    sense = Sensor("feet on the ground", "1", 10.0)

    def _further(self) -> list[float]:
        return [len(set(self.world.touches().links.tolist())) / len(LEGS)]
