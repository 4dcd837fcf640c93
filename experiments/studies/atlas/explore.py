"""Draw or search settings of body and rule, let each learn, and put what they do into one table.

One task of a sweep for each setting and seed: an exploration that was killed goes on, a larger one computes
what is new, and the same space and seed give the same table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.errors import ExperimentError, nearest, refusing
from experiments.feedback import SILENT, Feedback
from experiments.options.pipeline import file_name
from experiments.options.studies import Explore
from experiments.pipeline.learn import Learn, resolve, sources_of
from experiments.pipeline.sources import Sources
from experiments.settings import command, parse_seeds
from experiments.studies.atlas import elites
from experiments.studies.atlas.atlas import Atlas, films_of
from experiments.studies.atlas.life import Life, grows, growth, live, merit, rich
from experiments.studies.atlas.matters import what_matters
from experiments.studies.atlas.space import Point, Space, read_space
from experiments.studies.scoring import Row, try_first_steps, value, yardstick
from experiments.studies.study import document_of
from experiments.sweeps.sweep import cost, sweep, task_key
from quantify.aliases import Floats
from quantify.plain import to_plain

SPACES = Path(__file__).with_name("spaces")
"""The spaces that come along, by robot."""
MOST = 1_000_000
"""Settings, films and seeds: more than anybody has run, and few enough to be listed."""
RANGES = {
    **{"D": (0.0, 4.0), "E_core": (0.0, 6.0), "E_state": (0.0, 3.0), "E_mem": (0.0, 6.0)},
    **{"kappa": (0.0, 1.0), "PI": (0.0, 6.0), "std": (0.0, 1.0)},
    **{"growth": (-3.0, 3.0), "growth_relative": (-3.0, 3.0)},
    **{"airtime": (0.0, 1.0), "frequency": (0.0, 5.0), "joint_std": (0.0, 1.0)},
}
"""Quantities that can be a measure or a goal, and their limits in the plane of two."""
SCALES = ("common", "relative", "auto")
QUANTITIES = ("D", "E_state", "E_mem", "E_core", "kappa")


@dataclass(frozen=True)
class Setting:
    """A point of the space, with the number under which it is found again."""

    number: int
    point: Point


def explore(config: Explore, feedback: Feedback = SILENT) -> Atlas:
    """Run and save an exploration; what is finished is never run again."""
    config = _checked(config)
    study = _Exploration(config, feedback)
    if config.again is not None:
        study.run(read_earlier(config))
    elif config.search == "design":
        points = study.space.design(config.n, config.draw)
        study.run([Setting(i, study.space.at(u)) for i, u in enumerate(points)])
    else:
        names = (config.goal.removeprefix("-"), *config.measures)
        sign = -1.0 if config.goal.startswith("-") else 1.0

        def evaluate(points: Floats) -> list[elites.Scores]:
            first = len(study.settings)
            lives = study.run([Setting(first + i, study.space.at(u)) for i, u in enumerate(points)])
            found = [[quantity(life, name) for name in names] for life in lives]
            return [(sign * goal, x, y) for goal, x, y in found]

        plane = elites.Plane(*(RANGES[name] for name in config.measures))
        elites.map_elites(study.space, evaluate, config.n, config.batch, config.draw, plane)
    return study.atlas()


class _Exploration:
    """Settings that were run, one after the other or many at a time, and what came out."""

    def __init__(self, config: Explore, feedback: Feedback) -> None:
        self.config, self.feedback, self.store = config, feedback, config.out / "store"
        self.space = read_space(config.space or SPACES / f"{config.robot}.toml")
        self.measure = replace(yardstick(config, config.robot), replicates=0, curves=True)
        self.sources: Sources = sources_of(config.robot, config.controller)
        self.settings: list[Setting] = []
        self.tasks: list[Life] = []
        self.lives: list[Row] = []

    def run(self, settings: Sequence[Setting]) -> list[Row]:
        """The lives of these settings with the first seed; all are kept."""
        seeds = self.config.seeds
        tasks = [self._task(setting, seed) for setting in settings for seed in seeds]
        if not self.tasks:
            try_first_steps(tasks[0])
        options: dict[str, Any] = {"scale": self.config, "feedback": self.feedback}
        title = "settings" if len(seeds) == 1 else "settings and seeds"
        lives = sweep(live, tasks, store=self.store, title=title, **options)
        self.settings += [setting for setting in settings for _ in seeds]
        self.tasks += tasks
        self.lives += lives
        return lives[:: len(seeds)]

    def _task(self, setting: Setting, seed: int) -> Life:
        config = self.config
        given = self._learn(setting, seed)
        made = resolve(given)
        who = (config.robot, config.controller, seed, config.freeze)
        body, rule = dict(made.body), dict(made.rule)
        return Life(*who, body, rule, self.measure, self.sources, config.push)

    def _learn(self, setting: Setting, seed: int) -> Learn:
        """The command that learns with a setting."""
        config, point = self.config, setting.point
        out = Path(f"{config.robot}-{setting.number}.h5")
        who, physics = (config.robot, config.controller), {"engine": config.engine}
        changes: dict[str, Any] = physics | {"body": point["body"], "rule": point["rule"]}
        return Learn(*who, config.freeze[-1], config.freeze, seed, out, **changes)

    def atlas(self) -> Atlas:
        """The table, what it says, the page."""
        config = self.config
        lives = [
            _life(setting, task, life)
            | {"key": task_key(live, task), "command": command("learn", self._learn(setting, task.seed))}
            for setting, task, life in zip(self.settings, self.tasks, self.lives, strict=True)
        ]
        rows = [row for one, life in zip(lives, self.lives, strict=True) for row in behaviours(one, life)]
        # Seeds of one setting are no settings of their own: each counts once for what matters.
        once = [life for life in lives if life["seed"] == config.seeds[0]]
        spent = [one["cpu_s"] for one in cost(self.store, live, self.tasks)]
        content = {
            "axes": [f"{axis.part}.{axis.name}" for axis in self.space.axes],
            "lives": [{key: x for key, x in life.items() if key != "made_with"} for life in lives],
            "rows": rows,
            "matters": what_matters(*_columns(self.space, once, rows)),
            "cost": {"settings": len(lives), "cpu_s": round(sum(spent), 1)},
        }
        document = document_of("explore", config, content)
        films = films_of(config, lives, rows, self.store, self.feedback)
        curves = [numbers.get("curves") for life in self.lives for numbers in life.get("frozen", {}).values()]
        stem = config.out / f"{file_name(config.robot, config.controller, config.engine)}-atlas"
        found = Atlas(document, films=films, curves=curves)
        found = found.save(stem, "html", "json", "png")
        return found.save_table(stem)


def _checked(config: Explore) -> Explore:
    freeze = tuple(sorted(set(config.freeze)))
    if not freeze or not 0 < freeze[0] <= freeze[-1] < math.inf:
        raise ExperimentError("--freeze: minutes greater than 0 are needed, such as 2 4 8")
    for flag, least in (("n", 1), ("batch", 1), ("best", 1), ("films", 0), ("draw", 0)):
        if not least <= (given := getattr(config, flag)) <= MOST:
            raise ExperimentError(f"--{flag} is {given}; it must be {least} to {MOST:,}")
    if config.push and config.robot != "snake":
        raise ExperimentError(f"--push is for a long body, the snake; {config.robot!r} is none: leave it out")
    if not 0 <= config.push < math.inf:
        raise ExperimentError(f"--push is {config.push:g}; it must be 0 (none) or more, and finite")
    if config.settings and config.again is None:
        raise ExperimentError("--settings names settings of an earlier exploration: say which with --again")
    if not config.seeds:
        raise ExperimentError("--seeds names no seed; give at least one")
    for name in (*config.measures, config.goal.removeprefix("-")):
        if name not in RANGES:
            raise ExperimentError(f"there is no quantity {name!r}; {nearest(name, RANGES)}")
    if config.space is None and not (SPACES / f"{config.robot}.toml").exists():
        known = ", ".join(sorted(path.stem for path in SPACES.glob("*.toml")))
        raise ExperimentError(
            f"no space comes along for {config.robot!r} (only for {known}); say with --space FILE.toml which "
            "settings are to be drawn"
        )
    with refusing(ValueError):
        return replace(config, freeze=freeze, seeds=parse_seeds(config.seeds))


def read_earlier(config: Explore) -> list[Setting]:
    """Settings of an earlier exploration: those that are named, or else the best. These are the ones in which
    E_core grows by the rule on both kinds of scales, then on one, then the others; among these by the smaller
    of the rises."""
    path = config.again
    assert path is not None
    try:
        lives = json.loads(path.read_text(encoding="utf-8"))["lives"]
        best = sorted(lives, key=lambda life: (*(-x for x in merit(life)), life["setting"]))
        points = {life["setting"]: life["point"] for life in reversed(best)}  # one for all its seeds
    except OSError as error:
        raise ExperimentError(f"cannot read --again {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ExperimentError(f"--again {path} is not the .json of an exploration") from error
    ranked = dict.fromkeys(life["setting"] for life in best)
    chosen = list(dict.fromkeys(config.settings)) or list(ranked)[: config.best]
    if unknown := [number for number in chosen if number not in points]:
        there = f"{min(points)} to {max(points)}"
        raise ExperimentError(f"--settings {unknown[0]} is not in --again {path}, which has some of {there}")
    return [Setting(number, points[number]) for number in chosen]


def _life(setting: Setting, task: Life, life: Row) -> Row:
    """What a setting became with a seed, in one row."""
    kept = {key: life[key] for key in ("made_with", "unfinished") if key in life}
    return kept | {
        "setting": setting.number,
        "seed": task.seed,
        "point": setting.point,
        "reason": life["reason"],
        "growth": growth(life, "common"),
        "growth_relative": growth(life, "relative"),
        "grows": grows(life, "common"),
        "grows_relative": grows(life, "relative"),
        "rich": rich(life, "common") or rich(life, "relative"),
        "modes": [numbers.get("seen", {}).get("mode") for numbers in life.get("frozen", {}).values()],
    }


def behaviours(one: Row, life: Row) -> list[Row]:
    """A tidy row for each freeze time: plain columns, the settings that were drawn among them."""
    drawn = {f"{part}.{name}": x for part, values in one["point"].items() for name, x in values.items()}
    rows = []
    for name, numbers in life.get("frozen", {}).items():
        seen = dict(numbers.get("seen", {}))
        rows.append(
            {
                **{key: one[key] for key in ("setting", "seed")},
                "minutes": float(name.removesuffix("min")),
                **drawn,
                "reason": numbers["reason"],
                "mode": seen.pop("mode", None),
                "pushed": numbers.get("pushed", {}).get("mode"),
                **seen,
                **{key: numbers.get(key) for key in ("std", "PI", "stationary")},
                **{f"{q}_{kind}": value(numbers, kind, q) for kind in SCALES for q in QUANTITIES},
                "usable_auto": numbers.get("auto", {}).get("usable"),
                **{key: one[key] for key in ("growth", "growth_relative", "grows", "grows_relative")},
            }
        )
    return to_plain(rows)


def quantity(life: Row, name: str) -> float:
    """A number of a life at its last freeze time, complexities on common scales; NaN if it has none."""
    if name.startswith("growth"):
        found = growth(life, "relative" if name.endswith("relative") else "common")
    else:
        last: Row = next(reversed(life.get("frozen", {}).values()), {"reason": "broke down"})
        found = value(last, "common", name)
        if found is None:
            found = last.get("seen", {}).get(name)
    return math.nan if found is None else float(found)


def _columns(
    space: Space, lives: Sequence[Row], rows: Sequence[Row]
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Settings as numbers and what came out at the end, a value for each life that came to it."""
    last = {(row["setting"], row["seed"]): row for row in rows}  # the last freeze time remains
    ends = [last[key] for life in lives if (key := (life["setting"], life["seed"])) in last]
    settings = {}
    for axis in space.axes:
        column = [row[f"{axis.part}.{axis.name}"] for row in ends if f"{axis.part}.{axis.name}" in row]
        if len(column) == len(ends):
            words = not all(isinstance(x, int | float) for x in column)
            settings[f"{axis.part}.{axis.name}"] = np.array(
                [axis.choices.index(x) for x in column] if words else column, dtype=float
            )
    outcomes: dict[str, Any] = {}
    if any("airtime" in row for row in ends):
        outcomes["leaving the ground"] = np.array([row.get("airtime", 0.0) > 0.02 for row in ends])
    for mode in sorted({row["mode"] for row in ends if row["mode"]}):
        new = np.array([row["mode"] == mode for row in ends])
        if not any((new == old).all() or (new != old).all() for old in outcomes.values()):
            outcomes[mode] = new
    if any(row["pushed"] for row in ends):
        changed = [row["pushed"] not in (None, row["mode"]) for row in ends]
        outcomes["another mode after a push"] = np.array(changed)
    for scales, name in (("common", "grows"), ("relative", "grows_relative")):
        outcomes[f"growth on {scales} scales"] = np.array([bool(row[name]) for row in ends])
    for meaning, name in (("how much E_core rises", "growth"), ("dimension at the end", "D_common")):
        outcomes[meaning] = np.array([math.nan if row[name] is None else row[name] for row in ends], float)
    return settings, outcomes
