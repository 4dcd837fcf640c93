"""What every robot's config states: time, world, servos, noise and the limits of a healthy simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from math import isfinite
from typing import Any, ClassVar, Self

from robots.errors import RobotError


@dataclass(frozen=True, kw_only=True)
class RobotConfig:
    """Fields that all robots share. A change of a default is a new version of the environment.

    Raises
    ------
    RobotError
        When a field is not a number, or lies outside its range.

    Examples
    --------
    >>> from robots import RobotConfig
    >>> moon = RobotConfig(gravity=1.62, noise=0.0)
    >>> moon.control_step / moon.substeps  # a physics step [s]
    0.01
    """

    control_step: float = 0.02
    """Duration of one environment step [s]."""
    substeps: int = 2
    """Physics steps per control step [1]."""
    solver_iterations: int = 10
    """Iterations of the constraint solver per physics step [1]."""
    gravity: float = 6.0
    """Gravitational acceleration, downwards [m/s²]."""
    friction: float = 1.0
    """Coulomb friction between body and ground [1]."""
    rolling_friction: float = 0.0
    """Rolling friction of the ground, as a lever arm [m]."""
    contact_stiffness: float = 1333.0
    """Stiffness of the ground [N/m]."""
    contact_damping: float = 10.0
    """Damping of the ground [N s/m]."""
    servo_speed: float = 20.0
    """Servo's target speed is servo_speed/2 times the deviation from the set point [1/s]."""
    servo_damping: float = 0.0
    """Share of the power that a servo has at its set point, as the argument of the tanh [1]."""
    servo_every_substep: bool = False
    """Set the servos' torque limits at each physics step rather than once per control step."""
    hard_stop: float = 1.3
    """Position of the joints' mechanical stops in units of the limits [1]."""
    noise: float = 0.02
    """Amplitude of the coloured sensor noise in units of the sensor values [1]; 0 switches it off."""
    noise_rate: float = 0.1
    """Share of the noise that is renewed per step: 1 is white, small is slow [1]."""
    max_speed: float = 20.0
    """Speed of the base beyond which the simulation counts as blown up [m/s]."""
    max_height: float = 10.0
    """Height of the base beyond which the simulation counts as blown up [m]."""
    max_joint_speed: float = 60.0
    """Speed of a joint beyond which the simulation counts as blown up [rad/s, or m/s for sliders]."""

    # Fields that may be zero; every other number must be positive.
    MAY_BE_ZERO: ClassVar[frozenset[str]] = frozenset(
        {"gravity", "friction", "rolling_friction", "servo_damping", "contact_damping", "noise"}
    )

    @classmethod
    def of(cls, given: RobotConfig | Mapping[str, Any] | None, changes: Mapping[str, Any]) -> Self:
        """A config, some of its fields, or None for the defaults; with changes.

        Examples
        --------
        >>> from robots import RobotConfig
        >>> RobotConfig.of({"gravity": 1.62}, {"noise": 0.0}).gravity
        1.62
        """
        if isinstance(given, RobotConfig) and not isinstance(given, cls):
            raise RobotError(f"config is a {type(given).__name__}: it must be a {cls.__name__}")
        values = {**given, **changes} if isinstance(given, Mapping) else changes
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                nearest = ", ".join(get_close_matches(name, known, 3, 0.5) or known)
                raise RobotError(f"{cls.__name__} has no field {name!r}: choose one of {nearest}")
        return replace(given, **changes) if isinstance(given, cls) else cls(**values)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            name = f"{type(self).__name__}.{field.name}"
            if isinstance(value, bool):
                continue
            if not isinstance(value, int | float) or not isfinite(value):
                raise RobotError(f"{name} is {value!r}: it must be a finite number")
            if value < 0 or (value == 0 and field.name not in self.MAY_BE_ZERO):
                least = "zero or more" if field.name in self.MAY_BE_ZERO else "greater than zero"
                raise RobotError(f"{name} is {value!r}: it must be {least}")
            if isinstance(field.default, int) and not isinstance(value, int):
                raise RobotError(f"{name} is {value!r}: it must be a whole number")
        if self.noise_rate > 1:
            raise RobotError(f"{type(self).__name__}.noise_rate is {self.noise_rate!r}: it must be at most 1")
        if self.hard_stop < 1:
            raise RobotError(f"{type(self).__name__}.hard_stop is {self.hard_stop!r}: it must be at least 1")
