"""The figures of result files: the right artists with the right data, in every format."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest
from matplotlib.figure import Figure

from controllers import Frozen
from experiments.cli import main
from experiments.reports.figures import (
    behaviour_figure,
    draw,
    learning_figure,
    progress_figure,
    save,
    traces_figure,
)
from experiments.reports.results import Behaviour, Results
from experiments.runfiles.run_file import open_run_file
from quantify.plots import ProgressPoint, progress
from tests.experiments.reports.copies import copy_run


def lines(figure: Figure, axes: int, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Data of the error-bar line with this label."""
    (bars,) = [c for c in figure.axes[axes].containers if c.get_label() == label]
    return bars.lines[0].get_xdata(), bars.lines[0].get_ydata()


def test_progress_shows_value_and_sampling_error(found: Results) -> None:
    figure = progress_figure(found.behaviours)
    for label, name in (("core = state + memory", "E_core"), ("memory", "E_mem"), ("state", "E_state")):
        x, y = lines(figure, 0, label)
        estimates = [getattr(b.result, name) for b in found.behaviours]
        assert list(x) == [0.1, 0.2]
        np.testing.assert_array_equal(y, [e.value for e in estimates])
        (bars,) = [c for c in figure.axes[0].containers if c.get_label() == label]
        for segment, e in zip(bars.lines[2][0].get_segments(), estimates, strict=True):
            np.testing.assert_allclose(segment[:, 1], [e.value - e.sampling, e.value + e.sampling])
    # So short a series has no scaling region, hence no dimension, and the figure says so.
    assert all(np.isnan(b.result.D.value) for b in found.behaviours)
    (cross,) = figure.axes[1].lines
    assert list(cross.get_xdata()) == [0.1, 0.2] and cross.get_label() == "none: no scaling region"
    assert figure.axes[0].get_ylabel() == "complexity [nats]"
    assert figure.axes[0].get_xlabel() == "learning time [min]"


def test_progress_over_seeds_has_the_median(found: Results) -> None:
    first, second = found.behaviours
    # Three "seeds": the same two results in other places, so that the median is known.
    runs = [
        replace(b, run=Path(f"seed-{i}.h5"), result=(first, second, second)[i].result)
        for i in range(3)
        for b in found.behaviours
    ]
    figure = progress_figure(runs)
    (median,) = [
        line for line in figure.axes[0].get_lines() if line.get_label() == "core = state + memory (median)"
    ]
    assert list(median.get_ydata()) == [second.result.E_core.value] * 2  # type: ignore[union-attr]
    thin = [line for line in figure.axes[0].get_lines() if line.get_alpha() == 0.4]
    assert len(thin) >= 9  # three seeds, three quantities


def test_runs_of_one_name_in_two_folders_are_two(found: Results) -> None:
    other = [replace(b, run=Path("elsewhere/small-1.h5")) for b in found.behaviours]
    labels = [line.get_label() for line in progress_figure([*found.behaviours, *other]).axes[0].get_lines()]
    assert "memory (median)" in labels


def test_rules_are_not_mixed(found: Results) -> None:
    first, second = found.behaviours
    # The second rule has learned for longer: its points lie beyond those of the first.
    other = [
        replace(first, run=Path("other.h5"), group="hexapod under dep", minutes=5.0),
        replace(second, run=Path("other.h5"), group="hexapod under dep", minutes=0.05),
    ]
    figure = progress_figure([*found.behaviours, *other])
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        *("hexapod under ulr: small-1", ""),
        *("hexapod under dep: other", ""),
    ]
    assert figure.axes[0].get_ylim() == figure.axes[2].get_ylim()
    assert not [line for ax in figure.axes for line in ax.get_lines() if "median" in str(line.get_label())]
    for ax in figure.axes:
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        for line in ax.get_lines():
            x, y = np.array(line.get_xdata(), dtype=float), np.array(line.get_ydata(), dtype=float)
            known = y[np.isfinite(y)]
            assert ((left <= x) & (x <= right)).all() and ((low <= known) & (known <= high)).all()


def test_common_scales_are_drawn_as_well(found: Results) -> None:
    parts = [b.result.decomposition for b in found.behaviours if b.result is not None]
    lo, hi = max(p.eps[-1] for p in parts), min(p.eps[0] for p in parts)
    figure = progress_figure(found.behaviours, (lo, hi))
    _, y = lines(figure, 0, f"core on $\\epsilon$ from {lo:g} to {hi:g}")
    assert list(y) == [p.over(lo, hi).E_core for p in parts]
    # A behaviour without these scales is left out of that line.
    assert not [
        c
        for c in progress_figure(found.behaviours, (50, 60)).axes[0].containers
        if "core on" in c.get_label()
    ]


def test_progress_from_numbers_alone() -> None:
    """As `selforg progress` has them in its document."""
    values = {"E_core": (2.0, 0.1), "E_mem": (1.5, 0.1), "E_state": (0.5, None), "D": (3.0, 0.2)}
    points = [
        ProgressPoint(
            "snake under ulr", f"runs/snake-{seed}.h5", minutes, values | {"common": (seed * minutes, 0.3)}
        )
        for seed in (1, 2, 3)
        for minutes in (4.0, 2.0)
    ]
    figure = progress(points, (0.1, 0.4), "5,000 samples")
    (median,) = [line for line in figure.axes[0].get_lines() if "0.4 (median)" in str(line.get_label())]
    assert (list(median.get_xdata()), list(median.get_ydata())) == ([2.0, 4.0], [4.0, 8.0])
    assert figure.get_suptitle() == "5,000 samples"
    assert figure.axes[0].get_title(loc="left") == "snake under ulr: 3 runs"
    # Without a scaling region there is no dimension, and its line goes past.
    for nothing in (None, np.nan):
        without = [
            replace(p, values={**p.values, "D": (nothing, nothing)}) if p.minutes == 2 or "-3" in p.run else p
            for p in points
        ]
        (dimension,) = [
            line for line in progress(without).axes[1].get_lines() if "median" in str(line.get_label())
        ]
        assert list(dimension.get_xdata()) == [4.0] and np.isfinite(dimension.get_ydata()).all()
    empty = progress([], (0.1, 0.4))
    assert [text.get_text() for ax in empty.axes for text in ax.texts] == 2 * ["nothing could be quantified"]


def test_learning_shows_controllers_spectrum_and_body(found: Results, small_run: Path) -> None:
    (learning,) = found.learning
    figure = learning_figure(learning)
    with open_run_file(small_run) as opened:
        by_title = {ax.get_title(loc="left"): ax for ax in figure.axes}
        images = [by_title[f"$C$ at {minutes} min"].images[0] for minutes in ("0.1", "0.2")]
        for image, state in zip(images, opened.frozen.values(), strict=True):
            np.testing.assert_array_equal(image.get_array(), state.controller["C"])
            # Zero is white in all of them, and one colour means one number.
            assert image.norm.vmin == -image.norm.vmax == images[0].norm.vmin
        spectrum = by_title["Spectrum of the loop, at rest"]
        state = opened.frozen["0.2min"].controller
        expected = Frozen(state["C"], state["h"]).inspect()["L_eigenvalues"]
        (points,) = [line for line in spectrum.get_lines() if line.get_label() == "0.2 min"]
        np.testing.assert_allclose(points.get_xdata() + 1j * points.get_ydata(), expected)
        moduli = by_title["Eigenvalues of the loop"].get_lines()[0]
        first = np.abs(np.linalg.eigvals(np.vstack([opened.learning.tracks["C"][0], np.zeros((1, 19))])))
        assert moduli.get_ydata()[0] == pytest.approx(first.max())
        z = opened.learning.tracks["measures"][:, 2]
    height = by_title["Height of the trunk [m]"].get_lines()[0]
    edges = np.linspace(0, len(z), len(height.get_ydata()) + 1).astype(int)
    means = [z[start:stop].mean() for start, stop in pairwise(edges)]
    np.testing.assert_allclose(height.get_ydata(), means, rtol=1e-6)
    assert "Airtime" in by_title and "Distance from the start [m]" in by_title


def test_windows_of_the_body_keep_extremes(found: Results) -> None:
    body = found.learning[0].body
    assert body is not None
    assert (body["low"] <= body["height"] + 1e-9).all() and (body["height"] <= body["high"] + 1e-9).all()
    assert ((body["airtime"] >= 0) & (body["airtime"] <= 1)).all() and body["displacement"][0] == 0


def test_traces_have_one_lane_per_sensor_on_one_scale(found: Results) -> None:
    figure = traces_figure(found.behaviours)
    lanes = figure.axes[0]
    track = found.behaviours[0].sensors
    assert track is not None
    drawn = [line for line in lanes.get_lines() if not line.get_label().startswith("_")]
    assert [line.get_label() for line in drawn] == list(track.names)
    angles = [i for i, unit in enumerate(track.units) if unit == track.units[0]]
    largest = max(
        np.abs(b.sensors.values[:, angles]).max() for b in found.behaviours if b.sensors is not None
    )
    for i in angles:
        lane = (i - drawn[i].get_ydata()) * 2.1 * largest
        np.testing.assert_allclose(lane, track.values[:, i], atol=1e-5)
    assert [text.get_text() for text in lanes.get_yticklabels()] == list(track.names)
    (height,) = figure.axes[2].get_lines()
    np.testing.assert_array_equal(height.get_ydata(), found.behaviours[0].body["z"])  # type: ignore[index]


def test_all_figures_of_a_run(found: Results) -> None:
    names = ["progress", "small-1-learning", "small-1-traces", "small-1-0.1min", "small-1-0.2min"]
    assert list(draw(found)) == names
    assert list(draw(found, ["traces"])) == names[2:3]
    assert draw(Results([Behaviour("x", "y", "not there")], [])) == {}


def test_predictive_information_comes_from_the_file_alone(found: Results) -> None:
    for b in found.behaviours:
        assert b.result is not None
        scan = b.result.predictive_information
        assert scan is not None and len(scan.eta) == 8 and scan.m.tolist() == [1, 2]
        (ax,) = (a for a in behaviour_figure(b).axes if a.get_title(loc="left") == "Predictive information")
        for column, bars in enumerate(ax.containers):
            np.testing.assert_array_equal(bars.lines[0].get_xdata(), scan.eta / 2)
            np.testing.assert_array_equal(bars.lines[0].get_ydata(), scan.PI[:, column])
            ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
            half = scan.half.mean(axis=0)[:, column]
            np.testing.assert_allclose(np.sort(ends), np.sort(np.stack([scan.PI[:, column], half], axis=1)))
        assert len(ax.containers) == 2


@pytest.mark.guard
@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_every_format_is_written(small_run: Path, tmp_path: Path, suffix: str, start: bytes) -> None:
    out = tmp_path / f"figure.{suffix}"
    assert main(["plot", str(small_run), "-o", str(out), "--figure", "progress", "--quiet"]) == 0
    assert out.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [out]
    before = out.read_bytes()
    assert main(["plot", str(small_run), "-o", str(out), "--figure", "progress", "--quiet"]) == 0
    assert out.read_bytes() == before


def test_several_figures_get_names_or_pages(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = ["--figure", "progress", "traces"]
    assert main(["plot", str(small_run), "-o", str(tmp_path / "f.svg"), *figures]) == 0
    names = [tmp_path / "f-progress.svg", tmp_path / "f-small-1-traces.svg"]
    assert capsys.readouterr().out.split() == [str(name) for name in names]
    assert sorted(tmp_path.iterdir()) == names
    assert main(["plot", str(small_run), "-o", str(tmp_path / "f.pdf"), *figures]) == 0
    assert (tmp_path / "f.pdf").read_bytes().count(b"/Type /Page ") == 2


def test_missing_and_failed_are_said_plainly(
    small_run: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    path = copy_run(small_run, tmp_path / "bare.h5", results=False)
    with h5py.File(path, "r+") as file:
        del file["behaviours"]
    for arguments, message in (
        ([str(path), "--figure", "behaviour"], "nothing to draw of behaviour. bare 0.1min: frozen, but not"),
        ([str(path), "--freeze", "8"], "no behaviour was frozen at these times; known: 0.1, 0.2"),
        ([str(path), "-o", "f.jpg"], "f.jpg must end in .png, .svg, .pdf"),
        ([str(tmp_path / "none.h5")], "does not exist"),
        ([], "give at least one run file"),
    ):
        assert message in refused("plot", *arguments)


def test_an_open_loop_has_no_matrix_to_show(found: Results) -> None:
    (learning,) = found.learning
    zero = replace(learning, C={name: 0 * C for name, C in learning.C.items()})
    assert "C is zero: open loop" in [
        text.get_text() for ax in learning_figure(zero).axes for text in ax.texts
    ]
    empty = replace(learning, C={}, eigenvalues={}, body=None)
    words = [text.get_text() for ax in learning_figure(empty).axes for text in ax.texts]
    assert "no controller was frozen" in words and words.count("not recorded") == 3


@pytest.mark.guard
def test_every_figure_is_drawn_once(found: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """matplotlib draws a figure twice if it has to find its layout while it is saved."""
    drawn = Counter[int]()
    draw_one = Figure.draw

    def counting(figure: Figure, renderer: object) -> None:
        drawn[id(figure)] += 1
        draw_one(figure, renderer)

    figures = draw(found)
    monkeypatch.setattr(Figure, "draw", counting)
    save(figures, tmp_path / "all.pdf")
    assert set(drawn.values()) == {1} and len(drawn) == len(figures)
