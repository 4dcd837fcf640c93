"""What the paper's hexapod experiment costs in each engine.

    python benchmarks/paper_run.py [--share S] [--turns N] [--out FILE]

One seed, learned for 8 min, a million samples of each of three frozen behaviours, quantified: CPU time of one
process. With a share below 1 only that share of the learning and of the samples is computed, in turns that
alternate between the engines, and scaled up; quantification, the same in both, is left out then.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.quantify import Quantify, quantify
from experiments.pipeline.record import Record, record
from robots import ENGINES, engine_version

MINUTES, SAMPLES, BEHAVIOURS = 8.0, 1_000_000, 3


def cost(engine: str, share: float, folder: Path) -> dict[str, float]:
    """CPU seconds of learning, and of recording and quantifying one behaviour."""
    minutes, samples = share * MINUTES, round(share * SAMPLES)
    path, marks = folder / f"{engine}.h5", [time.process_time()]
    learn(Learn("hexapod", minutes=minutes, freeze=(minutes,), out=path, engine=engine))
    marks.append(time.process_time())
    record(Record((path,), samples=samples, transient=0, jobs=1))
    marks.append(time.process_time())
    if share == 1:
        quantify(Quantify(str(path)))
    marks.append(time.process_time())
    names = ("learn", "record", "quantify")
    return {name: after - before for name, before, after in zip(names, marks, marks[1:], strict=False)}


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--share", type=float, default=0.01, help="of the experiment; 1 takes an hour")
    default = Path(__file__).parents[1] / "docs" / "results" / "benchmark-paper-run.json"
    parser.add_argument("--out", type=Path, default=default, help="where the figures go")
    parser.add_argument("--turns", type=int, default=1, help="of each engine; the median counts")
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        for engine in ENGINES:  # compiles and loads what the turns share
            cost(engine, 0.002, Path(folder))
        for turn in range(arguments.turns):
            for engine in ENGINES:
                part = Path(folder, f"{turn}")
                part.mkdir(exist_ok=True)
                found[engine].append(cost(engine, arguments.share, part))
    figures: dict[str, Any] = {
        "command": f"python benchmarks/paper_run.py --share {arguments.share:g} --turns {arguments.turns}",
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "engines": {engine: engine_version(engine) for engine in ENGINES},
        "load": round(os.getloadavg()[0], 1),
    }
    for engine, turns_of in found.items():
        middle = {name: median(turn[name] for turn in turns_of) for name in turns_of[0]}
        scaled = {"learn": middle["learn"] / arguments.share}
        scaled["record"] = BEHAVIOURS * middle["record"] / arguments.share
        scaled["quantify"] = BEHAVIOURS * middle["quantify"]
        figures[engine] = {name: round(value, 1) for name, value in scaled.items()}
        figures[engine]["steps"] = round(scaled["learn"] + scaled["record"], 1)
    figures["pybullet_over_mujoco_steps"] = round(
        figures["pybullet"]["steps"] / figures["mujoco"]["steps"], 2
    )
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
