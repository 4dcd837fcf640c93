"""Small tasks for the tests of sweeps; in a module of its own, because workers import it."""

import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from experiments.errors import DiskError, ExperimentError, FileError
from experiments.sweeps.sweep import workspace
from quantify import correlation_sums, entropies
from quantify.systems import Henon


@dataclass(frozen=True)
class Settings:
    """What a task is to do, and where it notes that it was executed."""

    seed: int
    notes: Path
    seconds: float = 0.0
    fail: str = ""
    samples: int = 0


def task(config: Settings) -> dict[str, Any]:
    """Note the execution, take a while, fail if asked to, and compute something real if samples are given."""
    note(config, "begun")
    time.sleep(config.seconds)
    if config.fail == "stuck once" and count(config.notes, "begun") == 1:
        with h5py._objects.phil:
            time.sleep(1000)
    if config.fail == "experiment":
        raise ExperimentError(f"seed {config.seed} cannot be")
    if config.fail == "import":
        from experiments.pipeline.learn import find_rule  # here, because it is slow to import

        find_rule("no_such_module:Rule")
    if config.fail == "value":
        raise ValueError(f"seed {config.seed} is odd")
    if config.fail == "mistake":
        raise KeyError("nothing")
    if config.fail == "file":
        raise FileError("the disk is full")
    if config.fail == "disk":
        raise DiskError("no space left")
    if config.fail == "death":
        os._exit(1)
    result: dict[str, Any] = {"seed": config.seed, "number": np.float64(config.seed) / 3, "none": np.nan}
    if config.samples:
        series = Henon().sample(config.samples, rng=config.seed)[:, 0]
        found = correlation_sums(series, tau=1, m_max=4, rng=config.seed)
        result |= {"C": found.C, "E": entropies(found).E}
    note(config, "done")
    return result


def heavy(config: Settings) -> dict[str, Any]:
    """Leave a file in the workspace and be interrupted at the first attempt."""
    with workspace() as folder:
        left = sorted(path.name for path in folder.iterdir())
        (folder / "data").write_text("heavy")
        if config.fail == "once" and not left:
            raise FileError("interrupted")
        return {"found": left}


def note(config: Settings, what: str) -> None:
    """A file per execution."""
    (config.notes / f"{config.seed}-{what}-{os.getpid()}-{uuid.uuid4().hex}").touch()


def count(notes: Path, what: str) -> int:
    """How many executions got so far."""
    return len(list(notes.glob(f"*-{what}-*")))
