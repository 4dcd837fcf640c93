"""Which scales a distance is within: an exact look-up instead of a search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quantify.aliases import Floats

MAX_BINS = 250  # bins are bytes
LEAST = -128  # rows of bytes hold LEAST + bin, because processors compare signed bytes
UNSETTLED = 127
CELL_SHIFT = 11  # 4096 cells per octave: fewer leave more distances unsettled, more leave the cache
UNITS = 2**29  # range of the series in units; differences to the padding still fit into int32


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

    low, high = lowest[[0, -1]].view(np.float64).tolist()
    return Bins(np.int64(shift), np.int64(base), low, high, top, step)


class Cells(NamedTuple):
    """Look-up that is fast, and either exact or `UNSETTLED`: small integers in place of floats.

    The series is rounded to multiples of a unit, which moves a distance by no more than one unit. As in
    `Bins` the leading bits of a distance (as float32) choose a cell; cells are so small that nearly all keep
    clear of every eps by more than the rounding, and `bins` gives the bin of all distances in them at once:

        LEAST + bin = bins[(bits(max(distance, low)) >> CELL_SHIFT) - base],   or `UNSETTLED`

    Attributes
    ----------
    x : (d, N + padding) int32, the series in units; the padding is far away from everything
    """

    x: NDArray[np.int32]
    low: Any
    base: Any
    bins: NDArray[np.int8]


def make_cells(x: Floats, eps: Floats, padding: int) -> Cells:
    """Build the look-up for a (d, N) series and a strictly descending grid of at most `MAX_BINS` eps."""
    lowest = x.min(axis=1, keepdims=True)
    unit = float((x - lowest).max()) / UNITS
    units = np.full((len(x), x.shape[1] + padding), 2 * UNITS, np.int32)
    units[:, : x.shape[1]] = np.rint((x - lowest) / unit)

    edges = eps / unit
    low = int(np.clip(edges[-1] / 2, 1, UNITS))
    base, last = (int(np.float32(v).view(np.int32)) >> CELL_SHIFT for v in (low, 2 * UNITS))
    cells = (np.arange(base, last + 2, dtype=np.int32) << CELL_SHIFT).view(np.float32).astype(float)
    ascending = edges[::-1]
    bins = LEAST + len(edges) - np.searchsorted(ascending, cells[:-1])
    # 1 for the rounding of the series, a little for the rounding of numbers on the way.
    slack = 1.5 + cells * 2.0**-23
    before = np.searchsorted(ascending, (cells - slack)[:-1])
    after = np.searchsorted(ascending, (cells + slack)[1:], side="right")
    bins[before < after] = UNSETTLED
    return Cells(units, np.int32(low), np.int32(base), bins.astype(np.int8))
