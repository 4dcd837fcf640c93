"""Body and controller in closed loop, from checkpoint to checkpoint.

A checkpoint takes a snapshot of the body *and restores it*: the simulator's hidden caches cannot be
stored, so an uninterrupted run forgets them at the same moments as one that was resumed, and both are
equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from controllers import Controller, ControllerError
from experiments.console import Report, hush
from experiments.errors import ExperimentError, nearest, told
from experiments.runfiles.growing import Arrays, Track, WorkFile
from experiments.runfiles.run_file import with_prefix
from experiments.settings import build

CONTROLLER = "the controller broke down"
"""How the reason begins when it was not the simulation."""

with hush():  # the simulator greets on standard error when it is imported
    import robots


def find_robot(name: str) -> Any:
    """Entry of the robot registry, or a clear error."""
    if name not in robots.ROBOTS:
        raise ExperimentError(f"unknown robot {name!r}; {nearest(name, robots.ROBOTS)}")
    return robots.ROBOTS[name]


def make_body(robot: str, settings: dict[str, Any], render_mode: str | None = None) -> Any:
    """The environment of a robot, without Gymnasium's wrappers: nothing here needs their checks."""
    entry = find_robot(robot)
    config = build(entry.config, settings, f"the {robot}")
    return gym.make(entry.id, config=config, render_mode=render_mode, disable_env_checker=True).unwrapped


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
            Track(
                "sensors", (len(body.sensor_names),), "<f4", 1, names(body.sensor_names, body.sensor_units)
            ),
            Track(
                "actions",
                (len(body.motor_names),),
                "<f4",
                1,
                names(body.motor_names, ["1"] * len(body.motor_names)),
            ),
            *(watch.track for watch in self.watches),
        ]

    def checkpoint(self) -> Arrays:
        """Everything the future depends on; taking it is part of the experiment (see the module)."""
        snapshot = self.body.snapshot()
        self.s = self.body.restore(snapshot)
        state = {f"body/{key}": value for key, value in snapshot.items()}
        state |= {f"controller/{key}": value for key, value in self.controller.state().items()}
        return state | {"sensors": self.s}

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
                words = str(error) if isinstance(error, ControllerError) else told(error)
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
    work: WorkFile,
    stops: Iterable[int],
    *,
    first: int = 0,
    at_stop: Callable[[int], None] = lambda step: None,
    report: Report = lambda done, total: None,
) -> str:
    """Run a loop from wherever its work file stands to the last of its stops, with a commit at each.

    Parameters
    ----------
    loop, work
        What runs, and where it is written.
    stops
        Steps at which to take a checkpoint; `first` must be among them, unless it is 0.
    first
        Steps before this one are not written: row 0 of the file belongs to it.
    at_stop
        Called at each stop, before the commit (and again when a run goes on from there).
    report
        Called with the steps done and wanted after each commit.

    Returns
    -------
    str
        Why the run ended early; empty if it did not.
    """
    state = work.state()
    if "reason" in state:
        return state["reason"].tobytes().decode()
    loop.resume(state)
    at_stop(work.steps)
    stops = sorted(stops)
    for stop in stops:
        if stop <= work.steps:
            continue
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
        report(stop, stops[-1])
    return ""


def names(channels: Sequence[str], units: Sequence[str]) -> dict[str, Any]:
    """Attributes of a dataset that name its columns."""
    return {"names": list(channels), "units": list(units)}
