"""How strict to be about flat and straight ranges: what brings a number nearest to that of a long series.

Usage: python benchmarks/flatness.py [--jobs 2]

The number quoted is an average over all plausible ranges of scales, in which those count most on which
E_core is flat and E_M straight (`quantify.decomposition.ranges.weigh_ranges`). A small tolerance keeps
drifting scales out, a large one averages over more of them: a matter of bias and scatter. Of twelve systems
docs/results/flatness.json has, for each pair of tolerances,

- `error`: root mean square distance of E_core, over realisations of 20,000 and 60,000 samples, from the
  plateau that two of a million samples show under the smallest tolerance of flatness, and
- `scatter`: the standard deviation over realisations, both as geometric means over the systems, and
- `D`: root mean square distance of the mean D from the known one.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import numpy as np
from calibration import RESULTS, SYSTEMS, Sampler, first
from joblib import Parallel, delayed

from quantify import S_MIN, correlation_sums, decompose, theiler_window
from quantify.decomposition.ranges import FLAT, STRAIGHT, weigh_ranges
from quantify.delays import choose_delay
from quantify.systems import Henon, Logistic, Lorenz, Noisy, QuasiPeriodic, Roessler

TRIED_FLAT = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.045, 0.06)
TRIED_STRAIGHT = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, math.inf)
LEAST = TRIED_FLAT[0]
PAIRS = [(flat, STRAIGHT) for flat in TRIED_FLAT] + [(f, s) for s in TRIED_STRAIGHT for f in (LEAST, FLAT)]
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


# Sprott and Rowlands, Int. J. Bifurcation and Chaos 11, 1865, 2001; of tori and cycles exact.
KNOWN = {
    "Hénon": 1.22,
    "Ikeda": 1.69,
    "Lorenz": 2.068,
    "Rössler": 1.991,
    "logistic": 1,
    "sine": 1,
    "torus": 2,
}


def numbers(name: str, n: int, seed: int) -> list[tuple[float, float]]:
    """E_core and D of one realisation, for every pair of tolerances; all lengths have the delay of 60,000."""
    tau = choose_delay(SAMPLERS[name](60_000, 1000)).tau
    x = SAMPLERS[name](n, seed)
    parts = decompose(correlation_sums(x, tau=tau, m_max=10, theiler=theiler_window(x)), s_min=S_MIN)
    curves = np.log(parts.eps), parts.E_core, parts.E_raw, parts.determinism
    found = [weigh_ranges(*curves, *pair) for pair in PAIRS]
    return [(math.nan, math.nan) if w is None else (float(w.scales @ parts.E_core), w.D) for w in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    keys = [(name, n, seed) for n, seeds in SEEDS.items() for name in SAMPLERS for seed in seeds]
    found = dict(
        zip(keys, Parallel(options.jobs, verbose=1)(delayed(numbers)(*key) for key in keys), strict=True)
    )
    known = np.array([next(D for word, D in KNOWN.items() if word in name) for name in SAMPLERS])
    by_length = {n: np.array([[found[name, n, s] for s in SEEDS[n]] for name in SAMPLERS]) for n in SEEDS}
    rows = []
    for k, (flat, straight) in enumerate(PAIRS):
        plateau = by_length[LONG][:, :, PAIRS.index((LEAST, straight)), 0].mean(axis=1, keepdims=True)
        row: dict[str, Any] = {"flat": flat, "straight": None if math.isinf(straight) else straight}
        for n in (20_000, 60_000):
            E_core, D = np.moveaxis(by_length[n][:, :, k], -1, 0)
            error, scatter = np.sqrt(((E_core - plateau) ** 2).mean(axis=1)), E_core.std(axis=1, ddof=1)
            row[f"{n}"] = {
                "error": round(float(np.exp(np.log(error).mean())), 4),
                "scatter": round(float(np.exp(np.log(scatter).mean())), 4),
                "D": round(float(np.sqrt(((D.mean(axis=1) - known) ** 2).mean())), 4),
            }
        rows.append(row)
        print(row)
    summary = {"command": "python benchmarks/flatness.py", "systems": list(SAMPLERS), "tolerances": rows}
    (RESULTS / "flatness.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
