"""How much of an interval the draws should say, and how many draws there should be.

Usage: python benchmarks/intervals.py [--realisations 30] [--jobs 2]

Sixteen systems that are in no other table, 20,000 samples each, at the delay of the first realisation. For
every share of the variance that the middle of the draws has in an interval (`BY_DRAWS`) docs/results/
intervals.json has the coverage of each of the four numbers, and for every number of draws claimed over actual
standard deviation (geometric mean), both over the systems in which the number varies.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from calibration import RESULTS, Sampler, calibration
from joblib import Parallel, delayed
from numba import njit

from quantify import correlation_sums, quantify_sums, theiler_window
from quantify.delays import choose_delay
from quantify.quantification import uncertainty
from quantify.quantification_data import QUANTITIES

N = 20_000
USUAL = uncertainty.BY_DRAWS, 200
"""Share of the draws in an interval, and number of errors drawn."""
SHARES = (0.0, 0.1, 0.25, 0.5)
REPLICATES = (100, 400)
VARIES = 1e-3
"""Standard deviation below which nothing is said of a number: no smaller error is claimed."""


@njit(cache=True)
def _velocity(kind, u):  # type: ignore[no-untyped-def]
    x, y, z = u
    if kind == 0:  # Halvorsen
        a = 1.4 * u + 4 * (np.roll(u, -1) + np.roll(u, -2))
        return -a - np.roll(u, -1) ** 2
    if kind == 1:  # Sprott B
        return np.array([y * z, x - y, 1 - x * y])
    if kind == 2:  # Genesio-Tesi
        return np.array([y, z, -x - 1.1 * y - 0.44 * z + x * x])
    if kind == 3:  # Chua
        bent = -0.714 * x + 0.5 * (-1.143 + 0.714) * (abs(x + 1) - abs(x - 1))
        return np.array([15.6 * (y - x - bent), x - y + z, -28.0 * y])
    if kind == 4:  # Thomas
        return np.sin(np.roll(u, -1)) - 0.18 * u
    if kind == 5:  # a jerk flow
        return np.array([y, z, -0.6 * z - y + abs(x) - 1])
    return np.array([36 * (y - x), -x * z + 20 * y, x * y - 3 * z])  # Lü


@njit(cache=True)
def _flow(kind, u, n, sampling):  # type: ignore[no-untyped-def]
    out, h = np.empty(n), sampling / 8
    for i in range(-n // 20, n):
        if i >= 0:
            out[i] = u[0]
        for _ in range(8):
            a = _velocity(kind, u)
            b = _velocity(kind, u + h / 2 * a)
            c = _velocity(kind, u + h / 2 * b)
            u = u + h / 6 * (a + 2 * b + 2 * c + _velocity(kind, u + h * c))
    return out


@njit(cache=True)
def _map(kind, x, y, z, n):  # type: ignore[no-untyped-def]
    out = np.empty(n)
    for i in range(-500, n):
        if i >= 0:
            out[i] = x
        if kind == 0:  # Lozi
            x, y = 1 - 1.7 * abs(x) + y, 0.5 * x
        elif kind == 1:  # three-dimensional Hénon
            x, y, z = 1.76 - y * y - 0.1 * z, x, y
        elif kind == 2:  # delayed logistic
            x, y = 2.27 * x * (1 - y), x
        elif kind == 3:  # Tinkerbell
            x, y = x * x - y * y + 0.9 * x - 0.6013 * y, 2 * x * y + 2 * x + 0.5 * y
        else:  # Burgers
            x, y = 0.75 * x - y * y, 1.75 * y + x * y
    return out


def measured(make: Callable[[np.random.Generator, int], np.ndarray], noise: float) -> Sampler:
    """What `make` gives, seen through noise in standard deviations."""

    def sample(n: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        x = make(rng, n)
        return x + noise * x.std() * rng.standard_normal(n)

    return sample


def a_flow(
    kind: int, sampling: float, start: tuple[float, ...], wide: float = 0.2, noise: float = 0.0
) -> Sampler:
    return measured(
        lambda rng, n: _flow(kind, np.array(start) + wide * rng.standard_normal(3), n, sampling), noise
    )


def a_map(kind: int, start: tuple[float, float, float], wide: float, noise: float = 0.0) -> Sampler:
    return measured(lambda rng, n: _map(kind, *(np.array(start) + wide * rng.standard_normal(3)), n), noise)


def two_sines(rng: np.random.Generator, n: int) -> np.ndarray:
    one, two = rng.uniform(0, 2 * np.pi, 2)
    return np.sin(0.2 * np.arange(n) + one) + 0.6 * np.sin(0.5236 * np.arange(n) + two)


def driven_cycle(rng: np.random.Generator, n: int) -> np.ndarray:
    """A Stuart-Landau cycle of 40 samples that is driven by noise."""
    z, x, turn = 1 + 0j, np.empty(n), np.exp(2j * np.pi / 40)
    for i, (a, b) in enumerate(0.02 * rng.standard_normal((n, 2))):
        x[i] = z.real
        z = z * turn * (1 + 0.1 * (1 - abs(z) ** 2)) + complex(a, b)
    return x


SYSTEMS: dict[str, Sampler] = {
    "Lozi": a_map(0, (0.1, 0.1, 0.1), 0.02),
    "Lozi, noise .02": a_map(0, (0.1, 0.1, 0.1), 0.02, 0.02),
    "three-dimensional Hénon": a_map(1, (0.1, 0.1, 0.1), 0.02),
    "delayed logistic, noise .02": a_map(2, (0.5, 0.5, 0.5), 0.02, 0.02),
    "Tinkerbell": a_map(3, (-0.72, -0.64, 0.0), 0.0005),
    "Burgers": a_map(4, (-0.1, 0.1, 0.0), 0.01),
    "Halvorsen": a_flow(0, 0.05, (-5.0, 0.0, 0.0)),
    "Halvorsen, noise .05": a_flow(0, 0.05, (-5.0, 0.0, 0.0), noise=0.05),
    "Sprott B": a_flow(1, 0.2, (0.1, 0.1, 0.1)),
    "Genesio": a_flow(2, 0.3, (0.1, 0.1, 0.1), 0.05),
    "Chua": a_flow(3, 0.05, (0.7, 0.0, 0.0), 0.02),
    "Thomas": a_flow(4, 0.4, (1.0, 0.0, 0.5)),
    "jerk": a_flow(5, 0.25, (0.1, 0.1, 0.1), 0.05),
    "Lü": a_flow(6, 0.02, (1.0, 1.0, 20.0)),
    "two sines, noise .06": measured(two_sines, 0.06),
    "driven cycle": measured(driven_cycle, 0.0),
}


def one(name: str, seed: int) -> list[dict[str, Any]]:
    """A realisation, with every share and every number of draws, as rows that `calibration` reads."""
    tau = choose_delay(SYSTEMS[name](N, 0)).tau
    x = SYSTEMS[name](N, seed)
    sums = correlation_sums(x, tau=tau, m_max=10, theiler=theiler_window(x))
    rows = []
    for share, replicates in [(share, USUAL[1]) for share in SHARES] + [(USUAL[0], n) for n in REPLICATES]:
        uncertainty.BY_DRAWS = share
        result = quantify_sums(sums, replicates=replicates)
        row: dict[str, Any] = {"share": share, "replicates": replicates, "region": result.scaling_region}
        for quantity in QUANTITIES:
            e = getattr(result, quantity)
            if math.isfinite(e.value):
                row[quantity] = [e.value, e.sampling, *e.interval]
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--realisations", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    keys = [(name, seed) for name in SYSTEMS for seed in range(options.realisations)]
    found = Parallel(options.jobs, verbose=1)(delayed(one)(*key) for key in keys)
    by_name: dict[str, list[list[dict[str, Any]]]] = {name: [] for name in SYSTEMS}
    for (name, _), rows in zip(keys, found, strict=True):
        by_name[name].append(rows)
    summary: dict[str, Any] = {"command": "python benchmarks/intervals.py", "samples": N}
    summary |= {"realisations": options.realisations, "systems": list(SYSTEMS), "rules": []}
    for i, kind in enumerate(found[0]):
        rule: dict[str, Any] = {"share": kind["share"], "replicates": kind["replicates"]}
        for quantity in QUANTITIES:
            each = [calibration([rows[i] for rows in some], quantity) for some in by_name.values()]
            known = [c for c in each if c is not None and c["sd"] > VARIES]
            rule[quantity] = {
                "systems": len(known),
                "covered": round(float(np.mean([c["covered"] for c in known])), 3),
                "ratio": round(float(np.exp(np.mean(np.log([c["ratio"] for c in known])))), 3),
            }
        summary["rules"].append(rule)
        print(rule)
    (RESULTS / "intervals.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
