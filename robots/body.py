"""What a robot states about itself, and the law of its servos."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from robots.errors import RobotError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Motor:
    """A servo: the joint of the same name, its limit [rad or m] and its power [N m or N]."""

    name: str
    limit: float
    power: float


@dataclass(frozen=True)
class Sensor:
    """A sensor beyond the joints' own: unit of its value and the bound that a healthy body never exceeds."""

    name: str
    unit: str
    bound: float


@dataclass(frozen=True)
class Body:
    """A robot as an engine needs it: URDF text, motors in order, further sensors, start height [m].

    `rolls` says that it rolls on its capsules; see `robots.urdf.on_balls`. `friction_along` is the friction
    of each link along its own x-axis in units of that across it, as of scales; below 1 it takes links that
    are capsules along x.
    """

    urdf: str
    motors: tuple[Motor, ...]
    sensors: tuple[Sensor, ...] = ()
    start_height: float = 0.0
    friction_along: float = 1.0
    rolls: bool = False

    def __post_init__(self) -> None:
        known = self.joint_names
        for motor in self.motors:
            if motor.name not in known:
                raise RobotError(
                    f"motor {motor.name!r} moves no joint: give it the name of one of "
                    f"{', '.join(map(repr, known))}"
                )

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, moved by a motor or not, in the order of the text."""
        try:
            document = ElementTree.fromstring(self.urdf)
        except ElementTree.ParseError as error:
            raise RobotError(
                f"the URDF text is not XML ({error}): compose it with the functions of robots.urdf"
            ) from error
        return tuple(joint.get("name", "") for joint in document.findall("joint"))


def servo_force(deviation: Floats, power: Floats, damping: float, out: Floats | None = None) -> Floats:
    """Torque limit of position servos: none at the set point, full power far from it.

        force = power * tanh(|deviation| + damping)

    with the deviation from the set point in units of the joint's limit. Together with the target velocity
    servo_speed / 2 * deviation this is the servo law: within the torque limit the motor does what it takes
    to reach the target velocity. With damping 0 a servo at its set point is limp, so that small
    perturbations of the body stay visible in the joint angles.
    """
    force: Floats = np.abs(deviation, out)
    if damping:
        force += damping
    return np.multiply(power, np.tanh(force, force), force)
