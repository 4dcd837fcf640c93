"""What is done to a seed is what its name says: rules that unlearn or hear others, bodies that change."""

from pathlib import Path

import numpy as np
import pytest

from controllers import ULR, ULRConfig
from experiments.options.studies import Emergence
from experiments.pipeline.loop import make_body
from experiments.studies.emergence import interventions
from experiments.studies.emergence.interventions import (
    INTERVENTIONS,
    Flipped,
    Intervention,
    Lesson,
    Yoked,
    lesson,
    parts_of,
    stream,
)
from experiments.studies.emergence.trials import Trial, make_trial


def tiny(robot: str = "hexapod", **changes: object) -> Trial:
    settings = {"minutes": 0.4, "samples": 1000, "transient": 0, "out": Path("nowhere")} | changes
    return make_trial(Emergence(robot, **settings), 1)  # type: ignore[arg-type]


def test_what_is_flipped_moves_the_other_way() -> None:
    settings = ULRConfig(d=1, decay=0.0)
    there, back = ULR(2, 2, settings), Flipped(2, 2, settings)
    start = there.C.copy()
    for s in np.random.default_rng(0).normal(size=(3, 2)):  # d + 2 values make the first update
        there.learn(s)
        back.learn(s)
    assert np.abs(there.C - start).max() > 0
    assert back.C - start == pytest.approx(-(there.C - start), rel=1e-12)


def test_what_is_yoked_acts_on_its_own_sensors_and_learns_from_others() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 2))
    rule = ULR(2, 2)
    yoked = Yoked.to(rule, rows)
    for row in rows:
        own = np.ones(2)
        assert yoked.step(own) == pytest.approx(np.tanh(rule.C @ own), rel=1e-12)
        rule.learn(row)
    assert np.array_equal(yoked.C, rule.C)


def test_streams_are_of_another_body() -> None:
    trial = tiny()
    body = make_body("hexapod", trial.body)
    first, _ = body.reset(seed=trial.seed + 1)
    body.close()
    rest, mixed = (stream(trial, kind, 60) for kind in ("rest", "shuffled"))
    assert rest[0] == pytest.approx(first.tolist()) and rest.shape == mixed.shape == (60, 19)
    # Each sensor comes as a whole, from elsewhere in time.
    assert any(np.array_equal(np.roll(mixed[:, 0], k)[:1], rest[:1, 0]) for k in range(60))
    assert not np.array_equal(mixed[0], rest[0])


@pytest.mark.guard
def test_a_body_changes_at_half_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def noted(robot: str, settings: dict) -> object:
        made.append(settings["gravity"])
        return make_body(robot, settings)

    monkeypatch.setattr(interventions, "make_body", noted)
    row = lesson(Lesson(tiny(), "gravity 6 from half time on"))
    assert made == [9.81, 6.0]
    assert len(row["learning"]) == 2 and set(row["frozen"]) == {"0.4min"} and not row["reason"]


@pytest.mark.guard
@pytest.mark.parametrize("what", [name for name in INTERVENTIONS["hexapod"] if name.startswith("senses")])
def test_other_senses_learn_with_the_same_settings(what: str) -> None:
    row = lesson(Lesson(tiny(minutes=0.1), what))
    assert "airtime" in row["frozen"]["0.1min"] and not row["reason"]


def test_hand_made_feedback_holds_the_legs_back() -> None:
    trial = tiny()
    body = make_body("hexapod", trial.body)
    rule = interventions.make_rule(trial, body, Intervention(hand=-0.5))
    body.close()
    lifts = [i for i, name in enumerate(body.motor_names) if name.endswith("up/down")]
    assert (rule.C[lifts, 18] == -0.5).all() and np.count_nonzero(rule.C[:, 18]) == 6
    assert np.array_equal(rule.C[:, :18], 0.7 * np.eye(18))


def test_random_starts_differ_from_seed_to_seed() -> None:
    one = tiny("snake", minutes=0.1)
    done = INTERVENTIONS["snake"]["small random start, no coupling"]
    body = make_body("snake", one.body)
    body.close()
    C = [interventions.make_rule(trial, body, done).C for trial in (one, one)]
    assert np.array_equal(*C)
    spread = C[0] - 1.12 * np.eye(14)
    assert spread.std() == pytest.approx(0.1, rel=0.15)  # 196 draws: 5 % of error


def test_parts_of_a_matrix_add_up() -> None:
    C = np.random.default_rng(0).normal(size=(18, 19))
    found = parts_of(C, "hexapod")
    assert found["velocity alone"] + found["without the velocity"] == pytest.approx(C)
    assert [np.linalg.matrix_rank(found[f"rank {k}"]) for k in (1, 2, 4)] == [1, 2, 4]
    assert np.count_nonzero(found["velocity and diagonal"]) == 36
    own = parts_of(C[:14, :14], "snake")["each joint's own two axes"]
    assert np.count_nonzero(own) == 28 and own[0, 1] == C[0, 1] and own[1, 2] == 0
