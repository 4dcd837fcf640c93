"""Sweeps: every task once, every result kept, whatever interrupts them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from experiments.console import Terminal
from experiments.errors import DiskError, ExperimentError, FileError
from experiments.settings import Scale
from experiments.sweeps.sweep import (
    cost,
    mixed,
    read_entry,
    sweep,
    task_key,
    with_origin,
    workspace,
    write_entry,
)
from tests.experiments.sweeps.sweep_tasks import Settings, count, heavy, task

ROOT = Path(__file__).parents[3]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_configurations_and_only_once(
    tmp_path: Path, notes: Path, jobs: int
) -> None:
    # The first task is the slowest: results arrive in another order than they are returned.
    configs = [Settings(seed, notes, seconds=0.3 if seed == 0 else 0.0) for seed in range(4)]
    first = sweep(task, [*configs, configs[1]], store=tmp_path / "store", scale=Scale(jobs=jobs))
    assert [row["seed"] for row in first] == [0, 1, 2, 3, 1]
    assert first[2] == {"seed": 2, "number": 2 / 3, "none": None}
    assert count(notes, "done") == 4
    more = [*reversed(configs), Settings(9, notes)]
    again = sweep(task, more, store=tmp_path / "store", scale=Scale(jobs=jobs))
    assert again[:4] == first[3::-1] and again[4]["seed"] == 9
    assert count(notes, "done") == 5


def test_a_key_depends_on_function_and_configuration_and_on_nothing_else(notes: Path) -> None:
    keys = {
        task_key(task, Settings(1, notes)),
        task_key(task, Settings(2, notes)),
        task_key(heavy, Settings(1, notes)),
        task_key(task, Settings(1, notes, seconds=0.5)),
    }
    assert len(keys) == 4
    assert task_key(task, Settings(1, Path(str(notes)), 0.0)) in keys
    with pytest.raises(ExperimentError, match="is a dict, not a dataclass"):
        task_key(task, {"seed": 1})


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_that_fails_says_why_and_does_not_stop_the_others(
    tmp_path: Path, notes: Path, jobs: int
) -> None:
    kinds = ["", "experiment", "value", "file", "", "import", "mistake"]
    configs = [Settings(seed, notes, fail=kind) for seed, kind in enumerate(kinds)]
    rows = sweep(task, configs, store=tmp_path, scale=Scale(jobs=jobs))
    assert "KeyError in sweep_tasks.py line" in rows.pop()["reason"]
    assert "module 'no_such_module' cannot be imported" in rows[5]["reason"]
    odd = rows[2].pop("reason")
    assert odd.startswith("ValueError in sweep_tasks.py line") and odd.endswith(": seed 2 is odd")
    assert [row.get("reason") for row in rows[:5]] == [
        None,
        "seed 1 cannot be",
        None,
        "the disk is full",
        None,
    ]
    # What cannot be is an outcome; what went wrong on the way is said to be unfinished and tried again.
    assert ["unfinished" in row for row in rows] == [False, False, True, True, False, True]
    sweep(task, configs, store=tmp_path, scale=Scale(jobs=jobs))
    assert [len(list(notes.glob(f"{seed}-begun-*"))) for seed in range(6)] == [1, 1, 2, 2, 1, 2]


def test_a_task_finds_what_its_interrupted_attempt_left_and_the_folder_goes_when_it_is_done(
    tmp_path: Path, notes: Path
) -> None:
    config = Settings(1, notes, fail="once")
    key = task_key(heavy, config)
    assert sweep(heavy, [config], store=tmp_path) == [{"reason": "interrupted", "unfinished": True}]
    assert (tmp_path / key / "data").exists()
    assert sweep(heavy, [config], store=tmp_path) == [{"found": ["data"]}]
    assert not (tmp_path / key).exists()
    kept = sweep(heavy, [Settings(2, notes)], store=tmp_path, keep=True)
    assert kept == [{"found": []}]
    assert (tmp_path / task_key(heavy, Settings(2, notes)) / "data").exists()


def test_outside_a_sweep_the_workspace_is_temporary() -> None:
    with workspace() as folder:
        (folder / "data").touch()
    assert not folder.exists()


@pytest.mark.guard
def test_two_sweeps_at_once_share_the_work(tmp_path: Path, notes: Path) -> None:
    configs = [Settings(seed, notes, seconds=0.4) for seed in range(6)]
    other = start(tmp_path / "store", notes, seeds=6, seconds=0.4)
    wait_until(lambda: count(notes, "begun") >= 1)
    rows = sweep(task, configs, store=tmp_path / "store", scale=Scale(jobs=1))
    out, _ = other.communicate(timeout=60)
    assert json.loads(out) == rows
    assert count(notes, "done") == 6
    # Neither waits while there is something else to do.
    mine = {path.name for path in notes.glob(f"*-done-{os.getpid()}-*")}
    assert 1 <= len(mine) < 6
    assert sorted(p.suffix for p in (tmp_path / "store").iterdir()) == [".json"] * 6


@pytest.mark.guard
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_sweep_leaves_no_process_and_continues(
    tmp_path: Path, notes: Path, sign: signal.Signals
) -> None:
    process = start(tmp_path / "store", notes, seeds=16, seconds=0.5)
    wait_until(lambda: count(notes, "done") >= 2)
    os.killpg(process.pid, sign) if sign == signal.SIGINT else process.send_signal(sign)
    _, said = process.communicate(timeout=30)
    assert process.returncode != 0 and "Exception in thread" not in said
    workers = {int(path.name.split("-")[2]) for path in notes.iterdir()}
    wait_until(lambda: not any(alive(pid) for pid in workers))
    done = count(notes, "done")
    assert 2 <= done < 16
    rows = sweep(
        task,
        [Settings(seed, notes, seconds=0.5) for seed in range(16)],
        store=tmp_path / "store",
        scale=Scale(jobs=2),
    )
    assert [row["seed"] for row in rows] == list(range(16))
    # A task may have been done, but not stored, at the moment of death: one per process at most.
    assert 16 <= count(notes, "done") <= 18


def test_the_death_of_a_worker_is_told_and_keeps_what_was_finished(tmp_path: Path, notes: Path) -> None:
    configs = [Settings(0, notes), Settings(1, notes, seconds=0.5, fail="death")]
    with pytest.raises(ExperimentError, match="a worker process died"):
        sweep(task, configs, store=tmp_path, scale=Scale(jobs=2))
    assert read_entry(tmp_path, task, configs[0]) is not None


@pytest.mark.guard
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_stops_the_sweep_because_the_process_is_spoilt(
    tmp_path: Path, notes: Path, jobs: int
) -> None:
    configs = [Settings(0, notes), Settings(1, notes, seconds=3.0, fail="disk")]
    with pytest.raises(DiskError, match="no space left"):
        sweep(task, configs, store=tmp_path, scale=Scale(jobs=jobs))
    assert read_entry(tmp_path, task, configs[0]) is not None


def test_a_damaged_result_is_named(tmp_path: Path, notes: Path) -> None:
    key = task_key(task, Settings(1, notes))
    (tmp_path / f"{key}.json").write_text('{"result": ')
    with pytest.raises(FileError, match=rf"{key}\.json is damaged .* delete it"):
        sweep(task, [Settings(1, notes)], store=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda entry: {}, "it holds no finished task"),
        (lambda entry: [], "it holds no finished task"),
        (lambda entry: {k: v for k, v in entry.items() if k != "versions"}, "it holds no finished task"),
        (lambda entry: entry | {"result": None}, "it holds no finished task"),
        (lambda entry: entry | {"function": "other:f"}, "a result of other:f, not of .*sweep_tasks:task"),
        (lambda entry: entry | {"config": entry["config"] | {"seed": 2}}, "seed is 2 there and 1 here"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(
    tmp_path: Path, notes: Path, change: Any, message: str
) -> None:
    config = Settings(1, notes)
    sweep(task, [config], store=tmp_path)
    path = tmp_path / f"{task_key(task, config)}.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(FileError, match=rf"\.json is damaged \(.*{message}\); delete it"):
        sweep(task, [config], store=tmp_path)
    with pytest.raises(FileError, match="is damaged"):
        cost(tmp_path, task, [config])


def unfit(config: Settings) -> Any:
    """A result that JSON cannot hold, or one that is no dict."""
    return {"seed": {config.seed}} if config.seed else [1]


def test_a_result_that_cannot_be_stored_is_a_row_and_stops_nobody(tmp_path: Path, notes: Path) -> None:
    rows = sweep(unfit, [Settings(0, notes), Settings(1, notes)], store=tmp_path, scale=Scale(jobs=1))
    assert [row["unfinished"] for row in rows] == [True, True]
    assert rows[0]["reason"].endswith("test_sweep:unfit gave a list, not a dict")
    assert "a result that JSON cannot hold: Object of type set" in rows[1]["reason"]
    assert not list(tmp_path.glob("*.json"))


def test_results_of_other_versions_are_used_with_a_note(
    tmp_path: Path, notes: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = Settings(1, notes)
    sweep(task, [config], store=tmp_path)
    key = task_key(task, config)
    entry = read_entry(tmp_path, task, config)
    assert entry is not None
    write_entry(tmp_path, key, entry | {"versions": entry["versions"] | {"numpy": "1.0"}})
    (row,) = sweep(task, [config], store=tmp_path, feedback=Terminal())
    assert "some results are older: numpy is '1.0' there" in capfd.readouterr().err
    assert count(notes, "done") == 1
    assert row["made_with"] == {"numpy": "1.0"}
    # Wherever a study puts it: versions come from the entries, and mixtures are named.
    here, named = {"numpy": "2.0", "scipy": "1.1"}, {"numpy": "2.0 and 1.0", "scipy": "1.1"}
    part = with_origin({"push": "left"}, row)
    for content in ([row, row, {}], {"rows": [part]}, {"controls": {"a": [row]}}, {"tuning": {"b": [part]}}):
        assert mixed(content, here) == named
    assert mixed({"rows": [with_origin({}, {})]}, here) == here


def test_the_cost_of_finished_tasks_is_known(tmp_path: Path, notes: Path) -> None:
    configs = [Settings(seed, notes, seconds=0.05) for seed in range(2)]
    sweep(task, configs[:1], store=tmp_path)
    (found,) = cost(tmp_path, task, configs)
    assert found["wall_s"] >= 0.05 > found["cpu_s"] >= 0
    assert found["peak_MB"] > 10


def test_settings_that_do_not_fit_are_refused(tmp_path: Path, notes: Path) -> None:
    for wrong, message in (
        ({"jobs": -1}, "--jobs is -1"),
        ({"backend": "dask"}, "go together"),
        ({"scheduler": "tcp://127.0.0.1:8786"}, "go together"),
    ):
        with pytest.raises(ExperimentError, match=message):
            sweep(task, [Settings(1, notes)], store=tmp_path, scale=Scale(**wrong))  # type: ignore[arg-type]
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot make the folder"):
        sweep(task, [Settings(1, notes)], store=tmp_path / "file")
    assert sweep(task, [], store=tmp_path) == []


def start(store: Path, notes: Path, seeds: int, seconds: float) -> "subprocess.Popen[str]":
    """A sweep in a process group of its own; prints the results as JSON."""
    script = (
        "import json, sys; from pathlib import Path; "
        "from tests.experiments.sweeps.sweep_tasks import Settings, task; "
        "from experiments.settings import Scale; from experiments.sweeps.sweep import sweep; "
        f"configs = [Settings(seed, Path({str(notes)!r}), {seconds}) for seed in range({seeds})]; "
        f"print(json.dumps(sweep(task, configs, store=Path({str(store)!r}), scale=Scale(jobs=2))))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background may have told all below to ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_until(condition: object, seconds: float = 60.0) -> None:
    """Fail unless something becomes true in time."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
