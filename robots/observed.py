"""What was observed of a robot over a while, as arrays, and how a behaviour gets its numbers and its name.

What to look for in a robot, and what to call it, is its `Description`, stated in the robot's own file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robots.body import Floats

HALF_WIDTH = 0.1
"""Half the width of a spectral peak [Hz]: power this near to the largest counts as the peak's."""


@dataclass(frozen=True)
class Observed:
    """Sensors and motion of a robot over a while, as columns.

    Examples
    --------
    >>> import numpy as np
    >>> from robots import Observed
    >>> t = np.arange(500) / 50
    >>> ten_seconds = Observed(50.0, 5, np.zeros((500, 14)), {"z": np.sin(t[::5])}, 14)
    >>> second = ten_seconds.part(10, 20)  # rows of the motion, of which there are ten per second here
    >>> second.sensors.shape, second.motion["z"].shape
    ((50, 14), (10,))
    """

    rate: float
    """Sensor rows per second."""
    every: int
    """A row of `motion` belongs to every so many rows of `sensors`."""
    sensors: Floats
    """(N, n): all sensors."""
    motion: dict[str, Floats]
    """(N / every,) each: columns by name, as in `RobotEnv.motion`."""
    motors: int
    """The first so many sensors are joint angles."""

    def part(self, start: int, stop: int) -> Observed:
        """Rows start to stop of the motion, and the sensors that belong to them."""
        return Observed(
            self.rate,
            self.every,
            self.sensors[start * self.every : stop * self.every],
            {name: values[start:stop] for name, values in self.motion.items()},
            self.motors,
        )


@dataclass(frozen=True)
class Description:
    """What to look for in a robot.

    Attributes
    ----------
    numbers
        From what was observed to the numbers of the behaviour.
    mode
        From these numbers to the name of the behaviour.
    columns
        The numbers that stand in tables: by name the heading and the format.
    telling
        The number that tells best whether the robot does anything.

    Examples
    --------
    >>> from robots import Description
    >>> lift = Description(
    ...     numbers=lambda observed: {"height": float(observed.motion["z"].mean())},
    ...     mode=lambda numbers: "flying" if numbers["height"] > 1 else "grounded",
    ...     columns={"height": ("height [m]", ".2f")},
    ... )
    >>> lift.mode({"height": 0.3})
    'grounded'
    >>> lift.headings, lift.cells({"height": 0.3})
    (['height [m]'], ['0.30'])
    """

    numbers: Callable[[Observed], dict[str, float]]
    mode: Callable[[dict[str, float]], str]
    columns: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    telling: str = ""

    @property
    def headings(self) -> list[str]:
        """Headings of a table of the numbers."""
        return [heading for heading, _ in self.columns.values()]

    def cells(self, numbers: Mapping[str, Any]) -> list[str]:
        """The numbers as they stand in a table; empty where there are none."""
        return [
            format(numbers[key], form) if key in numbers else "" for key, (_, form) in self.columns.items()
        ]


def peak(values: Floats, rate: float) -> tuple[float, float]:
    """Frequency of the largest peak in the spectrum [Hz], and its share of the variance.

    The spectrum is that of the values times Hann's window; all power within .1 Hz of the largest belongs to
    the peak, so it takes at least 20 s to tell two apart. A constant has no peak: (0, 0).

    Examples
    --------
    >>> import numpy as np
    >>> from robots import peak
    >>> t = np.arange(1000) / 50
    >>> frequency, share = peak(np.sin(2 * np.pi * 1.5 * t), rate=50)
    >>> round(frequency, 3), round(share, 3)
    (1.5, 1.0)
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


def longest_stays(modes: list[str], seconds: float) -> dict[str, float]:
    """Longest unbroken stay in each mode [s], of windows of so many seconds one after the other.

    Examples
    --------
    >>> from robots import longest_stays
    >>> longest_stays(["quiet", "rolling", "rolling", "quiet"], 10.0)
    {'quiet': 10.0, 'rolling': 20.0}
    """
    longest: dict[str, float] = {}
    start = 0
    for i in range(1, len(modes) + 1):
        if i == len(modes) or modes[i] != modes[start]:
            longest[modes[start]] = max(longest.get(modes[start], 0.0), (i - start) * seconds)
            start = i
    return longest
