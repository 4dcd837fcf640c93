"""The hexapod that leaps high: a body of an exploration, in which core complexity grows while it learns."""

from __future__ import annotations

from dataclasses import dataclass

from robots.hexapod import Hexapod, HexapodConfig


@dataclass(frozen=True, kw_only=True)
class HexapodHighConfig(HexapodConfig):
    """Body and world of the hexapod that leaps high; docs/atlas.md says how they were found.

    Examples
    --------
    >>> from robots import HexapodConfig, HexapodHighConfig
    >>> HexapodHighConfig().coxa_power / HexapodConfig().coxa_power
    1.3
    """

    gravity: float = 6.0
    """Gravitational acceleration, downwards [m/s²]."""
    coxa_power: float = 2.6
    """Greatest torque of a shoulder servo, on either axis [N m]."""
    tibia_power: float = 1.64
    """Greatest torque of a knee servo [N m]."""
    vertical_limit: float = 0.67
    """Range of a shoulder up and down [rad]."""
    horizontal_limit: float = 0.84
    """Range of a shoulder to front and back [rad]."""
    knee_limit: float = 1.03
    """Range of a knee [rad]."""
    velocity_scale: float = 0.37
    """Vertical speed of the trunk that reads as 1 [m/s]."""
    servo_speed: float = 36.0
    """Servo's target speed is servo_speed/2 times the deviation from the set point [1/s]."""
    friction: float = 0.8
    """Coulomb friction between body and ground [1]."""
    noise: float = 0.01
    """Amplitude of the coloured sensor noise in units of the sensor values [1]; 0 switches it off."""


class HexapodHigh(Hexapod):
    """A hexapod of quicker and stronger servos and wider joints, under less gravity.

    Motors and sensors are those of `Hexapod`, in the same order; limits, powers and units are:

    Actions (18):

    ======  ==========  ======================  =========  ========
    index   motor       positive is             limit      power
    ======  ==========  ======================  =========  ========
    3k      up/down     leg up                  .67 rad    2.6 N m
    3k + 1  front/back  leg to the front        .84 rad    2.6 N m
    3k + 2  knee        tibia out               1.03 rad   1.64 N m
    ======  ==========  ======================  =========  ========

    Observations (19), with coloured noise of amplitude .01:

    ======  =============================  ===================  =================
    index   sensor                         unit                 bound
    ======  =============================  ===================  =================
    0..17   joint angles as above          angle/limit          2.6 + noise
    18      vertical velocity of trunk     speed/(.37 m/s)      54.1 + noise
    ======  =============================  ===================  =================

    Examples
    --------
    >>> from robots import HexapodHigh
    >>> HexapodHigh().config.gravity
    6.0
    """

    Config = HexapodHighConfig
    config: HexapodHighConfig
