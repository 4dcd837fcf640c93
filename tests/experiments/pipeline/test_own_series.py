"""Series of the user's own from the command line: tables as people have them, parts, several sensors."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import quantify as q
from experiments.cli import main
from experiments.pipeline import quantify as quantify_module
from experiments.pipeline.quantify import Quantify, quantify
from experiments.runfiles.run_file import open_run_file
from quantify.systems import Henon

TABLE = "ant;time;x;y\n" + "".join(
    f"A;{0.02 * i:.2f};{a:.17g};{b:.17g}\n".replace(".", ",")
    for i, (a, b) in enumerate(Henon().sample(3000, 1))
)
FEW = ["--tau", "1", "--m-max", "5", "--replicates", "5", "--quiet", "--predictive", "0"]


def test_a_table_of_the_users_is_read_and_what_was_done_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text, a decimal comma, missing cells: each used to end in "not a table of numbers"."""
    lines = TABLE.splitlines()
    lines[101] = "A;2,00;NA;"
    path = tmp_path / "ants.csv"
    path.write_text("\n".join(lines))
    words = ["quantify", str(path), "--sensor", "x", *FEW]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "missing in 1 of 3,000 samples (1 of x), first in sample 100; --missing split takes" in error
    assert main([*words, "--missing", "split"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("Complexity of x, 2,899 samples at 50 Hz: delay 1 (0.02 s)")
    assert "Of 2 stretches the longest is used, samples 101 to 2,999, 97 % of all" in said
    direct = q.quantify(Henon().sample(3000, 1)[101:, 0], tau=1, m_max=5, replicates=5)
    stored = json.loads((tmp_path / "ants.x.complexity.json").read_text())
    assert stored["result"]["E_core"] == direct.to_dict()["E_core"]
    assert stored["settings"]["missing"] == "split"
    assert main([*words, "--missing", "interpolate"]) == 0
    assert "1 of 3,000 samples are straight lines" in " ".join(capsys.readouterr().out.split())


def test_gaps_in_time_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = TABLE.splitlines()
    path = tmp_path / "ants.csv"
    path.write_text("\n".join([*lines[:1500], *lines[1520:]]))
    assert main(["quantify", str(path), "--sensor", "y", *FEW]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Sampling is not uniform (median step 0.02): 1 gap (about 20 samples missing)" in said


def test_a_part_of_a_series_and_of_a_recording(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "Leave out the first samples", says the advice: now it can be followed."""
    (tmp_path / "x.csv").write_text(TABLE)
    assert (
        main(["quantify", f"{tmp_path}/x.csv", "--sensor", "x", "--start", "10s", "--stop", "2500", *FEW])
        == 0
    )
    stored = json.loads((tmp_path / "x.x.complexity.json").read_text())
    direct = q.quantify(Henon().sample(3000, 1)[500:2500, 0], tau=1, m_max=5, replicates=5)
    assert stored["result"]["E_core"] == direct.to_dict()["E_core"] and stored["settings"]["start"] == "10s"
    path = Path(shutil.copy(recorded, tmp_path / "run.h5"))
    few = {"freeze": (0.1,), "m_max": 3, "replicates": 0, "predictive": 0}
    late = quantify(Quantify(str(path), start="10s", **few))["0.1min"]
    with open_run_file(path) as run:
        sensors = run.behaviours["0.1min"].sensors
        assert late.sums.n == len(sensors) - 500
        x = sensors[500:, 6].astype(float)
    assert late.E_core.value == q.quantify(x, tau=8, m_max=3, replicates=0).E_core.value
    # Another part is another result.
    assert quantify(Quantify(str(path), **few))["0.1min"].sums.n == len(x) + 500
    assert main(["quantify", str(path), "--start", "1e9s"]) == 2
    assert main(["quantify", str(path), "--start", "99999s"]) == 2
    assert "--start 99999s is beyond the" in capsys.readouterr().err


def test_json_is_short_unless_all_curves_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.csv").write_text(TABLE)
    words = ["quantify", f"{tmp_path}/x.csv", "--sensor", "x", *FEW, "--json"]
    assert main(words) == 0
    out = capsys.readouterr().out
    found = json.loads(out)["x"]
    assert len(out.splitlines()) < 120 and found["sensors"] == ["x"] and "curves" not in found
    assert found["E_core"]["value"] and len(found["sentences"]) == 3
    assert main([*words, "--full"]) == 0
    full = json.loads(capsys.readouterr().out)["x"]
    assert len(full["curves"]["eps"]) > 20 and full["E_core"]["value"] == found["E_core"]["value"]
    assert full["settings"]["sensors"] == ["x"]


def test_several_sensors_together_and_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text(TABLE)
    assert main(["quantify", str(path), "--sensor", "all", *FEW]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("Complexity of x, y, 3,000 samples at 50 Hz")
    assert "Columns left out: ant (text), time (times)." in said
    stored = json.loads((tmp_path / "x.x+y.complexity.json").read_text())
    direct = q.quantify(Henon().sample(3000, 1), tau=1, m_max=5, replicates=5)
    assert stored["result"]["E_core"] == direct.to_dict()["E_core"] and stored["settings"]["sensor"] == "all"
    # "y,x" are the same two, in another order.
    assert (
        quantify(Quantify(str(path), sensor="y,x", tau=1, m_max=5, replicates=0, predictive=0))["y, x"].sums.d
        == 2
    )
    assert main(["quantify", str(path), "--each", *FEW]) == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()[:3]] == ["sensor", "x", "y"]
    assert "The median of E_core" in said and (tmp_path / "x.y.complexity.json").exists()
    assert main(["quantify", str(path), "--each", *FEW, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["x", "y", "series: agreement"]
    assert found["x"]["sensors"] == ["x"] and {*found["series: agreement"]["agree"]} <= {"x", "y"}


def test_each_sensor_of_a_recording(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(recorded, tmp_path / "run.h5"))
    few = {"freeze": (0.1,), "m_max": 3, "replicates": 3, "predictive": 0, "stop": 1500}
    wish = Quantify(str(path), sensor="joint 4 sideways,7,3", each=True, **few)
    found = quantify(wish)
    names = ["joint 4 sideways", "joint 4 up/down", "joint 2 up/down"]
    assert list(found) == [f"0.1min {name}" for name in names]
    table = found.sensors["0.1min"]
    assert list(table) == names and table[names[1]] is found[f"0.1min {names[1]}"]
    alone = quantify(Quantify(str(path), sensor="7", **few))["0.1min"]
    assert alone.E_core == table[names[1]].E_core
    assert {file.name for file in found.files.values()} >= {"run.0.1min.joint-4-up-down.complexity.json"}
    # Again: nothing is computed.
    monkeypatch.setattr(quantify_module, "quantify_series", None)
    assert quantify(wish).sensors["0.1min"].summary() == table.summary()
    assert main(["show", str(path)]) == 0
    assert "0.1min: joint 4 up/down, D" in capsys.readouterr().out


@pytest.mark.guard
def test_standard_input_is_quantified_and_stored_nowhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "experiments.cli", "quantify", "-", "--sensor", "y", *FEW, "--json"],
        input=TABLE,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(quantify_module.__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["y"]["sensors"] == ["y"] and not list(tmp_path.iterdir())


def test_a_sensor_that_never_moves_is_told_in_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{a:.17g},0\n" for a in Henon().sample(3000, 1)[:, 0])
    (tmp_path / "x.csv").write_text(f"x,still\n{rows}")
    assert main(["quantify", f"{tmp_path}/x.csv", "--each", *FEW]) == 0
    still = capsys.readouterr().out.splitlines()[2]
    assert still.startswith("still") and "takes only 1 different value" in still
