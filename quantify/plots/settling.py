"""Numbers that settle, or do not: complexity and dimension over the embedding, the delay and the length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quantify.convergence_data import Convergence, Sweep
from quantify.plots.style import MEMORY, STATE, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {"m_max": "steps looked at together, $m_{max}$", "tau": r"delay $\tau$ [samples]", "n": "samples"}
LINES: dict[str, dict[str, Any]] = {
    # Wide, so that it is seen behind memory where there is no state.
    "E_core": {"color": "black", "marker": "o", "lw": 2.6, "ms": 5, "label": "core complexity"},
    "E_mem": {"color": MEMORY, "marker": "s", "ms": 3, "label": "memory complexity"},
    "E_state": {"color": STATE, "marker": "^", "ms": 3, "label": "state complexity"},
}


@styled
def convergence(found: Convergence) -> Figure:
    """Complexity (above) and dimension (below) over m_max, tau and the length, with 95 % intervals.

    A dotted line marks the value that the other columns use. Hollow markers stand alone: without a scaling
    region the number is of another kind. A number to be quoted is level in the first and
    the last column; how much it moves in the middle is what the choice of the delay costs.

    Examples
    --------
    >>> from quantify import convergence, plots
    >>> from quantify.systems import Logistic
    >>> figure = plots.convergence(convergence(Logistic().sample(2000, 1), m_max=3, replicates=5))
    >>> len(figure.axes)
    6
    """
    figure = new_figure(8.4, 4.4)
    axes = figure.subplots(2, 3, sharex="col", sharey="row", height_ratios=[3, 2])
    for column, sweep in zip(axes.T, found.sweeps, strict=True):
        upper, lower = column
        for quantity, look in LINES.items():
            _draw(upper, sweep, quantity, look)
        _draw(lower, sweep, "D", {"color": "black", "marker": "o", "ms": 3})
        for ax in column:
            ax.axvline(sweep.chosen, color="0.6", lw=0.8, ls=":", zorder=0)
        lower.set_xlabel(LABELS[sweep.setting])
        if sweep.setting == "n":
            lower.set_xscale("log")
            lower.set_xticks(sweep.values, [f"{n:,}" for n in sweep.values], rotation=30)
            lower.minorticks_off()
        else:
            lower.set_xticks(sweep.values)
            upper.set_title(f"{found.samples:,} samples", color="0.4")
    axes[0][0].set_ylabel("complexity [nats]")
    axes[1][0].set_ylabel("dimension $D$")
    for row in axes:
        row[0].set_ylim(bottom=min(0.0, row[0].get_ylim()[0]))
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure


def _draw(ax: Axes, sweep: Sweep, quantity: str, look: dict[str, Any]) -> None:
    """A line through the numbers over scaling regions, with their intervals as a band; the others alone."""
    found = sweep.estimates[quantity]
    at, region = np.array(sweep.values), np.array(sweep.region, dtype=bool)
    value = np.array([e.value for e in found])
    low, high = np.array([e.interval for e in found]).T
    ax.plot(at, np.where(region, value, np.nan), **look)
    ax.fill_between(at, low, high, where=region.tolist(), color=look["color"], alpha=0.15, lw=0)
    alone = look | {"mfc": "none", "ls": "none", "label": "_"}
    ax.plot(at, np.where(region, np.nan, value), **alone)
