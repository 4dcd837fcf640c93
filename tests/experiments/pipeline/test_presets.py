"""A preset stands in place of the defaults for robot and rule, and single settings beat it."""

import dataclasses
from pathlib import Path

import pytest

import controllers
import experiments as ex
from experiments.errors import ExperimentError
from experiments.options.pipeline import Learn
from experiments.pipeline.learn import resolve


def test_a_preset_replaces_the_defaults_and_is_beaten_by_single_settings() -> None:
    published = dataclasses.asdict(controllers.DEPConfig())
    assert resolve(Learn("snake", "dep")).rule["kappa"] == 3.2
    assert resolve(Learn("snake", "dep", preset="authors-hexapod")).rule == published
    changed = resolve(Learn("snake", "dep", preset="authors-humanoid", rule={"eps_h": 0.0})).rule
    assert (changed["norm"], changed["kappa"], changed["eps_h"]) == ("global", 1.4, 0.0)


def test_the_body_and_the_name_of_the_file() -> None:
    one, other = (resolve(Learn("snake", "dep", preset=name)) for name in (None, "authors-hexapod"))
    assert one.body == other.body
    assert (one.out, other.out) == (Path("runs/snake-dep-1.h5"), Path("runs/snake-dep-authors-hexapod-1.h5"))
    assert other.preset is None, "spelled out"


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ExperimentError, match=r"tipi has no preset 'authors-hexapod'; it has authors, "):
        resolve(Learn("hexapod", "tipi", preset="authors-hexapod"))


def test_presets_from_python(tmp_path: Path) -> None:
    run = ex.learn("barrel", "dep", 0.02, [0.02], preset="authors-humanoid", out=tmp_path / "run.h5")
    assert run.config["rule"]["kappa"] == 1.4
