"""Save what can be saved from a damaged run file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import h5py
import numpy as np

from experiments.errors import FileError
from experiments.options.commands import Salvage
from experiments.runfiles import hdf5
from experiments.runfiles.atomic import replacing
from experiments.runfiles.contents import marks, read_frozen, write_frozen
from experiments.runfiles.hdf5 import DAMAGE


@dataclass(frozen=True)
class Saved:
    """Rows of one dataset that were saved, of those that it had."""

    rows: int
    of: int

    def to_dict(self) -> dict[str, int]:
        """Plain values for JSON."""
        return {"rows": self.rows, "of": self.of}


def salvage(config: Salvage) -> dict[str, Saved]:
    """Write a new run file with everything that can still be read; the rows saved of each recording."""
    path, out = config.file, config.out
    if not path.exists():
        raise FileError(f"{path} does not exist; check the name")
    if out.exists():
        raise FileError(f"{out} exists already; give the name of a new file")
    with replacing(out, new=True) as temporary, hdf5.opened_as_far_as_possible(path) as source:
        if source is None:
            raise FileError(f"{path} is damaged beyond repair: its index is lost, nothing can be saved")
        with hdf5.writable(temporary, "w") as target:
            saved = _copy(source, target, path.stat().st_size)
            if not any(one.rows for one in saved.values()):
                had = ", ".join(f"{one.of} of {name}" for name, one in saved.items() if one.of) or "unknown"
                raise FileError(f"{path} is damaged, and no rows of it can be saved (it had {had})")
            _fill_gaps(target, f"saved from the damaged file {path.name}")
            return saved


def _copy(source: h5py.File, target: h5py.File, size: int) -> dict[str, Saved]:
    """Copy what is whole of a file of so many bytes, but for the bookkeeping of a growing one; rows saved."""
    saved, lost = {}, ["checkpoint"]
    _copy_attributes(source, target)
    for name, item in hdf5.walk(source):
        state = name.startswith("frozen/") and name.count("/") == 1
        if isinstance(item, h5py.Group):
            try:
                if state:
                    read_frozen(item)
            except DAMAGE:
                lost.append(name)  # half of a state would behave in another way
            if not name.startswith(tuple(lost)):
                _copy_attributes(item, target.require_group(name))
        elif isinstance(item, h5py.Dataset) and not (state or name.startswith(("commit", *lost))):
            rows = 0
            with suppress(*DAMAGE):
                rows = hdf5.readable_rows(item, size)
                if (rows or item.shape == ()) and hdf5.intact(item):
                    _copy_rows(item, target, name, rows)
                else:
                    rows = 0
            if name.startswith(("learning/", "behaviours/")):
                saved[name] = Saved(rows, max(rows, hdf5.rows_committed(item, size)))
    with suppress(*DAMAGE):
        for name, frozen in marks(source, int(source["commit"][0])).items():
            write_frozen(target.require_group(f"frozen/{name}"), frozen)
    target.attrs.pop("layout", None)
    return saved


def _fill_gaps(file: h5py.File, reason: str) -> None:
    """Make a run file of what was saved: say in each recording how much of it there is, and what is lost."""
    recordings = [file.require_group("learning"), *file.get("behaviours", {}).values()]
    rates = [group.attrs["rate_hz"] for group in recordings if "rate_hz" in group.attrs]
    for key in ("sensors", "actions"):
        # What is lost of one recording has the columns of another.
        like = next((group[key] for group in recordings if key in group), None)
        for group in (group for group in recordings if key not in group):
            if like is not None:
                empty = group.create_dataset(key, (0, *like.shape[1:]), like.dtype)
                _copy_attributes(like, empty)
            else:  # of all recordings; as many columns as C has rows or columns, if that is there
                motors, sensors = group["C"].shape[1:] if "C" in group else (1, 1)
                count = sensors if key == "sensors" else motors
                names = [f"{key} {i}, lost" for i in range(count)]
                empty = group.create_dataset(key, (0, count), "<f4")
                hdf5.put_attributes(empty, {"names": names, "units": ["1"] * count, "every": 1})
    for group in recordings:
        tracks = [item for item in group.values() if isinstance(item, h5py.Dataset) and item.shape]
        kept = min((len(d) * int(d.attrs.get("every", 1)) for d in tracks), default=0)
        attrs = hdf5.attributes(group)
        told = {"steps": min(int(attrs.get("steps", kept)), kept), "status": "salvaged", "reason": reason}
        hdf5.put_attributes(group, {"wanted": kept, "rate_hz": rates[0] if rates else np.nan} | attrs | told)


def _copy_rows(source: h5py.Dataset, target: h5py.File, name: str, rows: int) -> None:
    if source.shape == ():
        hdf5.put(target, name, hdf5.text(source[()]))
        return
    shape, chunks = (rows, *source.shape[1:]), source.chunks
    kept = {"maxshape": source.maxshape, "chunks": chunks} | (hdf5.COMPRESSED if chunks else {})
    copy = target.create_dataset(name, shape, source.dtype, **kept)
    step = chunks[0] if chunks else rows
    for start in range(0, rows, step):
        copy[start : start + step] = source[start : min(start + step, rows)]
    _copy_attributes(source, copy)


def _copy_attributes(source: h5py.Group | h5py.Dataset, target: h5py.Group | h5py.Dataset) -> None:
    with suppress(*DAMAGE):
        for name in list(source.attrs):
            with suppress(*DAMAGE):
                hdf5.put_attributes(target, {name: hdf5.text(source.attrs[name])})
