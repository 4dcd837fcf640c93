"""Run many independent tasks, on the cores of this machine or on a cluster, and never one of them twice.

    results = sweep(function, configs, store=Path("runs/sweep"))

A task is a pure function of its configuration. Its result is stored the moment it arrives, under a name
derived from function and configuration: an interrupted sweep continues, a larger one computes what is new.
"""

from __future__ import annotations

import contextvars
import functools
import json
import math
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import joblib

from experiments.console import bars, say
from experiments.errors import DiskError, ExperimentError, FileError, told
from experiments.runfiles import run_file as log
from experiments.runfiles.growing import writing
from experiments.settings import difference
from experiments.sweeps.cluster import on_cluster
from experiments.sweeps.processes import run_in_worker
from experiments.sweeps.store import Task, entry_path, read_entry, settings, task_key, task_name, write_entry
from quantify.plain import to_plain

Backend = Literal["local", "dask"]

# Seconds between two lines about the progress where there is no terminal for a bar.
TELL_EVERY = 60.0

_folder: contextvars.ContextVar[Path | None] = contextvars.ContextVar("folder", default=None)


@dataclass(frozen=True)
class Scale:
    """Where tasks run: the options that all commands with many tasks share."""

    jobs: int = 0
    """Parallel processes on this machine; 0 for one per core."""
    backend: Backend = "local"
    """local: processes on this machine. dask: the workers of a Dask cluster."""
    scheduler: str | None = None
    """Address of the Dask scheduler, such as tcp://10.0.0.1:8786."""


def places(config: Any) -> dict[str, Any]:
    """The options of `sweep` that a command's settings hold: where to run, and whether to speak."""
    return {name: getattr(config, name) for name in ("jobs", "backend", "scheduler", "quiet")}


@dataclass(frozen=True)
class _Job:
    """All that a worker needs to know about one task."""

    key: str
    function: Task
    config: Any
    store: Path
    keep: bool
    patience: float = 0.0
    threads: int | None = None


def sweep(
    function: Task,
    configs: Sequence[Any],
    *,
    store: Path,
    title: str = "sweep",
    jobs: int = 0,
    backend: Backend = "local",
    scheduler: str | None = None,
    keep: bool = False,
    quiet: bool = False,
) -> list[dict[str, Any]]:
    """[function(config) for config in configs], in parallel, with every finished result kept.

    Parameters
    ----------
    function : callable
        Top-level function of an importable module, from a frozen dataclass to a dict that JSON can hold. Its
        result must depend on nothing but the configuration. Large files go to `workspace()`.
    configs : sequence of frozen dataclasses
        Equal ones are computed once.
    store : Path
        Folder of the results. Two sweeps may use one at the same time.
    title : str
        What the progress bar says.
    jobs : int
        Processes on this machine (0: one per core). With 1 everything happens in this process.
    backend, scheduler
        "dask" sends the tasks to the cluster whose scheduler has this address.
    keep : bool
        Keep the folders of tasks that have finished (for workers that see the store's folder).
    quiet : bool

    Returns
    -------
    list of dict
        In the order of `configs`. A task that failed has the entry "reason". An ExperimentError is an outcome
        and is stored like any other. Any other exception, one that comes from a module that a worker cannot
        import, and a result that JSON cannot hold say nothing about the task: beside "reason" stands
        "unfinished": True, and the next sweep tries it again.

    Raises
    ------
    ExperimentError
        When the request cannot be fulfilled, a file of the store is not what its name says, a worker died, or
        the disk is full. Finished results are kept.
    """
    if jobs < 0:
        raise ExperimentError(f"--jobs is {jobs}; it must be 0 (all cores) or more")
    if (backend == "dask") != (scheduler is not None):
        raise ExperimentError("--backend dask and --scheduler ADDRESS go together: give both or none")
    store = Path(store).absolute()
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {store}: {error.strerror}") from error
    keys = [task_key(function, config) for config in configs]
    tasks = [
        _Job(key, function, config, store, keep)
        for key, config in dict(zip(keys, configs, strict=True)).items()
    ]
    entries = {
        job.key: entry for job in tasks if (entry := read_entry(store, function, job.config)) is not None
    }
    _note_versions(list(entries.values()), quiet)
    wanted = [job for job in tasks if job.key not in entries]
    with bars(quiet) as bar:
        tell = _teller(title, len(entries), len(wanted), bar(f"{title} [tasks]"), quiet)
        # What another sweep has in hand is left for the end, and then waited for.
        for patience in (0.0, math.inf):
            turn = [replace(job, patience=patience) for job in wanted if job.key not in entries]
            for key, entry in _run_all(turn, jobs, scheduler, quiet):
                if "busy" in entry:
                    continue
                if "result" in entry and not entry_path(store, key).exists():
                    write_entry(store, key, entry)
                entries[key] = entry
                tell()
    return [_result(entries[key]) for key in keys]


def _result(entry: dict[str, Any]) -> dict[str, Any]:
    if "result" in entry:
        found: dict[str, Any] = entry["result"]
        return found
    return {"reason": entry["failed"], "unfinished": True}


@contextmanager
def workspace() -> Iterator[Path]:
    """Folder for the heavy data of the running task.

    In a sweep on this machine, or where the store is on a shared file system, it is the task's own folder in
    the store, and holds what an interrupted attempt left there. Anywhere else it is temporary.
    """
    folder = _folder.get()
    if folder is not None:
        folder.mkdir(exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="selforg-") as temporary:
        yield Path(temporary)


def cost(store: Path, function: Task, configs: Sequence[Any]) -> list[dict[str, float]]:
    """What finished tasks took: seconds of processor and clock, peak memory of their process in MB."""
    entries = [read_entry(store, function, config) for config in configs]
    return [entry["cost"] for entry in entries if entry is not None]


def _run_all(
    jobs: list[_Job], processes: int, scheduler: str | None, quiet: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys and entries in the order in which tasks finish."""
    if scheduler is not None:
        # One thread per task: a cluster is filled by many tasks. Equal names of two sweeps are computed once.
        named = {f"selforg-{job.key}-{job.patience:g}": replace(job, threads=1) for job in jobs}
        for job, done, reason in on_cluster(_attempt, named, scheduler, quiet):
            yield done or (job.key, {"failed": reason})
        return
    processes = min(len(jobs), processes or joblib.cpu_count())
    if processes <= 1:
        yield from map(_attempt, jobs)
        return
    parent = os.getpid()
    parallel = joblib.Parallel(
        n_jobs=processes, batch_size=1, pre_dispatch="all", return_as="generator_unordered"
    )
    try:
        yield from parallel(joblib.delayed(run_in_worker)(_attempt, job, parent) for job in jobs)
    except joblib.externals.loky.process_executor.TerminatedWorkerError as error:
        raise ExperimentError(
            "a worker process died, perhaps for lack of memory; finished results are kept, run the same "
            "command to go on, with fewer --jobs if it happens again"
        ) from error


def _attempt(job: _Job) -> tuple[str, dict[str, Any]]:
    """Run one task, unless another process has done so by now; runs in the worker."""
    if job.threads is not None:
        import numba

        numba.set_num_threads(job.threads)
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
        entry = read_entry(job.store, job.function, job.config)
        if entry is None:
            token = _folder.set(folder)
            try:
                entry = _compute(job)
            finally:
                _folder.reset(token)
            if "result" in entry:
                write_entry(job.store, job.key, entry)
        if "result" in entry and not job.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return job.key, entry


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
    except Exception as error:
        # A mistake in the program: the row says where, and the other tasks go on.
        return {"failed": told(error)}
    if wrong := _unfit(result):
        return {"failed": f"{task_name(job.function)} gave {wrong}"}
    # ru_maxrss is in kB, on macOS in bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return {
        "function": task_name(job.function),
        "config": settings(job.config),
        "result": result,
        "versions": _versions(),
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


# Looking them up takes longer than a small task.
_versions = functools.cache(log.versions)


def _note_versions(entries: list[dict[str, Any]], quiet: bool) -> None:
    """Say so where stored results come from other versions: they may differ from new ones in detail."""
    found = {text for entry in entries for text in difference(entry["versions"], _versions())}
    if found:
        older = "; ".join(sorted(found))
        say(f"note: some results are older: {older}; delete the store to compute them again", quiet)


def _teller(
    title: str, done: int, left: int, report: Callable[[float, float], None], quiet: bool
) -> Callable[[], None]:
    """Report a finished task: to the bar, or as a line a minute where there is no terminal."""
    start = last = time.monotonic()
    finished = 0
    report(done, done + left)
    if done and left:
        say(f"{title}: {done} of {done + left} tasks are done already", quiet)

    def tell() -> None:
        nonlocal finished, last
        finished += 1
        report(done + finished, done + left)
        now = time.monotonic()
        if now - last > TELL_EVERY and not sys.stderr.isatty():
            last, rate = now, finished / (now - start)
            minutes = (left - finished) / rate / 60
            say(
                f"{title}: {done + finished} of {done + left} tasks, {60 * rate:.2g} per minute, "
                f"{minutes:.0f} minutes left",
                quiet,
            )

    return tell
