"""Two and three commands at once on one file: done or refused in one line, as if one came after another.

A round starts commands in children at random moments. Whatever happens, the folder must hold in the end what
those commands that were done give in one order or another.
"""

import io
import itertools
import os
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from experiments.cli import main
from experiments.pipeline.learn import Learn, learn
from experiments.runfiles import atomic
from experiments.runfiles.growing import GrowingFile
from tests.experiments.children import in_child, start
from tests.experiments.folders import content

SECONDS = 60
LEARN = "learn barrel --minutes 0.1 --freeze 0.1 --checkpoint 50 --out run.h5"
RECORD = "record run.h5 --transient 0 --jobs 1 --checkpoint 50"
COMMANDS = {
    "learn": LEARN,
    "record": f"{RECORD} --samples 300",
    "record --replace": f"{RECORD} --samples 320 --replace",
    "quantify": "quantify run.h5 --m-max 2 --tau 1 --replicates 0 --predictive 0",
    "report": "report run.h5 --seconds 0 --out page.html",
    "salvage": "salvage run.h5 saved.h5",
}
OTHER = {"learn": f"{LEARN} --seed 2", "record": f"{RECORD} --samples 310"}
STARTS = ("none", "half", "learned", "recorded")
# Why a command may be refused: another one is at work, was faster, or has not begun.
REFUSALS = re.compile(
    "is being written by another process|does not exist; check the name|has not finished learning|"
    "holds no recorded behaviour|holds another recording|holds another experiment|exists already|"
    "is not finished; run|meanwhile|was recorded anew or replaced while"
)


def run(folder: Path, command: str) -> str:
    """Status of a command in a folder, and what it says; in this process."""
    os.chdir(folder)
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        status = main([*command.split(), "--quiet"])
    said = [line for line in error.getvalue().splitlines() if not line.startswith("selforg: note: ")]
    return " ".join([str(status), *said])


def kept(folder: Path) -> dict[str, str]:
    """What must be as if one came after another; a page and what was saved show a moment in between."""
    found = content(folder)
    return {name: value for name, value in found.items() if not name.startswith(("page.html", "saved.h5"))}


@dataclass
class Orders:
    """What commands give one after another; each sequence is tried once."""

    base: Path
    tried: dict[tuple[str, ...], tuple[Path, str]] = field(default_factory=dict)

    def after(self, first: str, commands: Sequence[str]) -> tuple[Path, str]:
        """The folder after some commands, and what the last of them said."""
        key = (first, *commands)
        if not commands:
            return self.base / first, ""
        if key not in self.tried:
            before, _ = self.after(first, commands[:-1])
            folder = self.base / f"order-{len(self.tried)}"
            shutil.copytree(before, folder)
            self.tried[key] = folder, in_child(lambda: run(folder, commands[-1]), SECONDS)
        return self.tried[key]

    def explain(self, first: str, done: Sequence[str], found: dict[str, str]) -> tuple[str, ...] | None:
        """An order in which all these commands are done and give what was found; None if there is none."""
        for order in dict.fromkeys(itertools.permutations(done)):
            said = [self.after(first, order[: i + 1])[1] for i in range(len(order))]
            if all(words == "0" for words in said) and kept(self.after(first, order)[0]) == found:
                return order
        return None


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Orders:
    """The folders that a round may begin with."""
    base = tmp_path_factory.mktemp("orders")
    for name in STARTS:
        (base / name).mkdir()

    def half() -> str:
        kept = GrowingFile.commit

        def commit(self: GrowingFile, steps: int, state: Any) -> None:
            kept(self, steps, state)
            if steps == 100:
                os._exit(0)

        GrowingFile.commit = commit  # type: ignore[method-assign]
        learn(Learn("barrel", minutes=0.1, freeze=(0.1,), checkpoint=50, out=base / "half" / "run.h5"))
        return "it was not interrupted"

    assert in_child(half) == ""
    (base / "half" / "run.h5.lock").unlink(missing_ok=True)
    assert in_child(lambda: run(base / "learned", COMMANDS["learn"]), SECONDS) == "0"
    shutil.copy(base / "learned" / "run.h5", base / "recorded")
    assert in_child(lambda: run(base / "recorded", COMMANDS["record"]), SECONDS) == "0"
    return Orders(base)


def plan(rng: random.Random) -> Iterator[list[str]]:
    """The commands of two hundred rounds: all pairs, in both orders, three times; then random triples."""
    chosen = [*itertools.product(COMMANDS, repeat=2)] * 3
    chosen += [tuple(rng.choices(list(COMMANDS), k=3)) for _ in range(200 - len(chosen))]
    for names in rng.sample(chosen, len(chosen)):
        # Now and then another experiment, or a recording with other settings.
        yield [OTHER[name] if name in OTHER and rng.random() < 0.25 else COMMANDS[name] for name in names]


def one_round(folder: Path, commands: Sequence[str], rng: random.Random) -> list[str]:
    """Start commands with random delays; what each said."""

    # Commands this short are over before a patient one gives up; impatient ones are refused instead.
    patience = rng.choice([0.0, 0.0, 0.0, atomic.PATIENCE])

    def later(command: str, delay: float) -> Callable[[], str]:
        def work() -> str:
            atomic.PATIENCE = patience  # in a child
            time.sleep(delay)
            return run(folder, command)

        return work

    longest = rng.choice([0.0, 0.1, 0.5])
    children = [start(later(command, rng.uniform(0, longest)), SECONDS) for command in commands]
    return [child.end() for child in children]


def judge(folder: Path, first: str, commands: Sequence[str], said: list[str], orders: Orders) -> str:
    """What is wrong with the end of a round; empty if nothing is."""
    for words in said:
        refused = words.startswith("2 selforg: ") and words.count("selforg: ") == 1 and REFUSALS.search(words)
        if words != "0" and not refused:
            return f"neither done nor refused in one line for a known reason: {words!r}"
    done = [command for command, words in zip(commands, said, strict=True) if words == "0"]
    if not done and any(orders.after(first, [command])[1] == "0" for command in commands):
        return "all were refused, though one of them could have been done"
    found = kept(folder)
    if orders.explain(first, done, found) is None:
        return f"no order of {done} gives what is there: {found['files']}"
    if (folder / "saved.h5").exists():
        return saved_wrongly(folder, orders)
    return ""


def saved_wrongly(folder: Path, orders: Orders) -> str:
    """Whether rows that were saved, perhaps in the middle of learning, are not the first of the true ones."""
    with h5py.File(folder / "saved.h5") as file:
        rows = file["learning/sensors"][:]
    for truth in ("learned", "seed 2"):
        if truth == "learned":
            whole = orders.base / "learned"
        else:
            whole, _ = orders.after("none", [OTHER["learn"]])
        with h5py.File(whole / "run.h5") as file:
            if np.array_equal(rows, file["learning/sensors"][: len(rows)]):
                return ""
    return "salvage saved wrong rows"


def play(rounds: slice, orders: Orders, tmp_path: Path) -> Counter[str]:
    """Some of the rounds; how many commands were done and refused, and why."""
    counts = Counter[str]()
    for number, commands in list(enumerate(plan(random.Random(1))))[rounds]:
        rng = random.Random(number)
        learning = any(command.startswith("learn") for command in commands)
        first = rng.choice(STARTS[:2] if learning and rng.random() < 0.8 else STARTS[2:])
        folder = tmp_path / str(number)
        shutil.copytree(orders.base / first, folder)
        said = one_round(folder, commands, rng)
        wrong = judge(folder, first, commands, said, orders)
        assert not wrong, f"round {number}, {first}: {commands}: {said}: {wrong}"
        for words in said:
            reason = REFUSALS.search(words)
            counts[reason[0] if reason else "done"] += 1
        shutil.rmtree(folder)
    return counts


@pytest.mark.guard
def test_some_rounds(orders: Orders, tmp_path: Path) -> None:
    counts = play(slice(0, 10), orders, tmp_path)
    assert counts["done"] > 10 and counts.total() > 20


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_two_hundred_rounds(orders: Orders, tmp_path: Path, part: int) -> None:
    counts = play(slice(part, None, 4), orders, tmp_path)
    print(counts)
    assert counts["done"] > 50 and counts["is being written by another process"] > 2
