"""Draw the figures of results for print: PNG, SVG or PDF, from the files alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import tyro

from experiments.console import say
from experiments.errors import ExperimentError, FileError
from experiments.reports.behaviours import Behaviour
from experiments.reports.learning_phase import LearningRun
from experiments.reports.results import Results, learned, read_results
from quantify import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
# Colour, marker, its size, and words. Core comes first and large: where state is 0, memory lies on top of it.
LOOKS = {
    "E_core": ("black", "^", 7.5, "core = state + memory"),
    "E_mem": (plots.MEMORY, "s", 3.5, "memory"),
    "E_state": (plots.STATE, "o", 3.5, "state"),
    "D": (plots.SECTIONS[1], "o", 4.0, "dimension"),
}


@dataclass(frozen=True)
class Plot:
    """Draw the figures of results, ready for print."""

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE")]
    """Run files, *.complexity.json, *-progress.json; several runs (seeds) share the figure of progress."""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("figure.pdf")
    """Picture to write (.png, .svg, .pdf). Several: pages of a PDF, else OUT-progress.png and so on."""
    figure: tuple[Literal["progress", "learning", "traces", "behaviour"], ...] = ()
    """Figures to draw: progress of learning; controller and body while learning; sensors and body of the
    behaviours; the paper's set for each behaviour. All that the files hold if not given."""
    freeze: tuple[float, ...] = ()
    """Behaviours of a run by freeze time in minutes; all if not given."""
    common: tuple[float, float] | None = None
    """Scales on which the progress of core complexity is drawn as well, the same for all behaviours."""
    quiet: bool = False
    """Say nothing while working."""


def plot(config: Plot) -> list[Path]:
    """Draw and write the figures; returns the files.

    Raises
    ------
    ExperimentError
        When a file holds nothing that could be drawn; nothing is written then.
    """
    if config.out.suffix.lower() not in FORMATS:
        raise ExperimentError(f"{config.out} must end in {', '.join(FORMATS)}")
    if not config.files:
        raise ExperimentError("give at least one run file or result; `selforg progress hexapod` makes some")
    found = read_results(config.files)
    if config.freeze:
        kept = [b for b in found.behaviours if b.minutes in config.freeze]
        if not kept:
            have = ", ".join(sorted({f"{b.minutes:g}" for b in found.behaviours if b.minutes is not None}))
            raise ExperimentError(f"no behaviour was frozen at these times; known: {have or 'none'}")
        found = Results(kept, found.learning)
    figures = draw(found, config.figure, config.common)
    if not figures:
        problems = "; ".join(f"{b.label}: {b.problem}" for b in found.behaviours if b.problem)
        asked = f" of {', '.join(config.figure)}" if config.figure else ""
        raise ExperimentError(
            f"there is nothing to draw{asked}. {problems or 'The files hold no such results'}"
        )
    written = save(figures, config.out)
    for b in found.behaviours:
        if b.problem:
            say(f"{b.label}: {b.problem}", config.quiet)
    print("\n".join(map(str, written)))
    return written


def draw(
    found: Results, wanted: Sequence[str] = (), common: tuple[float, float] | None = None
) -> dict[str, Figure]:
    """All figures that can be made of the results, by name.

    Parameters
    ----------
    found : Results
    wanted : sequence of str
        "progress", "learning", "traces", "behaviour"; all if empty.
    common : (float, float), optional
        As in `progress_figure`.
    """
    figures = {}
    asked = set(wanted or ("progress", "learning", "traces", "behaviour"))
    if "progress" in asked and learned(found.behaviours):
        figures["progress"] = progress_figure(found.behaviours, common)
    for run in found.learning:
        if "learning" in asked and (run.C or run.body is not None):
            figures[f"{run.path.stem}-learning"] = learning_figure(run)
        shown = [b for b in found.behaviours if b.run == run.path and b.sensors is not None]
        if "traces" in asked and shown:
            figures[f"{run.path.stem}-traces"] = traces_figure(shown)
    for b in found.behaviours:
        if "behaviour" in asked and b.result is not None:
            figures[b.label.replace("/", "-").replace(" ", "-")] = behaviour_figure(b)
    return figures


def save(figures: dict[str, Figure], out: Path) -> list[Path]:
    """Write figures, each in one move: one as `out`, several as pages of a PDF or with their names added."""
    from matplotlib.backends.backend_pdf import PdfPages

    out.parent.mkdir(parents=True, exist_ok=True)
    written = []
    try:
        if out.suffix.lower() == ".pdf":
            temporary = out.with_name(f".{out.name}.tmp")
            # Without dates the same results give the same file.
            with PdfPages(temporary, metadata={"CreationDate": None}) as pages:
                for figure in figures.values():
                    pages.savefig(figure)
            os.replace(temporary, out)
            return [out]
        for name, figure in figures.items():
            path = out if len(figures) == 1 else out.with_name(f"{out.stem}-{name}{out.suffix}")
            temporary = path.with_name(f".{path.name}.tmp")
            kind = path.suffix[1:].lower()
            figure.savefig(
                temporary, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None
            )
            os.replace(temporary, path)
            written.append(path)
    except OSError as error:
        raise FileError(f"cannot write {out}: {error.strerror}") from error
    return written


def _styled(draw_it: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draw in the style of `quantify.plots` and leave the user's alone."""
    from functools import wraps

    @wraps(draw_it)
    def styled(*arguments: Any, **settings: Any) -> Figure:
        from matplotlib import rc_context

        with rc_context(plots.STYLE):
            return draw_it(*arguments, **settings)

    return styled


def behaviour_figure(b: Behaviour) -> Figure:
    """The paper's set for one behaviour, with a title that says what it is."""
    if b.result is None:
        raise ExperimentError(f"{b.label} has no result: {b.problem}")
    tau = b.result.sums.tau or 1
    series = b.series if b.series is not None and len(b.series) > 3 * tau + 3 else None
    figure = plots.quantification(b.result, series=series)
    what = f"{b.label}\n{b.what}" + (f"; {b.channel}" if b.channel else "")
    figure.suptitle(what, fontsize=8, x=0.01, ha="left")
    return figure


@_styled
def progress_figure(behaviours: Sequence[Behaviour], common: tuple[float, float] | None = None) -> Figure:
    """Complexities and dimension against learning time; bars are sampling errors.

    Several runs of a robot under a rule: a thin line each, and their median as a thick one. Other robots or
    rules: a row of axes each, on the same scale.

    Parameters
    ----------
    behaviours : sequence of Behaviour
    common : (float, float), optional
        Core complexity is drawn again over these scales, which are the same for all behaviours. A behaviour
        without such scales is left out of that line.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    shown = learned(behaviours)
    groups = list(
        dict.fromkeys(b.group for b in behaviours if b.result is not None and b.minutes is not None)
    )
    figure = Figure(figsize=(7.2, 3.1 * len(groups)), layout="constrained")
    axes = figure.subplots(len(groups), 2, squeeze=False, sharex=True, sharey="col", width_ratios=(2, 1))
    for (left, right), group in zip(axes, groups, strict=True):
        mine = [b for b in shown if b.group == group]
        for name, (shade, marker, size, words) in LOOKS.items():
            ax = right if name == "D" else left
            points = [(b, getattr(b.result, name).value, getattr(b.result, name).sampling) for b in mine]
            _lines(ax, points, words, color=shade, marker=marker, ms=size)
        if common is not None:
            words = f"core on $\\epsilon$ from {common[0]:g} to {common[1]:g}"
            _lines(left, _on_common(mine, common), words, color="0.5", marker="^", ms=5, ls=":")
        left.set(xlabel="learning time [min]", ylabel="complexity [nats]")
        right.set(xlabel="learning time [min]", ylabel="dimension $D$")
        runs = sorted({b.run.stem for b in mine if b.run is not None})
        left.set_title(f"{group}: {', '.join(runs)}")
        left.legend(loc="best")
    # Only now: limits that are set before everything is drawn would not grow with it.
    for ax in axes.flat:
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        ax.set_xlim(left=0)
        ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
        ax.tick_params(labelbottom=True, labelleft=True)
    return figure


def _on_common(
    behaviours: Sequence[Behaviour], scales: tuple[float, float]
) -> list[tuple[Behaviour, float, float]]:
    """Core complexity on given scales, of the behaviours that have any of them."""
    points = []
    for b in behaviours:
        parts = b.result.decomposition  # type: ignore[union-attr]
        if ((parts.eps >= scales[0]) & (parts.eps <= scales[1])).any():
            points.append((b, parts.over(*scales).E_core, np.nan))
    return points


def _lines(ax: Axes, points: list[tuple[Behaviour, float, float]], words: str, **look: Any) -> None:
    runs = list(dict.fromkeys(b.run for b, *_ in points))
    look = {"mfc": "white", "ls": "-"} | look
    several = len(runs) > 1
    for run in runs:
        mine = [point for point in points if point[0].run == run]
        t, y, error = ([b.minutes or 0.0 for b, *_ in mine], [y for _, y, _ in mine], [e for *_, e in mine])
        faint = {"alpha": 0.4, "lw": 0.7} if several else {"lw": 1.4, "label": words}
        # No bar where no error is known.
        ax.errorbar(t, y, np.nan_to_num(error), capsize=2, elinewidth=0.8, **look, **faint)
    if several:
        times = sorted({b.minutes for b, *_ in points if b.minutes is not None})
        middle = [float(np.median([y for b, y, _ in points if b.minutes == t])) for t in times]
        ax.plot(times, middle, lw=2.2, **look | {"mfc": look["color"]}, label=f"{words} (median)")


@_styled
def learning_figure(run: LearningRun) -> Figure:
    """Controller and body of one learning run.

    C at each freeze, eigenvalues of the loop there and over time, height of the trunk, airtime, displacement.
    """
    from matplotlib.figure import Figure

    names = list(run.C)
    count = max(len(names), 1)
    figure = Figure(figsize=(max(7.2, 2.6 * count), 7.6), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=(1.15, 1.0, 1.0))
    top, middle, bottom = parts
    figure.suptitle(run.label + (f"\n{run.problem}" if run.problem else ""), fontsize=8, x=0.01, ha="left")
    _matrices(top, run, names)
    spectrum, moduli = middle.subplots(1, 2, width_ratios=(1, 1.8))
    _spectrum(spectrum, run, names)
    moduli.plot(run.minutes, run.moduli, color=plots.MEMORY, lw=0.8, alpha=0.8)
    moduli.axhline(1, color="0.5", lw=0.6, ls=":")
    moduli.set(xlabel="learning time [min]", ylabel="modulus", title="Eigenvalues of the loop")
    moduli.set_ylim(0, max(1.05, moduli.get_ylim()[1]))
    axes = bottom.subplots(1, 3)
    _body(axes, run)
    for ax in (moduli, *axes):
        for name in names:
            ax.axvline(_minutes(name), color="0.6", lw=0.6, ls="--", label="_freeze")
    return figure


def _minutes(name: str) -> float:
    return float(name.removesuffix("min"))


def _say(ax: Axes, words: str) -> None:
    ax.text(0.5, 0.5, words, ha="center", va="center", transform=ax.transAxes, color="0.4", wrap=True)


def _matrices(figure: Any, run: LearningRun, names: list[str]) -> None:
    axes = np.atleast_1d(figure.subplots(1, max(len(names), 1), sharey=True))
    if not names:
        _say(axes[0], "no controller was frozen")
        axes[0].set_axis_off()
        return
    limit = max(float(np.abs(C).max()) for C in run.C.values())
    if limit == 0:
        _say(axes[0], "C is zero: open loop")
    for ax, name in zip(axes, names, strict=True):
        image = ax.imshow(run.C[name], cmap="RdBu_r", vmin=-(limit or 1), vmax=limit or 1)
        ax.set(title=f"$C$ at {_minutes(name):g} min", xlabel="sensor")
        # Sensor i is the joint of motor i, so that the names at the left serve both axes.
        ax.set_xticks(range(0, len(run.sensors), max(1, len(run.sensors) // 6)))
    axes[0].set_yticks(range(len(run.motors)), [f"{n} {i}" for i, n in enumerate(run.motors)], fontsize=5)
    axes[0].set_ylabel("motor")
    figure.colorbar(image, ax=list(axes), aspect=25, pad=0.01)


def _spectrum(ax: Axes, run: LearningRun, names: list[str]) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0, 0), 1, fill=False, color="0.6", lw=0.7))
    for i, name in enumerate(names):
        values = run.eigenvalues[name]
        shade = plots.colour(i, max(len(names) - 1, 1))
        marker = "osD^v"[i % 5]
        ax.plot(
            values.real, values.imag, marker, ms=3.5, mfc="none", color=shade, label=f"{_minutes(name):g} min"
        )
    ax.axhline(0, color="0.85", lw=0.5, zorder=0)
    ax.axvline(0, color="0.85", lw=0.5, zorder=0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="real part", ylabel="imaginary part", title="Spectrum of the loop, at rest")
    if names:
        ax.legend(loc="upper left", handletextpad=0.1, borderaxespad=0.1)


def _body(axes: Any, run: LearningRun) -> None:
    titles = ("Height of the trunk [m]", "Airtime", "Distance from the start [m]")
    for ax, title in zip(axes, titles, strict=True):
        ax.set(title=title, xlabel="learning time [min]")
    if run.body is None:
        for ax in axes:
            _say(ax, "not recorded")
        return
    t = run.body.t / 60
    axes[0].fill_between(t, run.body["low"], run.body["high"], color=plots.MEMORY, alpha=0.25, lw=0)
    axes[0].plot(t, run.body["height"], color=plots.MEMORY)
    axes[1].plot(t, run.body["airtime"], color=plots.SECTIONS[0], lw=0.8)
    axes[1].yaxis.set_major_formatter("{x:.0%}")
    axes[2].plot(t, run.body["displacement"], color="0.2")
    for ax in axes:
        ax.set_ylim(bottom=0)


@_styled
def traces_figure(behaviours: Sequence[Behaviour]) -> Figure:
    """Sensors, height of the trunk and ground contacts of the behaviours of a run, side by side."""
    from matplotlib.figure import Figure

    shown = [b for b in behaviours if b.sensors is not None]
    count = len(shown[0].sensors.names)  # type: ignore[union-attr]
    figure = Figure(figsize=(1.2 + 2.3 * len(shown), 2.2 + 0.19 * count), layout="constrained")
    axes = figure.subplots(
        3, len(shown), squeeze=False, sharex="col", sharey="row", height_ratios=(0.19 * count, 0.9, 0.6)
    )
    # Lanes have one height for all behaviours and all sensors of a unit, so that amplitudes can be compared.
    largest: dict[str, float] = {}
    for b in shown:
        for i, unit in enumerate(b.sensors.units):  # type: ignore[union-attr]
            top = float(np.abs(b.sensors.values[:, i]).max(initial=0))  # type: ignore[union-attr]
            largest[unit] = max(largest.get(unit, 1e-12), top)
    for column, b in zip(axes.T, shown, strict=True):
        lanes, height, contacts = column
        track = b.sensors
        assert track is not None
        for i, (name, unit) in enumerate(zip(track.names, track.units, strict=True)):
            measured = b.channel.startswith(f"{name} [")
            y = i - track.values[:, i] / (2.1 * largest[unit])
            lanes.plot(track.t, y, lw=0.7, color=plots.STATE if measured else "0.2", label=name)
            lanes.axhline(i, color="0.9", lw=0.4, zorder=0)
        lanes.set_title(b.label)
        if b.body is None:
            _say(height, "not recorded")
        else:
            height.plot(b.body.t, b.body["z"], color=plots.MEMORY)
            contacts.plot(
                b.body.t, b.body["contacts"], color=plots.SECTIONS[0], lw=0.8, drawstyle="steps-post"
            )
        contacts.set_xlabel("time [s]")
    lanes, height, contacts = axes[:, 0]
    lanes.set_yticks(range(count), shown[0].sensors.names, fontsize=6)  # type: ignore[union-attr]
    lanes.set_ylim(count - 0.4, -0.6)
    height.set_ylabel("height [m]")
    height.set_ylim(bottom=0)
    contacts.set_ylabel("contacts")
    contacts.set_ylim(bottom=0)
    return figure
