"""Numbers of a behaviour, on motions that one can work out on paper."""

from typing import Any

import numpy as np
import pytest

from robots import Observed, RobotError, describe, longest_stays, peak

RATE = 50.0
T = np.arange(5000) / RATE


def observed(sensors: Any = None, **motion: Any) -> Observed:
    columns = {key: np.broadcast_to(np.asarray(value, float), T.shape) for key, value in motion.items()}
    sensors = np.zeros((len(T), 14)) if sensors is None else sensors
    return Observed(RATE, 1, sensors, columns, 14)


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
    found = describe("hexapod", observed(sensors, **bouncing(airtime)))
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
    found = describe("hexapod", observed(**columns))
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
    found = describe("snake", observed(sensors, **columns))
    assert found["mode"] == mode
    assert found["speed"] == pytest.approx(speed)
    assert found["joint_std"] == pytest.approx(wide, rel=0.01)
    assert found["frequency"] == pytest.approx(0.5, abs=0.01)


def test_a_snake_that_crawls_in_a_circle_travels() -> None:
    sensors = 0.5 * np.sin(2 * np.pi * 0.5 * T[:, None] + np.arange(14))
    radius, period = 2.0, 100.0  # back where it was at the end
    angle = 2 * np.pi * T / period
    columns = {"cx": radius * np.cos(angle), "cy": radius * np.sin(angle)}
    found = describe("snake", observed(sensors, **columns, roll=0.0, along=0.1, across=0.0, top=0.2))
    # Chords of a tenth of the circle.
    assert found["speed"] == pytest.approx(2 * radius * np.sin(np.pi / 10) / 10, rel=1e-3)
    assert found["mode"] == "crawling"


def test_longest_stay_in_each_mode() -> None:
    assert longest_stays(list("aabaaac"), 10.0) == {"a": 30.0, "b": 10.0, "c": 10.0}
    assert longest_stays([], 10.0) == {}


def test_robots_without_description_are_refused() -> None:
    with pytest.raises(RobotError, match=r"high, snake, not for 'barrel': give its class a description"):
        describe("barrel", observed())
    with pytest.raises(RobotError, match=r"no robot 'snail': choose one of hexapod"):
        describe("snail", observed())


def test_a_part_has_the_sensors_that_belong_to_its_motion() -> None:
    whole = Observed(RATE, 5, np.arange(100.0)[:, None], {"z": np.arange(20.0)}, 1)
    part = whole.part(10, 15)
    assert part.motion["z"].tolist() == [10, 11, 12, 13, 14]
    assert part.sensors[:, 0].tolist() == list(range(50, 75))
    assert (part.rate, part.every, part.motors) == (RATE, 5, 1)
