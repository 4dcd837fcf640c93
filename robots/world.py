"""What a simulated world is, whichever engine moves it: one body on endless flat ground.

`robots.bullet_world` and `robots.mujoco_world` are the two; `robots.engines` opens one by name.
"""

from __future__ import annotations

import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import acos, isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robots.body import Body, Floats
from robots.camera import GROUND_PERIOD, Camera
from robots.config import RobotConfig

if TYPE_CHECKING:
    from robots.painter import Painter

HORIZON = GROUND_PERIOD
"""Distance from the origin at which the robot is put back by whole periods of the ground's pattern [m]."""
Watcher = Callable[[], None]


class Links(NamedTuple):
    """All links, the base first, in the shifted world."""

    positions: Floats
    """(links, 3): centres of mass [m]."""
    frames: Floats
    """(links, 3, 3): the links' own axes as columns."""
    velocities: Floats
    """(links, 3): of the centres of mass [m/s]."""
    spins: Floats
    """(links, 3): in world coordinates [rad/s]."""


class Touches(NamedTuple):
    """Where the ground acted on the body in the last physics step, one row per point that carried a load."""

    links: NDArray[np.int_]
    """(points,): which link, counted as in `Links`."""
    points: Floats
    """(points, 3): where, in the shifted world [m]."""
    forces: Floats
    """(points, 3): on the body [N]."""


class World(ABC):
    """One body on endless flat ground, as an engine has it.

    Call `build` before anything else, and `read` after whatever moves the body.

    Parameters
    ----------
    body : Body
    config : RobotConfig
    render_mode : {None, "rgb_array", "human"}
        Without one nothing is drawn; "human" opens a window.

    Attributes
    ----------
    position, orientation, velocity, spin : sequence of float
        Of the base as last read: its centre of mass [m], quaternion (x, y, z, w), [m/s], [rad/s]; in the
        shifted world.
    readings : array
        What is read of the body, in one place that stays and is written anew: the three parts that follow.
    joint_positions : (motors,) view of the readings
        In units of the limits.
    further : (sensors,) view of the readings
        Room for the values of the further sensors, which the environment puts there.
    joint_speeds : (motors,) view of the readings
        [rad/s or m/s].
    offset : tuple of float
        How far the world has been shifted along x and y: add it to a position in the world [m].
    close : callable
        Frees the engine; also called when the world is forgotten.
    """

    engine: ClassVar[str]
    position: Sequence[float]
    orientation: Sequence[float]
    velocity: Sequence[float]
    spin: Sequence[float]
    offset: tuple[float, float]
    close: Callable[[], Any]

    def __init__(self, body: Body, config: RobotConfig, render_mode: str | None = None) -> None:
        self.body, self.config, self.render_mode = body, config, render_mode
        self.step = config.control_step / config.substeps
        self._limit = np.array([m.limit for m in body.motors])
        self._power = np.array([m.power for m in body.motors])
        self._due = 0.0
        self._painter: Painter | None = None
        self._opened: list[Callable[[], Any]] = []
        self.close = weakref.finalize(self, _free, self._opened)
        n, k = len(body.motors), len(body.sensors)
        self.readings = np.zeros(2 * n + k)
        self.joint_positions, self.further, self.joint_speeds = np.split(self.readings, [n, n + k])

    @abstractmethod
    def build(self) -> None:
        """Empty the world and load ground and robot anew, so that nothing hidden survives."""

    @abstractmethod
    def place(self, base: list[float], joints: list[list[float]]) -> None:
        """Put the base at position, orientation, velocity, spin, and each joint at position and speed."""

    @abstractmethod
    def read(self) -> None:
        """Fetch the state of the base and of the motors' joints."""

    def tilt(self) -> float:
        """Angle between the base's z-axis and the vertical, as last read [rad]."""
        x, y, _, _ = self.orientation
        return acos(max(-1.0, min(1.0, 1 - 2 * (x * x + y * y))))

    @abstractmethod
    def advance(self, target: Floats, torque: Sequence[float] | None, watcher: Watcher | None) -> None:
        """Let the servos pull towards the targets, in units of the limits, for one control step.

        A torque [N m] acts on the base all along, if there is one. The watcher is called just before each
        physics step, when the servos are set.
        """

    @abstractmethod
    def push(self, impulse: Floats, link: int) -> None:
        """Push a link at its centre of mass [N s]: the next physics step takes it as a force."""

    @abstractmethod
    def links(self) -> Links:
        """Where all links are and how they move."""

    @abstractmethod
    def centre_of_mass(self) -> Floats:
        """Centre of mass of the robot in the shifted world [m]."""

    @abstractmethod
    def joint_states(self) -> Floats:
        """Position and speed of every joint, (joints, 2) [rad and rad/s, or m and m/s]."""

    @abstractmethod
    def motors(self) -> tuple[Floats, Floats]:
        """Speed of each motor's joint, and what the motor applied in the last physics step [N m or N]."""

    @abstractmethod
    def contacts(self) -> float:
        """Number of points that touched the ground in the last physics step."""

    @abstractmethod
    def pressed(self) -> bool:
        """Whether the ground pressed against the body in the last physics step."""

    @abstractmethod
    def touches(self) -> Touches:
        """Forces of the ground on the body in the last physics step; rolling friction, a torque, is none."""

    @abstractmethod
    def masses(self) -> dict[str, float]:
        """Mass of each link [kg], as the engine has it; the base comes first."""

    @abstractmethod
    def inertia(self) -> Floats:
        """(links, 3, 3): tensor of each link about its centre of mass, in the link's own axes [kg m²]."""

    def picture(self, camera: Camera) -> NDArray[np.uint8]:
        """A picture of the robot, (height, width, 3), that needs no display."""
        if self._painter is None:
            from robots.painter import Painter  # which loads MuJoCo

            self._painter = Painter(self.body, self.config)
            self._opened.append(self._painter.close)
        x, y, z, w = self.orientation
        pose = np.concatenate([self.position, (w, x, y, z), self.joint_states()[:, 0]])
        return self._painter.picture(pose, self.centre_of_mass(), camera)

    def show(self, camera: Camera) -> None:
        """Bring the window up to date, and wait until this control step is due in real time."""
        self._draw(camera)
        late = time.perf_counter() - self._due
        if late < 0:
            time.sleep(-late)
        self._due = max(self._due, time.perf_counter()) + self.config.control_step

    @abstractmethod
    def _draw(self, camera: Camera) -> None:
        """Draw the robot in the window, seen by this camera."""

    @abstractmethod
    def _shift(self, x: float, y: float) -> None:
        """Take (x, y) from the place of the robot and of all that touches it; what was read with it."""

    def recentre(self) -> None:
        """Shift the robot by whole periods of the ground's pattern, when it is far out."""
        x, y, _ = self.position
        if -HORIZON < x < HORIZON and -HORIZON < y < HORIZON:
            return
        if isfinite(x) and isfinite(y):
            east, north = (GROUND_PERIOD * round(at / GROUND_PERIOD) for at in (x, y))
            self.offset = (self.offset[0] + east, self.offset[1] + north)
            self._shift(east, north)


def _free(opened: list[Callable[[], Any]]) -> None:
    for close in opened:
        close()
