"""What the quantities are, in plain words."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from experiments.errors import ExperimentError, nearest


@dataclass(frozen=True)
class Entry:
    """A word of the glossary."""

    symbol: str
    title: str
    short: str
    """A sentence or two."""
    more: str = ""
    """For those who want to know."""
    picture: str = ""
    """A figure of the site, in docs/figures."""


@cache
def glossary() -> dict[str, Entry]:
    """All entries by name.

    >>> glossary()["kappa"].symbol
    'κ'
    """
    text = Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8")
    return {name: Entry(**values) for name, values in tomllib.loads(text).items()}


def look_up(word: str) -> dict[str, Entry]:
    """The entry of a word, by its name, its symbol or its title; refuses what is none.

    >>> list(look_up("core complexity")), list(look_up("Kappa")), list(look_up("m_u"))
    (['E_core'], ['kappa'], ['m_l_m_u'])
    """
    asked = word.strip().casefold()
    for name, entry in glossary().items():
        known = {name, entry.symbol, entry.title, *entry.symbol.split(", ")}
        if asked in {one.casefold().replace("_", " ") for one in known} | {one.casefold() for one in known}:
            return {name: entry}
    raise ExperimentError(f"there is no entry {word!r}; {nearest(word, list(glossary()))}")
