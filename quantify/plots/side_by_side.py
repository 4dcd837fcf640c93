"""Groups compared: the complexities of all series and their medians, and counts of states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quantify.plots.style import MEMORY, STATE, STOCHASTIC, new_figure, styled
from quantify.statistics import known_median, median

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Mapping[str, Sequence[float | None]]
Points = Sequence[tuple[float, float]]
BESIDE = {"D": "dimension $D$", "std": "amplitude (std)", "PI": "predictive inf. [nats]"}


@styled
def groups(panels: Mapping[str, Mapping[str, Values]]) -> Figure:
    """Core complexity of groups of series; dimension, amplitude and predictive information beside.

    Bars are medians of memory and state, circles single series, a stroke their median with its interval.
    Where most series have no value there is no median, and no bar: the few that have one are not the group.

    Parameters
    ----------
    panels : dict
        A row of axes for each title: the groups in it by name, from top to bottom, with the values of all
        their series as `E_core`, `E_state`, `E_mem`, `D`, `std`, `PI` and, for linear surrogates,
        `surrogate`. None is a series without a value; in `E_core` it ranks below all others.

    Examples
    --------
    >>> from quantify import plots
    >>> quantities = ("E_core", "E_state", "E_mem", "D", "std", "PI", "surrogate")
    >>> figure = plots.groups({"two flies": {"at rest": dict.fromkeys(quantities, [1.0, 2.0])}})
    >>> len(figure.axes)
    4
    """
    figure = new_figure(10, 0.9 + 2.6 * len(panels))
    axes = figure.subplots(len(panels), 4, squeeze=False, width_ratios=[3, 1, 1, 1])
    for (left, *others), (title, named) in zip(axes, panels.items(), strict=True):
        for y, values in enumerate(named.values()):
            _draw_complexity(left, y, values)
        left.set_yticks(range(len(named)), list(named))
        left.set_xlim(left=0)
        left.set(title=title, xlabel="core complexity [nats]")
        for ax, (quantity, words) in zip(others, BESIDE.items(), strict=True):
            for y, values in enumerate(named.values()):
                _dots(ax, values[quantity], y, ms=2.5, mec="0.5", mew=0.6)
                if (middle := known_median(values[quantity])) and 2 * middle.n >= len(values[quantity]):
                    ax.plot(middle.value, y, "|", color="black", ms=11, mew=2)
            ax.set_yticks([])
            ax.margins(x=0.08)
            ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
            ax.set_xlabel(words)
        for ax in (left, *others):
            ax.set_ylim(len(named) - 0.5, -0.5)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


@styled
def counts(groups: Mapping[str, Mapping[str, int]], words: str) -> Figure:
    """How often something was found in each of several states: a bar for each group, from top to bottom.

    Parameters
    ----------
    groups : dict of dict
        By the name of the group the counts by state; a state may be missing.
    words : str
        What is counted.

    Examples
    --------
    >>> from quantify import plots
    >>> figure = plots.counts({"by day": {"awake": 9, "asleep": 1}, "by night": {"asleep": 8}}, "flies")
    >>> [int(bar.get_width()) for bar in figure.axes[0].patches]
    [9, 0, 1, 8]
    """
    figure = new_figure(7.2, 0.9 + 0.35 * len(groups))
    axes = figure.subplots()
    left = np.zeros(len(groups), int)
    for state in dict.fromkeys(state for found in groups.values() for state in found):
        widths = [found.get(state, 0) for found in groups.values()]
        axes.barh(list(groups), widths, left=left, label=state)
        left = left + widths
    axes.invert_yaxis()
    axes.set_xlabel(words)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    return figure


@styled
def plane(panels: Mapping[str, Mapping[str, Points]], words: tuple[str, str]) -> Figure:
    """Many behaviours as points in a plane, a panel for each group of them and a colour for each kind.

    Parameters
    ----------
    panels : dict of dict of sequence
        By title of the panel and kind the points.
    words : (str, str)
        What the axes are.

    Examples
    --------
    >>> from quantify import plots
    >>> figure = plots.plane({"early": {"slow": [(0.5, 1.0)]}, "late": {"quick": [(2.0, 3.0)]}}, ("D", "E"))
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['early', 'late']
    """
    figure = new_figure(2.8 * max(2, len(panels)), 3.4)
    axes = np.atleast_1d(figure.subplots(1, len(panels), sharex=True, sharey=True))
    kinds = sorted({kind for groups in panels.values() for kind in groups})
    for ax, (title, points) in zip(axes, panels.items(), strict=True):
        for i, kind in enumerate(kinds):
            x, y = np.array(points.get(kind) or [(np.nan, np.nan)], dtype=float).T
            ax.plot(x, y, "o", ms=3.5, alpha=0.7, mew=0, color=f"C{i}", label=kind)
        ax.set_title(title)
        ax.set_xlabel(words[0])
    axes[0].set_ylabel(words[1])
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(kinds), frameon=False)
    return figure


def _draw_complexity(ax: Any, y: int, values: Values) -> None:
    first = "" if y == 0 else "_"  # one entry per kind in the legend
    core = median([-math.inf if value is None else value for value in values["E_core"]])
    medians = {name: known_median(values[name]) for name in ("E_state", "E_mem", "surrogate")}
    parts = [medians[name] if math.isfinite(core.value) else None for name in ("E_state", "E_mem")]
    state, memory = (0.0 if found is None else found.value for found in parts)
    ax.barh(y, memory, 0.62, color=MEMORY, alpha=0.55, label=f"{first}memory (median)")
    ax.barh(y, state, 0.62, left=memory, color=STATE, alpha=0.55, label=f"{first}state (median)")
    _dots(ax, values["E_core"], y, ms=3, mec="black", mew=0.7, label=f"{first}core, one run")
    if math.isfinite(core.value):
        if core.n > 1:
            ends = [core.lo if math.isfinite(core.lo) else 0.0, core.hi]
            ax.plot(ends, [y, y], "-", color="black", lw=1.6, label=f"{first}core: interval of the median")
        ax.plot(core.value, y, "|", color="black", ms=12, mew=2, label=f"{first}core: median")
    if linear := medians["surrogate"]:
        diamond = {"ms": 4.5, "mfc": "none", "mec": STOCHASTIC, "mew": 1.2}
        ax.plot(linear.value, y, "D", **diamond, label=f"{first}linear surrogate (median)")
    if without := sum(value is None for value in values["E_core"]):
        words = f"{without} of {len(values['E_core'])} without a value"
        below = {"xytext": (-7, -8), "textcoords": "offset points", "ha": "right", "va": "center"}
        ax.annotate(words, (0, y), **below, color=STATE, fontsize=6, annotation_clip=False)


def _dots(ax: Any, values: Sequence[float | None], y: float, **look: Any) -> None:
    """The values that exist, at heights at which they do not hide one another."""
    found = [v for v in values if v is not None]
    heights = y + (np.linspace(-0.2, 0.2, len(found)) if len(found) > 1 else np.zeros(len(found)))
    (dots,) = ax.plot(found, heights, "o", mfc="white", clip_on=False, **look)
    dots.set_in_layout(bool(found))  # nothing lies in the corner of the figure, and would need room there
