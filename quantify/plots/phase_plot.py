"""The phase plot of a series with its Poincaré sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Counts, Floats
from quantify.errors import QuantifyError
from quantify.inputs import as_series
from quantify.plots.style import legend_above, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SECTIONS = ("#e07b00", "#008f7a")
COLOURS, STRETCH = 32, 1000
"""Colours of the third embedding, and the steps that are drawn colour by colour."""


@styled
def phase(series: ArrayLike, *, tau: int, length: int = 20_000, ax: Axes | None = None) -> Axes:
    """Delay embedding x(t) over x(t - tau), with Poincaré sections; the colour is the third embedding.

    The sections are the points at which x(t), or x(t - tau), has a maximum or minimum (over tau / 2 samples
    to both sides). Of a series of several observables the first is drawn.

    Parameters
    ----------
    series : (N,) or (N, d) array
    tau : int
        Delay in samples.
    length : int
        At most so many samples are drawn, from the start.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from quantify import plots
    >>> from quantify.systems import Lorenz
    >>> plots.phase(Lorenz().sample(2000, 1)[:, 0], tau=15).get_xlabel()
    '$x(t)$'
    """
    ax = new_axes() if ax is None else ax
    x = as_series(series)[0]
    if not 1 <= tau < len(x) // 3:
        raise QuantifyError(f"tau = {tau} must be at least 1 and below a third of the {len(x)} samples.")
    x = x[: length + 2 * tau]
    now, before, third = x[2 * tau :], x[tau:-tau], x[: -2 * tau]
    path = _trajectory(np.stack([now, before], axis=1), third[1:])
    ax.add_collection(path)
    for coordinate, shade, name in zip((now, before), SECTIONS, ("$x(t)$", r"$x(t-\tau)$"), strict=True):
        at = extrema(coordinate, max(1, tau // 2))
        label = f"extrema of {name}"
        ax.plot(now[at], before[at], ".", ms=2.2, mew=0, color=shade, label=label, rasterized=True)
    ax.autoscale_view()
    ax.set(xlabel="$x(t)$", ylabel=rf"$x(t-\tau)$,  $\tau={tau}$")
    ax.set_title("Phase plot", pad=14)
    ax.set_aspect("equal")
    bar = ax.figure.colorbar(path, ax=ax, aspect=30, pad=0.02)
    bar.set_label(r"$x(t-2\tau)$")
    legend_above(ax, ax.get_legend_handles_labels()[0], markerscale=3)
    return ax


def _trajectory(points: Floats, shade: Floats) -> Any:
    """A line through the points, each step with a colour of its own: steps of a colour are drawn at once.

    Later steps lie over earlier ones, to within a stretch.
    """
    from matplotlib.collections import PathCollection
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.path import Path

    low, high = float(shade.min()), float(shade.max())
    level = np.rint((COLOURS - 1) * (shade - low) / ((high - low) or 1)).astype(int)
    group = np.arange(len(shade)) // STRETCH * COLOURS + level
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    paths = []
    for steps in np.split(order, first[1:]):
        corners = np.stack([points[steps], points[steps + 1]], axis=1).reshape(-1, 2)
        paths.append(Path(corners, np.tile([Path.MOVETO, Path.LINETO], len(steps))))
    colours = LinearSegmentedColormap.from_list("blue to black", ["#a9c9ea", "#2b6cb0", "#08111c"])
    look: dict[str, Any] = {"facecolors": "none", "linewidths": 0.35, "rasterized": True}
    lines = PathCollection(paths, cmap=colours, **look)
    lines.set_array(low + level[order][first] * (high - low) / (COLOURS - 1))
    lines.set_clim(low, high)
    return lines


def extrema(x: Floats, reach: int) -> Counts:
    """Indices of the values that are the largest or smallest within `reach` samples to both sides.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.plots import extrema
    >>> extrema(np.array([0.0, 1.0, 0.0, 1.0, 2.0, 1.0]), 1).tolist()
    [1, 2, 4]
    """
    windows = np.lib.stride_tricks.sliding_window_view(x, 2 * reach + 1)
    middle = x[reach:-reach]
    extreme = (middle == windows.max(axis=1)) | (middle == windows.min(axis=1))
    return np.flatnonzero(extreme & (np.ptp(windows, axis=1) > 0)) + reach
