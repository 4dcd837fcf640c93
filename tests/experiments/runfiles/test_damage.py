"""Damage anywhere: every block of a file is zeroed in turn, and each command still ends in time, in words."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from experiments.cli import main
from experiments.errors import FileError
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.quantify import Quantify, quantify
from experiments.pipeline.record import Record, record
from experiments.runfiles.growing import GrowingFile
from experiments.runfiles.run_file import RunFile, open_run_file
from experiments.runfiles.salvage import Salvage, salvage
from tests.experiments.children import in_child

pytestmark = pytest.mark.guard
SAMPLES, TRANSIENT = 300, 10
BLOCK = 512

Content = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small finished run, recorded and quantified."""
    path = tmp_path_factory.mktemp("whole") / "run.h5"
    learn(Learn("barrel", minutes=0.1, freeze=(0.1,), checkpoint=150, out=path))
    record(recording(path))
    quantify(measurement(path))
    return path


@pytest.fixture(scope="module")
def part_file(run_file: Path) -> Path:
    """The same recording, stopped after two of its four checkpoints."""
    path = run_file.with_name("half") / "run.h5"
    path.parent.mkdir()
    shutil.copy(run_file, path)
    with h5py.File(path, "r+") as file:
        del file["behaviours"]
        if "results" in file:
            del file["results"]
    kept = GrowingFile.commit

    def commit(self: GrowingFile, steps: int, state: Content) -> None:
        if steps > 160:
            raise KeyboardInterrupt
        kept(self, steps, state)

    GrowingFile.commit = commit  # type: ignore[assignment, method-assign]
    try:
        with pytest.raises(KeyboardInterrupt):
            record(recording(path))
    finally:
        GrowingFile.commit = kept  # type: ignore[method-assign]
    (part,) = path.parent.glob("*.part")
    return part


def recording(path: Path) -> Record:
    return Record((path,), SAMPLES, transient=TRANSIENT, checkpoint=80, jobs=1)


def measurement(path: Path) -> Quantify:
    return Quantify(str(path), tau=1, m_max=2, replicates=0, predictive=0)


def content(run: RunFile) -> Content:
    """Everything that a run holds, as flat arrays."""
    flat = {"words": np.array([run.robot, run.controller, str(run.seed), json.dumps(run.config)])}
    for recorded in (run.learning, *run.behaviours.values()):
        flat |= {f"{recorded.name}/{name}": rows[:] for name, rows in recorded.tracks.items()}
        flat[f"{recorded.name}/names"] = np.array(recorded.sensors.names)
    for name, state in run.frozen.items():
        flat |= {f"frozen/{name}/controller/{key}": value for key, value in state.controller.items()}
        flat |= {f"frozen/{name}/body/{key}": value for key, value in state.body.items()}
        flat[f"frozen/{name}/sensors"] = state.sensors
    return flat | {f"result/{name}": np.array(json.dumps(r)) for name, r in run.results.items()}


def use(path: Path, truth: Content) -> str:
    """Read a damaged run in every way there is; says whether it was read, and what was saved."""
    try:
        with open_run_file(path) as run:
            found = content(run)
        same = found.keys() == truth.keys() and all(np.array_equal(found[k], truth[k]) for k in truth)
        outcome = "read" if same else "read WRONGLY"
    except FileError as error:
        outcome = "refused" if "damaged" in str(error) or "destroyed" in str(error) else f"WORDS: {error}"
    shared = ["--quiet", "--tau", "1", "--m-max", "2", "--replicates", "0", "--predictive", "0"]
    steps = ["--samples", SAMPLES, "--transient", TRANSIENT, "--checkpoint", 80, "--jobs", 1, "--quiet"]
    for command in (["show", path], ["quantify", path, *shared], ["record", path, *steps]):
        status = main([str(word) for word in command])
        if status != 0 and (status != 2 or outcome == "read"):
            return f"`selforg {command[0]}` ended with {status}, though the file was {outcome}"
    out = path.with_name("saved.h5")
    try:
        salvage(Salvage(path, out))
    except FileError:
        return f"{outcome}, lost"
    if main(["show", str(out)]) != 0:
        return "what was saved cannot be shown"
    with h5py.File(out) as file:
        for name in ("learning", "behaviours/0.1min"):
            for key in file.get(name, ()):
                rows = file[f"{name}/{key}"][:]
                true = truth[f"{name.rpartition('/')[2]}/{key}"][: len(rows)]
                # What is lost of all recordings is empty, and has no columns to know.
                if len(rows) and not np.array_equal(rows, true):
                    return f"WRONG rows of {name}/{key} were saved"
    return f"{outcome}, saved"


def damages(data: bytes, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """All blocks zeroed in turn, then random spans of zeros, noise, or nothing at all."""
    for start in range(0, len(data), BLOCK):
        if any(data[start : start + BLOCK]):
            yield f"zeros at {start}", data[:start] + bytes(BLOCK) + data[start + BLOCK :]
    for kind in ("zeros", "noise", "cut out"):
        for _ in range(8):
            length = int(rng.choice([1, 16, 4096]))
            start = int(rng.integers(len(data) - length))
            span = {"zeros": bytes(length), "noise": rng.bytes(length), "cut out": b""}[kind]
            yield f"{length} bytes {kind} at {start}", data[:start] + span + data[start + length :]


@pytest.mark.long
def test_no_damaged_run_hangs_lies_or_ends_in_a_traceback(run_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    shutil.copy(run_file, path)  # alone: its results lie in files of their own
    with open_run_file(path) as run:
        truth = content(run)
    outcomes: Counter[str] = Counter()
    for words, data in damages(run_file.read_bytes(), np.random.default_rng(1)):
        for left in tmp_path.iterdir():
            left.unlink()
        path.write_bytes(data)
        outcome = in_child(lambda: use(path, truth))
        assert outcome in ("read, saved", "refused, saved", "refused, lost"), f"{words}: {outcome}"
        outcomes[outcome] += 1
    # Most blocks are worth something, and hardly any takes all the rest with it.
    assert outcomes["refused, saved"] > 0.7 * outcomes.total()


def test_no_damaged_recording_is_continued(part_file: Path, run_file: Path, tmp_path: Path) -> None:
    """Whatever happens to a recording that is not finished: it ends as it should have, or is refused."""
    with open_run_file(run_file) as run:
        truth = run.behaviours["0.1min"].sensors[:]
    run_copy = tmp_path / "run.h5"
    part = tmp_path / part_file.name

    def go_on() -> str:
        try:
            record(recording(run_copy))
        except FileError as error:
            return "refused" if "damaged" in str(error) or "destroyed" in str(error) else f"WORDS: {error}"
        with open_run_file(run_copy) as run:
            same = np.array_equal(run.behaviours["0.1min"].sensors[:], truth)
        return "recorded" if same else "WRONG rows"

    data = part_file.read_bytes()
    places = [place for place in range(0, len(data), BLOCK) if any(data[place : place + BLOCK])]
    outcomes: Counter[str] = Counter()
    for place in places:
        for left in tmp_path.iterdir():
            left.unlink()
        shutil.copy(part_file.with_name("run.h5"), run_copy)
        part.write_bytes(data[:place] + bytes(BLOCK) + data[place + BLOCK :])
        outcome = in_child(go_on)
        assert outcome in ("recorded", "refused"), f"zeros at {place}: {outcome}"
        outcomes[outcome] += 1
    assert outcomes["refused"] > 3
