"""What is said of a grid of runs: ranking, tests, words, page and figure, from rows that are made up."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from experiments.console import console
from experiments.errors import ExperimentError
from experiments.options.studies import Compare, ScaleKind
from experiments.studies.comparison.compare import summarise
from experiments.studies.comparison.comparison import Comparison, findings, narrow
from quantify.statistics import interval

RANKS: tuple[ScaleKind, ...] = ("common", "auto")


def row(controller: str, seed: int, core: float | None, reason: str = "", **more: Any) -> dict[str, Any]:
    """A run as it comes out of a task."""
    base = {"robot": "r", "controller": controller, "seed": seed, "reason": reason}
    if reason:
        return base
    scales = {"E_core": core, "E_state": 0.0, "E_mem": core, "D": 1.0, "kappa": 0.1}
    if core is None:
        scales = {"covered": 0.0}
    return (
        base
        | {"std": 0.4, "PI": 2.0, "stationary": True, "caveats": [], "common": scales, "relative": scales}
        | {"auto": {"E_core": 1.0, "usable": True}}
        | more
    )


def document(
    rows: list[dict[str, Any]],
    names: tuple[str, ...],
    robots: tuple[str, ...] = ("r",),
    rank: ScaleKind = "common",
) -> dict[str, Any]:
    """What a comparison of these runs leaves."""
    summaries = {}
    for robot in robots:
        mine = [run for run in rows if run["robot"] == robot]
        summary = summarise(mine, names, rank)
        summaries[robot] = summary | {"findings": findings(summary, mine)}
    return {
        "command": "selforg compare",
        "settings": {
            **{"rank": rank, "controllers": names, "minutes": 8.0, "freeze": None, "samples": 2000},
            "common": (0.1, 0.4),
        },
        "versions": {"python": "3.0", "numpy": "0.9"},
        "fairness": {"same for all": "body", "rules": {}},
        "robots": summaries,
        "rows": rows,
    }


def html_page(told: dict[str, Any], folder: Path) -> str:
    return Comparison(told).report(folder / "page.html").read_text()


def ranking(found: dict[str, Any]) -> Any:
    """The ranking as it is shown on a terminal."""
    return Comparison({"robots": {"r": found}}).ranking("r").terminal(narrow(found))


def pairs(found: dict[str, Any]) -> Any:
    """The differences as they are shown on a terminal."""
    return Comparison({"robots": {"r": found}}).pairs("r").terminal()


def printed(table: Any, width: int = 80) -> str:
    screen = Console(width=width, file=io.StringIO(), highlight=False, markup=False)
    screen.print(table)
    return screen.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_controllers_are_ranked_and_every_pair_is_tested() -> None:
    rng = np.random.default_rng(0)
    rows = [
        row(name, seed, level + rng.normal(0, 0.1))
        for seed in range(10)
        for name, level in (("low", 1.0), ("high", 3.0), ("also high", 3.0))
    ]
    found = summarise(rows, ("low", "high", "also high"), "common")
    assert [e["rank"] for e in found["ranking"]] == [1, 2, 3]
    assert found["ranking"][2]["controller"] == "low"
    p = {(pair["a"], pair["b"]): pair["p_holm"] for pair in found["pairs"]}
    assert len(p) == 3
    # Ten of ten seeds agree: 2 / 1024, times three tests; the second-best stays above the best.
    assert [v == pytest.approx(6 / 1024) for pair, v in p.items() if "low" in pair] == [True, True]
    assert max(p.values()) > 0.05
    assert found["smallest_p_holm"] == pytest.approx(6 / 1024)


def test_runs_that_failed_count_against_their_controller_and_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [row("good", seed, 1.0 + seed) for seed in range(7)]
    rows += [row("wild", seed, 9.0, "the simulation broke down" if seed < 4 else "") for seed in range(7)]
    rows += [row("blurred", seed, None if seed == 0 else 0.5) for seed in range(7)]
    found = summarise(rows, ("wild", "blurred", "good"), "common")
    assert [e["controller"] for e in found["ranking"]] == ["good", "blurred", "wild"]
    good, blurred, wild = found["ranking"]
    assert (wild["broke_down"], wild["without_value"], wild["runs"]) == (4, 4, 7)
    assert wild["E_core"]["value"] is None and wild["E_mem"]["value"] == 9.0 and wild["E_mem"]["n"] == 3
    assert (blurred["broke_down"], blurred["without_value"]) == (0, 1)
    assert good["E_core"]["value"] == 4.0
    assert json.dumps(found, allow_nan=False)
    console().print(ranking(found), pairs(found))
    last = capsys.readouterr().out.split("3 wild")[1].split()
    assert last[0] == "none" and "4/7" in last and " ".join(last).count("[none, 9.00]") == 1


def test_a_value_on_less_than_half_of_the_scales_is_none() -> None:
    rows = [row("a", seed, 1.0) for seed in range(6)] + [row("b", seed, 9.0) for seed in range(6)]
    for r in rows:
        r["common"] = r["common"] | {"covered": 1.0 if r["controller"] == "a" else 0.1 * r["seed"]}
    found = summarise(rows, ("a", "b"), "common")
    assert [e["controller"] for e in found["ranking"]] == ["a", "b"]
    a, b = found["ranking"]
    assert (a["without_value"], a["least_covered"]) == (0, 1.0)
    assert (b["without_value"], b["broke_down"], b["least_covered"], b["E_mem"]["n"]) == (5, 0, 0.0, 1)
    words = findings(found, rows)
    assert any(w.startswith("5 of 12 runs have no value, because less than 50%") for w in words)
    assert "By dimension: a 1.00, b 1.00 (1 of 6 runs)." in words


def test_a_wave_that_is_driven_into_noise_does_not_win_by_its_noise() -> None:
    rows = [row("learned", seed, 1.0) for seed in range(7)]
    noise = {"E_core": 9.0, "usable": False}
    rows += [row("driven", seed, 9.0, auto=noise) for seed in range(7)]
    found = summarise(rows, ("learned", "driven"), Compare().rank)
    first, last = found["ranking"]
    assert (first["controller"], last["controller"]) == ("learned", "driven")
    assert last["without_value"] == last["without_range"] == 7
    # What noise scores on the common scales stands beside.
    assert last["E_core_by_scales"]["common"]["value"] == 9.0


def test_a_run_that_is_unfinished_says_nothing_about_its_controller(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [row(name, seed, level + seed) for name, level in (("a", 1.0), ("b", 3.0)) for seed in range(7)]
    without = [r for r in rows if r["seed"] != 2]
    lost = row("b", 2, None, "out of memory") | {"unfinished": True}
    rows = [lost if r["controller"] == "b" and r["seed"] == 2 else r for r in rows]
    found, expected = (summarise(some, ("a", "b"), "common") for some in (rows, without))
    assert found == expected | {"left_out": [2]} and not found["not_ranked"]
    words = findings(found, rows)
    assert words[2:4] == [
        "Left out for all controllers, because a run is unfinished: seed 2.",
        "No run broke down.",
    ]
    console().print(ranking(found))
    assert "a run is unfinished: seed 2" in " ".join(capsys.readouterr().out.split())
    rows = [lost if r["controller"] == "b" and r["seed"] == 2 else r for r in rows if r["seed"] in (1, 2)]
    rows[0] = row("a", rows[0]["seed"], None, "out of disk") | {"unfinished": True}
    assert {r["seed"] for r in rows if r.get("unfinished")} == {1, 2}
    with pytest.raises(ExperimentError, match=r"a seed 1 \(out of disk\); mend that"):
        summarise(rows, ("a", "b"), "common")


def test_a_controller_of_which_no_run_is_finished_does_not_withhold_the_others(tmp_path: Path) -> None:
    rows = [row(name, seed, 1.0) for seed in range(4) for name in ("a", "b")]
    lost = [row("c", seed, None, f"no module c{seed}") | {"unfinished": True} for seed in range(4)]
    told = document(rows + lost, ("a", "c", "b"))
    found = told["robots"]["r"]
    assert [e["controller"] for e in found["ranking"]] == ["a", "b"] and len(found["pairs"]) == 1
    assert (found["not_ranked"], found["left_out"]) == ({"c": "no module c0"}, [])
    words = "Not ranked, because every run is unfinished: c (no module c0)."
    assert words in found["findings"] and words in Comparison(told).markdown()
    assert words in html_page(told, tmp_path) and words in str(ranking(found).caption)
    # Of a and b only the seed that one of them lacks is left out.
    rows[0] = row("a", 0, None, "out of memory") | {"unfinished": True}
    assert summarise(rows + lost, ("a", "b", "c"), "common")["left_out"] == [0]
    alone = summarise([r for r in rows + lost if r["controller"] != "a"], ("b", "c"), "common")
    assert "only one controller is ranked" in printed(pairs(alone))
    with pytest.raises(ExperimentError, match=r"such as c seed 0 \(no module c0\)"):
        summarise(lost, ("c",), "common")


def test_every_robot_has_its_own_seeds_and_coverage() -> None:
    rows = [row("a", seed, 1.0 + seed) | {"robot": robot} for robot in "rs" for seed in range(8)]
    for seed in (2, 3):
        rows[seed] = row("a", seed, None, "out of memory") | {"unfinished": True}
    text = Comparison(document(rows, ("a",), ("r", "s"))).markdown()
    first, second = text.split("## s")
    # All but 2 of 2^6, and all but 2 (1 + 8) of 2^8 patterns.
    assert "Medians over 6 of 8 seeds" in first and "with 96.9%" in first
    assert "unfinished: seeds 2, 3." in first
    assert "Medians over 8 seeds" in second and "with 93.0%" not in text and "with 99.2%" in second


def test_a_median_says_how_many_runs_it_rests_on_and_stands_once(tmp_path: Path) -> None:
    rows = [row("a", seed, 2.0 if seed else None) for seed in range(3)]
    rows += [row("b", seed, 1.0, relative={"covered": 0.0}) for seed in range(3)]
    told = document(rows, ("a", "b"))
    words = told["robots"]["r"]["findings"]
    assert any(w.endswith("amplitude: a 2.00 (2 of 3 runs), b none (0 of 3 runs).") for w in words)
    assert not any(w.startswith("By E_core on scales common to all") for w in words)
    assert (
        "| 2.00 (2) |" in Comparison(told).markdown()
        and "in parentheses how many runs" in Comparison(told).markdown()
    )
    assert ">2.00 (2)</td>" in html_page(told, tmp_path)
    assert " (2) " in printed(ranking(told["robots"]["r"]))
    relative = document(rows, ("a", "b"), rank="relative")["robots"]["r"]
    assert list(relative["ranking"][0]["E_core_by_scales"]) == ["common", "auto"]


def test_one_seed_has_no_interval_and_one_controller_no_order(tmp_path: Path) -> None:
    told = document([row("a", 1, 1.06), row("b", 1, 0.5)], ("a", "b"))
    found = told["robots"]["r"]
    first = found["findings"][0]
    assert first.endswith("a has the highest core complexity, 1.06 nats over 1 seed, b the lowest, 0.50.")
    assert found["findings"][1].startswith("With 1 seed and 1 pair no")
    tables = printed(ranking(found)) + printed(pairs(found))
    for text in (Comparison(told).markdown(), html_page(told, tmp_path), tables):
        assert "[" not in text.split("## r")[-1].split("</style>")[-1]
        assert "0.0%" not in text and "1 seeds" not in text and "Values of 1 seed" in text
    words = document([row("a", seed, 1.0) for seed in range(6)], ("a",))["robots"]["r"]["findings"]
    assert words[0] == (
        "On scales common to all a has a median core complexity of 1.00 [1.00, 1.00] nats over 6 seeds."
    )
    words = document([row("a", seed, None) for seed in range(6)], ("a",))["robots"]["r"]["findings"]
    assert "no controller has a median core complexity over 6 seeds: too many runs" in words[0]


def test_a_recording_that_cannot_be_quantified_did_not_break_down() -> None:
    rows = [row("a", seed, 1.0) for seed in range(3)]
    rows[0] = row("a", 0, None, "cannot be quantified: the series is constant") | {"std": 0.0, "body": {}}
    (found,) = document(rows, ("a",))["robots"].values()
    (entry,) = found["ranking"]
    assert (entry["broke_down"], entry["not_quantified"], entry["without_value"]) == (0, 1, 1)
    assert "No run broke down." in found["findings"]
    assert "1 of 3 runs cannot be quantified and rank below all others (a 1)." in found["findings"]
    assert not any("less than 50%" in words for words in found["findings"])
    # One of three has no value; the others have a deterministic range.
    assert "1/3   0/3" in printed(ranking(found))


def test_why_a_run_has_no_value_is_said_of_the_scales_that_rank() -> None:
    rows = [row("a", seed, 1.0, auto={"E_core": 1.0, "usable": seed > 0}) for seed in range(3)]
    said = {rank: " ".join(document(rows, ("a",), rank=rank)["robots"]["r"]["findings"]) for rank in RANKS}
    assert "1 of 3 runs have no value, because there are no scales on which they are determin" in said["auto"]
    assert "enough pairs" not in said["auto"] and "no deterministic range" not in said["auto"]
    assert "1 of 3 runs have no deterministic range of scales" in said["common"]


def test_the_page_states_the_versions_of_the_document(tmp_path: Path) -> None:
    text = html_page(document([row("a", 1, 1.0)], ("a",)), tmp_path)
    assert "Put together by <code>selforg compare</code> with python 3.0, numpy 0.9." in text


def test_the_tables_fit_a_screen_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    surrogate = {"common": {"E_core": 1.0}}
    rows = [
        row(name, seed, 1.0, surrogate=surrogate) for name in ("homeokinesis", "sine") for seed in range(10)
    ]
    found = summarise(rows, ("homeokinesis", "sine"), "common")
    text = printed(ranking(found))
    assert "1 homeokinesis 1.00 " in text and "[1.00, 1.00]" in text
    # Words are left to be wrapped, which a pipe does not do by itself.
    for table in (ranking(found), pairs(found)):
        assert "\n" not in str(table.caption)
        console().print(table)
    assert max(map(len, (text + capsys.readouterr().out).splitlines())) <= 80


def test_which_of_two_failed_is_not_lost() -> None:
    # One failure against six: p = .125 whatever the difference, so that nothing is excluded.
    rows = [row("fine", seed, 1.0, "" if seed else "broke down") for seed in range(7)]
    rows += [row("wild", seed, 2.0, "broke down" if seed else "") for seed in range(7)]
    found = summarise(rows, ("fine", "wild"), "common")
    (pair,) = found["pairs"]
    assert (pair["a"], pair["difference"]["value"], pair["difference"]["lo"]) == ("fine", "inf", "-inf")
    assert pair["p"] == 16 / 128
    assert interval(pair["difference"], "+.2f") == "+inf [-inf, +inf]"


def test_what_was_found_is_said_in_words() -> None:
    rng = np.random.default_rng(1)
    rows = [
        row(name, seed, level + rng.normal(0, 0.1), surrogate={"common": {"E_core": 2.0}})
        for seed in range(10)
        for name, level in (("low", 1.0), ("high", 3.0))
    ]
    rows.append(row("low", 10, None, "broke down"))
    rows.append(row("high", 10, 3.0))
    words = findings(summarise(rows, ("low", "high"), "common"), rows)
    assert words[0].startswith("On scales common to all high has the highest median core complexity, 3.0")
    assert "over 11 seeds, low the lowest, 1.0" in words[0]
    # Eleven of eleven seeds, the failure among them: 2 / 2^11.
    assert words[1].endswith("1 of 1 differences: high above low (p = 0.00098).")
    assert words[2] == "1 of 22 runs broke down and rank below all others (low 1)."
    assert "By amplitude: high 0.40, low 0.40 (10 of 11 runs)." in words
    assert words[-1].endswith("scores more than the behaviour itself: high 0 of 10, low 10 of 10.")
    few = [r for r in rows if r["seed"] < 4]
    words = findings(summarise(few, ("low", "high"), "common"), few)
    assert words[1].startswith("With 4 seeds and 1 pair no corrected p-value can be below 0.12")
    assert words[2] == "No run broke down."
    for r in few:
        if r["controller"] == "low":
            r["common"] = r["common"] | {"kappa": 0.9}
    words = findings(summarise(few, ("low", "high"), "common"), few)
    assert words[2].startswith("The scales of low are mostly stochastic (median kappa above 0.5)")


def test_what_is_more_than_its_null_is_counted() -> None:
    def beside(excess: float, p: float) -> dict[str, Any]:
        return {"null": "cycles", "excess": excess, "sds": 1.0, "p": p, "n": 19}

    rows = [row("a", seed, 1.0, null=beside(0.3, 0.05 if seed else 0.4)) for seed in range(4)]
    # Less than its surrogates, though surely; and one that could not be told.
    rows += [row("b", seed, 1.0, null=beside(-0.2, 0.05) if seed else None) for seed in range(4)]
    found = summarise(rows, ("a", "b"), "common")
    assert findings(found, rows)[-1].endswith("forgotten within a round: a 3 of 4, b 0 of 3.")
    cells = {r[0]: r for r in Comparison({"robots": {"snake": found}}).ranking("snake").rows}
    assert "+0.30\n(3/4)" in cells["1 a"] and "-0.20\n(0/3)" in cells["1 b"]
    without = summarise([row("a", 1, 1.0)], ("a",), "common")
    assert "excess" not in Comparison({"robots": {"snake": without}}).ranking("snake").heads


def test_equal_medians_share_a_rank_and_few_seeds_are_said_to_be_few() -> None:
    rows = [row(name, seed, 1.0) for name in ("a", "b") for seed in range(3)]
    found = summarise(rows, ("a", "b"), "common")
    assert [e["rank"] for e in found["ranking"]] == [1, 1]
    assert found["pairs"][0]["p"] == 1.0
    assert "nothing can be shown; add seeds" in str(pairs(found).caption)


def test_the_table_of_all_runs_is_plain_csv() -> None:
    text = Comparison({"rows": [row("a", 1, 1.5), row("b", 1, None, "broke, down")]}).csv()
    first, second = csv.DictReader(io.StringIO(text))
    assert first["common.E_core"] == "1.5" and second["reason"] == "broke, down"
    assert second["common.E_core"] == ""
