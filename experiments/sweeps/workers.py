"""Independent tasks on all cores of this machine, or on the workers of a Dask cluster."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import joblib

from experiments.errors import ExperimentError
from experiments.feedback import Advance, Feedback
from experiments.runfiles.growing import committed

Item = TypeVar("Item")
Result = TypeVar("Result")

RETRIES = 3  # of a task that could not be brought to its end on a worker of the cluster
CONNECT = 10.0  # seconds to wait for a scheduler to answer
LOOK = 5.0  # seconds between two looks at the cluster


def in_parallel(function: Callable[[Item], Result], items: Sequence[Item], jobs: int = 0) -> list[Result]:
    """[function(item) for item in items] in `jobs` processes, in order; 0: one per core that may be used.

    With one job everything happens in this process. Ctrl-C, or the death of this process by any means, ends
    the workers too; tasks must therefore be such that they can be run again.
    """
    return list(as_finished(function, items, jobs, "list"))


def as_finished(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int, order: str = "generator_unordered"
) -> Iterator[Result]:
    """What `in_parallel` gives, in the order in which tasks finish."""
    jobs = min(len(items), jobs or joblib.cpu_count())
    if jobs <= 1:
        yield from map(function, items)
        return
    parallel = joblib.Parallel(n_jobs=jobs, batch_size=1, pre_dispatch="all", return_as=order)
    work = joblib.delayed(_run_in_worker)
    try:
        with _killed_in_silence():
            yield from parallel(work(function, item, os.getpid(), os.getcwd()) for item in items)
    except joblib.externals.loky.process_executor.TerminatedWorkerError as error:
        raise ExperimentError(
            "a worker process died, perhaps for lack of memory; what was finished or committed is kept, run "
            "the same command to go on, with fewer --jobs if it happens again"
        ) from error


@contextmanager
def _killed_in_silence() -> Iterator[None]:
    """Keep a thread of joblib's quiet that looks for the tasks which Ctrl-C has just taken from it."""
    usual = threading.excepthook

    def hook(said: threading.ExceptHookArgs) -> None:
        flags = getattr(said.thread, "executor_flags", None)
        if not (said.exc_type is KeyError and getattr(flags, "kill_workers", False)):
            usual(said)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = usual


def _run_in_worker(function: Callable[[Item], Result], item: Item, parent: int, folder: str) -> Result:
    """function(item) in a worker process, which ends when `parent` does, in the folder where that one is."""
    os.chdir(folder)
    # Ctrl-C reaches the whole group of processes; the parent alone decides what becomes of the work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not any(thread.name == "parent" for thread in threading.enumerate()):
        threading.Thread(target=_die_with, args=(parent,), name="parent", daemon=True).start()
    return function(item)


def _die_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def watching(totals: dict[Path, int], report: Advance) -> AbstractContextManager[None]:
    """Report the steps that are committed in growing files, of so many wanted, while others fill them."""

    def look() -> None:
        report(sum(min(total, committed(path)) for path, total in totals.items()), sum(totals.values()))

    return meanwhile(look, 0.5)


@contextmanager
def meanwhile(look: Callable[[], None], every: float) -> Iterator[None]:
    """Call `look` now, every so many seconds in a thread of its own, and once the block has ended well."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(every):
            look()

    look()
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    look()


def on_cluster(
    function: Callable[[Item], Result], items: Mapping[str, Item], scheduler: str, feedback: Feedback
) -> Iterator[tuple[Item, Result | None, str]]:
    """function(item) for all items, which have the names that Dask is to know them by, as they finish.

    This speaks to Dask without joblib in between: joblib's backend waits for ever for a task that Dask gives
    up (one that kills every worker it meets, or that workers cannot import).

    The result is None if the cluster gave the task up, for the reason that comes with it. Raises
    ExperimentError when Dask is not installed, or the scheduler does not answer or goes away.
    """
    if not items:
        return
    try:
        import distributed
    except ImportError as error:
        raise ExperimentError(
            "--backend dask needs Dask, which is not installed; pip install 'selforg[cluster]'"
        ) from error
    try:
        client = distributed.Client(scheduler, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ExperimentError(
            f"no Dask scheduler answers at {scheduler} ({type(error).__name__}); start one with "
            "`dask scheduler` and give the address that it prints"
        ) from error
    with client, _noticing_loss(client, scheduler, feedback):
        futures = {
            client.submit(_run_and_leave, function, item, key=name, retries=RETRIES): item
            for name, item in items.items()
        }
        done = distributed.as_completed(futures, loop=client.loop, with_results=True, raise_errors=False)
        for future, result in done:
            if future.status == "finished":
                yield futures[future], result, ""
            elif future.status == "cancelled":  # by nobody here: so the client does when it has lost touch
                # What Dask would say of it now is a traceback or two.
                logging.getLogger("distributed").setLevel(logging.CRITICAL)
                raise ExperimentError(
                    f"the Dask scheduler at {scheduler} is gone; finished results are kept: start the "
                    "cluster again and run the same command"
                )
            else:
                reason = result[1] if isinstance(result, tuple) else result
                yield futures[future], None, f"the cluster gave up: {reason}"
            future.release()


def _noticing_loss(client: Any, scheduler: str, feedback: Feedback) -> AbstractContextManager[None]:
    """Say so when the cluster has no workers: the sweep waits for them, and should not look dead."""
    had = True

    def look() -> None:
        nonlocal had
        if client.status != "running":
            return
        has = bool(client.nthreads())
        if had and not has:
            feedback.say(f"{scheduler} has no workers; waiting for them (`dask worker {scheduler}`)")
        had = has

    return meanwhile(look, LOOK)


def _run_and_leave(function: Callable[[Item], Result], item: Item) -> Result:
    """function(item) on a worker, whose process may end in the middle of it without waiting for anything.

    A Dask worker that retires leaves the thread of its task behind. That may hold locks (HDF5 has one) for
    which the interpreter would wait when it clears up, and the task's file would stay locked for others.
    """

    import numba

    numba.set_num_threads(1)  # a cluster is filled by many tasks
    leave = partial(os._exit, 0)
    atexit.register(leave)
    try:
        return function(item)
    finally:
        atexit.unregister(leave)
