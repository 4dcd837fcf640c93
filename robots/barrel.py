"""The barrel: a roller driven by two weights inside it, the simplest body that can do something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from robots.base import RobotEnv
from robots.body import Body, Motor, Sensor
from robots.camera import Camera
from robots.config import RobotConfig
from robots.urdf import Vector, capsule, hoop, joint, link, robot, sphere

AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "z": (0.0, 0.0, 1.0)}
COLOURS: dict[str, Vector] = {"x": (0.85, 0.35, 0.25), "z": (0.25, 0.45, 0.75)}
WOOD: Vector = (0.6, 0.42, 0.25)


@dataclass(frozen=True, kw_only=True)
class BarrelConfig(RobotConfig):
    """Body, servos and world of the barrel."""

    radius: float = 0.2
    """Radius of the barrel [m]."""
    length: float = 0.5
    """Length of the barrel without its round ends [m]."""
    shell_mass: float = 0.3
    """Mass of the shell [kg]."""
    weight_mass: float = 0.2
    """Mass of each of the two weights [kg]."""
    limit: float = 0.1
    """Range of the weights to either side of the axle [m]."""
    power: float = 5.0
    """Greatest force on a weight [N]."""
    servo_speed: float = 15.0
    """Servo's target speed is servo_speed/2 times the deviation from the set point [1/s]."""

    MAY_BE_ZERO: ClassVar[frozenset[str]] = RobotConfig.MAY_BE_ZERO | {"power"}


class Barrel(RobotEnv):
    """A roller of .7 kg and .2 m radius with two weights on crossed sliders through its axle.

    After Der & Martius, The Playful Machine (2012). It lies along y and rolls along x.

    Actions (2): set points of the weights on the axes x and z in units of the limit .1 m, in [-1, 1];
    power 5 N.

    Observations (4), with coloured noise of amplitude .02:

    =====  ====================================  ==============  =============
    index  sensor                                unit            bound
    =====  ====================================  ==============  =============
    0, 1   positions of the weights              position/limit  2.6 + noise
    2, 3   vertical components of the two axes   1               1.001 + noise
    =====  ====================================  ==============  =============

    Reward and episode: see `RobotEnv`.
    """

    Config = BarrelConfig
    config: BarrelConfig
    view = Camera(distance=1.6)
    sensor_unit = "position/limit"

    @classmethod
    def body(cls, config: BarrelConfig) -> Body:
        """Shell along y, drawn as three hoops; the weights slide side by side."""
        radius, length = config.radius, config.length
        hoops = [(rod, WOOD) for y in (-1, 0, 1) for rod in hoop("y", 0.98 * radius, y * length / 2)]
        solid = capsule(radius, length, along="y")
        parts = [link("shell", config.shell_mass, solid, visible=False, decoration=hoops)]
        ball, stop = sphere(radius / 5), config.hard_stop * config.limit
        moment = config.weight_mass * ball.inertia[0]
        for side, (name, axis) in zip((-1, 1), AXES.items(), strict=True):
            parts += [
                link(f"weight {name}", config.weight_mass, inertia=(moment,) * 3,
                     decoration=[(ball, COLOURS[name])]),
                joint(f"weight {name} slide", "shell", f"weight {name}", axis, stop,
                      xyz=(0.0, side * length / 4, 0.0), kind="prismatic"),
            ]  # fmt: skip
        motors = tuple(Motor(f"weight {name} slide", config.limit, config.power) for name in AXES)
        # Slightly more than 1: a rotation matrix holds its unit length only up to rounding.
        sensors = tuple(Sensor(f"axis {name} upwards", "1", 1.001) for name in AXES)
        return Body(robot("barrel", parts), motors, sensors, radius)

    def _further(self) -> list[float]:
        x, y, z, w = self._orientation
        return [2 * (x * z - y * w), 1 - 2 * (x * x + y * y)]
