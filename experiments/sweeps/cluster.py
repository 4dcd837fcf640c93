"""Tasks on the workers of a Dask cluster, which gives those of a lost worker to the others."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from experiments.console import say
from experiments.errors import ExperimentError
from experiments.sweeps.processes import meanwhile

Item = TypeVar("Item")
Result = TypeVar("Result")

# How often Dask tries a task again that could not be brought to its end on a worker.
RETRIES = 3
# Seconds to wait for a scheduler to answer.
CONNECT = 10.0
# Seconds between two looks at the cluster.
LOOK = 5.0


def on_cluster(
    function: Callable[[Item], Result], items: Mapping[str, Item], scheduler: str, quiet: bool
) -> Iterator[tuple[Item, Result | None, str]]:
    """function(item) for all items, which have the names that Dask is to know them by, as they finish.

    This speaks to Dask without joblib in between: joblib's backend waits for ever for a task that Dask gives
    up (one that kills every worker it meets, or that workers cannot import).

    Yields
    ------
    item, result, reason
        The result is None if the cluster gave the task up, for the reason that follows.

    Raises
    ------
    ExperimentError
        When Dask is not installed, or the scheduler does not answer or goes away.
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
    with client, _noticing_loss(client, scheduler, quiet):
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


def _noticing_loss(client: Any, scheduler: str, quiet: bool) -> AbstractContextManager[None]:
    """Say so when the cluster has no workers: the sweep waits for them, and should not look dead."""
    had = True

    def look() -> None:
        nonlocal had
        if client.status != "running":
            return
        has = bool(client.nthreads())
        if had and not has:
            say(f"{scheduler} has no workers; waiting for them (`dask worker {scheduler}`)", quiet)
        had = has

    return meanwhile(look, LOOK)


def _run_and_leave(function: Callable[[Item], Result], item: Item) -> Result:
    """function(item) on a worker, whose process may end in the middle of it without waiting for anything.

    A Dask worker that retires leaves the thread of its task behind. That may hold locks (HDF5 has one) for
    which the interpreter would wait when it clears up, and the task's file would stay locked for others.
    """

    def leave() -> None:
        os._exit(0)

    atexit.register(leave)
    try:
        return function(item)
    finally:
        atexit.unregister(leave)
