"""Does each rule move each robot, at its authors' settings and at ours? Amplitude, saturation and mode.

    python benchmarks/rules.py [--seeds N] [--engine mujoco] [--out docs/results/rules.json]

Every rule learns for two minutes. Its last half minute is looked at while it learns on; then it is frozen
where it stands, and what it does from the 11th to the 30th second after that is looked at, too. Bodies are
those of `experiments/defaults.toml` for ULR, as in a comparison. What the output file holds is not run
again, unless body or rule had other settings than they have today.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import controllers
from experiments.options.pipeline import Learn
from experiments.pipeline.learn import resolve
from experiments.pipeline.loop import OBSERVED, Block, Loop, observations, using_body
from robots import Observed, description_of, name_mode

RULES = ("ulr", "tipi", "homeokinesis", "dep", "dep_norm")
ROBOTS = ("hexapod", "snake")
AUTHORS = {
    ("tipi", "hexapod"): "authors",
    ("tipi", "snake"): "authors",
    ("homeokinesis", "hexapod"): "authors-hexapod",
    ("homeokinesis", "snake"): "authors-snake",
    ("dep", "hexapod"): "authors-hexapod",
    ("dep", "snake"): "authors-hexapod",
    ("dep_norm", "hexapod"): "authors-hexapod",
    ("dep_norm", "snake"): "authors-hexapod",
}
"""The preset whose body is the nearest to the robot."""
STAGES = {"": 4500, "learning": 1500, "settling": 500, "frozen": 1000}
"""Control steps of each stage, of which two are looked at."""
SATURATED = 0.95
"""A motor value beyond this counts as saturated."""


def numbers(robot: str, block: Block, names: list[str], every: int) -> dict[str, Any]:
    """Amplitude, saturation and mode of what was observed."""
    actions, sensors = block.rows["actions"].astype(float), block.rows["sensors"].astype(float)
    motion = dict(zip(names, block.rows[OBSERVED].astype(float).T, strict=True))
    motors = actions.shape[1]
    found = description_of(robot).numbers(Observed(50.0, every, sensors, motion, motors))
    return {
        "mode": name_mode(robot, found),
        "joint_std": float(sensors[:, :motors].std(axis=0).mean()),
        "a": float(np.abs(actions).mean()),
        "saturated": float((np.abs(actions) > SATURATED).mean()),
    }


def settings_of(robot: str, rule: str, preset: str | None, engine: str) -> dict[str, Any]:
    """Body and rule with every setting spelled out, and how long it is looked at."""
    body = resolve(Learn(robot, "ulr", engine=engine)).body  # type: ignore[arg-type]
    return {"body": body, "rule": resolve(Learn(robot, rule, preset=preset)).rule, "stages": STAGES}


def run(robot: str, rule: str, preset: str | None, seed: int, engine: str) -> dict[str, Any]:
    """One seed: the end of two minutes of learning, and what is frozen then."""
    settings = settings_of(robot, rule, preset, engine)
    every = 5
    start = time.process_time()
    with using_body(robot, settings["body"]) as live:
        sensors, _ = live.reset(seed=seed)
        sizes = len(live.sensor_names), len(live.motor_names)
        learner: Any = controllers.make(rule, *sizes, settings["rule"], np.random.default_rng([seed, 1]))
        found: dict[str, Any] = {"robot": robot, "rule": rule, "preset": preset, "seed": seed}
        found |= {"engine": engine, "settings": settings}
        for stage, steps in STAGES.items():
            if stage == "settling":
                learner = learner.freeze()
            loop = Loop(live, learner, observations(live, every))
            loop.s = sensors
            block = loop.advance(0, steps)
            sensors = loop.s
            if block.reason:
                return found | {"reason": block.reason}
            if stage in ("learning", "frozen"):
                found[stage] = numbers(robot, block, loop.watches[0].track.attrs["names"], every)
    return found | {"reason": "", "cpu_s": round(time.process_time() - start, 2)}


def table(rows: list[dict[str, Any]]) -> str:
    """Medians over seeds and the modes, as Markdown."""
    lines = [
        "| robot | rule | settings | engine, seeds | learning on: joint std | \\|a\\| | saturated | modes "
        "| frozen: joint std | modes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    keys = dict.fromkeys((r["robot"], r["rule"], r["preset"], r["engine"]) for r in rows)
    for robot, rule, preset, engine in keys:
        mine = [
            r
            for r in rows
            if (r["robot"], r["rule"], r["preset"], r["engine"]) == (robot, rule, preset, engine)
        ]
        fine = [r for r in mine if not r["reason"]]
        cells = [robot, f"`{rule}`", preset or "default", f"{engine}, {len(mine)}"]
        for stage, names in (("learning", ("joint_std", "a", "saturated")), ("frozen", ("joint_std",))):
            cells += [f"{median(r[stage][name] for r in fine):.2f}" if fine else "-" for name in names]
            modes = [r[stage]["mode"] for r in fine] + ["broke down"] * (len(mine) - len(fine))
            cells.append(
                ", ".join(f"{modes.count(m)} {m}" for m in sorted(set(modes), key=modes.count, reverse=True))
            )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, write rows and table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--engine", default="mujoco")
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=ROBOTS)
    parser.add_argument("--out", type=Path, default=Path("docs/results/rules.json"))
    options = parser.parse_args()
    rows = json.loads(options.out.read_text())["rows"] if options.out.exists() else []
    key = ("robot", "rule", "preset", "engine")
    rows = [r for r in rows if r.get("settings") == settings_of(*(r[name] for name in key))]
    done = {(*(r[name] for name in key), r["seed"]) for r in rows}
    for seed, robot, rule in itertools.product(range(1, options.seeds + 1), options.robots, RULES):
        today = settings_of(robot, rule, None, options.engine)
        for preset in dict.fromkeys((AUTHORS.get((rule, robot)), None)):
            if preset and settings_of(robot, rule, preset, options.engine) == today:
                continue  # the default is the authors'
            if (robot, rule, preset, options.engine, seed) not in done:
                rows.append(run(robot, rule, preset, seed, options.engine))
                text = json.dumps({"command": "python benchmarks/rules.py", "rows": rows}, indent=1)
                options.out.write_text(text + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
