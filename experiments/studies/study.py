"""What every study has in common: a document of plain values, and the ways to look at it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import robots
from experiments.errors import ExperimentError
from experiments.reports.figures import save as save_figures
from experiments.reports.report import embedded, render
from experiments.reports.tables import Section, Table
from experiments.runfiles.atomic import write_json, write_text
from experiments.runfiles.results import versions
from experiments.settings import command, deciding
from experiments.sweeps.sweep import mixed
from quantify.aliases import Figure
from quantify.plain import to_plain

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Study(ABC):
    """What a study found."""

    document: dict[str, Any]
    """Plain values, as they are saved as JSON: the command, its settings, library versions, `rows` with one
    entry per run or number, and what was concluded."""
    files: tuple[Path, ...] = ()
    """What was written."""
    _title: ClassVar[str] = "{command}"
    _template: ClassVar[str] = "study.html"

    def to_dict(self) -> dict[str, Any]:
        """The document, ready for JSON."""
        return self.document

    def to_frame(self) -> pandas.DataFrame:
        """The rows as a pandas data frame, nested values as `common.E_core` and so on."""
        return frame(self.document["rows"])

    @property
    def title(self) -> str:
        """What the study is about, for the head of its page."""
        return self._title.format(**self.document | self.document["settings"])

    @abstractmethod
    def tables(self) -> list[Table]:
        """The numbers as tables of words."""

    def sentences(self) -> list[str]:
        """What was found, in words."""
        return []

    @abstractmethod
    def figure(self) -> Figure:
        """The numbers as a figure."""

    def report(self, path: str | Path) -> Path:
        """Write a page that needs no network; returns where it is."""
        made_with = {key: self.document[key] for key in ("command", "versions")}
        text = self._render(self._template, study=self, figure=embedded(self.figure()), **made_with)
        return write_text(Path(path), text)

    def _repr_html_(self) -> str:
        return self._render("notebook.html")

    def _render(self, template: str, **more: Any) -> str:
        sections = [Section(table.title, table) for table in self.tables()]
        return render(template, title=self.title, sections=sections, sentences=self.sentences(), **more)

    def save(self, stem: Path, *suffixes: str) -> Self:
        """Write STEM.json, and the figure and the page as STEM.png, .pdf, .html; the study, with these files.

        Files of an earlier study are replaced.
        """
        # Not with_suffix, which would cut the name of a user's rule at its dot.
        paths = {suffix: stem.with_name(f"{stem.name}.{suffix}") for suffix in suffixes}
        for suffix, path in paths.items():
            if suffix == "json":
                write_json(path, self.document)
            elif suffix == "html":
                self.report(path)
            else:
                # Drawn each time: the layout of a figure with a legend outside comes apart the second time.
                save_figures({suffix: self.figure()}, path)
        return replace(self, files=(*self.files, *paths.values()))

    def written(self) -> str:
        """Where the files of the study are, in a line."""
        first, *others = self.files
        return f"written: {', '.join([str(first), *(path.suffix for path in others)])}"


def frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    """Rows as a pandas data frame, nested values as `common.E_core` and so on."""
    try:
        import pandas
    except ImportError as error:
        raise ExperimentError("to_frame() needs pandas; pip install 'selforg[frames]'") from error
    return pandas.json_normalize(rows)


def document_of(name: str, config: Any, content: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The document of a study: the command that makes it again, settings, versions, and its content.

    `changed` replaces settings by what they were resolved to.
    """
    settings = deciding(config) | changed
    if "engine" in settings:
        settings["engine"] = settings["engine"] or robots.default_engine()
    made = {"command": command(name, config), "settings": settings}
    used = mixed(content, versions(settings.get("engine")))
    return to_plain(made | {"versions": used} | content)
