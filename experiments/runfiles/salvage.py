"""Save what can be saved from a damaged run file.

Reading a damaged file raises anything from OSError to TypeError; whatever it is, that piece is lost and the
next one is tried.
"""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import h5py
import numpy as np
import tyro

from experiments.errors import FileError
from experiments.runfiles.hdf5 import SIGNATURE, attributes, intact, put, put_attributes, text, writable
from experiments.runfiles.run_file import marks, read_frozen, write_frozen


@dataclass(frozen=True)
class Salvage:
    """Copy the readable rows of a damaged run file into a new one."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The damaged file; it is not changed."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="NEW")]
    """The new file; it must not exist yet."""


def salvage(config: Salvage) -> dict[str, int]:
    """Write a new run file with everything that can still be read; returns the rows saved per dataset."""
    path, out = config.file, config.out
    if not path.exists():
        raise FileError(f"{path} does not exist")
    if out.exists():
        raise FileError(f"{out} exists already; give the name of a new file")
    temporary = out.with_name(out.name + ".tmp")
    try:
        with _mended(path) as source, writable(temporary, "w") as target:
            if source is None:
                raise FileError(f"{path} is damaged beyond repair: its index is lost, nothing can be saved")
            saved = _copy(source, target, path)
        os.replace(temporary, out)
    finally:
        temporary.unlink(missing_ok=True)
    for name, rows in saved.items():
        if rows:
            print(f"{rows:>10} rows of {name}")
    print(f"saved to {out}")
    return saved


def _copy(source: h5py.File, target: h5py.File, path: Path) -> dict[str, int]:
    """Copy what is whole, and make a run file of it; rows by dataset."""
    saved = {}
    size, lost = path.stat().st_size, _lost_states(source)
    _copy_attributes(source, target)
    for name, group in _groups(source):
        if not name.startswith(lost):
            _copy_attributes(group, target.require_group(name))
    for name, dataset in _datasets(source):
        with suppress(Exception):
            rows = _readable_rows(dataset, size)
            if (rows or dataset.shape == ()) and intact(dataset) and not name.startswith(lost):
                _copy_rows(dataset, target, name, rows)
                saved[name] = rows
    with suppress(Exception):
        for name, state in marks(source, _steps(source)).items():
            write_frozen(target.require_group(f"frozen/{name}"), state)
    if not any(name.startswith(("learning/", "behaviours/")) for name in saved):
        raise FileError(f"{path} is damaged, and no rows of it can be saved")
    _fill_gaps(target, f"saved from the damaged file {path.name}")
    if "layout" in target.attrs:
        del target.attrs["layout"]
    return saved


def survey(path: Path) -> dict[str, int]:
    """Rows of sensors that can still be read from a damaged file, by recording."""
    size = path.stat().st_size
    with _mended(path) as file:
        if file is None:
            return {}
        found = {}
        for name, dataset in _datasets(file):
            if (
                name.endswith("/sensors")
                and not name.startswith("frozen/")
                and (rows := _readable_rows(dataset, size))
            ):
                found[name.removesuffix("/sensors")] = rows
        return found


@contextmanager
def _mended(path: Path) -> Iterator[h5py.File | None]:
    """A copy of the file, made as long as its header says: what is missing reads as zeros or not at all."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".salvage-") as scratch:
        copy = Path(scratch) / "copy.h5"
        shutil.copyfile(path, copy)
        end = _recorded_end(copy)
        if end is not None and end > copy.stat().st_size:
            os.truncate(copy, end)
        try:
            file = h5py.File(copy, "r", locking=False)
        except Exception:
            yield None
            return
        with file:
            yield file


def _recorded_end(path: Path) -> int | None:
    """End-of-file address in the superblock, of which version 3 is ours and version 0 that of older files."""
    with open(path, "rb") as raw:
        head = raw.read(56)
    if len(head) < 56 or not head.startswith(SIGNATURE):
        return None
    version, place = head[8], {0: 40, 2: 28, 3: 28}
    return int(struct.unpack_from("<Q", head, place[version])[0]) if version in place else None


def _walk(group: h5py.Group, prefix: str = "") -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """All objects that can be reached; a branch that cannot be read is passed over."""
    try:
        names = [name for name in group if isinstance(name, str)]  # bytes: not even the name is intact
    except Exception:
        return
    for name in names:
        try:
            item = group[name]
        except Exception:
            continue
        yield prefix + name, item
        if isinstance(item, h5py.Group):
            yield from _walk(item, f"{prefix}{name}/")


def _datasets(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """All datasets with data of the experiment, not the bookkeeping of a work file."""
    for name, item in _walk(file):
        bookkeeping = (
            name == "commit"
            or name.startswith("checkpoint/")
            or (name.startswith("frozen/") and name.count("/") == 1)
        )
        if isinstance(item, h5py.Dataset) and not bookkeeping:
            yield name, item


def _groups(file: h5py.File) -> Iterator[tuple[str, h5py.Group]]:
    for name, item in _walk(file):
        if isinstance(item, h5py.Group) and name != "checkpoint":
            yield name, item


def _lost_states(file: h5py.File) -> tuple[str, ...]:
    """Frozen states of a finished file that are not whole: half of one would behave in another way."""
    lost = []
    for name, item in _walk(file):
        if isinstance(item, h5py.Group) and name.startswith("frozen/") and name.count("/") == 1:
            try:
                read_frozen(item)
            except Exception:
                lost.append(name)
    return tuple(lost)


def _recordings(file: h5py.File) -> list[str]:
    return [
        name
        for name in ("learning", *(f"behaviours/{n}" for n in file.get("behaviours", ())))
        if name in file
    ]


def _fill_gaps(file: h5py.File, reason: str) -> None:
    """Make a run file of what was saved: say in each recording how much of it there is, and what is lost."""
    file.require_group("learning")
    found = {f"{name}/{key}": data for name in _recordings(file) for key, data in file[name].items()}
    rates = [file[name].attrs["rate_hz"] for name in _recordings(file) if "rate_hz" in file[name].attrs]
    for name in _recordings(file):
        for key in ("sensors", "actions"):
            # What is lost of one recording has the columns of another.
            like = next((data for other, data in found.items() if other.endswith(f"/{key}")), None)
            if f"{name}/{key}" not in file and like is not None:
                empty = file.create_dataset(f"{name}/{key}", (0, *like.shape[1:]), like.dtype)
                _copy_attributes(like, empty)
        group = file[name]
        kept = min((len(d) * int(d.attrs.get("every", 1)) for d in group.values() if len(d)), default=0)
        attrs = attributes(group)
        told = {"steps": min(int(attrs.get("steps", kept)), kept), "status": "salvaged", "reason": reason}
        put_attributes(group, {"wanted": kept, "rate_hz": rates[0] if rates else np.nan} | attrs | told)


def _steps(file: h5py.File) -> int:
    """Committed steps of a work file; 0 for a finished file."""
    try:
        return int(file["commit"][0]) if "commit" in file else 0
    except Exception:
        return 0


def _readable_rows(dataset: h5py.Dataset, size: int) -> int:
    """Leading rows that lie before the end of the damaged file and agree with their checksums."""
    good = 0
    try:
        if dataset.shape == ():
            dataset[()]
        elif dataset.chunks is None:
            good = _contiguous_rows(dataset, size)
        else:
            step = dataset.chunks[0]
            while good < dataset.shape[0]:
                # A chunk that the index does not know reads as zeros; one beyond the end is not data either.
                chunk = dataset.id.get_chunk_info_by_coord((good, *[0] * (dataset.ndim - 1)))
                if chunk.byte_offset is None or chunk.byte_offset + chunk.size > size:
                    break
                dataset[good : good + step]
                good = min(good + step, dataset.shape[0])
    except Exception:
        pass
    return good


def _contiguous_rows(dataset: h5py.Dataset, size: int) -> int:
    """Valid rows of a dataset whose rows follow one another in the file."""
    rows, offset = int(dataset.shape[0]), dataset.id.get_offset()
    if offset is None:
        return 0
    width = dataset.dtype.itemsize * int(np.prod(dataset.shape[1:], dtype=int))
    rows = min(rows, max(0, size - offset) // max(1, width))
    if "every" in dataset.attrs and "commit" in dataset.file:
        steps = _steps(dataset.file) - int(dataset.parent.attrs.get("transient", 0))
        rows = min(rows, -(-max(0, steps) // int(dataset.attrs["every"])))
    return rows


def _copy_rows(source: h5py.Dataset, target: h5py.File, name: str, rows: int) -> None:
    if source.shape == ():
        put(target, name, text(source[()]))
        return
    checked = {"compression": "gzip", "shuffle": True, "fletcher32": True} if source.chunks else {}
    copy = target.create_dataset(
        name,
        (rows, *source.shape[1:]),
        source.dtype,
        maxshape=source.maxshape,
        chunks=source.chunks,
        **checked,
    )
    step = source.chunks[0] if source.chunks else max(1, rows)
    for start in range(0, rows, step):
        copy[start : start + step] = source[start : min(start + step, rows)]
    _copy_attributes(source, copy)


def _copy_attributes(source: h5py.Group | h5py.Dataset, target: h5py.Group | h5py.Dataset) -> None:
    try:
        names = list(source.attrs)
    except Exception:
        return
    for name in names:
        try:
            put_attributes(target, {name: text(source.attrs[name])})
        except Exception:
            continue
