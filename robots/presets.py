"""Bodies nearer to those of others, as named settings: what is stated of them, and nothing beyond."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from robots.errors import RobotError

LPZROBOTS = "lpzrobots"
"""The simulator of Der and Martius: values of its bodies and demonstrations, as far as ours have them."""
PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "hexapod": {
            # Its legs have a tarsus besides, and its knees are without power unless asked for.
            LPZROBOTS: {
                "gravity": 6.0, "noise": 0.05,
                "servo_speed": 30.0, "servo_every_substep": True, "substeps": 2,
                "vertical_limit": 0.9, "horizontal_limit": 1.3, "knee_limit": 1.8,
                "coxa_power": 1.5, "tibia_power": 0.8,
            },
        },
        "snake": {
            LPZROBOTS: {
                "gravity": 6.0, "noise": 0.05, "servo_damping": 0.02, "friction_along": 1.0,
                "servo_every_substep": True,
            },
        },
    }
)  # fmt: skip


def body_preset(robot: str, name: str) -> dict[str, Any]:
    """Settings of a robot's body by name.

    Raises
    ------
    RobotError
        When the robot has no such preset.

    Examples
    --------
    >>> from robots import body_preset, find
    >>> find("hexapod").make(body_preset("hexapod", "lpzrobots")).config.gravity
    6.0
    """
    known = PRESETS.get(robot, {})
    if name not in known:
        words = f"choose {', '.join(map(repr, known))}" if known else "it has none; leave preset out"
        raise RobotError(f"the {robot} has no preset {name!r}: {words}")
    return dict(known[name])
