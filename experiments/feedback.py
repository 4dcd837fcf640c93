"""What work says while it is under way: nothing at all, unless whoever asked for it wants to hear."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[float, float], None]
"""Called with what is done and what is wanted in all."""


class Feedback:
    """Drops notes and hands progress to a function, which ignores it if none is given.

    `console.Terminal` shows both.
    """

    def __init__(self, advance: Advance = lambda done, total: None) -> None:
        self._advance = advance

    def say(self, text: str) -> None:
        """Tell in a sentence what happened."""

    def say_if(self, text: str) -> None:
        """Tell it, unless there is nothing to tell."""
        if text:
            self.say(text)

    @contextmanager
    def bars(self) -> Iterator[Callable[[str], Advance]]:
        """Progress bars for a piece of work: a function from a title ("record [steps]") to `Advance`."""
        yield lambda title: self._advance


SILENT = Feedback()


def plural(n: int, thing: str) -> str:
    """So many of a thing.

    >>> plural(1, "behaviour"), plural(2000, "behaviour")
    ('1 behaviour', '2,000 behaviours')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def plain(text: str) -> str:
    r"""Text as a terminal may show it: what would command the terminal is named.

    >>> print(plain("red\x1b[31m"))
    red\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(
        one
        if one.isprintable() or one in "\n\t" or unicodedata.category(one) == "Zs"
        else one.encode("unicode_escape").decode()
        for one in text
    )
