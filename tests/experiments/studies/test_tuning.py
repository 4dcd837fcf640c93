"""Tuning: the same price for every rule, the same draws for everyone, and what it cost is said."""

import json
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import controllers
from experiments.errors import ExperimentError
from experiments.studies.comparison.compare import (
    Compare,
    best,
    candidates,
    compare,
    start,
    tune,
    tuned_words,
)
from experiments.studies.scoring import Scoring


def scored(core: float | None, reason: str = "") -> dict[str, Any]:
    """A run as it comes out of a task."""
    return {"reason": reason} | ({} if reason else {"common": {"E_core": core}})


class Still(controllers.Controller):
    """A rule without any setting."""


def test_equal_candidates_are_run_once_and_all_that_were_tried_are_told() -> None:
    starts = [start(Compare(), "hexapod", name) for name in ("dep", f"{__name__}:Still")]
    ran: list[Scoring] = []

    def run(tasks: list[Scoring]) -> list[dict[str, Any]]:
        ran.extend(tasks)
        return [scored(1.0), scored(None, "broke down"), scored(3.0), *[scored(0.5)] * (len(tasks) - 3)]

    found = tune(starts, 3, "common", run)
    tried = found.tried["hexapod"]
    # Whatever is drawn for a rule without numbers is its default.
    assert ran == found.runs == [*candidates(starts[0], 3), candidates(starts[1], 1)[0]]
    assert [(t["E_core"], t["reason"]) for t in tried["dep"]] == [(1.0, ""), (None, "broke down"), (3.0, "")]
    assert tried["dep"][2]["settings"] == ran[2].rule
    assert [task.rule for task in found.starts] == [ran[2].rule, starts[1].rule]
    assert {task.seed for task in found.starts} == {1}
    assert tune(starts, 0, "common", run).starts == starts


def test_words_about_tuning_claim_no_more_than_was_done() -> None:
    assert tuned_words(0, []) == ""
    assert tuned_words(4, [[1], [1]]).startswith("not tuned: the rule has no setting that could be varied")
    assert tuned_words(1, [[1], [1]]).startswith("the best of 1 settings, by")
    assert tuned_words(4, [[1] * 4, [1] * 4]).startswith("the best of 4 settings, by core complexity")
    assert "one in four of the switches, choices and zeros" in tuned_words(4, [[1] * 4])
    assert tuned_words(4, [[1] * 2, [1] * 3]).startswith(
        "the best of 2 to 3 settings (4 were drawn, the others were equal)"
    )


@pytest.mark.guard
def test_a_tuned_comparison_says_what_was_tried_and_what_it_cost(tmp_path: Path) -> None:
    quick: dict[str, Any] = {"minutes": 0.02, "samples": 1000, "transient": 20, "surrogates": False}
    quick |= {"learning": False, "rank": "common"}  # so few samples have no deterministic scales
    config = Compare(("hexapod",), ("sine",), n_seeds=1, tune=2, out=tmp_path, jobs=1, **quick)
    document = compare(config).document
    rule = document["fairness"]["rules"]["sine"]
    assert rule["origin"].startswith("the best of 2 settings, by core complexity")
    entries = [json.loads(path.read_text()) for path in (tmp_path / "store").glob("*.json")]
    tried = {e["config"]["rule"]["period"]: e["result"]["common"]["E_core"] for e in entries
             if e["config"]["seed"] == 1_000_000}  # fmt: skip
    assert len(tried) == 2
    assert rule["settings"]["hexapod"]["period"] == max(tried, key=lambda period: tried[period])
    listed = json.loads((tmp_path / "compare.json").read_text())["tuning"]["hexapod"]["sine"]
    assert {t["settings"]["period"]: t["E_core"] for t in listed} == tried
    assert (document["cost"]["tasks"], document["cost"]["tuning_tasks"]) == (3, 2)
    assert document["fairness"]["budget"] == "2 tuning runs, 2 at most for each controller and robot"


@pytest.mark.parametrize("name", sorted(controllers.REGISTRY))
def test_candidates_vary_numbers_switches_choices_and_zeros_within_their_range(name: str) -> None:
    first = start(Compare(), "snake", name)
    found = candidates(first, 80)
    assert len(found) == 80 and found[0].rule == first.rule
    assert candidates(first, 80) == found
    assert {c.seed for c in found} == {1_000_000}
    config = controllers.REGISTRY[name].Config
    hints = typing.get_type_hints(config, include_extras=True)
    for key, default in first.rule.items():
        drawn = [c.rule[key] for c in found]
        assert {type(v) for v in drawn} == {type(default)}
        if isinstance(default, bool | str):
            words = {True, False} if isinstance(default, bool) else set(typing.get_args(hints[key]))
            assert set(drawn) == words
            # one in four, within four standard deviations of the binomial distribution
            assert 0.05 < np.mean([value != default for value in drawn]) < 0.45
            continue
        usual = hints[key].__metadata__[0].on
        assert (0 in drawn) == (usual > 0 or default == 0)
        on = [value for value in drawn if value]
        assert bool(on) == (default != 0 or usual > 0)
        if on:
            # Rounded to whole numbers and cut at the limits, but never further than a factor of 4.
            ratio = np.array(on) / (default or usual)
            assert ratio.max() <= 4.5 and ratio.min() >= 0.2 and len(set(on)) > 2
    for candidate in found:
        config.from_mapping(candidate.rule)


def test_the_best_candidate_wins_and_failures_lose() -> None:
    tasks = candidates(start(Compare(), "hexapod", "dep"), 4)
    rows = [scored(1.0), scored(9.0, "broke down"), scored(2.0), scored(2.0)]
    assert best(tasks, rows, "common") == tasks[2]
    assert best(tasks, [scored(None, "broke")] * 4, "common") == tasks[0]
    rows[1]["unfinished"] = True
    with pytest.raises(ExperimentError, match=r"hexapod under dep is unfinished \(broke down\)"):
        best(tasks, rows, "common")
    with pytest.raises(ExperimentError, match="at least 1"):
        candidates(tasks[0], 0)
