"""The figure of a comparison, and its page: one file that needs no network."""

from __future__ import annotations

import base64
import html
import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from experiments.studies.comparison.ranking import (
    LEVEL,
    NO_VALUE,
    SCALE_HEADS,
    SCALE_WORDS,
    counted,
    interval,
    medians_words,
    number,
    pairs_words,
    share,
    value,
)
from quantify import plots

SIDE = {
    "D": "dimension $D$",
    "std": "amplitude (std)",
    "PI": "predictive inf. [nats]",
}


def draw(document: dict[str, Any], path: Path) -> None:
    """A row per robot: complexity of every controller with all seeds; dimension, amplitude, PI beside it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    robots = document["robots"]
    with rc_context(plots.STYLE):
        figure = Figure(figsize=(10, 0.9 + 2.6 * len(robots)), layout="constrained")
        axes = figure.subplots(len(robots), 4, squeeze=False, width_ratios=[3, 1, 1, 1])
        for row, (robot, summary) in zip(axes, robots.items(), strict=True):
            rows = [run for run in document["rows"] if run["robot"] == robot]
            rows = counted(rows, summary["left_out"])
            _draw_complexity(row[0], summary, rows, robot)
            for ax, (name, words) in zip(row[1:], SIDE.items(), strict=True):
                _draw_side(ax, summary, rows, name, words)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


def _draw_complexity(ax: Any, summary: dict[str, Any], rows: list[dict[str, Any]], robot: str) -> None:
    scales, ranking = summary["scales"], summary["ranking"]
    for y, entry in enumerate(ranking):
        first = "" if y == 0 else "_"  # one entry per kind in the legend
        state, memory = ((entry[q] or {"value": 0.0})["value"] for q in ("E_state", "E_mem"))
        ax.barh(y, memory, 0.62, color=plots.MEMORY, alpha=0.55, label=f"{first}memory (median)")
        ax.barh(y, state, 0.62, left=memory, color=plots.STATE, alpha=0.55, label=f"{first}state (median)")
        mine = [run for run in rows if run["controller"] == entry["controller"]]
        found = [v for run in mine if (v := value(run, scales, "E_core")) is not None]
        ax.plot(found, _spread(y, len(found)), "o", ms=3, mfc="white", mec="black", mew=0.7, clip_on=False,
                label=f"{first}core, one run")  # fmt: skip
        core = entry["E_core"]
        if core["value"] is not None:
            low = 0.0 if core["lo"] is None else core["lo"]
            if core["n"] > 1:
                ax.plot([low, core["hi"]], [y, y], "-", color="black", lw=1.6,
                        label=f"{first}core: interval of the median")  # fmt: skip
            ax.plot(core["value"], y, "|", color="black", ms=12, mew=2, label=f"{first}core: median")
        if entry["surrogate"]:
            ax.plot(entry["surrogate"]["value"], y, "D", ms=4.5, mfc="none", mec=plots.STOCHASTIC, mew=1.2,
                    label=f"{first}linear surrogate (median)")  # fmt: skip
        if entry["without_value"]:
            words = f"{entry['without_value']} of {entry['runs']} without a value"
            below = {"xytext": (-7, -8), "textcoords": "offset points", "ha": "right", "va": "center"}
            ax.annotate(words, (0, y), **below, color=plots.STATE, fontsize=6, annotation_clip=False)
    ax.set_yticks(range(len(ranking)), [entry["controller"] for entry in ranking])
    ax.set_ylim(len(ranking) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.set_title(f"{robot}, on {SCALE_WORDS[scales]}")
    ax.set_xlabel("core complexity [nats]")


def _draw_side(ax: Any, summary: dict[str, Any], rows: list[dict[str, Any]], name: str, words: str) -> None:
    for y, entry in enumerate(summary["ranking"]):
        mine = [run for run in rows if run["controller"] == entry["controller"]]
        read = [value(run, summary["scales"], "D") if name == "D" else run.get(name) for run in mine]
        found = [v for v in read if v is not None]
        ax.plot(found, _spread(y, len(found)), "o", ms=2.5, mfc="white", mec="0.5", mew=0.6, clip_on=False)
        if entry[name]:
            ax.plot(entry[name]["value"], y, "|", color="black", ms=11, mew=2)
    ax.set_yticks([])
    ax.set_ylim(len(summary["ranking"]) - 0.5, -0.5)
    ax.margins(x=0.08)
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    ax.set_xlabel(words)


def _spread(y: float, n: int) -> np.ndarray:
    """Heights at which n points do not hide one another."""
    return y + (np.linspace(-0.2, 0.2, n) if n > 1 else np.zeros(n))


def page(document: dict[str, Any], picture: Path) -> str:
    """The page as text: what was found, for each robot the ranking and all differences, and every run."""
    settings = document["settings"]
    style = (resources.files("experiments.reports") / "templates" / "page.css").read_text(encoding="utf-8")
    image = base64.b64encode(picture.read_bytes()).decode()
    sections = "\n".join(_robot(robot, summary) for robot, summary in document["robots"].items())
    command = html.escape(document["command"])
    rules = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(rule['origin'])}<br><code>"
        f"{html.escape(json.dumps(rule['settings']))}</code></dd>"
        for name, rule in document["fairness"]["rules"].items()
    )
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    low, high = settings["common"]
    freeze = settings["minutes"] if settings["freeze"] is None else settings["freeze"]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Controllers compared</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{style}
.stats {{ font-size: .87rem; }} .stats th {{ vertical-align: bottom; line-height: 1.15; }}
.stats td, .stats th {{ padding: .2rem .34rem; text-align: right; border-bottom: 1px solid var(--line); }}
.stats td {{ white-space: nowrap; vertical-align: top; }}
.stats td:first-child, .stats th:first-child {{ text-align: left; }}
.stats td.words, .stats th.words {{ text-align: left; white-space: normal; }}
abbr {{ text-decoration: none; }} img {{ max-width: 100%; }} dl {{ overflow-wrap: anywhere; }}
</style></head><body>
<h1>Controllers compared by core complexity</h1>
<p class="lead">Frozen after {freeze:g} minutes of learning, {settings["samples"]:,} samples each. Common
scales are {low:g} to {high:g} in units of the sensor. Runs without a value rank below all others: they
{NO_VALUE}.</p>
<img alt="Core complexity of all controllers and seeds, with dimension, amplitude and predictive information"
 src="data:image/png;base64,{image}">
{sections}
<h2>Fairness</h2><p class="lead">The same for all: {html.escape(document["fairness"]["same for all"])}.
Where the settings of each rule come from:</p><dl>{rules}</dl>
<h2>All runs</h2>{_runs(document["rows"], settings["rank"])}
<p class="soft">Put together by <code>{command}</code> with {html.escape(versions)}. Runs that were finished
before keep their own versions in the store.</p>
</body></html>
"""


def _robot(robot: str, summary: dict[str, Any]) -> str:
    others = list(summary["ranking"][0]["E_core_by_scales"])
    ranking = [
        [
            f"{e['rank']}. {e['controller']}",
            interval(e["E_core"]),
            *(number(e[q], e["runs"]) for q in ("E_state", "E_mem", "D", "kappa", "std", "PI")),
            *(number(e["E_core_by_scales"][s], e["runs"]) for s in others),
            number(e["surrogate"], e["runs"]),
            share(e["least_covered"]),
            *(
                f"{e[q]}/{e['runs']}"
                for q in ("broke_down", "without_value", "without_range", "not_stationary")
            ),
        ]
        for e in summary["ranking"]
    ]
    heads = {
        "controller": "",
        "E_core": "core complexity",
        "state": "state complexity",
        "memory": "memory complexity",
        "D": "dimension",
        "κ": "0: deterministic scales, 1: stochastic ones",
        "std": "amplitude of the sensor",
        "PI": "predictive information",
        **{SCALE_HEADS[s]: f"E_core on {SCALE_WORDS[s]}" for s in others},
        "surr.": "E_core of linear surrogates",
        "covered": "the least share of the scales that a run's value rests on",
        "broke down": "runs that broke down in learning or when recorded",
        "no value": f"runs that {NO_VALUE}",
        "no range": "runs without a deterministic range of scales",
        "not stat.": "runs that are not stationary",
    }
    return (
        f"<h2>{html.escape(robot)}: ranked on {SCALE_WORDS[summary['scales']]}</h2>"
        f"<p class='soft'>{html.escape(medians_words(summary))}</p>"
        + _html_table(heads, ranking)
        + "<ul>"
        + "".join(f"<li>{html.escape(sentence)}</li>" for sentence in summary["findings"])
        + "</ul>"
        + (_pairs(summary) if summary["pairs"] else "")
    )


def _pairs(summary: dict[str, Any]) -> str:
    pairs = [
        [
            f"{p['a']} − {p['b']}",
            interval(p["difference"], "+z.2f"),
            f"{p['p']:.2g}",
            f"{p['p_holm']:.2g}" + (" *" if p["p_holm"] < LEVEL else ""),
        ]
        for p in summary["pairs"]
    ]
    words = html.escape(" ".join(pairs_words(summary)))
    heads = dict.fromkeys(("pair", "E_core", "p", "p (Holm)"), "")
    return f"<p class='soft'>{words} *: below {LEVEL:g}.</p>" + _html_table(heads, pairs)


def _runs(rows: list[dict[str, Any]], scales: str) -> str:
    cells = []
    for row in rows:
        numbers = [value(row, scales, name) for name in ("E_core", "E_state", "E_mem", "D", "kappa")]
        numbers += [row.get("std"), row.get("PI"), value(row.get("surrogate", {}), scales, "E_core")]
        cells.append(
            [
                f"{row['robot']} {row['controller']} seed {row['seed']}",
                *("-" if n is None else f"{n:.2f}" for n in numbers),
                ("unfinished: " if row.get("unfinished") else "")
                + (row["reason"] or " ".join(row["caveats"]) or "-"),
            ]
        )
    heads = ("run", "E_core", "state", "memory", "D", "κ", "std", "PI", "surr.", "what speaks against")
    return _html_table(dict.fromkeys(heads, ""), cells, words=True)


def _html_table(heads: dict[str, str], rows: list[list[str]], words: bool = False) -> str:
    """A table of numbers under headings with what they mean; `words`: the last column is text."""
    kinds = [""] * (len(heads) - 1) + [' class="words"' if words else ""]
    head = "".join(
        f'<th scope="col"{kind}><abbr title="{html.escape(title)}">{html.escape(text)}</abbr></th>'
        if title
        else f'<th scope="col"{kind}>{html.escape(text)}</th>'
        for kind, (text, title) in zip(kinds, heads.items(), strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{kind}>{html.escape(text)}</td>" for kind, text in zip(kinds, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="stats"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )
