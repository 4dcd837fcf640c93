"""Strange words and broken files, ten thousand: no traceback, no hang, no success without a result."""

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.cli import main
from experiments.pipeline.learn import Learn, learn
from experiments.runfiles.growing import GrowingFile
from tests.experiments.children import in_child
from tests.experiments.fuzz import cases, files, tables, words
from tests.experiments.fuzz.cases import attempt

FAMILIES = {
    "command lines": words.command_lines,
    "configurations": words.configurations,
    "damaged runs": files.damaged_runs,
    "foreign runs": files.foreign_runs,
    "results": files.results,
    "tables": tables.tables,
}
CASES = {name: 2000 for name in FAMILIES}


def fill(folder: Path) -> None:
    """A run that was recorded and quantified, half of one, and a table."""

    def make() -> str:
        run = str(folder / "run.h5")
        learned = main(f"learn barrel --minutes 0.1 --freeze 0.1 --checkpoint 50 --quiet --out {run}".split())
        recorded = main(f"record {run} --samples 300 --transient 0 --checkpoint 100 --quiet --jobs 1".split())
        quick = "--m-max 2 --tau 1 --replicates 0 --predictive 0 --quiet"
        return f"{learned} {recorded} {main(['quantify', run, *quick.split()])}"

    def half() -> str:
        kept = GrowingFile.commit

        def commit(self: GrowingFile, steps: int, state: Any) -> None:
            if steps > 100:
                raise KeyboardInterrupt
            kept(self, steps, state)

        GrowingFile.commit = commit  # type: ignore[method-assign]
        try:
            learn(Learn("barrel", minutes=0.1, freeze=(0.1,), checkpoint=50, out=folder / "half.h5"))
        except KeyboardInterrupt:
            return "interrupted"
        return "not interrupted"

    assert (in_child(make, 120), in_child(half)) == ("0 0 0", "interrupted")
    rows = np.random.default_rng(1).normal(size=(300, 2))
    np.savetxt(folder / "series.csv", rows, delimiter=",", header="a,b", comments="")


@pytest.fixture(scope="module")
def samples(made_once: Callable[..., Path]) -> Path:
    return made_once("fuzzed", fill)


@pytest.mark.guard
@pytest.mark.parametrize("name", FAMILIES)
def test_some_of_everything(name: str, samples: Path, tmp_path: Path) -> None:
    attempt(FAMILIES[name](samples), range(100), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("name", FAMILIES)
def test_ten_thousand(name: str, part: int, samples: Path, tmp_path: Path) -> None:
    share = CASES[name] // 10
    attempt(FAMILIES[name](samples), range(part * share, (part + 1) * share), tmp_path)


def _faulty(words: list[str]) -> int:
    """A program with one of each fault."""
    match words:
        case ["raise"]:
            raise KeyError("x")
        case ["hang"]:
            while True:
                pass
        case ["die"]:
            os._exit(2)
        case ["many lines"]:
            print("selforg: one\ntwo", file=sys.stderr)
            return 2
        case ["nothing said"]:
            return 2
        case ["no such status"]:
            return 1
    return 0


@pytest.mark.guard
@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("raise", "a traceback: "),
        ("hang", "killed by signal (14|27)"),  # of wall time or of processor time
        ("die", "it died"),
        ("many lines", "not one line"),
        ("nothing said", "not one line"),
        ("no such status", "status 1"),
        ("wrong", "there is no result"),
    ],
)
def test_faults_are_found(word: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "main", _faulty)
    monkeypatch.setattr(cases, "SECONDS", 2)

    def family(rng: random.Random, folder: Path) -> cases.Case:
        return cases.Case([word], "made up", lambda end: "there is no result")

    with pytest.raises(AssertionError, match=found):
        attempt(family, range(1), tmp_path)
    assert word in cases.last(tmp_path)
