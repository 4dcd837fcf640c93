"""Run files and results with flipped bits, cut, or with attributes and values that are none of ours."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from experiments.runfiles.salvage import UNSURE
from tests.experiments.folders import UNREADABLE, content, is_lost
from tests.experiments.fuzz.cases import Case, End, Family, ended
from tests.experiments.fuzz.words import flipped

QUICK = "--m-max 2 --tau 1 --replicates 0 --predictive 0"
READING = [
    "show run.h5",
    "show run.h5 --json",
    f"quantify run.h5 {QUICK} --json",
    "record run.h5 --samples 300 --transient 0 --checkpoint 100",
    "record run.h5 --samples 30 --transient 0 --replace --jobs 1",
    "report run.h5 --seconds 0 -o page.html",
    "export run.h5 out --learning",
    "salvage run.h5 saved.h5",
    "learn barrel --minutes 0.1 --freeze 0.1 --checkpoint 50 --out run.h5",
]
GROWING = [*READING[:2], *READING[-2:]]
# What commands that change a run file write into it.
WRITTEN = ("run.h5/learning/", "run.h5/behaviours/0.1min/", "run.h5/frozen/0.1min/")
RESULT = "run.0.1min.complexity.json"
RESULTS = [
    "show run.h5",
    f"quantify run.h5 {QUICK} --json",
    "report run.h5 --seconds 0 -o page.html",
    f"report {RESULT} --seconds 0 -o page.html",
    f"plot {RESULT} --figure progress -o figure.svg",
]
TABLES: list[Any] = [
    *(
        0,
        -1,
        1,
        2**40,
        -(2**63),
        0.0,
        -0.5,
        np.nan,
        np.inf,
        1e308,
        True,
        "",
        "x",
        "nan",
        "0",
        "1",
        "-1",
        "ä\0b",
    ),
    *(
        "{}",
        "[]",
        "null",
        "{",
        '{"body": {}}',
        '{"a": ' * 50,
        "evil:Class",
        "\x1b[31m",
        "<script>",
        "a" * 9000,
    ),
    *(b"\xff\xfe", np.zeros(0), np.zeros(3), np.zeros((2, 2)), np.array(["a", "b"], "S1"), np.float16(1)),
    *(h5py.Empty("f8"), np.array([], "S1"), np.datetime64("2020").astype("i8"), np.complex128(1j)),
]


class Truth:
    """What commands give on an intact file; each is tried once in a process."""

    def __init__(self, samples: Path, sample: str) -> None:
        self.samples, self.sample = samples, sample
        self._known: dict[str, tuple[End, dict[str, str]]] = {}

    def put(self, folder: Path) -> Path:
        """The run under the name that commands use, with the result beside it."""
        shutil.copy(self.samples / self.sample, folder / "run.h5")
        if self.sample == "run.h5":
            shutil.copy(self.samples / RESULT, folder)
        return folder / "run.h5"

    def of(self, command: str, folder: Path) -> tuple[End, dict[str, str]]:
        if command not in self._known:
            here = folder.parent / "truth"
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            self.put(here)
            os.chdir(here)
            self._known[command] = ended([*command.split(), "--quiet"]), content(here)
            os.chdir(folder)
        return self._known[command]

    def unlike(self, command: str, folder: Path) -> Callable[[End], str]:
        """Compares what a command did with what it should have done."""
        true, files = self.of(command, folder)
        changes = command.startswith("learn") or "--replace" in command

        def compare(end: End) -> str:
            if true.status != 0:
                return f"done, though the intact file is refused: {true.error}"
            if command.startswith("salvage"):  # of a damaged file, less can be saved
                return _saved_wrongly(folder, self.samples, end.out)
            if end.out != true.out:
                return f"it says {end.out!r} in place of {true.out!r}"
            found = content(folder)
            for name, value in files.items():
                # What was damaged and not touched is damaged still: whoever reads it is told so. What is in
                # the file beside what is ours does not matter.
                ours = not name.startswith("run.h5") or (
                    changes and name.startswith(WRITTEN) and not name.endswith("@")
                )
                if not ours or name == "files":
                    continue
                if is_lost(name, found):
                    return f"{name} is gone"
                if found.get(name, UNREADABLE) not in (value, UNREADABLE):
                    return f"{name} is {found[name]:.300} in place of {value:.300}"
            return ""

        return compare


def _saved_wrongly(folder: Path, samples: Path, said: str) -> str:
    with h5py.File(folder / "saved.h5") as saved, h5py.File(samples / "run.h5") as run:
        for name in ("learning/sensors", "learning/actions", "behaviours/0.1min/sensors"):
            rows = len(saved[name]) if name in saved else 0
            # What is lost of all recordings is empty, and has no columns to know.
            unsure = any(f"rows of {name}" in line and UNSURE in line for line in said.splitlines())
            if rows and not unsure and not np.array_equal(saved[name], run[name][:rows]):
                return f"wrong rows of {name} were saved"
    return ""


def damaged(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Bytes as a bad disk or a bad connection leaves them."""
    at, length = rng.randrange(len(data)), rng.choice([1, 8, 100, 512, 4096])
    match rng.choice(["flip", "flip", "flip", "cut", "out", "in", "zeros", "noise", "swap", "tail"]):
        case "flip":
            return "flipped bits", flipped(data, rng, 8)
        case "cut":
            return f"cut at {at}", data[:at]
        case "out":
            return f"{length} bytes lost at {at}", data[:at] + data[at + length :]
        case "in":
            return f"{length} bytes more at {at}", data[:at] + rng.randbytes(length) + data[at:]
        case "zeros":
            return f"{length} zeros at {at}", data[:at] + bytes(length) + data[at + length :]
        case "noise":
            return f"{length} bytes of noise at {at}", data[:at] + rng.randbytes(length) + data[at + length :]
        case "swap":
            a, b = sorted(rng.sample(range(0, len(data), 512), 2))
            blocks = data[:a], data[a : a + 512], data[a + 512 : b], data[b : b + 512], data[b + 512 :]
            return f"blocks at {a} and {b} exchanged", b"".join(blocks[i] for i in (0, 3, 2, 1, 4))
        case _:
            return "more at its end", data + rng.randbytes(length)


def damaged_runs(samples: Path) -> Family:
    """A finished or a growing run with damage: what is done equals what an intact file gives."""
    whole, half = Truth(samples, "run.h5"), Truth(samples, "half.h5")

    def damaged_run(rng: random.Random, folder: Path) -> Case:
        truth = rng.choice([whole, whole, whole, half])
        command = rng.choice(GROWING if truth is half else READING)
        wrong = truth.unlike(command, folder)
        path = truth.put(folder)
        about, data = damaged(path.read_bytes(), rng)
        path.write_bytes(data)
        return Case([*command.split(), "--quiet"], f"{truth.sample} {about}", wrong)

    return damaged_run


def foreign_runs(samples: Path) -> Family:
    """A run whose tables are valid HDF5 and yet not ours: attributes, objects and links of others."""
    whole, half = Truth(samples, "run.h5"), Truth(samples, "half.h5")

    def foreign_run(rng: random.Random, folder: Path) -> Case:
        truth = rng.choice([whole, whole, whole, half])
        command = rng.choice(GROWING if truth is half else READING)
        wrong = truth.unlike(command, folder)
        path = truth.put(folder)
        kind = rng.choice(["new", "change", "change", "change", "remove", "data", "lose", "add", "link"])
        with h5py.File(path, "r+", locking=False) as file:
            names = [""]
            file.visit(names.append)
            name = rng.choice(names)
            about = f"{kind} at /{name}: {_edit(file, name, kind, rng)}"
        # What is added to a state is part of the state.
        harmless = kind == "new" or (kind in ("add", "link") and not name.startswith("frozen"))
        about = f"{truth.sample} {about}"
        return Case([*command.split(), "--quiet"], about, wrong if harmless else lambda end: "")

    return foreign_run


def _edit(file: h5py.File, name: str, kind: str, rng: random.Random) -> str:
    """Change one thing of an open file; says what."""
    item, value = file[name or "/"], rng.choice(TABLES)
    key = rng.choice(sorted(item.attrs)) if len(item.attrs) else "x"
    words = f"{key} = {value!r:.80}"
    with suppress(TypeError, ValueError, OSError):  # what HDF5 itself refuses to store
        if kind == "new":
            item.attrs[rng.choice(["x", "ä", "names2", "a/b", " "])] = value
        elif kind == "change":
            item.attrs[key] = value
        elif kind == "remove":
            with suppress(KeyError):
                del item.attrs[key]
        elif kind == "data" and isinstance(item, h5py.Dataset):
            kept = dict(item.attrs)
            del file[name]
            file[name] = value
            for k, v in kept.items():
                file[name].attrs[k] = v
        elif kind == "lose" and name:
            del file[name]
        elif kind == "add":
            group = item if isinstance(item, h5py.Group) else item.parent
            group["foreign"] = value
        elif kind == "link":
            group = item if isinstance(item, h5py.Group) else item.parent
            targets = (h5py.SoftLink("/nowhere"), h5py.ExternalLink("none.h5", "/"), file["/"])
            group["foreign"] = rng.choice(targets)
    return words


VALUES: list[Any] = [
    *(
        None,
        0,
        -1,
        1.5,
        10**400,
        True,
        "",
        "x",
        "<img onerror=alert(1)>",
        "\x1b[31m",
        [],
        [1],
        [None],
        {},
        {"a": 1},
    ),
    *(float("nan"), float("inf"), [[1, 2], [3]], "1e5", "\ud800", {"value": "x"}, [[[]]]),
]


def results(samples: Path) -> Family:
    """Results with damage, or edited by hand: damage is found, and edits end in words."""
    truth = Truth(samples, "run.h5")

    def result(rng: random.Random, folder: Path) -> Case:
        command = rng.choice(RESULTS)
        wrong = truth.unlike(command, folder)
        truth.put(folder)
        path = folder / RESULT
        if rng.random() < 0.5:
            about, data = damaged(path.read_bytes(), rng)
            path.write_bytes(data)
            return Case([*command.split(), "--quiet"], f"result {about}", wrong)
        document = json.loads(path.read_text())
        document.pop("checksum", None)  # as whoever edits a result would have to
        about = _edit_value(document, rng)
        path.write_text(json.dumps(document))
        return Case([*command.split(), "--quiet"], f"result {about}")

    return result


def _edit_value(document: dict[str, Any], rng: random.Random) -> str:
    """Replace, remove or add one value anywhere in a document; says which."""
    place: Any = document
    keys = []
    while True:
        choices = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = rng.choice(choices)
        keys.append(key)
        if not isinstance(place[key], dict | list) or not place[key] or rng.random() < 0.25:
            break
        place = place[key]
    match rng.choice(["replace", "replace", "replace", "remove", "add"]):
        case "replace":
            place[key] = rng.choice(VALUES)
        case "remove":
            del place[key]
            return f"without {keys}"
        case "add":
            if isinstance(place, dict):
                place["foreign"] = rng.choice(VALUES)
            else:
                place.append(rng.choice(VALUES))
    return f"{keys} = {place[key]!r:.80}"
