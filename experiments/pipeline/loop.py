"""Bodies to experiment with, and a body and its controller in closed loop, from checkpoint to checkpoint.

A checkpoint takes a snapshot of the body *and restores it*: the simulator's hidden caches cannot be
stored, so an uninterrupted run forgets them at the same moments as one that was resumed, and both are
equal bit by bit.
"""

from __future__ import annotations

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
from experiments.errors import ExperimentError, nearest, refusing, where_raised
from experiments.feedback import Advance
from experiments.runfiles.contents import FrozenState, with_prefix
from experiments.runfiles.growing import Arrays, GrowingFile, Track, read_state
from experiments.settings import build

CONTROLLER = "the controller broke down"
"""How the reason begins when it was not the simulation."""
OBSERVED = "measures"
"""Name in run files of what is noted down about the body from outside."""
UNITS = {
    **dict.fromkeys(("x", "y", "z", "cx", "cy", "cz"), "m"),
    **dict.fromkeys(("vx", "vy", "vz"), "m/s"),
    **{"spin": "rad/s", "tilt": "rad", "contacts": "1"},
}


def find_body(name: str) -> robots.RobotEntry:
    """A kind of body by name: of the registry, a user's own (also from this folder), or of Gymnasium."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return robots.find(name)
    except robots.RobotError as error:
        known = nearest(name, robots.ROBOTS)
        raise ExperimentError(f"unknown robot {name!r}; {known}; or your own as my_module:MyRobot") from error


def body_settings(robot: str, changes: dict[str, Any]) -> dict[str, Any]:
    """All settings of a body after changes of its defaults; refuses what does not exist or fit."""
    with refusing(robots.RobotError):
        config = find_body(robot).config
    return changes if config is None else vars(build(config, changes, f"the {robot}"))


def make_body(robot: str, settings: dict[str, Any], render_mode: str | None = None) -> Any:
    """The body of a robot with these settings."""
    with refusing(robots.RobotError):
        return find_body(robot).make(body_settings(robot, settings), render_mode)


@contextmanager
def using_body(robot: str, settings: dict[str, Any], live: Any = None) -> Iterator[Any]:
    """The live body of the user, or else one that is made for this block and closed after it."""
    body = make_body(robot, settings) if live is None else live
    try:
        yield body
    finally:
        if live is None:
            body.close()


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
        self.s = self.body.restore(snapshot)
        state = {f"body/{key}": value for key, value in snapshot.items()}
        state |= {f"controller/{key}": value for key, value in self.controller.state().items()}
        return state | {"sensors": self.s}

    def freeze(self, minutes: float, step: int) -> FrozenState:
        """The controller as it is now, never to learn again, and the body with it."""
        frozen = self.controller.freeze()
        kind = f"{type(frozen).__module__}:{type(frozen).__qualname__}"
        return FrozenState(minutes, step, kind, frozen.state(), self.body.snapshot(), self.s)

    def resume(self, state: Arrays) -> None:
        """Go on from a checkpoint."""
        self.s = self.body.restore(with_prefix(state, "body/"))
        self.controller = type(self.controller).from_state(with_prefix(state, "controller/"))

    def advance(self, start: int, stop: int, first: int = 0) -> Block:
        """Run steps start..stop-1; ends early, with a reason, when the body or the controller breaks down.

        Watches are read at step `first` and every so many steps after it.
        """
        sensors = np.empty((stop - start, len(self.body.sensor_names)), np.float32)
        actions = np.empty((stop - start, len(self.body.motor_names)), np.float32)
        watched: list[list[Any]] = [[] for _ in self.watches]
        watches = [(w.track.every, w.read, rows) for w, rows in zip(self.watches, watched, strict=True)]
        s, act, step, reason, done = self.s, self.controller.step, self.body.step, "", stop
        for t in range(start, stop):
            i = t - start
            try:
                sensors[i] = s
                for every, read, rows in watches:
                    if (t - first) % every == 0:
                        rows.append(read())
                actions[i] = act(s)
                s, _, ended, _, info = step(actions[i])
            # Of the controller, its arithmetic included, or of the body about the controller's action.
            except (ValueError, ArithmeticError) as error:
                words = str(error) if isinstance(error, ControllerError) else where_raised(error)
                reason, done = f"{CONTROLLER} at step {t}: {words}", t
                break
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


def drive(
    loop: Loop,
    work: GrowingFile,
    stops: Iterable[int],
    *,
    first: int = 0,
    at_stop: Callable[[int], None] = lambda step: None,
    advance: Advance = lambda done, total: None,
) -> str:
    """Run a loop from wherever its growing file stands to the last of its stops, with a commit at each.

    Steps before `first`, one of the stops unless it is 0, are not written. `at_stop` is called at each stop,
    before the commit (and again when a run goes on from there). Returns why the run ended early, or "".
    """
    state = read_state(work.path)
    if "reason" in state:
        return state["reason"].tobytes().decode()
    loop.resume(state)
    at_stop(work.steps)
    left = sorted(stop for stop in stops if stop > work.steps)
    for stop in left:
        block = loop.advance(work.steps, stop, first)
        if work.steps >= first:
            for name, rows in block.rows.items():
                work.append(name, rows, work.steps - first)
        if block.reason:
            work.commit(work.steps + block.steps, {"reason": np.frombuffer(block.reason.encode(), np.uint8)})
            return block.reason
        state = loop.checkpoint()
        at_stop(stop)
        work.commit(stop, state)
        advance(stop, left[-1])
    return ""


def _columns(name: str, columns: Sequence[str], units: Sequence[str], every: int = 1) -> Track:
    """A track of which every column has a name and a unit."""
    return Track(name, (len(columns),), "<f4", every, {"names": list(columns), "units": list(units)})


def thaw(state: FrozenState) -> Controller:
    """The controller of a frozen state, ready to act."""
    return controllers.find(state.kind).from_state(state.controller)


def observations(body: Any, every: int) -> list[Watch]:
    """What is noted down about the body from outside every so many steps; nothing if it tells nothing."""
    keys = list(body.motion())
    track = _columns(OBSERVED, keys, [UNITS.get(key, "") for key in keys], every)
    return [Watch(track, lambda: list(body.motion().values()))] if keys else []
