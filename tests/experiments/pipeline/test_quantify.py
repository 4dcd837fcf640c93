"""Quantifying from the command line: any series, and the behaviours of a run; results in one place."""

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import quantify as q
from experiments.cli import main
from experiments.errors import FileError
from experiments.pipeline import quantify as quantify_module
from experiments.pipeline.quantify import Quantify, quantify
from experiments.pipeline.record import Record, record
from experiments.runfiles.atomic import writing
from experiments.runfiles.results import quantification, write_result
from experiments.runfiles.run_file import open_run_file
from quantify.series_files import split_source
from quantify.systems import Henon

X = Henon().sample(3000, 1)[:, 0]
QUICK = ["--tau", "1", "--m-max", "5", "--replicates", "5", "--quiet"]


def test_all_formats_give_the_result_of_a_direct_call(tmp_path: Path) -> None:
    """The command adds nothing to the numbers; they are beside the data with what it takes to repeat them."""
    expected = q.quantify(X, tau=1, m_max=5, replicates=5, predictive=10_000).to_dict()
    np.savetxt(tmp_path / "x.csv", X, "%.17g", header="x", comments="")
    np.savetxt(tmp_path / "x.dat", X, "%.17g")
    np.save(tmp_path / "y.npy", X)
    with h5py.File(tmp_path / "z.h5", "w") as file:
        file["x"] = X
    np.savez(tmp_path / "w.npz", t=np.arange(len(X)) / 50, x=X)
    places = {"x.csv": "x.x", "x.dat": "x", "y.npy": "y", "z.h5:/x": "z.x", "w.npz": "w.x"}
    for source, place in places.items():
        assert main(["quantify", f"{tmp_path}/{source}", *QUICK]) == 0
        document = json.loads((tmp_path / f"{place}.complexity.json").read_text())
        settings = document["result"]["settings"]
        assert settings.pop("sensors") == ["x" if source in ("x.csv", "w.npz") else "0"]
        assert settings.pop("rate", None) == (pytest.approx(50) if source == "w.npz" else None)
        assert document["result"] == expected, source
        assert document["settings"]["m_max"] == 5 and "numpy" in document["versions"]


def test_tisean_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sums = q.correlation_sums(X, tau=1, m_max=5)
    q.write_tisean(tmp_path / "x.c2", sums)
    assert main(["quantify", str(tmp_path / "x.c2"), "--json", "--full"]) == 0
    printed = json.loads(capsys.readouterr().out)["series"]
    direct = q.quantify_sums(q.read_tisean(tmp_path / "x.c2")).to_dict()
    assert printed == direct
    assert main(["quantify", str(tmp_path / "x.c2"), "--start", "5"]) == 2
    assert "holds correlation sums, no series: leave out --start" in capsys.readouterr().err
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
            out = write_result(tmp_path / path, dataset.strip("/"), {"source": f"elsewhere/{source}"})
            assert out == tmp_path / f"{place}.complexity.json"
            assert json.loads(out.read_text())["source"] == f"elsewhere/{source}"
    assert len(list(tmp_path.iterdir())) == 3


def test_quantify_a_run_with_the_papers_defaults(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(recorded, tmp_path / "run.h5"))
    before = path.stat()
    results = quantify(Quantify(str(path), m_max=4, replicates=0))
    assert list(results) == ["0.1min", "0.3min"]
    with open_run_file(path) as run:
        # The snake's default: x_7 with delay 8.
        x = run.behaviours["0.3min"].sensors[:, 6].astype(float)
        whole = q.Series(x, run.behaviours["0.3min"].sensors.names[6], "", rate=50.0)
        direct = q.quantify(whole, tau=8, m_max=4, replicates=0, predictive=10_000).to_dict()
        assert direct["settings"]["sensors"] == ["joint 4 sideways"] and direct["settings"]["rate"] == 50
        assert run.results["0.3min"]["result"] == direct
        assert run.results["0.3min"]["settings"]["sensor"] == "6"
    beside = json.loads((tmp_path / "run.0.3min.complexity.json").read_text())
    assert beside["result"] == direct
    # Again: nothing is computed, the answer is the same; and the run file was never touched.
    monkeypatch.setattr(quantify_module, "quantify_series", None)
    again = quantify(Quantify(str(path), m_max=4, replicates=0))
    assert again["0.3min"].to_dict() == direct
    assert path.stat() == before
    assert main(["show", str(path)]) == 0
    assert "E_core" in capsys.readouterr().out


def test_a_result_does_not_need_the_run_file_to_itself(recorded: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(recorded, tmp_path / "run.h5"))
    with writing(path):
        quantify(Quantify(str(path), freeze=(0.1,), m_max=3, replicates=0, predictive=0))
    with open_run_file(path) as run:
        assert run.results["0.1min"]["settings"]["m_max"] == 3


@pytest.mark.guard
def test_a_result_belongs_to_the_recording_that_it_was_made_of(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded anew while it is being quantified: the result is not taken for one of the new recording."""
    path = Path(shutil.copy(recorded, tmp_path / "run.h5"))
    compute = quantify_module.quantify_series

    def meanwhile(*arguments: Any) -> q.Quantification:
        record(Record((path,), 2500, freeze=(0.1,), transient=100, jobs=1, replace=True))
        return compute(*arguments)

    config = Quantify(str(path), freeze=(0.1,), m_max=3, replicates=0, predictive=0)
    with monkeypatch.context() as patch:
        patch.setattr(quantify_module, "quantify_series", meanwhile)
        quantify(config)
    with open_run_file(path) as run:
        assert "0.1min" not in run.results and len(run.behaviours["0.1min"].sensors) == 2500
    assert quantify(config)["0.1min"].sums.n == 2500
    with open_run_file(path) as run:
        assert "0.1min" in run.results


def test_results_inside_older_files_are_found(recorded: Path, tmp_path: Path) -> None:
    """Files written before results stood beside them alone hold them in a group of their own."""
    path = Path(shutil.copy(recorded, tmp_path / "run.h5"))
    config = Quantify(str(path), freeze=(0.1,), m_max=3, replicates=0, predictive=0)
    found = quantify(config)
    stored = json.loads(found.files["0.1min"].read_text())
    found.files["0.1min"].unlink()
    del stored["recording"], stored["checksum"]
    with h5py.File(path, "r+") as file:
        file["results/0.1min"] = json.dumps(stored)
    with open_run_file(path) as run:
        assert run.results["0.1min"] == stored
    # A JSON beside it that does not say which recording it belongs to is not believed.
    (tmp_path / "run.0.1min.complexity.json").write_text(json.dumps(stored | {"settings": {}}))
    with open_run_file(path) as run:
        assert run.results["0.1min"] == stored


def test_a_result_that_was_changed_is_refused_and_computed_again(recorded: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(recorded, tmp_path / "run.h5"))
    config = Quantify(str(path), freeze=(0.1,), m_max=3, replicates=0, predictive=0)
    file = quantify(config).files["0.1min"]
    stored = json.loads(file.read_text())
    changed = json.loads(file.read_text())
    changed["result"]["E_core"]["value"] += 1.0
    for text in (json.dumps(changed), file.read_text()[:-500], "[]"):
        file.write_text(text)
        with open_run_file(path) as run, pytest.raises(FileError, match=r"run.0.1min.complexity.json"):
            _ = run.results
        quantify(config)
        assert json.loads(file.read_text()) == stored
    # Without a checksum, as earlier versions wrote it, what cannot be a result is found out.
    del changed["checksum"]
    for value in ("x", [1], None):
        changed["result"]["E_core"] = value
        file.write_text(json.dumps(changed))
        with open_run_file(path) as run, pytest.raises(FileError, match="that this version cannot read"):
            quantification(run.results["0.1min"], file)
    file.write_text(json.dumps(changed | {"settings": {"tau": "x"}}))
    with open_run_file(path) as run, pytest.raises(FileError, match="tau = 'x' does not fit"):
        _ = run.results


def test_a_mistake_in_the_quantifier_is_no_result(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(recorded, tmp_path / "run.h5"))

    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("operands could not be broadcast together")

    monkeypatch.setattr(q, "quantify", broken)
    with pytest.raises(ValueError, match="broadcast"):
        quantify(Quantify(str(path)))
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


def test_numbers_that_cannot_be_stored_are_printed_and_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that leaves no room for the result's: the user hears of it at once, and loses nothing."""
    path = tmp_path / ("x" * 245 + ".csv")
    np.savetxt(path, X, "%.17g")
    loud = ["quantify", str(path), *QUICK[:-1]]
    assert main(loud) == 2
    out, err = capsys.readouterr()
    # A busy machine says how far it has come as well.
    note, error = (line for line in err.splitlines() if line.startswith(("note: ", "selforg: ")))
    assert "E_core" in out and note.startswith("note: cannot write") and "printed, but not stored" in note
    assert error.startswith("selforg: cannot write") and error.endswith("File name too long")
    assert main([*loud, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["series"]["E_core"]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.guard
def test_a_full_disk_leaves_the_numbers(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "x.csv", X, "%.17g")
    done = subprocess.run(
        [sys.executable, "-m", "experiments.cli", "quantify", str(tmp_path / "x.csv"), *QUICK],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode == 2 and "E_core" in done.stdout
    assert "File too large" in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_what_is_known_needs_no_folder_to_write_to(small_run: Path, tmp_path: Path, monkeypatch) -> None:
    for one in small_run.parent.glob("small-1*"):
        shutil.copy(one, tmp_path)
    wish = Quantify(str(tmp_path / "small-1.h5"), m_max=5, replicates=3)
    monkeypatch.setattr(quantify_module, "write_result", lambda *_: 1 / 0)
    assert len(quantify(wish).files) == 2


def test_a_result_of_a_recording_that_is_gone_is_not_stored(
    small_run: Path, tmp_path: Path, monkeypatch
) -> None:
    """Recorded anew while it was quantified: the result there is of the new recording, or none."""
    path = Path(shutil.copy(small_run, tmp_path / "run.h5"))
    kept = quantify_module.quantify_series

    def meanwhile(*arguments: Any) -> q.Quantification:
        record(Record((path,), 600, freeze=(0.1,), transient=0, jobs=1, replace=True))
        return kept(*arguments)

    monkeypatch.setattr(quantify_module, "quantify_series", meanwhile)
    found = quantify(Quantify(str(path), freeze=(0.1,), m_max=5, replicates=3))
    assert "recorded anew" in str(found.unstored["0.1min"]) and not found.files and len(found) == 1
    assert not list(tmp_path.glob("*.json"))
