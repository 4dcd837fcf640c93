"""The hexapod: an insect-like body with 18 degrees of freedom that learns to jump."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any, ClassVar

import numpy as np
import pybullet as p

from robots.base import Body, Motor, RobotEnv, Sensor
from robots.camera import Camera
from robots.config import RobotConfig
from robots.urdf import Vector, box, capsule, joint, link, robot, sphere

LEGS = ("right hind", "right middle", "right front", "left hind", "left middle", "left front")
KNEE = 1.5
"""Angle between coxa and tibia at rest [rad]."""
SPREAD = pi / 12
"""How far hind legs point backwards and front legs forwards [rad]."""


@dataclass(frozen=True, kw_only=True)
class HexapodConfig(RobotConfig):
    """Body, servos and world of the hexapod."""

    mass: float = 1.0
    """Total mass [kg]."""
    trunk_share: float = 0.5
    """Share of the trunk in the total mass; coxae and tibiae have equal parts of the rest [1]."""
    trunk_length: float = 1.0
    """Length of the trunk; it is a third as wide and an eighth as high [m]."""
    leg_length: float = 0.6
    """Length of a leg, half coxa and half tibia [m]."""
    coxa_power: float = 2.0
    """Greatest torque of a shoulder servo, on either axis [N m]."""
    tibia_power: float = 1.0
    """Greatest torque of a knee servo [N m]."""
    vertical_limit: float = 0.9
    """Range of the shoulder up and down [rad]."""
    horizontal_limit: float = 0.8
    """Range of the shoulder to front and back [rad]."""
    knee_limit: float = 0.8
    """Range of the knee [rad]."""
    velocity_scale: float = 0.5
    """Vertical speed of the trunk that reads as 1 [m/s]."""
    upright_support: float = 0.0
    """Torque per radian that turns a trunk back which is tilted beyond a right angle [N m/rad]; 0 for none."""
    friction: float = 2.4
    servo_speed: float = 26.0

    MAY_BE_ZERO: ClassVar[frozenset[str]] = RobotConfig.MAY_BE_ZERO | {"upright_support"}


class Hexapod(RobotEnv):
    Config = HexapodConfig
    camera = Camera(distance=2.0)

    @classmethod
    def body(cls, config: HexapodConfig) -> Body:
        """Trunk along x with the head at positive x; legs to the sides, tibiae down."""
        length, width, height = config.trunk_length, config.trunk_length / 3, config.trunk_length / 8
        coxa, tibia = config.leg_length / 2, config.leg_length / 2
        # Two dummy grams per shoulder universal joint are taken from nobody: 6 x 1 g beside the stated mass.
        trunk_mass = config.trunk_share * config.mass
        part_mass = (config.mass - trunk_mass) / 12
        parts = [link("trunk", trunk_mass, box(length, width, height), colour=(0.2, 0.35, 0.6))]
        motors = []
        for leg in LEGS:
            side = -1 if leg.startswith("right") else 1
            place = {"hind": -1, "middle": 0, "front": 1}[leg.split()[1]]
            out = place * SPREAD  # turn of the leg towards the front
            # Frame of the leg: x along the coxa outwards, y = the leg's front/back direction, z up.
            yaw = side * (pi / 2 - out)
            # In that frame positive turns about -y lift the leg, about z*(-side) bring it forwards,
            # about -y stretch the knee.
            hip, upper, lower = f"{leg} hip", f"{leg} coxa", f"{leg} tibia"
            names = (f"{leg} up/down", f"{leg} front/back", f"{leg} knee")
            limits = (config.vertical_limit, config.horizontal_limit, config.knee_limit)
            powers = (config.coxa_power, config.coxa_power, config.tibia_power)
            motors += [Motor(*m) for m in zip(names, limits, powers, strict=True)]
            stops = [config.hard_stop * limit for limit in limits]
            at: Vector = (place * 0.4 * length, side * width / 2, 0.0)
            parts += [
                link(hip, 1e-3, inertia=(2e-5, 2e-5, 2e-5)),
                joint(names[0], "trunk", hip, (0, -1, 0), stops[0], xyz=at, rpy=(0, 0, yaw)),
                link(upper, part_mass, capsule(0.04, coxa, (coxa / 2, 0, 0), (0, pi / 2, 0))),
                joint(names[1], hip, upper, (0, 0, -side), stops[1]),
                link(lower, part_mass, capsule(0.0375, tibia, (tibia / 2, 0, 0), (0, pi / 2, 0))),
                joint(names[2], upper, lower, (0, -1, 0), stops[2], xyz=(coxa, 0, 0), rpy=(0, KNEE, 0)),
            ]
        return Body(
            urdf=robot("hexapod", parts),
            motors=tuple(motors),
            sensors=(Sensor("vertical velocity", f"speed/({config.velocity_scale:g} m/s)",
                            config.max_speed / config.velocity_scale),),
            start_height=tibia * sin(KNEE) + 0.0375,
        )

    def _further(self) -> list[float]:
        return [self._velocity[2] / self.config.velocity_scale]
