"""What a snapshot must be to be restored: arrays of the body's shapes, of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robots.errors import RobotError


def check_snapshot(snapshot: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], robot: str) -> None:
    """Refuse a snapshot that lacks an array, or has one of another shape or type, as of another body.

    Numbers that are not finite are let in: the episode then ends at its first step.
    """
    for key, shape in shapes.items():
        needed = "whole numbers from 0 on" if key == "random" else "numbers"
        found = np.asarray(snapshot[key]) if key in snapshot else None
        if found is None:
            wrong = "is missing"
        elif found.shape != shape:
            wrong = f"has shape {found.shape}"
        elif found.dtype.kind not in ("iu" if key == "random" else "fiu"):
            wrong = f"has type {found.dtype}"
        elif key == "random" and (found < 0).any():
            wrong = f"holds {found.min()}"
        else:
            continue
        raise RobotError(
            f"snapshot[{key!r}] {wrong}: {robot} needs {needed} in shape {shape}; restore the snapshot of a "
            "body like this one"
        )
