"""The decomposition over the scale, and all panels of one behaviour on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Bools, Floats
from quantify.decomposition import Decomposition, ScalingRange
from quantify.plots.phase_plot import phase
from quantify.plots.scale_curves import (
    conditional_entropies,
    delta_h,
    dimension,
    excess_entropy,
    predictive_information,
)
from quantify.plots.style import (
    MEMORY,
    SCALE,
    STATE,
    STOCHASTIC,
    colour_key,
    edges,
    legend_above,
    new_figure,
    scale_axis,
    styled,
)
from quantify.quantification_data import QuantificationData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def decomposition(
    parts: Decomposition, chosen: ScalingRange | None = None, *, axes: tuple[Axes, Axes] | None = None
) -> tuple[Axes, Axes]:
    """Memory, state and eps-dependent part stacked over eps; above them the quality of the split.

    Stochastic scales are grey. The range that was averaged over is marked by vertical lines, means and
    spreads over its scales are written in.

    Parameters
    ----------
    parts : Decomposition
    chosen : ScalingRange, optional
        Default: `parts.best_range()`; nothing is marked if there is none.
    axes : (Axes, Axes), optional
        For the quality and for the parts.

    Examples
    --------
    >>> from quantify import correlation_sums, decompose, plots
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(2000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> quality, stack = plots.decomposition(decompose(sums))
    >>> stack.get_ylabel()
    'excess entropy [nats]'
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    if axes is None:
        figure = new_figure(5.2, 4.4)
        axes = tuple(figure.subplots(2, 1, height_ratios=(1, 2)))
    quality, stack = axes
    chosen = parts.best_range() if chosen is None else chosen

    for name, label, line in (
        ("kappa", r"$\kappa$ (1: stochastic)", {"color": "black", "lw": 1.2}),
        ("no_fit", "no straight line", {"color": "#777777", "ls": "--"}),
        ("extrapolated", "extrapolated", {"color": "#777777", "ls": ":"}),
        ("negative", "negative", {"color": "#b07aa1", "ls": "-."}),
    ):
        quality.plot(parts.eps, getattr(parts, name), label=label, **line)
    quality.axhline(parts.settings["kappa_max"], color="black", lw=0.5, ls=(0, (1, 2)), label="_kappa_max")
    quality.set(ylim=(-0.05, 1.15), ylabel="share")
    quality.set_title("Decomposition of the excess entropy", pad=14)
    terms = quality.twinx()
    terms.spines["right"].set_visible(True)
    first, last = "terms from $m_l$", r"to $m_u$ depend on $\epsilon$"
    terms.step(parts.eps, parts.m_l, where="mid", color=STATE, label=first)
    terms.step(parts.eps, parts.m_u, where="mid", color=MEMORY, label=last)
    terms.set_ylim(-0.05 * len(parts.fits), 1.15 * len(parts.fits))
    terms.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    terms.set_ylabel("$m$")
    legend_above(terms, [*quality.get_legend_handles_labels()[0], *terms.get_legend_handles_labels()[0]])

    layers = stack.stackplot(
        parts.eps,
        parts.E_mem,
        parts.E_state,
        parts.E_eps,
        colors=[MEMORY, STATE, SCALE],
        labels=["memory", "state", r"$\epsilon$-dependent"],
        lw=0,
    )
    (raw,) = stack.plot(parts.eps, parts.E_raw, color="black", lw=0.8, label="without fits")
    keys: list[Any] = [*layers, raw]
    if not parts.deterministic.all():
        above = rf"stochastic ($\kappa$ over {parts.settings['kappa_max']:g})"
        keys.append(Patch(facecolor=STOCHASTIC, alpha=0.3, label=above))
    if chosen is not None:
        mark: dict[str, Any] = {"color": "black", "ls": "none", "marker": "|", "mew": 1, "ms": 7}
        keys.append(Line2D([], [], label="averaged between", **mark))
    legend_above(stack, keys)
    for ax in (quality, stack):
        _shade(ax, parts.eps, ~parts.deterministic)
        if chosen is not None:
            for edge in (chosen.lo, chosen.hi):
                ax.axvline(edge, color="black", lw=1.0, label="_range")
        ax.set_xscale("log")
        ax.set_xlim(parts.eps[-1], parts.eps[0])
        scale_axis(ax)
    quality.tick_params(labelbottom=False)
    if chosen is not None:
        # E falls with eps, so that the upper right corner is empty.
        stack.text(
            0.99,
            0.97,
            "mean ± spread over the scales\n"
            f"state {chosen.E_state:.2f} ± {chosen.E_state_sd:.2f}\n"
            f"memory {chosen.E_mem:.2f} ± {chosen.E_mem_sd:.2f}\n"
            f"core {chosen.E_core:.2f} ± {chosen.E_core_sd:.2f}\n"
            rf"$\epsilon$ = {chosen.lo:.3g} to {chosen.hi:.3g}",
            transform=stack.transAxes,
            ha="right",
            va="top",
            fontsize=7,
            linespacing=1.4,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5},
        )
    stack.set(xlabel=r"$\epsilon$", ylabel="excess entropy [nats]")
    top = np.nanmax(np.concatenate([parts.E_core + parts.E_eps, parts.E_raw]))
    stack.set_ylim(0, 1.05 * max(top, 1e-6))
    return quality, stack


def _shade(ax: Axes, eps: Floats, where: Bools) -> None:
    """Grey where a condition holds; every scale owns the stretch halfway to its neighbours."""
    x = np.log(eps)
    edges = np.exp(np.concatenate([[x[0]], (x[1:] + x[:-1]) / 2, [x[-1]]]))
    for run in np.split(np.arange(len(eps)), np.flatnonzero(np.diff(where)) + 1):
        if where[run[0]]:
            low, high = edges[run[-1] + 1], edges[run[0]]
            ax.axvspan(low, high, color=STOCHASTIC, alpha=0.3, lw=0, label="_stochastic")


@styled
def quantification(q: QuantificationData, *, series: ArrayLike | None = None) -> Figure:
    """The whole set for one behaviour on one page.

    Parameters
    ----------
    q : Quantification
    series : array, optional
        The series itself, for the phase plot.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from quantify import plots, quantify
    >>> from quantify.systems import Henon
    >>> x = Henon().sample(2000, 1)[:, 0]
    >>> figure = plots.quantification(quantify(x, m_max=4, replicates=0), series=x)
    >>> len(figure.axes) > 6
    True
    """

    figure, axes = _page(with_phase=series is not None)
    e, parts, eps_min = q.entropies, q.decomposition, float(q.decomposition.eps[-1])
    dimension(e, eps_min=eps_min, ax=axes["D"])
    conditional_entropies(e, eps_min=eps_min, ax=axes["h"])
    excess_entropy(e, q.scaling, eps_min=eps_min, ax=axes["E"])
    predictive_information(e, q.predictive_information, eps_min=eps_min, ax=axes["PI"])
    delta_h(e, parts, ax=axes["delta_h"])
    decomposition(parts, q.range, axes=(axes["quality"], axes["stack"]))
    if series is not None:
        phase(series, tau=q.sums.tau or 1, ax=axes["phase"])
    colour_key(figure, [axes["key"]], len(e.H), inside=True)
    words = "Faint: scales with too few pairs for the largest $m$."
    figure.text(0.01, 0.006, words, ha="left", va="bottom", fontsize=7)
    return figure


def _page(with_phase: bool) -> tuple[Figure, dict[str, Axes]]:
    """A page with room for every panel by name.

    Everything has its place in inches: to find a layout by measuring every text takes as long as drawing.
    """
    width, height = 11.0, 11.0 if with_phase else 8.5
    figure = new_figure(width, height, layout=None)
    rows = [1.3, 1.0, 1.0, 1.2] if with_phase else [1.0, 1.0, 1.3]
    inside = edges(figure, left=0.65, right=0.75, bottom=0.6, top=0.85)
    grid = figure.add_gridspec(len(rows), 2, height_ratios=rows, wspace=0.16, hspace=0.36, **inside)
    above = grid[0 if with_phase else 2, 1].subgridspec(2, 1, height_ratios=(1, 2), hspace=0.27)
    curves = 1 if with_phase else 0
    places = {
        **{"D": grid[curves, 0], "h": grid[curves, 1], "E": grid[curves + 1, 0], "PI": grid[curves + 1, 1]},
        **{"quality": above[0], "stack": above[1], "delta_h": grid[3, :] if with_phase else grid[2, 0]},
        **({"phase": grid[0, 0]} if with_phase else {}),
    }
    axes = {name: figure.add_subplot(place) for name, place in places.items()}
    top, bottom = axes["h"].get_position().y1, axes["PI"].get_position().y0
    axes["key"] = figure.add_axes((1 - 0.5 / width, bottom, 0.12 / width, top - bottom))
    return figure, axes
