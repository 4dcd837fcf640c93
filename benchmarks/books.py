"""Where the energy of each body comes from and where it goes: books of every physics step, in both engines.

    python benchmarks/books.py [RUN.h5 ...] [--out docs/results/books.json]

Three ways to move: tapped and left alone (set points 0, 20 s); all motors in slow swings (5 s, with the usual
step and with half of it); and what ships, frozen (20 s), with the last frozen controller of each RUN. The
snake has its own settings and those with which it learns. Prints a table: work of servos, ground and stops
and the integrator's, in watts, and the latter as a share of what is turned over.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from experiments.options.pipeline import Learn
from experiments.pipeline.learn import resolve
from experiments.pipeline.loop import make_body, thaw
from experiments.runfiles.library import folders, shipped
from experiments.runfiles.run_file import open_run_file
from robots import ENGINES, ROBOTS
from robots.audit import Books, audit

TAP = 0.05
"""Impulse of the tap [N s]."""


class Swings:
    """Slow swings of all motors; of the snake a bend that goes round, so that it rolls."""

    def __init__(self, robot: str, motors: int, size: float) -> None:
        self.t, self.size, self.phase = 0, size, 1.0 * np.arange(motors)
        if robot == "snake":
            self.phase = np.tile([0.0, np.pi / 2], motors // 2)

    def act(self, s: Any) -> np.ndarray:
        self.t += 1
        return self.size * np.sin(0.06 * self.t + self.phase)


def row(name: str, motion: str, engine: str, books: Books) -> dict[str, Any]:
    found: dict[str, Any] = {"body": name, "motion": motion, "engine": engine, "step_ms": 1000 * books.step}
    balance = books.balance()
    for entry in ("motors", "ground", "stops", "integrator", "turned_over"):
        found[entry] = float(f"{balance[entry]:.3g}")
    return found | {"share": round(balance["integrator"] / balance["turned_over"], 4)}  # type: ignore[operator]


def bodies() -> dict[str, tuple[str, dict[str, Any]]]:
    """By name: robot and settings that differ from its own."""
    learns = resolve(Learn("snake", "ulr")).body
    return {name: (name, {}) for name in ROBOTS} | {"snake as it learns": ("snake", learns)}


def tapped(name: str, robot: str, settings: dict[str, Any], engine: str) -> dict[str, Any]:
    with closing(make_body(robot, {**settings, "noise": 0.0, "engine": engine})) as body:
        s, _ = body.reset(seed=0)
        rest = Swings(robot, len(body.motor_names), 0.0)
        for _ in range(100):
            body.step(rest.act(s))
        body.push([0.0, TAP, 0.0], 6) if robot == "snake" else body.push([TAP, 0.0, 0.0])
        body.step(rest.act(s))
        return row(name, "tapped", engine, audit(body, rest, s, 1000))


def swung(name: str, robot: str, settings: dict[str, Any], engine: str, finer: int) -> dict[str, Any]:
    steps = finer * {**vars(ROBOTS[robot].config()), **settings}["substeps"]  # type: ignore[misc]
    with closing(make_body(robot, {**settings, "noise": 0.0, "engine": engine, "substeps": steps})) as body:
        s, _ = body.reset(seed=0)
        swings = Swings(robot, len(body.motor_names), 0.2 if robot in ("snake", "hexapod") else 0.5)
        return row(name, "swings", engine, audit(body, swings, s, 250))


def frozen(name: str, path: Path) -> dict[str, Any]:
    with open_run_file(path) as run:
        state = list(run.frozen.values())[-1]
        robot, settings = run.robot, run.config["body"]
    controller = thaw(state)
    with closing(make_body(robot, settings)) as body:
        s = body.restore(state.body)
        for _ in range(500):
            s, *_ = body.step(controller.act(s).astype(np.float32))
        return row(robot, name, body.engine, audit(body, controller, s, 1000))


def table(rows: list[dict[str, Any]]) -> str:
    heads = (
        "body",
        "motion",
        "engine",
        "step [ms]",
        "servos",
        "ground",
        "stops",
        "integrator",
        "share of what is turned over",
    )
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for one in rows:
        cells = [one["body"], one["motion"], one["engine"], f"{one['step_ms']:g}"]
        cells += [f"{one[entry]:+.2g}" for entry in ("motors", "ground", "stops", "integrator")]
        lines.append("| " + " | ".join([*cells, f"{one['share']:+.1%}"]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, default=Path("docs/results/books.json"))
    options = parser.parse_args()
    rows = []
    for engine in ENGINES:
        for name, (robot, settings) in bodies().items():
            rows.append(tapped(name, robot, settings, engine))
            rows += [swung(name, robot, settings, engine, finer) for finer in (1, 2)]
    rows += [
        frozen(item.name, item.path) for engine in ENGINES for item in shipped(*folders(engine)).values()
    ]
    rows += [frozen(f"learned: {path.stem}", path) for path in options.runs]
    lines = ",\n".join(json.dumps(one) for one in rows)
    options.out.write_text(f'{{"command": "python benchmarks/books.py", "rows": [\n{lines}\n]}}\n')
    print(table(rows))


if __name__ == "__main__":
    main()
