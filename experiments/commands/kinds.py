"""Commands that say what there is: robots, rules and their settings, and what the quantities mean."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from experiments.feedback import Feedback
from experiments.options.commands import Explain, Robots, Rules
from experiments.options.keys import kind, known
from experiments.reports.glossary import glossary, look_up


def robots(config: Robots, feedback: Feedback) -> dict[str, dict[str, Any]]:
    """What robots there are, or one of them with its settings."""
    return _kinds("robots", config.name)


def rules(config: Rules, feedback: Feedback) -> dict[str, dict[str, Any]]:
    """What rules there are, or one of them with its settings."""
    return _kinds("controllers", config.name)


def explain(config: Explain, feedback: Feedback) -> dict[str, dict[str, Any]]:
    """All words of the glossary, or one of them at length."""
    words = " ".join(config.word)
    found = look_up(words) if words else glossary()
    return {name: asdict(entry) for name, entry in found.items()}


def _kinds(package: str, name: str | None) -> dict[str, dict[str, Any]]:
    if name is None:
        return {one: {"about": kind(package, one).about} for one in known(package)}
    return {name: asdict(kind(package, name))}
