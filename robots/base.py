"""The one environment class behind every robot: Gymnasium's verbs, sensors with noise, snapshots."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from robots.body import Body, Floats
from robots.camera import Camera, has_display, refuse_without_display
from robots.config import RobotConfig
from robots.engines import find_engine, open_world
from robots.errors import RobotError
from robots.observed import Description
from robots.randomness import WORDS, ColouredNoise, unpack_generator
from robots.rewards import REWARDS, Info, Reward
from robots.snapshots import check_snapshot


class RobotEnv(gym.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A body on endless flat ground, without a task.

    One step is one control step of `config.control_step` seconds. Actions are set points of the position
    servos in units of the joint limits; they must lie in [-1, 1]: others are refused, not clipped, so
    that what was logged is what was done. Observations are the joint positions in units of the limits,
    motor by motor, then the robot's further sensors, all with seeded coloured noise.

    There is no task, and the reward is 0 unless one is asked for. An episode has no time limit and is never
    truncated; it is terminated only if the simulation blows up, with a sentence in `info["reason"]`. Then
    call `reset`. `info` says at reset and in each step how the base is seen from outside: `position` [m],
    `velocity` [m/s], `height` [m], `tilt` of its z-axis [rad], and `contacts`, the number of points that
    touched the ground.

    Subclasses state a `Config`, a `body(config)`, and, where the body has further sensors, `_further()`;
    with a `description`, what the robot does gets numbers and a name.

    Parameters
    ----------
    config : RobotConfig or dict, optional
        An instance of the robot's `Config`, or some of its fields; the defaults if left out.
    render_mode : {None, "rgb_array", "human"}
    camera : Camera or dict, optional
        Where pictures are taken from, or what differs from the robot's own `view`.
    engine : {"pybullet", "mujoco"}, optional
        What simulates the world; see `robots.default_engine`.
    reward : {"none", "forward"} or callable
        "forward" is the base's velocity along the world's x-axis [m/s]; a function gets the observation, the
        action and the info of the step.
    width, height : int, optional
        Size of pictures [pixels].
    **settings
        Fields of the config that differ: `gymnasium.make("robots:selforg/Hexapod-v0", gravity=6.0)`.

    Raises
    ------
    RobotError
        When a setting, an action or a snapshot is not usable.

    Examples
    --------
    >>> from robots import Snake, RobotEnv
    >>> env: RobotEnv = Snake()
    >>> s, _ = env.reset(seed=1)
    >>> s, reward, terminated, truncated, info = env.step([0.5] * 14)
    >>> s.shape, s.dtype, reward, terminated
    ((14,), dtype('float32'), 0.0, False)
    >>> sorted(env.snapshot())
    ['base', 'contacts', 'joints', 'noise', 'observation', 'offset', 'random']
    >>> env.close()
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (declared so by Gymnasium)
        "render_modes": ["rgb_array", "human"] if has_display() else ["rgb_array"],
        "render_fps": 50,
    }
    Config: ClassVar[type[RobotConfig]] = RobotConfig
    description: ClassVar[Description | None] = None
    view: ClassVar[Camera] = Camera()
    sensor_unit: ClassVar[str] = "angle/limit"

    def __init__(
        self,
        config: RobotConfig | Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        camera: Camera | Mapping[str, Any] | None = None,
        engine: str | None = None,
        reward: str | Reward = "none",
        width: int | None = None,
        height: int | None = None,
        **settings: Any,
    ) -> None:
        if render_mode not in (None, "rgb_array", "human"):
            raise RobotError(f"render_mode is {render_mode!r}: choose None, 'rgb_array' or 'human'")
        if render_mode == "human":
            refuse_without_display()
        if not callable(reward) and reward not in REWARDS:
            raise RobotError(f"reward is {reward!r}: choose 'none', 'forward' or a function")
        self.config = config = self.Config.of(config, settings)
        self.engine = find_engine(engine)
        self.render_mode = render_mode
        if not isinstance(camera, Camera):
            camera = replace(self.view, **(camera or {}))
        self.camera = replace(camera, width=width or camera.width, height=height or camera.height)
        self._reward = REWARDS[reward] if isinstance(reward, str) else reward
        body = self.body(config)
        self.body_description = body
        self.motor_names = tuple(m.name for m in body.motors)
        self.sensor_names = (*self.motor_names, *(s.name for s in body.sensors))
        self.sensor_units = (*([self.sensor_unit] * len(body.motors)), *(s.unit for s in body.sensors))

        n, r = len(body.motors), config.noise_rate
        self._noise = ColouredNoise(len(self.sensor_names), config.noise, r)
        # Twice the hard stop: a joint beyond that is torn, not just pressed into its stop.
        bound = [2 * config.hard_stop] * n + [s.bound for s in body.sensors]
        self._bounds = np.array(bound + [config.max_joint_speed] * n)
        high = (np.array(bound) + config.noise / np.sqrt(r)).astype(np.float32)
        self._high = np.nextafter(high, np.float32(np.inf))  # rounding may have gone down
        self.observation_space = gym.spaces.Box(-self._high, self._high, dtype=np.float32)
        self._motors, self._one = (n,), np.ones(n, np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, self._motors, dtype=np.float32)

        self.world = open_world(self.engine, body, config, render_mode)
        self._values = self.world.readings[: len(bound)]  # of the sensors, without noise
        self._state = "new"  # then "running", "ended: why" or "closed"
        self._contacts: float | None = None  # as remembered by a snapshot, until the next step
        self._observer: Callable[[Info], None] | None = None

    # What a robot states about itself.

    @classmethod
    @abstractmethod
    def body(cls, config: Any) -> Body:
        """Describe the body that the config asks for."""

    def _further(self) -> list[float]:
        """Read the sensors beyond the joints, in the order of `Body.sensors`, without noise."""
        return []

    def _assist(self, info: Info) -> Sequence[float] | None:
        """Torque that acts on the base from outside during the next control step [N m]; say so in `info`."""
        return None

    # Gymnasium's verbs.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Put the robot into its starting pose; a seed makes everything that follows reproducible."""
        self._refuse_if_closed()
        super().reset(seed=seed)
        self.world.build()
        self._state = "running"
        self._noise.start(self.np_random)
        self._contacts = None
        self.world.read()
        self._sense()
        return self._observation(), self._seen({})

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Hold the set points for one control step and sense what became of the body."""
        self._refuse_unless_running()
        # Through float32, so that a float32 log of the actions is exactly what was done.
        target = np.asarray(action, dtype=np.float32)
        if target.shape != self._motors:
            raise RobotError(f"action has shape {target.shape}: it must be {self._motors}")
        # NaN fails the comparison, too. Counting is quicker than all() or max().
        if np.count_nonzero(np.abs(target) <= self._one) < target.size:
            worst = target[np.argmax(np.nan_to_num(np.abs(target), nan=np.inf))]
            raise RobotError(f"action contains {worst}: all values must lie in [-1, 1]; clip them beforehand")

        info: Info = {}
        torque = self._assist(info)
        watcher = None if self._observer is None else partial(self._observer, info)
        self.world.advance(target.astype(float), torque, watcher)
        self._sense()
        self._contacts = None
        self.world.recentre()
        reason = self._blow_up()
        if reason:
            self._state = f"ended: {reason}"
            info["reason"] = reason
        observation = self._observation()
        self._seen(info)
        if self.render_mode == "human":
            self.world.show(self.camera)
        reward = 0.0 if self._reward is None else float(self._reward(observation, target, info))
        return observation, reward, bool(reason), False, info

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """Picture of the robot as an array (height, width, 3); None where the mode is not "rgb_array"."""
        self._refuse_without_robot()
        if self.render_mode != "rgb_array":
            return None
        return self.world.picture(self.camera)

    def close(self) -> None:
        """Free the simulator; may be called more than once."""
        self.world.close()
        self._state = "closed"

    # Snapshots.

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything that the future depends on, as plain arrays. The world is left as it is.

        The simulator's contact caches cannot be read, so a world that is restored from a snapshot differs
        slightly from the one it was taken of, and soon visibly, for the dynamics is chaotic.
        A run that does `restore(snapshot())` at some step goes on bit for bit as any other that restores
        the same snapshot, in the same or another process.

        Returns
        -------
        dict
            `base`: position, orientation (quaternion), velocity, spin; `joints`: position and speed of each;
            `offset`: how far the world was shifted; `noise` per sensor; `random`: state of the generator;
            `observation`: the last one; `contacts`: points that touch the ground, which a rebuilt world
            knows only after its first step.
        """
        self._refuse_unless_running()
        w = self.world
        return {
            "base": np.concatenate([w.position, w.orientation, w.velocity, w.spin]),
            "joints": w.joint_states(),
            "offset": np.array(w.offset),
            "noise": self._noise.value.copy(),
            "random": self._noise.words(),
            "observation": self._sensed.astype(np.float32),
            "contacts": np.array([self._touching()]),
        }

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Rebuild the world, put the robot into the snapshot's state and return its last observation."""
        self._refuse_if_closed()
        n, joints = len(self.sensor_names), len(self.body_description.joint_names)
        shapes = {
            "base": (13,), "joints": (joints, 2), "offset": (2,), "noise": (n,), "random": (WORDS,),
            "observation": (n,), "contacts": (1,),
        }  # fmt: skip
        check_snapshot(snapshot, shapes, type(self).__name__)
        self.world.build()
        self.world.place(
            np.asarray(snapshot["base"], dtype=float).tolist(), np.asarray(snapshot["joints"]).tolist()
        )
        self.world.offset = (float(snapshot["offset"][0]), float(snapshot["offset"][1]))
        self.np_random = unpack_generator(snapshot["random"])
        self._noise.start(self.np_random, snapshot["noise"])
        self._sensed = np.array(snapshot["observation"], dtype=float)
        self._contacts = float(snapshot["contacts"][0])
        self._state = "running"
        self.world.read()
        self._sense()
        return self._sensed.astype(np.float32)

    # Seen and touched from outside.

    def motion(self) -> dict[str, float]:
        """How the body stands and moves, seen from outside: place in the unshifted world, tilt, contacts.

        Returns
        -------
        dict
            `x`, `y`, `z` of the base [m]; `vx`, `vy`, `vz` [m/s]; `spin` about the base's own x-axis
            [rad/s]; `tilt` between the base's z-axis and the vertical [rad]; `contacts`, the number of
            points that touched the ground in the last physics step (none right after a reset); `cx`, `cy`,
            `cz`, the centre of mass [m].
        """
        self._refuse_without_robot()
        w = self.world
        x, y, z, r = w.orientation
        a, b, c = w.spin
        # About the base's x-axis.
        spin = a * (1 - 2 * (y * y + z * z)) + b * 2 * (x * y + z * r) + c * 2 * (x * z - y * r)
        (px, py, pz), (vx, vy, vz), (east, north) = w.position, w.velocity, w.offset
        cx, cy, cz = w.centre_of_mass().tolist()
        return {
            "x": px + east, "y": py + north, "z": pz,
            "vx": vx, "vy": vy, "vz": vz,
            "spin": spin, "tilt": w.tilt(), "contacts": self._touching(),
            "cx": cx + east, "cy": cy + north, "cz": cz,
        }  # fmt: skip

    @contextmanager
    def watched_by(self, observer: Callable[[Info], None]) -> Iterator[None]:
        """Within this context, call the observer just before each physics step, with the step's info so far.

        It may look at the world, which is as the physics step before left it; it must not change it.
        """
        before, self._observer = self._observer, observer
        try:
            yield
        finally:
            self._observer = before

    def push(self, impulse: ArrayLike, link: int = -1) -> None:
        """Push a link at its centre of mass [N s]: the next physics step takes it as a force.

        Parameters
        ----------
        impulse : (3,) array_like
            In world coordinates.
        link : int
            Index among the links in `masses()` less one: -1 is the base.
        """
        self._refuse_unless_running()
        values = np.asarray(impulse, dtype=float)
        if values.shape != (3,) or not np.isfinite(values).all():
            raise RobotError(f"impulse is {impulse!r}: it must be three finite numbers in N s")
        last = len(self.body_description.joint_names) - 1
        if link not in range(-1, last + 1):
            raise RobotError(f"link is {link!r}: it must be -1 (the base) to {last}")
        self.world.push(values, link)

    def masses(self) -> dict[str, float]:
        """Mass of each link [kg], as the simulator has it; the base comes first."""
        self._refuse_without_robot()
        return self.world.masses()

    def centre_of_mass(self) -> Floats:
        """Centre of mass of the whole robot in the unshifted world [m]."""
        self._refuse_without_robot()
        centre = self.world.centre_of_mass()
        centre[:2] += self.world.offset
        return centre

    # Sensors and health.

    def _sense(self) -> None:
        """Put the values of the further sensors beside what was read last."""
        self.world.further[:] = self._further()

    def _observation(self) -> NDArray[np.float32]:
        """Sensor values with fresh noise; within the observation space even if the simulation blew up."""
        sensed = self._values + self._noise.step() if self.config.noise else self._values.copy()
        if self._state != "running":
            sensed = np.clip(np.nan_to_num(sensed), -self._high, self._high)
        self._sensed = sensed
        return sensed.astype(np.float32)

    def _seen(self, info: Info) -> Info:
        """Add to an info how the base is seen from outside."""
        w = self.world
        (x, y, z), (east, north) = w.position, w.offset
        info["position"] = np.array((x + east, y + north, z))
        info["velocity"] = np.array(w.velocity)
        info["height"] = z
        info["tilt"] = w.tilt()
        info["contacts"] = self._touching()
        return info

    def _touching(self) -> float:
        """Number of points that touched the ground in the last physics step."""
        return self.world.contacts() if self._contacts is None else self._contacts

    def _blow_up(self) -> str:
        """Say what is wrong with the simulation, or nothing."""
        cfg = self.config
        height, (x, y, z) = self.world.position[2], self.world.velocity
        speed = max(abs(x), abs(y), abs(z))
        found = np.abs(self.world.readings)
        # Written so that NaN fails the comparisons.
        healthy = np.count_nonzero(found <= self._bounds) == found.size
        if healthy and speed <= cfg.max_speed and -1.0 <= height <= cfg.max_height:
            return ""
        joint_speed = np.abs(self.world.joint_speeds).max()
        if not joint_speed <= cfg.max_joint_speed:
            unit = "rad/s" if self.sensor_unit.startswith("angle") else "m/s"
            return f"a joint moves at {joint_speed:.3g} {unit}, more than {cfg.max_joint_speed:g}"
        if not speed <= cfg.max_speed:
            return f"the base moves at {speed:.3g} m/s, more than {cfg.max_speed:g}"
        if not -1.0 <= height <= cfg.max_height:
            return f"the base is at height {height:.3g} m, outside -1 to {cfg.max_height:g}"
        worst = int(np.argmax(np.nan_to_num(found / self._bounds, nan=np.inf)))
        sensor, value, bound = self.sensor_names[worst], self._values[worst], self._bounds[worst]
        return f"sensor {sensor!r} reads {value:.3g}, more than {bound:.3g}"

    # Calls out of turn.

    def _refuse_if_closed(self) -> None:
        if self._state == "closed":
            raise RuntimeError("the environment is closed: make a new one")

    def _refuse_without_robot(self) -> None:
        self._refuse_if_closed()
        if self._state == "new":
            raise RuntimeError("the robot is not in the world yet: call reset() or restore() first")

    def _refuse_unless_running(self) -> None:
        if self._state != "running":
            self._refuse_without_robot()
            raise RuntimeError(f"the episode has {self._state}; call reset() or restore() first")
