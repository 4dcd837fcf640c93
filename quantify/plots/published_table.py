"""A published table and the same numbers made again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quantify.plots.style import new_figure, styled
from quantify.published import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS = 4
"""Panels in a line."""


@styled
def published(rows: Sequence[Row], reference: str = "paper") -> Figure:
    """Published values as open circles, ours as dots with their intervals, a panel for each quantity.

    Examples
    --------
    >>> from quantify import plots
    >>> from quantify.published import compare
    >>> table = {"Lorenz": {"paper": {"D": 2.06}, "tolerance": {"D": 0.05}}}
    >>> figure = plots.published(compare(table, ["D"], {"Lorenz": [{"D": 2.03}, {"D": 2.08}]}))
    >>> len(figure.axes)
    1
    """
    quantities = list(dict.fromkeys(row.quantity for row in rows))
    lines = -(-len(quantities) // ACROSS)
    figure = new_figure(7.2, 2.2 * lines)
    for i, quantity in enumerate(quantities):
        shown = [row for row in rows if row.quantity == quantity]
        names, ours = [row.column for row in shown], [row.ours for row in shown]
        ends = [[row.ours - row.low for row in shown], [row.high - row.ours for row in shown]]
        axes = figure.add_subplot(lines, ACROSS, i + 1, title=quantity)
        axes.errorbar(names, ours, ends, fmt="k.", label="ours")
        paper = [np.nan if row.paper is None else row.paper for row in shown]
        axes.plot(names, paper, "o", mfc="none", label=reference)
        axes.tick_params("x", rotation=90)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right")
    return figure
