"""One behaviour from nothing to numbers: whatever goes wrong is a row with its reason, or no row at all."""

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import quantify as q
from controllers import Controller
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, learn, resolve
from experiments.pipeline.record import Record, record
from experiments.runfiles.run_file import open_run_file
from experiments.settings import Scale
from experiments.studies import scoring
from experiments.studies.comparison.compare import Compare
from experiments.studies.scoring import Scoring, quantified, score, score_learning, value, yardstick
from experiments.sweeps.sweep import sweep, task_key
from quantify import comparable
from quantify.null_test import null_tests

QUICK: dict[str, Any] = {"samples": 1000, "transient": 20}
MINUTES = 0.02


def task(**body: Any) -> Scoring:
    """A hexapod under the sine, frozen after a second."""
    spelled = resolve(Learn("hexapod", "sine", body=body))
    wanted = yardstick(Compare(**QUICK), "hexapod")
    return Scoring("hexapod", "sine", 1, (MINUTES,), dict(spelled.body), dict(spelled.rule), wanted)


def test_results_of_earlier_versions_are_found_by_their_key() -> None:
    # As stores have been written from the beginning: neither the name of the task nor those of its settings
    # may change.
    measure = {
        **{"samples": 3000, "transient": 500, "sensor": 0, "tau": 4, "m_max": 25, "common": [0.1, 0.4]},
        **{"relative": [0.2, 0.8], "eta": 0.01, "s_min": 0.07, "replicates": 30, "surrogate": True},
    }
    config = {
        **{"robot": "hexapod", "controller": "sine", "seed": 1, "freezes": [0.5]},
        **{"body": {"control_step": 0.02}, "rule": {"period": 1.5}, "measure": measure},
    }
    content = {"function": "experiments.behaviour:behaviour", "config": config, "format": 1}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    wanted = yardstick(Compare(samples=3000, transient=500), "hexapod")
    scoring = Scoring("hexapod", "sine", 1, (0.5,), {"control_step": 0.02}, {"period": 1.5}, wanted)
    assert task_key(score, scoring) == hashlib.sha256(text.encode()).hexdigest()


def test_a_run_that_breaks_down_is_a_row_with_its_reason() -> None:
    for look in (score, score_learning):
        found = look(task(max_joint_speed=0.5))
        assert set(found) == {"reason"}
        assert "while learning, the simulation broke down at step" in found["reason"]


@pytest.mark.guard
def test_learning_on_is_scored_after_freeze_time_and_transient(tmp_path: Path) -> None:
    """1.2 s of learning, 20 samples of transient, then 1000 samples of the same run are looked at."""
    wanted = task()
    path = learn(Learn("hexapod", "sine", 1080 * 0.02 / 60, (), 1, tmp_path / "run.h5", body=wanted.body))
    with open_run_file(path) as run:
        last = run.learning.sensors[-1000:, 0].astype(float)
        assert run.learning.steps == 1080
    found = score_learning(wanted)
    assert found["std"] == float(np.std(last)) and found["reason"] == ""
    assert 0.0 < found["body"]["z"]["mean"] < 1.0


def test_a_recording_that_breaks_down_is_not_quantified(monkeypatch: pytest.MonkeyPatch) -> None:
    def record_badly(config: Record) -> None:
        record(config)
        with h5py.File(config.runs[0], "r+") as file:
            file["behaviours/0.02min"].attrs["reason"] = "the simulation broke down at step 9"

    monkeypatch.setattr(scoring, "record", record_badly)
    assert score(task()) == {"reason": "when frozen, the simulation broke down at step 9"}


def test_a_constant_sensor_is_a_row_with_its_reason() -> None:
    found = quantified(np.zeros(3000), yardstick(Compare(), "hexapod"), 1)
    assert set(found) == {"reason"} and found["reason"].startswith("cannot be quantified: ")


@pytest.mark.guard
@pytest.mark.parametrize("mistake", [ValueError("bad slice"), KeyError("nothing")])
def test_a_mistake_in_the_quantifier_is_unfinished_and_never_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise mistake

    monkeypatch.setattr(q, "quantify", fail)
    (row,) = sweep(score, [task()], store=tmp_path, scale=Scale(jobs=1))
    assert row["unfinished"] and type(mistake).__name__ in row["reason"]
    assert "test_scoring.py line" in row["reason"] and "cannot be quantified" not in row["reason"]
    assert not list(tmp_path.glob("*.json"))


def test_what_the_quantifier_refuses_about_predictive_information_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    series = np.sin(np.arange(1500) * 0.37) + 0.01 * np.random.default_rng(1).normal(size=1500)
    wanted = yardstick(Compare(**QUICK, surrogates=False), "hexapod")

    def refuse(*_: Any, **__: Any) -> None:
        raise q.QuantifyError("too short")

    monkeypatch.setattr(comparable, "predictive_information", refuse)
    found = quantified(series, wanted, 1)
    assert found["PI"] is None and found["auto"]["E_core"] >= 0 and "surrogate" not in found


@pytest.mark.guard
def test_surrogates_of_the_usual_null_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    series = np.sin(np.arange(1500) * 0.37) + 0.01 * np.random.default_rng(1).normal(size=1500)
    wanted = replace(yardstick(Compare(**QUICK, surrogates=False, nulls=19), "hexapod"), tau=4, m_max=4)
    found = quantified(series, wanted, 1)["null"]
    part = null_tests(series, null="cycles", n=19, statistics=("E_core",), rng=1)["E_core"]
    assert (found["null"], found["excess"], found["p"]) == ("cycles", part.excess, part.p)

    def refuse(*_: Any, **__: Any) -> None:
        raise q.QuantifyError("too few rounds")

    monkeypatch.setattr(comparable, "null_tests", refuse)
    assert quantified(series, wanted, 1)["null"] is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": 100}, "--samples is 100; 25 steps with delay 4 need 1000"),
        ({"transient": -1}, "--transient is -1"),
        ({"common": (0.4, 0.1)}, "--common is 0.4 0.1"),
        ({"relative": (0.0, 0.1)}, "--relative is 0 0.1"),
        ({"common": (0.1, math.inf)}, "--common is 0.1 inf; .* < inf is needed"),
        ({"relative": (0.1, math.inf)}, "--relative is 0.1 inf"),
        ({"nulls": 5}, "--nulls is 5; with fewer than 19 surrogates no p-value can be as small as .05"),
    ],
)
def test_a_yardstick_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        yardstick(Compare(**wrong), "hexapod")


class DividesLater(Controller):
    """A rule that divides by zero after its first steps."""

    def update(self, s: np.ndarray) -> None:
        self.C += 1 / (self.t - 40)


def test_arithmetic_that_fails_later_is_a_result_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    learn(Learn("hexapod", f"{__name__}:DividesLater", MINUTES, (MINUTES,), out=path))
    with open_run_file(path) as run:
        assert run.learning.steps == 40 and run.learning.status == "stopped"
        assert run.learning.reason.startswith(
            "the controller broke down at step 40: ZeroDivisionError in test_scoring.py line"
        )


def test_a_dimension_below_0_is_none() -> None:
    row = {"common": {"D": -2.8, "E_core": 4.2}, "relative": {"D": -0.03}}
    assert value(row, "common", "D") is None and value(row, "common", "E_core") == 4.2
    assert value(row, "relative", "D") == -0.03  # at rest, which is 0 give or take
