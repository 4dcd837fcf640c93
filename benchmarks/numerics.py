"""Does what emerges depend on the solver, the time step, the contacts, the servos' rate, the engine?

    python benchmarks/numerics.py hexapod
    python benchmarks/numerics.py snake --seeds 2 3 --engines pybullet --cells 9

Every cell of the table is learned anew, for 8 minutes under ULR, frozen at 2 and 8 minutes and looked at. The
star around the defaults (an engine's first nine cells) comes first, then the rest of the table; finished
seeds are kept in runs/numerics, so that an interrupted table goes on. Writes docs/results/numerics-ROBOT.json
after every cell, where rows of an engine that was not asked for stay as they are, and prints the table. What
counts as another behaviour is fixed here, before any run: see `KIND`. Seed 1, with which the defaults were
chosen, is not among the usual seeds.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.feedback import SILENT
from experiments.studies.emergence import trials
from experiments.studies.emergence.trials import Emergence, Trial
from experiments.sweeps.sweep import cost
from robots import ROBOTS

RESULTS = Path(__file__).parents[1] / "docs" / "results"
ITERATIONS = (10, 20, 50, 200)
STEPS = (10.0, 5.0, 2.5)
SERVOS = ("control", "physics")
CONTACTS: dict[str, dict[str, float]] = {
    "stiffness doubled": {"contact_stiffness": 2.0},
    "damping doubled": {"contact_damping": 2.0},
}
KIND = {"onset": 0.5, "telling": 0.15}
"""Two cells show the same if their modes at 8 min are the same in most seeds, the medians of the onset differ
by less than this [min], and those of the telling number (airtime, joint std) by less than that. A snake that
rolls straight and one that rolls in an arc show the same: chance decides between the two."""

ALSO = {"snake": ("roll", "speed")}
"""What is written beside the telling number, and judges nothing."""

Cell = tuple[str, int, float, str, str]
"""Engine, iterations, physics step [ms], at which step the servos' torque limits are set, contacts."""


def defaults(robot: str) -> tuple[int, float, str]:
    """Iterations, physics step [ms] and servos of a robot."""
    usual = vars(ROBOTS[robot].config())  # type: ignore[misc]
    step = 1000 * usual["control_step"] / usual["substeps"]
    return usual["solver_iterations"], step, SERVOS[usual["servo_every_substep"]]


def cells(robot: str) -> list[Cell]:
    """All cells, those that differ from the defaults in one thing first, and of these the finer ones."""
    base = (*defaults(robot), "default")
    grid = [(*inner, "default") for inner in product(ITERATIONS, STEPS, SERVOS)]
    grid += [(*base[:3], name) for name in CONTACTS]

    def far(cell: tuple[int, float, str, str]) -> tuple[int, bool, bool]:
        different = [a != b for a, b in zip(cell, base, strict=True)]
        return sum(different), cell[1] > base[1] or cell[0] < base[0], different[2]

    return [(engine, *cell) for cell in sorted(grid, key=far) for engine in ("pybullet", "mujoco")]


def trial_of(robot: str, cell: Cell, seed: int, minutes: float, out: Path) -> Trial:
    engine, iterations, step, servo, contacts = cell
    usual = vars(ROBOTS[robot].config())  # type: ignore[misc]
    body = {name: factor * usual[name] for name, factor in CONTACTS.get(contacts, {}).items()}
    body |= {
        "solver_iterations": iterations,
        "substeps": round(1000 * usual["control_step"] / step),
        "servo_every_substep": servo == "physics",
    }
    config = Emergence(
        robot, minutes=minutes, freeze=(2.0, minutes), samples=1500, transient=1000,
        engine=engine, body=body, out=out, jobs=1,
    )  # fmt: skip
    return trials.make_trial(config, seed)


def measure(robot: str, cell: Cell, seeds: list[int], minutes: float, out: Path) -> dict[str, Any]:
    """What the seeds of a cell do, and what they cost."""
    tasks = [trial_of(robot, cell, seed, minutes, out) for seed in seeds]
    scale = Emergence(robot, out=out, jobs=1)
    found = trials.run_tasks(trials.trial, tasks, scale, " ".join(map(str, cell)), SILENT)
    rows = [trials.with_modes(task, row) for task, row in zip(tasks, found, strict=True)]
    telling = ROBOTS[robot].description.telling  # type: ignore[union-attr]
    last = [list(row["frozen"].values())[-1] for row in rows]
    spent = [one["cpu_s"] for one in cost(out / "store", trials.trial, tasks)]
    return {
        **dict(zip(("engine", "iterations", "step_ms", "servo", "contacts"), cell, strict=True)),
        "seeds": seeds,
        "modes": {
            name: [row["frozen"].get(name, {}).get("mode", "broke down") for row in rows]
            for name in rows[0]["frozen"]
        },
        "onset": [row["learning"].get("first_jumps") for row in rows],
        **{
            name: [round(one[name], 3) for one in last if name in one]
            for name in (telling, *ALSO.get(robot, ()))
        },
        "seconds": round(float(np.mean(spent)), 1) if spent else None,
    }


def same(row: dict[str, Any], finest: dict[str, Any], telling: str) -> bool:
    """Whether two cells show the same in kind; see `KIND`."""
    ends = [
        [mode.removesuffix(" in an arc") for mode in list(one["modes"].values())[-1]] for one in (row, finest)
    ]
    if len({max(set(modes), key=modes.count) for modes in ends}) > 1:
        return False
    onsets = [[when for when in one["onset"] if when is not None] for one in (row, finest)]
    if any(onsets) and (not all(onsets) or abs(np.subtract(*map(np.median, onsets))) >= KIND["onset"]):
        return False
    return bool(abs(np.subtract(*(np.median(one[telling]) for one in (row, finest)))) < KIND["telling"])


def table(rows: list[dict[str, Any]], telling: str, usual: tuple[int, float, str]) -> str:
    """The rows, each compared with the defaults of its engine and with the finest of its kind of servos."""
    lines = [
        "| engine | iterations | step [ms] | servo per | contacts | frozen first | frozen last "
        f"| onset [min] | {telling} | as the defaults | as the finest | CPU s |",
        "|" + "---|" * 12,
    ]
    for row in sorted(rows, key=lambda r: (r["engine"], r["servo"], -r["step_ms"], r["iterations"])):
        plain = [r for r in rows if r["engine"] == row["engine"] and r["contacts"] == "default"]
        peers = [r for r in plain if r["servo"] == row["servo"]]
        references = (
            next((r for r in plain if (r["iterations"], r["step_ms"], r["servo"]) == usual), row),
            min(peers, key=lambda r: (r["step_ms"], -r["iterations"]), default=row),
        )
        modes = [", ".join(dict.fromkeys(found)) for found in row["modes"].values()]
        onset = ", ".join("never" if when is None else f"{when:.1f}" for when in row["onset"])
        onset = onset if telling == "airtime" else "-"  # what rolls does so from the start
        numbers = ", ".join(f"{value:.2f}" for value in row[telling])
        verdicts = ["-" if row is r else "yes" if same(row, r, telling) else "no" for r in references]
        cells_ = [row["engine"], row["iterations"], f"{row['step_ms']:g}", row["servo"], row["contacts"]]
        cells_ += [*modes, onset, numbers, *verdicts, row["seconds"]]
        lines.append("| " + " | ".join(map(str, cells_)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", choices=[name for name, entry in ROBOTS.items() if entry.description])
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument(
        "--cells", type=int, default=9, help="so many of each engine, those nearest to the defaults first"
    )
    parser.add_argument("--engines", nargs="+", default=["pybullet", "mujoco"])
    parser.add_argument("--out", type=Path, default=Path("runs/numerics"))
    a = parser.parse_args()
    telling = ROBOTS[a.robot].description.telling
    path = RESULTS / f"numerics-{a.robot}.json"
    before = json.loads(path.read_text())["rows"] if path.exists() else []
    rows = [row for row in before if row["engine"] not in a.engines]
    seeds = " ".join(map(str, a.seeds))
    command = (
        f"python benchmarks/numerics.py {a.robot} --minutes {a.minutes:g} --seeds {seeds} --cells {a.cells} "
        f"--engines {' '.join(a.engines)}"
    )
    for engine in a.engines:
        for cell in [cell for cell in cells(a.robot) if cell[0] == engine][: a.cells]:
            rows.append(measure(a.robot, cell, a.seeds, a.minutes, a.out))
            document = {"command": command, "kind": KIND}
            lines = ",\n".join(json.dumps(row) for row in rows)
            path.write_text(json.dumps(document)[:-1] + f', "rows": [\n{lines}\n]}}\n')
    print(table(rows, telling, defaults(a.robot)))


if __name__ == "__main__":
    main()
