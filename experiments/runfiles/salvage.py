"""Save what can be saved from a damaged run file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np

from experiments.errors import FileError
from experiments.options.commands import Salvage
from experiments.runfiles import checks, hdf5
from experiments.runfiles.atomic import replacing
from experiments.runfiles.contents import marks, read_frozen, write_frozen
from experiments.runfiles.growing import Arrays, agrees, state_in
from experiments.runfiles.hdf5 import DAMAGE

UNSURE = "their checksum is lost or does not agree, so that some rows may be wrong"


@dataclass(frozen=True)
class Saved:
    """Rows of one dataset that were saved, of those that it had."""

    rows: int
    of: int
    checked: bool = True
    """Whether they agree with their checksum: some may be wrong where it is lost, or does not agree."""

    def to_dict(self) -> dict[str, int]:
        """Plain values for JSON."""
        return {"rows": self.rows, "of": self.of, "checked": self.checked}


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
            _fill_gaps(target, f"saved from the damaged file {path.name}", saved)
            return saved


def _copy(source: h5py.File, target: h5py.File, size: int) -> dict[str, Saved]:
    """Copy what is whole of a file of so many bytes, but for the bookkeeping of a growing one; rows saved."""
    saved, lost, state = {}, ["checkpoint"], Arrays()
    with suppress(*DAMAGE):  # of a growing file
        state = state_in(source)
    _copy_attributes(source, target)
    for name, item in hdf5.walk(source):
        frozen = name.startswith("frozen/") and name.count("/") == 1
        if isinstance(item, h5py.Group):
            try:
                if frozen:
                    read_frozen(item)
            except DAMAGE:
                lost.append(name)  # half of a state would behave in another way
            if not name.startswith(tuple(lost)):
                _copy_attributes(item, target.require_group(name))
        elif name in ("learning", "behaviours", "frozen"):
            continue  # in place of a group: none of ours
        elif isinstance(item, h5py.Dataset) and not (frozen or name.startswith(("commit", *lost))):
            rows, checked, track = 0, True, name.startswith(("learning/", "behaviours/"))
            with suppress(*DAMAGE):
                rows = hdf5.readable_rows(item, size)
                if (rows or item.shape == ()) and hdf5.intact(item) and (_is_track(name, item) or not track):
                    _copy_rows(item, target, name, rows)
                    checked = item.fletcher32 or not rows or agrees(item, rows, state)
                else:
                    rows = 0
            if track:
                saved[name] = Saved(rows, max(rows, hdf5.rows_committed(item, size)), checked)
    with suppress(*DAMAGE):
        for name, kept in marks(source, int(source["commit"][0])).items():
            write_frozen(target.require_group(f"frozen/{name}"), kept)
    target.attrs.pop("layout", None)
    return saved


def _fill_gaps(file: h5py.File, reason: str, saved: Mapping[str, Saved]) -> None:
    """Make a run file of what was saved: say in each recording how much of it there is, and what is lost."""
    learning, others = file.require_group("learning"), hdf5.walk(file.require_group("behaviours"))
    recordings = [learning, *(item for name, item in others if _is_recording(name, item))]
    rates = [rate for group in recordings if _is_rate(rate := group.attrs.get("rate_hz"))]
    for key in ("sensors", "actions"):
        # What is lost of one recording has the columns of another.
        like = next((group[key] for group in recordings if key in group), None)
        for group in (group for group in recordings if key not in group):
            if like is not None:
                empty = group.create_dataset(key, (0, *like.shape[1:]), like.dtype)
                _copy_attributes(like, empty)
            else:  # of all recordings; as many columns as C has rows or columns, if that is there
                motors, sensors = group["C"].shape[1:] if "C" in group and group["C"].ndim == 3 else (1, 1)
                group.create_dataset(key, (0, sensors if key == "sensors" else motors), "<f4")
    for group in recordings:
        tracks = {key: item for key, item in group.items() if isinstance(item, h5py.Dataset) and item.shape}
        for key, track in tracks.items():
            hdf5.put_attributes(track, _told(key, track))
        kept = min((len(track) * int(track.attrs["every"]) for track in tracks.values()), default=0)
        steps = min(_whole(group, "steps", kept), kept)
        rate = group.attrs["rate_hz"] if _is_rate(group.attrs.get("rate_hz")) else [*rates, np.nan][0]
        told = {"wanted": _whole(group, "wanted", kept), "rate_hz": rate}
        unsure = [key for key in tracks if (one := saved.get(f"{group.name[1:]}/{key}")) and not one.checked]
        why = f"; {UNSURE} in {', '.join(unsure)}" if unsure else ""
        hdf5.put_attributes(group, told | {"steps": steps, "status": "salvaged", "reason": reason + why})


def _is_recording(name: str, item: h5py.Group | h5py.Dataset) -> bool:
    return isinstance(item, h5py.Group) and "/" not in name


def _is_rate(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(0 < value < np.inf)


def _whole(item: h5py.Group | h5py.Dataset, key: str, otherwise: int) -> int:
    """An attribute that is a whole number, or another number where it is lost."""
    with suppress(*DAMAGE):
        return checks.whole(item.attrs, key)
    return otherwise


def _every(name: str, track: h5py.Dataset) -> int:
    """Steps between two rows of a track; 0 if that is lost. Sensors and actions have a row at each step."""
    always = name.rpartition("/")[2] in ("sensors", "actions")
    return _whole(track, "every", 0) or int(always)


def _is_track(name: str, track: h5py.Dataset) -> bool:
    """Whether a dataset of a recording holds rows of numbers, of which it is known when they were."""
    dimensions = 2 if name.endswith(("/sensors", "/actions", "/measures")) else track.ndim
    return track.ndim == dimensions > 0 and track.dtype.kind in "fiu" and _every(name, track) > 0


def _told(key: str, track: h5py.Dataset) -> dict[str, Any]:
    """What a run file says of a track, with something in place of what is lost."""
    told: dict[str, Any] = {"every": _every(key, track)}
    if key in ("sensors", "actions", "measures"):
        columns = range(track.shape[1])
        lost = {"names": [f"{key} {i}, lost" for i in columns], "units": ["1" for _ in columns]}
        for what, words in lost.items():
            with suppress(*DAMAGE):
                if checks.are_words(hdf5.text(track.attrs[what]), (len(columns),)):
                    continue
            told[what] = words
    return told


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
