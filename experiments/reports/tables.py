"""A table as words, once, for every place it is shown in: terminal, document, page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table as Terminal
from rich.text import Text


@dataclass(frozen=True)
class Table:
    """Rows of words under headings."""

    heads: dict[str, str]
    """Headings, each with what it means ("" if that is plain)."""
    rows: Sequence[Sequence[str]]
    """A line break in a cell counts on the terminal only."""
    title: str = ""
    caption: str = ""
    styles: Sequence[str] = ()
    """Colour of each row on the terminal; none if empty."""
    wide: tuple[int, ...] = ()
    """Columns that are text rather than numbers, and may be wrapped on a page."""

    @property
    def columns(self) -> dict[str, str]:
        """All columns, each under its heading."""
        return {head: head for head in self.heads}

    def terminal(self, columns: Mapping[str, str] | None = None) -> Terminal:
        """The table for a terminal; the first column stays in one line.

        `columns` are the headings of those that fit a narrow screen, each as it is called there; what they
        mean is then said below the table.
        """
        names = columns or self.columns
        kept = [list(self.heads).index(head) for head in names]
        # Without lines, so that eleven columns fit a narrow screen.
        shown = Terminal(*names.values(), title=self.title or None, box=None, padding=(0, 1, 0, 0))
        shown.title_justify = shown.caption_justify = "left"
        shown.header_style, shown.pad_edge = "bold", False
        shown.columns[0].no_wrap = True
        caption = f"{self.caption} {self.legend(columns)}".strip() if columns else self.caption
        if caption:
            # Wrapped at the width of the table, in a pipe as well.
            shown.caption = Text(caption, style="table.caption", no_wrap=False, overflow="fold")
            shown.min_width = 64
        for i, row in enumerate(self.rows):
            shown.add_row(*(row[k] for k in kept), style=self.styles[i] if self.styles else None)
        return shown

    def legend(self, columns: Mapping[str, str] | None = None) -> str:
        """What the headings mean, those of these columns or all of them, in sentences."""
        names = columns or self.columns
        meant: dict[str, list[str]] = {}
        for head, name in names.items():
            meant.setdefault(self.heads[head], []).append(name.replace("\n", " "))
        return " ".join(f"{', '.join(same)}: {words}." for words, same in meant.items() if words)

    def markdown(self) -> str:
        """The table for a document."""
        escaped = ([cell.replace("|", "\\|") for cell in line] for line in (self.heads, *self.cells()))
        head, *body = (f"| {' | '.join(line)} |" for line in escaped)
        return "\n".join([head, "|" + "---|" * len(self.heads), *body])

    def cells(self) -> list[list[str]]:
        """The rows for a page, each cell in one line."""
        return [[cell.replace("\n", " ") for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, a table with a caption (its own if not given), and sentences below.

    A sentence that begins with two blanks belongs to the one before it, and is indented.
    """

    title: str
    table: Table | None = None
    caption: str = ""
    sentences: Sequence[str] = ()
