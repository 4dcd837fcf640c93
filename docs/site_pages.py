"""Pages of the site that are made of the program itself, so that they are never out of date.

mkdocs calls `on_files`: commands from their settings, robots and rules from theirs, the glossary from its
file.
"""

from __future__ import annotations

import dataclasses
import importlib
import typing
from pathlib import Path
from typing import Any

import tyro
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from tyro import _docstrings

from experiments.cli import COMMANDS
from experiments.options.keys import kind, known
from experiments.reports.glossary import glossary


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    pages = {
        "reference/commands.md": commands(),
        "reference/settings.md": settings(),
        "glossary.md": words(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Take what the theme would load from elsewhere from the site itself."""
    here = "../" * page.url.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{here}worker.js")


def on_post_build(config: MkDocsConfig) -> None:
    """Leave out the page for wrong addresses: it looks for its looks at the root of a server."""
    (Path(config.site_dir) / "404.html").unlink(missing_ok=True)


def commands() -> str:
    """Every command with its settings."""
    parts = [
        "# Commands",
        "`selforg COMMAND --help` says the same in the terminal. Every command has `--json` (print the "
        "result as JSON), `--quiet` (say nothing while working) and `--config FILE.toml` (settings from a "
        "file; flags beat it). Exit status: 0 done, 2 the request cannot be fulfilled, 3 a run broke down "
        "and what there is of it was stored, 130 interrupted.",
    ]
    for name, (place, about) in COMMANDS.items():
        options = importlib.import_module(f"experiments.options.{place.partition('.')[0]}")
        cls = getattr(options, name.title().replace("-", ""))
        first = (cls.__doc__ or about).strip()
        parts += [f"## selforg {name}", first]
        rows = [_row(cls, field) for field in dataclasses.fields(cls)]
        if rows:
            parts.append("\n".join(["| setting | default | what it is |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _row(cls: type[Any], field: dataclasses.Field[Any]) -> str:
    hint = typing.get_type_hints(cls, include_extras=True)[field.name]
    positional = tyro.conf.Positional in typing.get_args(hint)[1:]
    name = field.name.upper() if positional else f"--{field.name.replace('_', '-')}"
    missing = dataclasses.MISSING
    default = field.default_factory() if field.default_factory is not missing else field.default
    shown = "" if default is missing or default in (None, "", (), {}) else _shown(default)
    about = " ".join((_docstrings.get_field_docstring(cls, field.name, ()) or "").split())
    return f"| `{name}` | {shown} | {about.replace('|', chr(92) + '|')} |"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, tuple):
        return "`" + " ".join(f"{x:g}" if isinstance(x, float) else str(x) for x in value) + "`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def settings() -> str:
    """Every robot and rule with what can be changed of it."""
    parts = [
        "# Settings of robots and rules",
        "What `--body KEY=VALUE` and `--rule KEY=VALUE` take, with default, unit and range.",
    ]
    for package, title in (("robots", "Robots"), ("controllers", "Rules")):
        parts.append(f"## {title}")
        for name in known(package):
            found = kind(package, name)
            parts += [f"### {name}", found.about]
            rows = [
                f"| `{key}` | `{one.default}` | {one.about.replace('|', chr(92) + '|')} |"
                for key, one in found.keys.items()
            ]
            if rows:
                parts.append("\n".join(["| setting | default | what it is |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def words() -> str:
    """The glossary, with its pictures."""
    parts = [
        "# Glossary",
        "What the numbers mean, for someone who has not read the paper. In the terminal: "
        "`selforg explain WORD`.",
    ]
    drawn: set[str] = set()
    for name, entry in glossary().items():
        parts += [f"## {entry.symbol}: {entry.title} {{ #{name} }}", entry.short]
        if entry.more:
            parts.append(entry.more)
        if entry.picture and entry.picture not in drawn:
            drawn.add(entry.picture)
            parts.append(f"![{entry.title}](figures/{entry.picture}.png)")
    return "\n\n".join(parts) + "\n"
