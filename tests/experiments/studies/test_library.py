"""Behaviours that come with the project: do they still do what they did, and how new ones are kept."""

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import experiments as ex
from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, learn
from experiments.runfiles.library import comes_along, fetch, find_behaviour, shipped
from experiments.runfiles.run_file import open_run_file
from experiments.studies.emergence.library import check, check_sentences, choose, describe_kept, keep
from experiments.studies.emergence.trials import observed_in
from robots import ENGINES, default_engine, describe
from tests.robots.helpers import HERE, every_engine

SHIPPED = sorted(path.stem for path in comes_along().glob("*.h5"))
NAMED = " --engine mujoco" if default_engine() == "mujoco" else ""
"""In commands: PyBullet goes without saying."""
SHORT = {"samples": 1000, "transient": 100}


@pytest.mark.guard
@every_engine
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_behaviours_still_do_what_they_did(name: str, engine: str) -> None:
    stated = shipped(comes_along(engine))[name]
    found = describe_kept(stated.path, samples=3000, transient=500)
    # A minute is too short to tell an arc from a straight line.
    kind, expected = (numbers["mode"].removesuffix(" in an arc") for numbers in (found, stated.numbers))
    assert kind == expected
    # 60 s tell frequencies to .02 Hz; the rest is how much a minute differs from the next.
    assert found["frequency"] == pytest.approx(stated.numbers["frequency"], rel=0.1, abs=0.02)
    for key in ("height_std", "std_x1") if stated.robot.startswith("hexapod") else ("joint_std",):
        assert found[key] == pytest.approx(stated.numbers[key], rel=0.2), key
    assert stated.command.startswith(f"selforg learn {stated.robot}")
    assert stated.path.stat().st_size < 100_000


@pytest.mark.parametrize("engine", ENGINES)
def test_the_hexapods_shipped_behaviours_are_those_of_the_paper(engine: str) -> None:
    found = {name: item.numbers for name, item in shipped(comes_along(engine)).items()}
    assert sorted(found) == SHIPPED
    jump, updown = found["hexapod-jump"], found["hexapod-updown"]
    assert jump["airtime"] > 0.3 and jump["peak_share"] > 0.8
    assert updown["airtime"] < 0.02 and updown["std_x1"] > 0.15


def test_keeping_a_behaviour_keeps_what_decides_it(learned_run: Path, tmp_path: Path) -> None:
    path = keep(learned_run, 0.1, tmp_path / "mine.h5", "stands there", **SHORT)
    (item,) = shipped(tmp_path).values()
    assert (item.name, item.about, item.robot, item.seed, item.minutes) == (
        "mine", "stands there", "hexapod", 1, 0.1
    )  # fmt: skip
    assert item.command == f"selforg learn hexapod --minutes 0.1 --freeze 0.05 0.1 --checkpoint 100{NAMED}"
    with open_run_file(learned_run) as long, open_run_file(path) as short:
        assert short.config == long.config and list(short.frozen) == ["0.1min"]
        ours, theirs = short.frozen["0.1min"], long.frozen["0.1min"]
        for part in ("controller", "body"):
            for key, value in getattr(theirs, part).items():
                assert np.array_equal(getattr(ours, part)[key], value), key
        assert short.learning.steps == 0 and short.learning.status == "left out"
    assert path.stat().st_size < 100_000
    with pytest.raises(ExperimentError, match=r"no controller frozen at 5min.*known: 0.05min, 0.1min"):
        keep(learned_run, 5, tmp_path / "none.h5")


def test_a_changed_setting_is_in_the_command(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    changes = {"body": {"gravity": 6.0}, "rule": {"eps": 0.003}}
    learn(Learn("hexapod", minutes=0.1, freeze=(0.1,), seed=3, checkpoint=250, out=path, **changes))
    keep(path, 0.1, tmp_path / "kept" / "light.h5", **SHORT)
    command = shipped(tmp_path / "kept")["light"].command
    assert command == (
        "selforg learn hexapod --minutes 0.1 --freeze 0.1 --seed 3 --checkpoint 250 "
        f"--body gravity=6 --rule eps=0.003{NAMED}"
    )


def test_listing_and_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # which parallel test runs set
    assert main(["behaviours"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in SHIPPED) and "selforg video --behaviour" in text
    assert "speed [m/s]" in text  # brackets are no markup
    assert main(["behaviours", "--name", "hexapod-jump", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["hexapod-jump"] and found["hexapod-jump"]["numbers"]["mode"] == "jumping"


@pytest.mark.guard
def test_checking_that_a_behaviour_goes_on(
    learned_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(learned_run, 0.1, tmp_path / "mine.h5", **SHORT)
    words = ["--check", "--samples", "2000", "--transient", "100", "--folder", str(tmp_path), "--jobs", "1"]
    assert main(["behaviours", *words, "--out", str(tmp_path / "long")]) == 0
    text, notes = capsys.readouterr()
    item = choose(folder=tmp_path)["mine"]
    found = check(item, 2000, 100, tmp_path / "long", jobs=1)
    assert "\n".join(check_sentences("mine", found)) == text.rstrip() and "first tenth" in text
    assert "2000 samples" in notes  # of the recording
    assert found["samples"] == 2000
    assert found["first"].keys() == found["last"].keys() and "verdict" in found["stationarity"]
    with open_run_file(tmp_path / "long" / "mine.h5") as recorded:
        recording = recorded.behaviours["0.1min"]
        assert found["last"] == describe("hexapod", observed_in(recording, 1800, 2000))
    with pytest.raises(ExperimentError, match=r"mine.h5 exists already; choose another --name, or delete it"):
        keep(learned_run, 0.05, tmp_path / "mine.h5", **SHORT)
    (tmp_path / "mine.h5").unlink()
    keep(learned_run, 0.05, tmp_path / "mine.h5", **SHORT)
    with pytest.raises(ExperimentError, match="another run than the behaviour mine"):
        check(choose(folder=tmp_path)["mine"], 2000, 100, tmp_path / "long", jobs=1)


def test_one_that_ends_says_why() -> None:
    assert check_sentences("mine", {"samples": 7, "reason": "it blew up"}) == [
        "mine: 7 samples, then it blew up"
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["behaviours", "--name", "hexapod-jmp"], "did you mean 'hexapod-jump'"),
        (["behaviours", "--keep", "x.h5", "--name", "a"], "goes with one --name, with --freeze"),
        (["behaviours", "--folder", "nowhere"], "nowhere holds no behaviours"),
        (["video", "--behaviour", "hexapod-jmp", "out.mp4"], "did you mean 'hexapod-jump'"),
        (["video", "--behaviour", "hexapod-jump", "run.h5", "out.mp4"], "give the film's name alone"),
        (["video", "run.h5"], "give RUN.h5 and OUT.mp4"),
        (["video", "--behaviour", "hexapod-jump", "out.gif"], "must end in .mp4, .mkv, .mov, or in .png"),
        (["record", "--behaviour", "hexapod-jmp"], "did you mean 'hexapod-jump'"),
        (["record"], "give at least one run file"),
    ],
)
def test_behaviours_that_do_not_exist(
    refused: Callable[..., str], arguments: list[str], message: str
) -> None:
    assert message in refused(*arguments)


@pytest.mark.guard
def test_a_shipped_behaviour_is_recorded_and_quantified_like_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    wish = ["record", "--behaviour", "hexapod-jump", "--samples", "3000", "--transient", "100", "--quiet"]
    assert main(wish) == 0
    assert main(wish) == 0  # nothing left to do
    path = tmp_path / "runs" / "hexapod-jump.h5"
    with open_run_file(path) as found:
        assert found.behaviours["8min"].steps == 3000
        assert describe("hexapod", observed_in(found.behaviours["8min"]))["airtime"] > 0.3
    quick = ["--m-max", "5", "--replicates", "3", "--predictive", "0", "--quiet"]
    assert main(["quantify", str(path), *quick]) == 0
    assert main(["show", str(path)]) == 0
    text = capsys.readouterr().out
    assert "left out" in text and "E_core" in text
    page = tmp_path / "report.html"
    assert main(["report", str(path), "-o", str(page), "--seconds", "0", "--quiet"]) == 0
    assert page.stat().st_size > 10_000


def test_a_copy_is_not_mixed_up_with_another_run(learned_run: Path, tmp_path: Path) -> None:
    path = fetch("hexapod-jump", tmp_path)
    assert path.read_bytes() == find_behaviour("hexapod-jump").read_bytes()
    assert fetch("hexapod-jump", tmp_path) == path
    with h5py.File(path, "r+") as file:
        C = file["frozen/8min/controller/C"]
        C[0, 0] += 1
        del C.attrs["crc32"]
    with pytest.raises(ExperimentError, match="another run than the behaviour hexapod-jump"):
        fetch("hexapod-jump", tmp_path)
    path.write_bytes(learned_run.read_bytes())
    with pytest.raises(ExperimentError, match="another run than the behaviour hexapod-jump; move it away"):
        fetch("hexapod-jump", tmp_path)


@pytest.mark.skipif(len(HERE) < 2, reason="PyBullet is not installed")
def test_an_engine_has_its_own_of_what_comes_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked for in the other engine, it is the one that learned there; with --transplant the usual one."""
    monkeypatch.chdir(tmp_path)
    (other,) = set(HERE) - {default_engine()}
    words = ["record", "--behaviour", "snake-crawl", "--samples", "50", "--transient", "0", "--jobs", "1"]
    for more in ([], ["--engine", other], ["--engine", other, "--transplant"]):
        assert main([*words, *more, "--quiet"]) == 0
    names = ["snake-crawl.h5", f"snake-crawl-{other}.h5", f"snake-crawl.{other}.h5"]
    usual = default_engine()
    engines = [(usual, usual), (other, other), (usual, other)]
    for name, (learned, acts) in zip(names, engines, strict=True):
        with open_run_file(tmp_path / "runs" / name) as run:
            assert learned in run.versions and run.engine == acts
            assert run.behaviours["8min"].steps == 50
    assert main(["behaviours", "--engine", other, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["snake-crawl"]
    assert find_behaviour("snake-crawl", other) == Path(found["path"]) != find_behaviour("snake-crawl")
    assert ex.behaviour("snake-crawl", tmp_path / "more", engine=other).path.stem == f"snake-crawl-{other}"


def test_stored_numbers_are_plain(learned_run: Path, tmp_path: Path) -> None:
    """Whoever reads the file with h5py alone finds what it is, what it does and how to make it."""
    with h5py.File(find_behaviour("hexapod-jump"), "r") as file:
        assert json.loads(file.attrs["numbers"])["mode"] == "jumping"
        assert file.attrs["command"].startswith(b"selforg learn hexapod")
        assert file["frozen/8min/controller/C"].shape == (18, 19)
        assert json.loads(file.attrs["versions"])[default_engine()]
        body = json.loads(file.attrs["config"])["body"]
    assert body["gravity"] == 9.81


@pytest.mark.guard
def test_a_behaviour_of_ones_own_is_known_to_every_command(
    learned_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lies in a place of the user's, not in the installed package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("experiments.studies.emergence.library.keep.__defaults__", ("", 500, 0))
    for name in ("SELFORG_BEHAVIOURS", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.platform", "linux")
    words = ["behaviours", "--keep", str(learned_run), "--freeze", "0.1", "--name"]
    assert main([*words, "my-stand"]) == 0
    own = tmp_path / "home/.local/share/selforg/behaviours/my-stand.h5"
    assert own.exists() and f"your own, {own}" in capsys.readouterr().out
    assert (
        main(["record", "--behaviour", "my-stand", "--samples", "60", "--transient", "0", "--jobs", "1"]) == 0
    )
    assert main(["video", "--behaviour", "my-stand", "x.png", "--seconds", "0.1", "--skip", "0"]) == 0
    assert ex.behaviour("my-stand", tmp_path / "runs").recorded == ("0.1min",)
    assert main([*words, "hexapod-jump"]) == 2 and main([*words, "my-stand"]) == 2
    # Elsewhere: by its path.
    assert (
        main([*words, "other", "--folder", "x"]) == 0 and "this one as x/other.h5" in capsys.readouterr().err
    )
    assert (
        main(["record", "--behaviour", "x/other.h5", "--samples", "60", "--transient", "0", "--jobs", "1"])
        == 0
    )
    monkeypatch.setenv("SELFORG_BEHAVIOURS", "x")
    assert ex.behaviour("other", tmp_path / "more").seed == 1
