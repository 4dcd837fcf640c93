"""What is observed of a recording, and of a behaviour that goes on now."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from controllers import Frozen
from experiments.errors import ExperimentError
from experiments.pipeline.loop import make_body
from experiments.runfiles.run_file import open_run_file
from experiments.studies.emergence.trials import observe, observed_in
from robots import ROBOTS, default_engine

USUAL = {"engine": default_engine()}


def test_what_is_observed_in_a_recording(small_run: Path) -> None:
    with open_run_file(small_run) as run:
        found = run.behaviours["0.2min"]
        whole, part = observed_in(found), observed_in(found, 500, 1000)
        with pytest.raises(ExperimentError, match="3000 samples: nothing was observed"):
            observed_in(found, 3000)
    # .04 s at 50 Hz between two looks from outside.
    assert whole.every == 2 and whole.motors == 18 and whole.sensors.shape == (3000, 19)
    assert len(whole.motion["tilt"]) == 1500
    assert np.array_equal(part.sensors, whole.sensors[500:1000])
    assert np.array_equal(part.motion["cx"], whole.motion["cx"][250:500])
    again = whole.part(250, 500)
    assert np.array_equal(again.sensors, part.sensors)
    assert np.array_equal(again.motion["cx"], part.motion["cx"])


def test_observing_goes_on_where_it_stopped() -> None:
    body = make_body("snake", USUAL)
    try:
        s, _ = body.reset(seed=1)
        still = Frozen(np.eye(14), np.zeros(14))
        first, s = observe(body, still, s, 30)
        assert np.array_equal(s, body.snapshot()["observation"])
        second, _ = observe(body, still, s, 30)
        assert np.array_equal(second.sensors[0], s.astype(float))
        assert len(first.motion["z"]) == 30
    finally:
        body.close()


def test_a_breakdown_is_an_error_with_its_reason() -> None:
    body = make_body("snake", USUAL | {"max_joint_speed": 0.01})
    try:
        s, _ = body.reset(seed=1)
        with pytest.raises(ExperimentError, match="broke down at step 0"):
            observe(body, Frozen(np.zeros((14, 14)), np.ones(14)), s, 10)
    finally:
        body.close()


@pytest.mark.parametrize("robot", ROBOTS)
def test_every_described_robot_has_its_columns(robot: str, observed_robot: Callable[[str], dict]) -> None:
    description = ROBOTS[robot].description
    if description is None:
        return
    numbers = observed_robot(robot)
    assert description.telling in description.columns and set(description.columns) <= set(numbers)
    assert len(description.headings) == len(description.cells(numbers))
    assert "" not in description.cells(numbers) and set(description.cells({})) == {""}


@pytest.fixture
def observed_robot() -> Callable[[str], dict]:
    """The numbers of a robot that keeps still for half a second."""

    def numbers(robot: str) -> dict:
        body = make_body(robot, USUAL)
        try:
            s, _ = body.reset(seed=1)
            o = len(body.motor_names)
            observed, _ = observe(body, Frozen(np.zeros((o, len(s))), np.zeros(o)), s, 25)
            return ROBOTS[robot].description.numbers(observed)
        finally:
            body.close()

    return numbers
