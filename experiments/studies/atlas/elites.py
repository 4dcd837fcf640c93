"""Search instead of sampling: MAP-Elites keeps the best setting in every cell of a plane of two measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.errors import ExperimentError
from experiments.studies.atlas.space import Space
from quantify.aliases import Floats

CELLS = 20
"""Cells of the plane in either direction."""
SPREAD = 0.15
"""Standard deviation of a change, in units of the range of a setting."""
FIRST = 0.25
"""Share of all settings that fill the space evenly before any is varied."""
Scores = tuple[float, float, float]
"""Goal and both measures of a setting; NaN where it has none."""


@dataclass(frozen=True)
class Plane:
    """The plane of two quantities, cut into cells."""

    x: tuple[float, float]
    y: tuple[float, float]

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """The cell of a point; what is beyond the edge belongs to the last one. None for no number.

        >>> Plane((0, 4), (0, 6)).cell(0.3, 99.0)
        (1, 19)
        """
        if not (np.isfinite(x) and np.isfinite(y)):
            return None
        shares = [(v - low) / (high - low) for v, (low, high) in ((x, self.x), (y, self.y))]
        i, j = (int(np.clip(share * CELLS, 0, CELLS - 1)) for share in shares)
        return i, j


def map_elites(
    space: Space, evaluate: Callable[[Floats], list[Scores]], n: int, batch: int, seed: int, plane: Plane
) -> None:
    """Try n settings: at first some that fill the space, then changes of those kept in cells of the plane.

    `evaluate` gets points of the unit cube and keeps what it finds.
    """
    try:
        from ribs.archives import GridArchive
        from ribs.emitters import GaussianEmitter
    except ImportError as error:
        raise ExperimentError("--search map-elites needs pyribs; pip install 'selforg[atlas]'") from error
    size = len(space.axes)
    shape: dict[str, Any] = {"dims": (CELLS, CELLS), "ranges": (plane.x, plane.y)}
    archive = GridArchive(solution_dim=size, seed=seed, **shape)
    first = space.design(min(n, max(batch, round(FIRST * n))), seed)
    bounds = [(0.0, 1.0)] * size
    emitter = GaussianEmitter(
        archive, sigma=SPREAD, initial_solutions=first, bounds=bounds, batch_size=batch, seed=seed
    )
    tried = 0
    while tried < n:
        points = np.asarray(emitter.ask())[: n - tried]
        tried += len(points)
        scores = np.array(evaluate(points), dtype=float).reshape(-1, 3)
        known = np.isfinite(scores).all(axis=1)
        if known.any():
            archive.add(points[known], scores[known, 0], scores[known, 1:])
        elif archive.empty:
            raise ExperimentError(
                f"none of the first {tried} settings has both measures and the goal; choose others, or "
                "--search design to see what there is"
            )
