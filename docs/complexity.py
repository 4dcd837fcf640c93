"""Complexity of quantified runs over seeds, on several choices of scales, as the tables of docs/emergence.md.

    python docs/complexity.py runs/paper/snake/*.h5 > table.md

reads runs that `selforg record` and `selforg quantify` have been over, prints least, median and greatest
over the seeds, and writes every number to docs/results/complexity-ROBOT.json.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from experiments.pipeline.loop import find_body
from experiments.reports.results import read_results
from experiments.runfiles.run_file import open_run_file
from quantify.plain import to_plain

QUANTITIES = ("D", "E_state", "E_mem", "E_core")
OWN, RELATIVE = "own", "0.2-0.8 std"
SCALES = (OWN, "0.1-0.4", "0.05-0.2", RELATIVE)


def row(behaviour: Any) -> dict[str, Any]:
    """The numbers of one behaviour on all choices of scales."""
    with open_run_file(behaviour.run) as run:
        x = run.behaviours[behaviour.name].sensors[:, find_body(run.robot).sensor].astype(float)
        told: dict[str, Any] = {"robot": run.robot, "rule": run.config["rule"], "seed": run.seed}
    result, std = behaviour.result, float(x.std())
    quoted = result.predictive_information and result.predictive_information.quoted
    told |= {"minutes": behaviour.minutes, "samples": len(x), "std": std}
    told |= {"PI": quoted.value if quoted else None, "eta": quoted.eta if quoted else None}
    told[OWN] = {name: getattr(result, name).value for name in QUANTITIES}
    told[OWN] |= {f"{name}_sampling": getattr(result, name).sampling for name in QUANTITIES}
    told[OWN] |= {"lo": result.range.lo, "hi": result.range.hi}
    for name in SCALES[1:]:
        lo, hi = (0.2 * std, 0.8 * std) if name == RELATIVE else map(float, name.split("-"))
        try:
            found = result.decomposition.over(lo, hi)
        except ValueError as error:
            told[name] = {"reason": str(error)}
            continue
        told[name] = {quantity: getattr(found, quantity) for quantity in QUANTITIES}
        told[name] |= {"E_core_sd": found.E_core_sd, "lo": found.lo, "hi": found.hi}
    return told


def kind(told: dict[str, Any]) -> str:
    """The robot, and how it started: a wave along the body makes the snake crawl."""
    start = {"snake": "-roll"}.get(told["robot"], "")
    return told["robot"] + ("-crawl" if told["rule"].get("wave") else start)


def spread(values: list[float]) -> str:
    """Least / median / greatest of what there is."""
    there = [value for value in values if value is not None and np.isfinite(value)]
    if not there:
        return "-"
    return " / ".join(f"{value:.2f}" for value in (min(there), float(np.median(there)), max(there)))


def main(paths: list[str]) -> None:
    """Print the tables and write the numbers."""
    rows = [row(b) for b in read_results(map(Path, paths)).behaviours if b.result is not None]
    rows.sort(key=lambda r: (r["minutes"], r["seed"]))
    for name in sorted({kind(r) for r in rows}):
        some = [r for r in rows if kind(r) == name]
        path = Path(__file__).parent / "results" / f"complexity-{name}.json"
        path.write_text(json.dumps(to_plain(some), indent=1) + "\n")
        seeds = sorted({r["seed"] for r in some})
        counts = sorted({r["samples"] for r in some})
        print(f"\n{name}, seeds {', '.join(map(str, seeds))}, {counts} samples each:\n")
        print("| scales | frozen at | D | E_state | E_mem | E_core | std x | PI |")
        print("|---|---|---|---|---|---|---|---|")
        for scales in SCALES:
            for minutes in sorted({r["minutes"] for r in some}):
                group = [r for r in some if r["minutes"] == minutes]
                cells = [spread([r[scales].get(q) for r in group]) for q in QUANTITIES]
                once = [spread([r[key] for r in group]) if scales == OWN else "" for key in ("std", "PI")]
                print(f"| {scales} | {minutes:g} min | {' | '.join(cells)} | {' | '.join(once)} |")
        sampling = [r[OWN]["E_core_sampling"] for r in some if r[OWN]["E_core_sampling"] is not None]
        print(f"\nsampling error of E_core on own scales: {spread(sampling)}")


if __name__ == "__main__":
    main(sys.argv[1:])
