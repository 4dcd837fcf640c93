"""Reading any series, quantifying it from the command line, and the whole of an experiment in one go."""

import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

import quantify as q
from experiments.cli import main
from experiments.errors import ExperimentError, FileError
from experiments.pipeline import quantify as quantify_module
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.quantify import Quantify, quantify, write_json
from experiments.pipeline.record import Record, Task, _stationarity, record, record_one
from experiments.runfiles import growing as workfile
from experiments.runfiles.growing import writing
from experiments.runfiles.run_file import open_run, versions
from experiments.runfiles.series import read_series, split_source
from experiments.studies.progress import Progress, draw, progress, table
from quantify.systems import Henon

X = Henon().sample(3000, 1)[:, 0]
QUICK = ["--tau", "1", "--m-max", "5", "--replicates", "5", "--quiet"]


def table_file(folder: Path, text: str, name: str = "data.csv") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


# Any series.


@pytest.mark.parametrize(
    ("text", "column", "name", "expected"),
    [
        ("1\n2\n3\n", "", "0", [1, 2, 3]),
        ("x\n1\n2\n", "", "x", [1, 2]),
        ("t,x\n0,5\n1,6\n", "x", "x", [5, 6]),
        ("t;x\n0;5\n1;6\n", "1", "x", [5, 6]),
        ('"t a","x"\n0,5\n1,6\n', "t a", "t a", [0, 1]),
        ("# made by hand\n\n1e-3 5\n  2   6\n", "1", "1", [5, 6]),
        ("t\tx\n0\t-5\n1\t.5\n", "x", "x", [-5, 0.5]),
    ],
)
def test_tables_of_text(tmp_path: Path, text: str, column: str, name: str, expected: list[float]) -> None:
    series = read_series(table_file(tmp_path, text), column)
    assert series.name == name and series.values.dtype == np.float64
    assert series.values.tolist() == expected


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", "", "is empty"),
        ("# nothing\n", "", "holds no numbers"),
        ("x,y\n", "x", "holds a header, but no numbers"),
        ("1,2\n3,4\n", "", "has 2 columns; choose one with --sensor: 0 to 1"),
        ("a,b\n3,4\n", "", "choose one with --sensor: 0 a, 1 b"),
        ("1,2\n3,4\n", "2", "beyond 0 to 1"),
        ("1,2\n3,4\n", "b", "have no names"),
        ("left,right\n3,4\n", "rihgt", "did you mean 'right'"),
        ("1\nfoo\n3\n", "", "not a table of numbers"),
        ("1,2\n3\n", "0", "not a table of numbers"),
        ("1\nnan\n3\n", "", "value 1 of column '0' is nan, and 1 of 3 are not finite"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, text: str, column: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        read_series(table_file(tmp_path, text), column)


def test_arrays_and_hdf5(tmp_path: Path) -> None:
    values = np.arange(12.0).reshape(6, 2)
    np.save(tmp_path / "a.npy", values.astype(np.int16))
    assert read_series(str(tmp_path / "a.npy"), "1").values.tolist() == values[:, 1].tolist()
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["g/x"] = values
        file["g/x"].attrs["names"] = ["left", "right"]
    path = f"{tmp_path}/d.h5"
    for source, column in ((path, "right"), (f"{path}:/g/x", "1"), (f"{path}:g/x", "right")):
        assert read_series(source, column).values.tolist() == values[:, 1].tolist()
    with h5py.File(path, "a") as file:
        file["g/y"] = values
    for source, message in (
        (path, "holds 2 datasets of numbers; name one"),
        (f"{path}:/g/z", "no dataset '/g/z'; did you mean '/g/"),
        (f"{path}:/g", "no dataset '/g'"),
    ):
        with pytest.raises(ExperimentError, match=message):
            read_series(source, "0")
    np.save(tmp_path / "c.npy", np.array([1j]))
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY")
    for name, message in (("c.npy", "not real numbers"), ("b.npy", "not a readable .npy")):
        with pytest.raises(ExperimentError, match=message):
            read_series(str(tmp_path / name))


def test_a_colon_belongs_to_the_path_where_such_a_file_exists(tmp_path: Path) -> None:
    odd = tmp_path / "a:b.csv"
    odd.write_text("1\n2\n")
    assert split_source(str(odd)) == (odd, "")
    assert split_source("data.h5:/g/x") == (Path("data.h5"), "/g/x")
    assert split_source("data.csv") == (Path("data.csv"), "")


# Quantify.


def test_all_formats_give_the_result_of_a_direct_call(tmp_path: Path) -> None:
    """The command adds nothing to the numbers; they are beside the data with what it takes to repeat them."""
    expected = q.quantify(X, tau=1, m_max=5, replicates=5, predictive=10_000).to_dict()
    np.savetxt(tmp_path / "x.csv", X, "%.17g", header="x", comments="")
    np.savetxt(tmp_path / "x.dat", X, "%.17g")
    np.save(tmp_path / "y.npy", X)
    with h5py.File(tmp_path / "z.h5", "w") as file:
        file["x"] = X
    places = {"x.csv": "x.x", "x.dat": "x", "y.npy": "y", "z.h5:/x": "z.x"}
    for source, place in places.items():
        assert main(["quantify", f"{tmp_path}/{source}", *QUICK]) == 0
        document = json.loads((tmp_path / f"{place}.complexity.json").read_text())
        assert document["result"] == expected, source
        assert document["settings"]["m_max"] == 5 and "numpy" in document["versions"]


def test_tisean_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sums = q.correlation_sums(X, tau=1, m_max=5)
    q.write_tisean(tmp_path / "x.c2", sums)
    assert main(["quantify", str(tmp_path / "x.c2"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["series"]
    direct = q.quantify_sums(q.read_tisean(tmp_path / "x.c2")).to_dict()
    assert printed == direct
    assert (tmp_path / "x.complexity.json").exists()
    (tmp_path / "bad.c2").write_text("hello\n")
    assert main(["quantify", str(tmp_path / "bad.c2")]) == 2
    assert "bad.c2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--m-max", "1"], "m-max is 1; it must be at least 2"),
        (["--tau", "0"], "tau is 0; it must be at least 1"),
        (["--replicates", "-1"], "replicates is -1"),
        (["--tau", "50", "--m-max", "10"], "has 300 samples; m_max 10 with delay 50 needs 550"),
        (["--eps-range", "5", "9"], "x.csv"),
        (["--eps-range", ".5", ".1"], "smallest scale first"),
        (["--predictive", "-1"], "--predictive is -1"),
    ],
)
def test_quantify_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    np.savetxt(tmp_path / "x.csv", X[:300])
    assert main(["quantify", f"{tmp_path}/x.csv", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_files_of_one_name_have_results_of_their_own(tmp_path: Path) -> None:
    names = {"data.csv": "data", "data.npy": "data.npy", "data.h5:/x": "data.x"}
    for _ in range(2):
        for source, place in names.items():
            path, dataset = split_source(source)
            out = write_json(tmp_path / path, dataset.strip("/"), {"source": f"elsewhere/{source}"})
            assert out == tmp_path / f"{place}.complexity.json"
            assert json.loads(out.read_text())["source"] == f"elsewhere/{source}"
    assert len(list(tmp_path.iterdir())) == 3


# Experiments.


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "run.h5"
    learn(Learn("snake", minutes=0.3, freeze=(0.1, 0.3), out=path, quiet=True))
    record(Record((path,), samples=3000, transient=100, jobs=2, quiet=True))
    return path


def test_quantify_a_run_with_the_papers_defaults(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = quantify(Quantify(str(recorded), m_max=4, replicates=0, quiet=True), show=False)
    assert list(results) == ["0.1min", "0.3min"]
    with open_run(recorded) as run:
        # The snake's default: x_7 with delay 8.
        x = run.behaviours["0.3min"].sensors[:, 6].astype(float)
        direct = q.quantify(x, tau=8, m_max=4, replicates=0, predictive=10_000).to_dict()
        assert run.results["0.3min"]["result"] == direct
        assert run.results["0.3min"]["settings"]["sensor"] == "6"
    beside = json.loads((recorded.parent / "run.0.3min.complexity.json").read_text())
    assert beside["result"] == direct
    # Again: nothing is computed or written, the answer is the same.
    before = recorded.stat().st_mtime_ns
    again = quantify(Quantify(str(recorded), m_max=4, replicates=0, quiet=True), show=False)
    assert again["0.3min"].to_dict() == direct and recorded.stat().st_mtime_ns == before
    assert main(["show", str(recorded)]) == 0
    assert "E_core" in capsys.readouterr().out


def test_quantify_waits_for_another_writer(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes for half a minute: the result gets in. For ever: it stands beside at least."""
    path = tmp_path / "run.h5"
    shutil.copy(recorded, path)
    clock, other = [0], ExitStack()

    def sleep(_: float) -> None:
        clock[0] += 1
        if clock[0] == 30:
            other.close()

    with monkeypatch.context() as patch:
        patch.setattr(workfile, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
        other.enter_context(writing(path))
        quick = {"m_max": 3, "replicates": 0, "predictive": 0, "quiet": True}
        quantify(Quantify(str(path), freeze=(0.1,), **quick), show=False)
        with open_run(path) as run:
            assert run.results["0.1min"]["settings"]["m_max"] == 3
        with writing(path), pytest.raises(FileError, match="being written by another process"):
            quantify(Quantify(str(path), freeze=(0.3,), **quick), show=False)
    beside = json.loads((tmp_path / "run.0.3min.complexity.json").read_text())
    assert beside["settings"]["m_max"] == 3


def test_a_result_is_not_stored_with_a_recording_that_it_does_not_belong_to(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.h5"
    shutil.copy(recorded, path)
    measure = quantify_module.compute

    def meanwhile(*arguments: Any) -> q.Quantification:
        record(Record((path,), 2500, freeze=(0.1,), transient=100, jobs=1, quiet=True, replace=True))
        return measure(*arguments)

    config = Quantify(str(path), freeze=(0.1,), m_max=3, replicates=0, predictive=0, quiet=True)
    with monkeypatch.context() as patch:
        patch.setattr(quantify_module, "compute", meanwhile)
        with pytest.raises(FileError, match="recorded anew while it was being measured"):
            quantify(config, show=False)
    with open_run(path) as run:
        assert "0.1min" not in run.results and len(run.behaviours["0.1min"].sensors) == 2500
    quantify(config, show=False)
    with open_run(path) as run:
        assert "0.1min" in run.results


def test_an_unfinished_recording_of_another_run_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    task = Task(path, "0.1min", 300, 50, 0.2, 100)
    wish = Record((path,), 300, transient=50, checkpoint=100, jobs=1, quiet=True)
    lesson = {"minutes": 0.1, "freeze": (0.1,), "out": path, "quiet": True}
    learn(Learn("hexapod", **lesson))
    record_one(task)
    unfinished = task.part.read_bytes()
    record(wish)
    with open_run(path) as run:
        expected = run.behaviours["0.1min"].sensors[:]
    path.unlink()
    learn(Learn("hexapod", seed=2, **lesson))
    task.part.write_bytes(unfinished)
    with pytest.raises(FileError, match="began with another controller or body"):
        record(wish)
    assert task.part.read_bytes() == unfinished
    record(Record((path,), 300, transient=50, checkpoint=100, jobs=1, quiet=True, replace=True))
    with open_run(path) as run:
        assert not np.array_equal(run.behaviours["0.1min"].sensors[:], expected)
    # The same run learned again is the same run; and a part that does not say where it began is trusted.
    for marked in (True, False):
        path.unlink()
        learn(Learn("hexapod", **lesson))
        task.part.write_bytes(unfinished)
        if not marked:
            with h5py.File(task.part, "r+") as file:
                del file.attrs["origin"]
        record(wish)
        with open_run(path) as run:
            assert np.array_equal(run.behaviours["0.1min"].sensors[:], expected)


def test_nothing_to_do_takes_nothing_from_others(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    learn(Learn("hexapod", minutes=0.1, freeze=(0.1,), out=path, quiet=True))
    wish = Record((path,), 300, transient=50, checkpoint=100, jobs=1, quiet=True)
    record(wish)
    other, merged = (Task(path, "0.1min", samples, 50, 0.2, 100) for samples in (200, 300))
    record_one(other)  # is to replace the recording, and was interrupted
    record(wish)
    assert other.part.exists()
    other.part.unlink()
    record_one(merged)
    with writing(path):
        record(wish)
    assert merged.part.exists()
    record(wish)
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


def test_recordings_do_not_depend_on_the_number_of_processes(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    learn(Learn("snake", minutes=0.3, freeze=(0.1, 0.3), out=path, quiet=True))
    record(Record((path,), samples=3000, transient=100, jobs=1, quiet=True))
    with open_run(path) as one, open_run(recorded) as two:
        for name, behaviour in one.behaviours.items():
            for key, rows in behaviour.tracks.items():
                assert np.array_equal(rows[:], two.behaviours[name].tracks[key][:]), (name, key)


def test_stationarity_is_in_the_file(recorded: Path) -> None:
    with open_run(recorded) as run:
        behaviour = run.behaviours["0.3min"]
        verdict = json.loads(behaviour.attrs["stationarity"])
        assert verdict["sensor"] == 6 and verdict["tested"] == [6]
        assert f"sensor {behaviour.sensors.names[6]!r}" in verdict["verdict"]
        test = q.stationarity(behaviour.sensors[:, 6].astype(float))
        assert verdict["p_value"] == test.p_value and verdict["stationary"] == test.stationary


def test_all_sensors_share_one_level(tmp_path: Path) -> None:
    """Two sensors drift: both are found, and each is tested at a level of 1 % / 4."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4000, 4)).astype("<f4")
    x[:, 1] += np.linspace(0, 1, 4000)
    x[:, 2] = 0  # has no statistics at all
    x[:, 3] *= np.linspace(1, 2, 4000)
    with h5py.File(tmp_path / "r.h5", "w") as file:
        file["sensors"] = x
        file["sensors"].attrs["names"] = ["a", "b", "still", "d"]
        verdict, alone = _stationarity(file, [0, 1, 2, 3]), _stationarity(file, [0])
    assert verdict["moving"] == [1, 3] and verdict["tested"] == [0, 1, 3] and verdict["alpha"] == 0.01 / 4
    assert "2 of 3 sensors NOT stationary" in verdict["verdict"]
    assert "still was not tested" in verdict["verdict"]
    assert alone["verdict"].startswith("sensor 'a' stationary") and alone["alpha"] == 0.01


def test_a_sensor_to_test_is_looked_for_before_the_work(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", str(recorded), "--stationarity", "knee", "--samples", "5", "--replace"]) == 2
    assert "has no column 'knee'" in capsys.readouterr().err


def test_other_libraries_are_noted(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old.h5"
    shutil.copy(recorded, path)
    with h5py.File(path, "r+") as file:
        file.attrs["versions"] = json.dumps(json.loads(file.attrs["versions"]) | {"pybullet": "1.0"})
    config = ["--samples", "200", "--transient", "0", "--freeze", "0.1", "--replace", "--jobs", "1"]
    assert main(["record", str(path), *config]) == 0
    words = capsys.readouterr().err.replace("\n", " ")
    assert "learned with pybullet 1.0, now" in words and "bit by bit" in words
    with open_run(path) as run:
        assert json.loads(run.behaviours["0.1min"].attrs["versions"]) == versions()


def test_progress_runs_everything_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = {"samples": 2500, "transient": 100, "out": tmp_path, "quiet": True}
    config = Progress("hexapod", minutes=0.4, freeze=(0.2, 0.4), seeds=(1, 2), **quick)
    document = progress(config)
    assert [(row["seed"], row["name"]) for row in document["rows"]] == [
        (seed, name) for seed in (1, 2) for name in ("0.2min", "0.4min")
    ]
    printed = capsys.readouterr().out
    assert "Learning progress of the hexapod under ulr" in printed and "hexapod-ulr-progress.png" in printed
    assert json.loads((tmp_path / "hexapod-ulr-progress.json").read_text()) == document
    assert (tmp_path / "hexapod-ulr-progress.png").stat().st_size > 10_000
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.h5")}
    assert len(stamps) == 2
    assert progress(config) == document
    assert stamps == {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.h5")}


def test_rules_of_one_module_have_tables_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.studies.progress.learn_all", lambda configs, jobs: [])
    for rule in ("Hebb", "Oja"):
        progress(Progress("hexapod", controller=f"my_rules:{rule}", out=tmp_path, quiet=True))
    expected = {f"hexapod-my_rules.{rule}-progress{s}" for rule in ("Hebb", "Oja") for s in (".json", ".png")}
    assert {p.name for p in tmp_path.iterdir()} == expected


def test_a_broken_run_keeps_its_row(tmp_path: Path) -> None:
    quick = {"samples": 2500, "transient": 0, "out": tmp_path, "quiet": True}
    document = progress(
        Progress("hexapod", minutes=0.4, freeze=(0.0, 0.4), body={"max_joint_speed": 0.5}, **quick)
    )
    first, second = document["rows"]
    assert "broke down" in first["reason"] and "broke down" in second["reason"]
    assert "E_core" not in second
    table(document)
    draw(document, tmp_path / "p.png")
