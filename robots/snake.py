"""The snake: eight identical segments in a chain that rolls and crawls."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import ClassVar

import numpy as np
import pybullet as p

from robots.base import RobotEnv
from robots.body import Body, Motor
from robots.camera import Camera
from robots.config import RobotConfig
from robots.urdf import box, capsule, joint, link, robot

SEGMENTS = 8


@dataclass(frozen=True, kw_only=True)
class SnakeConfig(RobotConfig):
    """Body, servos and world of the snake."""

    segment_length: float = 0.5
    """Distance of neighbouring joints [m]."""
    segment_radius: float = 0.12
    """Radius of a segment [m]."""
    segment_mass: float = 0.2
    """Mass of a segment [kg]; the cross piece of each joint has a tenth of it on top."""
    power: float = 2.0
    """Greatest torque of a servo [N m]."""
    limit: float = pi / 4 * 1.6
    """Range of each joint axis [rad]."""
    friction: float = 0.7
    """Coulomb friction between body and ground [1]."""
    friction_along: float = 1.0
    """Friction along a segment in units of that across it [1]; below 1 as with a snake's scales."""
    servo_speed: float = 8.0
    """Servo's target speed is servo_speed/2 times the deviation from the set point [1/s]."""

    MAY_BE_ZERO: ClassVar[frozenset[str]] = RobotConfig.MAY_BE_ZERO | {"power"}


class Snake(RobotEnv):
    """A chain of eight identical capsules of .5 m, 1.74 kg in all, bent by 14 servos.

    Each of the seven joints has two crossed axes: neighbours can be inclined to each other but not twisted,
    so to roll the snake has to bend all its joints in turn. Segments do not collide with one another.
    Joints are counted from the head, segment 1. With `friction_along` below 1 the segments slide more easily
    along their axes than across, as a snake with scales: it can then crawl by waves that lie on the ground.

    Actions (14), in units of the limit 1.26 rad, each in [-1, 1], power 2 N m; for joint k = 1..7:

    ======  ==============================  ===========================
    index   motor                           positive is
    ======  ==============================  ===========================
    2k - 2  joint k sideways                rear part to the left bend
    2k - 1  joint k up/down                 rear part up
    ======  ==============================  ===========================

    Observations (14), with coloured noise of amplitude .02: the joint angles in the same order, in units
    of the limit, bound 2.6 + noise. Index 6 is the first axis of the middle joint.

    Servos much faster than the default (servo_speed of 20) need more than two substeps: joint speeds of
    30 rad/s are too fast for physics steps of .01 s, and the simulation blows up, which ends the episode.
    Reward and episode: see `RobotEnv`.
    """

    Config = SnakeConfig
    config: SnakeConfig
    view = Camera(distance=4.8, pitch=-28.0)

    @classmethod
    def body(cls, config: SnakeConfig) -> Body:
        """Segments along x, the head at positive x; each joint bends sideways, then up and down."""
        length, radius, mass = config.segment_length, config.segment_radius, config.segment_mass
        stop = config.hard_stop * config.limit
        solid = capsule(radius, length, (-length / 2, 0, 0))
        stripe = box(0.8 * length, 0.3 * radius, 0.1 * radius, (-length / 2, 0, radius))
        parts: list[str] = []
        motors: list[Motor] = []
        for i in range(SEGMENTS):
            colour = (0.8, 0.25, 0.2) if i == 0 else [(0.25, 0.5, 0.3), (0.45, 0.65, 0.35)][i % 2]
            segment = f"segment {i + 1}"
            parts.append(link(segment, mass, solid, colour=colour, decoration=[(stripe, (0.95, 0.9, 0.5))]))
            if i:
                cross, before = f"cross {i}", f"segment {i}"
                sideways, upwards = f"joint {i} sideways", f"joint {i} up/down"
                parts += [
                    link(cross, mass / 10, inertia=(2e-5, 2e-5, 2e-5)),
                    joint(sideways, before, cross, (0, 0, 1), stop, xyz=(-length, 0, 0)),
                    joint(upwards, cross, segment, (0, 1, 0), stop),
                ]
                motors += [Motor(name, config.limit, config.power) for name in (sideways, upwards)]
        return Body(urdf=robot("snake", parts), motors=tuple(motors), start_height=radius)

    def _build(self) -> None:
        super()._build()
        if self.config.friction_along != 1:
            for index in (-1, *self._joints[1::2]):
                p.changeDynamics(
                    self._robot, index, anisotropicFriction=[self.config.friction_along, 1, 1],
                    physicsClientId=self._client,
                )  # fmt: skip

    def measure(self) -> dict[str, float]:
        """What an onlooker sees, on demand: as for every robot, and how the snake as a whole moves.

        Returns
        -------
        dict
            As `RobotEnv.measure`, whose base is the head, and: `roll`, the mean over the segments of the
            spin of each about its own long axis [rad/s]; `along` and `across`, the mean velocity of the
            segments in the horizontal direction of the body (mean direction of its segments, towards the
            head) and to the left of it [m/s]; `top`, the height of the highest segment's centre [m].
        """
        seen = super().measure()
        # The link behind each up/down joint is a segment; the base is the first.
        states = p.getLinkStates(
            self._robot, self._joints[1::2], computeLinkVelocity=1, computeForwardKinematics=1,
            physicsClientId=self._client,
        )  # fmt: skip
        turns = [self._orientation, *(s[1] for s in states)]
        axes = np.array([p.getMatrixFromQuaternion(turn)[0::3] for turn in turns])
        spins = np.array([self._spin, *(s[7] for s in states)])
        vx, vy, _ = np.mean([self._velocity, *(s[6] for s in states)], axis=0)
        x, y, _ = axes.mean(axis=0)
        length = np.hypot(x, y) or 1.0
        return seen | {
            "roll": float((axes * spins).sum(axis=1).mean()),
            "along": float((vx * x + vy * y) / length),
            "across": float((vy * x - vx * y) / length),
            "top": float(max(self._position[2], *(s[0][2] for s in states))),
        }
