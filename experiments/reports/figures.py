"""Draw the figures of results for print: PNG, SVG or PDF, from the files alone."""

from __future__ import annotations

import gc
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from experiments.errors import ExperimentError
from experiments.feedback import SILENT, Feedback
from experiments.options.reports import Kind, Plot
from experiments.reports.results import NO_FILES, Behaviour, LearningPhase, Results, read_results
from experiments.runfiles.atomic import replacing
from quantify import QuantifyError, plots
from quantify.plots.style import note, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def plot(config: Plot, feedback: Feedback = SILENT) -> list[Path]:
    """Draw and write the figures; returns the files. Nothing is written if there is nothing to draw."""
    if config.out.suffix.lower() not in FORMATS:
        raise ExperimentError(f"{config.out} must end in {', '.join(FORMATS)}")
    if not config.files:
        raise ExperimentError(NO_FILES)
    found = read_results(config.files)
    if config.freeze:
        kept = [b for b in found.behaviours if b.minutes in config.freeze]
        if not kept:
            have = ", ".join(sorted({f"{b.minutes:g}" for b in found.behaviours if b.minutes is not None}))
            raise ExperimentError(f"no behaviour was frozen at these times; known: {have or 'none'}")
        found = replace(found, behaviours=kept)
    with _uncollected():
        figures = draw(found, config.figure, config.common)
        written = save(figures, config.out) if figures else []
    problems = [f"{b.label}: {b.problem}" for b in found.behaviours if b.problem]
    if not figures:
        asked = f" of {', '.join(config.figure)}" if config.figure else ""
        why = "; ".join(problems) or "The files hold no such results"
        raise ExperimentError(f"there is nothing to draw{asked}. {why}")
    for problem in problems:
        feedback.say(problem)
    return written


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no circles of dead objects: figures make hundreds of thousands, and all of them live."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def draw(
    found: Results, wanted: Sequence[Kind] = (), common: tuple[float, float] | None = None
) -> dict[str, Figure]:
    """The figures that can be made of the results, by name: all, or those of the kinds that are wanted."""
    figures = {}
    asked = set(wanted or get_args(Kind))
    if "progress" in asked and (figure := progress_figure(found.behaviours, common)):
        figures["progress"] = figure
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
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    kind = out.suffix[1:].lower()
    # Without dates, and names that are drawn by lot, the same results give the same file.
    if kind == "pdf":
        content = io.BytesIO()  # not the file: matplotlib does not survive a full disk in the middle of a PDF
        with PdfPages(content, metadata={"CreationDate": None}) as pages:
            for figure in figures.values():
                pages.savefig(_arranged(figure))
        with replacing(out) as temporary:
            temporary.write_bytes(content.getvalue())
        return [out]
    written = []
    for name, figure in figures.items():
        written.append(out if len(figures) == 1 else out.with_name(f"{out.stem}-{name}{out.suffix}"))
        with replacing(written[-1]) as temporary, rc_context({"svg.hashsalt": "selforg"}):
            undated = {"Date": None} if kind == "svg" else None
            _arranged(figure).savefig(temporary, format=kind, dpi=200, metadata=undated)
    return written


def _arranged(figure: Figure) -> Figure:
    """The figure with everything at its place; otherwise all would be drawn twice, to find the places."""
    from matplotlib import rc_context

    if (engine := figure.get_layout_engine()) is not None:
        dpi = figure.dpi
        figure.dpi = 300  # letters of few pixels are narrower than in print; more takes time and memory
        engine.execute(figure)
        figure.dpi = dpi
        with rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
            figure.set_layout_engine(None)
    return figure


def progress_figure(
    behaviours: Sequence[Behaviour], common: tuple[float, float] | None = None
) -> Figure | None:
    """Complexities and dimension against learning time; None without a result that has a freeze time."""
    points = []
    for b in behaviours:
        if b.result is None or b.minutes is None or b.run is None:
            continue
        estimates = {name: getattr(b.result, name) for name in ("E_core", "E_mem", "E_state", "D")}
        values = {name: (estimate.value, estimate.sampling) for name, estimate in estimates.items()}
        # A behaviour may have none of the common scales.
        with suppress(QuantifyError):
            if common is not None:
                shared = b.result.decomposition.over(*common)
                values["common"] = (shared.E_core, shared.E_core_sd)
        points.append(plots.ProgressPoint(b.group, str(b.run), b.minutes, values))
    return plots.progress(points, common) if points else None


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


@styled
def traces_figure(behaviours: Sequence[Behaviour]) -> Figure:
    """Sensors, height of the trunk and ground contacts of the behaviours of a run, side by side."""
    shown = [(b, b.sensors) for b in behaviours if b.sensors is not None]
    names = shown[0][1].names
    lanes_in, left = 0.19 * len(names), _room(names, 6)
    figure = plots.new_figure(left + 0.1 + 2.3 * len(shown), 2.4 + lanes_in, layout=None)
    inside = plots.edges(figure, left=left, right=0.1, bottom=0.45, top=0.3)
    grid = figure.add_gridspec(
        3, len(shown), height_ratios=(lanes_in, 0.9, 0.6), wspace=0.05, hspace=0.12, **inside
    )
    axes = grid.subplots(squeeze=False, sharex="col", sharey="row")
    # Lanes have one height for all behaviours and all sensors of a unit, so that amplitudes can be compared.
    largest: dict[str, float] = {}
    for _, sensors in shown:
        for unit, values in zip(sensors.units, sensors.values.T, strict=True):
            largest[unit] = max(largest.get(unit, 1e-12), float(np.abs(values).max(initial=0)))
    for (lanes, height, contacts), (b, sensors) in zip(axes.T, shown, strict=True):
        for i, (name, unit) in enumerate(zip(sensors.names, sensors.units, strict=True)):
            shade = plots.STATE if b.channel.startswith(f"{name} [") else "0.2"
            lane = i - sensors.values[:, i] / (2.1 * largest[unit])
            lanes.plot(sensors.t, lane, lw=0.7, color=shade, label=name)
            lanes.axhline(i, color="0.9", lw=0.4, zorder=0)
        lanes.set_title(b.label)
        if b.body is None or not {"z", "contacts"} <= set(b.body.names):
            note(height, "not recorded")
        else:
            height.plot(b.body.t, b.body["z"], color=plots.MEMORY)
            steps = {"color": plots.SECTIONS[0], "lw": 0.8, "drawstyle": "steps-post"}
            contacts.plot(b.body.t, b.body["contacts"], **steps)
        contacts.set_xlabel("time [s]")
    lanes, height, contacts = axes[:, 0]
    lanes.set_yticks(range(len(names)), names, fontsize=6)
    lanes.set_ylim(len(names) - 0.4, -0.6)
    for ax, title in ((height, "height [m]"), (contacts, "contacts")):
        ax.set_ylabel(title)
        ax.set_ylim(bottom=0)
    return figure


@styled
def learning_figure(run: LearningPhase) -> Figure:
    """C and the loop's eigenvalues at each freeze and over time; height of the trunk, airtime, distance."""
    figure = plots.new_figure(max(7.2, 2.6 * len(run.C)), 7.6, layout=None)
    figure.suptitle(run.label + (f"\n{run.problem}" if run.problem else ""), fontsize=8, x=0.01, ha="left")
    _matrices(figure, run)
    middle = plots.edges(figure, left=0.6, right=0.15, bottom=3.0, top=2.9)
    grid = figure.add_gridspec(1, 2, width_ratios=(1, 1.8), wspace=0.2, **middle)
    spectrum, moduli = grid.subplots()  # type: ignore[misc]
    _spectrum(spectrum, run)
    moduli.plot(run.minutes, run.moduli, color=plots.MEMORY, lw=0.8, alpha=0.8)
    moduli.axhline(1, color="0.5", lw=0.6, ls=":")
    moduli.set(xlabel="learning time [min]", ylabel="modulus", title="Eigenvalues of the loop")
    moduli.set_ylim(0, max(1.05, moduli.get_ylim()[1]))
    bottom = plots.edges(figure, left=0.6, right=0.15, bottom=0.45, top=5.35)
    axes: Any = figure.add_gridspec(1, 3, wspace=0.25, **bottom).subplots()
    _body(axes, run)
    for ax in (moduli, *axes):
        for name in run.C:
            ax.axvline(_minutes(name), color="0.6", lw=0.6, ls="--", label="_freeze")
    return figure


def _room(names: Sequence[str], size: float) -> float:
    """Inches that an axis needs for its label and for names in letters of this size beside it."""
    return 0.4 + 0.6 * size / 72 * max(map(len, names), default=0)


def _minutes(name: str) -> float:
    return float(name.removesuffix("min"))


def _matrices(figure: Any, run: LearningPhase) -> None:
    motors = [f"{name} {i}" for i, name in enumerate(run.motors)]
    inside = plots.edges(figure, left=_room(motors, 5), right=0.65, bottom=5.25, top=0.6)
    grid = figure.add_gridspec(1, max(len(run.C), 1), wspace=0.06, **inside)
    axes = np.atleast_1d(grid.subplots(sharey=True))
    if not run.C:
        note(axes[0], "no controller was frozen")
        axes[0].set_axis_off()
        return
    limit = max(float(np.abs(C).max()) for C in run.C.values())
    if limit == 0:
        note(axes[0], "C is zero: open loop")
    for ax, (name, C) in zip(axes, run.C.items(), strict=True):
        image = ax.imshow(C, cmap="RdBu_r", vmin=-(limit or 1), vmax=limit or 1)
        ax.set(title=f"$C$ at {_minutes(name):g} min", xlabel="sensor")
        # Sensor i is the joint of motor i, so that the names at the left serve both axes.
        ax.set_xticks(range(0, len(run.sensors), max(1, len(run.sensors) // 6)))
    axes[0].set_yticks(range(len(motors)), motors, fontsize=5)
    axes[0].set_ylabel("motor")
    axes[-1].apply_aspect()
    last, width = axes[-1].get_position(), float(figure.get_size_inches()[0])
    figure.colorbar(image, cax=figure.add_axes((last.x1 + 0.1 / width, last.y0, 0.1 / width, last.height)))


def _spectrum(ax: Axes, run: LearningPhase) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0, 0), 1, fill=False, color="0.6", lw=0.7))
    for i, (name, values) in enumerate(run.eigenvalues.items()):
        shade, words = plots.colour(i, max(len(run.eigenvalues) - 1, 1)), f"{_minutes(name):g} min"
        ax.plot(values.real, values.imag, "osD^v"[i % 5], color=shade, ms=3.5, mfc="none", label=words)
    for line in (ax.axhline, ax.axvline):
        line(0, color="0.85", lw=0.5, zorder=0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="real part", ylabel="imaginary part", title="Spectrum of the loop, at rest")
    if run.eigenvalues:
        ax.legend(loc="upper left", handletextpad=0.1, borderaxespad=0.1)


def _body(axes: Any, run: LearningPhase) -> None:
    titles = ("Height of the trunk [m]", "Airtime", "Distance from the start [m]")
    for ax, title in zip(axes, titles, strict=True):
        ax.set(title=title, xlabel="learning time [min]")
        if run.body is None:
            note(ax, "not recorded")
    if run.body is None:
        return
    t = run.body.t / 60
    axes[0].fill_between(t, run.body["low"], run.body["high"], color=plots.MEMORY, alpha=0.25, lw=0)
    axes[0].plot(t, run.body["height"], color=plots.MEMORY)
    axes[1].plot(t, run.body["airtime"], color=plots.SECTIONS[0], lw=0.8)
    axes[1].yaxis.set_major_formatter("{x:.0%}")
    axes[2].plot(t, run.body["displacement"], color="0.2")
    for ax in axes:
        ax.set_ylim(bottom=0)
