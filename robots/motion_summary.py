"""A robot's motion in brief: numbers of a whole recording in words, and curves over windows of time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[np.floating]]
"""As in `RobotEnv.motion`, an array each."""


def motion_in_words(motion: Columns, seconds: float) -> dict[str, str]:
    """Height, airtime and displacement, as far as they were observed, of a motion of so many seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from robots import motion_in_words
    >>> motion_in_words({"z": np.array([0.1, 0.3]), "contacts": np.array([0.0, 3.0])}, seconds=60)
    {'height': '0.200 ± 0.100 m', 'airtime': '50.0%'}
    """
    found = {}
    if "z" in motion:
        found["height"] = f"{motion['z'].mean():.3f} ± {motion['z'].std():.3f} m"
    if "contacts" in motion:
        found["airtime"] = f"{(motion['contacts'] == 0).mean():.1%}"
    if "x" in motion:
        way = np.hypot(motion["x"][-1] - motion["x"][0], motion["y"][-1] - motion["y"][0])
        found["displacement"] = f"{way:.2f} m in {seconds / 60:.1f} min"
    return found


def motion_in_windows(motion: Columns, windows: int) -> dict[str, NDArray[np.floating]]:
    """The motion in so many windows of equal length, or one per row if rows are fewer.

    Returns
    -------
    dict of arrays
        `start`, the first row of each window; `height`, its smallest and largest value `low` and `high`; the
        share of time without ground contact, `airtime`; the distance from the beginning, `displacement`.

    Examples
    --------
    >>> import numpy as np
    >>> from robots import motion_in_windows
    >>> zero = np.zeros(4)
    >>> found = motion_in_windows({"x": zero, "y": zero, "z": np.arange(4.0), "contacts": zero}, 2)
    >>> found["start"].tolist(), found["height"].tolist(), found["high"].tolist()
    ([0, 2], [0.5, 2.5], [1.0, 3.0])
    """
    x, y, z = motion["x"], motion["y"], motion["z"]
    edges = np.linspace(0, len(z), min(windows, len(z)) + 1).astype(int)[:-1]
    count = np.diff([*edges, len(z)])
    return {
        "start": edges,
        "height": np.add.reduceat(z, edges) / count,
        "low": np.minimum.reduceat(z, edges),
        "high": np.maximum.reduceat(z, edges),
        "airtime": np.add.reduceat((motion["contacts"] == 0).astype(float), edges) / count,
        "displacement": np.hypot(x - x[0], y - y[0])[edges],
    }
