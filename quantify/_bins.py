"""Which scales a distance is within: an exact look-up instead of a search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quantify.sums import Floats

MAX_BINS = 250  # bins are bytes
UNSETTLED = 255
FINE_BITS = 10  # 1024 cells per octave: a table that stays in the first-level cache


class Bins(NamedTuple):
    """Look-up from a distance to its bin: the number of eps that are not smaller than it.

    The bits of a positive float64, read as an integer, grow with its logarithm. Their leading part
    chooses a cell that contains at most one eps, so that one comparison settles the bin exactly:

        cell = (bits >> shift) - base;   bin = top[cell] - (bits > step[cell])

    for distances clipped to [low, high], which changes no bin. Most of the time the first half of this is
    enough: in a finer look-up nearly all cells contain no eps, and `fine` gives the bin at once,

        bin = fine[(bits >> fine_shift) - fine_base],   or `UNSETTLED`
    """

    shift: Any
    base: Any
    low: float
    high: float
    top: Any
    step: Any
    fine_shift: Any
    fine_base: Any
    fine: Any


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

    fine_shift = 52 - FINE_BITS
    fine_base = int(lowest[0] >> fine_shift)
    cells = np.arange(int(lowest[-1] >> fine_shift) - fine_base + 1, dtype=np.int64) + fine_base
    fine = (bits[None, :] >= (cells << fine_shift)[:, None]).sum(axis=1).astype(np.uint8)
    fine[(bits >> fine_shift) - fine_base] = UNSETTLED

    low, high = lowest[[0, -1]].view(np.float64).tolist()
    return Bins(
        np.int64(shift), np.int64(base), low, high, top, step, np.int64(fine_shift), np.int64(fine_base), fine
    )
