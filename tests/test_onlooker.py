"""Numbers of a behaviour, on motions that one can work out on paper; where a robot's energy comes from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_robots_physics import energy

from controllers import Frozen
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.loop import make_body
from experiments.pipeline.record import Record, record
from experiments.runfiles.run_file import open_run
from experiments.studies.emergence.observing import Seen, describe, peak, see, spells, watch
from robots import ROBOTS
from robots.audit import Books, audit

RATE = 50.0
T = np.arange(5000) / RATE


def seen(sensors: Any = None, **measures: Any) -> Seen:
    columns = {key: np.broadcast_to(np.asarray(value, float), T.shape) for key, value in measures.items()}
    sensors = np.zeros((len(T), 14)) if sensors is None else sensors
    return Seen(RATE, 1, sensors, columns, 14)


# The spectrum.


def test_a_sine_is_one_peak() -> None:
    frequency, share = peak(np.sin(2 * np.pi * 1.3 * T), RATE)
    # 100 s resolve .01 Hz. Hann's window keeps all but 1e-6 of the power within .1 Hz, ten of those.
    assert frequency == pytest.approx(1.3, abs=0.005)
    assert share == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("frequency", [1.1, 1.6, 1.85, 1.875, 2.1])
def test_a_sine_is_one_peak_in_ten_seconds_too(frequency: float) -> None:
    """Bins are .1 Hz apart there: rounding must not decide which of them belong to the peak."""
    found, share = peak(np.sin(2 * np.pi * frequency * np.arange(50) / 5), 5.0)
    assert found == pytest.approx(frequency, abs=0.051)
    assert share > 0.95  # Hann's window puts all of a sine into three bins, nearly all if it lies between two


def test_two_sines_share_the_variance() -> None:
    values = 5 + np.sin(2 * np.pi * 1.3 * T) + 0.5 * np.sin(2 * np.pi * 3 * T)
    frequency, share = peak(values, RATE)
    assert frequency == pytest.approx(1.3, abs=0.005)
    assert share == pytest.approx(1 / 1.25, abs=0.001)  # amplitudes squared: 1 of 1 + .25


@pytest.mark.parametrize("values", [np.full(100, 7.0), np.zeros(3), np.array([1.0])])
def test_what_does_not_move_has_no_peak(values: np.ndarray) -> None:
    assert peak(values, RATE) == (0.0, 0.0)


def test_noise_has_no_large_peak() -> None:
    # .2 Hz of 25 Hz: 21 of 2500 frequencies around the largest; the largest of 2500 exponential variables is
    # about ln 2500 = 8 times the mean.
    share = peak(np.random.default_rng(0).normal(size=5000), RATE)[1]
    assert share < (21 + 3 * 8) / 2500


# The hexapod.


def bouncing(airtime: float, period: float = 0.8) -> dict[str, Any]:
    """Height and contacts of a body that is in the air for a share of each period, and up and down else."""
    phase = T / period % 1
    return {"z": 0.3 + 0.1 * np.sin(2 * np.pi * T / period), "contacts": phase >= airtime, "tilt": 0.1}


@pytest.mark.parametrize(
    ("airtime", "wide", "mode"),
    [(0.5, 0.5, "jumping"), (0.1, 0.5, "hopping"), (0.0, 0.2, "up-down"), (0.0, 0.01, "quiet")],
)
def test_modes_of_the_hexapod(airtime: float, wide: float, mode: str) -> None:
    sensors = np.zeros((len(T), 19))
    sensors[:, 0] = wide * np.sqrt(2) * np.sin(2 * np.pi * T / 0.8)
    found = describe("hexapod", seen(sensors, **bouncing(airtime)))
    assert found["mode"] == mode
    # A period has 40 samples.
    assert found["airtime"] == pytest.approx(airtime, abs=1 / 40)
    assert found["std_x1"] == pytest.approx(wide, rel=0.01)
    assert found["height_std"] == pytest.approx(0.1 / np.sqrt(2), rel=0.01)
    assert found["frequency"] == pytest.approx(1.25, abs=0.01)
    assert (found["tilt"], found["support"]) == (pytest.approx(0.1), 0)


def test_irregular_jumps_are_not_jumping_and_support_is_counted() -> None:
    rng = np.random.default_rng(1)
    columns = bouncing(0.5) | {"z": rng.normal(size=len(T)), "tilt": np.where(T < 25, 2.0, 0.0)}
    found = describe("hexapod", seen(**columns))
    assert found["mode"] == "hopping" and found["peak_share"] < 0.1
    assert found["support"] == pytest.approx(0.25)


# The snake.


@pytest.mark.parametrize(
    ("roll", "speed", "wide", "mode"),
    [
        (1.0, 0.12, 0.5, "rolling"),
        (-1.0, 0.12, 0.5, "rolling"),
        (1.0, 0.05, 0.5, "rolling in an arc"),
        (1.0, 0.1, 0.05, "log-rolling"),
        (0.0, 0.1, 0.5, "crawling"),
        (0.2, 0.1, 0.5, "writhing"),  # neither one nor the other
        (0.0, 0.01, 0.5, "writhing"),
        (0.0, 0.1, 0.05, "quiet"),
    ],
)
def test_modes_of_the_snake(roll: float, speed: float, wide: float, mode: str) -> None:
    phases = np.arange(14)
    sensors = wide * np.sqrt(2) * np.sin(2 * np.pi * 0.5 * T[:, None] + phases)
    columns = {"cx": speed * T, "cy": 3.0, "roll": roll, "along": speed, "across": 0.0, "top": 0.2}
    found = describe("snake", seen(sensors, **columns))
    assert found["mode"] == mode
    assert found["speed"] == pytest.approx(speed)
    assert found["joint_std"] == pytest.approx(wide, rel=0.01)
    assert found["frequency"] == pytest.approx(0.5, abs=0.01)


def test_a_snake_that_crawls_in_a_circle_travels() -> None:
    sensors = 0.5 * np.sin(2 * np.pi * 0.5 * T[:, None] + np.arange(14))
    radius, period = 2.0, 100.0  # back where it was at the end
    angle = 2 * np.pi * T / period
    columns = {"cx": radius * np.cos(angle), "cy": radius * np.sin(angle)}
    found = describe("snake", seen(sensors, **columns, roll=0.0, along=0.1, across=0.0, top=0.2))
    # Chords of a tenth of the circle.
    assert found["speed"] == pytest.approx(2 * radius * np.sin(np.pi / 10) / 10, rel=1e-3)
    assert found["mode"] == "crawling"


def test_longest_stay_in_each_mode() -> None:
    assert spells(list("aabaaac"), 10.0) == {"a": 30.0, "b": 10.0, "c": 10.0}
    assert spells([], 10.0) == {}


def test_robots_without_description_are_refused() -> None:
    with pytest.raises(ExperimentError, match=r"hexapod, snake, not for 'barrel'"):
        describe("barrel", seen())


# Recordings.


def test_what_is_seen_of_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    learn(Learn("snake", minutes=0.1, freeze=(0.1,), out=path, quiet=True))
    record(Record((path,), 120, transient=10, measure=0.1, jobs=1, quiet=True))
    with open_run(path) as run:
        found = run.behaviours["0.1min"]
        whole, part = see(found), see(found, 50, 100)
        with pytest.raises(ExperimentError, match="120 samples: nothing was seen"):
            see(found, 120)
    assert whole.every == 5 and whole.motors == 14 and whole.sensors.shape == (120, 14)
    assert len(whole.measures["roll"]) == 24
    assert np.array_equal(part.sensors, whole.sensors[50:100])
    assert np.array_equal(part.measures["cx"], whole.measures["cx"][10:20])
    again = whole.part(10, 20)
    assert np.array_equal(again.sensors, part.sensors)
    assert np.array_equal(again.measures["cx"], part.measures["cx"])


def test_watching_goes_on_where_it_stopped() -> None:
    body = make_body("snake", {})
    try:
        s, _ = body.reset(seed=1)
        still = Frozen(np.eye(14), np.zeros(14))
        first, s = watch(body, still, s, 30)
        assert np.array_equal(s, body.snapshot()["observation"])
        second, _ = watch(body, still, s, 30)
        assert np.array_equal(second.sensors[0], s.astype(float))
        assert len(first.measures["z"]) == 30
    finally:
        body.close()


# Energy.


@pytest.mark.parametrize("name", ROBOTS)
def test_books_agree_with_the_slow_sum_over_links(name: str) -> None:
    body = make_body(name, {})
    try:
        s, _ = body.reset(seed=1)
        controller = Frozen(0.5 * np.eye(len(body.motor_names), len(s)), np.full(len(body.motor_names), 0.3))
        books = audit(body, controller, s, 20)
        assert len(books.energy) == 41 and len(books.work) == 40  # two physics steps per control step
        assert books.energy[-1] == pytest.approx(sum(energy(body)), rel=1e-9)
        assert not books.assisted.any()
    finally:
        body.close()


def test_in_weightless_flight_all_energy_comes_from_the_servos() -> None:
    def missing(substeps: int) -> float:
        body = make_body("hexapod", {"gravity": 0.0, "noise": 0.0, "substeps": substeps})
        try:
            body.reset(seed=1)
            snapshot = body.snapshot()
            snapshot["base"][2] += 5.0
            s = body.restore(snapshot)
            books = audit(body, Frozen(np.zeros((18, 19)), np.full(18, 0.3)), s, 10)
        finally:
            body.close()
        assert not books.touching.any() and books.flights() == [(0, 10 * substeps)]
        assert np.abs(books.work).sum() > 0.1
        return float(abs(books.rest.sum()) / np.abs(books.work).sum())

    # What is missing is the integrator's error, of first order in the physics step.
    coarse, fine = missing(2), missing(8)
    assert coarse < 0.1
    assert fine < 0.5 * coarse


def test_flights_are_long_stretches_without_touch_or_help() -> None:
    touching = np.array([1, 0, 0, 0, 1, 0, 0, 0, 0, 0], bool)
    assisted = np.array([0, 0, 0, 0, 0, 0, 0, 1, 0, 0], bool)
    books = Books(0.01, np.zeros(11), np.zeros(11), np.zeros(10), touching, assisted)
    assert books.flights(3) == [(1, 4)]
    assert books.flights(2) == [(1, 4), (5, 7), (8, 10)]
