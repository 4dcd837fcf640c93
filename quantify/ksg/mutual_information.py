"""Mutual information by the distances of nearest neighbours (Kraskov, Stögbauer and Grassberger)."""

from __future__ import annotations

import numpy as np

from quantify.aliases import Counts, Floats
from quantify.ksg import neighbours


def mutual_information(
    columns: Floats, split: int, k: int, algorithm: int, theiler: int
) -> tuple[float, float]:
    """Estimate between the first `split` coordinates and the rest, and the share of points with eps_i = 0.

    NaN if that is more than half of them.
    """
    local, zero = local_information(columns, split, k, algorithm, theiler)
    return float(local.mean()) if zero <= 0.5 else np.nan, zero


def local_information(
    columns: Floats, split: int, k: int, algorithm: int, theiler: int
) -> tuple[Floats, float]:
    """What each point contributes to the estimate, which is their mean; and the share with eps_i = 0."""
    from scipy.special import digamma  # slow to import

    n = columns.shape[1]
    counts, distance = neighbourhoods(columns, split, k, algorithm, theiler)
    psi = np.concatenate([[np.nan], digamma(np.arange(1, n + 1))])
    # Points admitted as neighbours of i, itself included: all but those in the Theiler window.
    i = np.arange(n)
    admitted = n - (np.minimum(i + theiler, n - 1) - np.maximum(i - theiler, 0))
    if algorithm == 1:
        marginals = psi[counts[0] + 1] + psi[counts[1] + 1]
    else:
        marginals = psi[counts[0]] + psi[counts[1]] + 1 / k
    return psi[k] + psi[admitted] - marginals, float(np.mean(distance == 0))


def neighbourhoods(
    columns: Floats, split: int, k: int, algorithm: int, theiler: int
) -> tuple[Counts, Floats]:
    """n_x and n_y as a (2, n) array, and the distances eps_i."""
    joint = neighbours.build(columns)
    distance, extent = neighbours.nearest(joint, k, theiler, split if algorithm == 2 else 0)
    # "As close as the farthest" is "strictly closer than the next number above it".
    radius = np.stack([distance, distance]) if algorithm == 1 else np.nextafter(extent, np.inf)
    counts = np.empty((2, columns.shape[1]), dtype=np.int64)
    for side, part in enumerate((columns[:split], columns[split:])):
        if len(part) == 1:
            counts[side] = neighbours.count_on_line(np.ascontiguousarray(part[0]), radius[side])
        else:
            counts[side] = neighbours.count(neighbours.build(part), radius[side])
        counts[side] -= neighbours.count_in_time(part, radius[side], theiler)
    return counts, distance
