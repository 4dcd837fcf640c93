"""Speed and error of the correlation sums and of `quantify`, side by side in one run.

    python benchmarks/correlation.py           # a few minutes, docs/results/benchmark-correlation.json
    python benchmarks/correlation.py --d2      # half an hour, docs/results/benchmark-d2.json

CPU seconds of one core. By default all pairs of up to 100,000 samples are counted, and random shares of more.
`--d2` compares with TISEAN's `d2`, which must be on the PATH. The exact count at N = 1e6 is not run but
scaled from N = 2e5 by the number of pairs, to which its cost is proportional.
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

from quantify import CorrelationSums, correlation_sums, quantify, read_tisean
from quantify.systems import Lorenz

RESULTS = Path(__file__).parents[1] / "docs" / "results"
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


def setting(n: int, m_max: int) -> tuple[np.ndarray, dict[str, Any], dict[str, Any]]:
    """Series, arguments, and the head of the row that tells of them."""
    x = Lorenz().sample(n, 1)[:, 0]
    eps = np.ptp(x) * 2.0 ** (-np.arange(N_EPS) / 8)
    pairs = (n - (m_max - 1) * TAU - THEILER) ** 2 / 2
    return (
        x,
        {"tau": TAU, "m_max": m_max, "eps": eps, "theiler": THEILER},
        {"n": n, "m_max": m_max, "pairs": pairs},
    )


def errors(x: np.ndarray, exact: CorrelationSums, arguments: dict[str, Any]) -> list[float]:
    """Largest error of the default mode where all pairs count 1e4, for six draws: one would prove little."""
    many = exact.pairs >= 1e4
    draws = (correlation_sums(x, rng=seed, **arguments).C for seed in range(6))
    return [float(np.abs(C[many] / exact.C[many] - 1).max()) for C in draws]


def compare(n: int, m_max: int, with_exact: bool) -> dict[str, Any]:
    """One row: exact and default mode on the same series and scales."""
    x, arguments, row = setting(n, m_max)
    row["default_s"], shares = cpu(correlation_sums, x, workers=1, repeat=3, **arguments)
    if with_exact:
        row["exact_s"], exact = cpu(correlation_sums, x, workers=1, exact=True, repeat=2, **arguments)
        row["exact_ns_per_pair"] = 1e9 * row["exact_s"] / row["pairs"]
        if shares.settings["mode"] != exact.settings["mode"]:
            row["exact_over_default"] = row["exact_s"] / row["default_s"]
            row["largest_errors"] = errors(x, exact, arguments)
        seconds = []
        for workers in (1, 2):
            start = time.perf_counter()
            correlation_sums(x, workers=workers, exact=True, **arguments)
            seconds.append(time.perf_counter() - start)
        row["two_threads_speed_up"] = seconds[0] / seconds[1]
    return row


def compare_d2(n: int, m_max: int) -> dict[str, Any]:
    """One row: d2 beside both modes."""
    x, arguments, row = setting(n, m_max)
    row["default_s"], shares = cpu(correlation_sums, x, workers=1, repeat=5, **arguments)
    row["exact_s"], exact = cpu(correlation_sums, x, workers=1, exact=True, repeat=2, **arguments)
    row["d2_s"], _ = d2(x, m_max, arguments["eps"])
    row["d2_over_exact"] = row["d2_s"] / row["exact_s"]
    many = exact.pairs >= 1e4
    row["largest_error"] = float(np.abs(shares.C[many] / exact.C[many] - 1).max())
    # d2 with a limit sees few points at large scales: raise the limit until its error is ours.
    for max_pairs in (40_000, 400_000, 4_000_000, 40_000_000):
        seconds, C = d2(x, m_max, arguments["eps"], max_pairs)
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
    parser.add_argument("--d2", action="store_true", help="compare with TISEAN's d2 instead")
    with_d2 = parser.parse_args().d2
    if with_d2 and D2 is None:
        parser.error("d2 is not on the PATH; install TISEAN, or leave out --d2.")
    warm_up()

    figures: dict[str, Any] = {"system": "Lorenz, x", "tau": TAU, "theiler": THEILER, "scales": N_EPS}
    if with_d2:
        figures["command"] = "python benchmarks/correlation.py --d2"
        figures["rows"] = [compare_d2(n, 10) for n in (30_000, 100_000)]
    else:
        figures["command"] = "python benchmarks/correlation.py"
        figures["rows"] = rows = [compare(n, 10, True) for n in (30_000, 100_000, 200_000)]
        for m_max in (10, 25):
            rows.append(row := compare(1_000_000, m_max, False))
            if m_max == 10:
                row["exact_s_scaled"] = rows[2]["exact_s"] / rows[2]["pairs"] * row["pairs"]
                row["exact_over_default"] = row["exact_s_scaled"] / row["default_s"]
        x = Lorenz().sample(1_000_000, 1)[:, 0]
        sums, _ = cpu(correlation_sums, x, tau=TAU, m_max=10, theiler=THEILER, workers=1)
        whole, _ = cpu(quantify, x, tau=TAU, m_max=10, theiler=THEILER)
        noise, _ = cpu(quantify, np.random.default_rng(1).standard_normal(1_000_000))
        figures["quantify_over_its_sums"] = whole / sums
        figures["white_noise_over_lorenz"] = noise / whole
        figures["peak_memory_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = json.dumps(figures, indent=1)
    RESULTS.mkdir(exist_ok=True)
    Path(RESULTS, f"benchmark-{'d2' if with_d2 else 'correlation'}.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
