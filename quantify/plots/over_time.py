"""Complexities over time: behaviours that follow one another, such as those of a robot that learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quantify.plots.phase_plot import SECTIONS
from quantify.plots.style import MEMORY, STATE, STOCHASTIC, new_figure, note, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = tuple[Sequence[tuple[float, Mapping[str, Any]]], Sequence[tuple[float, float]]]
"""Medians over time, and the single values behind them."""
MOST_NAMED = 2
"""So many runs are named in a title; more would not fit."""
# Colour, marker, its size, width of the line, and words. Core comes first, large and broad: where state is 0,
# memory lies on top of it, and both are to be seen.
LOOKS = {
    "E_core": ("black", "^", 8.5, 3.0, "core = state + memory"),
    "E_mem": (MEMORY, "s", 3.5, 1.0, "memory"),
    "E_state": (STATE, "o", 3.5, 1.0, "state"),
    "D": (SECTIONS[1], "o", 4.0, 1.0, "dimension"),
}


@dataclass(frozen=True)
class ProgressPoint:
    """The numbers of one behaviour in the figure of learning progress."""

    group: str
    """What learns, such as robot and rule; each has axes of its own."""
    run: str
    """Its file or name; each has a line of its own."""
    minutes: float
    """Learning time."""
    values: Mapping[str, tuple[float | None, float | None]]
    """Value and error of E_core, E_mem, E_state, D; and of E_core on common scales, as "common", if there.
    What has no value (None or NaN), such as D without a scaling region, is left out of its line."""


@styled
def progress(
    points: Sequence[ProgressPoint], common: tuple[float, float] | None = None, title: str = ""
) -> Figure:
    """Complexities and dimension against learning time.

    Several runs of a group: a thin line each, and their median as a thick one. Other groups: a row of axes
    each, on the same scale. Bars are sampling errors; on common scales, the spread over them. A cross at 0
    stands for a behaviour without a dimension. If there is no point, the figure says so.

    Parameters
    ----------
    points : sequence of ProgressPoint
    common : (float, float), optional
        Core complexity is drawn again over these scales, which are the same for all behaviours. A behaviour
        without such scales is left out of that line.
    title : str
        Heading of the whole figure.

    Examples
    --------
    >>> from quantify import plots
    >>> values = dict.fromkeys(("E_core", "E_mem", "E_state", "D"), (1.0, 0.1))
    >>> figure = plots.progress([plots.ProgressPoint("a fly", "first day", t, values) for t in (1, 2)])
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['complexity [nats]', 'dimension $D$']
    """
    from matplotlib.ticker import MaxNLocator

    groups = list(dict.fromkeys(point.group for point in points))
    rows = max(1, len(groups))
    figure = new_figure(7.2, 3.1 * rows)
    axes: Any = figure.subplots(rows, 2, squeeze=False, sharex=True, sharey="col", width_ratios=(2, 1))
    figure.suptitle(title, fontsize=9)
    for (left, right), group in zip(axes, groups, strict=False):
        mine = sorted((point for point in points if point.group == group), key=lambda point: point.minutes)
        for name, (shade, marker, size, width, words) in LOOKS.items():
            look = {"color": shade, "marker": marker, "ms": size}
            _lines(right if name == "D" else left, mine, name, words, width, **look)
        if common is not None:
            words = f"core on $\\epsilon$ from {common[0]:g} to {common[1]:g}"
            _lines(left, mine, "common", words, 1.0, color="0.5", marker="^", ms=5, ls=":")
        if without := sorted({point.minutes for point in mine if not _known(point, "D")}):
            look = {"color": STOCHASTIC, "ms": 6, "clip_on": False, "label": "none: no scaling region"}
            right.plot(without, np.zeros(len(without)), "x", **look)
            right.legend(loc="best")
        runs = sorted({Path(point.run).stem for point in mine})
        left.set_title(f"{group}: {', '.join(runs) if len(runs) <= MOST_NAMED else f'{len(runs)} runs'}")
        left.legend(loc="best")
    for left, right in axes:
        left.set(xlabel="learning time [min]", ylabel="complexity [nats]")
        right.set(xlabel="learning time [min]", ylabel="dimension $D$")
    # Only now: limits that are set before everything is drawn would not grow with it.
    for ax in axes.flat:
        if not points:
            note(ax, "nothing could be quantified")
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        ax.set_xlim(left=0)
        ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
        ax.tick_params(labelbottom=True, labelleft=True)
    return figure


def _known(point: ProgressPoint, name: str) -> bool:
    """Whether a behaviour has this number: one without a scaling region has no dimension."""
    value = point.values.get(name, (None,))[0]
    return value is not None and bool(np.isfinite(value))


def _lines(
    ax: Axes, points: Sequence[ProgressPoint], name: str, words: str, width: float, **look: Any
) -> None:
    points = [point for point in points if _known(point, name)]
    runs = list(dict.fromkeys(point.run for point in points))
    look = {"mfc": "white", "ls": "-"} | look
    several = len(runs) > 1
    for run in runs:
        mine = [(point.minutes, *point.values[name]) for point in points if point.run == run]
        t, y, error = (np.array(column, dtype=float) for column in zip(*mine, strict=True))
        faint = {"alpha": 0.4, "lw": 0.7 * width} if several else {"lw": 1.2 * width, "label": words}
        # No bar where no error is known.
        ax.errorbar(t, y, np.nan_to_num(error), capsize=2 * width, elinewidth=0.8, **look, **faint)
    if several:
        known = np.array([(p.minutes, p.values[name][0]) for p in points], dtype=float)
        times = np.unique(known[:, 0])
        middle = [np.median(known[known[:, 0] == t, 1]) for t in times]
        ax.plot(times, middle, lw=1.6 * width, **look | {"mfc": look["color"]}, label=f"{words} (median)")


@styled
def medians(curves: Mapping[str, Curve], labels: Mapping[str, str], title: str = "") -> Figure:
    """Medians over learning time as lines in the bands of their intervals, single values as open markers.

    Core complexity on top, amplitude and dimension below. Without any value the axes stay empty.

    Parameters
    ----------
    curves : dict
        Core complexity on three kinds of scales as "common", "relative" and "auto", amplitude and dimension
        as "std" and "D": of each the medians, as pairs of time and median in plain form (`value`, `lo`,
        `hi`), and the single values behind them, as pairs of time and value.
    labels : dict
        Words for the legend, by name; those without have no entry.
    title : str
        Heading of the figure.

    Examples
    --------
    >>> from quantify import plots
    >>> curve = ([(t, {"value": t, "lo": t - 1, "hi": t + 1}) for t in (1.0, 2.0)], [(1.0, 0.5), (2.0, 3.0)])
    >>> names = ("common", "relative", "auto", "std", "D")
    >>> figure = plots.medians(dict.fromkeys(names, curve), {"common": "scales from .1 to .4"})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['scales from .1 to .4']
    """
    figure = new_figure(6.5, 5.6)
    top, amplitude, dimension = axes = figure.subplots(3, 1, sharex=True, height_ratios=[2.6, 1, 1])
    for ax, name, colour, style in (
        (top, "common", "black", "^-"),
        (top, "relative", MEMORY, "o--"),
        (top, "auto", STOCHASTIC, "s:"),
        (amplitude, "std", STATE, "o-"),
        (dimension, "D", SECTIONS[1], "o-"),
    ):
        found, single = curves[name]
        for time, value in single:
            ax.plot(time, value, style[0], ms=2.5, mfc="none", mec=colour, mew=0.5, alpha=0.5)
        if found:
            times = [time for time, _ in found]
            middle, low, high = ([median[key] for _, median in found] for key in ("value", "lo", "hi"))
            ax.fill_between(times, low, high, color=colour, alpha=0.12, lw=0)
            ax.plot(times, middle, style, color=colour, ms=4, lw=1.4, label=labels.get(name, ""))
    top.set(ylabel="core complexity [nats]", title=title)
    if top.get_legend_handles_labels()[1]:
        top.legend()
    amplitude.set(ylabel="amplitude (std)")
    dimension.set(ylabel="dimension $D$", xlabel="learning time [min]")
    for ax in axes:
        bottom, height = min(0.0, ax.get_ylim()[0]), ax.get_ylim()[1]
        # Room for the markers of the largest values: seen from 0, the margin around all of them is small.
        ax.set_ylim(bottom, height + 0.06 * (height - bottom))
    return figure
