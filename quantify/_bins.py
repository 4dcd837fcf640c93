"""Which scales a distance is within: an exact look-up instead of a search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quantify.sums import Floats

MAX_BINS = 250  # bins are bytes


class Bins(NamedTuple):
    """Look-up from a distance to its bin: the number of eps that are not smaller than it.

    The bits of a positive float64, read as an integer, grow with its logarithm. Their leading part
    chooses a cell that contains at most one eps, so that one comparison settles the bin exactly:

        cell = (bits >> shift) - base;   bin = top[cell] - (bits > step[cell])

    for distances clipped to [low, high], which changes no bin.
    """

    shift: Any
    base: Any
    low: float
    high: float
    top: Any
    step: Any


def make_bins(eps: Floats) -> Bins:
    """Build the look-up for a strictly descending grid of at most `MAX_BINS` positive eps."""
    bits = np.ascontiguousarray(eps).view(np.int64)
    for precision in range(4, 53):
        shift = 52 - precision
        cells = bits >> shift
        if len(np.unique(cells)) == len(cells):
            break
    base = int(cells[-1]) - 1
    n_cells = int(cells[0]) - base + 2
    lowest = (np.arange(n_cells, dtype=np.int64) + base) << shift
    top = (bits[None, :] >= lowest[:, None]).sum(axis=1).astype(np.uint8)
    step = np.full(n_cells, np.iinfo(np.int64).max)
    step[cells - base] = bits
    edges = lowest.view(np.float64)
    return Bins(np.int64(shift), np.int64(base), float(edges[0]), float(edges[-1]), top, step)
