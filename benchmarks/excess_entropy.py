"""The first benchmark of excess entropy: ours beside what users have, on processes whose answer is known.

    pip install 'selforg[peers]'
    python benchmarks/excess_entropy.py                       # all that is missing, then the page
    python benchmarks/excess_entropy.py --again selforg       # measure ours anew, keep the others
    python benchmarks/excess_entropy.py --page                # only the page and the figure

Every single measurement is a line of the store, so that a run can be stopped and goes on where it was. Writes
docs/results/excess-entropy.json, docs/benchmark-excess-entropy.md and .png; what the store does not hold
stays there as it was. One core; a measurement that needs more than 60 s of processor time or 6 GB is stopped
and said to be so.
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # before numpy is loaded
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"

import argparse
import contextlib
import hashlib
import importlib.metadata
import json
import math
import multiprocessing
import platform
import resource
import time
import warnings
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from excess import page
from excess.estimators import ESTIMATORS, Found, NotForIt
from excess.processes import PROCESSES, Process

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = DOCS / "results"
TRUTHS = RESULTS / "excess-entropy-truths.json"
SIZES = (10_000, 100_000, 1_000_000)
SECONDS, BYTES = 60, 6 * 2**30
# A slow estimator is run fewer times, but twice, so that it has a scatter.
SECONDS_PER_ROW = 20
HEAD = ("process", "estimator", "n")
"""What names a measurement."""


# --- what is true ---


class Truths:
    """What is true, computed once: some of it takes minutes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, list[float]] = json.loads(path.read_text()) if path.exists() else {}

    def __call__(self, p: Process, quantity: Any, m: int | None, order: int) -> tuple[float, float]:
        system = hashlib.sha256(repr(p.system).encode()).hexdigest()[:8]
        key = f"{p.name} ({system}), delay {p.tau}: {quantity}_{m or p.limit}, order {order}"
        if quantity in ("D", "E_core") or (m is None and p.limit is None):
            return p.truth(quantity, m, order)
        if key not in self.known:
            value, error = p.truth(quantity, m, order)
            self.known[key] = [round(value, 6), round(error, 6)]
            self.path.write_text(json.dumps(self.known, indent=1, ensure_ascii=False) + "\n")
        value, error = self.known[key]
        return value, error


# --- one measurement, in a process of its own with limits ---


def measure(name: str, p: Process, x: np.ndarray) -> dict[str, Any]:
    """What an estimator finds, the seconds it takes, or why it finds nothing."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_measure, args=(name, p, x, there))
    child.start()
    there.close()
    try:
        answer = here.recv()
    except EOFError:
        answer = {"reason": f"more than {SECONDS} s"}
    child.join()
    return answer


def _measure(name: str, p: Process, x: np.ndarray, pipe: Connection) -> None:
    warnings.simplefilter("ignore")
    spent = math.ceil(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (spent + SECONDS, spent + SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    start = time.process_time()
    try:
        found = [asdict(f) for f in ESTIMATORS[name].run(x, p)]
        pipe.send({"found": found, "seconds": time.process_time() - start})
    except NotForIt as error:
        pipe.send({"reason": str(error)})
    except MemoryError:
        pipe.send({"reason": f"more than {BYTES // 2**30} GB"})
    except Exception as error:  # a peer's own failure is its result
        pipe.send({"reason": f"{type(error).__name__}: {error}"})


def usable() -> tuple[dict[str, str], list[str]]:
    """Versions of the estimators that are installed, and the names of the others."""
    versions, missing = {}, []
    for name, estimator in ESTIMATORS.items():
        try:
            if estimator.package != "selforg":
                versions[name] = f"{estimator.package} {importlib.metadata.version(estimator.package)}"
            else:
                versions[name] = "selforg"
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    return versions, missing


def run(store: Path, counts: dict[int, int], names: list[str], again: list[str]) -> None:
    """Measure what is not in the store."""
    rows = [row for row in read(store) if row["estimator"] not in again]
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    done = {(row["process"], row["estimator"], row["n"], row["seed"]): row for row in rows}
    for p in {(p.kind == "deterministic", p.m, p.name == "two channels"): p for p in PROCESSES}.values():
        for name in names:  # import and compile, so that no measurement pays for it
            if applies(name, p):
                with contextlib.suppress(Exception):  # it will be said of the measurement
                    ESTIMATORS[name].run(p.sample(2000, 0), p)
    for n, count in counts.items():
        for p in PROCESSES:
            for name in names:
                if not applies(name, p):
                    continue
                for seed in range(count):
                    key = (p.name, name, n, seed)
                    if key not in done:
                        before = [r for k, r in done.items() if k[:2] == key[:2] and k[2] <= n]
                        # Of a long series `quantify` counts a random share of the pairs, which takes less.
                        answer = None if name == "selforg" else hopeless(before, n, seed)
                        answer = answer or measure(name, p, p.sample(n, seed))
                        done[key] = {"process": p.name, "estimator": name, "n": n, "seed": seed, **answer}
                        with store.open("a") as file:
                            file.write(json.dumps(done[key], ensure_ascii=False) + "\n")
                        took = f"{answer['seconds']:.2f} s" if "seconds" in answer else answer["reason"]
                        print(f"{n:>9,} {p.name:30s} {name:20s} {seed:3d}  {took[:60]}", flush=True)
                    if stops(done[key], seed):
                        break


def applies(name: str, p: Process) -> bool:
    estimator = ESTIMATORS[name]
    return estimator.deterministic if p.kind == "deterministic" else estimator.stochastic


def hopeless(before: list[dict[str, Any]], n: int, seed: int) -> dict[str, Any] | None:
    """Why a measurement need not be begun: what is slower than the limit even if time grew as n only."""
    if seed == 0 and before:
        last = max(before, key=lambda row: row["n"])
        if "reason" in last:
            return {"reason": last["reason"]}
        if last["seconds"] * n / last["n"] > SECONDS:
            return {"reason": f"more than {SECONDS} s"}
    return None


def stops(row: dict[str, Any], seed: int) -> bool:
    """Whether no further realisation follows."""
    return "reason" in row or (seed >= 1 and (seed + 1) * row["seconds"] > SECONDS_PER_ROW)


def read(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


# --- many measurements ---


def summarise(rows: list[dict[str, Any]], truths: Truths) -> list[dict[str, Any]]:
    """One row for each process, estimator, quantity and number of samples."""
    summary = []
    for p in PROCESSES:
        for name in ESTIMATORS:
            for n in SIZES:
                here = [r for r in rows if (r["process"], r["estimator"], r["n"]) == (p.name, name, n)]
                head = {"process": p.name, "kind": p.kind, "estimator": name, "n": n}
                good = [r for r in here if "found" in r]
                if here and not good:
                    summary.append(head | {"reason": here[0]["reason"]})
                for i in range(len(good[0]["found"]) if good else 0):
                    found = [Found(**r["found"][i]) for r in good]
                    found = [one for one in found if math.isfinite(one.value)]
                    if not found:  # no scaling region, no dimension
                        continue
                    seconds = float(np.median([r["seconds"] for r in good]))
                    summary.append(head | _row(p, found, truths) | {"seconds": round(seconds, 3)})
    return summary


def kept(earlier: list[dict[str, Any]], summary: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was summed up now, and before that of processes, estimators and lengths that are not in it."""
    now = {tuple(row[name] for name in HEAD) for row in summary}
    processes, estimators = [p.name for p in PROCESSES], list(ESTIMATORS)
    rows = [row for row in earlier if tuple(row[name] for name in HEAD) not in now] + summary
    rows = [row for row in rows if row["process"] in processes and row["estimator"] in estimators]
    return sorted(
        rows, key=lambda r: (processes.index(r["process"]), estimators.index(r["estimator"]), r["n"])
    )


def _row(p: Process, found: list[Found], truths: Truths) -> dict[str, Any]:
    """Bias, scatter and coverage of the realisations of one estimator, each beside the m that it names."""
    f = found[0]
    value = np.array([g.value for g in found])
    truth, truth_error = truths(p, f.quantity, f.m, f.order)
    true = np.array([truths(p, g.quantity, g.m, g.order)[0] for g in found])
    scatter = float((value - (true if np.isfinite(truth) else 0)).std(ddof=1)) if len(value) > 1 else math.nan
    low, high = np.array([(g.low, g.high) for g in found]).T
    known = math.isfinite(truth)
    stated = bool(np.isfinite(low).all())
    width = float(np.mean(high - low) / 3.92)
    order = {"D": "", "E_core": ""}.get(f.quantity, ", order 2" if f.order == 2 else ", Shannon")
    return {
        "quantity": f.quantity + (f"_{f.m}" if f.m else "") + order,
        "truth": truth if known else None,
        "truth_error": truth_error,
        "realisations": len(value),
        "mean": float(value.mean()),
        "bias": float(np.mean(value - true)) if known else None,
        "scatter": scatter if math.isfinite(scatter) else None,
        "coverage": float(np.mean((low <= true) & (true <= high))) if stated and known else None,
        "claimed_over_actual": width / scatter if stated and scatter > 0 else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="The first benchmark of excess entropy.")
    parser.add_argument(
        "--realisations", type=int, nargs=3, default=(8, 3, 1), help="at 1e4, 1e5, 1e6 samples"
    )
    parser.add_argument("--store", type=Path, default=Path("runs/excess-entropy.jsonl"))
    parser.add_argument("--again", nargs="*", default=[], help="estimators whose rows are measured anew")
    parser.add_argument("--only", nargs="*", default=list(ESTIMATORS), help="estimators to measure")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    versions, missing = usable()
    if missing:
        print("not installed, skipped:", ", ".join(missing))
    if not arguments.page:
        names = [name for name in arguments.only if name in versions]
        run(arguments.store, dict(zip(SIZES, arguments.realisations, strict=True)), names, arguments.again)
    rows, truths = read(arguments.store), Truths(TRUTHS)
    file = RESULTS / "excess-entropy.json"
    earlier = json.loads(file.read_text()) if file.exists() else {"rows": [], "versions": {}}
    measured = {row["estimator"] for row in rows}
    every = kept(earlier["rows"], summarise(rows, truths))
    # An estimator that finds two numbers has two rows of one measurement.
    took = {tuple(r[k] for k in HEAD): r["seconds"] * r["realisations"] for r in every if "seconds" in r}
    result = {
        "command": "python benchmarks/excess_entropy.py",
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "versions": earlier["versions"] | {name: v for name, v in versions.items() if name in measured},
        "seconds_allowed": SECONDS,
        "seconds_in_all": round(sum(took.values())),
        "processes": [known(p, truths) for p in PROCESSES],
        "rows": every,
    }
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False)
    file.write_text(text + "\n")
    page.write(result, DOCS)


def known(p: Process, truths: Truths) -> dict[str, Any]:
    """What is known of a process."""
    head = {"process": p.name, "kind": p.kind, "system": p.description, "tau": p.tau}
    if p.kind == "deterministic":
        return head | {"D": p.D, "D_error": p.D_error, "E_core": p.core}
    values = {
        f"E_{p.m + 1}": truths(p, "E", p.m + 1, 2),
        f"PI_{p.m}": truths(p, "PI", p.m, 2),
        "E": truths(p, "E", None, 2),
        f"PI_{p.m}, Shannon": truths(p, "PI", p.m, 1),
        "E, Shannon": truths(p, "E", None, 1),
    }
    return head | {"m": p.m} | {k: list(v) if math.isfinite(v[0]) else None for k, v in values.items()}


if __name__ == "__main__":
    main()
