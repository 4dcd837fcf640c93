"""Tables as users have them: all delimiters, headers, encodings and number formats, with defects or not."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from quantify import read_series
from tests.experiments.fuzz.cases import Case, Family
from tests.experiments.fuzz.files import QUICK
from tests.experiments.fuzz.words import flipped

NAMES = [
    "a",
    "b",
    "speed [m/s]",
    "größe",
    "1",
    "0",
    "²",
    "nan",
    "x y",
    "a",
    "\x1b[31m",
    "<b>",
    "-",
    "#",
    "'",
    "time",
]
DEFECTS = [
    *(
        "missing",
        "text",
        "ragged",
        "nul",
        "cut",
        "huge",
        "nan",
        "inf",
        "constant",
        "tiny",
        "large",
        "flip",
        "short",
    ),
    *("blank lines", "garbage", "repeated header", "one row"),
]


def tables(samples: Path) -> Family:
    """A table with one sensor to quantify; what was read must be what was written."""

    def table(rng: random.Random, folder: Path) -> Case:
        columns, rows = rng.randint(1, 4), rng.randint(130, 200)
        values = np.random.default_rng(rng.randrange(2**32)).normal(size=(rows, columns))
        defect = rng.choice(DEFECTS) if rng.random() < 0.6 else ""
        values[:, :] = {"constant": 1.0}.get(defect, values)
        values *= {"tiny": 1e-200, "large": 1e200}.get(defect, 1.0)
        delimiter = rng.choice([",", ";", "\t", " "])
        form = rng.choice(["%.17g", "%.6e", "%+.4f", "%d"])
        cells = [[form % (1000 * x if form == "%d" else x) for x in row] for row in values]
        truth = np.array([[float(cell) for cell in row] for row in cells])
        names = rng.sample(NAMES, columns) if rng.random() < 0.5 else []
        if all(name in ("0", "1", "-", "nan") for name in names):
            names = []  # nothing tells such a header from a row of numbers
        lines = [delimiter.join(row) for row in cells]
        at = rng.randrange(rows)
        lines = _spoilt(lines, at, defect, delimiter, rng)
        head = ["# a comment"] * rng.choice([0, 0, 1])
        if names:
            head.append(delimiter.join(f'"{name}"' if rng.random() < 0.3 else name for name in names))
        text = rng.choice(["\n", "\n", "\r\n", "\r"]).join([*head, *lines]) + rng.choice(["\n", ""])
        encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16"])
        data = text.encode(encoding, errors="replace")
        data = {"cut": data[: rng.randrange(len(data))], "flip": flipped(data, rng, 4)}.get(defect, data)
        suffix = rng.choice(["csv", "txt", "dat"])
        path = folder / f"t.{suffix}"
        path.write_bytes(data)
        column = rng.randrange(columns)
        sensor = names[column] if names and rng.random() < 0.5 else str(column)
        words = ["quantify", path.name, *QUICK.split(), "--quiet", f"--sensor={sensor}"]
        about = f"{encoding}, {delimiter!r}, {form}, names {names}, {defect or 'no defect'} near row {at}"
        expected = truth[:, names.index(sensor) if sensor in names else column]
        return Case(words, about, lambda end: "" if defect else _misread(path, sensor, expected))

    return table


def _misread(path: Path, sensor: str, truth: np.ndarray) -> str:
    found = read_series(str(path), sensor).values
    if not np.array_equal(found, truth):
        return f"read {len(found)} values {found[:3]} in place of {len(truth)} values {truth[:3]}"
    return ""


def _spoilt(lines: list[str], at: int, defect: str, delimiter: str, rng: random.Random) -> list[str]:
    """Lines with a defect at one of them."""
    cells = lines[at].split(delimiter)
    cell = rng.randrange(len(cells))
    words = {"missing": "", "text": "broken", "nul": "1\0", "huge": "1e999", "nan": "NaN", "inf": "-inf"}
    if defect in words:
        cells[cell] = words[defect]
    lines[at] = delimiter.join(cells)
    match defect:
        case "ragged":
            lines[at] += f"{delimiter}7"
        case "short":
            del lines[rng.randrange(60) :]
        case "one row":
            del lines[1:]
        case "blank lines":
            lines[at:at] = ["", "   ", ""]
        case "garbage":
            lines[at] = "".join(map(chr, rng.choices(range(1, 300), k=50)))
        case "repeated header":
            lines.insert(at, delimiter.join(["a"] * len(cells)))
    return lines
