"""What the paper's hexapod experiment costs in each engine.

    python benchmarks/paper_run.py [--share S] [--turns N] [--out FILE]

One seed, learned for 8 min, a million samples of each of three frozen behaviours, quantified: CPU time of one
process. Learning is whole; of the samples a share is recorded, in turns that alternate between the engines,
and scaled up; what it takes to begin and to end a recording is not. Quantification does not know the engine:
it is measured once, of a whole million, which is recorded in MuJoCo.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.quantify import Quantify, quantify
from experiments.pipeline.record import Record, record
from robots import ENGINES, engine_version

MINUTES, SAMPLES, BEHAVIOURS = 8.0, 1_000_000, 3


def timed(*parts: Callable[[], object]) -> list[float]:
    """CPU seconds that each of these takes, one after the other."""
    found = []
    for part in parts:
        begun = time.process_time()
        part()
        found.append(time.process_time() - begun)
    return found


def cost(engine: str, minutes: float, samples: int, folder: Path) -> dict[str, float]:
    """CPU seconds of learning, and of recording a million samples of each controller frozen on the way."""
    path = folder / f"{engine}.h5"
    freeze = tuple(minutes * part for part in (0.25, 0.5, 1.0))
    learning = Learn("hexapod", minutes=minutes, freeze=freeze, out=path, engine=engine)
    few, many = samples // 10, samples
    begun, gone_on = (Record((path,), samples=number, transient=0, jobs=1) for number in (few, many))
    learned, short, long = timed(lambda: learn(learning), lambda: record(begun), lambda: record(gone_on))
    # The second goes on with the first, and both begin and end a recording.
    each = (long - short) / (many - 2 * few)
    return {"learn": learned, "record": short + each * (SAMPLES - few)}


def whole(path: Path) -> dict[str, float]:
    """CPU seconds of recording and of quantifying all samples of the last behaviour of a run."""
    recording = Record((path,), samples=SAMPLES, transient=0, freeze=(MINUTES,), replace=True, jobs=1)
    quantifying = Quantify(str(path), freeze=(MINUTES,))
    recorded, quantified = timed(lambda: record(recording), lambda: quantify(quantifying))
    return {"record": recorded, "quantify": quantified}


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--share", type=float, default=0.03, help="of the samples; 1 takes an hour")
    default = Path(__file__).parents[1] / "docs" / "results" / "benchmark-paper-run.json"
    parser.add_argument("--out", type=Path, default=default, help="where the figures go")
    parser.add_argument("--turns", type=int, default=1, help="of each engine; the median counts")
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        for engine in ENGINES:  # compiles and loads what the turns share, the quantifier included
            cost(engine, 0.02, 3000, Path(folder))
        quantify(Quantify(str(Path(folder, "mujoco.h5"))))
        for turn in range(arguments.turns):
            part = Path(folder, f"{turn}")
            part.mkdir()
            for engine in ENGINES:
                found[engine].append(cost(engine, MINUTES, round(arguments.share * SAMPLES), part))
        one = whole(part / "mujoco.h5")
    figures: dict[str, Any] = {
        "command": f"python benchmarks/paper_run.py --share {arguments.share:g} --turns {arguments.turns}",
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "engines": {engine: engine_version(engine) for engine in ENGINES},
        "load": round(os.getloadavg()[0], 1),
        "one whole behaviour, mujoco": {name: round(value, 1) for name, value in one.items()},
    }
    for engine, turns_of in found.items():
        scaled = {name: median(turn[name] for turn in turns_of) for name in turns_of[0]}
        scaled["quantify"] = BEHAVIOURS * one["quantify"]
        scaled["all"] = sum(scaled.values())
        figures[engine] = {name: round(value, 1) for name, value in scaled.items()}
    figures["pybullet_over_mujoco"] = {
        name: round(figures["pybullet"][name] / figures["mujoco"][name], 2)
        for name in ("learn", "record", "all")
    }
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
