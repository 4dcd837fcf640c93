"""What there is below a folder: every run, recording, result and study, with what it is and how it stands."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.errors import ExperimentError, FileError
from experiments.feedback import SILENT, Feedback
from experiments.options.studies import Column, Kind, Runs
from experiments.reports.tables import Table
from experiments.runfiles.atomic import is_being_written
from experiments.runfiles.hdf5 import attributes, open_hdf5
from experiments.runfiles.run_file import FORMAT, RunFile, open_run_file, part_path
from experiments.settings import seed_words
from experiments.studies.study import frame

if TYPE_CHECKING:
    import pandas

RESULT = ".complexity.json"
SKIPPED = ("store", "__pycache__")
"""Folders that are not looked into: finished tasks of sweeps, which belong to their study."""


@dataclass(frozen=True)
class Item:
    """Something that an experiment has left; empty or None where a column does not apply."""

    kind: Kind
    name: str
    """Path from the folder that was asked for, and for a recording the name of the behaviour."""
    robot: str = ""
    controller: str = ""
    seed: str = ""
    engine: str = ""
    state: str = ""
    E_core: float | None = None
    """In nats."""
    age: float = 0.0
    """Seconds since it was written."""
    size: int = 0
    """Bytes of the file; a recording is inside that of its run."""


@dataclass(frozen=True)
class Inventory:
    """What was found, in order."""

    items: tuple[Item, ...]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"items": [asdict(item) for item in self.items]}

    def to_frame(self) -> pandas.DataFrame:
        """A row per item as a pandas data frame."""
        return frame([asdict(item) for item in self.items])

    def table(self) -> Table:
        """A line per item."""
        heads = {
            **dict.fromkeys(("name", "kind", "robot", "rule", "seed", "engine", "state"), ""),
            **{"E_core": "in nats", "age": "since it was written", "size": "of the file"},
        }
        return Table(heads, [_cells(item) for item in self.items])

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()  # type: ignore[operator, no-any-return]


def runs(config: Runs, feedback: Feedback = SILENT) -> Inventory:
    """Look at every file below a folder; what cannot be read is listed with the reason as its state."""
    if not config.folder.is_dir():
        raise ExperimentError(f"{config.folder} is no folder; give one to look into")
    found = [item for path in _files(config.folder) for item in _items(path, config.folder)]
    chosen = [item for item in found if _fits(item, config)]
    chosen.sort(key=lambda item: _key(item, config.sort), reverse=config.reverse)
    return Inventory(tuple(chosen))


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in SKIPPED and not one.startswith("."))
        yield from (Path(where, one) for one in sorted(files) if not one.startswith("."))


def _fits(item: Item, config: Runs) -> bool:
    return (
        (not config.kind or item.kind in config.kind)
        and (not config.robot or config.robot in item.robot.split(", "))
        and (not config.controller or config.controller in item.controller.split(", "))
        and (config.seed is None or item.seed == str(config.seed))
        and item.state.startswith(config.state)
    )


def _key(item: Item, column: Column) -> tuple[bool, Any]:
    """What has no value comes first, numbers in their order."""
    value = getattr(item, column)
    if column == "seed" and value.isdigit():
        return True, f"{int(value):020d}"
    return value is not None, value if value is not None else 0.0


def _items(path: Path, folder: Path) -> Iterator[Item]:
    """What a file holds, if it is one of ours."""
    status = path.stat()
    name = str(path.relative_to(folder))
    common: dict[str, Any] = {"age": time.time() - status.st_mtime, "size": status.st_size}
    try:
        if path.suffix == ".h5" and _is_run(path):
            with open_run_file(path) as run:
                yield from _of_run(run, name, common)
        elif path.name.endswith(RESULT):
            document = json.loads(path.read_text(encoding="utf-8"))
            if Path(document["source"].partition(":/")[0]).suffix != ".h5":  # those of runs stand beside them
                yield Item("result", name, state="complete", E_core=_core(document["result"]), **common)
        elif path.suffix == ".json" and '"command": "selforg ' in _head(path):
            yield _of_study(json.loads(path.read_text(encoding="utf-8")), name, common)
    except FileError as error:
        words = str(error).removeprefix(f"{path} ").removeprefix("is ")
        yield Item("run", name, state=words, **common)
    except (ValueError, KeyError, TypeError):
        kind: Kind = "result" if path.name.endswith(RESULT) else "study"
        yield Item(kind, name, state="damaged: no document of ours", **common)


def _is_run(path: Path) -> bool:
    """Whether a file is a run; of one that cannot be opened the name must do."""
    with open_hdf5(path) as file:
        return bool(attributes(file).get("format") == FORMAT and "robot" in attributes(file))


def _head(path: Path) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(400)


def _of_run(run: RunFile, name: str, common: dict[str, Any]) -> Iterator[Item]:
    who: dict[str, Any] = {"robot": run.robot, "controller": run.controller, "seed": str(run.seed)}
    who |= {"engine": run.engine, **common}
    state = _state(run.learning, run.path)
    if part_path(run.path, "learning").exists():
        state += f", {_being(run.path)} for longer"
    yield Item("run", name, state=state, **who)
    for behaviour in run.frozen:
        result = run.results.get(behaviour) if behaviour in run.behaviours else None
        state = "frozen, not recorded"
        if behaviour in run.behaviours:
            state = _state(run.behaviours[behaviour], run.path)
        E_core = None if result is None else _core(result["result"])
        yield Item("recording", f"{name} {behaviour}", state=state, E_core=E_core, **who | {"size": 0})


def _state(recording: Any, path: Path) -> str:
    if recording.status == "running":
        return f"{_being(path)}, {recording.steps:,} of {recording.wanted:,}"
    if recording.status == "left out":
        return "left out"
    return f"{recording.status}, {recording.steps:,} steps"


def _being(path: Path) -> str:
    return "running" if is_being_written(path) else "interrupted"


def _core(result: dict[str, Any]) -> float | None:
    value = result["E_core"]["value"]
    return None if value is None else float(value)


def _of_study(document: dict[str, Any], name: str, common: dict[str, Any]) -> Item:
    chosen = document["settings"]
    rows = document.get("rows", [])
    seeds = chosen.get("seeds", [])
    listed = seed_words(seeds) if isinstance(seeds, list) else [f"1:{seeds}"]
    return Item(
        "study",
        name,
        robot=_joined(chosen, "robot", "robots"),
        controller=_joined(chosen, "controller", "controllers"),
        seed=" ".join(listed),
        engine=str(chosen.get("engine") or ""),
        state=f"complete, {document['command'].split()[1]}, {len(rows)} rows",
        **common,
    )


def _joined(chosen: dict[str, Any], one: str, several: str) -> str:
    return str(chosen.get(one) or ", ".join(chosen.get(several, [])))


def _cells(item: Item) -> list[str]:
    core = "" if item.E_core is None else f"{item.E_core:.2f}"
    size = _size(item.size) if item.size else ""
    words = (item.name, item.kind, item.robot, item.controller, item.seed, item.engine, item.state)
    return [*words, core, _age(item.age), size]


def _age(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _size(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
