"""The benchmark of excess entropy: what it makes of measurements, without the programs of others."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import excess_entropy
from excess import page
from excess.estimators import ESTIMATORS, Found, gaussian
from excess.processes import PROCESSES

PROCESS = {p.name: p for p in PROCESSES}


def test_names_are_unique_and_twenty_processes_know_their_excess_entropy():
    assert len(PROCESS) == len(PROCESSES)
    assert sum(p.kind != "deterministic" for p in PROCESSES) >= 20
    assert all(p.D is not None or p.limit is None or p.limit > p.m for p in PROCESSES)


@pytest.mark.parametrize("name", ["white noise", "AR(2), damped", "AR(5)", "two channels"])
def test_gaussian_formula_finds_the_excess_entropy_of_a_linear_process(name):
    p = PROCESS[name]
    # sd .01 to .02 at this length.
    (found,) = gaussian(p.sample(20_000, 1), p)
    assert found.value == pytest.approx(p.truth(found.quantity, found.m, found.order)[0], abs=0.06)


def test_truths_are_computed_once(tmp_path):
    truths = excess_entropy.Truths(tmp_path / "truths.json")
    p = PROCESS["AR(1), .6"]
    assert truths(p, "E", None, 2) == pytest.approx((-0.5 * np.log(1 - 0.36), 0.0), abs=1e-6)
    (key,) = truths.known
    truths.known[key] = [7.0, 0.1]
    assert truths(p, "E", None, 2) == (7.0, 0.1)
    assert list(excess_entropy.Truths(tmp_path / "truths.json").known) == [key]


def test_rows_have_bias_scatter_and_coverage(tmp_path):
    truths = excess_entropy.Truths(tmp_path / "truths.json")
    p = PROCESS["AR(1), .6"]  # .2231
    values = (0.2, 0.24, 0.28)
    found = [Found("E", None, 2, value, value - 0.02, value + 0.02) for value in values]
    row = excess_entropy._row(p, found, truths)
    assert row["quantity"] == "E, order 2"
    assert row["bias"] == pytest.approx(0.24 - 0.2231, abs=1e-4)
    assert row["scatter"] == pytest.approx(0.04) and row["coverage"] == pytest.approx(1 / 3)
    assert row["claimed_over_actual"] == pytest.approx(0.04 / 3.92 / 0.04)


def test_a_run_goes_on_where_it_was_and_ends_in_a_page(tmp_path, monkeypatch, capsys):
    processes = tuple(PROCESS[name] for name in ("white noise", "AR(1), .6", "torus"))
    calls = []

    def ours(x, p):
        calls.append(len(x))
        if p.kind == "deterministic":
            return [Found("D", None, 2, 2.1, 1.9, 2.2)]
        return [Found("E", None, 2, 0.2, 0.1, 0.3)]

    def peer(x, p):
        raise MemoryError

    monkeypatch.setattr(excess_entropy, "PROCESSES", processes)
    for name, run in (("selforg", ours), ("nolds", peer)):
        monkeypatch.setitem(ESTIMATORS, name, replace(ESTIMATORS[name], run=run))
    # In this process, so that the calls can be counted.
    monkeypatch.setattr(excess_entropy, "measure", lambda *args: answer(*args))

    def answer(name, p, x):
        try:
            return {"found": [vars(f) for f in ESTIMATORS[name].run(x, p)], "seconds": 0.5}
        except MemoryError:
            return {"reason": "more than 6 GB"}

    store = tmp_path / "store.jsonl"
    names = ["selforg", "nolds", "Gaussian formula"]
    excess_entropy.run(store, {1000: 2}, names, [])
    first = len(calls)
    rows = excess_entropy.read(store)
    assert len(rows) == 3 * 2 + 2 * 2 + 1
    excess_entropy.run(store, {1000: 2}, names, [])
    assert excess_entropy.read(store) == rows
    assert calls.count(1000) == 6 and first >= 6

    monkeypatch.setattr(excess_entropy, "SIZES", (1000,))
    truths = excess_entropy.Truths(tmp_path / "truths.json")
    result = {
        **{"command": "x", "machine": "y", "python": "3", "versions": {"a": "b 1"}, "seconds_in_all": 3},
        "processes": [excess_entropy.known(p, truths) for p in processes],
        "rows": excess_entropy.summarise(rows, truths),
    }
    page.write(result, tmp_path)
    text = (tmp_path / "benchmark-excess-entropy.md").read_text()
    assert (
        "| AR(1), .6 | -0.023 ± 0.000, 100% |" in text
        and "nolds, torus, 1,000 samples: more than 6 GB" in text
    )
    assert (tmp_path / "benchmark-excess-entropy.png").stat().st_size > 10_000


def test_what_was_not_measured_again_stays():
    def row(process, estimator, n, mean):
        return {"process": process, "estimator": estimator, "n": n, "mean": mean}

    before = [row("AR(1), .6", "selforg", 10_000, 1.0), row("AR(1), .6", "ennemi", 10_000, 1.0)]
    before.append(row("a process that is no longer there", "selforg", 10_000, 1.0))
    now = [row("AR(1), .6", "selforg", 10_000, 2.0), row("white noise", "selforg", 10_000, 2.0)]
    assert excess_entropy.kept(before, now) == [now[1], now[0], before[1]]


@pytest.mark.long
def test_a_measurement_has_limits(monkeypatch):
    p = PROCESS["white noise"]

    def forever(x, p):
        while True:
            pass

    monkeypatch.setattr(excess_entropy, "SECONDS", 1)
    monkeypatch.setitem(ESTIMATORS, "nolds", replace(ESTIMATORS["nolds"], run=forever))
    assert excess_entropy.measure("nolds", p, p.sample(10, 1)) == {"reason": "more than 1 s"}
    assert excess_entropy.measure("Gaussian formula", p, p.sample(1000, 1))["found"][0]["quantity"] == "E"
