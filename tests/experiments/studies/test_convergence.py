"""The command that shows whether a number has settled."""

import json
from pathlib import Path

import numpy as np
import pytest

import experiments as ex
import quantify as q
from experiments.cli import main
from quantify.systems import Henon
from tests.experiments.reports.copies import copy_run

QUICK = ("--m-max", "3", "--replicates", "5")


def test_a_series_of_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, series = tmp_path / "map.csv", Henon().sample(2000, 1)
    np.savetxt(path, series, delimiter=",", header="x,y", comments="")
    assert main(["convergence", str(path), "--sensor", "y", "--tau", "1", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "steps looked at together (m_max) 3 to 7: E_core" in out and "2,000*" in out
    document = json.loads((tmp_path / "map.csv.convergence.json").read_text())
    assert (tmp_path / "map.csv.convergence.png").stat().st_size > 10_000
    expected = q.convergence(series[:, 1], tau=1, m_max=3, replicates=5)
    assert document["convergence"] == expected.to_dict() and document["settings"]["sensor"] == "y"
    assert f"selforg convergence {path} --sensor y" in document["command"]


def test_a_part_of_a_table_as_people_have_it(tmp_path: Path) -> None:
    path, series = tmp_path / "map.csv", Henon().sample(2000, 1)
    rows = "".join(f"A;{i / 50};{x:.17g}\n" for i, x in enumerate(series[:, 0]))
    path.write_text(f"ant;time;x\n{rows}".replace(".", ","))
    assert main(["convergence", str(path), "--start", "10s", "--tau", "1", *QUICK, "--quiet"]) == 0
    document = json.loads((tmp_path / "map.csv.convergence.json").read_text())
    expected = q.convergence(series[500:, 0], tau=1, m_max=3, replicates=5)
    assert document["convergence"] == expected.to_dict() and document["settings"]["start"] == "10s"


@pytest.mark.guard
def test_a_behaviour_of_a_run(small_run: Path, tmp_path: Path) -> None:
    run = copy_run(small_run, tmp_path / "run.h5")
    found = ex.convergence(run, freeze=0.1, m_max=3, samples=2000, replicates=5, out=tmp_path / "c.pdf")
    # The delay is the robot's own.
    assert (
        found.document["convergence"]["tau"]["chosen"]
        == q.Quantification.from_dict(
            json.loads(run.with_name("run.0.1min.complexity.json").read_text())["result"]
        ).settings["tau"]
    )
    assert "run.h5 0.1min, " in found.title
    assert [path.name for path in found.files] == ["c.json", "c.pdf"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--freeze", "7"], "7min"),
        (["--out", "figure.txt"], "ends in .png or .pdf"),
        (["--samples", "3"], "samples = 3"),
    ],
)
def test_what_cannot_be(
    words: list[str], complaint: str, small_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convergence", str(small_run), *QUICK, *words]) == 2
    error = capsys.readouterr().err
    assert complaint in error and error.count("\n") == 1
