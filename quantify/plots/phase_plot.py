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
    from matplotlib.collections import LineCollection

    ax = new_axes() if ax is None else ax
    x = as_series(series)[0]
    if not 1 <= tau < len(x) // 3:
        raise QuantifyError(f"tau = {tau} must be at least 1 and below a third of the {len(x)} samples.")
    x = x[: length + 2 * tau]
    now, before, third = x[2 * tau :], x[tau:-tau], x[: -2 * tau]
    points = np.stack([now, before], axis=1)
    steps = list(np.stack([points[:-1], points[1:]], axis=1))
    path = LineCollection(steps, cmap=_blue_to_black(), linewidths=0.35, rasterized=True)
    path.set_array(third[1:])
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


def _blue_to_black() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("blue to black", ["#a9c9ea", "#2b6cb0", "#08111c"])


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
