"""The hexapod that leaps high: a body of an exploration, whose complexity and dimension grow as it learns."""

from __future__ import annotations

from dataclasses import dataclass

from robots.hexapod import Hexapod, HexapodConfig


@dataclass(frozen=True, kw_only=True)
class HexapodHighConfig(HexapodConfig):
    """Body and world of the hexapod that leaps high; docs/atlas.md says how they were found.

    Examples
    --------
    >>> from robots import HexapodConfig, HexapodHighConfig
    >>> HexapodHighConfig().tibia_power / HexapodConfig().tibia_power
    2.181
    """

    gravity: float = 6.0
    """Gravitational acceleration, downwards [m/s²]."""
    coxa_power: float = 1.767
    """Greatest torque of a shoulder servo, on either axis [N m]."""
    tibia_power: float = 2.181
    """Greatest torque of a knee servo [N m]."""
    vertical_limit: float = 0.765
    """Range of a shoulder up and down [rad]."""
    horizontal_limit: float = 0.7405
    """Range of a shoulder to front and back [rad]."""
    knee_limit: float = 0.771
    """Range of a knee [rad]."""
    velocity_scale: float = 0.2041
    """Vertical speed of the trunk that reads as 1 [m/s]."""
    servo_speed: float = 24.7
    """Servo's target speed is servo_speed/2 times the deviation from the set point [1/s]."""
    friction: float = 1.5
    """Coulomb friction between body and ground [1]."""


class HexapodHigh(Hexapod):
    """A hexapod with stronger knees and wider joints, under less gravity.

    Motors and sensors are those of `Hexapod`, in the same order; limits, powers and units are:

    Actions (18):

    ======  ==========  ======================  =========  =========
    index   motor       positive is             limit      power
    ======  ==========  ======================  =========  =========
    3k      up/down     leg up                  .765 rad   1.767 N m
    3k + 1  front/back  leg to the front        .7405 rad  1.767 N m
    3k + 2  knee        tibia out               .771 rad   2.181 N m
    ======  ==========  ======================  =========  =========

    Observations (19), with coloured noise of amplitude .02:

    ======  =============================  ===================  =================
    index   sensor                         unit                 bound
    ======  =============================  ===================  =================
    0..17   joint angles as above          angle/limit          2.6 + noise
    18      vertical velocity of trunk     speed/(.2041 m/s)    98.0 + noise
    ======  =============================  ===================  =================

    Examples
    --------
    >>> from robots import HexapodHigh
    >>> HexapodHigh().config.gravity
    6.0
    """

    Config = HexapodHighConfig
    config: HexapodHighConfig
