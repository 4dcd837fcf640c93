"""The simulated world: one body on endless flat ground that is built, stepped, read and shifted."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet as p
from numpy.typing import NDArray

from robots.body import Body, Floats, servo_force
from robots.camera import GROUND_PERIOD, draw_ground
from robots.config import RobotConfig

HORIZON = GROUND_PERIOD
"""Distance from the origin at which the robot is put back by whole periods of the ground's pattern [m]."""


class World:
    """One body on endless flat ground, as the simulator has it.

    Call `build` before anything else, and `read` after whatever moves the body.

    Parameters
    ----------
    body : Body
    config : RobotConfig
    render_mode : {None, "rgb_array", "human"}
        Without one nothing is drawn; "human" opens a window.

    Attributes
    ----------
    client, robot, ground : int
        The simulator's handles.
    joints, motor_joints : list of int
        Indices of all joints, and of those that the motors move, motor by motor. The link behind a joint has
        the same index, the base -1.
    position, orientation, velocity, spin : tuple of float
        Of the base as last read: [m], quaternion, [m/s], [rad/s]; in the shifted world.
    joint_positions : (motors,) array
        As last read, in units of the limits.
    joint_speed : float
        The greatest as last read [rad/s or m/s].
    offset : (2,) array
        How far the world has been shifted: add it to a position in the world [m].
    close : callable
        Frees the simulator; also called when the world is forgotten.
    """

    robot: int
    ground: int
    joints: list[int]
    motor_joints: list[int]

    def __init__(self, body: Body, config: RobotConfig, render_mode: str | None = None) -> None:
        self.body, self.config, self._drawn = body, config, render_mode is not None
        self._limit = np.array([m.limit for m in body.motors])
        self._power = np.array([m.power for m in body.motors])
        n = len(body.motors)
        self._ones = [1.0] * n
        self._gains = [config.servo_speed / 2 * config.control_step / config.substeps] * n
        self.client = p.connect(p.GUI if render_mode == "human" else p.DIRECT)
        if self.client < 0:
            raise RuntimeError("the simulator has no room for another world: close() some environments")
        self.close = weakref.finalize(self, p.disconnect, self.client)

    def build(self) -> None:
        """Empty the world and load ground and robot anew, so that nothing hidden survives."""
        cfg, body, client = self.config, self.body, self.client
        p.resetSimulation(physicsClientId=client)
        p.setGravity(0, 0, -cfg.gravity, physicsClientId=client)
        p.setPhysicsEngineParameter(
            fixedTimeStep=cfg.control_step / cfg.substeps,
            numSolverIterations=cfg.solver_iterations,
            deterministicOverlappingPairs=1,
            physicsClientId=client,
        )
        plane = p.createCollisionShape(p.GEOM_PLANE, physicsClientId=client)
        self.ground = p.createMultiBody(0, plane, physicsClientId=client)
        self._ground_at = np.zeros(2)
        self.offset = np.zeros(2)
        if self._drawn:
            draw_ground(self.ground, client)
        p.changeDynamics(
            self.ground, -1, lateralFriction=cfg.friction, rollingFriction=cfg.rolling_friction,
            contactStiffness=cfg.contact_stiffness, contactDamping=cfg.contact_damping,
            physicsClientId=client,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "robot.urdf")
            path.write_text(body.urdf)
            self.robot = p.loadURDF(
                str(path), [0, 0, body.start_height], physicsClientId=client,
                flags=p.URDF_USE_INERTIA_FROM_FILE | (0 if self._drawn else p.URDF_IGNORE_VISUAL_SHAPES),
            )  # fmt: skip
        self.joints = list(range(p.getNumJoints(self.robot, physicsClientId=client)))
        for index in (-1, *self.joints):
            # Friction is the product of both surfaces' values: the ground's alone counts.
            p.changeDynamics(
                self.robot, index, lateralFriction=1.0, rollingFriction=0.0,
                linearDamping=0.0, angularDamping=0.0, jointDamping=0.0, physicsClientId=client,
            )  # fmt: skip
        named = {p.getJointInfo(self.robot, i, physicsClientId=client)[1].decode(): i for i in self.joints}
        self.motor_joints = [named[m.name] for m in body.motors]
        # Bullet's joints come with a velocity motor that brakes them.
        p.setJointMotorControlArray(
            self.robot, self.joints, p.VELOCITY_CONTROL, forces=[0.0] * len(self.joints),
            physicsClientId=client,
        )  # fmt: skip
        masses = list(self.masses().values())
        self._weights = np.array(masses) / sum(masses)

    def place(self, base: list[float], joints: list[list[float]]) -> None:
        """Put the base at position, orientation, velocity, spin, and each joint at position and speed."""
        robot, client = self.robot, self.client
        p.resetBasePositionAndOrientation(robot, base[:3], base[3:7], physicsClientId=client)
        p.resetBaseVelocity(robot, base[7:10], base[10:], physicsClientId=client)
        for joint, (position, speed) in zip(self.joints, joints, strict=True):
            p.resetJointState(robot, joint, position, speed, physicsClientId=client)

    def read(self) -> None:
        """Fetch the state of the base and of the motors' joints from the simulator."""
        robot, client = self.robot, self.client
        positions, speeds, *_ = zip(
            *p.getJointStates(robot, self.motor_joints, physicsClientId=client), strict=True
        )
        self.joint_positions: Floats = np.array(positions) / self._limit
        self.joint_speed = max(max(speeds), -min(speeds))
        self.position, self.orientation = p.getBasePositionAndOrientation(robot, physicsClientId=client)
        self.velocity, self.spin = p.getBaseVelocity(robot, physicsClientId=client)

    def advance(self, target: NDArray[np.float32], before_each: Callable[[], None]) -> None:
        """Let the servos pull towards the targets, in units of the limits, for one control step.

        `before_each` is called just before each physics step, when the servos are set.
        """
        client, every = self.client, self.config.servo_every_substep
        set_points = (target * self._limit).tolist()
        for substep in range(self.config.substeps):
            if substep == 0 or every:
                if substep:
                    self.read()
                deviation = target - self.joint_positions
                p.setJointMotorControlArray(
                    self.robot, self.motor_joints, p.POSITION_CONTROL, targetPositions=set_points,
                    positionGains=self._gains, velocityGains=self._ones, physicsClientId=client,
                    forces=servo_force(deviation, self._power, self.config.servo_damping).tolist(),
                )  # fmt: skip
            before_each()
            p.stepSimulation(physicsClientId=client)
        self.read()

    def push(self, impulse: Floats, link: int) -> None:
        """Push a link at its centre of mass [N s]: the next physics step takes it as a force."""
        force = (impulse * self.config.substeps / self.config.control_step).tolist()
        robot, client, at = self.robot, self.client, self.position
        if link >= 0:
            at = p.getLinkState(robot, link, computeForwardKinematics=1, physicsClientId=client)[0]
        p.applyExternalForce(robot, link, force, at, p.WORLD_FRAME, physicsClientId=client)

    def recentre(self) -> None:
        """Shift robot and ground together, by whole periods of the pattern, when the robot is far out.

        Together, because the simulator remembers contacts by their places on both: to a body that rolls
        slowly it matters whether they are found anew.
        """
        x, y, z = self.position
        if max(abs(x), abs(y)) < HORIZON:
            return
        shift = GROUND_PERIOD * np.round(np.array([x, y]) / GROUND_PERIOD)
        if not np.isfinite(shift).all():
            return
        self.offset += shift
        self._ground_at -= shift
        self.position = (x - shift[0], y - shift[1], z)
        client = self.client
        p.resetBasePositionAndOrientation(
            self.ground, [*self._ground_at, 0.0], [0, 0, 0, 1], physicsClientId=client
        )
        p.resetBasePositionAndOrientation(self.robot, self.position, self.orientation, physicsClientId=client)
        # Setting a position stops the base.
        p.resetBaseVelocity(self.robot, self.velocity, self.spin, physicsClientId=client)

    def centre_of_mass(self) -> Floats:
        """Centre of mass of the robot in the shifted world [m]."""
        links = p.getLinkStates(
            self.robot, self.joints, computeForwardKinematics=1, physicsClientId=self.client
        )
        centre: Floats = self._weights @ np.array([self.position, *(s[0] for s in links)])
        return centre

    def joint_states(self) -> Floats:
        """Position and speed of every joint, (joints, 2) [rad and rad/s, or m and m/s]."""
        states = p.getJointStates(self.robot, self.joints, physicsClientId=self.client)
        return np.array([s[:2] for s in states], dtype=float).reshape(-1, 2)

    def contacts(self) -> float:
        """Number of points that touched the ground in the last physics step."""
        contacts = p.getContactPoints(self.robot, self.ground, physicsClientId=self.client)
        return float(sum(contact[8] <= 0 for contact in contacts))

    def masses(self) -> dict[str, float]:
        """Mass of each link [kg], as the simulator has it; the base comes first."""
        client, robot = self.client, self.robot
        names = {-1: p.getBodyInfo(robot, physicsClientId=client)[0].decode()}
        names |= {i: p.getJointInfo(robot, i, physicsClientId=client)[12].decode() for i in self.joints}
        return {name: p.getDynamicsInfo(robot, i, physicsClientId=client)[0] for i, name in names.items()}
