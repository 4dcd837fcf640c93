"""A world in MuJoCo: the same body, ground and servos as in Bullet, by MuJoCo's own means."""

from __future__ import annotations

import ctypes.util
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robots.body import Body, Floats, servo_force
from robots.camera import GROUND_PERIOD, GROUND_SIZE, Camera, ground_pattern
from robots.config import RobotConfig
from robots.errors import RobotError
from robots.world import Links, Watcher, World

if sys.platform == "linux" and "MUJOCO_GL" not in os.environ:
    # Read when MuJoCo is imported. EGL and OSMesa draw without a display.
    for _library, _name in (("EGL", "egl"), ("OSMesa", "osmesa")):
        if ctypes.util.find_library(_library):
            os.environ["MUJOCO_GL"] = _name
            break
import mujoco as mj

mj_step1, mj_step2 = mj.mj_step1, mj.mj_step2

HARD = 0.999
"""Impedance of stops and servos: they yield by a thousandth."""
GROUND_PIXELS = 512
LIMP = 1e-10
"""What a servo is stronger than its law says [N m or N]: without power its row stays among the solver's."""
GRIP = 1000.0
"""How much less a contact that does not slide yields along the ground than into it; see `_ground`."""


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
        self.model = model = _compile(body, config, drawn=render_mode is not None)
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
        self._deviation, self._torque = np.zeros(len(index)), np.zeros(len(index))
        self._renderer: Any = None
        self._window: Any = None
        self._opened: list[Any] = []
        self.close = weakref.finalize(self, _free, self._opened)

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
        model, data, cfg, in_order = self.model, self.data, self.config, self._in_order
        self._fresh = False
        # In place: memory of their own would cost such short arrays more than the arithmetic.
        positions, deviation, force = self.joint_positions, self._deviation, self._torque
        for substep in range(cfg.substeps):
            if substep:
                np.divide(self._of_motors(self._angles), self._limit, positions)
            np.subtract(target, positions, deviation)
            if substep == 0 or cfg.servo_every_substep:
                servo_force(deviation, self._power, cfg.servo_damping, force)
                np.add(force, self._limp, force)
                self._force[self._places] = force
            if torque is not None:
                self._pushes[1, 3:] = torque
            if watcher is not None:
                watcher()
            mj_step1(model, data)
            # Friction with a limit brings a joint to rest; with this it brings it to the target speed.
            np.multiply(deviation, self._pull, deviation)
            if in_order:
                shifted = data.efc_aref[: len(deviation)]
                np.add(shifted, deviation, shifted)
            else:
                data.efc_aref[self._rows] += deviation
            mj_step2(model, data)
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
        self._refresh()
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

    def picture(self, camera: Camera) -> NDArray[np.uint8]:
        self._refresh()
        size = (camera.height, camera.width)
        if self._renderer is None or (self._renderer.height, self._renderer.width) != size:
            look: Any = self.model.vis
            look.global_.offheight, look.global_.offwidth = size
            try:
                self._renderer = mj.Renderer(self.model, *size)
            except Exception as error:  # whatever the drivers of this machine raise
                raise RobotError(
                    f"MuJoCo cannot draw here ({type(error).__name__}: {error}): it needs EGL or OSMesa; "
                    "install libegl1 or libosmesa6 (Debian) and set MUJOCO_GL=egl or osmesa, or use the "
                    "engine 'pybullet'"
                ) from error
            self._opened.append(self._renderer.close)
        self._renderer.update_scene(self.data, self._aim(mj.MjvCamera(), camera), _visible())
        return self._renderer.render()  # type: ignore[no-any-return]

    def _draw(self, camera: Camera) -> None:
        if self._window is None:
            self._window = Window(self.model)
            self._opened.append(self._window.close)
        self._refresh()
        self._window.show(self.data, lambda view: self._aim(view, camera))

    def _aim(self, view: Any, camera: Camera) -> Any:
        view.lookat[:] = [*self.centre_of_mass()[:2], camera.look_at]
        view.distance, view.azimuth, view.elevation = camera.distance, camera.yaw + 90, camera.pitch
        return view


class Window:
    """MuJoCo's own viewer, on a copy of the state: neither it nor the mouse has a part in the experiment."""

    def __init__(self, model: Any) -> None:
        import mujoco.viewer

        self._model, self._data = model, mj.MjData(model)
        before = set(threading.enumerate())
        self._viewer = mujoco.viewer.launch_passive(
            model, self._data, show_left_ui=False, show_right_ui=False
        )
        self._threads = set(threading.enumerate()) - before
        self._viewer.opt.geomgroup[:] = _visible().geomgroup

    def show(self, data: Any, aim: Callable[[Any], Any]) -> None:
        """Show a state, with a camera that is aimed anew."""
        with self._viewer.lock():
            mj.mj_copyData(self._data, self._model, data)
            aim(self._viewer.cam)
        self._viewer.sync()

    def close(self) -> None:
        """Close the window and wait for its thread: an interpreter that ends before it does crashes."""
        self._viewer.close()
        for thread in self._threads:
            thread.join(timeout=10)


def _free(opened: list[Any]) -> None:
    for close in opened:
        close()


def _visible() -> Any:
    """Draw what is there to be seen: group 0 is what collides."""
    options = mj.MjvOption()
    options.geomgroup[0] = 0
    return options


def _turned(turn: Sequence[float], v: Sequence[float]) -> tuple[float, float, float]:
    """A vector turned by a unit quaternion."""
    (x, y, z, w), (a, b, c) = turn, v
    # t = 2 (axis x v);  v + w t + axis x t
    s, t, u = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return a + w * s + y * u - z * t, b + w * t + z * s - x * u, c + w * u + x * t - y * s


def _compile(body: Body, config: RobotConfig, drawn: bool) -> Any:
    """The body's URDF, free to move over a ground.

    Servos are joint friction: MuJoCo's friction is a constraint that brings a joint to rest with at most a
    given force. With its reference shifted (`MujocoWorld.advance`) it is the servo law word for word, solved
    together with contacts and stops, as in Bullet.
    """
    head, end, rest = body.urdf.partition("<robot ")
    name, close, parts = rest.partition(">")
    keep = f'<mujoco><compiler fusestatic="false" discardvisual="{str(not drawn).lower()}"/></mujoco>'
    spec = mj.MjSpec.from_string(f"{head}{end}{name}{close}{keep}{parts}")
    base = spec.worldbody.first_body()
    # The base's frame goes to its centre of mass, so that its free joint is what is asked for.
    centre = np.array(base.ipos)
    for part in (*base.geoms, *base.bodies):
        part.pos = part.pos - centre
    base.ipos = np.zeros(3)
    base.pos = centre
    base.pos[2] += body.start_height
    base.add_freejoint()
    solid = [geom for part in spec.bodies[1:] for geom in part.geoms if geom.contype]
    for i, geom in enumerate(solid):
        geom.name = f"solid {i}"
        geom.contype, geom.conaffinity, geom.group = 0, 0, 0  # solid to the ground only
    option, step = spec.option, config.control_step / config.substeps
    option.timestep, option.gravity = step, [0, 0, -config.gravity]
    option.integrator = mj.mjtIntegrator.mjINT_EULER
    option.cone, option.impratio = mj.mjtCone.mjCONE_ELLIPTIC, GRIP
    # Gauss and Seidel's, as in Bullet: the quickest for few rows.
    option.solver, option.iterations = mj.mjtSolver.mjSOL_PGS, config.solver_iterations
    option.jacobian = mj.mjtJacobian.mjJAC_DENSE
    # A blow-up is for the environment to see.
    option.disableflags |= mj.mjtDisableBit.mjDSBL_AUTORESET | mj.mjtDisableBit.mjDSBL_ISLAND
    spec.worldbody.add_geom(
        name="ground",
        type=mj.mjtGeom.mjGEOM_PLANE,
        group=1,
        size=[GROUND_SIZE, GROUND_SIZE, 1],
        contype=0,
        conaffinity=0,
    )
    for geom in solid:
        spec.add_pair(geomname1="ground", geomname2=geom.name)
    if drawn:
        _decorate(spec, base)
    model = spec.compile()
    if drawn:
        pattern, start = ground_pattern(GROUND_PIXELS), model.texture("ground").adr[0]
        model.tex_data[start : start + pattern.size] = pattern.ravel()
    _ground(model, body, config, step)
    # A stop takes back a fifth of what was passed per step, as in Bullet.
    model.jnt_solimp[:] = model.dof_solimp[:] = [HARD, HARD, 1, 0.5, 1]
    model.jnt_solref[:] = model.dof_solref[:] = [-0.2 * HARD / step**2, -HARD / step]
    moved = [model.joint(motor.name).dofadr[0] for motor in body.motors]
    model.dof_frictionloss[moved] = LIMP
    return model


def _ground(model: Any, body: Body, config: RobotConfig, step: float) -> None:
    """Ground of stiffness K [N/m] and damping C [N s/m], integrated as in Bullet.

    MuJoCo's contact force f brings the relative acceleration a to a reference: R f = k x - b v - a, where
    R = (1 - d) / d * w with the impedance d and the inverse mass w that it ascribes to the link. With
    b = 1 / step and R = 1 / (step (C + step K)), k = K R, that is an implicit spring and damper:
    f = K x - (C + step K) v' with the velocity v' after the step.

    Friction is Coulomb's, mu along and across. Where a contact does not slide, it yields as a damper of
    `GRIP` times C + step K.
    """
    K, C, mu = config.contact_stiffness, config.contact_damping, config.friction
    R = 1 / (step * (C + step * K))
    rolling = config.rolling_friction
    for i in range(model.npair):
        w = model.body_invweight0[model.geom_bodyid[model.pair_geom2[i]], 0]
        d = min(HARD, w / (w + R))
        model.pair_solimp[i] = [d, d, 1, 0.5, 1]
        model.pair_solref[i] = [-d * K * R, -d / step]
        model.pair_dim[i] = 6 if rolling else 3
        # The first direction is that of a capsule's axis.
        model.pair_friction[i] = np.maximum([mu * body.friction_along, mu, 1e-5, rolling, rolling], 1e-5)


def _decorate(spec: Any, base: Any) -> None:
    """Pattern on the ground, and light that follows the robot."""
    texture = spec.add_texture(
        name="ground", type=mj.mjtTexture.mjTEXTURE_2D, builtin=mj.mjtBuiltin.mjBUILTIN_FLAT,
        width=GROUND_PIXELS, height=GROUND_PIXELS,
    )  # fmt: skip
    material = spec.add_material(name="ground", texrepeat=[2 / GROUND_PERIOD] * 2, texuniform=True)
    material.textures[mj.mjtTextureRole.mjTEXROLE_RGB] = texture.name
    spec.geom("ground").material = "ground"
    spec.add_texture(
        name="sky", type=mj.mjtTexture.mjTEXTURE_SKYBOX, builtin=mj.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.55, 0.68, 0.82], rgb2=[0.93, 0.94, 0.95], width=256, height=1536,
    )  # fmt: skip
    base.add_light(
        mode=mj.mjtCamLight.mjCAMLIGHT_TRACK, type=mj.mjtLightType.mjLIGHT_DIRECTIONAL, pos=[2, -2, 6],
        dir=[-1, 1, -3], diffuse=[0.55] * 3, ambient=[0.25] * 3, specular=[0.1] * 3, castshadow=True,
    )  # fmt: skip
    spec.visual.headlight.diffuse, spec.visual.headlight.ambient = [0.2] * 3, [0.25] * 3
    spec.visual.headlight.specular = [0.0] * 3
    spec.visual.quality.shadowsize = 2048
    spec.stat.extent, spec.stat.center = 3.0, [0, 0, 0.3]
