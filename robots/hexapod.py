"""The hexapod: an insect-like body with 18 degrees of freedom that learns to jump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import acos, hypot, pi, sin
from typing import Any, ClassVar

import numpy as np

from robots.base import RobotEnv
from robots.body import Body, Motor, Sensor
from robots.camera import Camera
from robots.config import RobotConfig
from robots.errors import RobotError
from robots.observed import Description, Observed, peak
from robots.urdf import Vector, box, capsule, joint, link, robot, sphere

LEGS = ("right hind", "right middle", "right front", "left hind", "left middle", "left front")
KNEE = 1.5
"""Angle between coxa and tibia when all motors are at 0 [rad]."""
SPREAD = pi / 12
"""How far the hind legs point backwards and the front legs forwards [rad]."""
COXA_RADIUS, TIBIA_RADIUS = 0.04, 0.0375
WHITE = (0.95, 0.9, 0.8)
REDS, BLUES = ((0.85, 0.4, 0.3), (0.6, 0.2, 0.2)), ((0.35, 0.6, 0.8), (0.2, 0.4, 0.6))
HIP_MASS = 1e-3
"""Mass of the cross piece between the two axes of a shoulder [kg]."""
UPRIGHT = pi / 2
"""Tilt beyond which the soft support against turning over acts [rad]."""


@dataclass(frozen=True, kw_only=True)
class HexapodConfig(RobotConfig):
    """Body, servos and world of the hexapod.

    Examples
    --------
    >>> from robots import Hexapod, HexapodConfig
    >>> on_the_moon = Hexapod(HexapodConfig(gravity=1.62))
    >>> on_the_moon.config.gravity
    1.62
    """

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
    vertical_limit: float = 0.6
    """Range of a shoulder up and down [rad]."""
    horizontal_limit: float = 0.4
    """Range of a shoulder to front and back [rad]."""
    knee_limit: float = 0.8
    """Range of a knee [rad]."""
    velocity_scale: float = 0.3
    """Vertical speed of the trunk that reads as 1 [m/s]."""
    upright_support: float = 2.0
    """Stiffness of the support against a tilt of the trunk beyond a right angle [N m/rad]; 0: none."""
    substeps: int = 4
    """Physics steps per control step [1]: with two, when it begins to jump depends on the engine."""
    solver_iterations: int = 20
    """Iterations of the constraint solver per physics step [1]: with ten, MuJoCo's onset is not converged."""
    gravity: float = 9.81
    """Gravitational acceleration, downwards [m/s²]."""
    friction: float = 2.4
    """Coulomb friction between body and ground [1]."""
    servo_speed: float = 25.0
    """Servo's target speed is servo_speed/2 times the deviation from the set point [1/s]."""

    MAY_BE_ZERO: ClassVar[frozenset[str]] = RobotConfig.MAY_BE_ZERO | {
        "coxa_power", "tibia_power", "upright_support"
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        legs = (1 - self.trunk_share) * self.mass
        if legs <= 6 * HIP_MASS:
            raise RobotError(
                f"HexapodConfig.trunk_share {self.trunk_share} of {self.mass} kg leaves {legs:.3g} kg for "
                f"the legs: they need more than {6 * HIP_MASS} kg; lower trunk_share"
            )


def jumping(observed: Observed) -> dict[str, float]:
    """Jumping in numbers.

    Returns
    -------
    dict
        `frequency` [Hz] and `peak_share` of the largest peak in the spectrum of the trunk's height;
        `height_std` [m]; `airtime`, share of the time without ground contact; `std_x1`, of the first sensor;
        `tilt`, mean inclination of the trunk [rad]; `support`, share of steps in which the soft support
        against turning over acts.
    """
    z, tilt = observed.motion["z"], observed.motion["tilt"]
    frequency, share = peak(z, observed.rate / observed.every)
    return {
        "frequency": frequency,
        "peak_share": share,
        "height_std": float(z.std()),
        "airtime": float(np.mean(observed.motion["contacts"] == 0)),
        "std_x1": float(observed.sensors[:, 0].std()),
        "tilt": float(tilt.mean()),
        "support": float(np.mean(tilt > UPRIGHT)),
    }


def mode_of_jumping(numbers: dict[str, float]) -> str:
    """Name what a hexapod does.

    - jumping: airtime over .3 with a peak share over .8
    - hopping: airtime over .02 otherwise
    - up-down: no more airtime than that, std_x1 over .05
    - quiet: none of these
    """
    if numbers["airtime"] > 0.3 and numbers["peak_share"] > 0.8:
        return "jumping"
    if numbers["airtime"] > 0.02:
        return "hopping"
    return "up-down" if numbers["std_x1"] > 0.05 else "quiet"


class Hexapod(RobotEnv):
    """An insect-like robot of 1 kg: a trunk of 1 x 1/3 x 1/8 m and six legs of .6 m.

    Each leg has a shoulder with two crossed axes and a knee. Legs in order: right hind, right middle,
    right front, left hind, left middle, left front. Parts do not collide with one another.

    Actions (18), in units of the limits, each in [-1, 1]; for leg k = 0..5:

    ======  ==========  ======================  =========  =======
    index   motor       positive is             limit      power
    ======  ==========  ======================  =========  =======
    3k      up/down     leg up                  .6 rad     2 N m
    3k + 1  front/back  leg to the front        .4 rad     2 N m
    3k + 2  knee        tibia out               .8 rad     1 N m
    ======  ==========  ======================  =========  =======

    Observations (19), with coloured noise of amplitude .02:

    ======  =============================  ===================  =================
    index   sensor                         unit                 bound
    ======  =============================  ===================  =================
    0..17   joint angles as above          angle/limit          2.6 + noise
    18      vertical velocity of trunk     speed/(.3 m/s)       66.7 + noise
    ======  =============================  ===================  =================

    The soft support against turning over reports in `info["upright_support"]` whether it acted during
    the step. Reward and episode: see `RobotEnv`.

    Examples
    --------
    >>> from robots import Hexapod
    >>> env = Hexapod()
    >>> s, _ = env.reset(seed=1)
    >>> s, _, terminated, _, info = env.step([0.0] * 18)
    >>> s.shape, terminated, info["upright_support"]
    ((19,), False, False)
    >>> env.sensor_names[0], env.sensor_names[18]
    ('right hind up/down', 'vertical velocity')
    """

    Config = HexapodConfig
    config: HexapodConfig
    description = Description(
        jumping, mode_of_jumping, telling="airtime",
        columns={
            "frequency": ("peak [Hz]", ".2f"), "peak_share": ("share", ".2f"),
            "height_std": ("height std [m]", ".3f"), "airtime": ("airtime", ".2f"),
            "std_x1": ("std x_1", ".3f"), "tilt": ("tilt [rad]", ".2f"), "support": ("support", ".3f"),
        },
    )  # fmt: skip
    view = Camera(distance=1.9, yaw=20.0, pitch=-17.0)

    @classmethod
    def body(cls, config: HexapodConfig) -> Body:
        """Trunk along x with the head at positive x; coxae to the sides, tibiae down."""
        length, width, height = config.trunk_length, config.trunk_length / 3, config.trunk_length / 8
        coxa = tibia = config.leg_length / 2
        trunk_mass = config.trunk_share * config.mass
        part_mass = (config.mass - trunk_mass - 6 * HIP_MASS) / 12
        eyes = [(sphere(height / 4, (length / 2, y, height / 4)), WHITE) for y in (-width / 3, width / 3)]
        spine = box(0.9 * length, width / 8, height / 10, (0, 0, height / 2))
        parts = [
            link("trunk", trunk_mass, box(length, width, height), colour=(0.22, 0.3, 0.42),
                 decoration=[*eyes, (spine, (0.95, 0.75, 0.3))])
        ]  # fmt: skip
        motors: list[Motor] = []
        for leg in LEGS:
            side = 1 if leg.startswith("left") else -1
            place = {"hind": -1, "middle": 0, "front": 1}[leg.split()[1]]
            names = (f"{leg} up/down", f"{leg} front/back", f"{leg} knee")
            limits = (config.vertical_limit, config.horizontal_limit, config.knee_limit)
            powers = (config.coxa_power, config.coxa_power, config.tibia_power)
            motors += [Motor(*m) for m in zip(names, limits, powers, strict=True)]
            stops = [config.hard_stop * limit for limit in limits]
            # The leg's frame has x along the coxa, outwards, and z up: turning about -y lifts the leg and
            # the tibia, turning about z towards the head brings the leg to the front.
            shoulder: Vector = (place * 0.4 * length, side * width / 2, 0.0)
            outwards: Vector = (0.0, 0.0, side * (pi / 2 - place * SPREAD))
            hip, upper, lower = f"{leg} hip", f"{leg} coxa", f"{leg} tibia"
            bright, dark = REDS if side < 0 else BLUES
            knee = sphere(1.1 * COXA_RADIUS, (coxa, 0, 0))
            foot = sphere(1.05 * TIBIA_RADIUS, (tibia, 0, 0))
            parts += [
                link(hip, HIP_MASS, inertia=(2e-5, 2e-5, 2e-5)),
                joint(names[0], "trunk", hip, (0, -1, 0), stops[0], xyz=shoulder, rpy=outwards),
                link(upper, part_mass, capsule(COXA_RADIUS, coxa, (coxa / 2, 0, 0)), colour=bright,
                     decoration=[(knee, bright)]),
                joint(names[1], hip, upper, (0, 0, -side), stops[1]),
                link(lower, part_mass, capsule(TIBIA_RADIUS, tibia, (tibia / 2, 0, 0)), colour=dark,
                     decoration=[(foot, dark)]),
                joint(names[2], upper, lower, (0, -1, 0), stops[2], xyz=(coxa, 0, 0), rpy=(0, KNEE, 0)),
            ]  # fmt: skip
        scale = config.velocity_scale
        velocity = Sensor("vertical velocity", f"speed/({scale:g} m/s)", config.max_speed / scale)
        return Body(robot("hexapod", parts), tuple(motors), (velocity,), tibia * sin(KNEE) + TIBIA_RADIUS)

    def _further(self) -> list[float]:
        return [self.world.velocity[2] / self.config.velocity_scale]

    def _assist(self, info: dict[str, Any]) -> Sequence[float] | None:
        """Turn the trunk back by a torque that grows with the tilt beyond a right angle."""
        if not self.config.upright_support:
            return None
        x, y, z, w = self.world.orientation
        up = 1 - 2 * (x * x + y * y)  # vertical component of the trunk's z-axis
        info["upright_support"] = up < 0
        if up >= 0:
            return None
        ahead, left = 2 * (x * z + y * w), 2 * (y * z - x * w)  # its components along the world's x and y
        # About (left, -ahead, 0), the horizontal axis that brings the trunk's z-axis up the short way.
        torque = self.config.upright_support * (acos(max(up, -1.0)) - UPRIGHT) / (hypot(ahead, left) or 1.0)
        return [torque * left, -torque * ahead, 0.0]
