"""What was measured, as a page of tables and a figure; every number of it comes from the JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
NAME = "benchmark-excess-entropy"
HERE = Path(__file__).parent


def write(result: dict[str, Any], docs: Path) -> None:
    """The page and its figure."""
    rows = [r for r in result["rows"] if "reason" not in r]
    sizes = sorted({r["n"] for r in rows})
    counts = {n: sum(r["n"] == n for r in rows) for n in sizes}
    shown = max((n for n in sizes if counts[n] > max(counts.values()) / 2), default=0)
    versions = sorted({v for v in result["versions"].values() if v not in ("selforg",)})
    lines = [
        (HERE / "introduction.md")
        .read_text()
        .format(
            processes=len(result["processes"]),
            command=result["command"],
            machine=result["machine"],
            python=result["python"],
            seconds=result["seconds_in_all"],
            versions=", ".join(versions),
        ),
        *_truth_tables(result["processes"]),
        f"\n![Bias and scatter at {shown:,} samples, and processor time]({NAME}.png)\n",
        "## In short\n",
        *_in_short(rows, result["processes"], sizes),
        f"\n## Where a peer is better, at {shown:,} samples\n",
        *_better(rows, result["processes"], shown),
        f"\n## Each process, at {shown:,} samples: bias ± scatter\n",
        *_each(rows, shown),
        "\n## Dimension of deterministic systems: bias ± scatter\n",
        *_dimensions(rows, sizes),
        "\n## Processor time in seconds, median over the processes\n",
        *_times(result["rows"], sizes),
        "\n## Notes\n",
        (HERE / "notes.md").read_text(),
        *_failures(result["rows"]),
    ]
    (docs / f"{NAME}.md").write_text("\n".join(lines).rstrip() + "\n")
    _figure(rows, shown, sizes, docs / f"{NAME}.png")


def table(head: Iterable[str], body: Iterable[Iterable[str]]) -> list[str]:
    head = list(head)
    return [f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *map(list, body)]]


def number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def stochastic(rows: Iterable[Row]) -> list[Row]:
    return [r for r in rows if r["kind"] != "deterministic"]


def error(row: Row) -> float:
    """Root mean square error, as far as it is known."""
    return math.inf if row["bias"] is None else math.hypot(row["bias"], row["scatter"] or 0.0)


def _truth_tables(processes: list[Row]) -> list[str]:
    def cell(found: tuple[float, float] | None) -> str:
        if found is None:
            return "-"
        return number(found[0]) + (f" ({found[1]:.3f})" if found[1] else "")

    body = []
    for p in processes:
        if p["kind"] == "deterministic":
            continue
        m = p["m"]
        values = [p[f"E_{m + 1}"], p[f"PI_{m}"], p["E"], p[f"PI_{m}, Shannon"], p["E, Shannon"]]
        body.append([p["process"], f"`{p['system']}`", str(p["tau"]), str(m), *map(cell, values)])
    head = ["process", "system", "delay", "m", "E_(m+1)", "PI_m", "E", "PI_m, Shannon", "E, Shannon"]
    exact = [
        [
            p["process"],
            f"`{p['system']}`",
            str(p["tau"]),
            number(p["D"]) + (f" ({p['D_error']:.3f})" if p["D_error"] else ""),
        ]
        for p in processes
        if p["kind"] == "deterministic"
    ]
    return [
        *table(head, body),
        "\nDeterministic systems have no finite E; their dimension is known, exactly or as published",
        "(Sprott and Rowlands, Int. J. Bifurcation and Chaos 11, 1865, 2001; its error in brackets).",
        "The skew tent map has a core complexity of exactly 0.\n",
        *table(["system", "", "delay", "D"], exact),
    ]


def _in_short(rows: list[Row], processes: list[Row], sizes: list[int]) -> list[str]:
    limits = {p["process"]: p for p in processes}
    body = []
    for n in sizes:
        for name in dict.fromkeys((r["estimator"], r["quantity"][0]) for r in stochastic(rows)):
            here = [r for r in stochastic(rows) if (r["estimator"], r["quantity"][0], r["n"]) == (*name, n)]
            here = [r for r in here if r["bias"] is not None]
            if not here:
                continue
            short = []
            for r in here:
                limit = limits[r["process"]]["E, Shannon" if "Shannon" in r["quantity"] else "E"]
                if limit is not None:
                    short.append(abs(r["mean"] - limit[0]))
            covered = [r["coverage"] for r in here if r["coverage"] is not None]
            ratio = [r["claimed_over_actual"] for r in here if r["claimed_over_actual"] is not None]
            bias = [abs(r["bias"]) for r in here]
            body.append(
                [
                    f"{n:,}",
                    f"{name[0]}, {'E' if name[1] == 'E' else 'PI'}",
                    str(len(here)),
                    number(float(np.median(bias))),
                    number(max(bias)),
                    number(_median(r["scatter"] for r in here)),
                    number(_median(short)),
                    f"{np.mean(covered):.0%}" if covered else "-",
                    number(_median(ratio), 2),
                    number(_median(r["seconds"] for r in here), 2),
                ]
            )
    head = ["samples", "estimator", "processes", "median abs. bias", "largest", "median scatter"]
    head += ["median distance to E", "coverage", "claimed / actual sd", "s"]
    return table(head, body)


def _median(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.median(known)) if known else None


def _better(rows: list[Row], processes: list[Row], n: int) -> list[str]:
    asked = {p["process"]: p.get("m", 1) for p in processes}
    lines, wins = [], 0
    here = [r for r in stochastic(rows) if r["n"] == n and r["bias"] is not None]
    names = list(dict.fromkeys(r["process"] for r in here))
    for process in names:
        own = [r for r in here if r["process"] == process and r["estimator"] == "selforg"]
        if not own:
            continue
        least = min(map(error, own))
        # PI_1 is an easier question than the one that the others were asked.
        easier = "PI_1," if asked[process] > 1 else "none"
        others = [r for r in here if r["process"] == process and not r["estimator"].startswith("selforg")]
        others = [r for r in others if not r["quantity"].startswith(easier)]
        ahead = sorted((r for r in others if error(r) < least), key=error)
        wins += not ahead
        if ahead:
            who = ", ".join(f"{r['estimator']} {error(r):.3f} ({r['quantity']})" for r in ahead)
            lines.append([process, number(least), who])
    return [
        "Root mean square error against the quantity that each estimates (PI_1 only where m = 1). "
        f"On {wins} of {len(names)} processes no peer is ahead of `quantify`; "
        "on the others:\n",
        *table(["process", "selforg", "ahead of it"], lines),
    ]


def _cell(found: list[Row]) -> str:
    parts = []
    for r in found:
        text = f"{r['bias']:+.3f}" if r["bias"] is not None else f"({r['mean']:.3f})"
        text += f" ± {number(r['scatter'])}" if r["scatter"] is not None else ""
        parts.append(text + (f", {r['coverage']:.0%}" if r["coverage"] is not None else ""))
    return "; ".join(parts) or "-"


def _each(rows: list[Row], n: int) -> list[str]:
    here = [r for r in stochastic(rows) if r["n"] == n]
    columns = list(dict.fromkeys((r["estimator"], r["quantity"][0]) for r in here))
    body = []
    for process in dict.fromkeys(r["process"] for r in here):
        cells = []
        for name, first in columns:
            cells.append(
                _cell(
                    [
                        r
                        for r in here
                        if (r["process"], r["estimator"], r["quantity"][0]) == (process, name, first)
                    ]
                )
            )
        body.append([process, *cells])
    head = ["process", *(f"{name}, {'E' if first == 'E' else 'PI'}" for name, first in columns)]
    return ["A share after the comma is the coverage.\n", *table(head, body)]


def _dimensions(rows: list[Row], sizes: list[int]) -> list[str]:
    here = [r for r in rows if r["kind"] == "deterministic"]
    columns = list(dict.fromkeys((r["estimator"], r["quantity"]) for r in here))
    body = []
    for process in dict.fromkeys(r["process"] for r in here):
        for n in sizes:
            cells = [
                _cell(
                    [
                        r
                        for r in here
                        if (r["process"], r["estimator"], r["quantity"], r["n"]) == (process, *column, n)
                    ]
                )
                for column in columns
            ]
            if set(cells) != {"-"}:
                body.append([process, f"{n:,}", *cells])
    return table(["system", "samples", *(f"{name}, {quantity}" for name, quantity in columns)], body)


def _times(rows: list[Row], sizes: list[int]) -> list[str]:
    body = []
    for name in dict.fromkeys(r["estimator"] for r in rows):
        cells = []
        for n in sizes:
            here = [r for r in rows if (r["estimator"], r["n"]) == (name, n)]
            seconds = _median(r.get("seconds") for r in here)
            reasons = sorted({r["reason"] for r in here if "reason" in r})
            failed = sum("reason" in r for r in here)
            of = len({r["process"] for r in here})
            text = f" ({failed} of {of}: {'; '.join(reasons)})" if failed else ""
            cells.append(number(seconds, 2) + text)
        body.append([name, *cells])
    return table(["estimator", *(f"{n:,}" for n in sizes)], body)


def _failures(rows: list[Row]) -> list[str]:
    failed = [r for r in rows if "reason" in r]
    lines = [f"- {r['estimator']}, {r['process']}, {r['n']:,} samples: {r['reason']}" for r in failed]
    return ["\n## What gave no answer\n", *lines] if lines else []


def _figure(rows: list[Row], n: int, sizes: list[int], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    here = [r for r in stochastic(rows) if r["n"] == n and r["bias"] is not None]
    processes = list(dict.fromkeys(r["process"] for r in here))
    columns = list(dict.fromkeys((r["estimator"], r["quantity"][0]) for r in here))
    colours = {name: f"C{i}" for i, name in enumerate(dict.fromkeys(r["estimator"] for r in rows))}
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 8), width_ratios=(2.2, 1), layout="constrained")
    for i, (name, first) in enumerate(columns):
        found = [r for r in here if (r["estimator"], r["quantity"][0]) == (name, first)]
        y = [processes.index(r["process"]) + 0.6 * (i / max(len(columns) - 1, 1) - 0.5) for r in found]
        left.errorbar(
            [r["bias"] for r in found],
            y,
            xerr=[r["scatter"] or 0 for r in found],
            fmt="o" if name == "selforg" else ".",
            markersize=5,
            linewidth=1,
            color=colours[name],
            markerfacecolor="w" if name == "selforg" and first == "P" else colours[name],
            label=f"{name}, {'E' if first == 'E' else 'PI'}",
        )
    left.axvline(0, color="k", linewidth=0.8)
    left.set_xscale("symlog", linthresh=0.05)
    left.set_xticks([-1, -0.2, -0.05, 0, 0.05, 0.2, 1], ["-1", "-.2", "-.05", "0", ".05", ".2", "1"])
    left.set_yticks(range(len(processes)), processes)
    left.invert_yaxis()
    left.grid(axis="y", alpha=0.2)
    left.set_xlabel(f"bias ± scatter in nats, {n:,} samples")
    figure.legend(fontsize=8, loc="outside lower center", ncols=5)
    for name in dict.fromkeys(r["estimator"] for r in rows):
        times = [
            (size, _median(r["seconds"] for r in rows if (r["estimator"], r["n"]) == (name, size)))
            for size in sizes
        ]
        times = [(size, t) for size, t in times if t is not None]
        right.loglog(*zip(*times, strict=True), "o-", label=name, color=colours[name])
    right.set_xlabel("samples")
    right.set_ylabel("processor time in s, median")
    right.legend(fontsize=8)
    figure.savefig(path, dpi=110)
