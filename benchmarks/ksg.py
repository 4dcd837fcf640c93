"""How fast is `predictive_information`, side by side with its peers at the same values, one core each?

Run as ``python benchmarks/ksg.py``; the figures go to docs/results/benchmark-ksg.json. Peers that are not
installed are named and skipped. Rounds alternate between the programs, so that a busy machine slows all of
them alike; CPU time is taken, and the best of the rounds counts. All run algorithm 1, which the peers have.
"""

# ruff: noqa: E402  (the number of threads must be set before anything is imported)

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import importlib.metadata
import json
import platform
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma

from quantify.ksg import predictive_information
from quantify.systems import AR2, Lorenz

OUTPUT = Path(__file__).parents[1] / "docs" / "results" / "benchmark-ksg.json"
SERIES = {
    "lorenz": (lambda n: Lorenz().sample(n, 1)[:, 0], 10),
    "noisy lorenz": (lambda n: Lorenz(noise=0.005).sample(n, 1)[:, 0], 10),
    "ar2": (lambda n: AR2.sample(n, 1), 10),
}


def past_and_future(x: np.ndarray, m: int, tau: int) -> tuple[np.ndarray, np.ndarray]:
    """Two (n, m) arrays, as the peers want them."""
    n = len(x) - (2 * m - 1) * tau
    columns = [x[j * tau : j * tau + n] for j in range(2 * m)]
    return np.column_stack(columns[:m]), np.column_stack(columns[m:])


def ours(x: np.ndarray, m: int, tau: int, k: int) -> float:
    return float(predictive_information(x, tau=tau, m=m, k=k, algorithm=1, half=False, quoted=0).PI[0, 0])


def plain_ckdtree(x: np.ndarray, m: int, tau: int, k: int) -> float:
    past, future = past_and_future(x, m, tau)
    joint = np.hstack([past, future])
    radius = np.nextafter(cKDTree(joint).query(joint, [k + 1], p=np.inf)[0][:, 0], 0)
    counts = [cKDTree(p).query_ball_point(p, radius, p=np.inf, return_length=True) for p in (past, future)]
    return float(digamma(k) + digamma(len(joint)) - np.mean(digamma(counts[0]) + digamma(counts[1])))


def scikit_learn(x: np.ndarray, m: int, tau: int, k: int) -> float:
    """As `mutual_info_regression` does it, whose public face takes single columns only."""
    from sklearn.neighbors import KDTree, NearestNeighbors

    past, future = past_and_future(x, m, tau)
    joint = np.hstack([past, future])
    search = NearestNeighbors(metric="chebyshev", n_neighbors=k).fit(joint)
    radius = np.nextafter(search.kneighbors()[0][:, -1], 0)
    counts = [KDTree(p, metric="chebyshev").query_radius(p, radius, count_only=True) for p in (past, future)]
    return float(digamma(k) + digamma(len(joint)) - np.mean(digamma(counts[0]) + digamma(counts[1])))


def ennemi(x: np.ndarray, m: int, tau: int, k: int) -> float:
    """Its estimator takes several columns; its public face takes single ones only."""
    from ennemi._entropy_estimators import _estimate_single_mi

    return float(_estimate_single_mi(*past_and_future(x, m, tau), k=k))


PEERS: dict[str, tuple[Callable[..., float], str]] = {
    "plain cKDTree": (plain_ckdtree, "scipy"),
    "scikit-learn": (scikit_learn, "scikit-learn"),
    "ennemi": (ennemi, "ennemi"),
}


def cpu_time(run: Callable[..., float], *arguments: object) -> tuple[float, float]:
    start = time.process_time()
    value = run(*arguments)
    return time.process_time() - start, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=100_000, help="samples")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--large", type=int, default=1_000_000, help="samples of the large run (0: none)")
    arguments = parser.parse_args()

    programs: dict[str, Callable[..., float]] = {"selforg": ours}
    versions, skipped = {}, []
    for name, (run, package) in PEERS.items():
        try:
            versions[name] = f"{package} {importlib.metadata.version(package)}"
            programs[name] = run
        except importlib.metadata.PackageNotFoundError:
            skipped.append(name)
    if skipped:
        print("not installed, skipped:", ", ".join(skipped))

    for m in (1, 2):
        ours(AR2.sample(1000, 0), m, 1, 4)  # compile

    rows = []
    for series, (sample, tau) in SERIES.items():
        x = np.ascontiguousarray(sample(arguments.n))
        for k in (4, 20):
            for m in range(1, 7):
                seconds = {name: np.inf for name in programs}
                values = {}
                for _ in range(arguments.rounds):
                    for name, run in programs.items():
                        taken, values[name] = cpu_time(run, x, m, tau, k)
                        seconds[name] = min(seconds[name], taken)
                fastest = min((s for name, s in seconds.items() if name != "selforg"))
                spread = max(values.values()) - min(values.values())
                rows.append(
                    {
                        "series": series,
                        "tau": tau,
                        "k": k,
                        "m": m,
                        "PI": values["selforg"],
                        "largest difference": spread,
                        "seconds": {name: round(s, 4) for name, s in seconds.items()},
                        "times faster than the fastest peer": round(fastest / seconds["selforg"], 2),
                    }
                )
                times = "  ".join(f"{name} {s:6.3f} s" for name, s in seconds.items())
                ratio = fastest / seconds["selforg"]
                print(f"{series:12s} k = {k:2d}  m = {m}  {times}  {ratio:5.2f} x", flush=True)

    totals = {}
    for series in SERIES:
        for k in (4, 20):
            scan = [r["seconds"] for r in rows if (r["series"], r["k"]) == (series, k)]
            total = {name: sum(seconds[name] for seconds in scan) for name in programs}
            own = total.pop("selforg")
            totals[f"{series}, k = {k}"] = round(min(total.values()) / own, 2)
    result = {
        "command": "python benchmarks/ksg.py",
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "n": arguments.n,
        "peers": versions,
        "skipped": skipped,
        "rows": rows,
        "least ratio": min(r["times faster than the fastest peer"] for r in rows),
        "ratio over m = 1..6 together": totals,
    }
    if arguments.large:
        x = AR2.sample(arguments.large, 1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        scan = {}
        for m in range(1, 7):
            taken, value = cpu_time(ours, x, m, 10, 4)
            scan[m] = {"seconds": round(taken, 2), "PI": value}
            print(f"N = {arguments.large:,}, k = 4, m = {m}: {taken:.1f} s", flush=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result["large"] = {
            "n": arguments.large,
            "k": 4,
            "scan": scan,
            "peak memory in MB": round(peak / 1024),
            "of that before the scan": round(before / 1024),
        }
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(json.dumps(result, indent=1) + "\n")
    print(f"least ratio {result['least ratio']}; m = 1..6 together {totals}; written to {OUTPUT.name}")


if __name__ == "__main__":
    main()
