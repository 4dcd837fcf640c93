"""Curves over the scale eps: dimension, entropies, the terms delta_h, predictive information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quantify.aliases import Floats
from quantify.decomposition import Decomposition
from quantify.entropy_curves import Entropies
from quantify.errors import QuantifyError
from quantify.ksg import PredictiveInformation
from quantify.plots.style import colour, new_axes, scale_axis, styled
from quantify.scaling import ScalingFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# How far below the smallest reliable scale curves are shown: eps_min / BELOW.
BELOW = 20


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
    scale_axis(ax)
    ax.set_xlabel(r"$\epsilon$")


@styled
def dimension(e: Entropies, *, eps_min: float | None = None, ax: Axes | None = None) -> Axes:
    """Local dimension D_m over eps, m = 1..M; scales below eps_min are left out.

    Examples
    --------
    >>> from quantify import correlation_sums, entropies, plots
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(2000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> plots.dimension(entropies(sums)).get_title(loc="left")
    'Dimension'
    """
    ax = new_axes() if ax is None else ax
    # A difference quotient of few pairs is nothing but noise.
    _curves(ax, e.eps, e.D, 1, len(e.H), eps_min, below=False)
    ax.set(ylabel="$D_m$", title="Dimension")
    ax.set_ylim(bottom=0)
    return ax


@styled
def conditional_entropies(e: Entropies, *, eps_min: float | None = None, ax: Axes | None = None) -> Axes:
    """Conditional entropies h_m over eps, m = 0..M-1; scales below eps_min are faint.

    Examples
    --------
    >>> from quantify import correlation_sums, entropies, plots
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(2000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> len(plots.conditional_entropies(entropies(sums)).get_lines())  # h_0 to h_3
    4
    """
    ax = new_axes() if ax is None else ax
    _curves(ax, e.eps, e.h, 0, len(e.H), eps_min)
    ax.set(ylabel="$h_m$ [nats]", title="Conditional entropies")
    return ax


@styled
def excess_entropy(
    e: Entropies, fits: Sequence[ScalingFit] = (), *, eps_min: float | None = None, ax: Axes | None = None
) -> Axes:
    """Excess entropies E_m over eps, m = 2..M, and the straight pieces const - D ln eps of the last.

    Scales below eps_min are faint.

    Examples
    --------
    >>> from quantify import correlation_sums, entropies, fit_scaling, plots
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(2000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> plots.excess_entropy(entropies(sums), fit_scaling(sums)).get_ylabel()
    '$E_m$ [nats]'
    """
    ax = new_axes() if ax is None else ax
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


@styled
def delta_h(e: Entropies, parts: Decomposition, *, ax: Axes | None = None) -> Axes:
    """The terms delta_h_m over eps (dots), their straight segments (lines) and the constants c_m (dashes).

    The constants are shown where the term is one of the eps-dependent ones, m_l..m_u.

    Examples
    --------
    >>> from quantify import correlation_sums, decompose, entropies, plots
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(2000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> plots.delta_h(entropies(sums), decompose(sums)).get_xscale()
    'log'
    """
    ax = new_axes() if ax is None else ax
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
        constant = parts.constants[m - 1]
        if np.isfinite(constant).any():
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
    scale_axis(ax)
    ax.set(xlabel=r"$\epsilon$", ylabel=r"$\delta h_m$ [nats]", title="What the $m$-th step of the past adds")
    return ax


@styled
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

    Examples
    --------
    >>> from quantify import correlation_sums, entropies, plots
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(2000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    >>> ax = plots.predictive_information(entropies(sums))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['correlation sums']
    """
    if e is None and found is None:
        raise QuantifyError("There is nothing to draw; give entropies, a predictive information, or both.")
    ax = new_axes() if ax is None else ax
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
            raise QuantifyError("eta = 0 has no place on a logarithmic axis; estimate for positive eta.")
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
    scale_axis(ax)
    scale = r"$\epsilon$" if found is None else r"$\epsilon,\ \eta/2$" if e is not None else r"$\eta/2$"
    ax.set(xlabel=scale, ylabel="$PI_m$ [nats]", title="Predictive information")
    return ax
