"""Whether the draw of pairs matters: one series quantified again and again with other random shares.

Usage: python benchmarks/draws.py [--n 100000 200000 1000000] [--draws 20] [--systems Lorenz Hénon ...]

For each system and length docs/results/draws.json gets how far E_core, D and the ends of the range scatter
over the draws, beside the sampling error that is reported with them. What was measured before stays.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from typing import Any

import numpy as np
from calibration import RESULTS, SYSTEMS

from quantify import quantify
from quantify.delays import choose_delay

OUTPUT = RESULTS / "draws.json"


def scatter(name: str, n: int, draws: int) -> dict[str, Any]:
    """Quantify one realisation with so many draws."""
    x = SYSTEMS[name](n, 0)
    tau = choose_delay(x).tau
    began = time.process_time()
    results = [quantify(x, tau=tau, rng=i, choices=False, stationarity=False) for i in range(draws)]
    seconds = (time.process_time() - began) / draws
    found: dict[str, Any] = {"system": name, "n": n, "draws": draws, "mode": results[0].sums.settings["mode"]}
    found |= {"cpu": round(seconds, 1), "regions": sum(r.scaling_region for r in results)}
    for quantity in ("E_core", "D"):
        values = np.array([getattr(r, quantity).value for r in results])
        errors = np.array([getattr(r, quantity).sampling for r in results])
        found[quantity] = {
            "mean": round(float(values.mean()), 4),
            "sd": round(float(values.std(ddof=1)), 4),
            "claimed": round(float(np.sqrt(np.mean(errors**2))), 4),
        }
    ends = np.array([[math.log2(r.range.lo), math.log2(r.range.hi)] for r in results])
    found["range"] = ends.std(axis=0, ddof=1).round(3).tolist()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 200_000, 1_000_000])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument(
        "--systems", nargs="+", choices=list(SYSTEMS), default=["Lorenz", "Hénon", "Lorenz, noise .05"]
    )
    options = parser.parse_args()
    rows = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else []
    for n in options.n:
        for name in options.systems:
            rows = [row for row in rows if (row["system"], row["n"]) != (name, n)]
            rows.append(scatter(name, n, options.draws))
            print(rows[-1], flush=True)
            OUTPUT.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
