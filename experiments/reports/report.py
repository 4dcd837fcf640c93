"""One page to look at: the numbers in a table, interactive plots, films; everything in a single HTML file.

Pages are made of the templates in this folder by one engine, which escapes whatever comes from outside.
They extend `base.html`; `tables.html` has macros for `Table`, `Section` and sentences, `study.html` puts
these together for a study.
"""

from __future__ import annotations

import base64
import io
import math
import tempfile
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import ArrayLike

import quantify as q
from experiments.errors import ExperimentError, FileError
from experiments.feedback import SILENT, Feedback, plural
from experiments.options.reports import Report
from experiments.pipeline.loop import let_in, modules_of
from experiments.reports.glossary import glossary
from experiments.reports.results import NO_FILES, Behaviour, Floats, LearningPhase, Results, read_results
from experiments.reports.tables import Section
from experiments.reports.video import Video, first_picture, video
from experiments.runfiles.atomic import replacing
from experiments.runfiles.results import versions
from experiments.runfiles.run_file import open_run_file
from experiments.settings import LARGEST
from experiments.sweeps.workers import in_parallel
from quantify import plots
from quantify.plain import to_plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Film = bytes | str
"""A film, or the sentence that says why there is none."""

FILMS = (".mp4",)
FPS = 25.0
# So many points of a phase plot are drawn; more would only fill it.
PHASE_POINTS = 3000
CURVES = ("eps", "D", "h", "delta_h", "E", "PI")
PARTS = (
    *("eps", "E_state", "E_eps", "E_mem", "E_core", "E_raw", "m_l", "m_u"),
    *("kappa", "deterministic", "no_fit", "extrapolated", "negative"),
)


def report(config: Report, feedback: Feedback = SILENT, before: Section | None = None) -> Path:
    """Write the page, with a section of your own before its table if wanted; returns where it is.

    Nothing is written when a file is missing or holds no results.
    """
    if config.out.suffix.lower() not in (".html", ".htm"):
        raise ExperimentError(f"{config.out} must end in .html")
    if not 0 <= config.seconds <= LARGEST:
        raise ExperimentError(f"--seconds is {config.seconds:g}; it must be 0 (no films) or more")
    if not config.files:
        raise ExperimentError(NO_FILES)
    for path in config.files:
        if path.suffix.lower() in (".html", ".htm"):
            raise ExperimentError(f"{path} is a page, not what goes into one; to write it, say -o {path}")
    let_in(config.module)
    found = read_results(path for path in config.files if path.suffix.lower() not in FILMS)
    given = _given_films(config.files, found)
    with replacing(config.out) as temporary:
        temporary.touch()  # A folder that cannot be written to is found out before minutes of filming.
        text = page(found, _films(config, found, given, feedback), config.title, before)
        temporary.write_text(text, encoding="utf-8")
    feedback.say(f"{config.out}: {plural(len(found.behaviours), 'behaviour')}, {len(text) / 1e6:.1f} MB")
    return config.out


def _given_films(files: tuple[Path, ...], found: Results) -> dict[int, Film]:
    """The films named after results, by the index of the behaviour they show."""
    films: dict[int, Film] = {}
    before: list[int] = []
    for path in files:
        if path.suffix.lower() not in FILMS:
            before = found.found_in[path]
        elif not path.is_file():
            raise FileError(f"{path} does not exist; check the name")
        elif free := [i for i in before if i not in films]:
            films[free[0]] = path.read_bytes()
        else:
            remedy = "name it after the file whose behaviour it shows"
            raise ExperimentError(f"{path} belongs to no behaviour; {remedy}")
    return films


def _films(config: Report, found: Results, given: dict[int, Film], feedback: Feedback) -> list[Film]:
    """A film of each behaviour, or why there is none; those that are not given are made several at a time."""
    films: dict[int, Film] = {}
    wanted: dict[int, Video] = {}
    for i, b in enumerate(found.behaviours):
        if b.minutes is None or b.run is None:
            films[i] = "No film: only runs with a frozen controller can be filmed."
        elif not config.seconds:
            films[i] = "No film was asked for."
        elif i not in given:
            modules: tuple[str, ...] = ()
            with suppress(ExperimentError), open_run_file(b.run) as run:
                modules = modules_of(run)  # if they are not all imported, the film says so in its place
            wanted[i] = Video(b.run, freeze=b.minutes, seconds=config.seconds, fps=FPS, module=modules)
    if wanted:
        feedback.say(f"filming {plural(len(wanted), 'behaviour')}; --seconds 0 leaves films out")
        films |= zip(wanted, in_parallel(make_film, list(wanted.values()), config.jobs), strict=True)
    return [(films | given)[i] for i in range(len(found.behaviours))]


def make_film(config: Video) -> Film:
    """A film, or the reason why it failed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return video(replace(config, out=Path(folder) / "film.mp4")).read_bytes()
        except ExperimentError as error:
            return f"No film: {error}"


def page(found: Results, films: list[Film], title: str = "", before: Section | None = None) -> str:
    """The page as text, with a film of each behaviour; it finds a title of its own if none is given."""
    import plotly

    results = [b.result for b in found.behaviours if b.result is not None]
    limits = sorted({result.decomposition.settings["kappa_max"] for result in results})
    shown = zip(found.behaviours, films, strict=True)
    freezes = max([len(run.C) for run in found.learning], default=0)
    data = {
        "behaviours": [_encode(b) | _film(i, film) for i, (b, film) in enumerate(shown)],
        "learning": [_encode_learning(run) for run in found.learning],
        "kappa_max": max(limits, default=0.5),
        "colours": _colours(sorted({result.sums.m_max for result in results}), freezes),
    }
    plot_library = resources.files(plotly) / "package_data" / "plotly.min.js"
    return render(
        "report.html",
        title=title or _title(found),
        before=before,
        behaviours=found.behaviours,
        kappa_max=" or ".join(f"{limit:g}" for limit in limits) or "0.5",
        # Which engine moved a body is said of each behaviour.
        versions={name: version for name, version in versions().items() if name != "pybullet"},
        glossary=glossary(),
        data=data,
        films={f"film-{i}": _base64(film) for i, film in enumerate(films) if isinstance(film, bytes)},
        plotly=Markup(plot_library.read_text(encoding="utf-8")),
    )


def render(template: str, **values: Any) -> str:
    """The text of a page. Strings are escaped; `values|tojson` can stand in a script element."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    loader = PackageLoader("experiments.reports")
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # A style sheet or script of the templates' folder, as it is.
    made.globals["verbatim"] = lambda name: Markup(loader.get_source(made, name)[0])
    made.tests["finite"] = math.isfinite
    made.filters["base64"] = _base64
    made.filters["rounded"] = _rounded
    # The order of names is part of the data: freeze times, for instance, stand in the order of learning.
    made.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False}
    return made


def _title(found: Results) -> str:
    runs = {run.path for run in found.learning}
    if len(runs) == 1 and all(b.run in runs for b in found.behaviours):
        return f"Behaviour of the {found.learning[0].label.split(': ')[1]}"
    if len(found.behaviours) == 1:
        return f"Complexity of {found.behaviours[0].label}"
    return f"{len(found.behaviours)} behaviours compared"


def _colours(sizes: list[int], freezes: int) -> dict[str, Any]:
    """The scheme of `quantify.plots`, as the page needs it."""
    from matplotlib.colors import to_hex

    names = ("MEMORY", "STATE", "SCALE", "STOCHASTIC", "SECTIONS")
    return {
        **{name.lower(): getattr(plots, name) for name in names},
        "m": {m: [to_hex(plots.colour(i, m)) for i in range(m + 1)] for m in sizes},
        "time": {
            n: [to_hex(plots.colour(i, max(n - 1, 1))) for i in range(n)] for n in range(1, freezes + 1)
        },
    }


def packed(values: ArrayLike, kind: str = "f4") -> dict[str, Any]:
    """An array as base64 of little-endian floats: "f4" is enough for a picture, "f8" for arithmetic."""
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"base64": _base64(array.tobytes()), "type": kind, "shape": list(array.shape)}


def embedded(figure: Figure) -> str:
    """A figure as the address of a picture that is part of the page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200)
    return f"data:image/png;base64,{_base64(buffer.getvalue())}"


def _rounded(value: Any) -> Any:
    """Plain values with numbers of five digits, for people."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _film(i: int, film: Film) -> dict[str, Any]:
    if isinstance(film, str):
        return {"film": None, "no_film": film}
    return {"film": f"film-{i}", "poster": f"data:image/jpeg;base64,{_base64(first_picture(film))}"}


def _encode(b: Behaviour) -> dict[str, Any]:
    out: dict[str, Any] = {
        **{name: getattr(b, name) for name in ("label", "problem", "channel", "motion", "minutes", "group")},
        **dict.fromkeys(("parts", "phase", "sensors", "body")),
        "run": b.run.name if b.run else None,
    }
    if b.sensors is not None and len(b.sensors.t):
        out["sensors"] = {
            "t": packed(b.sensors.t),
            "values": packed(b.sensors.values.T),
            "names": b.sensors.names,
            "units": b.sensors.units,
            "quantified": b.channel.rpartition(" [")[0],
        }
    if b.body is not None and "z" in b.body.names and len(b.body.t):
        columns = {"t": b.body.t, "height": b.body["z"], "contacts": b.body["contacts"]}
        out["body"] = {name: packed(values) for name, values in columns.items()}
    if b.series is not None:
        out["phase"] = _phase(b.series, (b.result.sums.tau if b.result else None) or 1)
    return out | (_encode_result(b, b.result) if b.result is not None else {})


def _encode_result(b: Behaviour, result: q.Quantification) -> dict[str, Any]:
    parts = result.decomposition
    best, smallest = parts.best_range(), float(parts.eps[-1])
    automatic = (best.lo, best.hi) if best else (smallest, float(min(4 * smallest, parts.eps[0])))
    # The page moves from scale to scale of the grid; an average over ranges ends between two of them.
    nearest = [float(parts.eps[np.argmin(np.abs(np.log(parts.eps / eps)))]) for eps in automatic]
    given = (result.range.lo, result.range.hi) if result.settings["range_from"] == "given" else None
    estimates = ("D", "E_state", "E_mem", "E_core")
    return {
        "estimates": {name: to_plain(asdict(getattr(result, name))) for name in estimates},
        "command": b.command,
        "automatic": nearest,
        "start": given or nearest,
        "given": given,
        "parts": {name: packed(getattr(parts, name), "f8") for name in PARTS} | {"m_max": result.sums.m_max},
        "curves": {name: packed(getattr(result.entropies, name)) for name in CURVES},
        "segments": [
            [m, *fit.eps, *(fit.o - fit.s * np.log(np.array(fit.eps)))]
            for m, fits in enumerate(parts.fits, start=1)
            for fit in fits
        ],
        "plateaus": packed(parts.constants),
        "scaling": [{"D": fit.D, "const": fit.const, "eps": fit.eps} for fit in result.scaling],
        "predictive": result.predictive_information and _predictive(result.predictive_information),
    }


def _predictive(found: q.PredictiveInformation) -> dict[str, Any]:
    """The KSG estimates over the scale eta / 2, a row per m, and those from half the data."""
    order = np.argsort(found.eta)
    value, half = found.PI[order].T, found.half.mean(axis=0)[order].T
    rows = {"eps": found.eta[order] / 2, "value": value, "half": half}
    return {"k": found.k, "m": found.m.tolist()} | {name: packed(row) for name, row in rows.items()}


def _phase(series: Floats, tau: int) -> dict[str, Any] | None:
    if len(series) < 4 * tau + 2:
        return None
    cloud = {"now": series[2 * tau :], "before": series[tau:-tau], "third": series[: -2 * tau]}
    first = {name: packed(values[:PHASE_POINTS]) for name, values in cloud.items()}
    now, before, _ = cloud.values()
    turns = [plots.extrema(x.astype(float), max(1, tau // 2))[:PHASE_POINTS] for x in (now, before)]
    return {"tau": tau, **first, "sections": [[packed(now[at]), packed(before[at])] for at in turns]}


def _encode_learning(run: LearningPhase) -> dict[str, Any]:
    body = run.body and {n: packed(values) for n, values in {"t": run.body.t, **run.body.columns()}.items()}
    return {
        **{name: getattr(run, name) for name in ("label", "problem", "sensors", "motors")},
        "name": run.path.stem,
        "C": {name: packed(C) for name, C in run.C.items()},
        "eigenvalues": {name: [packed(v.real), packed(v.imag)] for name, v in run.eigenvalues.items()},
        "freezes": [float(name.removesuffix("min")) for name in run.eigenvalues],
        "minutes": packed(run.minutes),
        "moduli": packed(run.moduli.T),
        "body": body,
    }
