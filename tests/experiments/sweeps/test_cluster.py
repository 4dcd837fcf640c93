"""A real Dask cluster on this machine: a scheduler, two workers, and the death of one of them."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.console import Terminal
from experiments.errors import ExperimentError
from experiments.settings import Scale
from experiments.studies.comparison.compare import Compare, compare
from experiments.sweeps.sweep import mixed, sweep
from tests.experiments.sweeps.sweep_tasks import Settings, count, task

NEEDED = "Dask is not installed; pip install 'selforg[cluster]'"
distributed = pytest.importorskip("distributed", reason=NEEDED)
pytestmark = pytest.mark.guard

ROOT = Path(__file__).parents[3]
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Cluster:
    """`dask scheduler` and `dask worker` as a user would start them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(self.file),
        )  # fmt: skip
        wait_until(lambda: self.file.exists() and self.file.read_text() != "")
        self.address = json.loads(self.file.read_text())["address"]

    def add_worker(self, path: str = "") -> None:
        """A worker without a guardian that would start it again; `path` goes before that of its modules."""
        number = len(self.workers)
        place = self.folder / f"worker-{number}"
        place.mkdir()
        self.workers.append(
            self._start("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
                        "--name", f"w{number}", "--local-directory", str(place), cwd=place, path=path)
        )  # fmt: skip

    def _start(self, *words: str, cwd: Path | None = None, path: str = "") -> "subprocess.Popen[bytes]":
        command = [str(Path(sys.executable).with_name("dask")), *words]
        environment = os.environ | {
            "PYTHONPATH": f"{path}{os.pathsep}{ROOT}" if path else str(ROOT),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
        }
        return subprocess.Popen(command, env=environment, cwd=cwd, start_new_session=True, **QUIET)

    def close(self) -> None:
        """End every process that is left."""
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                process.kill()
            process.wait()


class KillOne(threading.Thread):
    """Kills a worker that has just begun a task, once three tasks are done."""

    def __init__(self, notes: Path, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self.notes, self.cluster, self.killed = notes, cluster, False

    def run(self) -> None:
        """Wait for the moment, and strike."""
        wait_until(lambda: count(self.notes, "done") >= 3)
        old = set(self.notes.glob("*-begun-*"))
        wait_until(lambda: len(list(self.notes.glob("*-begun-*"))) > len(old))
        (new, *_) = set(self.notes.glob("*-begun-*")) - old
        worker = int(new.name.split("-")[2])
        assert worker in {process.pid for process in self.cluster.workers}
        os.kill(worker, signal.SIGKILL)
        self.killed = True


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Fail unless something becomes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    found = Cluster(tmp_path)
    try:
        found.add_worker()
        found.add_worker()
        yield found
    finally:
        found.close()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def test_a_worker_dies_and_nothing_is_lost_or_doubled(tmp_path: Path, notes: Path, cluster: Cluster) -> None:
    configs = [Settings(seed, notes, seconds=0.4, samples=1500) for seed in range(10)]
    # First here, so that compiled code is at hand when the workers need it.
    local = [dataclasses.replace(config, notes=tmp_path, seconds=0.0) for config in configs]
    expected = sweep(task, local, store=tmp_path / "local", scale=Scale(jobs=1))
    assert [row["seed"] for row in expected] == list(range(10))
    killer = KillOne(notes, cluster)
    killer.start()
    rows = sweep(
        task, configs, store=tmp_path / "store", scale=Scale(backend="dask", scheduler=cluster.address)
    )
    killer.join()
    assert killer.killed
    # The task that died with its worker was begun a second time; it alone.
    assert count(notes, "begun") == 11
    assert count(notes, "done") == 10
    assert sorted(p.suffix for p in (tmp_path / "store").iterdir()) == [".json"] * 10
    assert rows == expected
    # All is there: no worker is needed any more.
    cluster.close()
    again = sweep(
        task, configs, store=tmp_path / "store", scale=Scale(backend="dask", scheduler=cluster.address)
    )
    assert again == rows and count(notes, "begun") == 11


@pytest.mark.long
def test_a_comparison_on_machines_that_do_not_see_the_store_equals_the_local_one(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("a folder that exists for one process only is made with /proc, which Linux has")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    small = Compare(
        *(("hexapod",), ("ulr", "sine")),
        **{"n_seeds": 1, "minutes": 0.05, "samples": 1200, "transient": 20, "surrogates": False},
    )
    # This path leads every process to its own working directory: the workers have no such store.
    away = dataclasses.replace(small, out=Path("/proc/self/cwd/cluster"))
    expected = compare(dataclasses.replace(small, out=tmp_path / "local", jobs=1)).document
    found = compare(dataclasses.replace(away, backend="dask", scheduler=cluster.address)).document
    assert [row["reason"] for row in found["rows"]] == [""] * 2
    for part in ("rows", "robots", "fairness"):
        assert found[part] == expected[part]
    assert len(list((here / "cluster" / "store").glob("*.json"))) == 4  # frozen, and learning on
    assert not list(tmp_path.glob("worker-*/cluster"))


def test_a_task_that_fails_on_a_worker_is_a_row(tmp_path: Path, notes: Path, cluster: Cluster) -> None:
    fine, odd, impossible = (Settings(i, notes, fail=f) for i, f in enumerate(("", "value", "experiment")))
    # Kills the workers that run it, one after the other, until the cluster gives it up; the sweep goes on.
    deadly = Settings(9, notes, fail="death")
    cluster.add_worker()
    rows = sweep(
        task,
        [fine, odd, impossible, deadly],
        store=tmp_path / "store",
        scale=Scale(backend="dask", scheduler=cluster.address),
    )
    assert rows[0]["seed"] == 0
    assert rows[1]["reason"].endswith(": seed 1 is odd") and rows[2]["reason"] == "seed 2 cannot be"
    assert rows[3]["reason"].startswith("the cluster gave up: ")
    assert ["unfinished" in row for row in rows] == [False, True, False, True]


def test_a_cluster_without_workers_is_waited_for_and_said_to_be_empty(
    tmp_path: Path, notes: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster(tmp_path)
    try:
        later = threading.Timer(1.0, cluster.add_worker)
        later.start()
        where = Scale(backend="dask", scheduler=cluster.address)
        rows = sweep(task, [Settings(1, notes)], store=tmp_path / "store", scale=where, feedback=Terminal())
        assert rows[0]["seed"] == 1
        assert f"{cluster.address} has no workers; waiting for them" in capfd.readouterr().err
    finally:
        later.join()
        cluster.close()


@pytest.mark.long
def test_a_worker_that_retires_lets_go_of_its_task(tmp_path: Path, notes: Path) -> None:
    """Its thread holds HDF5's lock; a Python that ends in order would wait for it, the task's file locked."""
    cluster = Cluster(tmp_path)
    try:
        cluster.add_worker()
        stuck = Settings(1, notes, fail="stuck once")
        rows: list[dict[str, Any]] = []
        where = Scale(backend="dask", scheduler=cluster.address)
        waiting = threading.Thread(
            target=lambda: rows.extend(sweep(task, [stuck], store=tmp_path, scale=where))
        )
        waiting.start()
        wait_until(lambda: count(notes, "begun") == 1)
        with distributed.Client(cluster.address, set_as_default=False) as client:
            (first,) = client.scheduler_info()["workers"]
            cluster.add_worker()
            client.retire_workers([first])
        # Dask gives a task half a minute to end by itself.
        cluster.workers[0].wait(timeout=100)
        waiting.join(timeout=60)
        assert [row["seed"] for row in rows] == [1]
        assert (count(notes, "begun"), count(notes, "done")) == (2, 1)
    finally:
        cluster.close()


def test_a_scheduler_that_goes_away_ends_the_sweep_in_words(
    tmp_path: Path, notes: Path, cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    configs = [Settings(seed, notes, seconds=1.0 + 60.0 * seed) for seed in range(2)]

    def strike() -> None:
        wait_until(lambda: count(notes, "done") == 1)
        wait_until(lambda: len(list(tmp_path.glob("store/*.json"))) == 1)
        cluster.scheduler.kill()

    threading.Thread(target=strike, daemon=True).start()
    with pytest.raises(ExperimentError, match="is gone; finished results are kept: start"):
        sweep(task, configs, store=tmp_path / "store", scale=Scale(backend="dask", scheduler=cluster.address))
    assert len(list((tmp_path / "store").glob("*.json"))) == 1
    assert "Traceback" not in capfd.readouterr().err


def test_a_scheduler_that_is_not_there_is_named(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.sweeps.workers.CONNECT", 0.5)
    with pytest.raises(ExperimentError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 "):
        nobody = Scale(backend="dask", scheduler="tcp://127.0.0.1:9")
        sweep(task, [Settings(1, notes)], store=tmp_path, scale=nobody)


def test_a_worker_with_other_versions_is_named(
    tmp_path: Path, notes: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its rows say so, and so does whoever puts them together."""
    (tmp_path / "other").mkdir()
    pretend = "m.version = lambda name: '0.1' if name == 'scipy' else version(name)"
    lines = ["import importlib.metadata as m", "version = m.version", pretend]
    (tmp_path / "other" / "sitecustomize.py").write_text("\n".join(lines))
    found = Cluster(tmp_path)
    try:
        found.add_worker(str(tmp_path / "other"))
        scale = Scale(backend="dask", scheduler=found.address)
        (row,) = sweep(task, [Settings(1, notes)], store=tmp_path / "store", scale=scale, feedback=Terminal())
    finally:
        found.close()
    assert row["made_with"] == {"scipy": "0.1"}
    assert "a worker computes with other versions (scipy is '0.1' there" in capfd.readouterr().err
    assert mixed([row], {"scipy": "1.1"}) == {"scipy": "1.1 and 0.1"}
