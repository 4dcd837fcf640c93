"""Speed and error of the correlation sums and of `quantify`, side by side in one run.

    python benchmarks/correlation.py [--full]

Writes docs/results/benchmark-correlation.json. CPU seconds of one core; TISEAN's `d2` is run where it is on
the PATH. `--full` adds N = 1e6 and d2 at N = 1e5 (half an hour). The exact count at N = 1e6 is not run but
scaled from N = 1e5 by the number of pairs, to which its cost is proportional.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from quantify import correlation_sums, quantify, read_tisean
from quantify.systems import Lorenz

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "benchmark-correlation.json"
TAU, THEILER, N_EPS = 10, 100, 112
D2 = shutil.which("d2")


def cpu(function: Any, *args: Any, repeat: int = 1, **kwargs: Any) -> tuple[float, Any]:
    """Least CPU seconds of this process over the repetitions, and the result."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        result = function(*args, **kwargs)
        best = min(best, time.process_time() - start)
    return best, result


def d2(x: np.ndarray, m_max: int, eps: np.ndarray, max_pairs: int = 0) -> tuple[float, np.ndarray]:
    """CPU seconds and C of TISEAN's d2 that stops at `max_pairs` per scale; 0 counts all."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x")
        np.savetxt(path, x, fmt="%.17g")
        command = [D2, "-d", TAU, "-M", f"1,{m_max}", "-t", THEILER, "-N", max_pairs, "-V", 0, "-o", path]
        command += ["-#", len(eps), "-R", eps[0], "-r", eps[-1], path]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([str(word) for word in command], check=True)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        return seconds, read_tisean(path.with_suffix(".c2")).C


def compare(n: int, m_max: int, with_exact: bool, with_d2: bool) -> dict[str, Any]:
    """One row: exact, default mode and d2 on the same series and scales."""
    x = Lorenz().sample(n, 1)[:, 0]
    eps = np.ptp(x) * 2.0 ** (-np.arange(N_EPS) / 8)
    arguments = {"tau": TAU, "m_max": m_max, "eps": eps, "theiler": THEILER}
    pairs = (n - (m_max - 1) * TAU - THEILER) ** 2 / 2
    row: dict[str, Any] = {"n": n, "m_max": m_max, "pairs": pairs}
    row["default_s"], _ = cpu(correlation_sums, x, workers=1, repeat=3, **arguments)
    if with_exact:
        row["exact_s"], exact = cpu(correlation_sums, x, workers=1, exact=True, repeat=2, **arguments)
        row["exact_ns_per_pair"] = 1e9 * row["exact_s"] / pairs
        row["exact_over_default"] = row["exact_s"] / row["default_s"]
        many = exact.pairs >= 1e4
        # One draw of the shares proves little: the largest error of each of six.
        row["largest_errors"] = [
            float(np.abs(correlation_sums(x, rng=seed, **arguments).C[many] / exact.C[many] - 1).max())
            for seed in range(6)
        ]
        row["largest_error"] = row["largest_errors"][0]  # of the draw that was timed
        start = time.perf_counter()
        correlation_sums(x, workers=1, exact=True, **arguments)
        one = time.perf_counter() - start
        start = time.perf_counter()
        correlation_sums(x, workers=2, exact=True, **arguments)
        row["two_threads_speed_up"] = one / (time.perf_counter() - start)
    if with_exact and D2:
        if with_d2:
            row["d2_s"], _ = d2(x, m_max, eps)
            row["d2_over_exact"] = row["d2_s"] / row["exact_s"]
        # d2 with a limit sees few points at large scales: raise the limit until its error is ours.
        for max_pairs in (40_000, 400_000, 4_000_000, 40_000_000):
            seconds, C = d2(x, m_max, eps, max_pairs)
            error = float(np.abs(C[many] / exact.C[many] - 1).max())
            row["d2_shares"] = {"N": max_pairs, "s": seconds, "largest_error": error}
            if error <= max(row["largest_error"], 0.01):
                break
        row["d2_shares_over_default"] = row["d2_shares"]["s"] / row["default_s"]
    return row


def warm_up() -> None:
    """Compile all kernels outside the measurements."""
    x = Lorenz().sample(30_000, 1)[:, 0]
    correlation_sums(x, tau=TAU, m_max=10, theiler=THEILER)
    correlation_sums(x[:2000], tau=TAU, m_max=10, theiler=THEILER, exact=True)
    quantify(x[:5000], tau=TAU, m_max=4)


def main() -> None:
    """Run the comparisons and write the figures."""
    parser = argparse.ArgumentParser(description="Speed and error of the correlation sums.")
    parser.add_argument("--full", action="store_true", help="N = 1e6 too, and d2 at N = 1e5")
    full = parser.parse_args().full
    warm_up()

    figures: dict[str, Any] = {"system": "Lorenz, x", "tau": TAU, "theiler": THEILER, "scales": N_EPS}
    figures["d2"] = D2 if D2 is None else "run"
    figures["rows"] = [compare(n, 10, True, n < 100_000 or full) for n in (30_000, 100_000)]
    if full:
        per_pair = figures["rows"][1]["exact_s"] / figures["rows"][1]["pairs"]
        for m_max in (10, 25):
            row = compare(1_000_000, m_max, False, False)
            if m_max == 10:
                row["exact_s_scaled"] = per_pair * row["pairs"]
                row["exact_over_default"] = row["exact_s_scaled"] / row["default_s"]
                growth = row["default_s"] / figures["rows"][1]["default_s"]
                row["growth_exponent_from_1e5"] = float(np.log10(growth))
            figures["rows"].append(row)
        x = Lorenz().sample(1_000_000, 1)[:, 0]
        sums, _ = cpu(correlation_sums, x, tau=TAU, m_max=10, theiler=THEILER, workers=1)
        whole, _ = cpu(quantify, x, tau=TAU, m_max=10, theiler=THEILER)
        figures["quantify_over_its_sums"] = whole / sums
        figures["peak_memory_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
