"""How often does `against_null` call a noisy cycle more than that, and how often does it find chaos?

    python benchmarks/null_tests.py

Many realisations of noisy limit cycles, for which the null hypothesis holds, and of the Rössler system, for
which it does not: short series, few surrogates (19, so that p = .05 means "farthest out of all"). Rows are
stored as they come, so that an interrupted run goes on where it was, and more realisations are added to those
there are. Writes docs/results/null-tests.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from joblib import Parallel, delayed
from numba import njit

from quantify.null_test import null_tests

OUTPUT = Path(__file__).parents[1] / "docs" / "results" / "null-tests.json"
STATISTICS = ("E_core", "E", "D")
SURROGATES = 19
LEVEL = 0.05


@njit(cache=True)
def van_der_pol(n, mu, noise, step, parts, rng):  # type: ignore[no-untyped-def]
    """x of the van der Pol oscillator with dynamic noise, by Euler-Maruyama."""
    x, v, h = rng.normal(), rng.normal(), step / parts
    seen = np.empty(n)
    for i in range(-500, n):
        for _ in range(parts):
            x, v = x + h * v, v + h * (mu * (1 - x * x) * v - x) + noise * np.sqrt(h) * rng.normal()
        if i >= 0:
            seen[i] = x
    return seen


@njit(cache=True)
def stuart_landau(n, noise, step, parts, rng):  # type: ignore[no-untyped-def]
    """Real part of the Stuart-Landau oscillator with dynamic noise: a circle that attracts at rate 2."""
    z, h = complex(rng.normal(), rng.normal()), step / parts
    seen = np.empty(n)
    for i in range(-500, n):
        for _ in range(parts):
            kick = noise * np.sqrt(h) * complex(rng.normal(), rng.normal())
            z += h * (1 + 1j - abs(z) ** 2) * z + kick
        if i >= 0:
            seen[i] = z.real
    return seen


@njit(cache=True)
def _roessler_flow(s):  # type: ignore[no-untyped-def]
    return np.array([-s[1] - s[2], s[0] + 0.2 * s[1], 0.2 + s[2] * (s[0] - 5.7)])


@njit(cache=True)
def roessler(n, step, parts, rng):  # type: ignore[no-untyped-def]
    """x of the Rössler system (.2, .2, 5.7), by Runge-Kutta."""
    s, h = np.array([rng.normal(), rng.normal(), 0.0]), step / parts
    seen = np.empty(n)
    for i in range(-1000, n):
        for _ in range(parts):
            a = _roessler_flow(s)
            b = _roessler_flow(s + h / 2 * a)
            c = _roessler_flow(s + h / 2 * b)
            d = _roessler_flow(s + h * c)
            s = s + h / 6 * (a + 2 * b + 2 * c + d)
        if i >= 0:
            seen[i] = s[0]
    return seen


def noisy_sine(n: int, rng: np.random.Generator) -> np.ndarray:
    """A sine, 21 samples a round, measured with noise of a tenth of its amplitude."""
    return np.sin(0.3 * np.arange(n) + rng.uniform(0, 2 * np.pi)) + 0.1 * rng.standard_normal(n)


CYCLES: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "Stuart-Landau, dynamic noise": lambda n, rng: stuart_landau(n, 0.2, 0.3, 20, rng),
    "van der Pol, dynamic noise": lambda n, rng: van_der_pol(n, 1.0, 0.2, 0.3, 30, rng),
    "relaxation cycle, dynamic noise": lambda n, rng: van_der_pol(n, 5.0, 0.3, 0.5, 100, rng),
    "sine, measured with noise": noisy_sine,
}
CHAOS: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "Rössler": lambda n, rng: roessler(n, 0.3, 6, rng),
    # As many rounds, three times as many samples in each.
    "Rössler, finely sampled": lambda n, rng: roessler(3 * n, 0.1, 2, rng),
}


def trial(system: str, null: str, n: int, seed: int) -> dict[str, Any]:
    """One realisation, tested."""
    numba.set_num_threads(1)
    series = (CYCLES | CHAOS)[system](n, np.random.default_rng([seed, 2001]))
    start = time.process_time()
    found = null_tests(series, null=null, n=SURROGATES, statistics=STATISTICS, rng=seed)
    return {
        "system": system,
        "null": null,
        "samples": n,
        "seed": seed,
        "p": {name: test.p for name, test in found.items()},
        "sds": {name: round(test.sds, 3) for name, test in found.items()},
        "seconds": round(time.process_time() - start, 2),
    }


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Share of rejected realisations for every system, null and length, and for all cycles together."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["system"], row["null"], row["samples"]), []).append(row)
        if row["system"] in CYCLES:
            groups.setdefault(("all cycles", row["null"], row["samples"]), []).append(row)
    return [
        {
            **dict(zip(("system", "null", "samples"), key, strict=True)),
            "realisations": len(group),
            "rejected": {
                name: round(float(np.mean([r["p"][name] <= LEVEL for r in group])), 4) for name in STATISTICS
            },
            "seconds": round(float(np.median([r["seconds"] for r in group])), 2),
        }
        for key, group in sorted(groups.items())
    ]


def write(rows: list[dict[str, Any]]) -> None:
    rows.sort(key=lambda r: (r["null"], r["system"], r["samples"], r["seed"]))
    head = {"command": "python benchmarks/null_tests.py", "surrogates": SURROGATES, "level": LEVEL}
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    table = json.dumps(summary(rows), indent=1, ensure_ascii=False)
    text = json.dumps(head)[:-1] + f',\n"summary": {table},\n"rows": [\n{lines}\n]}}\n'
    OUTPUT.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=1500, help="samples")
    parser.add_argument("--cycles", type=int, default=80, help="realisations of each noisy cycle")
    parser.add_argument("--chaos", type=int, default=40, help="realisations of the chaotic system")
    parser.add_argument("--null", default="cycles")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    rows = json.loads(OUTPUT.read_text())["rows"] if OUTPUT.exists() else []
    done = {(r["system"], r["null"], r["samples"], r["seed"]) for r in rows}
    # One realisation of every system after the other, so that a part of the run is already of use.
    wanted = [
        (system, arguments.null, arguments.n, seed)
        for seed in range(max(arguments.cycles, arguments.chaos))
        for systems, most in ((CYCLES, arguments.cycles), (CHAOS, arguments.chaos))
        for system in systems
        if seed < most
    ]
    todo = [task for task in wanted if task not in done]
    print(f"{len(wanted) - len(todo)} of {len(wanted)} are there already", flush=True)
    stored = time.monotonic()
    for row in Parallel(arguments.jobs, return_as="generator_unordered")(delayed(trial)(*t) for t in todo):
        rows.append(row)
        if time.monotonic() - stored > 5:
            write(rows)
            stored = time.monotonic()
    write(rows)
    for line in summary(rows):
        print(line)


if __name__ == "__main__":
    main()
