"""Rewards, for those who want to compare a learned policy with a self-organised one: the robots need none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Info = dict[str, Any]
Reward = Callable[[NDArray[np.float32], NDArray[np.float32], Info], float]
"""From the new observation, the action and the info of a step to its reward."""


def forward(observation: NDArray[np.float32], action: NDArray[np.float32], info: Info) -> float:
    """Velocity of the base along the world's x-axis [m/s]."""
    return float(info["velocity"][0])


REWARDS: dict[str, Reward | None] = {"none": None, "forward": forward}
"""By name; None is 0."""
