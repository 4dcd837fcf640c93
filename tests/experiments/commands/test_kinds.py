"""What can be chosen is said: robots, rules, their settings; and what to do next."""

import dataclasses
import json
from pathlib import Path

import pytest

import controllers
import robots
from experiments.cli import main
from experiments.options.keys import kind, known
from experiments.pipeline.learn import Learn, resolve


@pytest.mark.parametrize("package", ["robots", "controllers"])
def test_what_is_read_from_the_sources_is_what_is_imported(package: str) -> None:
    entries = robots.ROBOTS if package == "robots" else controllers.REGISTRY
    assert known(package) == list(entries)
    for name, entry in entries.items():
        config = entry.config if package == "robots" else entry.Config
        described = entry.env if package == "robots" else entry
        found = kind(package, name)
        assert found.about == described.__doc__.strip().splitlines()[0]
        defaults = {field.name: field.default for field in dataclasses.fields(config)}
        assert set(found.keys) == set(defaults)
        for key, default in defaults.items():
            typed = found.keys[key].default
            if isinstance(default, bool | str):
                assert typed == str(default).lower()
            else:
                assert float(typed) == pytest.approx(default, rel=1e-4)
            assert len(found.keys[key].about) > 15


def test_units_and_ranges_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["learn", "hexapod", "--help"], ["emergence", "-h"]):
        with pytest.raises(SystemExit):
            main(words)
        said = " ".join(capsys.readouterr().out.split())
        assert "Robots: hexapod, hexapod-high, snake" in said and "Rules: ulr, tipi" in said
        # The hexapod's gravity is not every robot's, and an experiment with ulr has its own eps.
        assert "gravity=9.81 Gravitational acceleration, downwards [m/s²]. 0 or more." in said
        eps = resolve(Learn("hexapod")).rule["eps"]
        assert eps != kind("controllers", "ulr").keys["eps"].default
        assert f"eps={eps} Learning rate of C per step, in [0, 10]" in said
    with pytest.raises(SystemExit):
        main(["learn", "--controller", "dep", "--help"])
    said = capsys.readouterr().out
    assert "gravity=6.0" in said and "norm=row" in said and "rate=0.02857" in said


def test_ones_own_rule_is_read_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules_to_read.py").write_text(
        "from dataclasses import dataclass\nfrom typing import Annotated\n"
        "from controllers import Controller, Range, RuleConfig\n"
        "open('it was run', 'w')\n"
        "@dataclass(frozen=True)\nclass MineConfig(RuleConfig):\n"
        '    speed: Annotated[float, Range(0, 2)] = 0.5\n    """How fast."""\n'
        'class Mine(Controller):\n    """My own."""\n    Config = MineConfig\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["rules", "rules_to_read:Mine", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    keys = {"speed": {"default": "0.5", "about": "How fast. In [0, 2]."}}
    assert found == {"rules_to_read:Mine": {"about": "My own.", "keys": keys}}
    assert not (tmp_path / "it was run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rules", "url"], "unknown rule 'url'; did you mean 'ulr'? known: babbling"),
        (["robots", "hexpod"], "unknown robot 'hexpod'; did you mean 'hexapod'?"),
        (["rules", "nowhere:Mine"], "nowhere has no class 'Mine'"),
    ],
)
def test_unknown_names_are_refused_in_words(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_the_last_line_says_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every line can be typed, and the last page be opened."""
    monkeypatch.chdir(tmp_path)
    words = ["learn", "barrel", "--minutes", "0.1", "--freeze", "0.1", "--out", "my run.h5"]
    more = {"record": ["--samples", "1500", "--transient", "0", "--jobs", "1"], "report": ["--seconds", "0"]}
    more["quantify"] = ["--replicates", "0", "--predictive", "0", "--m-max", "4"]
    asked = []
    while words:
        asked.append(words[0])
        assert main(words) == 0
        *_, line = capsys.readouterr().err.strip().splitlines()
        assert line.startswith("next: ")
        words = [one.strip("'") for one in line.replace("my run.h5", "my_run.h5").split()[2:]]
        words = [one.replace("my_run", "my run") for one in words]
        words = words + more.get(words[0], []) if line.startswith("next: selforg") else []
    assert asked == ["learn", "record", "quantify", "report"]
    assert line == "next: open report.html in a browser"
