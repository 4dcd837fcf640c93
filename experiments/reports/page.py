"""The page of a report as text: template, table, and the data that its script draws from."""

from __future__ import annotations

import base64
import html
import json
import subprocess
import tempfile
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import quantify as q
from experiments.errors import ExperimentError
from experiments.reports.behaviours import Behaviour
from experiments.reports.learning_phase import LearningRun
from experiments.reports.results import Results
from experiments.runfiles import run_file as log
from quantify import plots
from quantify.plain import to_plain

Film = bytes | str
"""A film, or the sentence that says why there is none."""

SCRIPTS = ("basics.js", "decomposition.js", "behaviours.js", "learning.js", "start.js")
# So many points of a phase plot are drawn; more would only fill it.
PHASE_POINTS = 3000
CURVES = ("D", "h", "delta_h", "E", "PI")
PARTS = (
    *("eps", "E_state", "E_eps", "E_mem", "E_core", "E_raw", "m_l", "m_u"),
    *("kappa", "deterministic", "no_fit", "extrapolated", "negative"),
)

COLUMNS = {
    "Behaviour": "what was run",
    "D": "dimension",
    "E_state": "state complexity",
    "E_mem": "memory complexity",
    "E_core": "core complexity",
    "PI": "predictive information by nearest neighbours at the smallest scale",
    "scales ε": "averaged over",
    "κ": "0 deterministic, 1 stochastic",
    "drift": "of E_core, nats per e-fold of ε",
    "without fit": "share of the terms",
    "warnings": "in words below",
}
RANGE_WORDS = {
    "flattest deterministic": "automatic: flattest",
    "smallest reliable scales": "automatic: smallest reliable",
}


def _still(film: bytes) -> str:
    """The first picture of a film as a data URL: shown before it plays, and on paper."""
    import imageio_ffmpeg

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        path.write_bytes(film)
        picture = path.with_suffix(".jpg")
        command = [
            imageio_ffmpeg.get_ffmpeg_exe(),
            "-loglevel",
            "error",
            "-i",
            str(path),
            "-frames:v",
            "1",
            str(picture),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not picture.exists():
            raise ExperimentError(f"a film cannot be read: {done.stderr.strip() or 'it holds no picture'}")
        return "data:image/jpeg;base64," + base64.b64encode(picture.read_bytes()).decode()


def page(found: Results, films: list[Film], title: str = "", before: str = "") -> str:
    """The page as text.

    Parameters
    ----------
    found : Results
    films : list, one per behaviour
        The film as bytes, or a sentence why there is none.
    title : str
        Heading; made from the behaviours if empty.
    before : str
        HTML that stands before the table.
    """
    encoded, scripts = [], []
    for i, (b, film) in enumerate(zip(found.behaviours, films, strict=True)):
        shown: dict[str, Any] = {"film": None, "no_film": film}
        if isinstance(film, bytes):
            shown = {"film": f"film-{i}", "poster": _still(film)}
            scripts.append(
                f'<script type="text/plain" id="film-{i}">{base64.b64encode(film).decode()}</script>'
            )
        encoded.append(_encode(b) | shown)
    sizes = sorted({b.result.sums.m_max for b in found.behaviours if b.result is not None})
    data = {
        "behaviours": encoded,
        "learning": [_encode_learning(run) for run in found.learning],
        "colours": _colours(sizes, max([len(run.C) for run in found.learning], default=0)),
    }
    limits = {b.result.decomposition.settings["kappa_max"] for b in found.behaviours if b.result is not None}
    folder = resources.files("experiments.reports") / "templates"
    parts = {
        "title": html.escape(title or _title(found)),
        "about": html.escape(_about(found)),
        "class": "single" if len(found.behaviours) == 1 else "several",
        "summary": before + _summary(found.behaviours),
        "kappa_max": " or ".join(f"{limit:g}" for limit in sorted(limits)) or "0.5",
        "made": _made(found),
        # "</script>" in a name would end the script element.
        "data": json.dumps(data, allow_nan=False).replace("</", "<\\/"),
        "films": "\n".join(scripts),
        "plotly": _plotly(),
        "style": (folder / "page.css").read_text(encoding="utf-8"),
        "scripts": "\n".join(
            f"<script>\n{(folder / name).read_text(encoding='utf-8')}</script>" for name in SCRIPTS
        ),
    }
    # Cut at the marks instead of replacing them: the parts may contain anything.
    text, *rest = (folder / "page.html").read_text(encoding="utf-8").split("{{")
    for piece in rest:
        name, after = piece.split("}}", 1)
        text += parts[name] + after
    return text


def _plotly() -> str:
    """The plot library, one copy per page."""
    import plotly

    return (resources.files(plotly) / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def _title(found: Results) -> str:
    runs = {run.path for run in found.learning}
    if len(runs) == 1 and all(b.run in runs for b in found.behaviours):
        return f"Behaviour of the {found.learning[0].label.split(': ')[1]}"
    if len(found.behaviours) == 1:
        return f"Complexity of {found.behaviours[0].label}"
    return f"{len(found.behaviours)} behaviours compared"


def _about(found: Results) -> str:
    measured = sum(b.result is not None for b in found.behaviours)
    if not measured:
        return "Nothing to show yet: no behaviour here has been quantified. The table says what is missing."
    missing = len(found.behaviours) - measured
    words = f"{measured} quantified behaviour{'s' if measured > 1 else ''}"
    if missing:
        words += f", {missing} without result (the table says why)"
    return words + ". Complexities in nats. The whole page is one file and needs no network."


def _colours(sizes: list[int], freezes: int) -> dict[str, Any]:
    """The scheme of `quantify.plots`, as the page needs it."""
    from matplotlib.colors import to_hex

    return {
        "memory": plots.MEMORY,
        "state": plots.STATE,
        "scale": plots.SCALE,
        "stochastic": plots.STOCHASTIC,
        "sections": plots.SECTIONS,
        "m": {size: [to_hex(plots.colour(m, size)) for m in range(size + 1)] for size in sizes},
        "time": {
            n: [to_hex(plots.colour(i, max(n - 1, 1))) for i in range(n)] for n in range(1, freezes + 1)
        },
    }


def packed(values: ArrayLike, kind: str = "f4") -> dict[str, Any]:
    """An array as base64 of little-endian floats: "f4" is enough for a picture, "f8" for arithmetic."""
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"base64": base64.b64encode(array.tobytes()).decode(), "type": kind, "shape": list(array.shape)}


def _encode(b: Behaviour) -> dict[str, Any]:
    out: dict[str, Any] = {
        **{name: getattr(b, name) for name in ("label", "problem", "channel", "figures", "minutes", "group")},
        **dict.fromkeys(("parts", "phase", "sensors", "body")),
        "run": b.run.name if b.run else None,
    }
    if b.sensors is not None and len(b.sensors.t):
        track = b.sensors
        measured = b.channel.rpartition(" [")[0]
        out["sensors"] = {
            "t": packed(track.t),
            "values": packed(track.values.T),
            "names": track.names,
            "units": track.units,
            "measured": measured,
        }
    if b.body is not None and "z" in b.body and len(b.body.t):
        out["body"] = {
            "t": packed(b.body.t),
            "height": packed(b.body["z"]),
            "contacts": packed(b.body["contacts"]),
        }
    if b.series is not None:
        out["phase"] = _phase(b.series, (b.result.sums.tau if b.result else None) or 1)
    return out | (_encode_result(b, b.result) if b.result is not None else {})


def _encode_result(b: Behaviour, result: q.Quantification) -> dict[str, Any]:
    parts, e = result.decomposition, result.entropies
    best = parts.best_range()
    automatic = (
        (best.lo, best.hi) if best else (float(parts.eps[-1]), float(min(4 * parts.eps[-1], parts.eps[0])))
    )
    chosen = (result.range.lo, result.range.hi)
    given = chosen if result.settings["range_from"] == "given" else None
    return {
        "estimates": to_plain(
            {name: asdict(getattr(result, name)) for name in ("D", "E_state", "E_mem", "E_core")}
        ),
        "command": b.command,
        "automatic": automatic,
        "start": given or automatic,
        "given": given,
        "parts": {name: packed(getattr(parts, name), "f8") for name in PARTS} | {"m_max": result.sums.m_max},
        "curves": {"eps": packed(e.eps)} | {name: packed(getattr(e, name)) for name in CURVES},
        "segments": [
            [m, *fit.eps, *(fit.o - fit.s * np.log(np.array(fit.eps)))]
            for m, fits in enumerate(parts.fits, start=1)
            for fit in fits
        ],
        "plateaus": _plateaus(parts),
        "scaling": [{"D": fit.D, "const": fit.const, "eps": fit.eps} for fit in result.scaling],
        "predictive": _predictive(result.predictive_information),
    }


def _predictive(found: q.PredictiveInformation | None) -> dict[str, Any] | None:
    """The KSG estimates over the scale eta / 2, a row per m, and those from half the data."""
    if found is None:
        return None
    order = np.argsort(found.eta)
    return {
        "k": found.k,
        "m": [int(m) for m in found.m],
        "eps": packed(found.eta[order] / 2),
        "value": packed(found.PI[order].T),
        "half": packed(found.half.mean(axis=0)[order].T),
    }


def _plateaus(parts: q.Decomposition) -> list[list[Any]]:
    """The constants c_m where they are in use: m, index of the first scale, values."""
    found = []
    for m, row in enumerate(parts.plateau, start=1):
        used = np.flatnonzero((parts.m_l <= m) & (m <= parts.m_u) & (row > 0))
        for run in np.split(used, np.flatnonzero(np.diff(used) > 1) + 1):
            if len(run):
                found.append([m, int(run[0]), [float(v) for v in row[run]]])
    return found


def _phase(series: NDArray[np.floating], tau: int) -> dict[str, Any] | None:
    if len(series) < 4 * tau + 2:
        return None
    now, before, third = series[2 * tau :], series[tau:-tau], series[: -2 * tau]
    sections = []
    for coordinate in (now, before):
        at = plots.extrema(np.asarray(coordinate, dtype=float), max(1, tau // 2))[:PHASE_POINTS]
        sections.append([packed(now[at]), packed(before[at])])
    first = slice(PHASE_POINTS)
    return {
        "tau": tau,
        "now": packed(now[first]),
        "before": packed(before[first]),
        "third": packed(third[first]),
        "sections": sections,
    }


def _encode_learning(run: LearningRun) -> dict[str, Any]:
    body = None
    if run.body is not None:
        body = {"t": packed(run.body.t)} | {name: packed(run.body[name]) for name in run.body.names}
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


def _summary(behaviours: list[Behaviour]) -> str:
    """The table, readable without any script: a body of two rows per behaviour, numbers and words."""
    cells = "".join(
        f'<th scope="col" data-type="{"text" if name == "Behaviour" else "number"}">'
        f'<button type="button" title="sort by this: {words}">{name}</button></th>'
        for name, words in COLUMNS.items()
    )
    bodies = "\n".join(map(_summary_rows, behaviours))
    return (
        '<p class="soft">± sampling error; below it the spread over the scales, and what s_min of .05 to .1'
        ' would give. Click a heading to sort.</p><div class="scroll"><table id="summary">'
        f"<thead><tr>{cells}</tr></thead>\n{bodies}\n</table></div>"
    )


def _summary_rows(b: Behaviour) -> str:
    label, what = html.escape(b.label), html.escape(b.what)
    first = f'<td data-sort="{label}"><strong>{label}</strong><small>{what}</small></td>'
    if b.result is None:
        words = f'<p class="warn">No result: {html.escape(b.problem)}.</p>'
        return f'<tbody><tr>{first}<td colspan="{len(COLUMNS) - 1}">{words}</td></tr></tbody>'
    r, range_from = b.result.range, b.result.settings["range_from"]
    warnings = [*([b.problem] if b.problem else []), *b.result.caveats]
    cells = [
        first,
        *(_estimate(name, getattr(b.result, name)) for name in ("D", "E_state", "E_mem", "E_core")),
        _quoted(b.result),
        _cell(r.lo, f"{r.lo:.3g} to {r.hi:.3g}", RANGE_WORDS.get(range_from, range_from)),
        _cell(r.kappa, _short(r.kappa)),
        _cell(r.drift, f"{r.drift:+.2f}".replace("-", "−")),
        _cell(r.no_fit, f"{r.no_fit:.0%}"),
        _cell(len(warnings), str(len(warnings) or "none")),
    ]
    words = ""
    if warnings:
        items = "".join(f"<li>{html.escape(text)}</li>" for text in warnings)
        words = f'<tr class="words"><td colspan="{len(COLUMNS)}"><ul class="warn">{items}</ul></td></tr>'
    return f"<tbody><tr>{''.join(cells)}</tr>{words}</tbody>"


def _estimate(name: str, estimate: q.Estimate) -> str:
    low, high = estimate.s_min_interval
    error = "" if np.isnan(estimate.sampling) else f" ± {_short(estimate.sampling)}"
    below = [f"spread {_short(estimate.spread)}"]
    if name != "D":  # which does not depend on s_min
        below.append(f"s_min {_short(low)} to {_short(high)}")
    return _cell(estimate.value, _short(estimate.value) + error, *below)


def _quoted(result: q.Quantification) -> str:
    """The predictive information as it is usually quoted, and what it is from half the data."""
    if result.predictive_information is None:
        return _cell(np.nan, "–", "not estimated")
    p = result.predictive_information.quoted
    return _cell(p.value, _short(p.value), f"half the data {_short(p.half)}", f"m {p.m}, η {p.eta:.2g}")


def _cell(value: float, text: str, *below: str) -> str:
    key = repr(float(value)) if np.isfinite(value) else ""
    return f'<td data-sort="{key}">{text}{"".join(f"<small>{line}</small>" for line in below)}</td>'


def _short(value: float) -> str:
    return "?" if np.isnan(value) else f"{value:.2f}"


def _made(found: Results) -> str:
    commands = [b.command for b in found.behaviours if b.command]
    lines = "".join(f"<li><code>{html.escape(command)}</code></li>" for command in dict.fromkeys(commands))
    versions = ", ".join(f"{name} {version}" for name, version in log.versions().items())
    text = (
        f"<p>The numbers come from these commands:</p><ul>{lines}</ul>"
        if lines
        else "<p>No number was measured.</p>"
    )
    return f'{text}<p class="soft">Page made with {html.escape(versions)}.</p>'
