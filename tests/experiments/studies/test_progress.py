"""Learning progress: everything in one go, nothing twice, no row lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.runfiles import run_file
from experiments.studies import progress as studies
from experiments.studies.progress import Progress, progress


@pytest.mark.guard
def test_progress_runs_everything_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["hexapod", "--minutes", "0.04", "--freeze", "0.02", "0.04", "--seeds", "1", "2", "--jobs", "1"]
    words += ["--samples", "1000", "--transient", "20", "--out", str(tmp_path)]
    assert main(["progress", *words]) == 0
    printed = capsys.readouterr()
    document = json.loads((tmp_path / "hexapod-ulr-progress.json").read_text())
    assert [(row["seed"], row["name"]) for row in document["rows"]] == [
        (seed, name) for seed in (1, 2) for name in ("0.02min", "0.04min")
    ]
    assert "Learning progress of the hexapod under ulr" in printed.out
    assert f"picture: {tmp_path / 'hexapod-ulr-progress.png'}" in printed.out
    assert "0.02min: 1000 samples" in printed.err
    assert (tmp_path / "hexapod-ulr-progress.png").stat().st_size > 10_000
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.h5")}
    assert len(stamps) == 2
    opened: list[Path] = []
    original = run_file.open_hdf5
    monkeypatch.setattr(run_file, "open_hdf5", lambda path: opened.append(path) or original(path))
    quick: dict[str, Any] = {"samples": 1000, "transient": 20, "out": tmp_path, "jobs": 1}
    found = progress(Progress("hexapod", minutes=0.04, freeze=(0.02, 0.04), seeds=(1, 2), **quick))
    assert found.document == document and capsys.readouterr().out == ""
    assert stamps == {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.h5")}
    # learn (twice: does it stand, can it go on?), anything frozen?, record (twice), rows, quantify
    assert len(opened) <= 2 * 7
    assert len(found.to_frame()) == 4 and "common.E_core" in found.to_frame()
    complexity, dimension = found.figure().axes
    labels = complexity.get_legend_handles_labels()[1]
    # A line per seed, and the median.
    assert any("core on" in label and "median" in label for label in labels)
    assert len(complexity.lines) >= 3 and dimension.get_ylabel().startswith("dimension")
    page = found.report(tmp_path / "page.html").read_text()
    assert "data:image/png;base64," in page and page.count("<tr>") == 5


def test_rules_of_one_module_have_tables_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "learn_all", lambda *_: [])
    for rule in ("Hebb", "Oja"):
        progress(Progress("hexapod", controller=f"my_rules:{rule}", out=tmp_path))
    expected = {f"hexapod-my_rules.{rule}-progress{s}" for rule in ("Hebb", "Oja") for s in (".json", ".png")}
    assert {p.name for p in tmp_path.iterdir()} == expected


def test_a_broken_run_keeps_its_row(tmp_path: Path) -> None:
    quick: dict[str, Any] = {"samples": 1000, "transient": 0, "out": tmp_path, "jobs": 1}
    broken = {"max_joint_speed": 0.5}
    found = progress(Progress("hexapod", minutes=0.05, freeze=(0.0, 0.05), body=broken, **quick))
    first, second = found.document["rows"]
    assert "broke down" in first["reason"] and "broke down" in second["reason"]
    assert "E_core" not in second
    (table,) = found.tables()
    assert {len(cells) for cells in table.rows} == {len(table.heads)}
    assert second["reason"] in table.rows[1]


@pytest.mark.parametrize(
    ("wrong", "message"), [({"seeds": ()}, "give at least one"), ({"freeze": ()}, "at least one freeze")]
)
def test_nothing_to_do_is_refused(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        progress(Progress("hexapod", out=tmp_path / "out", **wrong))
    assert not (tmp_path / "out").exists()
