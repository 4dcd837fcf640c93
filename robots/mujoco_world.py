"""A world in MuJoCo: the same body, ground and servos as in Bullet, by MuJoCo's own means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robots.body import Body, Floats, servo_force
from robots.camera import Camera
from robots.config import RobotConfig
from robots.mujoco_model import LIMP, compile_body, mj
from robots.painter import Window
from robots.world import Links, Touches, Watcher, World

mj_step1, mj_step2 = mj.mj_step1, mj.mj_step2
mj_kinematics, mj_comPos = mj.mj_kinematics, mj.mj_comPos


class MujocoWorld(World):
    """One body on endless flat ground in MuJoCo; see `World`.

    Attributes
    ----------
    model, data : MjModel, MjData
        MuJoCo's own. Body 1 is the base.
    """

    engine = "mujoco"

    def __init__(self, body: Body, config: RobotConfig, render_mode: str | None = None) -> None:
        super().__init__(body, config, render_mode)
        if mj.get_mju_user_warning() is None:  # which would go into a file in the current folder
            mj.set_mju_user_warning(lambda words: None)
        self.model = model = compile_body(body, config, drawn=render_mode == "human")
        self.data = data = mj.MjData(model)
        index = np.array([mj.mj_name2id(model, mj.mjtObj.mjOBJ_JOINT, m.name) for m in body.motors])
        # Joint 0 is the base's, the others have a place each. Views of the engine's memory, which stays where
        # it is, are quickest.
        self._in_order = np.array_equal(index, np.arange(1, model.njnt))
        self._moved = index - 1
        self._places: Any = slice(None) if self._in_order else self._moved
        self._qpos, self._qvel, self._pushes = data.qpos, data.qvel, data.xfrc_applied
        self._base, self._angles = data.qpos[:7], data.qpos[7:]
        self._velocity, self._speeds = data.qvel[:3], data.qvel[6:]
        # The solver's rows of the servos come first, in the order of the joints.
        self._force = model.dof_frictionloss[6:]
        self._rows = np.argsort(np.argsort(index))
        # By how much a servo wants to accelerate its joint for a deviation of one limit.
        self._pull = config.servo_speed / 2 * self._limit / self.step
        self._limp = np.full(len(index), LIMP)
        self._stiffness = self._pull / self._limit
        self._shifts, self._torque = np.zeros(len(index)), np.zeros(len(index))
        self._window: Any = None

    def build(self) -> None:
        mj.mj_resetData(self.model, self.data)
        self.offset = (0.0, 0.0)
        self._pushed = False
        mj.mj_forward(self.model, self.data)
        self._fresh = True

    def place(self, base: list[float], joints: list[list[float]]) -> None:
        x, y, z, w = base[3:7]
        self._qpos[:7] = [*base[:3], w, x, y, z]
        self._qvel[:3] = base[7:10]
        self._qvel[3:6] = _turned((-x, -y, -z, w), base[10:])
        self._angles[:], self._speeds[:] = np.reshape(joints, (-1, 2)).T
        self._fresh = False

    def read(self) -> None:
        x, y, z, w, a, b, c = self._base.tolist()
        self.position, self.orientation = (x, y, z), (a, b, c, w)
        self.velocity = self._velocity.tolist()
        np.divide(self._of_motors(self._angles), self._limit, self.joint_positions)
        self.joint_speeds[:] = self._of_motors(self._speeds)

    def _of_motors(self, joints: Floats) -> Floats:
        """Values of all joints, motor by motor."""
        return joints if self._in_order else joints[self._moved]

    @property
    def spin(self) -> Sequence[float]:  # type: ignore[override]
        return _turned(self.orientation, self._qvel[3:6].tolist())

    def advance(self, target: Floats, torque: Sequence[float] | None, watcher: Watcher | None) -> None:
        model, data, cfg, n = self.model, self.data, self.config, len(target)
        self._fresh = False
        # In place: memory of their own would cost such short arrays more than the arithmetic.
        angles, shift, force = self._angles, self._shifts, self._torque
        goal = target * self._pull
        for substep in range(cfg.substeps):
            if not self._in_order:
                angles = self._angles[self._moved]
            if substep == 0 or cfg.servo_every_substep:
                np.divide(angles, self._limit, shift)
                servo_force(np.subtract(target, shift, shift), self._power, cfg.servo_damping, force)
                np.add(force, self._limp, force)
                self._force[self._places] = force
            np.subtract(goal, np.multiply(angles, self._stiffness, shift), shift)
            if torque is not None:
                self._pushes[1, 3:] = torque
            if watcher is not None:
                watcher()
            mj_step1(model, data)
            # Friction with a limit brings a joint to rest; with this it brings it to the target speed.
            if self._in_order:
                reference = data.efc_aref[:n]
                np.add(reference, shift, reference)
            else:
                data.efc_aref[self._rows] += shift
            mj_step2(model, data)
            self._fresh = False
            if self._pushed or torque is not None:
                self._pushes[:] = 0
                self._pushed = False
        self.read()

    def push(self, impulse: Floats, link: int) -> None:
        self._pushes[link + 2, :3] += impulse / self.step
        self._pushed = True

    def _shift(self, x: float, y: float) -> None:
        self._qpos[:2] -= (x, y)
        self.position = tuple(self._qpos[:3].tolist())
        self._fresh = False

    def _refresh(self) -> None:
        """Let places and velocities of the links follow the joints; the future does not depend on it."""
        if not self._fresh:
            for update in (mj.mj_kinematics, mj.mj_comPos, mj.mj_camlight, mj.mj_comVel):
                update(self.model, self.data)
            self._fresh = True

    def links(self) -> Links:
        self._refresh()
        data = self.data
        positions, spins = data.xipos[1:].copy(), data.cvel[1:, :3].copy()
        # Velocities are those of a point that moves with the link at the centre of mass of the whole.
        velocities = data.cvel[1:, 3:] + np.cross(spins, positions - data.subtree_com[1])
        return Links(positions, data.xmat[1:].reshape(-1, 3, 3).copy(), velocities, spins)

    def centre_of_mass(self) -> Floats:
        if not self._fresh:  # the places alone, which are quick
            mj_kinematics(self.model, self.data)
            mj_comPos(self.model, self.data)
        return self.data.subtree_com[1].copy()

    def joint_states(self) -> Floats:
        return np.stack([self._angles, self._speeds], axis=1)

    def motors(self) -> tuple[Floats, Floats]:
        return self._speeds[self._moved], self.data.efc_force[self._rows]

    def contacts(self) -> float:
        return float(self.data.ncon)

    def pressed(self) -> bool:
        data = self.data
        return bool(data.ncon) and bool((data.efc_force[data.contact.efc_address] > 0).any())

    def touches(self) -> Touches:
        model, data, forces = self.model, self.data, []
        for i in range(data.ncon):
            mj.mj_contactForce(model, data, i, wrench := np.zeros(6))
            # In the frame of the contact, whose first axis points from the ground to the body.
            forces.append(data.contact.frame[i].reshape(3, 3).T @ wrench[:3])
        links = model.geom_bodyid[data.contact.geom[:, 1]] - 1
        return Touches(links, data.contact.pos.copy(), np.reshape(forces, (-1, 3)))

    def masses(self) -> dict[str, float]:
        model = self.model
        return {model.body(i).name: float(model.body_mass[i]) for i in range(1, model.nbody)}

    def inertia(self) -> Floats:
        found = []
        for moments, turn in zip(self.model.body_inertia[1:], self.model.body_iquat[1:], strict=True):
            mj.mju_quat2Mat(axes := np.zeros(9), turn)
            frame = axes.reshape(3, 3)
            found.append(frame * moments @ frame.T)
        return np.array(found)

    def _draw(self, camera: Camera) -> None:
        if self._window is None:
            self._window = Window(self.model)
            self._opened.append(self._window.close)
        self._refresh()
        self._window.show(self.data, self.centre_of_mass(), camera)


def _turned(turn: Sequence[float], v: Sequence[float]) -> tuple[float, float, float]:
    """A vector turned by a unit quaternion."""
    (x, y, z, w), (a, b, c) = turn, v
    # t = 2 (axis x v);  v + w t + axis x t
    s, t, u = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return a + w * s + y * u - z * t, b + w * t + z * s - x * u, c + w * u + x * t - y * s
