"""Whether the error bars hold: many realisations of systems with and without noise, quantified one by one.

Usage: python benchmarks/calibration.py [--n 20000 100000] [--realisations 100] [--jobs 2] [--minutes 60]
       python benchmarks/calibration.py --systems 'hexapod, jumping' --n 20000 --halved 100

Every realisation is a line in docs/results/calibration-rows.jsonl, so that a run that was stopped goes on;
docs/results/calibration.json says what they come to. Lines of an earlier `METHOD` are passed over. For each
system, length and number:

- `covered`: share of runs whose 95 % interval holds the mean over all realisations (.95 is right),
- `ratio`: claimed over actual standard deviation (1 is right; the claimed ones are averaged as variances),
- `none`: share of runs that found no scaling region,
- `halves`: share of runs in which the intervals of two halves, quantified apart, allow for their difference
  (the first `--halved` realisations, up to 20,000 samples),
- `range`: by how much the ends of the range scatter, in octaves.

The table in docs/explanation/uncertainty.md is written from that; `--summary` does so without quantifying.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from data_checks import _flow, _ikeda, _mackey_glass
from joblib import Parallel, delayed

from quantify import QuantifyError, quantify, surrogates
from quantify.quantification_data import QUANTITIES
from quantify.systems import (
    ARMA,
    AutoRegressive,
    Henon,
    HiddenMarkov,
    Logistic,
    Lorenz,
    Noisy,
    QuasiPeriodic,
    Roessler,
)

DOCS = Path(__file__).parent.parent / "docs"
DOCUMENT = DOCS / "explanation" / "uncertainty.md"
RESULTS = DOCS / "results"
ROWS = RESULTS / "calibration-rows.jsonl"
METHOD = 13
"""To be raised whenever a number or its error would come out differently."""
LEAST_RUNS = 8
"""Realisations that a line of the summary rests on at least; fewer say nothing of a standard deviation."""
Sampler = Callable[[int, int], np.ndarray]


def first(system: Any) -> Sampler:
    """The first observable of a system."""
    return lambda n, seed: np.asarray(system.sample(n, seed)).reshape(n, -1)[:, 0]


def random_walk(n: int, seed: int) -> np.ndarray:
    """Steps of a normal distribution, added up."""
    return np.cumsum(np.random.default_rng(seed).standard_normal(n))


def noisy_sine(n: int, seed: int) -> np.ndarray:
    """A period of 31.4 samples, with noise of 5 % of the amplitude."""
    rng = np.random.default_rng(seed)
    return np.sin(np.arange(n) / 5 + rng.uniform(0, 2 * np.pi)) + 0.05 * rng.standard_normal(n)


def flow(kind: int, sampling: float, substeps: int = 4, noise: float = 0.0) -> Sampler:
    """x of a flow of `data_checks`, with noise in standard deviations."""

    def sample(n: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        u, step = 0.5 + 0.2 * rng.standard_normal(3), sampling / substeps
        x = np.asarray(_flow(kind, u, n, substeps, step, 0.0, rng))
        return x + noise * x.std() * rng.standard_normal(n)

    return sample


def jumping_hexapod(n: int, seed: int) -> np.ndarray:
    """The first joint of the hexapod with the controller that ships with the project, from rest."""
    import robots
    from experiments.pipeline.loop import Loop, make_body, thaw
    from experiments.runfiles.library import find_behaviour
    from experiments.runfiles.run_file import open_run_file

    with open_run_file(find_behaviour("hexapod-jump", "mujoco")) as run:
        (frozen,), changes, robot = run.frozen.values(), run.config["body"], run.robot
        body = make_body(robot, changes)
    try:
        loop = Loop(body, thaw(frozen))
        loop.s, _ = body.reset(seed=seed)
        transient = 3000
        rows = loop.advance(0, transient + n).rows["sensors"]
        return rows[transient:, robots.find(robot).sensor].astype(float)
    finally:
        body.close()


UNSEEN = ("Mackey-Glass", "Chen", "Rucklidge", "Moore-Spiegel", "Ueda", "AR(3)")
"""Systems that had no part in how the method was made."""
CONTROLS = ("random walk", "Lorenz, IAAFT", "Rössler, IAAFT")
"""Without a scaling region, and no part of the last line: a random walk has no mean over realisations."""
SYSTEMS: dict[str, Sampler] = {
    "Hénon": first(Henon()),
    "logistic map": first(Logistic()),
    "Lorenz": first(Lorenz()),
    "Rössler": first(Roessler()),
    "Lorenz, noise .05": first(Noisy(Lorenz(), 0.05)),
    "Hénon, noise .01": first(Noisy(Henon(), 0.01)),
    "torus, noise .05": first(QuasiPeriodic((1 / 23.7, 3**0.5 / 23.7), (1.0, 0.7), noise=0.05)),
    "sine, noise .05": noisy_sine,
    "AR(2)": first(AutoRegressive((1.6, -0.8))),
    "AR(5)": first(AutoRegressive((0.5, -0.3, 0.2, -0.1, 0.3))),
    "MA(2)": first(ARMA((), (0.9, 0.5))),
    "hidden Markov, noise .3": first(HiddenMarkov(((0.9, 0.1), (0.3, 0.7)), (0.0, 1.0), noise=0.3)),
    "hexapod, jumping": jumping_hexapod,
    "Mackey-Glass": lambda n, seed: _mackey_glass(np.random.default_rng(seed).uniform(0.5, 1.3, 170), n, 10),
    "Duffing, driven": flow(2, 0.1),
    "Ikeda": lambda n, seed: _ikeda(complex(*np.random.default_rng(seed).uniform(-0.1, 0.1, 2)), n),
    "van der Pol, noise .03": flow(1, 0.2, noise=0.03),
    "Chen": flow(4, 0.02, 8),
    "Rucklidge": flow(5, 0.1),
    "Moore-Spiegel": flow(6, 0.1, 8),
    "Ueda": flow(7, 0.2, 8),
    "AR(3)": first(AutoRegressive((0.6, 0.3, -0.4))),
    "random walk": random_walk,
    "Lorenz, IAAFT": lambda n, seed: surrogates.iaaft(first(Lorenz())(n, seed), seed),
    "Rössler, IAAFT": lambda n, seed: surrogates.iaaft(first(Roessler())(n, seed), seed),
}


def one(name: str, n: int, seed: int, halved: int) -> dict[str, Any]:
    """Quantify one realisation, and the two halves of the first so many."""
    x = SYSTEMS[name](n, seed)
    began = time.process_time()
    try:
        whole = numbers(x)
    except QuantifyError:  # a random walk whose delay leaves no delay vectors
        whole = {"tau": n, "region": False, "range": [0.0, 0.0]}
    cost = time.process_time() - began
    row = {"method": METHOD, "system": name, "n": n, "seed": seed, "cpu": round(cost, 2), **whole}
    if seed < halved and n <= 20_000 and 2 * 10 * whole["tau"] < n // 4:  # halves hold their delay vectors
        row["halves"] = [numbers(half, tau=whole["tau"]) for half in np.array_split(x, 2)]
    return row


def numbers(x: np.ndarray, **settings: Any) -> dict[str, Any]:
    """What is kept of a quantification. What other choices would give is left out: it is no part of the
    number and its interval, and takes half of the time.
    """
    result = quantify(x, stationarity=False, choices=False, **settings)
    found: dict[str, Any] = {
        "tau": result.settings["tau"],
        "region": result.scaling_region,
        "range": [math.log2(result.range.lo), math.log2(result.range.hi)],
    }
    estimates = {name: getattr(result, name) for name in QUANTITIES}
    estimates |= {name: limit for name in ("E", "PI") if (limit := getattr(result, name)) is not None}
    for quantity, e in estimates.items():
        if math.isfinite(e.value):
            found[quantity] = [round(float(v), 5) for v in (e.value, e.sampling, *e.interval)]
    return found


def stored(method: int = METHOD) -> list[dict[str, Any]]:
    """All realisations that were quantified before, in the same way."""
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    return [row for row in rows if row.get("method") == method]


def summarise(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the realisations of each system and length come to."""
    for name in SYSTEMS:
        for n in sorted({row["n"] for row in rows}):
            some = [row for row in rows if (row["system"], row["n"]) == (name, n)]
            if len(some) < LEAST_RUNS:
                continue
            regions = [row for row in some if row["region"]]
            ends = np.array([row["range"] for row in regions or some])
            yield {
                "system": name,
                "n": n,
                "realisations": len(some),
                "none": round(1 - len(regions) / len(some), 3),
                "range": np.std(ends, axis=0, ddof=1).round(3).tolist() if len(ends) > 1 else None,
                "cpu": round(float(np.median([row["cpu"] for row in some])), 2),
                # Where both happen, numbers over a region and limits without one are not of one kind.
                "numbers": {q: held for q in (*QUANTITIES, "E", "PI") if (held := calibration(some, q))},
            }


def calibration(rows: list[dict[str, Any]], quantity: str) -> dict[str, Any] | None:
    """How well the errors of one number hold, over the runs of the more frequent verdict."""
    region = 2 * sum(row["region"] for row in rows) >= len(rows)
    some = [row for row in rows if row["region"] == region and quantity in row]
    if len(some) < 2 or (quantity in ("E", "PI") and region):
        return None
    value, error, low, high = np.array([row[quantity] for row in some]).T
    mean, sd = value.mean(), value.std(ddof=1)
    halves = [row["halves"] for row in some if quantity in row.get("halves", [{}])[0]]
    agree = [_agree(*(half[quantity] for half in pair)) for pair in halves if quantity in pair[1]]
    return {
        "mean": round(float(mean), 4),
        "sd": round(float(sd), 4),
        "ratio": round(float(np.sqrt(np.mean(error**2)) / sd), 3) if sd > 1e-4 else None,
        "covered": round(float(np.mean((low <= mean) & (mean <= high))), 3),
        "halves": round(float(np.mean(agree)), 3) if agree else None,
    }


def _agree(one: list[float], two: list[float]) -> bool:
    """Whether two numbers differ by less than their two 95 % intervals allow, errors added as squares."""
    reach = math.hypot((one[3] - one[2]) / 2, (two[3] - two[2]) / 2)
    return abs(one[0] - two[0]) <= reach


def table(systems: list[dict[str, Any]]) -> str:
    """The summary for the documents: of every number claimed over actual standard deviation, and coverage."""
    head = ["system", "samples", "runs", "no region", "mean of E_core", "its sd"]
    head += ["E_core", "E_state", "E_mem", "D", "halves agree"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in systems:
        numbers = row["numbers"]
        core = numbers.get("E_core")
        cells = [row["system"] + (" \\*" if row["system"] in UNSEEN else ""), f"{row['n']:,}"]
        cells += [str(row["realisations"]), f"{row['none']:.0%}".replace("%", " %")]
        if row["system"] in CONTROLS or core is None:
            cells += [""] * 7
        else:
            cells += [f"{core['mean']:.3f}", f"{core['sd']:.3f}"]
            cells += [_cell(numbers.get(name)) for name in ("E_core", "E_state", "E_mem", "D")]
            cells.append("" if core["halves"] is None else f"{core['halves']:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    names = ("E_core", "E_state", "E_mem", "D")
    systems = [row for row in systems if row["system"] not in CONTROLS]
    for n in sorted({row["n"] for row in systems}):
        some = [row for row in systems if row["n"] == n]
        cells = ["all", f"{n:,}", str(sum(row["realisations"] for row in some)), "", "", ""]
        lines.append("| " + " | ".join([*cells, *(_pooled(some, name) for name in names), ""]) + " |")
    return "\n".join(lines)


def _pooled(systems: list[dict[str, Any]], name: str) -> str:
    """Coverage over all runs of the systems in which the number varies."""
    some = [(row["realisations"], row["numbers"].get(name)) for row in systems]
    varying = [
        (runs, held["covered"]) for runs, held in some if held is not None and held["ratio"] is not None
    ]
    runs = sum(n for n, _ in varying)
    return f"{sum(n * covered for n, covered in varying) / runs:.2f}" if runs else ""


def _cell(number: dict[str, Any] | None) -> str:
    """Ratio and coverage; the latter alone if the number hardly varies."""
    if number is None:
        return ""
    return (
        f"{number['covered']:.2f}"
        if number["ratio"] is None
        else f"{number['ratio']:.2f}, {number['covered']:.2f}"
    )


def fill(mark: str, table: str) -> None:
    """Put a table into its place in the document."""
    before, rest = DOCUMENT.read_text().split(f"<!-- {mark} -->\n", 1)
    after = rest.split("<!-- end -->", 1)[1]
    DOCUMENT.write_text(f"{before}<!-- {mark} -->\n{table}\n<!-- end -->{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--realisations", type=int, default=100)
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--halved", type=int, default=20, help="realisations whose halves are quantified")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop beginning new ones after this")
    parser.add_argument("--summary", action="store_true", help="quantify nothing")
    options = parser.parse_args()
    rows = stored()
    done = {(row["system"], row["n"], row["seed"]) for row in rows}
    todo = [
        (name, n, seed)
        for n in options.n
        for seed in range(options.realisations)
        for name in options.systems
        if (name, n, seed) not in done and not options.summary
    ]
    end = time.monotonic() + 60 * options.minutes

    def until_late() -> Iterator[Any]:
        for task in todo:
            if time.monotonic() > end:
                return
            yield delayed(one)(*task, options.halved)

    found = Parallel(options.jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs")(until_late())
    with ROWS.open("a") as file:
        for row in found:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            rows.append(row)
            print(f"{len(rows)} realisations, last {row['system']} {row['n']} {row['seed']}", flush=True)
    systems = list(summarise(rows))
    if not systems:
        raise SystemExit(f"no system has {LEAST_RUNS} realisations of method {METHOD}: nothing is written")
    summary = {"command": "python benchmarks/calibration.py", "method": METHOD, "systems": systems}
    (RESULTS / "calibration.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    fill("calibration", table(systems))


if __name__ == "__main__":
    main()
