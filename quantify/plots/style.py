"""Colours, axes and keys that all panels share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

F = TypeVar("F", bound=Callable[..., Any])

# Blue and red differ in lightness as well, so that they stay apart for every kind of colour vision and in
# grey.
MEMORY, STATE, SCALE = "#2b6cb0", "#d1495b", "#efe3c2"
STOCHASTIC = "#9a9a9a"
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


def new_figure(width: float, height: float, **settings: Any) -> Figure:
    """An empty figure of this size [inches] that a notebook shows, whatever its backend; none is chosen here.

    Examples
    --------
    >>> from quantify.plots.style import new_figure
    >>> new_figure(3, 2)._repr_png_()[1:4]
    b'PNG'
    """
    figure: Figure = _shown()(figsize=(width, height), **{"layout": "constrained", **settings})
    return figure


def edges(figure: Any, left: float, right: float, bottom: float, top: float) -> dict[str, float]:
    """Where axes end that leave such margins [inches]; for a layout by hand, which takes no time to find.

    Examples
    --------
    >>> from quantify.plots.style import edges, new_figure
    >>> edges(new_figure(4, 2, layout=None), left=1, right=1, bottom=0.5, top=0.5)
    {'left': 0.25, 'right': 0.75, 'bottom': 0.25, 'top': 0.75}
    """
    width, height = figure.get_size_inches().tolist()
    sides = {"left": left / width, "right": 1 - right / width}
    return sides | {"bottom": bottom / height, "top": 1 - top / height}


@cache
def _shown() -> Any:
    """The class of our figures, once: matplotlib writes the documentation of every class of figures anew."""
    import io

    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png", dpi=110)
            return picture.getvalue()

    return Shown


def styled(draw: F) -> F:
    """Draw with the house's style and leave the user's alone."""

    @wraps(draw)
    def styled(*arguments: Any, **settings: Any) -> Any:
        from matplotlib import rc_context

        with rc_context(STYLE):
            return draw(*arguments, **settings)

    return styled  # type: ignore[return-value]


def new_axes() -> Axes:

    return new_figure(4.2, 3.2).add_subplot()


def colour(m: int, m_max: int) -> tuple[float, float, float, float]:
    """The colour of embedding dimension m = 0..m_max: dark to light, for every kind of colour vision.

    Small m, which carry most of the story, lie farther apart than large ones.

    Examples
    --------
    >>> from quantify.plots import colour
    >>> colour(0, 10) == colour(0, 25), colour(1, 10) == colour(2, 10)
    (True, False)
    """
    from matplotlib import colormaps

    r, g, b, a = colormaps["viridis"](0.93 * (m / max(m_max, 1)) ** 0.6)
    return (r, g, b, a)


@styled
def colour_key(figure: Figure, axes: Sequence[Axes], m_max: int, inside: bool = False) -> None:
    """A bar beside the axes, or inside the first of them, that says which colour is which m.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from quantify.plots import colour_key
    >>> figure = Figure()
    >>> colour_key(figure, [figure.add_subplot()], m_max=10)
    >>> len(figure.axes)  # the axes, and the key beside them
    2
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    steps = ListedColormap([colour(m, m_max) for m in range(m_max + 1)])
    norm = BoundaryNorm(np.arange(m_max + 2) - 0.5, m_max + 1)
    beside: dict[str, Any] = {"ax": list(axes), "aspect": 40, "pad": 0.01, "fraction": 0.03}
    bar = figure.colorbar(ScalarMappable(norm, steps), **{"cax": axes[0]} if inside else beside)
    bar.set_ticks(range(0, m_max + 1, max(1, m_max // 10)))
    bar.ax.minorticks_off()
    bar.ax.set_title("$m$", loc="center")


def scale_axis(ax: Axes) -> None:
    """A logarithmic axis of scales with ticks that can be read, once its limits are known.

    Powers of ten alone over many decades; 1, 2 and 5 of each over few, as plain numbers.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    ax.set_xscale("log")
    low, high = ax.get_xlim()
    few = high < 300 * low
    ax.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if few else (1,), numticks=30))
    if low > 1e-4 and high < 1e5:  # else as a power of ten, which takes ten times as long to set
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    # Every tick is drawn by itself: between many with a number none, between powers of ten 2 and 5.
    ax.xaxis.set_minor_locator(NullLocator() if few else LogLocator(10, subs=(2, 5), numticks=30))
    ax.xaxis.set_minor_formatter(NullFormatter())


def note(ax: Axes, words: str) -> None:
    """Say in empty axes why they are empty."""
    ax.text(0.5, 0.5, words, ha="center", va="center", transform=ax.transAxes, color="0.4", wrap=True)


def legend_above(ax: Axes, handles: list[Any], **look: Any) -> None:
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
