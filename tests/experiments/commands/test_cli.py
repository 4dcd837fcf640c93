"""The command line: every mistake is one clear line, exit status 2, and nothing written."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from experiments.cli import COMMANDS, main, parse
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, learn, resolve
from experiments.pipeline.quantify import Quantify
from experiments.pipeline.record import Record, record
from experiments.runfiles.run_file import open_run_file
from experiments.settings import (
    command,
    deciding,
    difference,
    experiment_defaults,
    parse_settings,
    read_toml,
    with_seeds,
)
from experiments.studies.comparison.compare import Compare
from experiments.studies.emergence.emergence import Emergence
from experiments.studies.learning_curve import LearningCurve
from experiments.studies.progress import Progress
from experiments.studies.reproduction.reproduce import Reproduce

QUICK = ["--minutes", "0.1", "--freeze", "0.05", "0.1", "--checkpoint", "100", "--quiet"]


@pytest.fixture(scope="module")
def learned(learned_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was learned with the settings of QUICK, in a folder of its own."""
    return Path(shutil.copy(learned_run, tmp_path_factory.mktemp("cli") / "run.h5"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lern", "hexapod"], "did you mean 'learn'"),
        (["learn", "hexapot"], "did you mean 'hexapod'"),
        (["learn", "hexapod", "--controller", "url"], "did you mean 'ulr'"),
        (["learn", "hexapod", "--controller", "no_such_module:Rule"], "no_such_module"),
        (["learn", "hexapod", "--minutes", "-1"], "greater than 0"),
        (["learn", "hexapod", "--minutes", "nan"], "greater than 0"),
        (
            ["learn", "hexapod", "--minutes", "3", "--freeze", "2", "4"],
            "freeze 4 lies outside the experiment of 3 minutes",
        ),
        (["learn", "hexapod", "--freeze", "-1"], "outside the experiment"),
        (["learn", "hexapod", "--seed", "-1"], "seed is -1"),
        (["learn", "hexapod", "--checkpoint", "0"], "at least 1"),
        (["learn", "hexapod", "--interval", "0"], "greater than 0"),
        (["learn", "hexapod", "--body", "gravty=3"], "did you mean 'gravity'"),
        (["learn", "hexapod", "--body", "gravity=-3"], "gravity is -3"),
        (["learn", "hexapod", "--body", "gravity=heavy"], "gravity is 'heavy'"),
        (["learn", "hexapod", "--rule", "epz=3"], "did you mean 'eps'"),
        (["learn", "hexapod", "--config", "none.toml"], "cannot read the configuration none.toml"),
        (["record", "none.h5"], "none.h5 does not exist"),
        (["show", "none.h5"], "none.h5 does not exist"),
        (["video", "none.h5", "x.mp4"], "none.h5 does not exist"),
        (["export", "none.h5", "out"], "none.h5 does not exist"),
        (["salvage", "none.h5", "out.h5"], "none.h5 does not exist"),
        (["quantify", "none.csv"], "none.csv does not exist"),
        (["quantify", "none.c2"], "none.c2 does not exist"),
        (["quantify", "none.h5:/x"], "none.h5 does not exist"),
    ],
)
def test_wrong_requests(refused: Callable[..., str], arguments: list[str], message: str) -> None:
    assert message in refused(*arguments)


def test_requests_that_do_not_fit_the_run(learned: Path, refused: Callable[..., str], tmp_path: Path) -> None:
    before = learned.read_bytes()
    path = str(learned)
    for arguments, message in (
        (["record", path, "--samples", "0"], "samples is 0"),
        (["record", path, "--transient", "-1"], "transient is -1"),
        (["record", path, "--jobs", "-1"], "jobs is -1"),
        (["record", path, "--freeze", "8"], "known: 0.05min, 0.1min"),
        (["quantify", path], "holds no recorded behaviour"),
        (["quantify", path, "--freeze", "8"], "holds no behaviour '8min'"),
        (["video", path, str(tmp_path / "x.mp4"), "--freeze", "8"], "no controller frozen at 8min"),
        (["video", path, str(tmp_path / "x.gif")], "must end in .mp4"),
        (["video", path, str(tmp_path / "x.mp4"), "--seconds", "0"], "greater than 0"),
        (["export", path, str(tmp_path / "out")], "holds no recorded behaviour"),
        (["export", path, str(tmp_path), "--learning"], "exists already"),
        (["learn", "hexapod", *QUICK, "--seed", "2", "--out", path], "seed is 1 there and 2 here"),
        (
            ["learn", "hexapod", *QUICK, "--rule", "eps=0.005", "--out", path],
            f"rule.eps is {experiment_defaults('hexapod', 'ulr', 'rule')['eps']!r} there and 0.005 here",
        ),
    ):
        assert message in refused(*arguments)
    assert learned.read_bytes() == before
    assert [p.name for p in learned.parent.iterdir()] == ["run.h5"]


def test_a_finished_run_is_left_alone(learned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = learned.stat()
    assert main(["learn", "hexapod", *QUICK[:-1], "--out", str(learned)]) == 0
    assert "already complete (300 steps); nothing to do" in capsys.readouterr().err
    assert learned.stat() == before


def test_flags_beat_the_file_and_the_file_beats_defaults(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    lines = ['robot = "snake"', "minutes = 3", "freeze = [1, 2]", 'out = "x.h5"']
    file.write_text("\n".join([*lines, "[body]", "gravity = 5", "[rule]", "eps = 0.01"]))
    config = parse(Learn, ["--config", str(file), "--minutes", "4", "--rule", "eps=.02"], "selforg learn")
    assert (config.robot, config.minutes, config.freeze, config.out) == (
        "snake",
        4.0,
        (1.0, 2.0),
        Path("x.h5"),
    )
    assert config.body == {"gravity": 5} and config.rule == {"eps": 0.02} and config.seed == 1
    assert isinstance(config.freeze[0], float)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minuets = 3", "unknown key 'minuets'; did you mean 'minutes'"),
        ('minutes = "3"', "it should be a valid number"),
        ("seed = 1.5", "it should be a valid integer"),
        ("freeze = 2", "it should be a valid array"),
        ("quiet = 1", "it should be a valid boolean"),
        ("body = 3", "it should be an object"),
        ("minutes = ", "not valid TOML"),
    ],
)
def test_mistakes_in_a_configuration_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(ExperimentError, match=message):
        parse(Learn, ["hexapod", "--config", str(tmp_path / "c.toml")], "selforg learn")


def test_a_configuration_file_in_another_encoding(tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "c.toml").write_bytes('robot = "kr\u00f6te"'.encode("latin-1"))
    error = refused("learn", "--config", str(tmp_path / "c.toml"))
    assert "c.toml is not UTF-8 (byte 11); save it as UTF-8" in error


def test_a_full_disk_is_no_traceback(monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]) -> None:
    def fail(error: OSError) -> None:
        raise error

    doctor, full = (
        "experiments.commands.looking.doctor",
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    )
    monkeypatch.setattr(doctor, lambda *_: fail(full))
    assert refused("doctor") == "selforg: No space left on device"
    monkeypatch.setattr("experiments.commands.looking.doctor", lambda *_: fail(OSError("a mistake of ours")))
    with pytest.raises(OSError, match="a mistake of ours"):
        main(["doctor"])


def test_a_pair_in_a_configuration_file_is_a_pair(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("eps_range = [0.1]")
    with pytest.raises(ExperimentError, match="item 1 is missing"):
        read_toml(tmp_path / "c.toml", Quantify)
    (tmp_path / "c.toml").write_text("eps-range = [0.1, 1]")
    assert read_toml(tmp_path / "c.toml", Quantify) == {"eps_range": (0.1, 1.0)}


def test_the_resolved_configuration_is_in_the_file(learned: Path) -> None:
    with open_run_file(learned) as run:
        assert run.config["minutes"] == 0.1 and run.config["freeze"] == [0.05, 0.1]
        assert run.config["body"]["control_step"] == 0.02
        assert run.config["rule"]["eps"] == experiment_defaults("hexapod", "ulr", "rule")["eps"]


def test_the_defaults_of_every_experiment_are_settings_that_exist() -> None:
    with open(Path(__file__).parents[3] / "experiments" / "defaults.toml", "rb") as file:
        table = tomllib.load(file)
    assert table
    for robot, rules in table.items():
        for rule, parts in rules.items():
            config = resolve(Learn(robot, controller=rule))
            for part, values in parts.items():
                assert {key: getattr(config, part)[key] for key in values} == values
    assert resolve(Learn("snake", rule={"eps": 0.5})).rule["eps"] == 0.5


def test_settings_are_read_like_toml() -> None:
    assert parse_settings(["a=1", "b=.5", "c=true", "d=word", "e=x=y"]) == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": "word",
        "e": "x=y",
    }
    with pytest.raises(ValueError, match="KEY=VALUE"):
        parse_settings(["a"])


@pytest.mark.parametrize(
    "config",
    [
        Compare(),
        Compare(("snake",), ("ulr", "my_rules:Hebb"), seeds=(1, 2, 3), minutes=2.5, freeze=2.0, tune=4),
        Compare(common=(0.123456789, 1 / 3), rank="auto", surrogates=False, body_of="dep", samples=5000),
        Compare(("snake",), ("dep",), preset="ours", learning=False),
        LearningCurve("snake", every=0.25, body={"noise": 0.02, "name": "a b"}, rule={"on": True, "n": 3}),
        Emergence(seeds=(1, 2), controls=True),
        Progress("hexapod", seeds=(1, 2), samples=100_000),
        Reproduce("ar2", quick=True, samples=6000, seeds=(1,)),
    ],
)
def test_the_command_that_is_stated_gives_the_same_result(config: Any) -> None:
    name = re.sub("(?<!^)(?=[A-Z])", "-", type(config).__name__).lower()
    program, said, *words = shlex.split(command(name, config))
    assert (program, said) == ("selforg", name)
    parsed = parse(type(config), words, "selforg")
    assert deciding(parsed) == deciding(config)


def test_a_command_does_not_say_where_the_work_is_done() -> None:
    config = Compare(
        out=Path("elsewhere"), jobs=3, backend="dask", scheduler="tcp://10.0.0.1:8786", keep=True
    )
    assert command("compare", config) == "selforg compare"


def test_differences_are_named() -> None:
    assert difference({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}}) == ["b.c is 2 there and 3 here"]
    assert difference({"a": [1]}, {"a": [1]}) == []


@pytest.mark.parametrize("command", [*COMMANDS, ""])
def test_help_ends_well(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main([command, "--help"] if command else ["--help"]) == 0
    except SystemExit as end:
        assert end.code == 0
    assert "usage: selforg" in capsys.readouterr().out


def test_a_bad_flag_suggests_the_nearest_and_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["learn", "hexapod", "--minuts", "3"])
    assert end.value.code == 2
    assert "--minutes" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["learn", "barrel", "--controller", "-h"])  # asks for help in the place of a name
    assert end.value.code == 2 and "Missing value for argument" in capsys.readouterr().err


def test_ctrl_c_ends_cleanly_and_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    command = [
        sys.executable,
        "-m",
        "experiments.cli",
        "learn",
        "hexapod",
        "--minutes",
        "60",
        "--out",
        str(path),
    ]
    command += ["--freeze", "60", "--checkpoint", "50"]
    # A shell's background jobs, the test run perhaps among them, ignore interrupts.
    listen = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=listen)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if path.exists():
            with open_run_file(path) as run:
                if run.learning.steps >= 100:
                    break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; what was committed is safe" in error and "Traceback" not in error
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]
    with open_run_file(path) as run:
        assert run.learning.steps >= 100 and run.learning.status == "running"
    assert main(["record", str(path)]) == 2


def test_a_running_experiment_refuses_a_second_writer(learned: Path, refused: Callable[..., str]) -> None:
    from experiments.runfiles.atomic import writing

    with writing(learned):
        message = refused("record", str(learned), "--samples", "10", "--jobs", "1")
    assert "being written by another process" in message


def test_a_blow_up_stops_that_run_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A body that soon counts as blown up: rows so far and the reason are in the file."""
    path = tmp_path / "run.h5"
    learn(
        Learn(
            "hexapod",
            minutes=0.2,
            freeze=(0.0, 0.2),
            checkpoint=100,
            out=path,
            body={"max_joint_speed": 0.5},
        )
    )
    with open_run_file(path) as run:
        assert run.learning.status == "stopped" and "rad/s" in run.learning.reason
        assert 0 < run.learning.steps < 600
        assert list(run.frozen) == ["0min"]
    record(Record((path,), samples=500, transient=0, checkpoint=50, jobs=1))
    with open_run_file(path) as run:
        behaviour = run.behaviours["0min"]
        assert behaviour.status == "stopped" and "broke down" in behaviour.reason
        assert len(behaviour.sensors) == behaviour.steps
    assert main(["show", str(path)]) == 0
    assert "stopped: the simulation broke down" in capsys.readouterr().out.replace("\n", " ")


class NotANumber(__import__("controllers").Controller):
    """A rule that breaks down after 120 steps."""

    def update(self, s: np.ndarray) -> None:
        if self.t == 120:
            self.C[:] = np.nan


def test_nan_in_the_controller_stops_that_run_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    rule = f"{__name__}:NotANumber"
    learn(Learn("hexapod", controller=rule, minutes=0.1, freeze=(0.0, 0.1), checkpoint=50, out=path))
    with open_run_file(path) as run:
        assert run.learning.status == "stopped" and run.learning.steps == 120
        assert (
            "the controller broke down at step 120" in run.learning.reason
            and "C[0, 0]" in run.learning.reason
        )
        assert np.isfinite(run.learning.actions[:]).all()
        assert list(run.frozen) == ["0min"]


def test_json_of_versions_is_plain(learned: Path) -> None:
    with h5py.File(learned) as file:
        assert set(json.loads(file.attrs["versions"])) >= {"python", "numpy", "selforg"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("compare", Compare),
        ("emergence", Emergence),
        ("learning-curve", LearningCurve),
        ("progress", Progress),
    ],
)
def test_seeds_mean_the_same_in_every_command(name: str, settings: type, tmp_path: Path) -> None:
    who = [] if name == "compare" else ["hexapod"]

    def seeds(*words: str) -> tuple[int, ...]:
        return tuple(with_seeds(parse(settings, [*who, *words], f"selforg {name}")).seeds)

    assert seeds("--seeds", "1", "2", "3") == seeds("--seeds", "1:3") == seeds("--n-seeds", "3") == (1, 2, 3)
    assert seeds("--seeds", "7", "2:3", "7") == (7, 2, 3)
    for text in ("seeds = [1, 2, 3]", 'seeds = "1:3"', "n_seeds = 3"):
        (tmp_path / "some.toml").write_text(text)
        assert seeds("--config", str(tmp_path / "some.toml")) == (1, 2, 3)
    (tmp_path / "old.toml").write_text("seeds = 3")
    with pytest.raises(ExperimentError, match=r"give a list, .* or n_seeds = 3 for a count"):
        seeds("--config", str(tmp_path / "old.toml"))
    with pytest.raises(ExperimentError, match="give one of them"):
        seeds("--seeds", "5", "--n-seeds", "3")
    with pytest.raises(SystemExit):  # in words of the parser
        seeds("--seeds", "3:1")
    config = with_seeds(parse(settings, [*who, "--seeds", "1:9", "11"], f"selforg {name}"))
    assert "--seeds 1:9 11" in command(name, config)


def test_the_old_form_of_seeds_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    # Two experiments at once are refused, before anything runs.
    assert main(["emergence", "hexapod", "--seeds", "2", "--controls", "--engines"]) == 2
    assert "--seeds 2 is the one seed 2; for so many seeds say --n-seeds 2" in capsys.readouterr().err
