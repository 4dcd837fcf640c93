"""The atlas: what an exploration found, as tables, sentences, a figure, and a page to wander about in."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Self

from markupsafe import Markup

from experiments.feedback import Feedback, plural
from experiments.options.studies import Explore
from experiments.reports.report import Film, make_film
from experiments.reports.tables import Table
from experiments.reports.video import Video
from experiments.runfiles.atomic import replacing, write_text
from experiments.studies.atlas.elites import CELLS, Plane
from experiments.studies.atlas.life import DETERMINISTIC, MOVES, RICH, merit
from experiments.studies.atlas.matters import sentences as matter_sentences
from experiments.studies.scoring import FROZEN, STEP, Row
from experiments.studies.study import Study
from experiments.sweeps.sweep import KEPT
from experiments.sweeps.workers import in_parallel
from quantify import plots
from quantify.aliases import Figure
from quantify.association import share

RULE = (
    f"Grows: from each freeze time to the next E_core rises by {STEP:g} nats or more, and at the last the "
    f"sensor's standard deviation is over {MOVES:g} and kappa at most {DETERMINISTIC:g}."
)
SHOWN = 10
"""Settings in the table of the best."""


@dataclass(frozen=True)
class Atlas(Study):
    """Behaviours of many bodies and rules.

    The document has a row per behaviour, `lives` with one per setting and seed, and what `matters`.
    """

    films: Mapping[str, Film] = field(default_factory=dict)
    """By `row_name` of a behaviour."""
    curves: Sequence[Any] = ()
    """Complexities over scale of every row, or None."""
    _title = "Atlas of the {robot} under {controller}"
    _template = "atlas.html"

    def tables(self) -> list[Table]:
        """Shares with their intervals, the settings in which complexity grows most, and what matters."""
        return [self._shares(), self._best(), *self._matters()]

    def _shares(self) -> Table:
        lives = self.document["lives"]
        several = len({life["seed"] for life in lives}) > 1
        heads = {"of the settings" + (" and seeds" if several else ""): "", "number": "", "share": ""}
        if not several:  # seeds of one setting are not independent: no interval would hold for them
            heads["95 %"] = "exact interval of the share (Clopper and Pearson)"
        lines = []
        for words, count in shares(lives).items():
            found = share(count, len(lives))
            line = [words, str(count), f"{found.value:.0%}", f"{found.lo:.0%} to {found.hi:.0%}"]
            lines.append(line[: len(heads)])
        return Table(heads, lines, f"Of {plural(len(lives), 'run')}", RULE, wide=(0,))

    def _best(self) -> Table:
        """Settings by their `merit`, over their seeds."""
        lines = []
        by_setting: dict[int, list[Row]] = {}
        for life in self.document["lives"]:
            by_setting.setdefault(life["setting"], []).append(life)
        ranked = sorted(
            by_setting.values(), key=lambda some: [-_median(x) for x in zip(*map(merit, some), strict=True)]
        )
        for some in ranked[:SHOWN]:
            both = sum(life["grows"] and life["grows_relative"] for life in some)
            modes = dict.fromkeys(" → ".join(m or "-" for m in life["modes"]) for life in some)
            drawn = ", ".join(
                f"{name} {x:g}" if isinstance(x, float | int) else f"{name} {x}"
                for values in some[0]["point"].values()
                for name, x in values.items()
            )
            numbers = (_median(_number(life[key]) for life in some) for key in ("growth", "growth_relative"))
            told = [f"{x:+.2f}" if math.isfinite(x) else "-" for x in numbers]
            lines.append([str(some[0]["setting"]), f"{both} of {len(some)}", *told, "; ".join(modes), drawn])
        heads = {
            "setting": "number of the setting",
            "grows": "seeds in which core complexity grows on common and on relative scales",
            "rise": "of E_core on common scales from the first to the last freeze time, median",
            "rise/std": "the same on scales relative to the spread",
            "modes": "at the freeze times",
            "drawn": "settings of body and rule",
        }
        return Table(heads, lines, "Where complexity grows most", wide=(4, 5))

    def _matters(self) -> Iterable[Table]:
        outcomes = [row for row in self.document["matters"] if "correlations" in row]
        if outcomes:
            names = list(dict.fromkeys(name for row in outcomes for name in row["correlations"]))
            lines = [
                [name, *(_correlation(row["correlations"].get(name)) for row in outcomes)] for name in names
            ]
            heads = {"setting": ""} | {row["outcome"]: "" for row in outcomes}
            caption = (
                "Rank correlations of a setting with what comes out, with intervals that hold in at least "
                "95 % of cases whatever the distribution (Hoeffding); * where 0 is outside."
            )
            yield Table(heads, lines, "What matters", caption)

    def sentences(self) -> list[str]:
        """What decides over what they do."""
        return matter_sentences(self.document["matters"])

    def figure(self) -> Figure:
        """Dimension and core complexity of all behaviours, by freeze time and mode."""
        panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for row in self.document["rows"]:
            if row["D_common"] is not None and row["E_core_common"] is not None:
                points = panels.setdefault(f"{row['minutes']:g} min", {})
                points.setdefault(row["mode"] or "-", []).append((row["D_common"], row["E_core_common"]))
        common = "{:g} to {:g}".format(*self.document["settings"]["common"])
        words = ("dimension $D$", f"core complexity [nats], scales {common}")
        return plots.plane(panels or {"nothing was quantified": {}}, words)

    def report(self, path: str | Path) -> Path:
        """Write the page; returns where it is."""
        import plotly

        library = resources.files(plotly) / "package_data" / "plotly.min.js"
        shown = {name: film for name, film in self.films.items() if isinstance(film, bytes)}
        data = {
            "behaviours": [],  # none that is drawn in panels of its own
            "rows": self.document["rows"],
            "curves": list(self.curves),
            "lives": {f"{life['setting']}/{life['seed']}": life for life in self.document["lives"]},
            "axes": self.document["axes"],
            "films": {name: f"film-{i}" for i, name in enumerate(shown)},
            "measures": list(self.document["settings"]["measures"]),
        }
        text = self._render(
            self._template,
            study=self,
            data=data,
            films={f"film-{i}": film for i, film in enumerate(shown.values())},
            plotly=Markup(library.read_text(encoding="utf-8")),
            **{key: self.document[key] for key in ("command", "versions")},
        )
        return write_text(Path(path), text)

    def save_table(self, stem: Path) -> Self:
        """Write the rows as STEM.csv, and as STEM.parquet where pyarrow is installed."""
        rows = self.document["rows"]
        names = list(dict.fromkeys(name for row in rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        files = [write_text(stem.with_name(f"{stem.name}.csv"), text.getvalue())]
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            return replace(self, files=(*self.files, *files))
        table = pyarrow.table({name: [row.get(name) for row in rows] for name in names})
        with replacing(path := stem.with_name(f"{stem.name}.parquet")) as temporary:
            parquet.write_table(table, temporary)
        return replace(self, files=(*self.files, *files, path))


def shares(lives: Sequence[Row]) -> dict[str, int]:
    """How many lives do what."""
    modes = sorted({life["modes"][-1] for life in lives if life["modes"] and life["modes"][-1]})
    found = {}
    flying = {"jumping", "hopping"}
    if flying & {mode for life in lives for mode in life["modes"]}:
        found["leave the ground at some freeze time"] = sum(bool(flying & {*life["modes"]}) for life in lives)
    for mode in modes:
        found[f"{mode} at the last freeze time"] = sum(life["modes"][-1:] == [mode] for life in lives)
    found["E_core grows on common scales"] = sum(life["grows"] for life in lives)
    found["E_core grows on relative scales"] = sum(life["grows_relative"] for life in lives)
    found["E_core grows on both"] = sum(life["grows"] and life["grows_relative"] for life in lives)
    richly = f"D of {RICH:g} or more at the last freeze time, deterministic"
    found[richly] = sum(life["rich"] for life in lives)
    if broken := sum(bool(life["reason"]) for life in lives):
        found["broke down"] = broken
    return found


def row_name(row: Row) -> str:
    """Name of a behaviour on the page."""
    return f"{row['setting']}/{row['seed']}/{row['minutes']:g}"


def films_of(
    config: Explore, lives: Sequence[Row], rows: Sequence[Row], store: Path, feedback: Feedback
) -> dict[str, Film]:
    """Films of behaviours in so many cells of the plane of D and E_core, the farther apart the sooner."""
    keys = {(life["setting"], life["seed"]): life["key"] for life in lives}
    plane = Plane((0.0, 4.0), (0.0, 6.0))
    cells: dict[tuple[int, int], tuple[str, Video]] = {}
    for row in rows:
        where = plane.cell(_number(row["D_common"]), _number(row["E_core_common"]))
        behaviour = store / keys[row["setting"], row["seed"]] / KEPT / FROZEN
        if where is not None and behaviour.exists():
            film = Video(behaviour, freeze=row["minutes"], seconds=config.seconds)
            cells.setdefault(where, (row_name(row), film))
    wanted = dict(cells[cell] for cell in spread(list(cells), config.films if config.seconds else 0))
    if not wanted:
        return {}
    films = plural(len(wanted), "behaviour")
    feedback.say(f"filming {films} of {len(cells)} cells; --films 0 leaves films out")
    return dict(zip(wanted, in_parallel(make_film, list(wanted.values()), config.jobs), strict=True))


def spread(cells: Sequence[tuple[int, int]], n: int) -> list[tuple[int, int]]:
    """So many cells, each as far as possible from those before; the first is the one nearest to the corner.

    >>> spread([(0, 0), (1, 0), (9, 9)], 2)
    [(0, 0), (9, 9)]
    """
    left = sorted(cells, key=lambda cell: (sum(cell), cell))
    chosen: list[tuple[int, int]] = []
    while left and len(chosen) < n:
        far = [min((math.dist(cell, other) for other in chosen), default=CELLS) for cell in left]
        chosen.append(left.pop(max(range(len(left)), key=lambda i: (far[i], -i))))
    return chosen


def _number(value: float | None, missing: float = math.nan) -> float:
    return missing if value is None else float(value)


def _median(values: Iterable[float]) -> float:
    known = sorted(x for x in values if not math.isnan(x))
    if not known:
        return math.nan
    low, high = known[(len(known) - 1) // 2], known[len(known) // 2]
    return low if low == high else (low + high) / 2


def _correlation(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    sure = "*" if found["lo"] > 0 or found["hi"] < 0 else ""
    return f"{found['value']:+.2f}{sure}"
