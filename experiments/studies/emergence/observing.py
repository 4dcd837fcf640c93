"""What an onlooker sees of a recorded behaviour: does it jump, roll or crawl, and how regularly?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.errors import ExperimentError
from experiments.pipeline.learn import measures
from experiments.pipeline.loop import Loop
from experiments.runfiles.run_file import Recording

Floats = NDArray[np.float64]

HALF_WIDTH = 0.1
"""Half the width of a spectral peak [Hz]: power this near to the largest counts as the peak's."""
UPRIGHT = np.pi / 2
"""Tilt of the hexapod beyond which its soft support acts [rad]."""
LEAST_STD = 0.2
"""Joint angles of a behaviour vary by more than this [limits]; otherwise the body just lies or slides."""
LEAST_ROLL = 0.3
"""Mean rate of turning about the long axis from which a snake rolls [rad/s]: a turn in 21 s."""
MOST_ROLL = 0.15
"""Mean rate of turning below which a snake that travels crawls, and does not roll [rad/s]."""
LEAST_WAY = 0.1
"""Way per radian of roll from which a snake rolls straight [m]: a wheel of its radius makes .12."""
LEAST_SPEED = 0.03
"""Mean speed from which a snake travels [m/s]: its own length in two minutes."""
STRETCH = 10.0
"""A snake that crawls in circles travels, too: its speed is that of ways of so many seconds [s]."""


@dataclass(frozen=True)
class Seen:
    """Rows of a recording as columns by name: what the body did, and all its sensors.

    Attributes
    ----------
    rate : float
        Sensor rows per second.
    every : int
        A row of `measures` belongs to every so many rows of `sensors`.
    sensors : (N, n) array
    measures : dict of (N / every,) arrays
        As in `RobotEnv.measure`.
    motors : int
        The first so many sensors are joint angles.
    """

    rate: float
    every: int
    sensors: Floats
    measures: dict[str, Floats]
    motors: int

    def part(self, start: int, stop: int) -> Seen:
        """Rows start to stop of the measures, and the sensors that belong to them."""
        return Seen(
            self.rate,
            self.every,
            self.sensors[start * self.every : stop * self.every],
            {name: values[start:stop] for name, values in self.measures.items()},
            self.motors,
        )


def see(recording: Recording, first: int = 0, last: int | None = None) -> Seen:
    """Read samples first..last of a recording (all, if not given)."""
    measures = recording.tracks["measures"]
    last = recording.steps if last is None else min(last, recording.steps)
    if last - first < measures.every:
        raise ExperimentError(f"{recording.name} holds {recording.steps} samples: nothing was seen")
    rows = measures[-(-first // measures.every) : -(-last // measures.every)].astype(float)
    return Seen(
        rate=float(recording.attrs["rate_hz"]),
        every=measures.every,
        sensors=recording.sensors[first:last].astype(float),
        measures=dict(zip(measures.names, rows.T, strict=True)),
        motors=len(recording.actions.names),
    )


def watch(body: Any, controller: Any, s: NDArray[np.float32], steps: int) -> tuple[Seen, NDArray[np.float32]]:
    """Let a frozen controller act for so many steps and look at each; gives the last observation, too.

    Raises
    ------
    ExperimentError
        When the simulation breaks down.
    """
    loop = Loop(body, controller, [measures(body, 1)])
    loop.s = s
    block = loop.advance(0, steps)
    if block.reason:
        raise ExperimentError(block.reason)
    rows, names = block.rows["measures"].astype(float), loop.watches[0].track.attrs["names"]
    rate = 1 / body.config.control_step
    columns = dict(zip(names, rows.T, strict=True))
    return Seen(rate, 1, block.rows["sensors"].astype(float), columns, len(body.motor_names)), loop.s


def describe(robot: str, seen: Seen) -> dict[str, Any]:
    """The numbers of a behaviour, and its name in `mode`.

    Raises
    ------
    ExperimentError
        When nobody has said what to look for in this robot.
    """
    if robot not in DESCRIPTIONS:
        known = ", ".join(DESCRIPTIONS)
        raise ExperimentError(f"what to look for is stated for {known}, not for {robot!r}")
    numbers = DESCRIPTIONS[robot](seen)
    return {"mode": name_mode(robot, numbers)} | numbers


def name_mode(robot: str, numbers: dict[str, Any]) -> str:
    """The name of what the numbers tell, by criteria that are stated with each robot's description."""
    return MODES[robot](numbers)


def hexapod(seen: Seen) -> dict[str, float]:
    """Jumping in numbers.

    Returns
    -------
    dict
        `frequency` [Hz] and `peak_share` of the largest peak in the spectrum of the trunk's height;
        `height_std` [m]; `airtime`, share of the time without ground contact; `std_x1`, of the first sensor;
        `tilt`, mean inclination of the trunk [rad]; `support`, share of steps in which the soft support
        against turning over acts.
    """
    z, tilt = seen.measures["z"], seen.measures["tilt"]
    frequency, share = peak(z, seen.rate / seen.every)
    return {
        "frequency": frequency,
        "peak_share": share,
        "height_std": float(z.std()),
        "airtime": float(np.mean(seen.measures["contacts"] == 0)),
        "std_x1": float(seen.sensors[:, 0].std()),
        "tilt": float(tilt.mean()),
        "support": float(np.mean(tilt > UPRIGHT)),
    }


def hexapod_mode(numbers: dict[str, float]) -> str:
    """Name what a hexapod does.

    - jumping: airtime over .3 with a peak share over .8
    - hopping: airtime over .02 otherwise
    - up-down: no more airtime than that, std_x1 over .05
    - quiet: none of these
    """
    if numbers["airtime"] > 0.3 and numbers["peak_share"] > 0.8:
        return "jumping"
    if numbers["airtime"] > 0.02:
        return "hopping"
    return "up-down" if numbers["std_x1"] > 0.05 else "quiet"


def snake(seen: Seen) -> dict[str, float]:
    """Rolling and crawling in numbers.

    Returns
    -------
    dict
        `roll`, mean rate at which the segments turn about their own long axes, its sign told by the right
        hand [rad/s]; `speed` of the centre of mass, mean over straight ways of 10 s [m/s]; `along` and
        `across`, mean velocity in the direction of the body and to its left [m/s]; `frequency` [Hz] and
        `peak_share` of the middle joint's first axis; `joint_std`, mean standard deviation of the joint
        angles [limits]; `height`, mean of the highest segment [m].
    """
    m, rate = seen.measures, seen.rate / seen.every
    centre = np.stack([m["cx"], m["cy"]], axis=1)
    stretch = max(1, min(round(STRETCH * rate), len(centre) - 1))
    ways = np.diff(centre[::stretch], axis=0)
    middle = 2 * (seen.motors // 4)  # 6 of 14: the first axis of joint 4 of 7
    frequency, share = peak(seen.sensors[:, middle], seen.rate)
    return {
        "roll": float(m["roll"].mean()),
        "speed": float(np.hypot(*ways.T).mean() * rate / stretch) if len(ways) else 0.0,
        "along": float(m["along"].mean()),
        "across": float(m["across"].mean()),
        "frequency": frequency,
        "peak_share": share,
        "joint_std": float(seen.sensors[:, : seen.motors].std(axis=0).mean()),
        "height": float(m["top"].mean()),
    }


def snake_mode(numbers: dict[str, float]) -> str:
    """Name what a snake does.

    - rolling: joint_std over .2 and roll over .3 rad/s in either direction
    - rolling in an arc: the same with a way of less than .1 m per radian, for it goes in circles
    - log-rolling: that much roll with stiffer joints, which is no behaviour
    - crawling: joint_std over .2 and speed over .03 m/s with a roll below .15 rad/s
    - writhing: joint_std over .2 otherwise
    - quiet: none of these
    """
    roll, moves = abs(numbers["roll"]), numbers["joint_std"] > LEAST_STD
    if roll > LEAST_ROLL:
        straight = numbers["speed"] > LEAST_WAY * roll
        return ("rolling" if straight else "rolling in an arc") if moves else "log-rolling"
    if not moves:
        return "quiet"
    return "crawling" if numbers["speed"] > LEAST_SPEED and roll < MOST_ROLL else "writhing"


DESCRIPTIONS: dict[str, Callable[[Seen], dict[str, float]]] = {"hexapod": hexapod, "snake": snake}
MODES: dict[str, Callable[[dict[str, float]], str]] = {"hexapod": hexapod_mode, "snake": snake_mode}


def peak(values: Floats, rate: float) -> tuple[float, float]:
    """Frequency of the largest peak in the spectrum [Hz], and its share of the variance.

    The spectrum is that of the values times Hann's window; all power within .1 Hz of the largest belongs to
    the peak, so it takes at least 20 s to tell two apart. A constant has no peak: (0, 0).
    """
    values = values - values.mean()
    if len(values) < 4 or not np.ptp(values) > 1e-9:
        return 0.0, 0.0
    power = np.abs(np.fft.rfft(values * np.hanning(len(values)))) ** 2
    frequency = np.fft.rfftfreq(len(values), 1 / rate)
    power[0] = 0.0  # what the window leaves of the mean
    largest = frequency[np.argmax(power)]
    near = np.abs(frequency - largest) < HALF_WIDTH + 1e-6  # 10 s have bins .1 Hz apart, but for rounding
    return float(largest), float(power[near].sum() / power.sum())


def spells(modes: list[str], seconds: float) -> dict[str, float]:
    """Longest unbroken stay in each mode [s], of windows of so many seconds one after the other."""
    longest: dict[str, float] = {}
    start = 0
    for i in range(1, len(modes) + 1):
        if i == len(modes) or modes[i] != modes[start]:
            longest[modes[start]] = max(longest.get(modes[start], 0.0), (i - start) * seconds)
            start = i
    return longest
