"""The paper's set of figures for one behaviour: phase plot, curves over the scale, decomposition.

Each function draws one panel into the axes it is given (or into a figure of its own) and returns the axes;
`quantification` puts all of them on one page. Scales are logarithmic and in the unit of the series, all else
in nats. One colour stands for one m in every panel. matplotlib is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quantify._series import as_series
from quantify.decomposition import Decomposition
from quantify.entropies import Entropies
from quantify.ksg import PredictiveInformation
from quantify.ranges import ScalingRange
from quantify.scaling import ScalingFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from quantify.quantification import Quantification

Floats = NDArray[np.float64]
F = TypeVar("F", bound=Callable[..., Any])

# Blue and red differ in lightness as well, so that they stay apart for every kind of colour vision and in
# grey.
MEMORY, STATE, SCALE = "#2b6cb0", "#d1495b", "#efe3c2"
STOCHASTIC = "#9a9a9a"
# How far below the smallest reliable scale curves are shown: eps_min / BELOW.
BELOW = 20
SECTIONS = ("#e07b00", "#008f7a")
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.0,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "savefig.dpi": 200,
}


def _styled(draw: F) -> F:
    """Draw with the house's style and leave the user's alone."""

    @wraps(draw)
    def styled(*arguments: Any, **settings: Any) -> Any:
        from matplotlib import rc_context

        with rc_context(STYLE):
            return draw(*arguments, **settings)

    return styled  # type: ignore[return-value]


def _new_axes() -> Axes:
    from matplotlib.figure import Figure

    return Figure(figsize=(4.2, 3.2), layout="constrained").add_subplot()


def colour(m: int, m_max: int) -> tuple[float, float, float, float]:
    """The colour of embedding dimension m = 0..m_max: dark to light, for every kind of colour vision.

    Small m, which carry most of the story, lie farther apart than large ones.
    """
    from matplotlib import colormaps

    r, g, b, a = colormaps["viridis"](0.93 * (m / max(m_max, 1)) ** 0.6)
    return (r, g, b, a)


@_styled
def colour_key(figure: Figure, axes: Sequence[Axes], m_max: int) -> None:
    """A bar beside the axes that says which colour is which m."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    steps = ListedColormap([colour(m, m_max) for m in range(m_max + 1)])
    norm = BoundaryNorm(np.arange(m_max + 2) - 0.5, m_max + 1)
    bar = figure.colorbar(ScalarMappable(norm, steps), ax=list(axes), aspect=40, pad=0.01, fraction=0.03)
    bar.set_ticks(range(0, m_max + 1, max(1, m_max // 10)))
    bar.ax.minorticks_off()
    bar.ax.set_title("$m$", loc="center")


@_styled
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
    """
    from matplotlib.collections import LineCollection

    ax = _new_axes() if ax is None else ax
    x = as_series(series)[0]
    if not 1 <= tau < len(x) // 3:
        raise ValueError(f"tau = {tau} must be at least 1 and below a third of the {len(x)} samples.")
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
    _legend_above(ax, ax.get_legend_handles_labels()[0], markerscale=3)
    return ax


def _blue_to_black() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("blue to black", ["#a9c9ea", "#2b6cb0", "#08111c"])


def extrema(x: Floats, reach: int) -> NDArray[np.int64]:
    """Indices of the values that are the largest or smallest within `reach` samples to both sides."""
    windows = np.lib.stride_tricks.sliding_window_view(x, 2 * reach + 1)
    middle = x[reach:-reach]
    extreme = (middle == windows.max(axis=1)) | (middle == windows.min(axis=1))
    return np.flatnonzero(extreme & (np.ptp(windows, axis=1) > 0)) + reach


def _scale_axis(ax: Axes) -> None:
    """A logarithmic axis of scales with ticks that can be read, once its limits are known.

    Powers of ten alone over many decades; 1, 2 and 5 of each over few, as plain numbers.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    low, high = ax.get_xlim()
    few = high < 300 * low
    ax.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if few else (1,), numticks=30))
    if few:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _curves(
    ax: Axes,
    eps: Floats,
    rows: Floats,
    first: int,
    m_max: int,
    eps_min: float | None,
    below: bool = True,
    **look: Any,
) -> None:
    """One line per m; scales below eps_min are faint (or left out) and do not set the limits."""
    kept = np.ones(len(eps), dtype=bool) if eps_min is None else eps >= eps_min
    for m, row in enumerate(rows, start=first):
        shade = colour(m, m_max)
        ax.plot(eps[kept], row[kept], color=shade, label=f"{m}", **look)
        if below and not kept.all():
            # One point of overlap, so that the line goes on without a gap.
            rest = ~kept
            rest[np.flatnonzero(kept)[-1]] = True
            ax.plot(eps[rest], row[rest], color=shade, alpha=0.25, lw=0.6, label="_below eps_min")
    values = rows[:, kept]
    if np.isfinite(values).any():
        low, high = np.nanmin(values), np.nanmax(values)
        margin = 0.04 * (high - low) or 1.0
        ax.set_ylim(low - margin, high + margin)
    ax.set_xscale("log")
    if below and eps_min is not None:
        # Far below there is nothing but chance; it must not push the rest to the edge.
        ax.set_xlim(left=max(eps.min(), eps_min / BELOW))
    _scale_axis(ax)
    ax.set_xlabel(r"$\epsilon$")


@_styled
def dimension(e: Entropies, *, eps_min: float | None = None, ax: Axes | None = None) -> Axes:
    """Local dimension D_m over eps, m = 1..M; scales below eps_min are left out."""
    ax = _new_axes() if ax is None else ax
    # A difference quotient of few pairs is nothing but noise.
    _curves(ax, e.eps, e.D, 1, len(e.H), eps_min, below=False)
    ax.set(ylabel="$D_m$", title="Dimension")
    ax.set_ylim(bottom=0)
    return ax


@_styled
def conditional_entropies(e: Entropies, *, eps_min: float | None = None, ax: Axes | None = None) -> Axes:
    """Conditional entropies h_m over eps, m = 0..M-1; scales below eps_min are faint."""
    ax = _new_axes() if ax is None else ax
    _curves(ax, e.eps, e.h, 0, len(e.H), eps_min)
    ax.set(ylabel="$h_m$ [nats]", title="Conditional entropies")
    return ax


@_styled
def excess_entropy(
    e: Entropies, fits: Sequence[ScalingFit] = (), *, eps_min: float | None = None, ax: Axes | None = None
) -> Axes:
    """Excess entropies E_m over eps, m = 2..M, and the straight pieces const - D ln eps of the last.

    Scales below eps_min are faint.
    """
    ax = _new_axes() if ax is None else ax
    _curves(ax, e.eps, e.E[1:], 2, len(e.H), eps_min)
    for fit in fits:
        scales = np.array(fit.eps)
        label = rf"${fit.const:.2f} - {fit.D:.2f}\,\ln\epsilon$"
        ax.plot(scales, fit.const - fit.D * np.log(scales), "--", color="black", lw=1.4, label=label)
    if fits:
        lines = [line for line in ax.get_lines() if line.get_linestyle() == "--"]
        ax.legend(handles=lines, loc="upper right", title=f"fits to $E_{{{len(e.H)}}}$", title_fontsize=7)
    ax.set(ylabel="$E_m$ [nats]", title="Excess entropy")
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    return ax


@_styled
def delta_h(e: Entropies, parts: Decomposition, *, ax: Axes | None = None) -> Axes:
    """The terms delta_h_m over eps (dots), their straight segments (lines) and the constants c_m (dashes).

    The constants are shown where the term is one of the eps-dependent ones, m_l..m_u.
    """
    ax = _new_axes() if ax is None else ax
    m_max = len(e.H)
    kept = e.eps >= parts.eps[-1]
    for m, row in enumerate(e.delta_h, start=1):
        shade = colour(m, m_max)
        ax.plot(e.eps[kept], row[kept], ".", ms=2.2, mew=0, color=shade, alpha=0.55, label=f"{m}")
        visible = np.flatnonzero(kept & np.isfinite(row))
        if m <= 3 and len(visible):
            i = visible[-1]
            ax.text(e.eps[i], row[i], f"{m}  ", color=shade, fontsize=7, ha="right", va="center")
        for fit in parts.fits[m - 1]:
            scales = np.array(fit.eps)
            ax.plot(scales, fit.o - fit.s * np.log(scales), color=shade, lw=1.3, label=f"_fit {m}")
        used = (parts.m_l <= m) & (m <= parts.m_u) & (parts.plateau[m - 1] > 0)
        if used.any():
            constant = np.where(used, parts.plateau[m - 1], np.nan)
            ax.plot(parts.eps, constant, color=shade, lw=1.0, ls=(0, (3, 1.5)), label=f"_constant {m}")
    handles = [
        ax.plot([], [], ".", ms=4, mew=0, color="0.3")[0],
        ax.plot([], [], "-", lw=1.3, color="0.3")[0],
        ax.plot([], [], ls=(0, (3, 1.5)), lw=1.0, color="0.3")[0],
    ]
    for handle in handles:
        handle.set_label("_key")
    ax.legend(handles, [r"$\delta h_m$", "segments", r"$c_m^{\mathrm{MT}}$"], loc="upper right")
    ax.axhline(0, color="0.6", lw=0.5, zorder=0)
    _scale_axis(ax)
    ax.set(xlabel=r"$\epsilon$", ylabel=r"$\delta h_m$ [nats]", title="What the $m$-th step of the past adds")
    return ax


@_styled
def predictive_information(
    e: Entropies | None = None,
    found: PredictiveInformation | None = None,
    *,
    m_max: int | None = None,
    eps_min: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Predictive information PI_m over the scale: from correlation sums (lines), by KSG over eta / 2
    (points).

    The bar at a KSG value ends at the mean of the values from the two halves of the data.
    """
    if e is None and found is None:
        raise ValueError("There is nothing to draw; give entropies, a predictive information, or both.")
    ax = _new_axes() if ax is None else ax
    if m_max is None:
        m_max = len(e.H) if e is not None else int(found.m.max())  # type: ignore[union-attr]
    keys = []
    if e is not None:
        # Behind the estimates by nearest neighbours, if there are any.
        look: dict[str, Any] = {} if found is None else {"lw": 0.7, "alpha": 0.5}
        _curves(ax, e.eps, e.PI, 1, m_max, eps_min, **look)
        keys += ax.plot([], [], "-", color="0.3", label="correlation sums", **look)
    if found is not None:
        order = np.argsort(found.eta)
        order = order[found.eta[order] > 0]
        if not len(order):
            raise ValueError("eta = 0 has no place on a logarithmic axis; estimate for positive eta.")
        for column, m in enumerate(found.m):
            value = found.PI[order, column]
            half = found.half[:, order, column].mean(axis=0)
            away = np.nan_to_num(half - value)
            ax.errorbar(
                found.eta[order] / 2,
                value,
                yerr=np.stack([np.maximum(-away, 0), np.maximum(away, 0)]),
                fmt="o-",
                ms=3,
                lw=0.8,
                capsize=1.5,
                color=colour(int(m), m_max),
                label=f"KSG {m}",
            )
        keys += ax.plot([], [], "o-", ms=3, lw=0.8, color="0.3", label=f"KSG, $k={found.k}$")
        low, high = float(np.nanmin(found.PI)), float(np.nanmax(found.PI))
        if e is not None:
            low, high = min(low, ax.get_ylim()[0]), max(high, ax.get_ylim()[1])
            ax.set_xlim(left=min(ax.get_xlim()[0], 0.8 * float(found.eta[order[0]]) / 2))
        ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    ax.legend(handles=keys, loc="upper right")
    _scale_axis(ax)
    scale = r"$\epsilon$" if found is None else r"$\epsilon,\ \eta/2$" if e is not None else r"$\eta/2$"
    ax.set(xlabel=scale, ylabel="$PI_m$ [nats]", title="Predictive information")
    return ax


@_styled
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
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    if axes is None:
        figure = Figure(figsize=(5.2, 4.4), layout="constrained")
        axes = tuple(figure.subplots(2, 1, height_ratios=(1, 2)))
    quality, stack = axes
    chosen = parts.best_range() if chosen is None else chosen

    for name, label, line in (
        ("kappa", r"$\kappa$ (1: stochastic)", {"color": "black", "lw": 1.2}),
        ("no_fit", "without fit", {"color": "#777777", "ls": "--"}),
        ("extrapolated", "extrapolated", {"color": "#777777", "ls": ":"}),
        ("negative", "negative", {"color": "#b07aa1", "ls": "-."}),
    ):
        quality.plot(parts.eps, getattr(parts, name), label=label, **line)
    quality.axhline(parts.settings["kappa_max"], color="black", lw=0.5, ls=(0, (1, 2)), label="_kappa_max")
    quality.set(ylim=(-0.05, 1.15), ylabel="share")
    quality.set_title("Decomposition of the excess entropy", pad=14)
    terms = quality.twinx()
    terms.spines["right"].set_visible(True)
    terms.step(parts.eps, parts.m_l, where="mid", color=STATE, label="$m_l$")
    terms.step(parts.eps, parts.m_u, where="mid", color=MEMORY, label="$m_u$")
    terms.set_ylim(-0.05 * len(parts.fits), 1.15 * len(parts.fits))
    terms.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    terms.set_ylabel("$m$")
    _legend_above(terms, [*quality.get_legend_handles_labels()[0], *terms.get_legend_handles_labels()[0]])

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
    _legend_above(stack, [*layers, raw])
    for ax in (quality, stack):
        _shade(ax, parts.eps, ~parts.deterministic)
        if chosen is not None:
            for edge in (chosen.lo, chosen.hi):
                ax.axvline(edge, color="black", lw=1.0, label="_range")
        ax.set_xscale("log")
        ax.set_xlim(parts.eps[-1], parts.eps[0])
        _scale_axis(ax)
    quality.tick_params(labelbottom=False)
    if chosen is not None:
        # E falls with eps, so that the upper right corner is empty.
        stack.text(
            0.99,
            0.97,
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


def _legend_above(ax: Axes, handles: list[Any], **look: Any) -> None:
    """One line of keys on top of the axes, where it hides nothing."""
    ax.legend(
        handles=handles,
        ncols=len(handles),
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        borderaxespad=0.1,
        columnspacing=1.0,
        handlelength=1.5,
        handletextpad=0.4,
        fontsize=6,
        **look,
    )


def _shade(ax: Axes, eps: Floats, where: NDArray[np.bool_]) -> None:
    """Grey where a condition holds; every scale owns the stretch halfway to its neighbours."""
    x = np.log(eps)
    edges = np.exp(np.concatenate([[x[0]], (x[1:] + x[:-1]) / 2, [x[-1]]]))
    for run in np.split(np.arange(len(eps)), np.flatnonzero(np.diff(where)) + 1):
        if where[run[0]]:
            low, high = edges[run[-1] + 1], edges[run[0]]
            ax.axvspan(low, high, color=STOCHASTIC, alpha=0.3, lw=0, label="_stochastic")


@_styled
def quantification(q: Quantification, *, series: ArrayLike | None = None) -> Figure:
    """The whole set for one behaviour on one page.

    Parameters
    ----------
    q : Quantification
    series : array, optional
        The series itself, for the phase plot.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8.5 if series is None else 11), layout="constrained")
    names = [["D", "h"], ["E", "PI"], ["delta_h", "quality"], ["delta_h", "stack"]]
    ratios = [1.0, 1.0, 0.42, 0.85]
    if series is not None:
        names = [["phase", "quality"], ["phase", "stack"], ["D", "h"], ["E", "PI"], ["delta_h", "delta_h"]]
        ratios = [0.42, 0.85, 1.0, 1.0, 1.2]
    axes: dict[str, Axes] = figure.subplot_mosaic(names, height_ratios=ratios)  # type: ignore[arg-type]
    e, parts, eps_min = q.entropies, q.decomposition, float(q.decomposition.eps[-1])
    dimension(e, eps_min=eps_min, ax=axes["D"])
    conditional_entropies(e, eps_min=eps_min, ax=axes["h"])
    excess_entropy(e, q.scaling, eps_min=eps_min, ax=axes["E"])
    predictive_information(e, q.predictive_information, eps_min=eps_min, ax=axes["PI"])
    delta_h(e, parts, ax=axes["delta_h"])
    decomposition(parts, q.range, axes=(axes["quality"], axes["stack"]))
    if series is not None:
        phase(series, tau=q.sums.tau or 1, ax=axes["phase"])
    colour_key(figure, [axes[name] for name in ("D", "h", "E", "PI")], len(e.H))
    figure.supxlabel("Faint: scales with too few pairs for the largest $m$.", x=0.01, ha="left", fontsize=7)
    return figure
