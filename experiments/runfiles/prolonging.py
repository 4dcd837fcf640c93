"""Ask for more: a finished or interrupted recording goes on from its last checkpoint, in a new growing file.

A finished file keeps, for the learning phase and each behaviour, the state at the last moment at which a
longer run would have stored its state as well. So what goes on from there equals, bit for bit, a run that was
asked for at once. The file that is there stays as it is until the longer one has grown beside it.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from experiments.errors import FileError
from experiments.runfiles import hdf5
from experiments.runfiles.contents import Rows, frozen_arrays, marks, read_frozen
from experiments.runfiles.growing import AT, Arrays, GrowingFile, pack, read_commit, read_state, unpack


def keep_checkpoint(work: Path, file: h5py.File, name: str) -> None:
    """Store the last checkpoint of a growing file in the finished one; nothing if the run broke down."""
    state = _usable(read_state(work))
    if state is not None:
        state.setdefault(AT, np.array(read_commit(work)[0]))
        hdf5.put(file.require_group("checkpoint"), name, np.frombuffer(pack(state), np.uint8))


def last_checkpoint(path: Path, name: str) -> tuple[int, Arrays]:
    """Step and state from which "learning", or a behaviour ("8min"), would go on; refuses if it has none."""
    with hdf5.reading(path) as file:
        growing = "commit" in file
        kept = hdf5.branch(file, "checkpoint").get(name)
        state = None if growing or kept is None else unpack(hdf5.get(kept).tobytes())
    if growing:
        state = _usable(read_state(path))
        if state is not None:
            state.setdefault(AT, np.array(read_commit(path)[0]))
    if state is None:
        raise FileError(
            f"{path} keeps no checkpoint of {name}, and cannot be made longer: it broke down, or was written "
            "before they were kept; --replace makes it anew"
        )
    return int(state[AT]), state


def _usable(state: Arrays) -> Arrays | None:
    if "reason" in state:
        return None
    return {key: value for key, value in state.items() if not key.startswith("written/")}


def carry_over(source: Path, name: str, work: GrowingFile) -> None:
    """Begin a growing file with all that another file holds up to its last checkpoint of this recording."""
    at, state = last_checkpoint(source, name)
    with hdf5.reading(source) as file:
        group = file["learning" if name == "learning" else f"behaviours/{name}"]
        first = int(hdf5.attributes(group).get("transient", 0))
        for track, data in hdf5.members(group):
            every = int(hdf5.attributes(data)["every"])
            rows, done = Rows(data, -(-max(0, at - first) // every)), 0
            for block in rows.blocks():
                work.append(track, block, done * every)
                done += len(block)
        if name == "learning":
            frozen = marks(file, at)
            for time, item in hdf5.members(hdf5.branch(file, "frozen")):
                if isinstance(item, h5py.Group):
                    frozen[time] = read_frozen(item)
            for time, kept in frozen.items():
                if kept.step <= at:
                    work.mark(f"frozen/{time}", frozen_arrays(kept))
    work.commit(at, state)
