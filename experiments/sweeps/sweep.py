"""Run many independent tasks, on the cores of this machine or on a cluster, and never one of them twice.

    results = sweep(function, configs, store=Path("runs/sweep"))

A task is a pure function of its configuration. Its result is stored the moment it arrives, under a name
derived from function and configuration: an interrupted sweep continues, a larger one computes what is new.

    STORE/KEY.json    a finished task: function, configuration, result, versions, cost
    STORE/KEY/        where a task keeps heavy data while it runs; removed when it has finished, but for kept/

KEY is the SHA-256 of function and configuration. A file appears complete or not at all; several processes,
also of different sweeps, may use one store at the same time.
"""

from __future__ import annotations

import contextvars
import hashlib
import json
import math
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from experiments.errors import DiskError, ExperimentError, FileError, where_raised
from experiments.feedback import SILENT, Advance, Feedback
from experiments.runfiles.atomic import make_folder, write_json, writing
from experiments.runfiles.results import versions
from experiments.settings import Scale, difference
from experiments.sweeps.workers import as_finished, on_cluster
from quantify.plain import to_plain

ADDED = {"added": True}
"""Metadata of a field of a task that came later: where it is empty, it is no part of the key."""
FORMAT = 1  # part of every key: raise it when the meaning of stored results changes

KEPT = "kept"
"""Folder in a task's workspace whose files, which are to be small, stay when the task has finished."""

Task = Callable[[Any], dict[str, Any]]
"""A pure function of a frozen dataclass, which knows everything that decides the result, seeds included."""

_folder: contextvars.ContextVar[Path | None] = contextvars.ContextVar("folder", default=None)


@dataclass(frozen=True)
class _Job:
    """All that a worker needs to know about one task."""

    key: str
    function: Task
    config: Any
    store: Path
    keep: bool
    patience: float = 0.0


def sweep(
    function: Task,
    configs: Sequence[Any],
    *,
    store: Path,
    title: str = "sweep",
    scale: Scale | None = None,
    keep: bool = False,
    feedback: Feedback = SILENT,
) -> list[dict[str, Any]]:
    """[function(config) for config in configs], in parallel, with every finished result kept.

    The function stands at the top level of an importable module. It turns a frozen dataclass into a dict that
    JSON can hold, which depends on nothing else; large files go to `workspace()`. Equal configurations are
    computed once. `scale` says where (all cores of this machine if left out; one job: in this process), and
    `keep` leaves the folders of finished tasks, for workers that see the store's folder.

    What was computed with other versions than those here has them in the entry "made_with".

    A task that failed has the entry "reason". An ExperimentError is an outcome and is stored like any other.
    Any other exception, one that comes from a module that a worker cannot import, and a result that JSON
    cannot hold say nothing about the task: beside "reason" stands "unfinished": True, and the next sweep
    tries it again.

    Raises ExperimentError when the request cannot be fulfilled, a file of the store is not what its name
    says, a worker died, or the disk is full. Finished results are kept.
    """
    scale = scale or Scale()
    if scale.jobs < 0:
        raise ExperimentError(f"--jobs is {scale.jobs}; it must be 0 (all cores) or more")
    if (scale.backend == "dask") != (scale.scheduler is not None):
        raise ExperimentError("--backend dask and --scheduler ADDRESS go together: give both or none")
    store = make_folder(Path(store).absolute())
    keys = [task_key(function, config) for config in configs]
    tasks = dict(zip(keys, configs, strict=True))
    stored = {key: read_entry(store, function, config) for key, config in tasks.items()}
    entries = {key: entry for key, entry in stored.items() if entry is not None}
    changed = {text for key, entry in entries.items() for text in _elsewhere(entry, tasks[key])}
    if older := "; ".join(sorted(changed)):  # such results may differ from new ones in detail
        feedback.say(f"note: some results are older: {older}; delete the store to compute them again")
    wanted = [_Job(key, function, config, store, keep) for key, config in tasks.items() if key not in entries]
    told: set[str] = set()
    with feedback.bars() as bar:
        tell = _teller(title, len(entries), len(wanted), bar(f"{title} [tasks]"), feedback)
        # What another sweep has in hand is left for the end, and then waited for.
        for patience in (0.0, math.inf):
            turn = [replace(job, patience=patience) for job in wanted if job.key not in entries]
            for key, entry in _run_all(turn, scale, feedback):
                if "busy" in entry:
                    continue
                if "result" in entry and not entry_path(store, key).exists():
                    write_entry(store, key, entry)
                entries[key] = entry
                tell()
                other = "; ".join(_elsewhere(entry, tasks[key]))
                if other and other not in told:
                    told.add(other)
                    feedback.say(f"note: a worker computes with other versions ({other}); results may differ")
    return [_row(entries[key], tasks[key]) for key in keys]


def _row(entry: dict[str, Any], config: Any) -> dict[str, Any]:
    if "result" not in entry:
        return {"reason": entry["failed"], "unfinished": True}
    here = _versions(config)
    other = {name: found for name, found in entry["versions"].items() if found != here.get(name)}
    return entry["result"] | ({"made_with": other} if other else {})


def _versions(config: Any) -> dict[str, str]:
    """Versions here of what a task depends on."""
    body = getattr(config, "body", None)
    return versions(body.get("engine") if isinstance(body, dict) else None)


def _elsewhere(entry: dict[str, Any], config: Any) -> list[str]:
    """In which versions the place where a task was computed differs from this one."""
    return difference(entry.get("versions", _versions(config)), _versions(config))


def mixed(content: Any, here: Mapping[str, str]) -> dict[str, str]:
    """Versions here, and beside them those with which others have computed some of what a study holds."""
    found = {name: {version: None} for name, version in here.items()}
    for made_with in _made_elsewhere(content):
        for name, version in made_with.items():
            found.setdefault(name, {})[version] = None
    return {name: " and ".join(several) for name, several in found.items()}


def _made_elsewhere(content: Any) -> Iterator[Mapping[str, str]]:
    """The versions of all rows, however deep they stand, that were computed with others than those here."""
    if isinstance(content, Mapping):
        if "made_with" in content:
            yield content["made_with"]
        content = list(content.values())
    for part in content if isinstance(content, list | tuple) else ():
        yield from _made_elsewhere(part)


def with_origin(part: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """A part of the row of a task, which says as the row does with what it was computed."""
    return {**part, **{key: row[key] for key in ("made_with",) if key in row}}


@contextmanager
def workspace() -> Iterator[Path]:
    """Folder for the heavy data of the running task.

    In a sweep on this machine, or where the store is on a shared file system, it is the task's own folder in
    the store, and holds what an interrupted attempt left there. Anywhere else it is temporary.
    """
    if (folder := _folder.get()) is None:
        with tempfile.TemporaryDirectory(prefix="selforg-") as temporary:
            yield Path(temporary)
    else:
        folder.mkdir(exist_ok=True)
        yield folder


def cost(store: Path, function: Task, configs: Sequence[Any]) -> list[dict[str, float]]:
    """What finished tasks took: seconds of processor and clock, peak memory of their process in MB."""
    entries = [read_entry(store, function, config) for config in configs]
    return [entry["cost"] for entry in entries if entry is not None]


def _run_all(jobs: list[_Job], scale: Scale, feedback: Feedback) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys and entries in the order in which tasks finish."""
    if scale.scheduler is not None:
        # Equal names of two sweeps are computed once.
        named = {f"selforg-{job.key}-{job.patience:g}": job for job in jobs}
        for job, done, reason in on_cluster(_attempt, named, scale.scheduler, feedback):
            yield done or (job.key, {"failed": reason})
        return
    yield from as_finished(_attempt, jobs, scale.jobs)


def _attempt(job: _Job) -> tuple[str, dict[str, Any]]:
    """Run one task, unless another process has done so by now; runs in the worker."""
    if not job.store.is_dir():  # a machine that does not see the store: the sweep itself keeps the result
        return job.key, _compute(job)
    folder = job.store / job.key
    with ExitStack() as held:
        try:
            held.enter_context(writing(entry_path(job.store, job.key), job.patience))
        except FileError:
            if job.patience:
                raise
            return job.key, {"busy": True}
        if (entry := read_entry(job.store, job.function, job.config)) is None:
            token = _folder.set(folder)
            try:
                entry = _compute(job)
            finally:
                _folder.reset(token)
            if "result" in entry:
                write_entry(job.store, job.key, entry)
        if "result" in entry and not job.keep:
            _clear(folder)
    return job.key, entry


def _clear(folder: Path) -> None:
    """Remove the folder of a finished task, but for what is to be kept of every one."""
    for item in [*folder.iterdir()] if folder.is_dir() else []:
        if item.is_dir() and item.name != KEPT:
            shutil.rmtree(item, ignore_errors=True)
        elif item.name != KEPT:
            item.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def kept(store: Path, function: Task, config: Any) -> Path:
    """Folder with what a finished task has put into KEPT of its workspace, if it has."""
    return store / task_key(function, config) / KEPT


def _compute(job: _Job) -> dict[str, Any]:
    start, used = time.monotonic(), time.process_time()
    try:
        result = to_plain(job.function(job.config))
    except DiskError:
        raise  # HDF5 is of no use in this process any more
    except (OSError, MemoryError, FileError) as error:
        return {"failed": str(error) or type(error).__name__}
    except ExperimentError as error:
        if _lacks_module(error):
            return {"failed": str(error)}
        result = {"reason": str(error)}
    except Exception as error:  # a mistake in the program: the row says where, and the other tasks go on
        return {"failed": where_raised(error)}
    if wrong := _unfit(result):
        return {"failed": f"{task_name(job.function)} gave {wrong}"}
    unit = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in kB, on macOS in bytes
    return {
        "function": task_name(job.function),
        "config": plain_config(job.config),
        "result": result,
        "versions": _versions(job.config),
        "cost": {
            "cpu_s": round(time.process_time() - used, 3),
            "wall_s": round(time.monotonic() - start, 3),
            "peak_MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit),
        },
    }


def _unfit(result: Any) -> str:
    """What is wrong with a result that the store cannot hold; empty if it can."""
    if not isinstance(result, dict):
        return f"a {type(result).__name__}, not a dict"
    try:
        json.dumps(result)
    except (TypeError, ValueError) as error:
        return f"a result that JSON cannot hold: {error}"
    return ""


def _lacks_module(error: BaseException | None) -> bool:
    """Whether an error comes from a failed import: of the worker's path, which can be mended."""
    return error is not None and (isinstance(error, ImportError) or _lacks_module(error.__cause__))


def _teller(title: str, done: int, left: int, report: Advance, feedback: Feedback) -> Callable[[], None]:
    """Report a finished task."""
    finished = 0
    report(done, done + left)
    if done and left:
        feedback.say(f"{title}: {done} of {done + left} tasks are done already")

    def tell() -> None:
        nonlocal finished
        finished += 1
        report(done + finished, done + left)

    return tell


def task_named(name: str) -> Callable[[Task], Task]:
    """Give a task a name of its own: results are found again by it, wherever the function moves to."""

    def name_it(function: Task) -> Task:
        function.task_name = name  # type: ignore[attr-defined]
        return function

    return name_it


def task_name(function: Task) -> str:
    """The name a task was given, or else the one under which its function can be imported."""
    return str(getattr(function, "task_name", f"{function.__module__}:{function.__qualname__}"))


def task_key(function: Task, config: Any) -> str:
    """SHA-256 of a function's name and its configuration, the same on every machine."""
    if not is_dataclass(config) or isinstance(config, type):
        raise ExperimentError(f"the configuration of a task is a {type(config).__name__}, not a dataclass")
    content = {"function": task_name(function), "config": plain_config(config), "format": FORMAT}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def plain_config(config: Any) -> dict[str, Any]:
    """The configuration of a task as plain values, without what was `ADDED` and is empty.

    So the keys of users' stores stay what they are when tasks learn to name something more.
    """
    found: dict[str, Any] = to_plain(asdict(config))
    for one in fields(config):
        value = getattr(config, one.name)
        if one.metadata.get("added") and not value:
            del found[one.name]
        elif is_dataclass(value) and not isinstance(value, type):
            found[one.name] = plain_config(value)
    return found


def entry_path(store: Path, key: str) -> Path:
    """Where a finished task lies."""
    return store / f"{key}.json"


def read_entry(store: Path, function: Task, config: Any) -> dict[str, Any] | None:
    """A finished task, or None if there is none; refuses a file that is not what its name says."""
    path = entry_path(store, task_key(function, config))
    try:
        entry: dict[str, Any] = json.loads(path.read_text())
        wrong = _not_of(entry, function, config)
    except FileNotFoundError:
        return None
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise FileError(f"{path} is damaged ({wrong}); delete it to have it computed again")
    return entry


def _not_of(entry: Any, function: Task, config: Any) -> str:
    """Why an entry is none of this task; empty if it is."""
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(part), dict) for part in ("config", "result", "versions", "cost")
    ):
        return "it holds no finished task"
    if entry.get("function") != task_name(function):
        return f"it holds a result of {entry.get('function')}, not of {task_name(function)}"
    differing = difference(entry["config"], plain_config(config))
    return f"it holds another task: {'; '.join(differing[:3])}" if differing else ""


def write_entry(store: Path, key: str, entry: dict[str, Any]) -> None:
    """Store a finished task; whoever looks sees nothing or all of it."""
    write_json(entry_path(store, key), entry, shared=True)
