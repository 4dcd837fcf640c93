"""The commands emergence and behaviours, and whether shipped behaviours still do what they did."""

import dataclasses
import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from controllers import Frozen
from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.reports.video import Video, video
from experiments.runfiles.library import FOLDER, fetch, find_behaviour, shipped
from experiments.runfiles.run_file import open_run
from experiments.studies.emergence import controls as control
from experiments.studies.emergence.library import Behaviours, behaviours, keep, measure
from experiments.studies.emergence.observing import describe, see
from experiments.studies.emergence.trials import (
    Emergence,
    Trial,
    emergence,
    make_trial,
    named,
    trial,
    verdict,
)

SHIPPED = sorted(path.stem for path in FOLDER.glob("*.h5"))
SHORT = {"samples": 1000, "transient": 100}
SMALL = {"minutes": 0.2, "samples": 1000, "transient": 100, "jobs": 1, "quiet": True}


def small(out: Path, robot: str = "hexapod", **changes: object) -> Emergence:
    return Emergence(robot, **({"seeds": 2, "out": out} | SMALL | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.h5"
    return learn(Learn("hexapod", minutes=0.2, freeze=(0.1, 0.2), seed=3, out=path, quiet=True))


# Emergence.


def test_a_trial_is_what_learn_and_record_do(tmp_path: Path) -> None:
    config = make_trial(small(tmp_path, freeze=(0.1, 0.2)), 3)
    row = named(config, trial(config))
    path = tmp_path / "run.h5"
    learn(Learn("hexapod", minutes=0.2, freeze=(0.1, 0.2), seed=3, out=path, quiet=True))
    record(Record((path,), 1000, transient=100, measure=0.02, jobs=1, quiet=True))
    with open_run(path) as found:
        expected = {name: describe("hexapod", see(item)) for name, item in found.behaviours.items()}
    assert row["frozen"] == expected  # bit by bit
    assert row["seed"] == 3 and row["reason"] == ""
    # 12 s of learning are one window of 10 s.
    assert len(row["learning"]["modes"]) == 1
    assert row["learning"]["longest"] == {row["learning"]["modes"][0]: 10.0}
    assert row["learning"]["first_jumps"] is None


def test_modes_are_named_when_they_are_told(tmp_path: Path) -> None:
    """Numbers are kept, names follow the criteria of the day."""
    numbers = {"airtime": 0.4, "peak_share": 0.9, "std_x1": 0.5}
    frozen = {"8min": numbers, "4min": {"reason": "x"}}
    row = {"learning": [numbers | {"airtime": 0.0}, numbers, numbers], "frozen": frozen}
    found = named(make_trial(small(tmp_path), 1), row)
    assert found["learning"]["modes"] == ["up-down", "jumping", "jumping"]
    assert found["learning"]["longest"] == {"up-down": 10.0, "jumping": 20.0}
    assert found["learning"]["first_jumps"] == pytest.approx(1 / 6)
    assert found["frozen"]["8min"]["mode"] == "jumping" and found["frozen"]["4min"] == {"reason": "x"}


def test_table_verdict_and_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = emergence(small(tmp_path))
    text = capsys.readouterr().out
    assert "0.2min" in text and "peak" in text and "in 2 of 2 seeds" in text
    saved = json.loads((tmp_path / "hexapod-ulr-emergence.json").read_text())
    assert saved == json.loads(json.dumps(found))
    assert [row["seed"] for row in saved["rows"]] == [1, 2]
    assert set(saved["rows"][0]["frozen"]["0.2min"]) >= {"mode", "airtime", "std_x1", "peak_share", "support"}
    # Nothing is computed again.
    monkeypatch.setattr("experiments.studies.emergence.trials.learn_trial", None)
    assert emergence(small(tmp_path))["rows"] == found["rows"]


def test_a_seed_that_breaks_down_has_a_row_with_the_reason(tmp_path: Path) -> None:
    found = emergence(small(tmp_path, seeds=1, body={"max_joint_speed": 0.01}))
    (row,) = found["rows"]
    assert "broke down" in row["reason"]
    assert row["frozen"]["0.2min"]["reason"].startswith("never reached")
    assert found["verdict"][-1] == "broke down: 1 of 1 seeds"


def test_verdicts_count_seeds() -> None:
    jump = {"mode": "jumping", "std_x1": 0.5, "airtime": 0.4}
    low = {"mode": "up-down", "std_x1": 0.1, "airtime": 0.0}
    rows = [
        {"seed": 1, "frozen": {"8min": jump}, "learning": {"first_jumps": 2.5}},
        {"seed": 2, "frozen": {"8min": low}, "learning": {"first_jumps": None}},
        {"seed": 3, "reason": "it blew up"},
    ]
    first, second, third = verdict("hexapod", rows)
    assert first.startswith("8min: on the ground in 1 of 3 seeds, std of x_1 over .15 in 1, regular jumping")
    assert first.endswith("in 1")
    assert second == "first jumps while learning: minute 2.5 to 2.5 in 1 of 3 seeds"
    assert third == "broke down: 1 of 3 seeds"
    rows[2]["unfinished"] = True
    assert verdict("hexapod", rows)[2] == "unfinished: 1 of 3 seeds; the same command tries them again"
    rows = [
        {
            "frozen": {"1min": {"mode": "rolling"}, "2min": {"mode": "quiet"}},
            "learning": {"longest": {"rolling": 60.0}},
        },
        {
            "frozen": {"1min": {"mode": "writhing"}, "2min": {"reason": "it blew up"}},
            "learning": {"longest": {"rolling": 20.0, "writhing": 10.0}},
        },
    ]
    assert verdict("snake", rows) == [
        "1min, of 2 seeds: rolling in 1, writhing in 1",
        "2min, of 2 seeds: quiet in 1, broke down in 1",
        "rolling while learning: in 2 of 2 seeds, for 20 to 60 s without a break",
        "writhing while learning: in 1 of 2 seeds, for 10 to 10 s without a break",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["barrel"], "what to look for is not stated for 'barrel'; known: hexapod, snake"),
        (["hexapod", "--seeds", "0"], "--seeds is 0; it must be at least 1"),
        (["hexapod", "--samples", "10"], "--samples 10 must be at least 1000"),
        (["hexapod", "--freeze", "9"], "--freeze 9 lies outside the experiment of 8 minutes"),
        (["hexapod", "--controls", "--push"], "two experiments: ask for one at a time"),
        (["hexapod", "--controls", "--controller", "dep"], "switches off terms of ulr; the rule is 'dep'"),
        (["snake", "--push", "--impulse", "-1"], "--impulse is -1; it must be greater than 0"),
        (["snake", "--push", "--impulse", "inf"], "--impulse is inf; it must be greater than 0 and finite"),
        (["hexapod", "--push"], "across its length; 'hexapod' is not: use snake"),
    ],
)
def test_wishes_that_cannot_be_fulfilled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["emergence", *arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_controls_change_what_they_say(tmp_path: Path) -> None:
    settings = small(tmp_path)
    usual = make_trial(settings, 1)
    for name, changes in control.CONTROLS.items():
        changed = make_trial(settings, 1, *changes)
        for part, wanted in (("body", changes[0]), ("rule", changes[1])):
            before, after = getattr(usual, part), getattr(changed, part)
            assert {key: after[key] for key in after if after[key] != before[key]} == wanted, name


def test_controls_of_a_short_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "AUDIT_STEPS", 200)
    monkeypatch.setattr(control, "AUDIT_TRANSIENT", 20)
    found = emergence(small(tmp_path, seeds=1, minutes=0.1, controls=True))
    text = capsys.readouterr().out
    assert set(found["controls"]) == set(control.CONTROLS)
    assert "learning off" in text and "servos give" in text
    for row in (found["physics"][name][0] for name in control.AUDITED):
        # A body that learned for 6 s stands: nothing falls, and little energy flows.
        assert row["flights"] == 0
        assert abs(row["motors"]) < 0.1 and abs(row["ground"]) < 0.1
        assert row["passive"] < 1.001


def test_shipped_jumps_obey_gravity_and_live_on_their_servos() -> None:
    from experiments.pipeline.loop import make_body
    from robots.audit import audit

    with open_run(find_behaviour("hexapod-jump")) as found:
        frozen, settings = found.frozen["8min"], found.config["body"]
    body = make_body("hexapod", settings)
    try:
        s = body.restore(frozen.body)
        books = audit(body, Frozen(frozen.controller["C"], frozen.controller["h"]), s, 500)
    finally:
        body.close()
    falls = [(books.lift[b] - books.lift[a]) / ((b - a) * books.step) for a, b in books.flights()]
    assert len(falls) > 10  # 10 s at 1.9 Hz
    # The integrator's first-order error in flight with legs at full swing: 1 %.
    assert np.mean(falls) == pytest.approx(-9.81, rel=0.01)
    assert books.work.sum() > 1 > -1 > books.rest[books.touching].sum()  # J: servos give, the ground takes


def test_without_the_vertical_velocity_its_sensor_reads_noise() -> None:
    from experiments.pipeline.loop import make_body

    body = make_body("hexapod", dict(control.BLIND))
    try:
        body.reset(seed=1)
        read = [body.step(np.full(18, (-1.0) ** (t // 10)))[0][18] for t in range(100)]
    finally:
        body.close()
    assert np.abs(read).max() < 0.02 / np.sqrt(0.1)  # the bound of the noise


def test_pushes_are_told_apart_from_what_happens_anyway(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = emergence(small(tmp_path, "snake", seeds=1, push=True, impulse=3.0))
    text = capsys.readouterr().out
    assert [row["push"] for row in found["rows"]] == ["left", "right", "none"]
    before = [row["before"] for row in found["rows"]]
    assert before[0] == before[1] == before[2]  # the same world until the push
    after = [row["after"]["across"] for row in found["rows"]]
    assert len(set(after)) == 3
    assert "a push of 3 N s: the mode changes in" in text and "without a push:" in text


# Behaviours that come with the project.


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_behaviours_still_do_what_they_did(name: str) -> None:
    stated = shipped()[name]
    found = measure(stated.path, samples=3000, transient=500)
    assert found["mode"] == stated.numbers["mode"]
    # 60 s tell frequencies to .02 Hz; the rest is how much a minute differs from the next.
    assert found["frequency"] == pytest.approx(stated.numbers["frequency"], rel=0.1)
    for key in ("height_std", "std_x1") if stated.robot == "hexapod" else ("joint_std",):
        assert found[key] == pytest.approx(stated.numbers[key], rel=0.2), key
    assert stated.command.startswith(f"selforg learn {stated.robot}")
    assert stated.path.stat().st_size < 100_000


def test_the_hexapods_shipped_behaviours_are_those_of_the_paper() -> None:
    found = {name: item.numbers for name, item in shipped().items()}
    jump, updown = found["hexapod-jump"], found["hexapod-updown"]
    assert jump["airtime"] > 0.3 and jump["peak_share"] > 0.8
    assert updown["airtime"] < 0.02 and updown["std_x1"] > 0.15


def test_keeping_a_behaviour_keeps_what_decides_it(run: Path, tmp_path: Path) -> None:
    path = keep(run, 0.2, tmp_path / "mine.h5", "stands there", **SHORT)
    (item,) = shipped(tmp_path).values()
    assert (item.name, item.about, item.robot, item.seed, item.minutes) == (
        "mine", "stands there", "hexapod", 3, 0.2
    )  # fmt: skip
    assert item.command == ("selforg learn hexapod --controller ulr --seed 3 --minutes 0.2 --freeze 0.1 0.2")
    with open_run(run) as long, open_run(path) as short:
        assert short.config == long.config and list(short.frozen) == ["0.2min"]
        ours, theirs = short.frozen["0.2min"], long.frozen["0.2min"]
        for part in ("controller", "body"):
            for key, value in getattr(theirs, part).items():
                assert np.array_equal(getattr(ours, part)[key], value), key
        assert short.learning.steps == 0 and short.learning.status == "left out"
    assert path.stat().st_size < 100_000
    with pytest.raises(ExperimentError, match=r"no controller frozen at 5min.*known: 0.1min, 0.2min"):
        keep(run, 5, tmp_path / "none.h5")


def test_a_changed_setting_is_in_the_command(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    settings = Learn("hexapod", minutes=0.1, freeze=(0.1,), body={"gravity": 6.0}, rule={"eps": 0.003})
    learn(dataclasses.replace(settings, checkpoint=250, out=path, quiet=True))
    keep(path, 0.1, tmp_path / "kept" / "light.h5", **SHORT)
    command = shipped(tmp_path / "kept")["light"].command
    assert command.endswith("--freeze 0.1 --checkpoint 250 --body gravity=6.0 --rule eps=0.003")


def test_listing_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["behaviours"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in SHIPPED) and "selforg video --behaviour" in text
    assert "speed [m/s]" in text  # brackets are no markup
    assert main(["behaviours", "--name", "hexapod-jump", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["hexapod-jump"] and found["hexapod-jump"]["numbers"]["mode"] == "jumping"


def test_checking_that_a_behaviour_goes_on(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(run, 0.2, tmp_path / "mine.h5", **SHORT)
    settings = Behaviours(True, 2000, 100, folder=tmp_path, out=tmp_path / "long", jobs=1)
    found = behaviours(settings)["mine"]
    assert found["samples"] == 2000
    assert found["first"].keys() == found["last"].keys() and "verdict" in found["stationarity"]
    with open_run(tmp_path / "long" / "mine.h5") as recorded:
        item = recorded.behaviours["0.2min"]
        assert found["last"] == describe("hexapod", see(item, 1800, 2000))
    assert "first tenth" in capsys.readouterr().out
    keep(run, 0.1, tmp_path / "mine.h5", **SHORT)
    with pytest.raises(ExperimentError, match="another run than the behaviour mine"):
        behaviours(settings)


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
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_shipped_behaviour_is_recorded_and_quantified_like_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    wish = ["record", "--behaviour", "hexapod-jump", "--samples", "3000", "--transient", "100", "--quiet"]
    assert main(wish) == 0
    assert main(wish) == 0  # nothing left to do
    path = tmp_path / "runs" / "hexapod-jump.h5"
    with open_run(path) as found:
        assert found.behaviours["8min"].steps == 3000
        assert describe("hexapod", see(found.behaviours["8min"]))["airtime"] > 0.3
    quick = ["--m-max", "5", "--replicates", "3", "--predictive", "0", "--quiet"]
    assert main(["quantify", str(path), *quick]) == 0
    assert main(["show", str(path)]) == 0
    text = capsys.readouterr().out
    assert "left out" in text and "E_core" in text
    page = tmp_path / "report.html"
    assert main(["report", str(path), "-o", str(page), "--seconds", "0", "--quiet"]) == 0
    assert page.stat().st_size > 10_000


def test_a_copy_is_not_mixed_up_with_another_run(run: Path, tmp_path: Path) -> None:
    path = fetch("hexapod-jump", tmp_path)
    assert path.read_bytes() == find_behaviour("hexapod-jump").read_bytes()
    assert fetch("hexapod-jump", tmp_path) == path
    with h5py.File(path, "r+") as file:
        C = file["frozen/8min/controller/C"]
        C[0, 0] += 1
        del C.attrs["crc32"]
    with pytest.raises(ExperimentError, match="another run than the behaviour hexapod-jump"):
        fetch("hexapod-jump", tmp_path)
    path.write_bytes(run.read_bytes())
    with pytest.raises(ExperimentError, match="another run than the behaviour hexapod-jump; move it away"):
        fetch("hexapod-jump", tmp_path)


def test_film_and_film_strip_of_a_behaviour(tmp_path: Path) -> None:
    import matplotlib.image

    film = video(Video(tmp_path / "jump.mp4", behaviour="hexapod-jump", seconds=0.2, skip=0, quiet=True))
    assert film.stat().st_size > 1000
    film_strip = tmp_path / "strip.png"
    wish = Video(film_strip, behaviour="hexapod-jump", seconds=0.4, skip=0, pictures=3, quiet=True)
    picture = matplotlib.image.imread(video(wish))
    assert picture.shape[0] == 240 and picture.shape[1] > 3 * 200
    left, right = picture[:, :200], picture[:, -200:]
    assert np.abs(left - right).mean() > 0.01  # it moved


def test_stored_numbers_are_plain(run: Path, tmp_path: Path) -> None:
    """Whoever reads the file with h5py alone finds what it is, what it does and how to make it."""
    with h5py.File(find_behaviour("hexapod-jump"), "r") as file:
        assert json.loads(file.attrs["numbers"])["mode"] == "jumping"
        assert file.attrs["command"].startswith(b"selforg learn hexapod")
        assert file["frozen/8min/controller/C"].shape == (18, 19)
        assert json.loads(file.attrs["versions"])["pybullet"]
        body = json.loads(file.attrs["config"])["body"]
    assert body["gravity"] == 9.81


def test_trials_know_everything_that_decides_them(tmp_path: Path) -> None:
    fields = {f.name for f in dataclasses.fields(Trial)}
    learned = {"robot", "controller", "seed", "minutes", "freeze", "body", "rule"}
    assert fields == learned | {"samples", "transient", "window"}
    assert "gravity" in make_trial(small(tmp_path), 1).body
