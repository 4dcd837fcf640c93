"""Learning curves, and the first steps of a rule before many tasks are begun."""

import dataclasses
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from controllers import Controller
from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.runfiles.run_file import open_run_file
from experiments.studies import learning_curve as curves
from experiments.studies.comparison.compare import Compare, compare
from experiments.studies.learning_curve import Curve, LearningCurve, learning_curve, times
from experiments.studies.scoring import Scoring

SMALL: dict[str, Any] = {"samples": 1000, "transient": 20, "jobs": 1}
STEP = 0.02 / 60


def scored(seed: int, core: float) -> dict[str, Any]:
    """A run as it comes out of a task."""
    scales = {"E_core": core, "E_state": 0.0, "E_mem": core, "D": 1.0, "kappa": 0.1}
    return {
        **{"seed": seed, "reason": "", "std": 0.4, "PI": 2.0, "stationary": True, "caveats": []},
        **{"common": scales, "relative": scales, "auto": {"E_core": 1.0, "usable": True}},
    }


def curve_of(rows: list[dict[str, Any]]) -> Curve:
    """What a curve of one time leaves."""
    settings = {"robot": "hexapod", "controller": "ulr", "common": [0.1, 0.4], "relative": [0.2, 0.8]}
    return Curve(
        {
            "settings": settings | {"samples": 50_000, "seeds": list(range(1, 11))},
            "curve": [curves.point(8.0, rows)],
            "rows": [row | {"minutes": 8.0} for row in rows],
        }
    )


@pytest.mark.guard
def test_a_learning_curve_is_one_run_seen_at_many_times(tmp_path: Path) -> None:
    config = LearningCurve("hexapod", every=0.02, minutes=0.03, n_seeds=1, out=tmp_path, keep=True, **SMALL)
    found = learning_curve(config)
    document = found.document
    assert [point["minutes"] for point in document["curve"]] == [0.02, 0.03]
    assert json.loads((tmp_path / "hexapod-ulr-learning-curve.json").read_text()) == document
    assert "surrogate" not in document["rows"][0] and list(found.to_frame()["minutes"]) == [0.02, 0.03]
    page = found.report(tmp_path / "curve.html").read_text()
    assert "<h1>Core complexity of the hexapod under ulr over learning time</h1>" in page
    whole = tmp_path / "whole.h5"
    learn(Learn("hexapod", minutes=0.03, freeze=(0.02, 0.03), out=whole))
    record(Record((whole,), 1000, transient=20, jobs=1))
    runs = {len(run.freezes): run for run in _kept(tmp_path / "store")}
    with open_run_file(whole) as expected:
        for number, name in ((1, "0.02min"), (2, "0.03min")):
            with open_run_file(runs[number].path) as found:
                a, b = expected.behaviours[name].sensors[:], found.behaviours[name].sensors[:]
            np.testing.assert_array_equal(a, b)
            std = document["curve"][number - 1]["std"]["value"]
            assert std == pytest.approx(float(np.std(a[:, 0].astype(float))), rel=1e-12)


@dataclasses.dataclass(frozen=True)
class _Kept:
    path: Path
    freezes: list[float]


def _kept(store: Path) -> list[_Kept]:
    return [
        _Kept(path.with_suffix("") / "run.h5", json.loads(path.read_text())["config"]["freezes"])
        for path in store.glob("*.json")
    ]


def test_times_of_a_learning_curve_are_what_they_are_called() -> None:
    assert times(LearningCurve("hexapod", every=0.1, minutes=0.3), STEP) == (0.1, 0.2, 0.3)
    assert len(times(LearningCurve("hexapod"), STEP)) == 16
    assert len(times(LearningCurve("hexapod", every=round(STEP, 9), minutes=0.01), STEP)) == 30


def test_the_end_of_learning_is_a_freeze() -> None:
    assert times(LearningCurve("hexapod", every=0.1, minutes=0.25), STEP) == (0.1, 0.2, 0.25)
    # Less than a control step away it is the same moment.
    assert times(LearningCurve("hexapod", every=0.1, minutes=0.2 + STEP / 2), STEP) == (0.1, 0.2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"every": 0.0}, r"--every is 0; it must be at least a control step of the hexapod \(0.02 s\)"),
        ({"every": 1e-6}, "--every is 1e-06; .* and at most --minutes 8"),
        ({"every": 9.0}, "--every is 9; .* and at most --minutes 8"),
        ({"every": math.nan}, "--every is nan"),
        ({"minutes": math.inf}, "--minutes is inf; it must be greater than 0 and finite"),
        ({"minutes": math.nan}, "--minutes is nan"),
    ],
)
def test_times_that_cannot_be_are_refused(tmp_path: Path, wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        learning_curve(dataclasses.replace(LearningCurve("hexapod", out=tmp_path / "out"), **wrong))  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_the_table_has_intervals_and_fits_a_narrow_screen() -> None:
    screen = Console(width=80, force_terminal=True, color_system=None, highlight=False, markup=False)
    with screen.capture() as caught:
        (table,) = curve_of([scored(seed, 10.0 + seed) for seed in range(10)]).tables()
        screen.print(table.terminal({head: head for head in table.heads}))
    lines = caught.get().splitlines()
    assert lines[2].split()[:3] == ["8", "10/10", "14.50"]
    assert lines[3].strip() == "[11.00, 18.00]"
    assert all(len(line) <= 80 for line in lines)
    # The words below fill their lines.
    words = [len(line.rstrip()) for line in lines[4:]]
    assert len(words) > 3 and min(words[:-1]) > 55


def test_the_figure_shows_whole_markers_and_can_be_empty() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        full = curve_of([scored(seed, 1.0) for seed in range(6)]).figure()
        empty = curve_of([{"seed": 1, "reason": "broke down"}]).figure()
    assert empty.axes[0].get_legend() is None and full.axes[0].get_legend() is not None
    for ax, largest in zip(full.axes, (1.0, 0.4, 1.0), strict=True):
        assert ax.get_ylim()[0] == 0.0 and ax.get_ylim()[1] > 1.05 * largest


# ---- first steps


class Unmade(Controller):
    """A rule that cannot be made."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise ValueError("cannot init")


class Mistaken(Controller):
    """A rule with a mistake that shows at its third step."""

    def update(self, s: np.ndarray) -> None:
        if self.t == 2:
            raise KeyError("nothing")


class Divides(Controller):
    """A rule that divides by zero."""

    def update(self, s: np.ndarray) -> None:
        self.C += 1 / (self.t - 2)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("Unmade", r"ValueError in test_learning_curve\.py line \d+: cannot init; mend"),
        ("Mistaken", r"KeyError in test_learning_curve\.py line \d+: 'nothing'; mend"),
        ("Divides", r"at step 2: ZeroDivisionError in test_learning_curve\.py line \d+: .*; mend"),
    ],
)
def test_a_rule_that_cannot_take_its_first_steps_is_refused_at_once(
    tmp_path: Path, rule: str, message: str
) -> None:
    name, out = f"{__name__}:{rule}", tmp_path / "out"
    message = f"{name} cannot run on the hexapod: the controller broke down.*{message}"
    with pytest.raises(ExperimentError, match=message):
        learning_curve(LearningCurve("hexapod", name, out=out, **SMALL))
    with pytest.raises(ExperimentError, match=message):
        compare(Compare(("hexapod",), ("sine", name), out=out, **SMALL))
    assert not out.exists()


def test_a_learning_curve_says_how_many_runs_it_rests_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def swept(function: Any, tasks: list[Scoring], **options: Any) -> list[dict[str, Any]]:
        broken = {"reason": "broke down"}
        lost = broken | {"unfinished": True}
        failures = {(1, 0.2): broken, (2, 0.2): lost}
        return [failures.get((t.seed, t.freezes[-1]), scored(t.seed, 1.0)) for t in tasks]

    monkeypatch.setattr(curves, "sweep", swept)
    tmp_path.joinpath("resting_rules.py").write_text(
        "from controllers import Controller\nclass Still(Controller):\n    def update(self, s): pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ["--controller", "resting_rules:Still", "--every", "0.1", "--minutes", "0.2", "--n-seeds", "6"]
    words += ["--samples", "1000", "--transient", "20", "--out", str(tmp_path)]
    assert main(["learning-curve", "hexapod", *words]) == 0
    document = json.loads((tmp_path / "hexapod-resting_rules.Still-learning-curve.json").read_text())
    first, second = document["curve"]
    assert (first["common"]["n"], first["without_value"], second["common"]["n"]) == (6, 0, 4)
    assert (second["without_value"], second["broke_down"], second["unfinished"]) == (2, 1, 1)
    # Two of 2^6 and of 2^4 patterns miss the median.
    assert curves.runs_words(document) == (
        "medians of the runs that have a value, 4 to 6 of 6 seeds;\nbands: their intervals (87.5% to 96.9%)"
    )
    said = capsys.readouterr()
    assert "4/6" in said.out and "written:" in said.out and "seed 1 0.2min: broke down" in said.err
    for suffix in (".json", ".png", ".pdf"):
        assert (tmp_path / f"hexapod-resting_rules.Still-learning-curve{suffix}").exists()


def test_one_run_has_no_bands() -> None:
    one = {"n": 1, "coverage": 0.0, "value": 1.0, "lo": 1.0, "hi": 1.0}
    document = {"curve": [dict.fromkeys(curves.CURVES, one)], "settings": {"seeds": [1]}}
    assert curves.runs_words(document) == "medians of the runs that have a value, 1 of 1 seeds"
