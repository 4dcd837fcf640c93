"""Work in children of the test: true processes, without the seconds that importing everything takes."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import controllers


@dataclass
class Child:
    """A process that works; `end` waits for it."""

    pid: int
    pipe: int

    def end(self) -> str:
        """What its work returned, its traceback, or the signal that killed it."""
        with open(self.pipe, "rb") as pipe:
            words = pipe.read().decode()
        status = os.waitpid(self.pid, 0)[1]
        return words if os.WIFEXITED(status) else f"{words}killed by signal {os.WTERMSIG(status)}"


def start(work: Callable[[], str], seconds: int) -> Child:
    """Begin some work in a child, which an alarm kills after so many seconds.

    No exception interrupts C code that hangs, as that of HDF5 may.
    """
    _warm_up()
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        try:
            words = work()
        except BaseException:
            words = traceback.format_exc()[-4000:]
        os.write(write, words.encode(errors="backslashreplace"))
        os._exit(0)
    os.close(write)
    return Child(pid, read)


@cache
def _warm_up() -> None:
    """Load what every command needs, once for all children; nothing that starts threads, which they lack."""
    import typeguard  # noqa: F401

    ulr = controllers.make("ulr", 4, 3)
    ulr.step(np.zeros(4))
    ulr.freeze().step(np.zeros(4))


def in_child(work: Callable[[], str], seconds: int = 30) -> str:
    """What `work` returns, or how it ended if it did not."""
    return start(work, seconds).end()
