"""What bodies that roll by shifting weights inside them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from robots.base import RobotEnv
from robots.body import Body, Motor, Sensor
from robots.config import RobotConfig
from robots.urdf import Shape, Vector, joint, link, robot

AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
COLOURS: dict[str, Vector] = {"x": (0.85, 0.35, 0.25), "y": (0.3, 0.6, 0.35), "z": (0.25, 0.45, 0.75)}


@dataclass(frozen=True, kw_only=True)
class InnerWeightsConfig(RobotConfig):
    """Shell, weights and servos of a body that is moved by weights inside it."""

    radius: float = 0.2
    """Radius of the shell [m]."""
    shell_mass: float = 0.3
    """Mass of the shell [kg]."""
    weight_mass: float = 0.2
    """Mass of each weight [kg]."""
    limit: float = 0.1
    """Range of the weights to either side of the middle [m]."""
    power: float = 5.0
    """Greatest force on a weight [N]."""
    servo_speed: float = 15.0
    """Servo's target speed is servo_speed/2 times the deviation from the set point [1/s]."""

    MAY_BE_ZERO: ClassVar[frozenset[str]] = RobotConfig.MAY_BE_ZERO | {"power"}


class InnerWeights(RobotEnv):
    """A shell with a weight on a slider along each of its `axes`, and a sensor of each axis' inclination.

    The weights pass through one another and the shell. A subclass states its axes and, in `body`, its shell.
    """

    Config: ClassVar[type[RobotConfig]] = InnerWeightsConfig
    config: InnerWeightsConfig
    axes: ClassVar[tuple[str, ...]]
    sensor_unit = "position/limit"

    @classmethod
    def assemble(cls, config: InnerWeightsConfig, shell: str, ball: Shape, middles: Sequence[Vector]) -> Body:
        """Put the weights, drawn as this ball, into the link "shell"; each slides about its own middle."""
        parts, stop = [shell], config.hard_stop * config.limit
        moment = config.weight_mass * ball.inertia[0]
        for name, middle in zip(cls.axes, middles, strict=True):
            weight = f"weight {name}"
            parts += [
                link(weight, config.weight_mass, inertia=(moment,) * 3, decoration=[(ball, COLOURS[name])]),
                joint(f"{weight} slide", "shell", weight, AXES[name], stop, xyz=middle, kind="prismatic"),
            ]
        motors = tuple(Motor(f"weight {name} slide", config.limit, config.power) for name in cls.axes)
        # Slightly more than 1: a rotation matrix holds its unit length only up to rounding.
        sensors = tuple(Sensor(f"axis {name} upwards", "1", 1.001) for name in cls.axes)
        return Body(robot(cls.__name__.lower(), parts), motors, sensors, config.radius, rolls=True)

    def _further(self) -> list[float]:
        x, y, z, w = self.world.orientation
        upwards = {"x": 2 * (x * z - y * w), "y": 2 * (y * z + x * w), "z": 1 - 2 * (x * x + y * y)}
        return [upwards[name] for name in self.axes]
