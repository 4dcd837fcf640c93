"""Pictures of a robot: a camera that follows it over a patterned ground."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pybullet as p
from numpy.typing import NDArray

GROUND_PERIOD = 4.0
"""Length after which the ground's pattern repeats [m]."""


def has_display() -> bool:
    """Whether a window can be opened here."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY"))


@dataclass(frozen=True)
class Camera:
    """Where the onlooker stands relative to the robot, and the size of the picture [pixels]."""

    distance: float = 2.0
    yaw: float = 40.0
    pitch: float = -25.0
    width: int = 640
    height: int = 480

    def lay_ground(self, client: int) -> None:
        pass

    def picture(self, client: int, centre: Sequence[float]) -> NDArray[np.uint8]:
        """Take a picture with the software renderer, which needs no display."""
        view = p.computeViewMatrixFromYawPitchRoll(
            [centre[0], centre[1], 0.3], self.distance, self.yaw, self.pitch, 0, 2
        )
        projection = p.computeProjectionMatrixFOV(45, self.width / self.height, 0.05, 60)
        _, _, rgba, _, _ = p.getCameraImage(
            self.width, self.height, view, projection, renderer=p.ER_TINY_RENDERER, physicsClientId=client
        )
        return np.ascontiguousarray(np.reshape(rgba, (self.height, self.width, 4))[..., :3].astype(np.uint8))

    def follow(self, client: int, centre: Sequence[float]) -> None:
        """Point the window's camera at the robot."""
        p.resetDebugVisualizerCamera(
            self.distance, self.yaw, self.pitch, [centre[0], centre[1], 0.3], physicsClientId=client
        )
