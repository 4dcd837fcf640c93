"""The one environment class behind every robot: time, servos, noise, long life, snapshots."""

from __future__ import annotations

import tempfile
import time
import weakref
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pybullet as p
from numpy.typing import ArrayLike, NDArray

from robots.body import Body, Floats, servo_force
from robots.camera import GROUND_PERIOD, Camera, draw_ground, has_display
from robots.config import RobotConfig
from robots.randomness import WORDS, ColouredNoise, unpack_generator

HORIZON = GROUND_PERIOD
"""Distance from the origin at which the robot is put back by whole periods of the ground's pattern [m]."""


class RobotEnv(gym.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A body on endless flat ground, without a task.

    One step is one control step of `config.control_step` seconds. Actions are set points of the position
    servos in units of the joint limits; they must lie in [-1, 1]: others are refused, not clipped, so
    that what was logged is what was done. Observations are the joint positions in units of the limits,
    motor by motor, then the robot's further sensors, all with seeded coloured noise.

    The reward is always 0. An episode has no time limit and is never truncated; it is terminated only
    if the simulation blows up, with a sentence in `info["reason"]`. Then call `reset`.

    Subclasses state a `Config`, a `body(config)`, and, where the body has further sensors, `_further()`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (declared so by Gymnasium)
        "render_modes": ["rgb_array", "human"] if has_display() else ["rgb_array"],
        "render_fps": 50,
    }
    Config: ClassVar[type[RobotConfig]] = RobotConfig
    view: ClassVar[Camera] = Camera()
    sensor_unit: ClassVar[str] = "angle/limit"

    def __init__(
        self,
        config: RobotConfig | None = None,
        render_mode: str | None = None,
        camera: Camera | None = None,
    ) -> None:
        if config is None:
            config = self.Config()
        if not isinstance(config, self.Config):
            raise TypeError(
                f"config is a {type(config).__name__}: {type(self).__name__} takes a {self.Config.__name__}"
            )
        if render_mode not in (None, "rgb_array", "human"):
            raise ValueError(f"render_mode is {render_mode!r}: choose None, 'rgb_array' or 'human'")
        if render_mode == "human" and not has_display():
            raise RuntimeError("render_mode 'human' needs a display, there is none: use 'rgb_array'")
        self.config = config
        self.render_mode = render_mode
        self.camera = self.view if camera is None else camera
        body = self.body(config)
        self.body_description = body
        self.motor_names = tuple(m.name for m in body.motors)
        self.sensor_names = (*self.motor_names, *(s.name for s in body.sensors))
        self.sensor_units = (*([self.sensor_unit] * len(body.motors)), *(s.unit for s in body.sensors))

        n, r = len(body.motors), config.noise_rate
        self._limit = np.array([m.limit for m in body.motors])
        self._power = np.array([m.power for m in body.motors])
        self._scale = np.concatenate((self._limit, np.ones(len(body.sensors))))
        self._noise = ColouredNoise(len(self.sensor_names), config.noise, r)
        # Twice the hard stop: a joint beyond that is torn, not just pressed into its stop.
        self._bound = np.array([2 * config.hard_stop] * n + [s.bound for s in body.sensors])
        high = (self._bound + config.noise / np.sqrt(r)).astype(np.float32)
        self._high = np.nextafter(high, np.float32(np.inf))  # rounding may have gone down
        self.observation_space = gym.spaces.Box(-self._high, self._high, dtype=np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (n,), dtype=np.float32)

        self._client = p.connect(p.GUI if render_mode == "human" else p.DIRECT)
        if self._client < 0:
            raise RuntimeError("the simulator has no room for another world: close() some environments")
        self._disconnect = weakref.finalize(self, p.disconnect, self._client)
        self._state = "new"  # then "running", "ended: why" or "closed"
        self._contacts: float | None = None  # as remembered by a snapshot, until the next step

    # What a robot states about itself.

    @classmethod
    @abstractmethod
    def body(cls, config: Any) -> Body:
        """Describe the body that the config asks for."""

    def _further(self) -> list[float]:
        """Read the sensors beyond the joints, in the order of `Body.sensors`, without noise."""
        return []

    def _assist(self, info: dict[str, Any]) -> None:
        """Act on the body from outside before each physics step, and say so in `info`."""

    # Gymnasium's verbs.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Put the robot into its starting pose; a seed makes everything that follows reproducible."""
        self._refuse_if_closed()
        super().reset(seed=seed)
        self._build()
        self._state = "running"
        self._noise.start(self.np_random)
        self._offset = np.zeros(2)
        self._contacts = None
        self._read()
        return self._observe(), {}

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Hold the set points for one control step and sense what became of the body."""
        if self._state != "running":
            self._explain_state()
        # Through float32, so that a float32 log of the actions is exactly what was done.
        target = np.asarray(action, dtype=np.float32)
        if target.shape != self._limit.shape:
            raise ValueError(f"action has shape {target.shape}: it must be {self._limit.shape}")
        if not np.abs(target).max() <= 1:  # NaN fails this too
            worst = target[np.argmax(np.nan_to_num(np.abs(target), nan=np.inf))]
            raise ValueError(f"action contains {worst}: all values must lie in [-1, 1]; clip them beforehand")

        info = self._advance(target)
        self._contacts = None
        self._recentre()
        reason = self._blow_up()
        if reason:
            self._state = f"ended: {reason}"
            info["reason"] = reason
        observation = self._observe()
        if self.render_mode == "human":
            self.camera.follow(self._client, self._centre().tolist())
            time.sleep(self.config.control_step)
        return observation, 0.0, bool(reason), False, info

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """Picture of the robot as an array (height, width, 3); None where the mode is not "rgb_array"."""
        if self._state in ("new", "closed"):
            self._explain_state()
        if self.render_mode != "rgb_array":
            return None
        return self.camera.picture(self._client, self._centre().tolist())

    def close(self) -> None:
        """Free the simulator; may be called more than once."""
        self._disconnect()
        self._state = "closed"

    # Snapshots.

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything that the future depends on, as plain arrays. The world is left as it is.

        The simulator's contact caches cannot be read, so a world that is restored from a snapshot differs
        slightly from the one it was taken of, and soon visibly, for the dynamics is chaotic.
        A run that does `restore(snapshot())` at some step goes on bit by bit as any other that restores
        the same snapshot, in the same or another process.

        Returns
        -------
        dict
            `base`: position, orientation (quaternion), velocity, spin; `joints`: position and speed of each;
            `offset`: how far the world was shifted; `noise` per sensor; `random`: state of the generator;
            `observation`: the last one; `contacts`: points that touch the ground, which a rebuilt world
            knows only after its first step.
        """
        if self._state != "running":
            self._explain_state()
        states = p.getJointStates(self._robot, self._all_joints, physicsClientId=self._client)
        return {
            "base": np.concatenate([self._position, self._orientation, self._velocity, self._spin]),
            "joints": np.array([s[:2] for s in states], dtype=float).reshape(-1, 2),
            "offset": self._offset.copy(),
            "noise": self._noise.value.copy(),
            "random": self._noise.words(),
            "observation": self._sensed.astype(np.float32),
            "contacts": np.array([self._touching()]),
        }

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Rebuild the world, put the robot into the snapshot's state and return its last observation."""
        self._refuse_if_closed()
        shapes = {
            "base": (13,), "noise": (len(self.sensor_names),), "offset": (2,), "random": (WORDS,),
            "observation": (len(self.sensor_names),), "contacts": (1,),
        }  # fmt: skip
        for key, shape in shapes.items():
            if key not in snapshot or np.shape(snapshot[key]) != shape:
                found = np.shape(snapshot[key]) if key in snapshot else "missing"
                raise ValueError(f"snapshot[{key!r}] is {found}: {type(self).__name__} needs shape {shape}")
        self._build()
        joints = np.asarray(snapshot["joints"])
        if joints.shape != (len(self._all_joints), 2):
            raise ValueError(f"snapshot['joints'] has shape {joints.shape}: not of this body")
        base = np.asarray(snapshot["base"], dtype=float).tolist()
        p.resetBasePositionAndOrientation(self._robot, base[:3], base[3:7], physicsClientId=self._client)
        p.resetBaseVelocity(self._robot, base[7:10], base[10:], physicsClientId=self._client)
        for joint, (position, speed) in zip(self._all_joints, joints.tolist(), strict=True):
            p.resetJointState(self._robot, joint, position, speed, physicsClientId=self._client)
        self._offset = np.array(snapshot["offset"], dtype=float)
        self.np_random = unpack_generator(snapshot["random"])
        self._noise.start(self.np_random, snapshot["noise"])
        self._sensed = np.array(snapshot["observation"], dtype=float)
        self._contacts = float(snapshot["contacts"][0])
        self._state = "running"
        self._read()
        return self._sensed.astype(np.float32)

    def measure(self) -> dict[str, float]:
        """What an onlooker sees, on demand: position in the unshifted world, motion, tilt, contacts.

        Returns
        -------
        dict
            `x`, `y`, `z` of the base [m]; `vx`, `vy`, `vz` [m/s]; `spin` about the base's own x-axis
            [rad/s]; `tilt` between the base's z-axis and the vertical [rad]; `contacts`, the number of
            points that touched the ground in the last physics step (none right after a reset); `cx`, `cy`,
            `cz`, the centre of mass [m].
        """
        if self._state in ("new", "closed"):
            self._explain_state()
        rotation = np.reshape(p.getMatrixFromQuaternion(self._orientation), (3, 3))
        names = ("x", "y", "z", "vx", "vy", "vz")
        values = (
            self._position[0] + self._offset[0], self._position[1] + self._offset[1], self._position[2],
            *self._velocity,
        )  # fmt: skip
        return dict(zip(names, map(float, values), strict=True)) | {
            "spin": float(rotation[:, 0] @ self._spin),
            "tilt": float(np.arccos(np.clip(rotation[2, 2], -1, 1))),
            "contacts": self._touching(),
            **dict(zip(("cx", "cy", "cz"), self.centre_of_mass().tolist(), strict=True)),
        }

    def push(self, impulse: ArrayLike, link: int = -1) -> None:
        """Push a link at its centre of mass [N s]: the next physics step takes it as a force.

        Parameters
        ----------
        impulse : (3,) array_like
            In world coordinates.
        link : int
            Index among the links in `masses()` less one: -1 is the base.
        """
        if self._state != "running":
            self._explain_state()
        values = np.asarray(impulse, dtype=float)
        if values.shape != (3,) or not np.isfinite(values).all():
            raise ValueError(f"impulse is {impulse!r}: it must be three finite numbers in N s")
        if link != -1 and link not in self._all_joints:
            raise ValueError(f"link is {link!r}: it must be -1 (the base) to {len(self._all_joints) - 1}")
        force = (values * self.config.substeps / self.config.control_step).tolist()
        robot, client, at = self._robot, self._client, self._position
        if link >= 0:
            at = p.getLinkState(robot, link, computeForwardKinematics=1, physicsClientId=client)[0]
        p.applyExternalForce(robot, link, force, at, p.WORLD_FRAME, physicsClientId=client)

    def _touching(self) -> float:
        """Number of points that touched the ground in the last physics step."""
        if self._contacts is not None:
            return self._contacts
        contacts = p.getContactPoints(self._robot, self._ground, physicsClientId=self._client)
        return float(sum(contact[8] <= 0 for contact in contacts))

    def masses(self) -> dict[str, float]:
        """Mass of each link [kg], as the simulator has it."""
        if self._state in ("new", "closed"):
            self._explain_state()
        client, robot = self._client, self._robot
        names = {-1: p.getBodyInfo(robot, physicsClientId=client)[0].decode()}
        names |= {i: p.getJointInfo(robot, i, physicsClientId=client)[12].decode() for i in self._all_joints}
        return {name: p.getDynamicsInfo(robot, i, physicsClientId=client)[0] for i, name in names.items()}

    def centre_of_mass(self) -> Floats:
        """Centre of mass of the whole robot in the unshifted world [m]."""
        centre = self._centre()
        centre[:2] += self._offset
        return centre

    # The world.

    def _build(self) -> None:
        """Empty the world and load ground and robot anew, so that nothing hidden survives."""
        cfg, body, client = self.config, self.body_description, self._client
        p.resetSimulation(physicsClientId=client)
        p.setGravity(0, 0, -cfg.gravity, physicsClientId=client)
        p.setPhysicsEngineParameter(
            fixedTimeStep=cfg.control_step / cfg.substeps,
            numSolverIterations=cfg.solver_iterations,
            deterministicOverlappingPairs=1,
            physicsClientId=client,
        )
        plane = p.createCollisionShape(p.GEOM_PLANE, physicsClientId=client)
        self._ground = p.createMultiBody(0, plane, physicsClientId=client)
        self._ground_at = np.zeros(2)
        unseen = self.render_mode is None
        if not unseen:
            draw_ground(self._ground, client)
        p.changeDynamics(
            self._ground, -1, lateralFriction=cfg.friction, rollingFriction=cfg.rolling_friction,
            contactStiffness=cfg.contact_stiffness, contactDamping=cfg.contact_damping,
            physicsClientId=client,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "robot.urdf")
            path.write_text(body.urdf)
            self._robot = p.loadURDF(
                str(path), [0, 0, body.start_height], physicsClientId=client,
                flags=p.URDF_USE_INERTIA_FROM_FILE | (p.URDF_IGNORE_VISUAL_SHAPES if unseen else 0),
            )  # fmt: skip
        joints = range(p.getNumJoints(self._robot, physicsClientId=client))
        self._all_joints = list(joints)
        for index in (-1, *joints):
            # Friction is the product of both surfaces' values: the ground's alone counts.
            p.changeDynamics(
                self._robot, index, lateralFriction=1.0, rollingFriction=0.0,
                linearDamping=0.0, angularDamping=0.0, jointDamping=0.0, physicsClientId=client,
            )  # fmt: skip
        named = {p.getJointInfo(self._robot, i, physicsClientId=client)[1].decode(): i for i in joints}
        self._joints = [named[m.name] for m in body.motors]
        # Bullet's joints come with a velocity motor that brakes them.
        p.setJointMotorControlArray(
            self._robot, self._all_joints, p.VELOCITY_CONTROL, forces=[0.0] * len(self._all_joints),
            physicsClientId=client,
        )  # fmt: skip
        masses = [p.getDynamicsInfo(self._robot, i, physicsClientId=client)[0] for i in (-1, *joints)]
        self._weights = np.array(masses) / sum(masses)
        self._ones = [1.0] * len(self._joints)
        self._gains = [cfg.servo_speed / 2 * cfg.control_step / cfg.substeps] * len(self._joints)

    def _advance(self, target: NDArray[np.float32]) -> dict[str, Any]:
        """Let the servos pull towards the targets, in units of the limits, for one control step."""
        info: dict[str, Any] = {}
        client, every = self._client, self.config.servo_every_substep
        set_points = (target * self._limit).tolist()
        for substep in range(self.config.substeps):
            if substep == 0 or every:
                if substep:
                    self._read()
                deviation = target - self._values[: len(target)]
                p.setJointMotorControlArray(
                    self._robot, self._joints, p.POSITION_CONTROL, targetPositions=set_points,
                    positionGains=self._gains, velocityGains=self._ones, physicsClientId=client,
                    forces=servo_force(deviation, self._power, self.config.servo_damping).tolist(),
                )  # fmt: skip
            self._assist(info)
            p.stepSimulation(physicsClientId=client)
        self._read()
        return info

    def _read(self) -> None:
        """Fetch the body's state from the simulator."""
        robot, client = self._robot, self._client
        angles, speeds, *_ = zip(*p.getJointStates(robot, self._joints, physicsClientId=client), strict=True)
        self._joint_speed = max(max(speeds), -min(speeds))
        self._position, self._orientation = p.getBasePositionAndOrientation(robot, physicsClientId=client)
        self._velocity, self._spin = p.getBaseVelocity(robot, physicsClientId=client)
        self._values = np.array((*angles, *self._further())) / self._scale

    def _observe(self) -> NDArray[np.float32]:
        """Sensor values with fresh noise; within the observation space even if the simulation blew up."""
        sensed = self._values + self._noise.step() if self.config.noise else self._values
        if self._state != "running":
            sensed = np.clip(np.nan_to_num(sensed), -self._high, self._high)
        self._sensed = sensed
        return sensed.astype(np.float32)

    def _centre(self) -> Floats:
        """Centre of mass in the shifted world."""
        links = p.getLinkStates(
            self._robot, self._all_joints, computeForwardKinematics=1, physicsClientId=self._client
        )
        centre: Floats = self._weights @ np.array([self._position, *(s[0] for s in links)])
        return centre

    def _recentre(self) -> None:
        """Shift robot and ground together, by whole periods of the pattern, when the robot is far out.

        Together, because the simulator remembers contacts by their places on both: to a body that rolls
        slowly it matters whether they are found anew.
        """
        x, y, z = self._position
        if max(abs(x), abs(y)) < HORIZON:
            return
        shift = GROUND_PERIOD * np.round(np.array([x, y]) / GROUND_PERIOD)
        if not np.isfinite(shift).all():
            return
        self._offset += shift
        self._ground_at -= shift
        self._position = (x - shift[0], y - shift[1], z)
        client = self._client
        p.resetBasePositionAndOrientation(
            self._ground, [*self._ground_at, 0.0], [0, 0, 0, 1], physicsClientId=client
        )
        p.resetBasePositionAndOrientation(
            self._robot, self._position, self._orientation, physicsClientId=client
        )
        # Setting a position stops the base.
        p.resetBaseVelocity(self._robot, self._velocity, self._spin, physicsClientId=client)

    def _blow_up(self) -> str:
        """Say what is wrong with the simulation, or nothing."""
        cfg = self.config
        speed, height = max(map(abs, self._velocity)), self._position[2]
        # Written so that NaN fails the comparison; a NaN joint speed shows as a NaN angle.
        if not self._joint_speed <= cfg.max_joint_speed:
            unit = "rad/s" if self.sensor_unit.startswith("angle") else "m/s"
            return f"a joint moves at {self._joint_speed:.3g} {unit}, more than {cfg.max_joint_speed:g}"
        if not speed <= cfg.max_speed:
            return f"the base moves at {speed:.3g} m/s, more than {cfg.max_speed:g}"
        if not -1.0 <= height <= cfg.max_height:
            return f"the base is at height {height:.3g} m, outside -1 to {cfg.max_height:g}"
        if not (np.abs(self._values) / self._bound).max() <= 1:
            worst = int(np.argmax(np.nan_to_num(np.abs(self._values) / self._bound, nan=np.inf)))
            return (
                f"sensor {self.sensor_names[worst]!r} reads {self._values[worst]:.3g}, "
                f"more than {self._bound[worst]:.3g}"
            )
        return ""

    def _refuse_if_closed(self) -> None:
        if self._state == "closed":
            raise RuntimeError("the environment is closed: make a new one")

    def _explain_state(self) -> None:
        self._refuse_if_closed()
        if self._state == "new":
            raise RuntimeError("the robot is not in the world yet: call reset() or restore() first")
        raise RuntimeError(f"the episode has {self._state}; call reset() or restore() first")
