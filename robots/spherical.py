"""The spherical robot: a ball that rolls by shifting three weights inside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from robots.base import RobotEnv
from robots.body import Body, Motor, Sensor
from robots.camera import Camera
from robots.config import RobotConfig
from robots.urdf import Vector, hoop, joint, link, robot, sphere

AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
COLOURS: dict[str, Vector] = {"x": (0.85, 0.35, 0.25), "y": (0.3, 0.6, 0.35), "z": (0.25, 0.45, 0.75)}


@dataclass(frozen=True, kw_only=True)
class SphericalConfig(RobotConfig):
    """Body, servos and world of the spherical robot."""

    radius: float = 0.25
    """Radius of the shell [m]."""
    shell_mass: float = 0.3
    """Mass of the shell [kg]."""
    weight_mass: float = 0.2
    """Mass of each of the three weights [kg]."""
    limit: float = 0.15
    """Range of the weights to either side of the centre [m]."""
    power: float = 5.0
    """Greatest force on a weight [N]."""
    servo_speed: float = 15.0
    """Servo's target speed is servo_speed/2 times the deviation from the set point [1/s]."""

    MAY_BE_ZERO: ClassVar[frozenset[str]] = RobotConfig.MAY_BE_ZERO | {"power"}


class Spherical(RobotEnv):
    """A ball of .9 kg and .25 m radius with three weights on perpendicular sliders through its centre.

    After Der & Martius, The Playful Machine (2012). Weights pass through one another.

    Actions (3): set points of the weights on the axes x, y, z in units of the limit .15 m, in [-1, 1];
    power 5 N.

    Observations (6), with coloured noise of amplitude .02:

    =====  ======================================  ==============  =============
    index  sensor                                  unit            bound
    =====  ======================================  ==============  =============
    0..2   positions of the weights                position/limit  2.6 + noise
    3..5   vertical components of the three axes   1               1.001 + noise
    =====  ======================================  ==============  =============

    Reward and episode: see `RobotEnv`.
    """

    Config = SphericalConfig
    config: SphericalConfig
    view = Camera(distance=1.4)
    sensor_unit = "position/limit"

    @classmethod
    def body(cls, config: SphericalConfig) -> Body:
        """Shell around the origin, drawn as three hoops; a weight per axis."""
        radius, mass = config.radius, config.shell_mass
        hoops = [(rod, COLOURS[name]) for name in AXES for rod in hoop(name, 0.98 * radius)]
        hollow = (2 / 3 * mass * radius**2,) * 3
        parts = [link("shell", mass, sphere(radius), inertia=hollow, decoration=hoops, visible=False)]
        for name, axis in AXES.items():
            ball = sphere(radius / 6)
            moment = config.weight_mass * ball.inertia[0]
            parts += [
                link(f"weight {name}", config.weight_mass, inertia=(moment,) * 3,
                     decoration=[(ball, COLOURS[name])]),
                joint(f"weight {name} slide", "shell", f"weight {name}", axis,
                      config.hard_stop * config.limit, kind="prismatic"),
            ]  # fmt: skip
        motors = tuple(Motor(f"weight {name} slide", config.limit, config.power) for name in AXES)
        # Slightly more than 1: a rotation matrix holds its unit length only up to rounding.
        sensors = tuple(Sensor(f"axis {name} upwards", "1", 1.001) for name in AXES)
        return Body(robot("spherical", parts), motors, sensors, radius)

    def _further(self) -> list[float]:
        x, y, z, w = self._orientation
        return [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]
