"""Where a robot's energy comes from."""

from dataclasses import dataclass

import numpy as np
import pytest

from robots import RobotError
from robots.audit import Books, _work_of_ground, audit
from robots.world import Links, Touches
from tests.robots.helpers import energy, every_engine, every_robot, make


@dataclass
class Feedback:
    """a = tanh(C s + h), as a controller would."""

    C: np.ndarray
    h: np.ndarray

    def act(self, s: np.ndarray) -> np.ndarray:
        return np.tanh(self.C @ s + self.h)


@every_engine
@every_robot
def test_books_agree_with_the_slow_sum_over_links(name: str, engine: str) -> None:
    body = make(name, engine)
    s, _ = body.reset(seed=1)
    n = len(body.motor_names)
    books = audit(body, Feedback(0.5 * np.eye(n, len(s)), np.full(n, 0.3)), s, 20)
    steps = 20 * body.config.substeps
    assert len(books.energy) == steps + 1 and len(books.work) == len(books.ground) == steps
    assert books.energy[-1] == pytest.approx(sum(energy(body)), rel=1e-9)
    assert not books.assisted.any()


@every_engine
def test_in_weightless_flight_all_energy_comes_from_the_servos(engine: str) -> None:
    def missing(substeps: int) -> float:
        body = make("hexapod", engine, gravity=0.0, noise=0.0, substeps=substeps)
        body.reset(seed=1)
        snapshot = body.snapshot()
        snapshot["base"][2] += 5.0
        s = body.restore(snapshot)
        books = audit(body, Feedback(np.zeros((18, 19)), np.full(18, 0.3)), s, 10)
        assert not books.touching.any() and books.flights() == [(0, 10 * substeps)]
        assert np.abs(books.work).sum() > 0.1
        return float(abs(books.rest.sum()) / np.abs(books.work).sum())

    # What is missing is the integrator's error, of first order in the physics step.
    coarse, fine = missing(2), missing(8)
    assert coarse < 0.1
    assert fine < 0.5 * coarse


@pytest.mark.parametrize("step", [0.01, 0.0025])
def test_holding_what_turns_about_a_point_is_no_work(step: float) -> None:
    """A rod turns about its end, where the ground carries it: the end rests, whatever its middle does."""

    def at(angle: float) -> Links:
        c, s, spin = np.cos(angle), np.sin(angle), 3.0
        frame = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        middle, velocity = 0.25 * np.array([c, s, 0.0]), 0.25 * spin * np.array([-s, c, 0.0])
        return Links(*(x[None] for x in (middle, frame, velocity, np.array([0.0, 0.0, spin]))))

    held = Touches(np.array([0]), np.zeros((1, 3)), np.array([[10.0, 20.0, 30.0]]))
    work = _work_of_ground(held, at(0.7), at(0.7 + 3.0 * step), step)
    # The way is a chord: what is left is of third order in the step.
    assert abs(work) < 10.0 * 0.25 * (3.0 * step) ** 3
    # A point that slides is worked on: force times way.
    slid = at(0.7)._replace(velocities=np.array([[1.0, 0.0, 0.0]]), spins=np.zeros((1, 3)))
    later = slid._replace(positions=slid.positions + np.array([step, 0.0, 0.0]))
    assert _work_of_ground(held, slid, later, step) == pytest.approx(10.0 * step)


def test_flights_are_long_stretches_without_touch_or_help() -> None:
    touching = np.array([1, 0, 0, 0, 1, 0, 0, 0, 0, 0], bool)
    assisted = np.array([0, 0, 0, 0, 0, 0, 0, 1, 0, 0], bool)
    none, never = np.zeros(10), np.zeros(10, bool)
    books = Books(0.01, np.zeros(11), np.zeros(11), none, none, never, touching, assisted)
    assert books.flights(3) == [(1, 4)]
    assert books.flights(2) == [(1, 4), (5, 7), (8, 10)]


@every_engine
def test_the_support_against_turning_over_is_noted(engine: str) -> None:
    body = make("hexapod", engine)
    body.reset(seed=1)
    snapshot = body.snapshot()
    snapshot["base"][2] += 0.5
    snapshot["base"][3:7] = [1.0, 0.0, 0.0, 0.0]  # upside down
    s = body.restore(snapshot)
    assert audit(body, Feedback(np.zeros((18, 19)), np.zeros(18)), s, 2).assisted.all()


def test_a_simulation_that_breaks_down_has_no_books() -> None:
    body = make("snake", max_joint_speed=0.05)
    s, _ = body.reset(seed=1)
    with pytest.raises(RobotError, match="broke down: a joint moves"):
        audit(body, Feedback(np.zeros((14, 14)), np.ones(14)), s, 2)
