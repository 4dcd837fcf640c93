"""Pictures of a robot: a camera that follows it over a patterned ground."""

from __future__ import annotations

import os
import re
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robots.errors import RobotError

GROUND_PERIOD = 4.0
"""Length after which the ground's pattern repeats [m]."""
GROUND_SIZE = 12 * GROUND_PERIOD
"""Half the edge of the ground that is drawn [m]; the ground that carries has no end."""


def has_display() -> bool:
    """Whether a window can be opened here: on Linux, whether the X server that DISPLAY names answers.

    Where it does not, the engines' own windows would end the whole process.
    """
    if sys.platform in ("win32", "darwin"):
        return True
    named = re.match(r"(?:unix|([^:/]*)):(\d+)", os.environ.get("DISPLAY", ""))
    if not named:
        return False
    host, number = named[1], int(named[2])
    place = f"/tmp/.X11-unix/X{number}"
    known: list[tuple[int, Any]] = [(socket.AF_UNIX, place), (socket.AF_UNIX, f"\0{place}")]
    for family, address in [(socket.AF_INET, (host, 6000 + number))] if host else known:
        with suppress(OSError), socket.socket(family) as probe:
            probe.settimeout(2)
            probe.connect(address)
            return True
    return False


def refuse_without_display() -> None:
    """Raise RobotError where no window can be opened."""
    if not has_display():
        raise RobotError(
            f"render_mode is 'human': no display answers (DISPLAY is {os.environ.get('DISPLAY', '')!r}); "
            "set DISPLAY, run under xvfb-run, or use render_mode 'rgb_array'"
        )


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
