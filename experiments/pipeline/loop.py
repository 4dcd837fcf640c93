"""Bodies to experiment with, and a body and its controller in closed loop, from checkpoint to checkpoint.

A checkpoint takes a snapshot of the body *and restores it*: the simulator's hidden caches cannot be
stored, so an uninterrupted run forgets them at the same moments as one that was resumed, and both are
equal bit for bit. The same goes for the controller, and for what a user's rule keeps outside its state.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import controllers
import robots
from controllers import Controller, ControllerError
from experiments.errors import ExperimentError, FileError, containing, nearest, refusing, where_raised
from experiments.feedback import Advance
from experiments.pipeline.sources import Sources, forget_changed, sources
from experiments.runfiles.contents import FrozenState, with_prefix
from experiments.runfiles.growing import AT, Arrays, GrowingFile, Track, read_state
from experiments.runfiles.run_file import RunFile
from experiments.settings import build
from robots.foreign import LIVE

CONTROLLER = "the controller broke down"
"""How the reason begins when it was not the simulation."""
OURS = ("controllers", "robots")
"""Packages whose classes a file may name."""
OBSERVED = "measures"
"""Name in run files of what is noted down about the body from outside."""
TELL = 200
"""Steps between two reports of how far a loop has come: a bar moves every tenth of a second."""
OFTEN = 0.04
"""Seconds between two looks at the body: a robot that jumps twice a second is seen a dozen times per jump."""
UNITS = {
    **dict.fromkeys(("x", "y", "z", "cx", "cy", "cz"), "m"),
    **dict.fromkeys(("vx", "vy", "vz"), "m/s"),
    **{"spin": "rad/s", "tilt": "rad", "contacts": "1"},
}


def look_here() -> None:
    """Let modules of the folder that the user is in be found."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def let_in(modules: Iterable[str]) -> None:
    """Import modules that the user has named; from then on run files may name what is in them."""
    look_here()
    for name in modules:
        with containing(f"--module {name} cannot be imported"):
            forget_changed(name)
            importlib.import_module(name)


def modules_of(run: RunFile, live: bool = False) -> tuple[str, ...]:
    """Modules of the user's that a run names: of its robot, unless that is `live`, and frozen controllers.

    Raises FileError for one that is not imported here: a file alone makes nobody import anything.
    """
    names = [] if live or run.robot.startswith(LIVE) else [run.robot]
    names += [state.kind for state in run.frozen.values()]
    found = {name.partition(":")[0]: name for name in names if ":" in name}
    theirs = {module: name for module, name in found.items() if module.partition(".")[0] not in OURS}
    for module, name in theirs.items():
        if module not in sys.modules:
            raise FileError(
                f"{run.path} names {name}, and a file alone makes nobody import anything; "
                f"if the module is yours, say --module {module}"
            )
    return tuple(theirs)


def find_body(name: str) -> robots.RobotEntry:
    """A kind of body by name: of the registry, a user's own (also from this folder), or of Gymnasium."""
    look_here()
    if ":" in name and not name.startswith(LIVE):
        forget_changed(name.partition(":")[0])
    try:
        return robots.find(name)
    except robots.RobotError as error:
        known = nearest(name, robots.ROBOTS)
        raise ExperimentError(f"unknown robot {name!r}; {known}; or your own as my_module:MyRobot") from error


def body_source(robot: str, live: Any = None) -> Sources:
    """What of the user's own a body is made of (see `sources`)."""
    if live is not None:
        return sources(type(getattr(live, "_env", live)))
    with containing(f"the robot {robot} cannot be imported"), refusing(robots.RobotError):
        found = find_body(robot).source()
    return {} if found is None else sources(found)


def body_settings(robot: str, changes: dict[str, Any]) -> dict[str, Any]:
    """All settings of a body after changes of its defaults; refuses what does not exist or fit.

    An engine is among them unless it is PyBullet, as in files and stores from before there were two.
    """
    with containing(f"the robot {robot} cannot be imported"), refusing(robots.RobotError):
        config = find_body(robot).config
        if config is None:  # a body that brings its own physics
            return {name: value for name, value in changes.items() if name != "engine"}
        engine = robots.find_engine(changes.get("engine", "pybullet"))
    values = {name: value for name, value in changes.items() if name != "engine"}
    chosen = {} if engine == "pybullet" else {"engine": engine}
    return vars(build(config, values, f"the {robot}")) | chosen


def make_body(robot: str, settings: dict[str, Any], render_mode: str | None = None) -> Any:
    """The body of a robot with these settings."""
    with containing(f"the robot {robot} cannot be made"), refusing(robots.RobotError):
        entry, chosen = find_body(robot), body_settings(robot, settings)
        engine = {"engine": chosen.get("engine", "pybullet")} if entry.config else {}
        return entry.make(chosen | engine, render_mode)


@contextmanager
def using_body(robot: str, settings: dict[str, Any], live: Any = None) -> Iterator[Any]:
    """The live body of the user, or else one that is made for this block and closed after it."""
    body = make_body(robot, settings) if live is None else live
    try:
        yield body
    finally:
        if live is None:
            body.close()


def put_back(body: Any, snapshot: Arrays) -> NDArray[np.float32]:
    """Put a body where it was when the snapshot was taken; what its sensors said."""
    with containing("the body cannot be put back where it was"), refusing(robots.RobotError):
        return body.restore(snapshot)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Watch:
    """A quantity that is read now and then: a track, and how to read a row of it."""

    track: Track
    read: Callable[[], Any]


@dataclass(frozen=True)
class Block:
    """What happened between two checkpoints; `reason` says why it ended early, if it did."""

    steps: int
    rows: dict[str, NDArray[Any]]
    reason: str


class Loop:
    """s_t -> a_t = controller.step(s_t) -> body -> s_{t+1}."""

    def __init__(self, body: Any, controller: Controller, watches: Sequence[Watch] = ()) -> None:
        self.body = body
        self.controller = controller
        self.watches = watches
        self.s: NDArray[np.float32] = np.zeros(0, np.float32)

    def tracks(self) -> list[Track]:
        """What a recording of this loop consists of."""
        body = self.body
        return [
            _columns("sensors", body.sensor_names, body.sensor_units),
            _columns("actions", body.motor_names, ["1"] * len(body.motor_names)),
            *(watch.track for watch in self.watches),
        ]

    def checkpoint(self) -> Arrays:
        """Everything the future depends on; taking it is part of the experiment (see the module)."""
        snapshot = self.body.snapshot()
        self.s = put_back(self.body, snapshot)
        with containing("the controller cannot be stored"):
            stored = {key: np.array(value) for key, value in self.controller.state().items()}
            self.controller = type(self.controller).from_state(stored)
        state = {f"body/{key}": value for key, value in snapshot.items()}
        return state | {f"controller/{key}": value for key, value in stored.items()} | {"sensors": self.s}

    def freeze(self, minutes: float, step: int) -> FrozenState:
        """The controller as it is now, never to learn again, and the body with it."""
        with containing("the controller cannot be frozen"):
            frozen = self.controller.freeze()
            kind, state = f"{type(frozen).__module__}:{type(frozen).__qualname__}", frozen.state()
        return FrozenState(minutes, step, kind, state, self.body.snapshot(), self.s)

    def resume(self, state: Arrays) -> None:
        """Go on from a checkpoint."""
        self.s = put_back(self.body, with_prefix(state, "body/"))
        with containing("the controller cannot be restored"), refusing(ControllerError):
            self.controller = type(self.controller).from_state(with_prefix(state, "controller/"))

    def advance(
        self, start: int, stop: int, first: int = 0, told: Callable[[int], None] = lambda step: None
    ) -> Block:
        """Run steps start..stop-1; ends early, with a reason, when the body or the controller breaks down.

        Watches are read at step `first` and every so many steps after it. `told` hears of steps now and then.
        """
        sensors = np.empty((stop - start, len(self.body.sensor_names)), np.float32)
        actions = np.empty((stop - start, len(self.body.motor_names)), np.float32)
        watched: list[list[Any]] = [[] for _ in self.watches]
        watches = [(w.track, w.read, rows) for w, rows in zip(self.watches, watched, strict=True)]
        s, act, step, reason, done = self.s, self.controller.step, self.body.step, "", stop
        motors = actions.shape[1:]
        # Of the controller, its arithmetic included, or of the body about the controller's action. A user's
        # own may raise anything; of ours, that would be a mistake to be seen in full.
        refusals = (Exception, SystemExit) if self._foreign() else (ValueError, ArithmeticError)
        for t in range(start, stop):
            i, a = t - start, None
            if not t % TELL:
                told(t)
            try:
                sensors[i] = s
                for track, read, rows in watches:
                    if (t - first) % track.every == 0:
                        rows.append(_fitting(track.name, read(), track.shape))
                actions[i] = a = _fitting("the action", act(s), motors)
                s, _, ended, _, info = step(actions[i])
            except refusals as error:
                theirs = a is None or isinstance(error, ValueError | ArithmeticError)
                words = str(error) if isinstance(error, ControllerError) else where_raised(error)
                reason, done = f"{CONTROLLER if theirs else 'the body failed'} at step {t}: {words}", t
                break
            if np.shape(s) != sensors.shape[1:]:
                ended, info = True, {"reason": f"it gave sensor values of shape {np.shape(s)}"}
            if ended:
                reason, done = f"the simulation broke down at step {t}: {info['reason']}", t + 1
                break
        self.s = s
        block: dict[str, NDArray[Any]] = {
            "sensors": sensors[: done - start],
            "actions": actions[: done - start],
        }
        for track, found in zip((watch.track for watch in self.watches), watched, strict=True):
            kept = track.rows(done - first) - track.rows(start - first)
            block[track.name] = np.array(found[:kept], track.dtype).reshape(-1, *track.shape)
        return Block(done - start, block, reason)

    def _foreign(self) -> bool:
        """Whether the controller or the body is a user's own."""
        own = [type(one).__module__.partition(".")[0] for one in (self.controller, self.body)]
        return own != ["controllers", "robots"] or not getattr(self.body, "resumable", True)


def _fitting(what: str, values: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """What a controller or a body gave, refused if it is no array of real numbers of this shape."""
    found = np.asarray(values)
    if found.shape != shape or found.dtype.kind not in "fiu":
        raise ControllerError(f"{what} has shape {found.shape}, type {found.dtype}; shape {shape} is needed")
    return found


def drive(
    loop: Loop,
    work: GrowingFile,
    stops: Iterable[int],
    end: int,
    *,
    first: int = 0,
    at_stop: Callable[[int], None] = lambda step: None,
    advance: Advance = lambda done, total: None,
) -> str:
    """Run a loop from wherever its growing file stands to its end, with a commit there and at each stop.

    Steps before `first`, one of the stops unless it is 0, are not written. `at_stop` is called at each stop,
    before the commit (and again when a run goes on from there). Stops are those of a run of any length, which
    the end need not be: with the last commit goes the state at the last stop, from which a longer run would
    go on as if it had been asked for at once. Returns why the run ended early, or "".
    """
    state, usual = read_state(work.path), {stop for stop in stops if stop <= end}
    if "reason" in state:
        return state["reason"].tobytes().decode()
    loop.resume(state)
    at = int(state.get(AT, work.steps))
    if at == work.steps:
        at_stop(at)
    if work.steps < end:
        advance(work.steps, end)
    for stop in sorted(stop for stop in {*usual, end} if stop > work.steps):
        block = loop.advance(work.steps, stop, first, lambda step: advance(step, end))
        if work.steps >= first:
            for name, rows in block.rows.items():
                work.append(name, rows, work.steps - first)
        if block.reason:
            work.commit(work.steps + block.steps, {"reason": np.frombuffer(block.reason.encode(), np.uint8)})
            return block.reason
        if stop in usual:
            state, at = loop.checkpoint(), stop
            at_stop(stop)
        work.commit(stop, state | {AT: np.array(at)})
        advance(stop, end)
    return ""


def _columns(name: str, columns: Sequence[str], units: Sequence[str], every: int = 1) -> Track:
    """A track of which every column has a name and a unit."""
    return Track(name, (len(columns),), "<f4", every, {"names": list(columns), "units": list(units)})


def thaw(state: FrozenState) -> Controller:
    """The controller of a frozen state, ready to act; its class must be ours or imported by the user."""
    module = state.kind.partition(":")[0]
    if module.partition(".")[0] not in OURS and module not in sys.modules:
        raise ExperimentError(
            f"{state.kind} is not imported; import {module} first, or say --module {module}"
        )
    with containing(f"{state.kind} cannot be restored"), refusing(ControllerError):
        return controllers.find(state.kind).from_state(state.controller)


def observations(body: Any, every: int) -> list[Watch]:
    """What is noted down about the body from outside every so many steps; nothing if it tells nothing."""
    keys = list(body.motion())
    track = _columns(OBSERVED, keys, [UNITS.get(key, "") for key in keys], every)
    return [Watch(track, lambda: list(body.motion().values()))] if keys else []
