"""The commands that look at an installation or at a file."""

import json
import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from experiments import console
from experiments.cli import main
from experiments.commands import looking, printing
from experiments.feedback import SILENT
from experiments.pipeline.quantify import Quantified
from experiments.runfiles.hdf5 import put_attributes
from quantify import quantify
from quantify.systems import Henon


def test_show_prints_a_run_and_any_other_file(
    learned_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(learned_run)]) == 0
    text = capsys.readouterr().out
    assert "hexapod under ulr, seed 1" in text and "frozen, not recorded" in text
    with h5py.File(tmp_path / "o.h5", "w") as file:
        file["g/x"] = np.zeros((3, 2))
    assert main(["show", str(tmp_path / "o.h5")]) == 0
    assert "/g/x  (3, 2) float64" in capsys.readouterr().out


def test_show_prints_results(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(small_run)]) == 0
    text = capsys.readouterr().out
    numbers = r"D (none|\d\.\d\d), E_state 0\.\d\d, .*; predictive information \d\.\d\d nats$"
    assert re.search(rf"0\.1min: [\w /]+, {numbers}", text, re.MULTILINE)
    assert main(["show", str(small_run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recordings"][1][:4] == ["0.1min", "3000", "3000", "100"]


@pytest.mark.guard
def test_doctor_finds_everything_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    # Every number stands beside what it should be, and the last line is the verdict.
    assert re.search(r"hexapod [\d,]+ steps/s.* \(expected: well above 50, which is real time\)", said)
    assert re.search(r"D = 1\.[1-3]\d \(expected: 1\.21 ± 0\.3\)", said)
    assert re.search(r"^numpy +2\.\S+ \(expected: 2\.0 or newer\)$", said, re.MULTILINE)
    assert re.search(r"^python .*\(expected: 3\.11 or newer\)$", said, re.MULTILINE)
    assert said.splitlines()[-1] == "Ready: everything works."


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_long_is_wrapped_at_words_on_a_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for module in (console, printing):
        monkeypatch.setattr(module, "room", lambda: width)
    for command in (
        "robots",
        "rules",
        "rules ulr",
        "robots hexapod",
        "explain",
    ):
        assert main(command.split()) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= width, command
    monkeypatch.setattr(looking, "CHECKS", {"robots": lambda: "hexapod 1,000 steps/s, " * 12})
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (first,) = (i for i, line in enumerate(lines) if line.startswith("robots "))
    robots = lines[first:-1]
    assert max(map(len, lines)) <= width and " ".join(line[13:] for line in robots).count("hexapod") == 12
    assert len(robots) > 1 and {line[:13].strip() for line in robots[1:]} == {""}
    np.savetxt(tmp_path / "x.csv", np.random.default_rng(1).normal(size=1000).cumsum() % 7)
    quick = ["--m-max", "2", "--tau", "1", "--replicates", "0", "--predictive", "0", "--quiet"]
    assert main(["quantify", str(tmp_path / "x.csv"), *quick]) == 0
    lengths = [len(line) for line in capsys.readouterr().out.splitlines()]
    assert 70 < max(lengths) <= min(width, 100)
    assert (max(lengths) > 80) == (width > 80)


def test_doctor_goes_on_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> str:
        raise OSError("no such disk")

    monkeypatch.setattr(looking, "CHECKS", {"files": broken, "video": looking.check_video})
    assert main(["doctor"]) == 2
    said = capsys.readouterr()
    assert "files        FAILED: OSError: no such disk" in said.out and "ffmpeg" in said.out
    assert said.err == "selforg: files do not work on this machine; see above\n"
    assert said.out.splitlines()[-1] == "Not ready: files."
    assert main(["doctor", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["files"] == "FAILED: OSError: no such disk" and "ffmpeg" in found["video"]
    assert found["ready"] == "no: files"


def test_a_wrong_answer_of_the_quantifier_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "D_HENON", 2.5)
    monkeypatch.setattr(looking, "CHECKS", {"quantifier": looking.check_quantifier})
    found = looking.doctor(looking.Doctor(), SILENT)
    assert "comes out as D = 1." in found["quantifier"] and "(expected: 2.5 ± 0.3)" in found["quantifier"]
    assert found["ready"] == "no: quantifier" and found.failures
    monkeypatch.setattr(looking, "LEAST_DISK", 1e9)
    monkeypatch.setattr(looking, "CHECKS", {"free disk": looking.check_disk})
    assert "are expected; make room" in looking.doctor(looking.Doctor(), SILENT)["free disk"]


def test_salvage_prints_the_rows_saved(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged, out = tmp_path / "damaged.h5", tmp_path / "saved.h5"
    shutil.copy(small_run, damaged)
    assert main(["salvage", str(damaged), str(out)]) == 0
    text = capsys.readouterr().out
    assert " 3,000 of 3,000 rows of behaviours/0.1min/sensors\n" in text
    assert text.endswith(f"saved to {out}\n")


NASTY = "\x1b[2J\x1b]0;mine\x07<b>\u202e\x9b1m"


def test_no_text_from_a_file_commands_the_terminal(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reasons, names and results of a file, errors that quote it, names of files: shown, never obeyed."""
    path = Path(shutil.copy(small_run, tmp_path / "run\x1b[31m.h5"))
    with h5py.File(path, "r+") as file:
        put_attributes(file["learning"], {"status": "stopped", "reason": NASTY})
        put_attributes(file, {"robot": f"hexapod{NASTY}", "versions": json.dumps({NASTY: NASTY})})
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file[f"a{NASTY}"] = 1
    (tmp_path / "x.csv").write_text(f"{NASTY},b\n" + "1,2\n" * 5)
    commands = (["show", str(path)], ["show", str(tmp_path / "other.h5")])
    wrong = (["quantify", f"{tmp_path}/x.csv"], ["record", str(path)], ["export", str(path), str(tmp_path)])
    for command, status in [*((one, 0) for one in commands), *((one, 2) for one in wrong)]:
        assert main(command) == status, command
        out, err = capsys.readouterr()
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out + err), command
        if not status:
            assert "\\x1b[2J" in out


def test_a_notebook_shows_names_as_they_are() -> None:
    found = Quantified({"<img src=x>": quantify(Henon().sample(600, 1)[:, 0], tau=1, m_max=3, replicates=0)})
    assert "<img" not in found._repr_html_() and "&lt;img" in found._repr_html_()
