"""What docs/controllers.md says holds: its example runs, its table is complete and has the real defaults."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from controllers import PRESETS, REGISTRY, make

TEXT = (Path(__file__).parents[2] / "docs" / "controllers.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.fixture
def example(tmp_path, monkeypatch):
    (module,) = (block for block in BLOCKS if "class Oja" in block)
    (tmp_path / "my_rules.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    yield module
    sys.modules.pop("my_rules", None)


def test_the_rule_of_ones_own_works_like_any_other(example):
    lines = [line for line in example.splitlines() if line.strip() and not line.lstrip().startswith('"""')]
    assert len(lines) <= 30
    rule = make("my_rules:Oja", 3, 2, {"eps": 0.05})
    values = np.sin(np.outer(np.arange(4000), [0.3, 0.3, 0.5]) + np.array([0.0, 1.0, 0.0]))
    for s in values[:200]:
        rule.step(s)
    resumed = type(rule).from_state(rule.state())
    for s in values[200:]:
        assert np.array_equal(rule.step(s), resumed.step(s))
    # Each row tends to <y v> / <y^2>: the correlation of a sine with itself or one a phase of 1 ahead, a step
    # of .3 before. A time constant of 1 / (eps <y^2>) = 450 steps leaves a ripple of about .02.
    expected = [[np.cos(0.3), np.cos(0.7), 0.0], [np.cos(1.3), np.cos(0.3), 0.0]]
    np.testing.assert_allclose(rule.freeze().C, expected, atol=0.05)
    with pytest.raises(ValueError, match="sensor 1 is nan"):
        rule.step([0.0, np.nan, 0.0])


def test_the_first_example_runs():
    exec(compile(BLOCKS[0], "docs/controllers.md", "exec"), {"s": np.zeros(19)})


def test_the_table_has_every_rule_and_its_defaults():
    rows = {row[1]: row[0] for row in re.findall(r"^(\| `(\w+)` \|.*)$", TEXT, flags=re.MULTILINE)}
    assert set(REGISTRY) <= set(rows)
    for name, rule in REGISTRY.items():
        config = rule.Config()
        stated = re.findall(r"`(\w+)` ([\w.-]+)", rows[name].split("|")[-3])
        assert stated, name
        for field, value in stated:
            actual = getattr(config, field)
            assert (
                (value == {True: "yes", False: "no"}[actual])
                if isinstance(actual, bool)
                else (value == actual if isinstance(actual, str) else float(value) == pytest.approx(actual))
            ), f"{name}.{field} is {actual}, the table says {value}"


def test_the_table_of_presets_is_complete_and_has_their_sources():
    for rule, presets in PRESETS.items():
        for name, preset in presets.items():
            (row,) = re.findall(rf"^\| {rule} \| `{name}` \|.*$", TEXT, flags=re.MULTILINE)
            assert preset.source in row
            assert all(f"`{key}`" in row for key in preset.settings)
