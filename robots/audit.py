"""Where a robot's energy comes from: the books of every physics step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pybullet as p
from numpy.typing import NDArray

from robots.base import RobotEnv
from robots.body import Floats

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Books:
    """Physics step by physics step of an audited robot; the K + 1 moments are those between the K steps.

    Attributes
    ----------
    step : float
        Length of a physics step [s].
    energy : (K + 1,) array
        Kinetic plus potential energy [J].
    lift : (K + 1,) array
        Vertical velocity of the centre of mass [m/s].
    work : (K,) array
        Work of the servos in each step [J].
    touching : (K,) boolean array
        Whether the ground pressed against the body during the step.
    assisted : (K,) boolean array
        Whether something else acted on the body, such as the hexapod's support against turning over.
    """

    step: float
    energy: Floats
    lift: Floats
    work: Floats
    touching: Flags
    assisted: Flags

    @property
    def rest(self) -> Floats:
        """What each step added to the energy beyond the servos' work [J].

        On the ground that is the work of contacts and stops and the integrator's error, in the air only of
        the latter two.
        """
        return np.diff(self.energy) - self.work

    def flights(self, least: int = 5) -> list[tuple[int, int]]:
        """First and last moment of each flight: `least` steps or more without touch or assistance."""
        grounded = np.flatnonzero(np.concatenate(([True], self.touching | self.assisted, [True])))
        return [(int(a), int(b) - 1) for a, b in pairwise(grounded) if b - 1 - a >= least]


def audit(env: RobotEnv, controller: Any, s: NDArray[Any], steps: int) -> Books:
    """Let a controller act for so many control steps and keep the books of every physics step.

    The work of a servo in a physics step is its torque times the step times the mean of the joint's speed
    before and after: exactly what it adds to the kinetic energy, for the simulator changes velocities first
    and moves the body afterwards.

    Parameters
    ----------
    env : RobotEnv
        Running; it is left in the state that it reaches.
    controller
        Anything with `act(s)`.
    s : array
        The last observation.
    steps : int

    Raises
    ------
    RuntimeError
        When the simulation breaks down on the way.
    """
    robot, client, links = env._robot, env._client, env._all_joints
    inertia = [p.getDynamicsInfo(robot, i, physicsClientId=client) for i in (-1, *links)]
    masses = np.array([info[0] for info in inertia])
    moments = np.array([info[2] for info in inertia])
    energy, lift, speeds, torques, touching, assisted = [], [], [], [], [], []

    def look() -> None:
        """The state between two physics steps, and the torques and contacts of the one before."""
        states = p.getLinkStates(
            robot, links, computeLinkVelocity=1, computeForwardKinematics=1, physicsClientId=client
        )
        position, turn = p.getBasePositionAndOrientation(robot, physicsClientId=client)
        velocity, spin = p.getBaseVelocity(robot, physicsClientId=client)
        turns = [turn, *(state[1] for state in states)]
        frames = np.array([p.getMatrixFromQuaternion(q) for q in turns]).reshape(-1, 3, 3)
        own = np.einsum("ikj,ik->ij", frames, [spin, *(state[7] for state in states)])
        velocities = np.array([velocity, *(state[6] for state in states)])
        heights = np.array([position[2], *(state[0][2] for state in states)])
        kinetic = 0.5 * (masses @ (velocities**2).sum(axis=1) + (moments * own**2).sum())
        energy.append(kinetic + env.config.gravity * masses @ heights)
        lift.append(masses @ velocities[:, 2] / masses.sum())
        joints = p.getJointStates(robot, env._joints, physicsClientId=client)
        speeds.append([joint[1] for joint in joints])
        torques.append([joint[3] for joint in joints])
        contacts = p.getContactPoints(robot, env._ground, physicsClientId=client)
        touching.append(any(contact[9] > 0 for contact in contacts))

    usual = env._assist

    def assist(info: dict[str, Any]) -> None:
        look()
        usual(info)
        assisted.append(bool(info.get("upright_support", False)))

    env._assist = assist  # type: ignore[method-assign]
    try:
        for _ in range(steps):
            s, _, terminated, _, info = env.step(controller.act(s).astype(np.float32))
            if terminated:
                raise RuntimeError(f"the simulation broke down: {info['reason']}")
        look()
    finally:
        env._assist = usual  # type: ignore[method-assign]
    step = env.config.control_step / env.config.substeps
    speed = np.array(speeds)
    return Books(
        step=step,
        energy=np.array(energy),
        lift=np.array(lift),
        work=(np.array(torques)[1:] * (speed[:-1] + speed[1:]) / 2).sum(axis=1) * step,
        touching=np.array(touching[1:]),
        assisted=np.array(assisted),
    )
