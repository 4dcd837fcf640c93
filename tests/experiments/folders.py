"""What a folder holds, in a form that can be compared: files by name, run files by their parts."""

import json
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

from experiments.runfiles.hdf5 import DAMAGE, attributes

UNREADABLE = "unreadable"


def content(folder: Path) -> dict[str, str]:
    """Names of all files, texts as they are, and every part of every run file, whenever it was written."""
    found = {"files": " ".join(sorted(path.name for path in folder.iterdir()))}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".h5":
            found |= {f"{path.name}{name}": value for name, value in parts(path).items()}
        elif path.suffix == ".json":
            with suppress(ValueError):
                found[path.name] = repr(json.loads(path.read_bytes()))  # a lost blank is no loss
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes().decode(errors="backslashreplace")
    return found


def parts(path: Path) -> dict[str, str]:
    """Attributes and values of all that an HDF5 file holds; of a branch that cannot be read, its name."""
    found: dict[str, str] = {}

    def look(name: str, item: h5py.Group | h5py.Dataset, above: tuple[int, ...]) -> None:
        try:
            found[f"{name}@"] = repr({k: v for k, v in attributes(item).items() if k != "created"})
            if isinstance(item, h5py.Dataset):
                found[name] = repr((item.shape, np.asarray(item[()]).tobytes()))
            elif isinstance(item, h5py.Group):
                above = (*above, h5py.h5o.get_info(item.id).addr)
                for one in item:
                    below(item, name, one, above)
        except DAMAGE:
            found[name] = UNREADABLE

    def below(group: h5py.Group, name: str, one: str, above: tuple[int, ...]) -> None:
        try:
            item = group[one]
            back = h5py.h5o.get_info(item.id).addr in above
        except DAMAGE:
            found[f"{name.rstrip('/')}/{one}"] = UNREADABLE
            return
        if not back:
            look(f"{name.rstrip('/')}/{one}", item, above)

    try:
        with h5py.File(path, locking=False) as file:
            look("/", file, ())
    except DAMAGE:
        found["/"] = UNREADABLE
    return found


def is_lost(name: str, found: dict[str, str]) -> bool:
    """Whether a part is gone, though all above it can be read."""
    above = [name[: at + 1] for at, letter in enumerate(name) if letter == "/"]
    known = {found.get(one.rstrip("/"), found.get(one)) for one in above}
    return name not in found and UNREADABLE not in known
