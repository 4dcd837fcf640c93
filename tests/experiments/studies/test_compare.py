"""The comparison of controllers: equal treatment, nothing dropped."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from experiments.errors import ExperimentError, FileError
from experiments.pipeline.learn import Learn, resolve
from experiments.studies.comparison.compare import Compare, Tuned, compare, fairness, start

CONTROLLERS = ("ulr", "sine", "random")


def small_comparison(out: Path) -> Compare:
    """Three controllers on the hexapod, in seconds."""
    # So few samples have no deterministic scales, by which they would be ranked.
    quick: dict[str, Any] = {"samples": 2000, "transient": 50, "jobs": 1, "seconds": 0.1, "rank": "common"}
    return Compare(("hexapod",), CONTROLLERS, seeds=(1, 2), minutes=0.05, out=out, **quick)


@pytest.fixture(scope="session")
def small(made_once: Callable[..., Path]) -> Path:
    """The folder of a small comparison, which must not be changed."""
    return made_once("comparison", lambda folder: compare(small_comparison(folder)))


@pytest.mark.guard
def test_a_small_comparison_leaves_table_figure_page_and_numbers(small: Path) -> None:
    document = json.loads((small / "compare.json").read_text())
    for rows in (document["rows"], document["learning_on"]["rows"]):
        assert [row["reason"] for row in rows] == [""] * 6
    (summary,) = document["robots"].values()
    ranked = {e["controller"]: e for e in summary["ranking"]}
    assert set(ranked) == set(CONTROLLERS)
    # Half a sine on all joints against trembling of the size of the noise.
    assert ranked["sine"]["std"]["value"] > 2 * ranked["ulr"]["std"]["value"]
    assert ranked["sine"]["E_core"]["value"] > 1 > ranked["ulr"]["E_core"]["value"]
    assert len(summary["pairs"]) == 3
    (on,) = document["learning_on"]["robots"].values()
    assert {e["controller"] for e in on["ranking"]} == set(CONTROLLERS) and len(on["pairs"]) == 3
    page = (small / "compare.html").read_text()
    # frozen and with learning on: two heads, rankings and pairs each; then all runs
    assert page.count("<tr>") == 2 * (2 + 3 + 3) + 1 + 12 and "http" not in page.replace("http-equiv", "")
    assert (small / "compare.png").read_bytes()[:4] == b"\x89PNG"
    assert (small / "compare.pdf").read_bytes()[:4] == b"%PDF"
    assert "hexapod, learning on: controllers by core complexity" in page and "Learning on: as many" in page
    assert len((small / "compare.csv").read_text().splitlines()) == 13
    assert (small / "compare.md").read_text().count("\n| ") == 2 * 4
    assert document["cost"]["tasks"] == 12 and document["cost"]["cpu_s"] > 0


@pytest.mark.guard
def test_the_page_has_a_film_of_every_controller(small: Path) -> None:
    page = (small / "compare.html").read_text()
    for name in CONTROLLERS:
        assert f'aria-label="Film of the hexapod under {name}" src="data:video/mp4;base64,AAAA' in page
    kept = [path.stat().st_size for path in small.glob("store/*/kept/behaviour.h5")]
    assert len(kept) == 2 * len(CONTROLLERS) and max(kept) < 100_000


@pytest.mark.guard
def test_all_controllers_are_treated_alike(small: Path) -> None:
    configs = [json.loads(path.read_text())["config"] for path in (small / "store").glob("*.json")]
    assert len(configs) == 12
    for part in ("body", "measure", "freezes"):
        assert all(config[part] == configs[0][part] for config in configs)
    rules = json.loads((small / "compare.json").read_text())["fairness"]["rules"]
    assert set(rules) == set(CONTROLLERS) and all(rule["origin"] for rule in rules.values())
    assert rules["sine"]["settings"]["hexapod"]["amplitude"] == 0.5


@pytest.mark.long
def test_a_finished_comparison_is_read_and_shown_again(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shutil.copytree(small, tmp_path / "copy")
    before = {path: path.stat().st_mtime_ns for path in (out / "store").iterdir()}
    document = json.loads((out / "compare.json").read_text())
    found = compare(small_comparison(out))
    assert found.document == document
    assert {path.suffix for path in found.files} == {".html", ".json", ".png", ".pdf", ".csv", ".md"}
    assert len(found.to_frame()) == 12 and "common.E_core" in found.to_frame()
    assert set(found.to_frame()["behaviour"]) == {"frozen", "learning on"}
    assert "<table" in found._repr_html_() and len(found.tables()) == 4
    assert capsys.readouterr().out == ""
    words = ["--robots", "hexapod", "--controllers", *CONTROLLERS, "--seeds", "1:2", "--minutes", "0.05"]
    words += ["--samples", "2000", "--transient", "50", "--rank", "common", "--out", str(out), "--quiet"]
    assert main(["compare", *words]) == 0
    text = capsys.readouterr().out
    assert "hexapod: controllers by core complexity on scales common to all" in text
    assert (
        "hexapod: differences paired by seed" in text
        and f"- {document['robots']['hexapod']['findings'][0]}" in text
    )
    assert f"written: {out / 'compare.html'}, .json" in text
    assert {path: path.stat().st_mtime_ns for path in (out / "store").iterdir()} == before


def test_the_snake_has_one_body_under_all_controllers() -> None:
    config = Compare(("snake",), n_seeds=1)
    bodies = [start(config, "snake", name).body for name in ("ulr", "dep")]
    assert bodies[0] == bodies[1] == resolve(Learn("snake", "ulr")).body


@pytest.mark.guard
def test_what_learning_on_sees_is_the_rule_at_work(small: Path) -> None:
    """The sine has nothing to learn: but for where it stands it does the same. ULR goes on from its copy."""
    document = json.loads((small / "compare.json").read_text())
    frozen, on = (
        {(row["controller"], row["seed"]): row["std"] for row in rows}
        for rows in (document["rows"], document["learning_on"]["rows"])
    )
    assert frozen.keys() == on.keys()
    assert on["sine", 1] == pytest.approx(frozen["sine", 1], rel=0.25)
    assert on["ulr", 1] != frozen["ulr", 1]


def test_a_preset_is_given_to_those_that_have_it_and_said() -> None:
    config = Compare(("hexapod",), ("dep", "sine"), preset="authors-humanoid", tune=2)
    starts = [start(config, "hexapod", name) for name in config.controllers]
    assert starts[0].rule["kappa"] == 1.4 and starts[1] == start(Compare(), "hexapod", "sine")
    found = fairness(config, Tuned(starts, starts, {}))
    assert found["rules"]["dep"]["origin"].startswith("preset authors-humanoid: Der & Martius 2015")
    assert found["rules"]["sine"]["origin"].startswith("no learning")
    assert found["budget"] == "2 tuning runs, 2 at most for each controller and robot"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_seeds": 0}, "--n-seeds is 0"),
        ({"n_seeds": 2**31}, "--n-seeds is 2147483648; it must be at least 1, and 10,000 at most"),
        ({"seeds": "1:20000"}, "'1:20000' names 20,000 seeds; ask for 10,000 at most"),
        ({"seeds": ()}, "--seeds names no seed"),
        ({"seeds": 3}, "seeds is 3; give a list, .*n_seeds=3 for a count"),
        ({"tune": -1}, "--tune is -1"),
        ({"tune": 2**63}, "to 10,000"),
        ({"samples": 100}, "--samples is 100"),
        ({"body_of": "nix"}, "--body-of: unknown controller 'nix'"),
        ({"freeze": 0.0}, "--freeze is 0; it must be greater than 0"),
        ({"freeze": 9.0}, "--freeze 9 lies outside"),
        ({"robots": ("hexapot",)}, "unknown robot 'hexapot'; did you mean 'hexapod'"),
        ({"controllers": ("url",)}, "unknown controller 'url'; did you mean 'ulr'"),
        ({"controllers": ()}, "give at least one of --controllers"),
        ({"preset": "nix"}, "--preset nix: none of these controllers has it; there are tipi: authors"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(
    tmp_path: Path, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ExperimentError, match=message):
        compare(dataclasses.replace(Compare(out=tmp_path / "out"), **wrong))
    assert not (tmp_path / "out").exists()


@pytest.mark.guard
def test_another_comparison_is_not_replaced_unasked(small: Path, tmp_path: Path) -> None:
    out = shutil.copytree(small, tmp_path / "copy")
    page = (out / "compare.html").read_bytes()
    asked = dataclasses.replace(small_comparison(out), samples=1600)
    with pytest.raises(FileError, match=r"another comparison: samples is \d+ there and 1600 here"):
        compare(asked)
    fewer = dataclasses.replace(small_comparison(out), controllers=small_comparison(out).controllers[:1])
    with pytest.raises(FileError, match="controllers is"):
        compare(fewer)
    assert (out / "compare.html").read_bytes() == page
    compare(dataclasses.replace(fewer, replace=True))
    assert (out / "compare.html").read_bytes() != page
    # All that a part of a comparison compares is in the whole.
    compare(small_comparison(out))
    (out / "compare.json").write_text("{")
    with pytest.raises(FileError, match="it cannot be read"):
        compare(fewer)
