"""How strict to be about flatness: which tolerance brings a number nearest to what a million samples show.

Usage: python benchmarks/flatness.py [--jobs 2]

The number quoted is an average over all plausible ranges of scales, in which flat ones count most
(`quantify.decomposition.ranges.weigh_ranges`). A small tolerance keeps drifting scales out, a large one
averages over more of them: a matter of bias and scatter. For twelve systems docs/results/flatness.json gets
the root mean square distance of E_core, over realisations of 20,000 and 60,000 samples, from the plateau that
two realisations of a million samples show under the smallest tolerance, and for each tolerance the geometric
mean over the systems.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from calibration import RESULTS, SYSTEMS, Sampler, first
from joblib import Parallel, delayed

from quantify import S_MIN, correlation_sums, decompose, theiler_window
from quantify.decomposition.ranges import weigh_ranges
from quantify.delays import choose_delay
from quantify.systems import Henon, Logistic, Lorenz, Noisy, QuasiPeriodic, Roessler

TOLERANCES = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.045, 0.06)
LONG = 1_000_000
SEEDS = {20_000: range(1000, 1006), 60_000: range(1000, 1004), LONG: range(2000, 2002)}
SAMPLERS: dict[str, Sampler] = {
    name: SYSTEMS[name]
    for name in ("Hénon", "Ikeda", "Lorenz", "Rössler", "logistic map", "sine, noise .05", "torus, noise .05")
} | {
    "torus": first(QuasiPeriodic((1 / 23.7, 3**0.5 / 23.7), (1.0, 0.7))),
    "Lorenz, noise .1": first(Noisy(Lorenz(), 0.1)),
    "Rössler, noise .1": first(Noisy(Roessler(), 0.1)),
    "Hénon, noise .02": first(Noisy(Henon(), 0.02)),
    "logistic map, noise .01": first(Noisy(Logistic(), 0.01)),
}


def numbers(name: str, n: int, seed: int) -> list[float]:
    """E_core of one realisation, for every tolerance; all lengths of a system have the delay of 60,000."""
    tau = choose_delay(SAMPLERS[name](60_000, 1000)).tau
    x = SAMPLERS[name](n, seed)
    parts = decompose(correlation_sums(x, tau=tau, m_max=10, theiler=theiler_window(x)), s_min=S_MIN)
    curves = np.log(parts.eps), parts.E_core, parts.E_raw, parts.determinism
    found = [weigh_ranges(*curves, tolerance) for tolerance in TOLERANCES]
    return [float("nan") if w is None else float(w.scales @ parts.E_core) for w in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    keys = [(name, n, seed) for n, seeds in SEEDS.items() for name in SAMPLERS for seed in seeds]
    found = dict(
        zip(keys, Parallel(options.jobs, verbose=1)(delayed(numbers)(*key) for key in keys), strict=True)
    )
    distance: dict[int, list[Any]] = {n: [] for n in SEEDS if n != LONG}
    for name in SAMPLERS:
        plateau = np.mean([found[name, LONG, seed][0] for seed in SEEDS[LONG]])
        for n, rows in distance.items():
            some = np.array([found[name, n, seed] for seed in SEEDS[n]])
            rows.append(np.sqrt(((some - plateau) ** 2).mean(axis=0)))
    summary: dict[str, Any] = {"command": "python benchmarks/flatness.py", "tolerances": TOLERANCES}
    for n, rows in distance.items():
        summary[f"{n}"] = {
            "geometric mean": np.exp(np.log(rows).mean(axis=0)).round(4).tolist(),
            "systems": {name: row.round(4).tolist() for name, row in zip(SAMPLERS, rows, strict=True)},
        }
        print(n, summary[f"{n}"]["geometric mean"])
    (RESULTS / "flatness.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
