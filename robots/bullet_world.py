"""A world in Bullet: one body on endless flat ground that is built, stepped, read and shifted."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robots.body import Body, Floats, servo_force
from robots.camera import GROUND_PERIOD, GROUND_SIZE, Camera, ground_pattern
from robots.config import RobotConfig
from robots.errors import RobotError
from robots.quiet import pybullet as p
from robots.urdf import on_balls
from robots.world import Links, Touches, Watcher, World


class BulletWorld(World):
    """One body on endless flat ground in Bullet; see `World`.

    Attributes
    ----------
    client, robot, ground : int
        Bullet's handles.
    joints, motor_joints : list of int
        Indices of all joints, and of those that the motors move, motor by motor. The link behind a joint has
        the same index, the base -1.
    """

    engine = "pybullet"
    robot: int
    ground: int
    joints: list[int]
    motor_joints: list[int]

    def __init__(self, body: Body, config: RobotConfig, render_mode: str | None = None) -> None:
        super().__init__(body, config, render_mode)
        n = len(body.motors)
        self._ones = [1.0] * n
        self._draws_itself = False
        self._gains = [config.servo_speed / 2 * self.step] * n
        self.client = p.connect(p.GUI if render_mode == "human" else p.DIRECT)
        if self.client < 0:
            raise RuntimeError("the simulator has no room for another world: close() some environments")
        self._opened.append(partial(p.disconnect, self.client))
        if render_mode == "human":
            # The robot alone, without the panels around it.
            p.configureDebugVisualizer(p.COV_ENABLE_GUI, 0, physicsClientId=self.client)

    def build(self) -> None:
        cfg, body, client = self.config, self.body, self.client
        drawn = self.render_mode is not None
        p.resetSimulation(physicsClientId=client)
        p.setGravity(0, 0, -cfg.gravity, physicsClientId=client)
        p.setPhysicsEngineParameter(
            fixedTimeStep=self.step,
            numSolverIterations=cfg.solver_iterations,
            deterministicOverlappingPairs=1,
            physicsClientId=client,
        )
        plane = p.createCollisionShape(p.GEOM_PLANE, physicsClientId=client)
        self.ground = p.createMultiBody(0, plane, physicsClientId=client)
        self._ground_at = np.zeros(2)
        self.offset = (0.0, 0.0)
        if drawn:
            _draw_ground(self.ground, client)
        p.changeDynamics(
            self.ground, -1, lateralFriction=cfg.friction, rollingFriction=cfg.rolling_friction,
            contactStiffness=cfg.contact_stiffness, contactDamping=cfg.contact_damping,
            physicsClientId=client,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "robot.urdf")
            path.write_text(on_balls(body.urdf) if body.rolls else body.urdf)
            self.robot = p.loadURDF(
                str(path), [0, 0, body.start_height], physicsClientId=client,
                flags=p.URDF_USE_INERTIA_FROM_FILE | (0 if drawn else p.URDF_IGNORE_VISUAL_SHAPES),
            )  # fmt: skip
        self.joints = list(range(p.getNumJoints(self.robot, physicsClientId=client)))
        for index in (-1, *self.joints):
            # Friction is the product of both surfaces' values: the ground's alone counts.
            p.changeDynamics(
                self.robot, index, lateralFriction=1.0, rollingFriction=0.0,
                linearDamping=0.0, angularDamping=0.0, jointDamping=0.0, physicsClientId=client,
            )  # fmt: skip
            if body.friction_along != 1:
                along = [body.friction_along, 1, 1]
                p.changeDynamics(self.robot, index, anisotropicFriction=along, physicsClientId=client)
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
        robot, client = self.robot, self.client
        p.resetBasePositionAndOrientation(robot, base[:3], base[3:7], physicsClientId=client)
        p.resetBaseVelocity(robot, base[7:10], base[10:], physicsClientId=client)
        for joint, (position, speed) in zip(self.joints, joints, strict=True):
            p.resetJointState(robot, joint, position, speed, physicsClientId=client)

    def read(self) -> None:
        robot, client = self.robot, self.client
        positions, speeds, *_ = zip(
            *p.getJointStates(robot, self.motor_joints, physicsClientId=client), strict=True
        )
        np.divide(positions, self._limit, self.joint_positions)
        self.joint_speeds[:] = speeds
        self.position, self.orientation = p.getBasePositionAndOrientation(robot, physicsClientId=client)
        self.velocity, self.spin = p.getBaseVelocity(robot, physicsClientId=client)

    def advance(self, target: Floats, torque: Sequence[float] | None, watcher: Watcher | None) -> None:
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
            if torque is not None:
                p.applyExternalTorque(self.robot, -1, torque, p.WORLD_FRAME, physicsClientId=client)
            if watcher is not None:
                watcher()
            p.stepSimulation(physicsClientId=client)
        self.read()

    def push(self, impulse: Floats, link: int) -> None:
        force = (impulse * self.config.substeps / self.config.control_step).tolist()
        robot, client, at = self.robot, self.client, self.position
        if link >= 0:
            at = p.getLinkState(robot, link, computeForwardKinematics=1, physicsClientId=client)[0]
        p.applyExternalForce(robot, link, force, at, p.WORLD_FRAME, physicsClientId=client)

    def _shift(self, x: float, y: float) -> None:
        # With the ground, because Bullet remembers contacts by their places on both: to a body that rolls
        # slowly it matters whether they are found anew.
        self._ground_at -= (x, y)
        self.position = (self.position[0] - x, self.position[1] - y, self.position[2])
        client = self.client
        p.resetBasePositionAndOrientation(
            self.ground, [*self._ground_at, 0.0], [0, 0, 0, 1], physicsClientId=client
        )
        p.resetBasePositionAndOrientation(self.robot, self.position, self.orientation, physicsClientId=client)
        # Setting a position stops the base.
        p.resetBaseVelocity(self.robot, self.velocity, self.spin, physicsClientId=client)

    def links(self) -> Links:
        states = p.getLinkStates(
            self.robot, self.joints, computeLinkVelocity=1, computeForwardKinematics=1,
            physicsClientId=self.client,
        )  # fmt: skip
        turns = [self.orientation, *(s[1] for s in states)]
        return Links(
            np.array([self.position, *(s[0] for s in states)]),
            np.array([p.getMatrixFromQuaternion(turn) for turn in turns]).reshape(-1, 3, 3),
            np.array([self.velocity, *(s[6] for s in states)]),
            np.array([self.spin, *(s[7] for s in states)]),
        )

    def centre_of_mass(self) -> Floats:
        links = p.getLinkStates(
            self.robot, self.joints, computeForwardKinematics=1, physicsClientId=self.client
        )
        centre: Floats = self._weights @ np.array([self.position, *(s[0] for s in links)])
        return centre

    def joint_states(self) -> Floats:
        states = p.getJointStates(self.robot, self.joints, physicsClientId=self.client)
        return np.array([s[:2] for s in states], dtype=float).reshape(-1, 2)

    def motors(self) -> tuple[Floats, Floats]:
        states = p.getJointStates(self.robot, self.motor_joints, physicsClientId=self.client)
        return np.array([state[1] for state in states]), np.array([state[3] for state in states])

    def contacts(self) -> float:
        contacts = p.getContactPoints(self.robot, self.ground, physicsClientId=self.client)
        return float(sum(contact[8] <= 0 for contact in contacts))

    def pressed(self) -> bool:
        contacts = p.getContactPoints(self.robot, self.ground, physicsClientId=self.client)
        return any(contact[9] > 0 for contact in contacts)

    def touches(self) -> Touches:
        found = p.getContactPoints(self.robot, self.ground, physicsClientId=self.client)
        loaded = [one for one in found if one[9]]
        # Link, place on the body, normal away from the ground, then force and direction of each friction.
        forces = [
            one[9] * np.array(one[7]) + one[10] * np.array(one[11]) + one[12] * np.array(one[13])
            for one in loaded
        ]
        links = np.array([one[3] + 1 for one in loaded], int)
        return Touches(links, np.reshape([one[5] for one in loaded], (-1, 3)), np.reshape(forces, (-1, 3)))

    def masses(self) -> dict[str, float]:
        client, robot = self.client, self.robot
        names = {-1: p.getBodyInfo(robot, physicsClientId=client)[0].decode()}
        names |= {i: p.getJointInfo(robot, i, physicsClientId=client)[12].decode() for i in self.joints}
        return {name: p.getDynamicsInfo(robot, i, physicsClientId=client)[0] for i, name in names.items()}

    def inertia(self) -> Floats:
        found = [p.getDynamicsInfo(self.robot, i, physicsClientId=self.client) for i in (-1, *self.joints)]
        return np.array([np.diag(info[2]) for info in found])

    def picture(self, camera: Camera) -> NDArray[np.uint8]:
        if not self._draws_itself:
            try:
                return super().picture(camera)
            except RobotError:  # nothing to draw with
                self._draws_itself = True
        return self._own_picture(camera)

    def _own_picture(self, camera: Camera) -> NDArray[np.uint8]:
        """With Bullet's software renderer, which is slow and needs nothing."""
        c, client = camera, self.client
        centre = [*self.centre_of_mass()[:2].tolist(), c.look_at]
        view = p.computeViewMatrixFromYawPitchRoll(centre, c.distance, c.yaw, c.pitch, 0, 2)
        projection = p.computeProjectionMatrixFOV(45, c.width / c.height, 0.01, 80)
        # Near plane and distance of the light are such that the ground casts no shadow on itself.
        _, _, rgba, _, _ = p.getCameraImage(
            c.width, c.height, view, projection, shadow=1, lightDirection=[1, -1, 3], lightDistance=20,
            lightAmbientCoeff=0.3, lightDiffuseCoeff=0.7, lightSpecularCoeff=0.1,
            flags=p.ER_NO_SEGMENTATION_MASK, renderer=p.ER_TINY_RENDERER, physicsClientId=client,
        )  # fmt: skip
        return np.reshape(rgba, (c.height, c.width, 4))[..., :3].astype(np.uint8)

    def _draw(self, camera: Camera) -> None:
        centre = [*self.centre_of_mass()[:2].tolist(), camera.look_at]
        p.resetDebugVisualizerCamera(
            camera.distance, camera.yaw, camera.pitch, centre, physicsClientId=self.client
        )


def _draw_ground(ground: int, client: int) -> None:
    """Hide the ground that carries and draw one with half-metre checks and a line every period.

    The drawn one stays where it is when the world is shifted: it looks the same after every period.
    """
    p.changeVisualShape(ground, -1, rgbaColor=[0, 0, 0, 0], physicsClientId=client)
    pattern = ground_pattern()
    pixels = len(pattern)
    # An uncompressed TGA picture: 18 bytes of header, then blue, green, red from the top left.
    header = bytes([0, 0, 2, *[0] * 9, pixels, 0, pixels, 0, 24, 0x20])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ground.tga")
        path.write_bytes(header + pattern[..., ::-1].tobytes())
        texture = p.loadTexture(str(path), physicsClientId=client)
    corners = [(GROUND_SIZE * x, GROUND_SIZE * y, 0.0) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    shape = p.createVisualShape(
        p.GEOM_MESH,
        vertices=corners,
        indices=[0, 1, 2, 0, 2, 3],
        uvs=[(x / GROUND_PERIOD, y / GROUND_PERIOD) for x, y, _ in corners],
        normals=[(0, 0, 1)] * 4,
        physicsClientId=client,
    )
    drawn = p.createMultiBody(0, baseVisualShapeIndex=shape, physicsClientId=client)
    p.changeVisualShape(drawn, -1, textureUniqueId=texture, physicsClientId=client)
