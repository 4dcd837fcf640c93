"""What have I run? Everything below a folder, and a comparison of what is there."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import experiments as ex
from experiments.cli import main
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.runfiles.atomic import writing
from experiments.runfiles.growing import GrowingFile
from robots import default_engine


@pytest.fixture
def folder(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recorded and quantified run, an interrupted one, a broken file, a result of data, and a study."""
    (tmp_path / "deep").mkdir()
    for path in small_run.parent.glob("small-1*"):
        shutil.copy(path, tmp_path / "deep")
    commit = GrowingFile.commit

    def interrupted(work: GrowingFile, steps: int, state: Any) -> None:
        commit(work, steps, state)
        if steps == 50:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(GrowingFile, "commit", interrupted)
        learn(Learn("barrel", "sine", 0.05, (0.05,), seed=12, checkpoint=50, out=tmp_path / "half.h5"))
    (tmp_path / "broken.h5").write_bytes((tmp_path / "half.h5").read_bytes()[:3000])
    np.save(tmp_path / "series.npy", np.random.default_rng(1).normal(size=2000))
    monkeypatch.chdir(tmp_path)
    assert main(["quantify", "series.npy", "--m-max", "3", "--replicates", "0", "--predictive", "0"]) == 0
    settings = {"robots": ["barrel"], "controllers": ["ulr", "sine"], "seeds": [1, 2, 3], "engine": "mujoco"}
    study = {"command": "selforg compare --n-seeds 3", "settings": settings, "rows": [{}, {}]}
    (tmp_path / "compare.json").write_text(json.dumps(study))
    (tmp_path / "other.json").write_text("[1, 2]")  # none of ours
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "0.json").write_text(json.dumps(study))
    return tmp_path


def test_everything_is_listed_with_what_it_is_and_how_it_stands(folder: Path) -> None:
    found = {item.name: item for item in ex.runs(folder)}
    assert list(found) == [
        "broken.h5",
        "compare.json",
        "deep/small-1.h5",
        "deep/small-1.h5 0.1min",
        "deep/small-1.h5 0.2min",
        "half.h5",
        "series.complexity.json",
    ]
    run, recording = found["deep/small-1.h5"], found["deep/small-1.h5 0.2min"]
    assert (run.robot, run.controller, run.seed, run.engine) == ("hexapod", "ulr", "1", default_engine())
    assert run.state == "complete, 600 steps" and run.size > 1000 and run.age >= 0
    result = json.loads((folder / "deep/small-1.0.2min.complexity.json").read_text())["result"]
    assert recording.E_core == pytest.approx(result["E_core"]["value"])
    assert recording.state == "complete, 3,000 steps"
    assert found["half.h5"].state == "interrupted, 50 of 150"
    assert "damaged" in found["broken.h5"].state
    data = found["series.complexity.json"]
    assert data.kind == "result" and data.E_core is not None
    study = found["compare.json"]
    assert (study.kind, study.robot, study.controller, study.seed) == ("study", "barrel", "ulr, sine", "1:3")
    with writing(folder / "half.h5"):
        assert {item.name: item for item in ex.runs(folder)}["half.h5"].state == "running, 50 of 150"


def test_filter_and_sort(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()

    def names(*words: str) -> list[str]:
        assert main(["runs", *words, "--json"]) == 0
        return [item["name"] for item in json.loads(capsys.readouterr().out)["items"]]

    assert names("--kind", "run", "--robot", "hexapod") == ["deep/small-1.h5"]
    assert names("--controller", "sine", "--kind", "run", "study") == ["compare.json", "half.h5"]
    assert names("--seed", "12", "--kind", "run") == ["half.h5"]
    assert names("--state", "interrupted") == ["half.h5"]
    assert names("--kind", "run", "--sort", "size", "--reverse")[-1] == "broken.h5"
    assert names("deep", "--sort", "E_core", "--reverse")[-1] == "small-1.h5"  # it has none
    assert main(["runs"]) == 0
    said = capsys.readouterr()
    assert "small-1.h5 0.2min" in said.out and "selforg show FILE" in said.err
    assert main(["runs", "nowhere"]) == 2


@pytest.mark.guard
def test_runs_that_are_there_are_compared_without_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for rule, settings, seed in (
        ("sine", {"period": 75.0}, 1),
        ("sine", {"period": 75.0}, 2),
        ("sine", {"period": 40.0}, 1),
        ("sine", {"period": 40.0}, 2),
    ):
        path = tmp_path / f"{len(paths)}.h5"
        learn(Learn("barrel", rule, 0.05, (0.05,), seed=seed, out=path, rule=settings))
        record(Record((path,), 1300 + 100 * seed, transient=0, jobs=1))
        paths.append(str(path))
    before = [Path(path).read_bytes() for path in paths]
    monkeypatch.setattr("experiments.studies.scoring.learn", None)
    words = ["--out", str(tmp_path / "found"), "--no-surrogates", "--jobs", "1", "--seconds", "0.1"]
    assert main(["compare", "--runs", *paths, *words]) == 0
    document = json.loads((tmp_path / "found" / "compare.json").read_text())
    assert [(row["controller"], row["seed"], row["reason"]) for row in document["rows"]] == [
        ("sine period=75", 1, ""),
        ("sine period=75", 2, ""),
        ("sine period=40", 1, ""),
        ("sine period=40", 2, ""),
    ]
    assert document["settings"]["samples"] == 1400 and "differ in length" in capsys.readouterr().err
    assert [Path(path).read_bytes() for path in paths] == before
    assert main(["compare", "--runs", *paths, "--freeze", "3", *words]) == 2
    assert "holds no recording of 3min" in capsys.readouterr().err
    # Seeds count that all have: of one of the two there is one only.
    assert main(["compare", "--runs", *paths[:3], *words, "--replace"]) == 0
    document = json.loads((tmp_path / "found" / "compare.json").read_text())
    assert [row["seed"] for row in document["rows"]] == [1, 1]
