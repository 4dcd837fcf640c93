"""An edited rule or robot is another one: no result of the old source passes for one of the new."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import controllers
import experiments as ex
from experiments.cli import main
from experiments.pipeline.learn import Learn, learn, sources_of
from experiments.pipeline.record import Record, record
from experiments.pipeline.sources import FileError, changes, sources, verify
from experiments.runfiles.run_file import open_run_file
from experiments.studies.scoring import Scoring, Yardstick, score
from experiments.sweeps.sweep import plain_config, task_key

RULE = """
from controllers import Controller
from robots import Barrel
import own_helper

RATE = 0.001
BREAKS = 10**9

class Rule(Controller):
    def set_up(self):
        self.C[:, :2] = 0.5

    def update(self, s):
        self.C += RATE * own_helper.push(s)
        if self.t > BREAKS:
            raise ZeroDivisionError("a mistake of mine")

class Robot(Barrel):
    pass
"""
HELPER = "def push(s):\n    return s[0]\n"
WORDS = ["learn", "barrel", "--controller", "own_rules:Rule", "--minutes", "0.03", "--freeze", "0.02"]
WORDS += ["--out", "run.h5"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a rule, and a helper that it imports, which are forgotten at the end."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    yield tmp_path
    for name in ("own_rules", "own_helper"):
        sys.modules.pop(name, None)
    sys.path[:] = [one for one in sys.path if one != str(tmp_path)]


def write(folder: Path, rule: str = RULE, helper: str = HELPER) -> None:
    (folder / "own_rules.py").write_text(rule)
    (folder / "own_helper.py").write_text(helper)


def weights(path: Path) -> np.ndarray:
    with open_run_file(path) as run:
        return np.asarray(run.learning.tracks["C"][:])


@pytest.mark.guard
@pytest.mark.parametrize(
    ("name", "edited"),
    [
        ("own_rules", {"rule": RULE.replace("0.001", "0.2")}),
        ("own_rules", {"rule": RULE.replace("self.C +=", "self.C -=")}),
        ("own_helper", {"helper": HELPER.replace("s[0]", "40 * s[0]")}),
    ],
)
def test_an_edited_rule_is_not_the_one_that_was_learned(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, edited: dict[str, str]
) -> None:
    """Also in a process that has imported the old one."""
    assert main(WORDS) == 0
    first = weights(folder / "run.h5")
    assert main(WORDS) == 0 and "nothing to do" in capsys.readouterr().err
    write(folder, **edited)
    assert main(WORDS) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1 and f"another source of {name}; --replace learns it anew" in error[0]
    assert main([*WORDS, "--replace"]) == 0
    assert not np.array_equal(weights(folder / "run.h5"), first)
    write(folder)  # and what it was before is known again
    assert main([*WORDS[:-1], "other.h5"]) == 0
    np.testing.assert_array_equal(weights(folder / "other.h5"), first)


def test_a_mistake_in_a_rule_stops_a_script_and_the_mended_rule_has_a_way_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, RULE.replace("10**9", "40"))
    assert main(WORDS) == 3 and "a mistake of mine" in capsys.readouterr().err
    assert main(WORDS) == 3 and "--replace learns it anew" in capsys.readouterr().err
    write(folder)
    assert main(WORDS) == 2 and "--replace" in capsys.readouterr().err
    assert main([*WORDS, "--replace"]) == 0
    with open_run_file(folder / "run.h5") as run:
        assert run.learning.complete


@pytest.mark.long
def test_a_study_with_a_mistake_in_a_rule_stops_a_script(folder: Path) -> None:
    write(folder, RULE.replace("10**9", "40"))
    words = ["compare", "--robots", "barrel", "--controllers", "own_rules:Rule", "sine", "--samples", "1300"]
    words += ["--minutes", "0.05"]
    words += [
        "--transient",
        "0",
        "--no-surrogates",
        "--jobs",
        "1",
        "--quiet",
        "--out",
        "found",
        "--seeds",
        "1",
    ]
    assert main(words) == 3
    write(folder)
    assert main(words) == 0  # the mended rule is another task: nothing of the old one is in the way


def test_an_edited_rule_is_another_task_and_ours_keep_their_keys(folder: Path) -> None:
    wanted = Yardstick(1000, 0, 0, 1, 5, (0.1, 0.4), (0.2, 0.8))

    def task(controller: str) -> Scoring:
        return Scoring("barrel", controller, 1, (0.1,), {}, {}, wanted, sources_of("barrel", controller))

    first, ours = task("own_rules:Rule"), task("ulr")
    assert first.sources.keys() == {"own_rules", "own_helper"} and ours.sources == {}
    assert "sources" not in plain_config(ours) and "sources" in plain_config(first)
    write(folder, helper=HELPER + "# a comment\n")
    second = task("own_rules:Rule")
    assert changes(first.sources, second.sources) == "own_helper"
    assert task_key(score, first) != task_key(score, second)
    # A worker with other files than were asked for says so, and its result is not stored as the outcome.
    with pytest.raises(FileError, match="own_helper: the source here is not the one"):
        first.learn((0.01,), folder)


def test_a_stale_class_is_refused_and_a_rule_by_name_is_what_its_file_says(folder: Path) -> None:
    sys.path.append(str(folder))
    import own_rules  # type: ignore[import-not-found]

    write(folder, RULE.replace("0.001", "0.002"))
    with pytest.raises(ex.ExperimentError, match=r"own_rules.py has changed since own_rules was imported"):
        ex.learn("barrel", own_rules.Rule, minutes=0.01, freeze=(), out=folder / "run.h5")
    ex.learn("barrel", "own_rules:Rule", minutes=0.01, freeze=(), out=folder / "run.h5")
    assert sys.modules["own_rules"].RATE == 0.002


@pytest.mark.guard
def test_a_class_of_a_session_is_told_by_what_it_names(tmp_path: Path) -> None:
    code = """
import experiments as ex
from controllers import Controller
RATE = {rate}
UNUSED = {unused}
def push(s):
    return RATE * s[0]
class Rule(Controller):
    def update(self, s):
        self.C += push(s)
ex.learn("barrel", Rule, minutes=0.01, freeze=(), out="run.h5")
"""

    def run(**values: float) -> str:
        (tmp_path / "script.py").write_text(code.format(**values))
        words = [sys.executable, "script.py"]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True).stderr

    assert run(rate=0.1, unused=1) == ""
    assert run(rate=0.1, unused=2) == ""
    assert "another source of __main__:Rule" in run(rate=0.2, unused=2)


def test_a_recording_knows_the_robot_that_it_was_made_with(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learn(Learn("own_rules:Robot", "sine", 0.03, (0.02,), out=folder / "run.h5"))
    words = [
        "record",
        "run.h5",
        "--samples",
        "60",
        "--transient",
        "0",
        "--jobs",
        "1",
        "--module",
        "own_rules",
    ]
    assert main(words) == 0
    with open_run_file(folder / "run.h5") as run:
        first = run.identity("0.02min")
    write(folder, RULE.replace("Robot(Barrel):\n    pass", "Robot(Barrel):\n    colour = 'red'"))
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "own_rules has changed since run.h5 was learned" in said
    assert "own_rules has another source" in said and "--replace" in said
    assert main([*words, "--replace"]) == 0
    with open_run_file(folder / "run.h5") as run:
        assert run.identity("0.02min") != first


def test_rules_of_ours_count_by_their_revision(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = learn(Learn("barrel", "sine", 0.02, (0.02,), out=tmp_path / "run.h5"))
    assert sources(controllers.find("sine")) == {}
    monkeypatch.setattr(controllers.find("sine"), "revision", 2, raising=False)
    assert sources(controllers.find("sine")) == {"controllers.baselines:Sine": "revision 2"}
    with pytest.raises(ex.FileError, match=r"another source of controllers.baselines:Sine"):
        learn(Learn("barrel", "sine", 0.02, (0.02,), out=path))
    record(Record((path,), 50, transient=0, jobs=1))  # what is frozen is the same
    verify({}, {})
