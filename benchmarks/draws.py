"""Whether the draw of pairs matters: one series quantified again and again with other random shares.

Usage: python benchmarks/draws.py [--n 100000 200000 1000000] [--draws 20] [--systems Lorenz Hénon ...]
       python benchmarks/draws.py --recording hexapod.npy --tau 4 --m-max 25

For each system and length, or for a recording's first samples, docs/results/draws.json gets how far E_core, D
and the ends of the range scatter over the draws, beside the sampling error that is reported with them, and
the document its table. What was measured before stays.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from calibration import RESULTS, SYSTEMS, fill

from quantify import quantify
from quantify.delays import choose_delay

OUTPUT = RESULTS / "draws.json"


def scatter(name: str, x: np.ndarray, draws: int, tau: int, m_max: int) -> dict[str, Any]:
    """Quantify one series with so many draws."""
    settings: dict[str, Any] = {"tau": tau, "m_max": m_max, "choices": False, "stationarity": False}
    began = time.process_time()
    results = [quantify(x, rng=i, **settings) for i in range(draws)]
    seconds = (time.process_time() - began) / draws
    found: dict[str, Any] = {"system": name, "n": len(x), "m_max": m_max, "draws": draws}
    found["mode"] = results[0].sums.settings["mode"]
    found |= {"cpu": round(seconds, 1), "regions": sum(r.scaling_region for r in results)}
    for quantity in ("E_core", "D"):
        some = [e for r in results if math.isfinite((e := getattr(r, quantity)).value)]
        values, errors = np.array([(e.value, e.sampling) for e in some]).reshape(-1, 2).T
        found[quantity] = None  # fewer than two draws have a region, and so a dimension
        if len(some) > 1:
            found[quantity] = {
                "mean": round(float(values.mean()), 4),
                "sd": round(float(values.std(ddof=1)), 4),
                "claimed": round(float(np.sqrt(np.mean(errors**2))), 4),
            }
    ends = np.array([[math.log2(r.range.lo), math.log2(r.range.hi)] for r in results])
    found["range"] = ends.std(axis=0, ddof=1).round(3).tolist()
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """The scatter over the draws for the documents, claimed errors in parentheses."""
    head = ("series", "m_max", "samples", "draws", "with a region", "CPU s", "E_core", "D", "ends, octaves")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in sorted(rows, key=lambda row: (row["n"], row["system"])):
        cells = [row["system"], str(row["m_max"]), f"{row['n']:,}", str(row["draws"])]
        cells += [str(row["regions"]), f"{row['cpu']:.0f}"]
        for name in ("E_core", "D"):
            cells.append(f"{row[name]['sd']:.3f} ({row[name]['claimed']:.3f})" if row[name] else "")
        lines.append("| " + " | ".join([*cells, "{:.2f}, {:.2f}".format(*row["range"])]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 200_000, 1_000_000])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument(
        "--systems", nargs="+", choices=list(SYSTEMS), default=["Lorenz", "Hénon", "Lorenz, noise .05"]
    )
    parser.add_argument("--recording", type=Path, help="a series as .npy instead of the systems")
    parser.add_argument("--tau", type=int, help="delay; chosen from the series unless given")
    parser.add_argument("--m-max", type=int, default=10)
    options = parser.parse_args()
    rows = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else []
    samplers = {name: SYSTEMS[name] for name in options.systems}
    if options.recording is not None:
        recorded = np.load(options.recording).astype(float)
        samplers = {options.recording.stem: lambda n, seed: recorded[:n]}
    for n in options.n:
        for name, sample in samplers.items():
            x = sample(n, 0)
            tau = options.tau or choose_delay(x).tau
            rows = [row for row in rows if (row["system"], row["n"]) != (name, n)]
            rows.append(scatter(name, x, options.draws, tau, options.m_max))
            print(rows[-1], flush=True)
            OUTPUT.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
            fill("draws", table(rows))


if __name__ == "__main__":
    main()
