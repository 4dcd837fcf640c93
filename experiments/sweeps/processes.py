"""Run independent tasks on all cores, in processes that end with the one that started them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import h5py
import joblib

from experiments.console import Report

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(function: Callable[[Item], Result], items: Sequence[Item], jobs: int = 0) -> list[Result]:
    """[function(item) for item in items] in `jobs` processes, in order; 0: one per core that may be used.

    With one job everything happens in this process. Ctrl-C, or the death of this process by any means, ends
    the workers too; tasks must therefore be such that they can be run again.
    """
    jobs = min(len(items), jobs or joblib.cpu_count())
    if jobs <= 1:
        return [function(item) for item in items]
    parent = os.getpid()
    results = joblib.Parallel(n_jobs=jobs, batch_size=1, pre_dispatch="all")(
        joblib.delayed(run_in_worker)(function, item, parent) for item in items
    )
    return list(results)


def run_in_worker(function: Callable[[Item], Result], item: Item, parent: int) -> Result:
    """function(item) in a worker process, which ends when `parent` does."""
    # Ctrl-C reaches the whole group of processes; the parent alone decides what becomes of the work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not any(thread.name == "parent" for thread in threading.enumerate()):
        threading.Thread(target=_die_with, args=(parent,), name="parent", daemon=True).start()
    return function(item)


def _die_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def watching(totals: dict[Path, int], report: Report) -> AbstractContextManager[None]:
    """Report the steps that are committed in growing files, of so many wanted, while others fill them."""

    def look() -> None:
        report(sum(min(total, _committed(path)) for path, total in totals.items()), sum(totals.values()))

    return meanwhile(look, 0.5)


@contextmanager
def meanwhile(look: Callable[[], None], every: float) -> Iterator[None]:
    """Call `look`, now and every so many seconds, in a thread of its own until the block has ended."""
    over = threading.Event()

    def watch() -> None:
        while True:
            look()
            if over.wait(every):
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _committed(path: Path) -> int:
    try:
        with h5py.File(path, "r", locking=False) as file:
            # A finished file has no commit record: all is there.
            return int(file["commit"][0]) if "commit" in file else 2**62
    except FileNotFoundError:
        return 0
