"""Each sensor by itself, and whether sensors agree; labelled objects; results without curves."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from quantify import Quantification, Series, quantify, quantify_each
from quantify.sensors import Agreement
from quantify.systems import Henon, Lorenz

QUICK = {"tau": 1, "m_max": 4, "choices": False, "stationarity": False}


@pytest.fixture(scope="module")
def henon() -> np.ndarray:
    return Henon().sample(4000, 1)


def test_each_is_the_same_as_alone(henon: np.ndarray) -> None:
    done = []
    found = quantify_each(
        henon, names=["x", "y"], replicates=10, progress=lambda *now: done.append(now), **QUICK
    )
    for i, name in enumerate("xy"):
        assert found[name].E_core == quantify(henon[:, i], replicates=10, **QUICK).E_core
        assert found[name].settings["sensors"] == [name]
    assert done[-1] == (2, 2) and all(a[0] <= b[0] for a, b in pairwise(done))
    assert found.summary().splitlines()[0].split()[:2] == ["sensor", "E_core"]
    assert "<td>x</td>" in found._repr_html_() and found.agreement.sentence in found.summary()


def test_the_unit_of_a_sensor_does_not_matter_and_noise_is_told_apart(henon: np.ndarray) -> None:
    noise = np.random.default_rng(1).uniform(size=len(henon))
    frame = pd.DataFrame({"x": henon[:, 0], "x in mm": 1000 * henon[:, 0], "noise": noise, "who": "A"})
    found = quantify_each(frame, replicates=10, **QUICK)
    assert list(found) == ["x", "x in mm", "noise"]
    a, b = found["x"].E_core, found["x in mm"].E_core
    assert b.value == pytest.approx(a.value, abs=1e-9)
    agreement = found.agreement
    assert agreement.agree == ("x", "x in mm") and agreement.without == ("noise",) and not agreement.differ
    assert "interval of 2 of 2 sensors" in agreement.sentence
    assert agreement.sentence.endswith("1 sensor has no scaling region: noise.")


def test_sensors_that_see_something_else_are_named(henon: np.ndarray) -> None:
    """Hénon beside Lorenz: two thirds see the one, a third the other."""
    other = Lorenz(sampling=0.1).sample(4000, 1)[:, 0]
    table = {"a": henon[:, 0], "b": -henon[:, 0], "c": other}
    found = quantify_each(table, replicates=10, **QUICK)
    assert found.agreement.differ == ("c",) and "Not in: c." in found.agreement.sentence
    assert found.agreement.scatter > 3 * found.agreement.expected
    assert [row[-1] for row in found.rows()] == ["yes", "yes", "no"]


def test_without_intervals_nothing_is_claimed(henon: np.ndarray) -> None:
    found = quantify_each(henon, replicates=0, **QUICK)
    assert found.agreement.agree == found.agreement.differ == ()
    assert "no intervals to judge it by" in found.agreement.sentence
    assert {row[-1] for row in found.rows()} == {"not known"}
    assert "nothing to compare" in Agreement.of({"x": found["0"]}).sentence


def test_a_frame_is_quantified_as_its_numbers(henon: np.ndarray) -> None:
    when = pd.date_range("2024-01-01", periods=len(henon), freq="10ms")
    frame = pd.DataFrame({"ant": "A", "x": henon[:, 0], "y": henon[:, 1]}, when)
    found = quantify(frame, replicates=0, **QUICK)
    assert found.sums.d == 2 and found.settings["sensors"] == ["x", "y"] and found.settings["rate"] == 100
    assert found.E_core.value == quantify(henon, replicates=0, **QUICK).E_core.value
    assert found.summary().startswith(
        "Complexity of x, y, 4,000 samples at 100 Hz: delay 1 (0.01 s), 4 steps"
    )
    assert repr(found).startswith("<Quantification of x, y: E_state")
    assert quantify(frame["y"], replicates=0, **QUICK).settings["sensors"] == ["y"]


def test_gaps_in_time_reach_the_caveats(henon: np.ndarray) -> None:
    time = np.arange(4000.0)
    time[2000:] += 50
    found = quantify(henon[:, 0], time=time, names=["x"], replicates=0, **QUICK)
    assert any(text.startswith("Sampling is not uniform") for text in found.caveats)
    same = quantify(Series(henon[:, 0], "x", "", time=time), replicates=0, **QUICK)
    assert same.caveats == found.caveats


def test_results_without_curves_are_short(henon: np.ndarray) -> None:
    found = quantify(henon, names=["x", "y"], replicates=5, **QUICK)
    brief = json.dumps(found.brief(), indent=1)
    assert len(brief.splitlines()) < 120 < 500 < len(json.dumps(found.to_dict(), indent=1).splitlines())
    assert Quantification.from_dict(found.to_dict()).brief() == found.brief()


@pytest.mark.guard
def test_symbols_are_explained_where_they_appear(henon: np.ndarray) -> None:
    text = " ".join(quantify(henon[:, 0], replicates=5, predictive=2000, **QUICK).summary().split())
    assert "(0: deterministic, 1: noise)" in text and "lie on no straight line" in text
    assert "without fit" not in text and "eta" not in text
