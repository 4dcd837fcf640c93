"""Figures of many behaviours: every value is drawn, and those that do not exist are not."""

import math

import numpy as np
import pytest

from quantify import plots
from quantify.statistics import median

NAMES = ("E_core", "E_state", "E_mem", "D", "std", "PI", "surrogate")


def drawn(ax, marker):
    """Places of all markers of a kind."""
    lines = [line for line in ax.get_lines() if line.get_marker() == marker]
    return sorted(float(x) for line in lines for x in np.ravel(line.get_xdata()))


def test_groups_show_all_values_their_medians_and_how_many_have_none() -> None:
    some = {name: [1.0, 2.0, 4.0] for name in NAMES}
    one_failed = some | {"E_core": [None, 2.0, 3.0], "surrogate": [None] * 3, "PI": [None] * 3}
    none = {name: [None, None] for name in NAMES}
    figure = plots.groups({"flies": {"day": some, "night": one_failed, "dead": none}})
    core, dimension, _, information = figure.axes
    assert [label.get_text() for label in core.get_yticklabels()] == ["day", "night", "dead"]
    assert drawn(core, "o") == [1.0, 2.0, 2.0, 3.0, 4.0] and drawn(dimension, "o") == [
        1.0,
        1.0,
        2.0,
        2.0,
        4.0,
        4.0,
    ]
    # The failure ranks below the others: the middle of (-inf, 2, 3); of the dead there is none.
    assert drawn(core, "|") == [median([1.0, 2.0, 4.0]).value, median([-math.inf, 2.0, 3.0]).value]
    assert drawn(core, "D") == [2.0] and drawn(information, "|") == [2.0]
    assert [text.get_text() for text in core.texts] == ["1 of 3 without a value", "2 of 2 without a value"]


def test_few_series_with_a_value_are_not_their_group() -> None:
    some = {name: [1.0, 2.0, 4.0] for name in NAMES}
    figure = plots.groups({"flies": {"day": some, "night": {name: [None, None, 9.0] for name in NAMES}}})
    core, dimension, *_ = figure.axes
    assert drawn(core, "o")[-1] == drawn(dimension, "o")[-1] == 9.0
    assert drawn(core, "|") == drawn(dimension, "|") == [2.0]
    assert sorted(bar.get_width() for bar in core.patches) == [0.0, 0.0, 2.0, 2.0]


@pytest.mark.parametrize("runs", [1, 3])
def test_progress_has_a_line_per_run_and_the_median_of_several(runs: int) -> None:
    points = [
        plots.ProgressPoint(
            "a fly", f"{run}.h5", t, dict.fromkeys(("E_core", "E_mem", "E_state", "D"), (run * t, None))
        )
        for run in range(runs)
        for t in (2.0, 1.0)
    ]
    left, right = plots.progress(points, (0.1, 0.4)).axes
    (label,) = right.get_legend_handles_labels()[1]
    assert (label == "dimension (median)") == (runs > 1)
    middle = right.get_lines()[-1]
    assert middle.get_xdata().tolist() == [1.0, 2.0] if runs == 1 else list(middle.get_ydata()) == [1.0, 2.0]
    # No behaviour has these scales.
    assert not any("from 0.1 to 0.4" in label for label in left.get_legend_handles_labels()[1])


@pytest.mark.parametrize("missing", [None, math.nan])
def test_progress_says_why_there_is_no_dimension(missing: float | None) -> None:
    values = {"E_core": (1.0, 0.1), "E_mem": (1.0, 0.1), "E_state": (0.0, 0.1)}
    times = {1.0: (missing, missing), 2.0: (1.5, 0.1)}
    points = [plots.ProgressPoint("a fly", "day", t, values | {"D": D}) for t, D in times.items()]
    right = plots.progress(points).axes[1]
    (cross,) = [line for line in right.lines if line.get_marker() == "x"]
    assert cross.get_xdata().tolist() == [1.0]
    assert "none: no scaling region" in [text.get_text() for text in right.get_legend().get_texts()]


def test_medians_over_time_have_their_bands() -> None:
    curve = ([(t, {"value": t, "lo": t - 1, "hi": t + 2}) for t in (1.0, 2.0)], [(1.0, 0.5), (2.0, 3.5)])
    curves = {name: curve for name in ("common", "relative", "auto", "std")} | {"D": ([], [])}
    top, amplitude, dimension = plots.medians(curves, {"auto": "own scales"}, "a fly").axes
    assert top.get_title(loc="left") == "a fly" and len(top.collections) == 3
    band = amplitude.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0.0, 4.0)
    assert drawn(amplitude, "o") == [1.0, 1.0, 2.0, 2.0] and not dimension.lines


def test_core_is_seen_below_memory_where_state_is_nothing() -> None:
    values = {"E_core": (1.0, 0.1), "E_mem": (1.0, 0.1), "E_state": (0.0, 0.1), "D": (1.0, 0.1)}
    figure = plots.progress([plots.ProgressPoint("a fly", "day", t, values) for t in (1.0, 2.0)])
    lines = {bars.get_label(): bars.lines[0] for bars in figure.axes[0].containers}
    core, memory = lines["core = state + memory"], lines["memory"]
    assert core.get_zorder() <= memory.get_zorder() and core.get_linewidth() > 2 * memory.get_linewidth()


@pytest.mark.filterwarnings("error:constrained_layout not applied")
def test_a_group_without_values_needs_no_room() -> None:
    """An empty line lies in the corner of the figure: with it in the layout the upper row lost its size."""
    some, none = ({name: values for name in NAMES} for values in ([1.0, 2.0], [None, None]))
    figure = plots.groups({"day": {"all": some, "dead": none}, "night": {"all": some, "dead": none}})
    figure.draw_without_rendering()
