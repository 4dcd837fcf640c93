"""Commands that say what there is to choose from: robots, rules, and the settings of each."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from experiments.feedback import Feedback
from experiments.options.commands import Robots, Rules
from experiments.options.keys import kind, known


def robots(config: Robots, feedback: Feedback) -> dict[str, dict[str, Any]]:
    """What robots there are, or one of them with its settings."""
    return _kinds("robots", config.name)


def rules(config: Rules, feedback: Feedback) -> dict[str, dict[str, Any]]:
    """What rules there are, or one of them with its settings."""
    return _kinds("controllers", config.name)


def _kinds(package: str, name: str | None) -> dict[str, dict[str, Any]]:
    if name is None:
        return {one: {"about": kind(package, one).about} for one in known(package)}
    return {name: asdict(kind(package, name))}
