"""Pictures of a robot: a camera that follows it over a patterned ground."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GROUND_PERIOD = 4.0
"""Length after which the ground's pattern repeats [m]."""
GROUND_SIZE = 12 * GROUND_PERIOD
"""Half the edge of the ground that is drawn [m]; the ground that carries has no end."""


def has_display() -> bool:
    """Whether a window can be opened here."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY"))


def ground_pattern(pixels: int = 128) -> NDArray[np.uint8]:
    """One period of the ground: half-metre checks and a line at the edge, (pixels, pixels, 3)."""
    check = (np.indices((pixels, pixels)) // (pixels // 8)).sum(axis=0) % 2
    pattern = np.where(check[..., None], (204, 196, 180), (226, 220, 206)).astype(np.uint8)
    pattern[:2] = pattern[:, :2] = (130, 122, 110)
    return pattern


@dataclass(frozen=True)
class Camera:
    """Where the onlooker stands: distance, height looked at [m]; yaw, pitch [degrees]; size [pixels]."""

    distance: float = 2.0
    yaw: float = 40.0
    pitch: float = -25.0
    look_at: float = 0.2
    width: int = 640
    height: int = 480
