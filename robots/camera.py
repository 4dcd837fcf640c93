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
GROUND_SIZE = 12 * GROUND_PERIOD
"""Half the edge of the ground that is drawn [m]; the ground that carries has no end."""


def has_display() -> bool:
    """Whether a window can be opened here."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY"))


def draw_ground(ground: int, client: int) -> None:
    """Hide the ground that carries and draw one with half-metre checks and a line every period.

    The drawn one stays where it is when the world is shifted: it looks the same after every period.
    """
    p.changeVisualShape(ground, -1, rgbaColor=[0, 0, 0, 0], physicsClientId=client)
    pixels = 128
    check = (np.indices((pixels, pixels)) // (pixels // 8)).sum(axis=0) % 2
    pattern = np.where(check[..., None], (204, 196, 180), (226, 220, 206)).astype(np.uint8)
    pattern[:2] = pattern[:, :2] = (130, 122, 110)
    # An uncompressed TGA picture: 18 bytes of header, then blue, green, red from the top left.
    header = bytes([0, 0, 2, *[0] * 9, pixels, 0, pixels, 0, 24, 0x20])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ground.tga")
        path.write_bytes(header + pattern[..., ::-1].tobytes())
        texture = p.loadTexture(str(path), physicsClientId=client)
    corners = [(GROUND_SIZE * x, GROUND_SIZE * y, 0.0) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    shape = p.createVisualShape(
        p.GEOM_MESH,
        vertices=corners,
        indices=[0, 1, 2, 0, 2, 3],
        uvs=[(x / GROUND_PERIOD, y / GROUND_PERIOD) for x, y, _ in corners],
        normals=[(0, 0, 1)] * 4,
        physicsClientId=client,
    )
    drawn = p.createMultiBody(0, baseVisualShapeIndex=shape, physicsClientId=client)
    p.changeVisualShape(drawn, -1, textureUniqueId=texture, physicsClientId=client)


@dataclass(frozen=True)
class Camera:
    """Where the onlooker stands: distance, height looked at [m]; yaw, pitch [degrees]; size [pixels]."""

    distance: float = 2.0
    yaw: float = 40.0
    pitch: float = -25.0
    look_at: float = 0.2
    width: int = 640
    height: int = 480

    def picture(self, client: int, position: Sequence[float]) -> NDArray[np.uint8]:
        """Take a picture of the robot at this position with the software renderer, which needs no display."""
        centre = [position[0], position[1], self.look_at]
        view = p.computeViewMatrixFromYawPitchRoll(centre, self.distance, self.yaw, self.pitch, 0, 2)
        projection = p.computeProjectionMatrixFOV(45, self.width / self.height, 0.01, 80)
        # Near plane and distance of the light are such that the ground casts no shadow on itself.
        _, _, rgba, _, _ = p.getCameraImage(
            self.width, self.height, view, projection, shadow=1, lightDirection=[1, -1, 3], lightDistance=20,
            lightAmbientCoeff=0.5, lightDiffuseCoeff=0.5, lightSpecularCoeff=0.1,
            flags=p.ER_NO_SEGMENTATION_MASK, renderer=p.ER_TINY_RENDERER, physicsClientId=client,
        )  # fmt: skip
        return np.reshape(rgba, (self.height, self.width, 4))[..., :3].astype(np.uint8)

    def follow(self, client: int, position: Sequence[float]) -> None:
        """Point the window's camera at the robot."""
        p.resetDebugVisualizerCamera(
            self.distance, self.yaw, self.pitch, [position[0], position[1], self.look_at],
            physicsClientId=client,
        )  # fmt: skip
