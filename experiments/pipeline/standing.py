"""What is left to do for a run file: all of it, the rest, what was asked for beyond its end, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from experiments.errors import FileError
from experiments.feedback import SILENT, Feedback
from experiments.pipeline.sources import Sources, changes
from experiments.runfiles.atomic import remove_stale_lock
from experiments.runfiles.hdf5 import attributes, reading
from experiments.runfiles.prolonging import last_checkpoint
from experiments.runfiles.run_file import open_run_file, part_path
from experiments.settings import difference

LEARNING = "learning"
Standing = Literal["anew", "goes on", "more", "over"]


def standing(
    path: Path, asked: Mapping[str, Any], used: Sources, replace: bool, feedback: Feedback = SILENT
) -> Standing:
    """What is left to do for a file, of what was asked for with these sources; refuses another experiment.

    With `replace` another one, and one that broke down, is to be learned anew.
    """
    if not path.exists():
        return "anew"
    with open_run_file(path) as run:
        past, stored = run.learning, run.config
        edited = changes(used if run.sources is None else run.sources, used)
    more = asks_for_more(stored, asked)
    differing = [] if more else difference(stored, asked)
    if replace and (differing or edited or past.status == "stopped"):
        return "anew"
    if edited:
        raise FileError(
            f"{path} was {'begun' if past.status == 'running' else 'learned'} with another source of "
            f"{edited}; --replace learns it anew, another --out keeps both"
        )
    if differing:
        raise FileError(
            f"{path} holds another experiment: {'; '.join(differing[:3])}; choose another --out, or "
            "--replace to learn anew"
        )
    if more and past.status in ("complete", "running"):
        try:
            last_checkpoint(path, LEARNING)
        except FileError:
            if not replace:
                raise
            return "anew"
        return "more"
    if past.status == "running":
        return "goes on"
    why = f": {past.reason}" if past.reason else ""
    next_ = "--replace learns it anew" if past.status == "stopped" else "nothing to do"
    feedback.say(f"{path} is already {past.status} ({past.steps} steps){why}; {next_}")
    return "over"


def asks_for_more(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether an experiment is another one that goes on for longer, with freezes in what is added at most."""
    if not isinstance(stored.get("minutes"), int | float) or not isinstance(stored.get("freeze"), list):
        return False
    longer = asked["minutes"] > stored["minutes"]
    early = [minutes for minutes in asked["freeze"] if minutes <= stored["minutes"]]
    same = {"minutes": stored["minutes"], "freeze": stored["freeze"]}
    return longer and early == list(stored["freeze"]) and not difference(stored, {**asked, **same})


def remove_grown(path: Path, asked: Mapping[str, Any]) -> None:
    """Remove the file in which a run has grown longer, once the run file has it all."""
    grown = part_path(path, LEARNING)
    if grown.exists():
        if not asks_for_more(asked, config_of(grown)):  # that one is still to come
            grown.unlink()
        remove_stale_lock(grown)


def config_of(path: Path) -> dict[str, Any]:
    """The experiment that a file states; empty if there is none."""
    if not path.exists():
        return {}
    with reading(path) as file:
        return dict(json.loads(attributes(file)["config"]))
