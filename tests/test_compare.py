"""The comparison of controllers: equal treatment, nothing dropped."""

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quantify as q
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, resolve
from experiments.pipeline.record import Record, record
from experiments.runfiles import run_file as log
from experiments.runfiles.hdf5 import put_attributes
from experiments.studies import scoring as task
from experiments.studies.comparison.compare import Compare, _task, compare, measure_of
from experiments.studies.scoring import Behaviour, behaviour, over_scales

SMALL: dict[str, Any] = {"samples": 2000, "transient": 50, "jobs": 1, "quiet": True}


# ---- scales


@pytest.fixture(scope="module")
def parts() -> q.Decomposition:
    series = q.quantify(np.sin(np.arange(4000) * 0.37) + 0.01, tau=4, m_max=5, replicates=0)
    return series.decomposition


def test_a_range_inside_the_series_is_a_plain_mean(parts: q.Decomposition) -> None:
    found, expected = over_scales(parts, 0.2, 0.8), parts.over(0.2, 0.8)
    assert found["E_core"] == expected.E_core and found["D"] == expected.D and found["covered"] == 1.0


def test_scales_larger_than_the_series_count_as_zero(parts: q.Decomposition) -> None:
    top = float(parts.eps[0])
    assert over_scales(parts, 2 * top, 8 * top)["E_core"] == 0.0
    # Half of the octaves lie above the largest distance.
    half = over_scales(parts, top / 4, 4 * top)
    assert half["E_core"] == pytest.approx(parts.over(top / 4, top).E_core / 2)
    assert half["covered"] == 1.0


def test_scales_below_the_reliable_ones_are_left_out_and_said_to_be(parts: q.Decomposition) -> None:
    bottom = float(parts.eps[-1])
    partly = over_scales(parts, bottom / 2, 2 * bottom)
    assert partly["covered"] == pytest.approx(0.5)
    assert partly["E_core"] == parts.over(bottom, 2 * bottom).E_core
    assert over_scales(parts, bottom / 8, bottom / 2) == {
        "lo": bottom / 8, "hi": bottom / 2, "covered": 0.0,
    }  # fmt: skip


# ---- real runs


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A comparison of three controllers on the hexapod, in seconds."""
    out = tmp_path_factory.mktemp("compare")
    yield out, compare(small_comparison(out))


def small_comparison(out: Path) -> Compare:
    return Compare(("hexapod",), ("ulr", "sine", "random"), seeds=2, minutes=0.1, out=out, **SMALL)


def test_a_small_comparison_leaves_table_figure_page_and_numbers(small: tuple[Path, dict[str, Any]]) -> None:
    out, document = small
    assert json.loads((out / "compare.json").read_text()) == document
    assert [row["reason"] for row in document["rows"]] == [""] * 6
    (summary,) = document["robots"].values()
    assert {e["controller"] for e in summary["ranking"]} == {"ulr", "sine", "random"}
    sine = next(e for e in summary["ranking"] if e["controller"] == "sine")
    ulr = next(e for e in summary["ranking"] if e["controller"] == "ulr")
    # Half a sine on all joints against trembling of the size of the noise.
    assert sine["std"]["value"] > 2 * ulr["std"]["value"]
    assert sine["E_core"]["value"] > 1 > ulr["E_core"]["value"]
    assert len(summary["pairs"]) == 3
    page = (out / "compare.html").read_text()
    assert page.count("<tr>") == 2 + 3 + 3 + 1 + 6 and "http" not in page.replace("http-equiv", "")
    assert (out / "compare.png").read_bytes()[:4] == b"\x89PNG"
    assert len((out / "compare.csv").read_text().splitlines()) == 7
    assert (out / "compare.md").read_text().count("\n| ") == 4
    assert document["cost"]["tasks"] == 6 and document["cost"]["cpu_s"] > 0


def test_all_controllers_are_treated_alike(small: tuple[Path, dict[str, Any]]) -> None:
    out, document = small
    configs = [json.loads(path.read_text())["config"] for path in (out / "store").glob("*.json")]
    assert len(configs) == 6
    for part in ("body", "measure", "freezes"):
        assert all(config[part] == configs[0][part] for config in configs)
    rules = document["fairness"]["rules"]
    assert set(rules) == {"ulr", "sine", "random"} and all(rule["origin"] for rule in rules.values())
    assert rules["sine"]["settings"]["hexapod"]["amplitude"] == 0.5


def test_the_snake_has_one_body_under_all_controllers() -> None:
    config = Compare(("snake",), seeds=1)
    bodies = [_task(config, "snake", name).body for name in ("ulr", "dep")]
    assert bodies[0] == bodies[1] == resolve(Learn("snake", "ulr")).body


def test_a_finished_comparison_is_read_and_a_larger_one_goes_on(small: tuple[Path, dict[str, Any]]) -> None:
    out, document = small
    before = {path: path.stat().st_mtime_ns for path in (out / "store").iterdir()}
    again = compare(small_comparison(out))
    assert again == document
    assert {path: path.stat().st_mtime_ns for path in (out / "store").iterdir()} == before


def test_a_run_that_breaks_down_is_a_row_with_its_reason(tmp_path: Path) -> None:
    config = Compare(("hexapod",), ("sine",), seeds=1, minutes=0.1, out=tmp_path, **SMALL)
    body = resolve(Learn("hexapod", "sine")).body | {"max_joint_speed": 0.5}
    rule = resolve(Learn("hexapod", "sine")).rule
    found = behaviour(Behaviour("hexapod", "sine", 1, (0.1,), body, rule, measure_of(config, "hexapod")))
    assert set(found) == {"reason"} and "while learning, the simulation broke down at step" in found["reason"]


def test_a_recording_that_breaks_down_is_not_quantified(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Compare(("hexapod",), ("sine",), seeds=1, **SMALL)

    def record_badly(wish: Record) -> None:
        record(wish)
        with log.rewriting(wish.runs[0], 2**20) as file:
            put_attributes(file["behaviours/0.1min"], {"reason": "the simulation broke down at step 9"})

    monkeypatch.setattr(task, "record", record_badly)
    wish = resolve(Learn("hexapod", "sine"))
    found = behaviour(
        Behaviour("hexapod", "sine", 1, (0.1,), wish.body, wish.rule, measure_of(config, "hexapod"))
    )
    assert found == {"reason": "when frozen, the simulation broke down at step 9"}


def test_a_constant_sensor_is_a_row_with_its_reason() -> None:
    measure = measure_of(Compare(seeds=1, **SMALL), "hexapod")
    found = task._numbers(np.zeros(3000), measure, 1)
    assert set(found) == {"reason"} and found["reason"].startswith("cannot be quantified: ")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": 0}, "--seeds is 0"),
        ({"tune": -1}, "--tune is -1"),
        ({"samples": 100}, "--samples is 100; 25 steps with delay 4 need 1000"),
        ({"transient": -1}, "--transient is -1"),
        ({"common": (0.4, 0.1)}, "--common is 0.4 0.1"),
        ({"relative": (0.0, 0.1)}, "--relative is 0 0.1"),
        ({"common": (0.1, math.inf)}, "--common is 0.1 inf; .* < inf is needed"),
        ({"relative": (0.1, math.inf)}, "--relative is 0.1 inf"),
        ({"freeze": 0.0}, "--freeze is 0; it must be greater than 0"),
        ({"freeze": 9.0}, "--freeze 9 lies outside"),
        ({"robots": ("hexapot",)}, "unknown robot 'hexapot'; did you mean 'hexapod'"),
        ({"controllers": ("url",)}, "unknown controller 'url'; did you mean 'ulr'"),
        ({"controllers": ()}, "give at least one of --controllers"),
    ],
)
def test_a_wish_that_cannot_be_fulfilled_is_refused_before_anything_runs(
    tmp_path: Path, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ExperimentError, match=message):
        compare(dataclasses.replace(Compare(out=tmp_path / "out"), **wrong))
    assert not (tmp_path / "out").exists()
