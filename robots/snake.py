"""The snake: eight identical segments in a chain that rolls and crawls."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import ClassVar

import numpy as np

from robots.base import RobotEnv
from robots.body import Body, Motor
from robots.camera import Camera
from robots.config import RobotConfig
from robots.observed import Description, Observed, peak
from robots.urdf import box, capsule, joint, link, robot

SEGMENTS = 8
LEAST_STD = 0.2
"""Joint angles of a behaviour vary by more than this [limits]; otherwise the body just lies or slides."""
LEAST_ROLL = 0.3
"""Mean rate of turning about the long axis from which a snake rolls [rad/s]: a turn in 21 s."""
MOST_ROLL = 0.15
"""Mean rate of turning below which a snake that travels crawls, and does not roll [rad/s]."""
LEAST_WAY = 0.1
"""Way per radian of roll from which a snake rolls straight [m]: a wheel of its radius makes .12."""
LEAST_SPEED = 0.03
"""Mean speed from which a snake travels [m/s]: its own length in two minutes."""
STRETCH = 10.0
"""A snake that crawls in circles travels, too: its speed is that of ways of so many seconds [s]."""


@dataclass(frozen=True, kw_only=True)
class SnakeConfig(RobotConfig):
    """Body, servos and world of the snake.

    Examples
    --------
    >>> from robots import Snake, SnakeConfig
    >>> with_scales = Snake(SnakeConfig(friction_along=0.1))
    >>> with_scales.config.friction_along
    0.1
    """

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
    solver_iterations: int = 50
    """Iterations of the constraint solver per physics step [1]: with fewer, a stiff chain gains energy."""

    MAY_BE_ZERO: ClassVar[frozenset[str]] = RobotConfig.MAY_BE_ZERO | {"power"}


def rolling(observed: Observed) -> dict[str, float]:
    """Rolling and crawling in numbers.

    Returns
    -------
    dict
        `roll`, mean rate at which the segments turn about their own long axes, its sign told by the right
        hand [rad/s]; `speed` of the centre of mass, mean over straight ways of 10 s [m/s]; `along` and
        `across`, mean velocity in the direction of the body and to its left [m/s]; `frequency` [Hz] and
        `peak_share` of the middle joint's first axis; `joint_std`, mean standard deviation of the joint
        angles [limits]; `height`, mean of the highest segment [m].
    """
    m, rate = observed.motion, observed.rate / observed.every
    centre = np.stack([m["cx"], m["cy"]], axis=1)
    stretch = max(1, min(round(STRETCH * rate), len(centre) - 1))
    ways = np.diff(centre[::stretch], axis=0)
    middle = 2 * (observed.motors // 4)  # 6 of 14: the first axis of joint 4 of 7
    frequency, share = peak(observed.sensors[:, middle], observed.rate)
    return {
        "roll": float(m["roll"].mean()),
        "speed": float(np.hypot(*ways.T).mean() * rate / stretch) if len(ways) else 0.0,
        "along": float(m["along"].mean()),
        "across": float(m["across"].mean()),
        "frequency": frequency,
        "peak_share": share,
        "joint_std": float(observed.sensors[:, : observed.motors].std(axis=0).mean()),
        "height": float(m["top"].mean()),
    }


def mode_of_rolling(numbers: dict[str, float]) -> str:
    """Name what a snake does.

    - rolling: joint_std over .2 and roll over .3 rad/s in either direction
    - rolling in an arc: the same with a way of less than .1 m per radian, for it goes in circles
    - log-rolling: that much roll with stiffer joints, which is no behaviour
    - crawling: joint_std over .2 and speed over .03 m/s with a roll below .15 rad/s
    - writhing: joint_std over .2 otherwise
    - quiet: none of these
    """
    roll, moves = abs(numbers["roll"]), numbers["joint_std"] > LEAST_STD
    if roll > LEAST_ROLL:
        straight = numbers["speed"] > LEAST_WAY * roll
        return ("rolling" if straight else "rolling in an arc") if moves else "log-rolling"
    if not moves:
        return "quiet"
    return "crawling" if numbers["speed"] > LEAST_SPEED and roll < MOST_ROLL else "writhing"


class Snake(RobotEnv):
    """A chain of eight identical capsules of .5 m, 1.74 kg in all, bent by 14 servos.

    Each of the seven joints has two crossed axes: neighbours can be inclined to each other but not twisted,
    so to roll the snake has to bend all its joints in turn. Segments do not collide with one another.
    Joints are counted from the head, segment 1. With `friction_along` below 1 the segments slide more easily
    along their axes than across, as a snake with scales: it can then crawl by waves that lie on the ground.
    In Bullet such a segment has too little grip across while it slides obliquely, and crawls more than twice
    as fast as in MuJoCo, whose friction is Coulomb's at every angle.

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

    Examples
    --------
    >>> from robots import Snake
    >>> env = Snake()
    >>> s, _ = env.reset(seed=1)
    >>> s, *_ = env.step([0.3, -0.3] * 7)
    >>> env.sensor_names[6], s.shape
    ('joint 4 sideways', (14,))
    """

    Config = SnakeConfig
    config: SnakeConfig
    description = Description(
        rolling, mode_of_rolling, telling="joint_std",
        columns={
            "roll": ("roll [1/s]", "+.2f"), "speed": ("speed [m/s]", ".3f"), "along": ("along [m/s]", "+.2f"),
            "across": ("side [m/s]", "+.2f"), "frequency": ("peak [Hz]", ".2f"),
            "peak_share": ("share", ".2f"), "joint_std": ("joint std", ".2f"), "height": ("top [m]", ".2f"),
        },
    )  # fmt: skip
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
        return Body(
            urdf=robot("snake", parts),
            motors=tuple(motors),
            start_height=radius,
            friction_along=config.friction_along,
            rolls=True,
        )

    def motion(self) -> dict[str, float]:
        """How the body stands and moves, as for every robot, and how the snake as a whole does.

        Returns
        -------
        dict
            As `RobotEnv.motion`, whose base is the head, and: `roll`, the mean over the segments of the
            spin of each about its own long axis [rad/s]; `along` and `across`, the mean velocity of the
            segments in the horizontal direction of the body (mean direction of its segments, towards the
            head) and to the left of it [m/s]; `top`, the height of the highest segment's centre [m].
        """
        found, all_links = super().motion(), self.world.links()
        # The base is the first segment, then every other link: a cross stands before each segment.
        positions, frames, velocities, spins = (values[::2] for values in all_links)
        axes = frames[:, :, 0]
        vx, vy, _ = velocities.mean(axis=0)
        x, y, _ = axes.mean(axis=0)
        length = np.hypot(x, y) or 1.0
        return found | {
            "roll": float((axes * spins).sum(axis=1).mean()),
            "along": float((vx * x + vy * y) / length),
            "across": float((vy * x - vx * y) / length),
            "top": float(positions[:, 2].max()),
        }
