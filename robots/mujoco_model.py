"""A body and its ground as MuJoCo's model: what moves in MuJoCo, and what is drawn of either engine."""

from __future__ import annotations

import ctypes.util
import os
import sys
from typing import Any

import numpy as np

from robots.body import Body
from robots.camera import GROUND_PERIOD, GROUND_SIZE, ground_pattern
from robots.config import RobotConfig

if sys.platform == "linux" and "MUJOCO_GL" not in os.environ:
    # Read when MuJoCo is imported. EGL and OSMesa draw without a display.
    for _library, _name in (("EGL", "egl"), ("OSMesa", "osmesa")):
        if ctypes.util.find_library(_library):
            os.environ["MUJOCO_GL"] = _name
            break
import mujoco as mj

__all__ = ["LIMP", "compile_body", "mj"]

HARD = 0.999
"""Impedance of stops and servos: they yield by a thousandth."""
GROUND_PIXELS = 512
LIMP = 1e-10
"""What a servo is stronger than its law says [N m or N]: without power its row stays among the solver's."""
GRIP = 1000.0
"""How much less a contact that does not slide yields along the ground than into it; see `_ground`."""


def compile_body(body: Body, config: RobotConfig, drawn: bool) -> Any:
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
    # Without a graphics card a picture takes half as long as with MuJoCo's usual values, and looks alike.
    quality = spec.visual.quality
    quality.shadowsize, quality.numslices, quality.numstacks, quality.numquads = 512, 16, 8, 2
    spec.geom("ground").size[2] = GROUND_SIZE / 6  # edge of the squares that the plane is drawn in
    spec.stat.extent, spec.stat.center = 3.0, [0, 0, 0.3]
