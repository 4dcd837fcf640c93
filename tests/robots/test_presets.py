"""Bodies by name: every preset makes a body that lives, and says what it does not have."""

import numpy as np
import pytest

from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, resolve
from robots import ROBOTS, RobotError, body_preset
from robots.presets import PRESETS
from tests.robots.helpers import every_engine

EVERY = [(robot, name) for robot, found in PRESETS.items() for name in found]


@every_engine
@pytest.mark.parametrize(("robot", "name"), EVERY)
def test_a_preset_makes_a_body_that_moves(robot: str, name: str, engine: str) -> None:
    env = ROBOTS[robot].env(engine=engine, **body_preset(robot, name))
    env.reset(seed=1)
    for t in range(50):
        *_, terminated, _, info = env.step(np.full(env.action_space.shape, 0.5 * (-1.0) ** (t // 10)))
        assert not terminated, info


def test_what_is_said_beats_the_preset_and_the_preset_the_experiment() -> None:
    body = resolve(Learn("snake", body={"preset": "lpzrobots", "noise": 0.01})).body
    assert body["noise"] == 0.01 and body["friction_along"] == 1.0 and body["servo_damping"] == 0.02
    assert body["power"] == 1.4  # of experiments/defaults.toml
    assert "preset" not in body


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(RobotError, match="has no preset 'ode': choose 'lpzrobots'"):
        body_preset("hexapod", "ode")
    with pytest.raises(ExperimentError, match="barrel has no preset 'x': it has none"):
        resolve(Learn("barrel", body={"preset": "x"}))
