"""Kill experiments at random moments: the file opens, nothing reported is lost, and the end is the same."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest

from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.runfiles import growing
from experiments.runfiles.growing import read_commit
from experiments.runfiles.run_file import open_run_file

LEARN: dict[str, Any] = {
    "robot": "hexapod",
    "minutes": 0.12,
    "freeze": (0.0, 0.05, 0.12),
    "checkpoint": 40,
}
SHORT = LEARN | {"minutes": 0.05, "freeze": (0.0, 0.03)}
RECORD: dict[str, Any] = {"samples": 300, "transient": 70, "checkpoint": 40}


def digest(path: Path) -> dict[str, str]:
    """Checksum of every dataset of a file."""
    sums = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            sums[name] = hashlib.sha256(item[()].tobytes()).hexdigest()

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return sums


def in_child(work: Callable[[], object]) -> int:
    """Run `work` in a forked process; returns its id."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
    return pid


def kill_later(pid: int, delay: float) -> bool:
    """SIGKILL after a while; whether the process was still at work. It must not have failed."""
    end = time.monotonic() + delay
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0
            return False
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], Path, dict[str, str]]:
    """An uninterrupted learning run, and the same with its recordings."""
    folder = tmp_path_factory.mktemp("whole")
    learned, recorded = folder / "learned.h5", folder / "recorded.h5"
    for path in (learned, recorded):
        learn(Learn(out=path, **LEARN))
    record(Record(runs=(recorded,), jobs=1, **RECORD))
    assert len(digest(learned)) > 10
    return learned, digest(learned), recorded, digest(recorded)


@pytest.mark.guard
@pytest.mark.parametrize("times", [pytest.param(3, marks=pytest.mark.long), 20])
def test_learning_killed_again_and_again_ends_as_if_never_killed(whole, tmp_path: Path, times: int) -> None:
    learned, expected, _, _ = whole
    with open_run_file(learned) as run:
        truth = run.learning.sensors[:]
    rng = random.Random(1)
    start = time.monotonic()
    learn(Learn(out=tmp_path / "timing.h5", **LEARN))
    duration = time.monotonic() - start
    kills, round_ = 0, 0
    while kills < times or round_ < 2:  # a busy machine may kill one run all these times
        path = tmp_path / f"{round_}.h5"
        round_ += 1
        alive = True
        while alive:
            # Up to two thirds of a run: most runs die several times, some only while the file is finished.
            pid = in_child(lambda path=path: learn(Learn(out=path, **LEARN)))
            alive = kill_later(pid, rng.uniform(0, 0.7 * duration))
            kills += alive
            if path.exists():
                with open_run_file(path) as run:
                    rows = run.learning.sensors[:]
                assert rows.tobytes() == truth[: len(rows)].tobytes()
        assert digest(path) == expected
        assert [p.name for p in tmp_path.glob(f"{path.name}.*")] == []
        path.unlink()


@pytest.mark.guard
@pytest.mark.parametrize("times", [pytest.param(3, marks=pytest.mark.long), 20])
def test_recording_killed_again_and_again_ends_as_if_never_killed(whole, tmp_path: Path, times: int) -> None:
    learned, _, _, expected = whole
    rng = random.Random(2)
    timing = tmp_path / "timing.h5"
    timing.write_bytes(learned.read_bytes())
    start = time.monotonic()
    record(Record(runs=(timing,), jobs=1, **RECORD))
    duration = time.monotonic() - start
    kills, round_ = 0, 0
    while kills < times or round_ < 2:  # a busy machine may kill one run all these times
        path = tmp_path / f"{round_}.h5"
        path.write_bytes(learned.read_bytes())
        round_ += 1
        alive, rows = True, 0
        while alive:
            work = lambda path=path: record(Record(runs=(path,), jobs=1, **RECORD))  # noqa: E731
            alive = kill_later(in_child(work), rng.uniform(0, 0.7 * duration))
            kills += alive
            with open_run_file(path) as run:
                now = sum(len(behaviour.sensors) for behaviour in run.behaviours.values())
            assert now >= rows, "rows were lost"
            rows = now
        assert digest(path) == expected
        assert [p.name for p in tmp_path.glob(f"{path.name}.*")] == []
        path.unlink()


@pytest.mark.guard
@pytest.mark.parametrize(
    "torn",
    [pytest.param(False, marks=pytest.mark.long), True],
    ids=["after a write", "in the middle of a write"],
)
def test_death_at_every_write_of_a_run(tmp_path: Path, torn: bool) -> None:
    """Die at the n-th write, for all n: no order of events is left to luck."""
    learn(Learn(out=tmp_path / "whole.h5", **SHORT))
    expected = digest(tmp_path / "whole.h5")
    original = growing.os.pwrite
    n, finished = 0, False
    while not finished:
        path = tmp_path / f"{n}.h5"

        def work(path: Path = path, n: int = n) -> None:
            count = 0

            def pwrite(fd: int, data: bytes, offset: int) -> int:
                nonlocal count
                count += 1
                if count > n:
                    # The commit record is 32 bytes in one page: the kernel does not tear it.
                    if torn and len(data) > 32:
                        original(fd, data[: len(data) // 2], offset)
                    os._exit(9)
                return original(fd, data, offset)

            growing.os.pwrite = pwrite
            learn(Learn(out=path, **SHORT))

        _, status = os.waitpid(in_child(work), 0)
        finished = status == 0
        if path.exists():
            with open_run_file(path):
                pass
        learn(Learn(out=path, **SHORT))
        assert digest(path) == expected
        path.unlink()
        n += 1
    assert n > 20


@pytest.mark.guard
def test_killed_parent_leaves_no_worker_behind(whole, tmp_path: Path) -> None:
    """The command itself, with worker processes: its death ends theirs, and the next call takes over."""
    learned, _, _, expected = whole
    path = tmp_path / "run.h5"
    path.write_bytes(learned.read_bytes())
    command = [sys.executable, "-m", "experiments.cli", "record", str(path), "--jobs", "2"]
    command += [f"--{key}={value}" for key, value in RECORD.items() if key != "quiet"]
    kills = 0
    for _ in range(3):
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        parts = [tmp_path / f"run.h5.{name}.part" for name in ("0min", "0.05min", "0.12min")]
        end = time.monotonic() + 60
        # Wait until a worker is in the middle of its work.
        while process.poll() is None and time.monotonic() < end:
            if any(part.exists() and 0 < read_commit(part)[0] < 370 for part in parts):
                break
            time.sleep(0.01)
        kills += process.poll() is None
        process.kill()
        process.wait()
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr
    assert digest(path) == expected
    assert kills >= 1


@pytest.mark.guard
def test_ctrl_c_ends_recording_with_all_its_workers(whole, tmp_path: Path) -> None:
    """The interrupt of a terminal reaches parent and workers at once."""
    learned, _, _, expected = whole
    path = tmp_path / "run.h5"
    path.write_bytes(learned.read_bytes())
    command = [sys.executable, "-m", "experiments.cli", "record", str(path), "--jobs", "2"]
    command += [f"--{key}={value}" for key, value in RECORD.items() if key != "quiet"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background jobs, the test run perhaps among them, ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end and not list(tmp_path.glob("*.part")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in error, error
    assert "interrupted; what was committed is safe" in error
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr
    assert digest(path) == expected
