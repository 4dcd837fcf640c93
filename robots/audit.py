"""Where a robot's energy comes from: the books of every physics step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robots.base import RobotEnv
from robots.body import Floats
from robots.errors import RobotError
from robots.world import Links, Touches

NEAR = 1e-3
"""How near to its stop a joint counts as stopped [limits]: stops yield by a thousandth."""
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
    ground : (K,) array
        Work of the ground: force times velocity of each point that it touches, summed [J].
    stopped : (K,) boolean array
        Whether a joint was beyond its stop.
    touching : (K,) boolean array
        Whether the ground pressed against the body during the step.
    assisted : (K,) boolean array
        Whether something else acted on the body, such as the hexapod's support against turning over.
    """

    step: float
    energy: Floats
    lift: Floats
    work: Floats
    ground: Floats
    stopped: Flags
    touching: Flags
    assisted: Flags

    @property
    def rest(self) -> Floats:
        """What each step added to the energy beyond the work of servos and ground [J].

        Where a joint is beyond its stop that is the stop's work, else the integrator's error.
        """
        return np.diff(self.energy) - self.work - self.ground

    @property
    def turned_over(self) -> float:
        """Energy that went through the body: what servos and ground gave plus what they took, halved [J]."""
        free = ~self.assisted
        return float((np.abs(self.work[free]).sum() + np.abs(self.ground[free]).sum()) / 2)

    def flights(self, least: int = 5) -> list[tuple[int, int]]:
        """First and last moment of each flight: `least` steps or more without touch or assistance."""
        grounded = np.flatnonzero(np.concatenate(([True], self.touching | self.assisted, [True])))
        return [(int(a), int(b) - 1) for a, b in pairwise(grounded) if b - 1 - a >= least]

    def falls(self) -> Floats:
        """Mean acceleration of the centre of mass in each flight [m/s²]."""
        return np.array([(self.lift[b] - self.lift[a]) / ((b - a) * self.step) for a, b in self.flights()])

    def balance(self) -> dict[str, float | None]:
        """Where the energy comes from, in a few numbers.

        Returns
        -------
        dict
            `flights`, their number; `fall` and `fall_std`, mean and spread of `falls` (None without any);
            `motors`, `ground`, `stops` and `integrator`: net work of the servos, of the ground, and what else
            was added to the energy with a joint beyond its stop and without; `turned_over` [all J per s];
            `assisted`, share of steps with assistance, which are left out.

        Examples
        --------
        >>> import numpy as np
        >>> from robots.audit import Books
        >>> free_fall = Books(
        ...     step=0.1,
        ...     energy=np.full(6, 20.0),
        ...     lift=-9.81 * np.arange(6) / 10,
        ...     work=np.zeros(5),
        ...     ground=np.zeros(5),
        ...     stopped=np.zeros(5, bool),
        ...     touching=np.zeros(5, bool),
        ...     assisted=np.zeros(5, bool),
        ... )
        >>> found = free_fall.balance()
        >>> found["flights"], round(found["fall"], 2), found["integrator"]
        (1, -9.81, 0.0)
        """
        falls, free = self.falls(), ~self.assisted
        seconds = len(self.work) * self.step
        return {
            "flights": len(falls),
            "fall": float(np.mean(falls)) if len(falls) else None,
            "fall_std": float(np.std(falls)) if len(falls) else None,
            "motors": float(self.work[free].sum() / seconds),
            "ground": float(self.ground[free].sum() / seconds),
            "stops": float(self.rest[free & self.stopped].sum() / seconds),
            "integrator": float(self.rest[free & ~self.stopped].sum() / seconds),
            "turned_over": self.turned_over / seconds,
            "assisted": float(self.assisted.mean()),
        }


def audit(env: RobotEnv, controller: Any, s: NDArray[Any], steps: int) -> Books:
    """Let a controller act for so many control steps and keep the books of every physics step.

    The work of a servo in a physics step is its torque times the step times the mean of the joint's speed
    before and after: exactly what it adds to the kinetic energy, for the simulator changes velocities first
    and moves the body afterwards. The ground's is the same sum over the points that it touches, each as a
    part of its link, with the velocities before and after in the place where the ground acted.

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
    RobotError
        When the simulation breaks down on the way.

    Examples
    --------
    >>> import numpy as np
    >>> from robots import Barrel
    >>> from robots.audit import audit
    >>> class Still:
    ...     def act(self, s):
    ...         return np.zeros(2)
    >>> env = Barrel()
    >>> s, _ = env.reset(seed=0)
    >>> books = audit(env, Still(), s, steps=10)
    >>> books.step, len(books.work), len(books.energy)
    (0.01, 20, 21)
    """
    world = env.world
    masses, inertia = np.array(list(world.masses().values())), world.inertia()
    energy, lift, speeds, torques, ground, beyond, touching, assisted = [], [], [], [], [], [], [], []
    last: list[Any] = []

    def look() -> None:
        """The state between two physics steps, and the torques and contacts of the one before."""
        world.read()
        now = world.links()
        positions, frames, velocities, spins = now
        own = np.einsum("ikj,ik->ij", frames, spins)
        turning = np.einsum("ij,ijk,ik", own, inertia, own)
        kinetic = 0.5 * (masses @ (velocities**2).sum(axis=1) + turning)
        energy.append(kinetic + env.config.gravity * masses @ positions[:, 2])
        lift.append(masses @ velocities[:, 2] / masses.sum())
        speed, torque = world.motors()
        speeds.append(speed)
        torques.append(torque)
        touching.append(world.pressed())
        beyond.append(bool((np.abs(world.joint_positions) > env.config.hard_stop - NEAR).any()))
        before, there = last or (now, world.offset)
        shift = np.subtract((*world.offset, 0.0), (*there, 0.0))  # the world may have been shifted meanwhile
        after = now._replace(positions=positions + shift)
        ground.append(_work_of_ground(world.touches(), before, after, world.step))
        last[:] = now, world.offset

    def note(info: dict[str, Any]) -> None:
        look()
        assisted.append(bool(info.get("upright_support", False)))

    with env.watched_by(note):
        for _ in range(steps):
            s, _, terminated, _, info = env.step(controller.act(s).astype(np.float32))
            if terminated:
                raise RobotError(f"the simulation broke down: {info['reason']}")
    look()
    step, between = world.step, np.array(speeds)
    return Books(
        step=step,
        energy=np.array(energy),
        lift=np.array(lift),
        work=(np.array(torques)[1:] * (between[:-1] + between[1:]) / 2).sum(axis=1) * step,
        ground=np.array(ground[1:]),
        stopped=np.array(beyond[1:]) | np.array(beyond[:-1]),
        touching=np.array(touching[1:]),
        assisted=np.array(assisted),
    )


def _work_of_ground(touches: Touches, before: Links, after: Links, step: float) -> float:
    """Work of the ground's forces in a step, with the mean velocity before and after of their points [J].

    Forces change velocities where the body is; then it moves on, and elsewhere the same joint speeds are
    other velocities of the points. In a chain that turns, the difference, centripetal acceleration times
    step, is always to one side: with the weight as force it would be work that nobody does. The velocity
    after, in the place before, follows from that in the place after and from the way in between, up to step².
    """
    which, points, forces = touches
    arms = points - before.positions[which]
    turns = after.frames[which] @ np.swapaxes(before.frames[which], 1, 2)
    moved = np.einsum("ijk,ik->ij", turns, arms)
    way = after.positions[which] - before.positions[which] + moved - arms
    first = before.velocities[which] + np.cross(before.spins[which], arms)
    last = after.velocities[which] + np.cross(after.spins[which], moved)
    # The velocity after the forces, before the move, is 2 way / step - last.
    return float((forces * ((first - last) / 2 * step + way)).sum())


class _Limp:
    """Asks nothing of the servos."""

    def __init__(self, motors: int) -> None:
        self.nothing = np.zeros(motors)

    def act(self, s: NDArray[Any]) -> Floats:
        return self.nothing


def drop(env: RobotEnv, seed: int, height: float = 1.0, steps: int = 500) -> float:
    """Let a robot like this one fall without power: its largest energy on the way, in units of the first.

    Anything above 1 is energy out of nothing.

    Parameters
    ----------
    env : RobotEnv
        Left alone; another one with its settings falls, but for those of power and support, which are 0.
    seed : int
        Of its reset.
    height : float
        Above the starting pose [m].
    steps : int
        Control steps.

    Examples
    --------
    >>> from robots import Hexapod
    >>> from robots.audit import drop
    >>> drop(Hexapod(), seed=0, steps=50) < 1.001
    True
    """
    names = [f.name for f in fields(env.config) if "power" in f.name or f.name == "upright_support"]
    off: dict[str, Any] = dict.fromkeys(names, 0.0)
    with closing(type(env)(replace(env.config, **off), engine=env.engine)) as limp:
        limp.reset(seed=seed)
        snapshot = limp.snapshot()
        snapshot["base"][2] += height
        energy = audit(limp, _Limp(len(limp.motor_names)), limp.restore(snapshot), steps).energy
    return float(energy[1:].max() / energy[0])


def energy_words(physics: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Where the energy of robots comes from: sentences.

    Parameters
    ----------
    physics : dict of lists of dict
        By a name, for some robots, `Books.balance`, the `seed`, their `gravity` [m/s²] and as `passive` what
        `drop` gives; or the `reason` why there is nothing to say.

    Examples
    --------
    >>> from robots.audit import energy_words
    >>> energy = {"motors": 0.5, "ground": -0.5, "stops": 0.0, "integrator": 0.0, "passive": 1.0}
    >>> energy_words({"walking": [energy | {"seed": 1, "flights": 0}, {"reason": "it fell"}]})[1]
    'walking: it fell'
    """
    lines = []
    for name, rows in physics.items():
        good = [row for row in rows if "motors" in row]
        if flying := [row for row in good if row["flights"]]:
            falls = ", ".join(f"{row['fall']:.2f} ± {row['fall_std']:.2f}" for row in flying)
            count = sum(row["flights"] for row in flying)
            lines.append(
                f"{name}: in {count} flights the centre of mass accelerates by {falls} m/s², "
                f"g is {flying[0]['gravity']:g}"
            )
        for row in good:
            lines.append(
                f"{name}, seed {row['seed']}: servos give {row['motors']:+.3f} W, the ground "
                f"{row['ground']:+.3f} W, stops {row['stops']:+.3f} W, the integrator "
                f"{row['integrator']:+.3f} W; dropped without power the energy never exceeds "
                f"{row['passive']:.4f} of the first"
            )
        lines += [f"{name}: {row['reason']}" for row in rows if "reason" in row]
    return lines
