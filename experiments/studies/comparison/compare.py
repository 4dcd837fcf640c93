"""Compare controllers by the complexity of what they make robots do: a grid of runs, a ranking, tests."""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from controllers import PRESETS
from experiments.errors import ExperimentError, FileError
from experiments.feedback import SILENT, Feedback, plural
from experiments.options.reports import Video
from experiments.options.studies import Compare, ScaleKind
from experiments.pipeline.learn import Learn, find_rule, resolve, sources_of
from experiments.reports.report import Film, make_film
from experiments.runfiles.atomic import write_text
from experiments.settings import deciding, difference, lone_seed_words, with_seeds
from experiments.studies.comparison.comparison import LEVEL, SCALE_WORDS, Comparison, Summary, findings
from experiments.studies.comparison.existing import find_existing, replaced_by, score_existing
from experiments.studies.scoring import (
    FROZEN,
    Row,
    Scoring,
    over,
    rank_value,
    score,
    score_learning,
    try_first_steps,
    value,
    yardstick,
)
from experiments.studies.study import document_of
from experiments.sweeps.sweep import cost, kept, sweep, with_origin
from experiments.sweeps.workers import in_parallel
from quantify.plain import to_plain
from quantify.statistics import all_pairs, median, smallest_p

FACTOR = 4.0
"""Settings are varied between 1/FACTOR and FACTOR times their default."""
MOST_TRIED = 10_000
"""Settings of a rule that tuning can try: more than anybody has run."""
SEED = 1_000_000
"""Seed of all tuning runs, far from those of any comparison."""


def compare(config: Compare, feedback: Feedback = SILENT) -> Comparison:
    """Run the grid and save ranking and tests; what is finished is never run again.

    With `runs`, their recordings are compared instead, and nothing is run.
    """
    for name in ("robots", "controllers"):
        if not getattr(config, name):
            raise ExperimentError(f"give at least one of --{name}")
    there = find_existing(config, feedback) if config.runs else []
    if there:
        config = replaced_by(config, there)
    robots, controllers = (tuple(dict.fromkeys(names)) for names in (config.robots, config.controllers))
    config = with_seeds(replace(config, robots=robots, controllers=controllers))
    feedback.say_if("" if there else lone_seed_words(config.seeds))
    stem = config.out / "compare"
    if not config.replace:
        _spare_another(stem.with_suffix(".json"), config)
    store, function = config.out / "store", score_existing if there else score
    run = partial(sweep, function, store=store, scale=config, keep=config.keep, feedback=feedback)
    tasks: list[Any] = there
    tuned = Tuned(tasks, [], {})
    if not there:
        starts = [start(config, *pair) for pair in itertools.product(robots, controllers)]
        for one in starts:
            try_first_steps(one)
        tuned = tune(starts, config.tune, config.rank, partial(run, title="tune"))
        # Seed by seed: an unfinished comparison has some seeds of everything.
        tasks = [replace(task, seed=seed) for seed in config.seeds for task in tuned.starts]
    content: dict[str, Any] = {"fairness": fairness(config, tuned), "tuning": tuned.tried}
    content |= _ranked(config, tasks, run(tasks, title="compare"))
    costs = cost(store, function, [*tuned.runs, *tasks])
    if config.learning and not there:
        on = partial(sweep, score_learning, store=store, scale=config, keep=config.keep, feedback=feedback)
        content["learning_on"] = _ranked(config, tasks, on(tasks, title="compare, learning on"))
        costs += cost(store, score_learning, tasks)
    content["cost"] = _cost(costs, len(tuned.runs))
    films = _films(config, tasks, content["rows"], feedback)
    found = Comparison(document_of("compare", config, content), films=films)
    texts = {".csv": found.csv(), ".md": found.markdown()}
    others = [write_text(stem.with_suffix(suffix), text) for suffix, text in texts.items()]
    found = found.save(stem, "html", "json", "png", "pdf")
    return replace(found, files=(*found.files, *others))


def _ranked(config: Compare, tasks: list[Scoring], results: list[Row]) -> dict[str, Any]:
    """Rows of the grid, and for each robot what they say."""
    rows = [
        {"robot": task.robot, "controller": task.controller, "seed": task.seed} | result
        for task, result in zip(tasks, results, strict=True)
    ]
    summaries = {}
    for robot in config.robots:
        mine = [row for row in rows if row["robot"] == robot]
        tried = {row["controller"] for row in mine}
        summary = summarise(mine, [name for name in config.controllers if name in tried], config.rank)
        summaries[robot] = summary | {"findings": findings(summary, mine)}
    return {"robots": summaries, "rows": rows}


def _films(
    config: Compare, tasks: Sequence[Scoring], rows: Sequence[Row], feedback: Feedback
) -> dict[str, dict[str, Film]]:
    """By robot and controller a film of the seed whose core complexity is the middle one."""
    found: dict[tuple[str, str], list[tuple[float, Scoring]]] = {}
    for task, row in zip(tasks, rows, strict=True):
        found.setdefault((task.robot, task.controller), []).append((rank_value(row, config.rank), task))
    wanted: dict[tuple[str, str], Video] = {}
    for pair, mine in found.items():
        _, middle = sorted(mine, key=lambda one: one[0])[len(mine) // 2]
        path = kept(config.out / "store", score, middle) / FROZEN
        if config.seconds and path.exists():
            wanted[pair] = Video(path, seconds=config.seconds)
    if wanted:
        feedback.say(f"filming {plural(len(wanted), 'behaviour')}; --seconds 0 leaves films out")
    films: dict[str, dict[str, Film]] = {}
    made = in_parallel(make_film, list(wanted.values()), config.jobs)
    for (robot, controller), film in zip(wanted, made, strict=True):
        films.setdefault(robot, {})[controller] = film
    return films


def _spare_another(path: Path, config: Compare) -> None:
    """Refuse to replace a comparison, unless all that it compares is part of this one."""
    if not path.exists():
        return
    asked = document_of("compare", config, {})["settings"]
    try:
        there = {"runs": []} | json.loads(path.read_text(encoding="utf-8"))["settings"]
        for name in ("robots", "controllers", "seeds"):
            old, new = there[name], asked[name]
            if isinstance(old, int):  # so many seeds, as they were once given
                old = range(1, old + 1)
            if set(old) <= set(new):
                there[name] = asked[name]
        differing = difference(there, asked)
    except (ValueError, KeyError, TypeError):
        differing = ["it cannot be read"]
    if differing:
        raise FileError(
            f"{path} is another comparison: {'; '.join(differing[:3])}; choose another --out, or --replace "
            "it with its page and figure (single runs are kept)"
        )


def start(config: Compare, robot: str, controller: str) -> Scoring:
    """The task of the first seed, with every setting spelled out; refuses what cannot run."""
    if not 0 <= config.tune <= MOST_TRIED:
        raise ExperimentError(f"--tune is {config.tune}; it must be 0 (no tuning) to {MOST_TRIED:,}")
    if config.freeze == 0:
        raise ExperimentError("--freeze is 0; it must be greater than 0: there is nothing learned to freeze")
    freeze = config.minutes if config.freeze is None else config.freeze
    try:
        find_rule(config.body_of)
    except ExperimentError as error:
        raise ExperimentError(f"--body-of: {error}") from error
    body = resolve(Learn(robot, config.body_of, config.minutes, (freeze,), engine=config.engine)).body
    preset = config.preset if config.preset in PRESETS.get(controller, {}) else None
    if config.preset and not any(config.preset in PRESETS.get(name, {}) for name in config.controllers):
        known = ", ".join(f"{name}: {' '.join(PRESETS[name])}" for name in PRESETS)
        raise ExperimentError(
            f"--preset {config.preset}: none of these controllers has it; there are {known}"
        )
    rule = resolve(Learn(robot, controller, config.minutes, (freeze,), preset=preset)).rule
    made_of = sources_of(robot, controller)
    return Scoring(robot, controller, 1, (freeze,), body, rule, yardstick(config, robot), made_of)


def summarise(rows: Sequence[Row], controllers: Sequence[str], scales: ScaleKind) -> Summary:
    """Rank the controllers of one robot by the median of E_core over seeds, and test all pairs.

    Runs without a value (they broke down, cannot be quantified, or less than half of the scales are reliable)
    rank below all others, in medians, intervals and tests alike; how many they are stands beside. All other
    quantities are medians over the runs that have them. A run that is unfinished, for lack of memory, say,
    tells nothing about its controller: its seed is left out for all of them. A controller of which no run is
    finished would leave out every seed: it is not ranked instead. Refuses if no controller or seed is left.
    """
    unfinished = [row for row in rows if row.get("unfinished")]
    finished = {row["controller"] for row in rows if not row.get("unfinished")}
    left_out = sorted({row["seed"] for row in unfinished if row["controller"] in finished})
    ranked = [name for name in controllers if name in finished]
    counted = [row for row in rows if row["seed"] not in left_out]
    of = {name: [row for row in counted if row["controller"] == name] for name in ranked}
    if not any(of.values()):
        first = unfinished[0]
        raise ExperimentError(
            f"every seed has a run that is unfinished, such as {first['controller']} seed {first['seed']} "
            f"({first['reason']}); mend that and run the same command, or leave that controller out"
        )
    scores = {name: [rank_value(row, scales) for row in of[name]] for name in ranked}
    entries = {name: _entry(name, of[name], scores[name], scales) for name in ranked}
    middle = {name: entry["E_core"]["value"] for name, entry in entries.items()}
    order = sorted(ranked, key=lambda name: -middle[name])
    for name in order:
        entries[name]["rank"] = 1 + sum(other > middle[name] for other in middle.values())
    pairs = [asdict(pair) for pair in all_pairs({name: scores[name] for name in order})]
    for pair in pairs:
        # Infinite numbers as words: JSON has none, and which of the two failed must not be lost.
        pair["difference"] = {k: str(x) if math.isinf(x) else x for k, x in pair["difference"].items()}
    # From the last to the first, which remains.
    reasons = {row["controller"]: row["reason"] for row in reversed(unfinished)}
    return to_plain(
        {
            "scales": scales,
            "ranking": [entries[name] for name in order],
            "pairs": pairs,
            "left_out": left_out,
            "not_ranked": {name: reasons[name] for name in controllers if name not in finished},
            "smallest_p_holm": min(1.0, smallest_p(len(of[order[0]])) * max(len(pairs), 1)),
        }
    )


def _entry(name: str, rows: list[Row], scores: list[float], scales: str) -> dict[str, Any]:
    with_numbers = [row for row in rows if not row["reason"]]
    # A run that has an amplitude was recorded to the end.
    broke_down = sum("std" not in row for row in rows)
    shares = [row[scales]["covered"] for row in with_numbers if "covered" in row[scales]]
    quantities = ("E_state", "E_mem", "D", "kappa", "std", "PI")
    return {
        "controller": name,
        "E_core": asdict(median(scores)),
        **{quantity: over(rows, scales, quantity) for quantity in quantities},
        "E_core_by_scales": {kind: over(rows, kind, "E_core") for kind in SCALE_WORDS if kind != scales},
        "surrogate": over(rows, scales, "surrogate"),
        **_beside_nulls(with_numbers),
        "runs": len(rows),
        "broke_down": broke_down,
        "not_quantified": len(rows) - len(with_numbers) - broke_down,
        "without_value": sum(math.isinf(score) for score in scores),
        "least_covered": min(shares, default=None),
        "without_range": sum(not row["auto"]["usable"] for row in with_numbers),
        "not_stationary": sum(row["stationary"] is False for row in with_numbers),
    }


def _beside_nulls(rows: list[Row]) -> dict[str, Any]:
    """The median excess over surrogates, and in how many of the runs that were tested it is shown."""
    tested = [row["null"] for row in rows if row.get("null")]
    if not tested:
        return {}
    shown = sum(test["p"] <= LEVEL and test["excess"] > 0 for test in tested)
    return {"excess": over(rows, "", "excess"), "more_than_null": shown, "tested": len(tested)}


def fairness(config: Compare, tuned: Tuned) -> dict[str, Any]:
    """What all runs share, and where they differ."""
    first = {(task.robot, task.controller): task for task in tuned.starts}
    shared = {robot: next(one for one in tuned.starts if one.robot == robot) for robot in config.robots}
    origins = tomllib.loads(Path(__file__).with_name("origins.toml").read_text("utf-8"))
    return {
        "same for all": "body, its noise, seeds, learning time, samples, quantifier settings",
        "budget": f"{len(tuned.runs)} tuning runs, {config.tune} at most for each controller and robot",
        "bodies": {robot: task.body for robot, task in shared.items()},
        "quantifier": {robot: deciding(task.measure) for robot, task in shared.items()},
        "rules": {
            name: {
                "origin": tuned_words(config.tune, [by[name] for by in tuned.tried.values()])
                + _origin(name, config.preset, origins),
                "settings": {r: first[r, name].rule for r in config.robots if (r, name) in first},
            }
            for name in config.controllers
        },
    }


def _origin(name: str, preset: str | None, origins: dict[str, str]) -> str:
    """Where the settings of a rule come from."""
    if preset and preset in (known := PRESETS.get(name, {})):
        return f"preset {preset}: {known[preset].source}"
    return origins.get(name, "given by the user")


def _cost(costs: list[dict[str, float]], tuning: int) -> dict[str, float]:
    """What the tasks took together, so many of them for tuning."""
    cpu, peak = [c["cpu_s"] for c in costs], [c["peak_MB"] for c in costs]
    return {
        "tasks": len(costs),
        "tuning_tasks": tuning,
        "cpu_s": round(sum(cpu), 1),
        "cpu_s_per_task": round(sum(cpu) / max(len(cpu), 1), 1),
        "peak_MB": max(peak, default=0),
    }


# Tuning: settings for every rule at the same price. Random search around the defaults knows nothing about any
# rule, so that none is favoured: the defaults are the first candidate, and in the others every number is
# multiplied by a factor of its own, drawn between 1/4 and 4, and kept within its range; one in four of the
# switches, the choices, and of the numbers that switch something off with a 0 is drawn anew. Each candidate
# gets one run, all with the same seed, which the comparison does not use; equal ones share it.


@dataclass(frozen=True)
class Tuned:
    """What tuning found: a task for each robot and controller, and what was tried for it."""

    starts: list[Scoring]
    """The tasks as they were given, with the best settings."""
    runs: list[Scoring]
    """All that were run."""
    tried: dict[str, dict[str, list[dict[str, Any]]]]
    """By robot and controller `settings`, `E_core` (None: no value) and `reason` of each candidate."""


def tune(
    starts: Sequence[Scoring], number: int, scales: str, run: Callable[[list[Scoring]], list[Row]]
) -> Tuned:
    """For each task the best of so many settings (0: those that it has), by E_core on these scales.

    `run` gives the results of tasks, in their order.
    """
    if not number:
        return Tuned(list(starts), [], {})
    drawn = [candidates(start, number) for start in starts]
    # A rule without numbers has one setting only, however many are drawn.
    options = [[task for i, task in enumerate(some) if task not in some[:i]] for some in drawn]
    runs = list(itertools.chain(*options))
    rows = iter(run(runs))
    chosen: list[Scoring] = []
    tried: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for start, some in zip(starts, options, strict=True):
        found = [next(rows) for _ in some]
        chosen.append(replace(start, rule=best(some, found, scales).rule))
        tried.setdefault(start.robot, {})[start.controller] = [
            with_origin({"settings": task.rule, "E_core": value(row, scales, "E_core")}, row)
            | {"reason": row["reason"]}
            for task, row in zip(some, found, strict=True)
        ]
    return Tuned(chosen, runs, tried)


def tuned_words(number: int, tried: Iterable[Sequence[Any]]) -> str:
    """How the settings of a rule were found, from what was tried on each robot; empty if nothing was."""
    counts = sorted({len(some) for some in tried})
    if not counts:
        return ""
    if counts == [1] and number > 1:
        return "not tuned: the rule has no setting that could be varied; default: "
    distinct = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    drawn = "" if counts == [number] else f" ({number} were drawn, the others were equal)"
    return (
        f"the best of {distinct} settings{drawn}, by core complexity when frozen in one run each with a seed "
        "of its own: the default, and others in which every number is multiplied by a factor of its own "
        f"between 1/{FACTOR:g} and {FACTOR:g}, and one in four of the switches, choices and zeros is drawn "
        "anew; default: "
    )


def candidates(task: Scoring, number: int) -> list[Scoring]:
    """So many versions of a task that differ in the settings of the rule; the first one has the defaults."""
    if number < 1:
        raise ExperimentError(f"{number} candidates; at least 1 is needed, the defaults")
    start = replace(task, seed=SEED)
    # The same draws for everyone, whatever else is compared.
    rng = np.random.default_rng(SEED)
    varied = find_rule(task.controller).Config.varied
    return [start, *(replace(start, rule=varied(task.rule, rng, FACTOR)) for _ in range(number - 1))]


def best(tasks: Sequence[Scoring], rows: Sequence[Row], scales: str) -> Scoring:
    """The candidate with the largest E_core; a failure is the last choice, and of equals the first wins.

    A run that is unfinished is refused: what it would have scored is not known.
    """
    for row in rows:
        if row.get("unfinished"):
            raise ExperimentError(
                f"a tuning run of {tasks[0].robot} under {tasks[0].controller} is unfinished "
                f"({row['reason']}); mend that and run the same command, finished runs are kept"
            )
    return max(zip(tasks, rows, strict=True), key=lambda tried: rank_value(tried[1], scales))[0]
