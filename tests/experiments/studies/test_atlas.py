"""Explorations: the space, what grows and what matters, search, and the table that comes out."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import experiments as ex
from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.options.pipeline import file_name
from experiments.options.studies import Explore
from experiments.studies.atlas.atlas import Atlas, spread
from experiments.studies.atlas.elites import CELLS, Plane, map_elites
from experiments.studies.atlas.explore import SPACES, explore, read_earlier
from experiments.studies.atlas.life import grows, growth, merit, rich
from experiments.studies.atlas.matters import sentences, what_matters
from experiments.studies.atlas.space import Axis, Space, read_space

NAME = f"{file_name('hexapod', 'ulr', 'mujoco')}-atlas"
"""Of the files: the engine is part of it where it is not the usual one."""
SMALL: dict[str, Any] = {"freeze": (0.02, 0.04), "samples": 1500, "transient": 0, "films": 0, "jobs": 1}
DRAWN = """
[body]
gravity = { choices = [6.0, 9.81] }
noise = 0.01
[rule]
eps = { log_range = [0.001, 0.02] }
d = { range = [3, 5] }
"""


@pytest.fixture
def space(tmp_path: Path) -> Path:
    path = tmp_path / "space.toml"
    path.write_text(DRAWN)
    return path


def test_every_value_of_a_space_is_drawn_alike(space: Path) -> None:
    found = read_space(space)
    points = [found.at(u) for u in found.design(512, 1)]
    for values in ([p["body"]["gravity"] for p in points], [p["rule"]["d"] for p in points]):
        kinds, counts = np.unique(values, return_counts=True)
        # A sequence of low discrepancy: each part of the range gets its share to a few points.
        assert np.ptp(counts) <= 6 and len(kinds) in (2, 3)
    rates = np.log([p["rule"]["eps"] for p in points])
    assert abs(np.median(rates) - np.log(0.001 * 0.02) / 2) < 0.02
    assert all(p["body"]["noise"] == 0.01 for p in points)


def test_a_larger_design_begins_with_the_smaller_one(space: Path) -> None:
    found = read_space(space)
    assert np.array_equal(found.design(100, 3)[:7], found.design(7, 3))
    assert not np.array_equal(found.design(7, 3), found.design(7, 4))


@pytest.mark.parametrize("robot", [path.stem for path in SPACES.glob("*.toml")])
def test_the_ends_of_the_spaces_that_come_along_are_settings(robot: str) -> None:
    from experiments.pipeline.learn import Learn, resolve

    found = read_space(SPACES / f"{robot}.toml")
    for u in (0.0, 1.0):
        point = found.at(np.full(len(found.axes), u))
        resolve(Learn(robot, body=point["body"], rule=point["rule"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[body]\ngravity = 3.0", "draws nothing"),
        ("[bdy]\ngravity = { range = [1, 2] }", "neither"),
        ("[body]\ngravity = { rang = [1, 2] }", "did you mean 'range'"),
        ("[body]\ngravity = { range = [2.0, 1.0] }", "LOW < HIGH"),
        ("[body]\ngravity = { range = [1.0, inf] }", "LOW < HIGH"),
        ("[body]\ngravity = { log_range = [0.0, 1.0] }", "greater than 0"),
        ("[body]\ngravity = { choices = [1.0] }", "two or more"),
        ("gravity = ", "not valid TOML"),
    ],
)
def test_a_space_that_is_none_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(ExperimentError, match=words):
        read_space(path)


def lived(*cores: float | None, kappa: float = 0.2, std: float = 0.4, D: float = 1.0) -> dict[str, Any]:
    """What a life leaves, with these core complexities at its freeze times."""
    scales = [{"covered": 1.0, "E_core": core, "kappa": kappa, "D": D} for core in cores]
    frozen = {f"{i}min": {"reason": "", "std": std, "common": one} for i, one in enumerate(scales)}
    return {"reason": "", "frozen": frozen}


def test_growth_is_a_rise_at_every_freeze_time_to_a_deterministic_motion() -> None:
    assert grows(lived(0.0, 0.7, 1.9), "common")
    assert not grows(lived(0.0, 2.0, 1.9), "common")  # falls at the end
    assert not grows(lived(0.0, 0.7, 0.75), "common")  # within the scatter
    assert not grows(lived(0.0, None, 1.9), "common")
    assert not grows(lived(0.0, 0.7, 1.9, kappa=0.7), "common")  # into noise
    assert not grows(lived(0.0, 0.7, 1.9, std=0.01), "common")  # into rest
    assert not grows(lived(1.9), "common") and not grows({"reason": "broke down"}, "common")
    assert growth(lived(0.5, 9.0, 1.75), "common") == 1.25 and growth(lived(None, 1.0), "common") is None
    assert rich(lived(1.0, D=2.6), "common") and not rich(lived(1.0, D=2.6, kappa=0.8), "common")


def test_a_setting_that_decides_is_found_and_one_that_does_not_is_not() -> None:
    rng = np.random.default_rng(1)
    x, idle, y = rng.random(300), rng.random(300), rng.random(300)
    jumps = x > 0.6 + 0.1 * y
    found = what_matters({"a": x, "b": idle}, {"jumps": jumps, "amount": x + 0.3 * y, "rare": jumps & False})
    first, second, third = found
    assert list(first["correlations"]) == ["a", "b"] == list(second["correlations"])
    assert first["correlations"]["a"]["lo"] > 0.8 and second["correlations"]["a"]["lo"] > 0.5
    assert first["correlations"]["b"]["lo"] < 0 < first["correlations"]["b"]["hi"]
    assert first["tree"]["auc"] > 0.95 and first["tree"]["questions"][0].startswith("a above 0.6")
    assert "correlations" not in third
    said = sentences(found)
    assert said[0].startswith("jumps goes with a (+") and "too few" in said[-1]


def test_an_outcome_that_hangs_on_nothing_is_said_to() -> None:
    rng = np.random.default_rng(2)
    found = what_matters({"a": rng.random(200)}, {"chance": rng.random(200) < 0.4})
    assert any("no rule" in sentence for sentence in sentences(found))


@pytest.mark.guard
def test_search_fills_cells_that_sampling_does_not_reach() -> None:
    """Behaviours are rare here in most of the plane: only near a corner of the space do they leave it."""
    pytest.importorskip("ribs")
    space = Space(tuple(Axis("rule", f"a{i}") for i in range(8)), {"body": {}, "rule": {}})
    plane = Plane((0.0, 1.0), (0.0, 1.0))
    cells: dict[str, set[Any]] = {"search": set(), "sampling": set()}

    def scores(points: Any, name: str) -> list[tuple[float, float, float]]:
        found = [(0.0, float(np.prod(u[:4])), float(np.prod(u[4:]))) for u in points]
        cells[name] |= {plane.cell(x, y) for _, x, y in found}
        return found

    map_elites(space, lambda points: scores(points, "search"), 600, 30, 1, plane)
    scores(space.design(600, 1), "sampling")
    assert len(cells["search"]) > 2 * len(cells["sampling"])


def test_search_goes_on_where_some_settings_have_no_numbers_and_refuses_where_none_has() -> None:
    pytest.importorskip("ribs")
    space, tried = Space((Axis("rule", "a"),), {"body": {}, "rule": {}}), []

    def half(points: Any) -> list[tuple[float, float, float]]:
        tried.extend(points)
        return [(1.0, float(u[0]), 0.5) if u[0] > 0.5 else (np.nan, 0.5, 0.5) for u in points]

    map_elites(space, half, 50, 8, 1, Plane((0.0, 1.0), (0.0, 1.0)))
    assert len(tried) == 50
    with pytest.raises(ExperimentError, match="none of the first"):
        map_elites(space, lambda p: [(np.nan,) * 3] * len(p), 50, 8, 1, Plane((0.0, 1.0), (0.0, 1.0)))


def test_films_are_of_cells_that_are_far_apart() -> None:
    cells = [(i, 0) for i in range(CELLS)]
    assert spread(cells, 3) == [(0, 0), (19, 0), (9, 0)] and spread(cells, 99) and not spread([], 3)


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    (folder / "space.toml").write_text(DRAWN)
    explore(Explore("hexapod", n=2, space=folder / "space.toml", engine="mujoco", out=folder, **SMALL))
    return folder


def test_an_exploration_leaves_one_tidy_table(explored: Path) -> None:
    name = NAME
    document = json.loads((explored / f"{name}.json").read_text())
    with open(explored / f"{name}.csv") as file:
        table = list(csv.DictReader(file))
    assert [(row["setting"], row["minutes"]) for row in table] == [
        ("0", "0.02"), ("0", "0.04"), ("1", "0.02"), ("1", "0.04")
    ]  # fmt: skip
    for row, written in zip(document["rows"], table, strict=True):
        assert row["body.gravity"] == float(written["body.gravity"]) and row["mode"] == written["mode"]
        assert row["E_core_common"] == pytest.approx(row["E_state_common"] + row["E_mem_common"])
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(explored / f"{name}.parquet").num_rows == 4
    page = (explored / f"{name}.html").read_text()
    assert "E_core grows on both" in page and "http" not in page.partition("plotly")[0]


def test_the_command_of_a_point_makes_it_again(explored: Path, tmp_path: Path, monkeypatch: Any) -> None:
    import shlex

    from experiments.runfiles.run_file import open_run_file

    life = json.loads((explored / f"{NAME}.json").read_text())["lives"][1]
    monkeypatch.chdir(tmp_path)
    assert main([*shlex.split(life["command"])[1:], "--out", "again.h5"]) == 0
    with (
        open_run_file(tmp_path / "again.h5") as run,
        open_run_file(explored / "store" / life["key"] / "kept" / "behaviour.h5") as kept,
    ):
        for name in ("0.02min", "0.04min"):
            assert np.array_equal(run.frozen[name].controller["C"], kept.frozen[name].controller["C"])


def test_growth_into_noise_is_not_the_best() -> None:
    noise = {"growth": 3.0, "growth_relative": 3.0, "grows": False, "grows_relative": False}
    clear = {"growth": 0.5, "growth_relative": 0.3, "grows": True, "grows_relative": True}
    half = clear | {"grows_relative": False, "growth_relative": None}
    assert sorted([noise, clear, half], key=merit) == [noise, half, clear]


def test_settings_of_an_earlier_exploration_are_taken_by_number(tmp_path: Path) -> None:
    grown = {"growth": 1.0, "growth_relative": 1.0, "grows": True, "grows_relative": True}
    lives = [grown | {"setting": i, "point": {"body": {}, "rule": {"d": i}}} for i in (3, 4, 5)]
    (earlier := tmp_path / "earlier.json").write_text(json.dumps({"lives": lives}))
    named = Explore("hexapod", again=earlier, settings=(4, 3, 4), best=1)
    assert [(one.number, one.point["rule"]["d"]) for one in read_earlier(named)] == [(4, 4), (3, 3)]
    assert [one.number for one in read_earlier(replace(named, settings=(), best=2))] == [3, 4]
    with pytest.raises(ExperimentError, match="--settings 7 is not in"):
        read_earlier(replace(named, settings=(7,)))


@pytest.mark.guard
def test_an_exploration_goes_on_and_takes_the_best_again(
    explored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = NAME
    options: dict[str, Any] = {"engine": "mujoco", "out": explored, **SMALL}
    before = json.loads((explored / f"{name}.json").read_text())
    entries = {path: path.stat().st_mtime_ns for path in (explored / "store").glob("*.json")}
    more = explore(Explore("hexapod", n=3, space=explored / "space.toml", **options))
    assert more.document["rows"][:4] == before["rows"] and len(more.document["rows"]) == 6
    assert {path: path.stat().st_mtime_ns for path in entries} == entries
    again = explored / "again.json"
    for life, rise in zip(before["lives"], (0.1, 0.9), strict=True):
        life |= {"growth": rise, "growth_relative": 1.0}
    again.write_text(json.dumps(before))
    options |= {"again": again, "best": 1, "seeds": (7, 8)}
    counted: list[int] = []

    def count(settings: dict[str, Any], outcomes: dict[str, Any]) -> list[Any]:
        counted.extend(map(len, settings.values()))
        return []

    monkeypatch.setattr("experiments.studies.atlas.explore.what_matters", count)
    best = explore(Explore("hexapod", space=explored / "space.toml", **options))
    assert [(life["setting"], life["seed"]) for life in best.document["lives"]] == [(1, 7), (1, 8)]
    assert best.document["lives"][0]["point"] == before["lives"][1]["point"]
    # Seeds of one setting are not settings: each counts once, and a share of runs has no interval.
    assert set(counted) == {1} and "95 %" not in best.tables()[0].heads


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": 0}, "--n is 0"),
        ({"n": 2**63}, "to 1,000,000"),
        ({"freeze": (0.0,)}, "--freeze"),
        ({"push": 1.0}, "--push"),
        ({"measures": ("D", "E_cor")}, "did you mean 'E_core'"),
        ({"goal": "-kapa"}, "did you mean 'kappa'"),
        ({"robot": "barrel"}, "no space comes along"),
        ({"again": Path("missing.json")}, "missing.json"),
        ({"settings": (3,)}, "say which with --again"),
        ({"samples": 20}, "--samples"),
    ],
)
def test_what_cannot_be_explored_is_refused_in_words(tmp_path: Path, changes: Any, words: str) -> None:
    values = {"robot": "hexapod", "out": tmp_path} | SMALL | changes
    with pytest.raises(ExperimentError, match=words):
        explore(Explore(**values))


def test_the_door_explores(explored: Path) -> None:
    found = ex.explore("hexapod", space=explored / "space.toml", n=2, engine="mujoco", out=explored, **SMALL)
    assert isinstance(found, Atlas) and len(found.to_frame()) == 4 and found.figure().axes
