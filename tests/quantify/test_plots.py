"""The figures show the numbers: every panel is checked for the right artists with the right data."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.path import Path

from quantify import QuantifyError, plots
from quantify.correlation import correlation_sums
from quantify.ksg import predictive_information
from quantify.plots.phase_plot import COLOURS
from quantify.plots.style import new_figure, scale_axis
from quantify.quantification import quantify_sums
from quantify.systems import Lorenz

M = 6


@pytest.fixture(scope="module")
def series():
    return Lorenz(noise=0.005).sample(8000, 1)[:, 0]


@pytest.fixture(scope="module")
def q(series):
    return quantify_sums(correlation_sums(series, tau=10, m_max=M, theiler=20), replicates=0)


@pytest.fixture(scope="module")
def scan(series):
    return predictive_information(series, tau=10, m=[1, 2], k=4, eta=[4.0, 0.0, 0.5])


def labelled(ax, label):
    """Lines with exactly this label."""
    return [line for line in ax.get_lines() if line.get_label() == label]


def assert_renders(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    # Not an empty page: some pixels are not white.
    pixels = np.asarray(canvas.buffer_rgba())
    assert (pixels[..., :3] < 250).any(axis=2).mean() > 0.01


def test_colours_are_distinct_and_the_same_in_every_panel(q):
    shades = [plots.colour(m, 25) for m in range(26)]
    steps = np.abs(np.diff(np.array(shades)[:, :3], axis=0)).sum(axis=1)
    assert steps.min() > 0.03  # viridis runs through 2.5 in this measure; 25 equal steps would be .1 each
    lightness = np.array(shades)[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(lightness) > 0).all()  # the order can be read in grey
    panels = [plots.dimension(q.entropies), plots.conditional_entropies(q.entropies)]
    panels += [plots.excess_entropy(q.entropies), plots.delta_h(q.entropies, q.decomposition)]
    for ax in panels:
        for line in labelled(ax, "3"):
            assert to_rgba(line.get_color()) == plots.colour(3, M)


def test_memory_is_blue_and_state_is_red():
    memory, state = to_rgba(plots.MEMORY), to_rgba(plots.STATE)
    assert memory[2] > memory[0] + 0.3 and state[0] > state[2] + 0.3


@pytest.mark.parametrize(
    ("draw", "name", "first"),
    [(plots.dimension, "D", 1), (plots.conditional_entropies, "h", 0), (plots.excess_entropy, "E", 1)],
)
def test_curves_over_eps(q, draw, name, first):
    ax = draw(q.entropies)
    rows = getattr(q.entropies, name)
    assert ax.get_xscale() == "log"
    for m, row in enumerate(rows, start=first):
        lines = labelled(ax, f"{m}")
        if name == "E" and m == 1:
            assert not lines  # E_1 is zero by definition
            continue
        (line,) = lines
        np.testing.assert_array_equal(line.get_xdata(), q.entropies.eps)
        np.testing.assert_array_equal(line.get_ydata(), row)
    assert_renders(ax.figure)


def test_scales_below_eps_min_are_faint_and_do_not_set_the_limits(q):
    e = q.entropies
    eps_min = e.eps[len(e.eps) // 2]
    ax = plots.conditional_entropies(e, eps_min=eps_min)
    (line,) = labelled(ax, "0")
    assert line.get_xdata().min() == eps_min
    faint = labelled(ax, "_below eps_min")
    assert len(faint) == M and all(f.get_alpha() < 0.5 and f.get_xdata().max() == eps_min for f in faint)
    assert ax.get_ylim()[1] < 1.1 * np.nanmax(e.h[:, e.eps >= eps_min])
    assert not labelled(plots.dimension(e, eps_min=eps_min), "_below eps_min")


def test_excess_entropy_shows_its_fits(q):
    ax = plots.excess_entropy(q.entropies, q.scaling)
    dashed = [line for line in ax.get_lines() if line.get_linestyle() == "--"]
    assert len(dashed) == len(q.scaling) > 0
    for line, fit in zip(dashed, q.scaling, strict=True):
        assert tuple(line.get_xdata()) == fit.eps
        np.testing.assert_allclose(line.get_ydata(), fit.const - fit.D * np.log(fit.eps))
        assert f"{fit.D:.2f}" in line.get_label()


def test_delta_h_shows_dots_segments_and_constants(q):
    parts = q.decomposition
    ax = plots.delta_h(q.entropies, parts)
    kept = q.entropies.eps >= parts.eps[-1]
    for m in range(1, M):
        (dots,) = labelled(ax, f"{m}")
        np.testing.assert_array_equal(dots.get_ydata(), q.entropies.delta_h[m - 1, kept])
        segments = labelled(ax, f"_fit {m}")
        assert len(segments) == len(parts.fits[m - 1])
        for line, fit in zip(segments, parts.fits[m - 1], strict=True):
            np.testing.assert_allclose(line.get_ydata(), fit.o - fit.s * np.log(fit.eps))
        used = (parts.m_l <= m) & (m <= parts.m_u) & (parts.plateau[m - 1] > 0)
        constants = labelled(ax, f"_constant {m}")
        assert len(constants) == used.any()
        for line in constants:
            np.testing.assert_array_equal(line.get_ydata()[used], parts.plateau[m - 1, used])
            assert np.isnan(line.get_ydata()[~used]).all()
    assert sum(len(f) for f in parts.fits) > 0
    assert_renders(ax.figure)


def test_decomposition_stacks_memory_state_and_the_rest(q):
    parts = q.decomposition
    quality, stack = plots.decomposition(parts, q.range)
    layers = [c for c in stack.collections if isinstance(c, PolyCollection)]
    colours = [tuple(c.get_facecolor()[0][:3]) for c in layers]
    assert colours == [to_rgba(c)[:3] for c in (plots.MEMORY, plots.STATE, plots.SCALE)]
    tops = np.cumsum([parts.E_mem, parts.E_state, parts.E_eps], axis=0)
    for layer, top in zip(layers, tops, strict=True):
        outline = layer.get_paths()[0].vertices
        for eps, value in zip(parts.eps[::10], top[::10], strict=True):
            at_eps = outline[np.isclose(outline[:, 0], eps, rtol=1e-12)]
            assert np.isclose(at_eps[:, 1], value).any()
    (raw,) = labelled(stack, "without fits")
    np.testing.assert_array_equal(raw.get_ydata(), parts.E_raw)
    labels = {"kappa": r"$\kappa$ (1: stochastic)", "no_fit": "no straight line", "negative": "negative"}
    for name, label in labels.items():
        (line,) = labelled(quality, label)
        np.testing.assert_array_equal(line.get_ydata(), getattr(parts, name))
    first, last = "terms from $m_l$", r"to $m_u$ depend on $\epsilon$"
    (terms,) = (ax for ax in quality.figure.axes if labelled(ax, last))
    np.testing.assert_array_equal(labelled(terms, first)[0].get_ydata(), parts.m_l)
    np.testing.assert_array_equal(labelled(terms, last)[0].get_ydata(), parts.m_u)
    assert {first, last} <= {text.get_text() for text in terms.get_legend().get_texts()}
    assert quality.get_xlim() == stack.get_xlim() == (parts.eps[-1], parts.eps[0])
    assert_renders(stack.figure)


def test_decomposition_legend_names_the_right_colours(q):
    _, stack = plots.decomposition(q.decomposition)
    legend = stack.get_legend()
    named = {
        text.get_text(): handle.get_facecolor()[:3]
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
        if hasattr(handle, "get_facecolor")
    }
    assert named["memory"] == to_rgba(plots.MEMORY)[:3] and named["state"] == to_rgba(plots.STATE)[:3]
    assert named[r"$\epsilon$-dependent"] == to_rgba(plots.SCALE)[:3]


@pytest.mark.parametrize("noisy", [False, True])
def test_bands_and_edges_of_the_range_have_a_name(q, noisy):
    parts = q.decomposition
    parts = replace(parts, deterministic=parts.deterministic & (not noisy))
    _, stack = plots.decomposition(parts, q.range)
    names = [text.get_text() for text in stack.get_legend().get_texts()]
    grey = [patch for patch in stack.patches if patch.get_label() == "_stochastic"]
    assert any("stochastic" in name for name in names) == bool(grey)
    assert not noisy or grey
    assert "averaged between" in names


def test_chosen_range_is_marked_and_written_in(q):
    chosen = q.decomposition.over(q.decomposition.eps[40], q.decomposition.eps[10])
    for ax in plots.decomposition(q.decomposition, chosen):
        edges = [line.get_xdata()[0] for line in labelled(ax, "_range")]
        assert edges == [chosen.lo, chosen.hi]
    (text,) = (t.get_text() for t in ax.texts)
    assert f"state {chosen.E_state:.2f} ± {chosen.E_state_sd:.2f}" in text
    assert f"memory {chosen.E_mem:.2f} ± {chosen.E_mem_sd:.2f}" in text
    assert f"core {chosen.E_core:.2f} ± {chosen.E_core_sd:.2f}" in text


def test_exactly_the_stochastic_scales_are_grey(q):
    parts = q.decomposition
    assert 0 < parts.deterministic.sum() < len(parts.eps)
    for ax in plots.decomposition(parts):
        spans = [p for p in ax.patches if p.get_label() == "_stochastic"]
        grey = np.zeros(len(parts.eps), dtype=bool)
        for span in spans:
            low, high = span.get_x(), span.get_x() + span.get_width()
            grey |= (parts.eps >= low * (1 - 1e-12)) & (parts.eps <= high * (1 + 1e-12))
        np.testing.assert_array_equal(grey, ~parts.deterministic)


def test_predictive_information_over_half_eta_with_bars_to_the_halves(q, scan):
    ax = plots.predictive_information(q.entropies, scan)
    positive = [2, 0]  # of eta = 4, 0, .5, ascending
    for column, bars in enumerate(ax.containers):
        line, caps, (stems,) = bars
        np.testing.assert_array_equal(line.get_xdata(), scan.eta[positive] / 2)
        np.testing.assert_array_equal(line.get_ydata(), scan.PI[positive, column])
        assert to_rgba(line.get_color()) == plots.colour(int(scan.m[column]), M)
        half = scan.half[:, positive, column].mean(axis=0)
        for stem, value, other in zip(stems.get_segments(), scan.PI[positive, column], half, strict=True):
            assert sorted(stem[:, 1]) == pytest.approx(sorted([value, other]))
        assert caps
    assert len(ax.containers) == 2
    (sums,) = labelled(ax, "2")
    np.testing.assert_array_equal(sums.get_ydata(), q.entropies.PI[1])
    low, high = ax.get_ylim()
    assert low < scan.PI.min() and high > scan.PI.max()


def test_points_below_the_smallest_reliable_scale_are_seen(q, scan):
    smallest = scan.eta[scan.eta > 0].min() / 2
    ax = plots.predictive_information(q.entropies, scan, eps_min=100 * smallest)
    assert ax.get_xlim()[0] < smallest
    bare = plots.predictive_information(q.entropies, eps_min=1.0)
    assert bare.get_xlim()[0] == max(q.entropies.eps.min(), 1.0 / plots.BELOW)


def test_predictive_information_alone(scan):
    ax = plots.predictive_information(found=scan)
    assert ax.get_xlabel() == r"$\eta/2$" and len(ax.containers) == 2
    assert_renders(ax.figure)
    with pytest.raises(QuantifyError, match="nothing to draw"):
        plots.predictive_information()


def test_eta_zero_alone_cannot_be_drawn(series):
    with pytest.raises(QuantifyError, match="eta = 0"):
        plots.predictive_information(found=predictive_information(series[:500], tau=10, m=1, k=4))


def test_phase_plot_is_the_delay_embedding(series):
    tau, length = 10, 500
    ax = plots.phase(series, tau=tau, length=length)
    (path,) = (c for c in ax.collections if isinstance(c, PathCollection))
    t = np.arange(2 * tau, length + 2 * tau - 1)
    third = series[t + 1 - 2 * tau]  # at the end of each step
    expected = {
        ((series[i], series[i - tau]), (series[i + 1], series[i + 1 - tau])): shade
        for i, shade in zip(t, third, strict=True)
    }
    drawn = {}
    for steps, shade in zip(path.get_paths(), path.get_array(), strict=True):
        assert steps.codes.tolist() == [Path.MOVETO, Path.LINETO] * (len(steps.vertices) // 2)
        for ends in steps.vertices.reshape(-1, 2, 2):
            drawn[tuple(map(tuple, ends))] = shade
    assert set(drawn) == set(expected) and len(drawn) == length - 1
    # Half a level of colour.
    half = np.ptp(third) / (COLOURS - 1) / 2 * (1 + 1e-9)
    assert all(abs(drawn[ends] - shade) <= half for ends, shade in expected.items())
    assert path.get_clim() == (third.min(), third.max())
    first, second = (line for line in ax.get_lines() if "extrema" in line.get_label())
    now, before = series[2 * tau : length + 2 * tau], series[tau : length + tau]
    for line, coordinate in ((first, now), (second, before)):
        marked = set(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True))
        for i in range(tau // 2, length - tau // 2):
            window = coordinate[i - tau // 2 : i + tau // 2 + 1]
            extreme = coordinate[i] in (window.min(), window.max())
            assert ((now[i], before[i]) in marked) == extreme
    assert_renders(ax.figure)


def test_a_phase_plot_is_few_artists():
    """Each path takes matplotlib some hundredths of a millisecond, at every drawing: 20,000 took a second."""
    x = np.random.default_rng(1).normal(size=30_000)
    ax = plots.phase(x, tau=10)
    (path,) = (c for c in ax.collections if isinstance(c, PathCollection))
    assert len(path.get_paths()) <= COLOURS * 20 and sum(len(p.vertices) for p in path.get_paths()) == 39_998
    flat = plots.phase(np.r_[np.zeros(99), 1.0, 2.0], tau=1, length=50)  # nothing moves, one colour
    assert_renders(flat.figure)


@pytest.mark.parametrize(("low", "high", "ticks"), [(0.01, 1.0, 7), (0.001, 1.0, 11), (1e-9, 1.0, 32)])
def test_a_scale_has_few_ticks(low, high, ticks):
    """Every tick is drawn by itself, as long as a curve: none beyond 1, 2 and 5 of each decade."""
    ax = new_figure(3, 2).add_subplot()
    ax.set_xlim(low, high)
    scale_axis(ax)
    ax.set_xlim(low, high)
    at = np.concatenate([ax.get_xticks(), ax.get_xticks(minor=True)])
    assert ((low <= at) & (at <= high * 1.001)).sum() <= ticks
    labels = [ax.xaxis.get_major_formatter()(x) for x in (low, high)]
    assert labels == (
        ["$\\mathdefault{10^{-9}}$", "$\\mathdefault{10^{0}}$"] if low < 1e-4 else [f"{low:g}", "1"]
    )


@pytest.mark.parametrize("tau", [0, 5000])
def test_phase_plot_needs_a_possible_delay(series, tau):
    with pytest.raises(QuantifyError, match=f"tau = {tau}"):
        plots.phase(series, tau=tau)


def test_all_on_one_page(q, series, scan, tmp_path):
    page = plots.quantification(replace(q, predictive_information=scan), series=series)
    assert isinstance(page, Figure)
    titles = {ax.get_title(loc="left") for ax in page.axes} - {""}
    assert titles == {
        "Phase plot",
        "Dimension",
        "Conditional entropies",
        "Excess entropy",
        "Predictive information",
        "What the $m$-th step of the past adds",
        "Decomposition of the excess entropy",
    }
    (panel,) = (ax for ax in page.axes if ax.get_title(loc="left") == "Predictive information")
    assert [bars.get_label() for bars in panel.containers] == ["KSG 1", "KSG 2"]
    for suffix in ("png", "pdf"):
        page.savefig(tmp_path / f"page.{suffix}")
        assert (tmp_path / f"page.{suffix}").stat().st_size > 50_000


@pytest.mark.guard
@pytest.mark.parametrize("with_series", [True, False])
def test_nothing_of_the_page_is_cut_or_lies_on_its_neighbour(q, series, with_series):
    page = plots.quantification(q, series=series if with_series else None)
    page.suptitle("a name\nand what it is", fontsize=8, x=0.01, ha="left")
    page.set_dpi(200)
    page.draw_without_rendering()
    inches = page.get_tightbbox()
    width, height = page.get_size_inches()
    assert inches.x0 >= 0 and inches.y0 >= 0 and inches.x1 <= width and inches.y1 <= height
    panels = [ax for ax in page.axes if ax.get_title(loc="left") and ax.get_ylabel() != "share"]
    titled = [ax.get_tightbbox() for ax in panels]
    for i, one in enumerate(titled):
        for other in titled[:i]:
            across = min(one.x1, other.x1) - max(one.x0, other.x0)
            along = min(one.y1, other.y1) - max(one.y0, other.y0)
            assert min(across, along) <= 0


def test_page_without_series_and_ksg(q):
    page = q.plot()
    assert "Phase plot" not in {ax.get_title(loc="left") for ax in page.axes}
    assert_renders(page)


def test_drawing_leaves_the_users_style_alone(q):
    from matplotlib import rcParams

    before = dict(rcParams)
    plots.dimension(q.entropies)
    assert dict(rcParams) == before


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, quantify.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_many_runs_are_counted_in_the_title_not_named() -> None:
    values = dict.fromkeys(("E_core", "E_mem", "E_state", "D"), (1.0, 0.1))
    for n, words in ((2, "a fly: day 0, day 1"), (10, "a fly: 10 runs")):
        points = [plots.ProgressPoint("a fly", f"day {i}", 1.0, values) for i in range(n)]
        assert plots.progress(points).axes[0].get_title(loc="left") == words
