"""Whether a number has settled: sweeps over the embedding, the delay and the length."""

import math

import numpy as np
import pytest

import quantify as q
from quantify.convergence_data import Sweep
from quantify.systems import Henon

HENON = Henon().sample(6000, 1)[:, 0]


def estimate(value: float, reach: float = 0.1) -> q.Estimate:
    return q.Estimate(value, reach / 2, (value - reach, value + reach), 0.0, (value, value))


def sweep(*values: float, setting: str = "m_max", without: int | None = None) -> Sweep:
    counts = tuple(range(2, 2 + len(values)))
    region = tuple(i != without and math.isfinite(value) for i, value in enumerate(values))
    return Sweep(setting, 2, counts, {"E_core": tuple(map(estimate, values))}, region)


@pytest.mark.parametrize(
    ("values", "since"),
    [
        ((1.0, 1.0, 1.0), 2),
        ((0.5, 1.0, 1.05), 3),
        ((0.5, 0.8, 1.0), None),  # only the last agrees with itself
        ((1.0, 0.5, 1.0), None),  # what left once has not settled before
        ((math.nan, 1.0, 1.0), 3),
    ],
)
def test_settled_is_what_stays(values: tuple[float, ...], since: int | None) -> None:
    assert sweep(*values).settled_from() == since


def test_words() -> None:
    assert sweep(0.5, 1.0, 1.0).sentence == (
        "steps looked at together (m_max) 2 to 4: E_core 0.50 to 1.00 nats, settled from 3 on."
    )
    assert sweep(0.5, 0.8, 1.0, setting="n").sentence.endswith("nats, still moves.")
    # No delay is the limit of others.
    assert sweep(1.0, 1.0, setting="tau").sentence.endswith("E_core 1.00 to 1.00 nats.")
    assert sweep(math.nan, math.nan).sentence.endswith("no scaling region anywhere.")


def test_a_number_without_a_scaling_region_is_of_another_kind() -> None:
    found = sweep(1.0, 1.0, 1.0, 1.0, without=1)
    assert found.settled_from() == 4 and found.sentence.endswith("settled from 4 on, no scaling region at 3.")
    assert sweep(9.0, 1.0, 1.0, without=0).extent() == (1.0, 1.0)


@pytest.mark.guard
def test_every_number_is_that_of_a_quantification() -> None:
    found = q.convergence(HENON, tau=1, m_max=4, theiler=5, replicates=10, rng=3)
    asked = {"choices": False, "stationarity": False, "theiler": 5, "replicates": 10, "rng": 3}
    assert found.m_max.values == (2, 4, 6, 8) and found.tau.values == (1, 2)
    for m, core in zip(found.m_max.values, found.m_max.estimates["E_core"], strict=True):
        assert core == q.quantify(HENON, tau=1, m_max=m, **asked).E_core
    assert found.tau.estimates["D"][1] == q.quantify(HENON, tau=2, m_max=4, **asked).D
    assert found.n.values == (1000, 1500, 3000, 6000)
    assert found.n.estimates["E_mem"][2] == q.quantify(HENON[1500:4500], tau=1, m_max=4, **asked).E_mem
    assert found.samples == 6000


def test_embedding_and_delay_are_varied_on_a_part() -> None:
    found = q.convergence(HENON, tau=1, m_max=3, samples=2000, replicates=5)
    whole = q.quantify(HENON[2000:4000], tau=1, m_max=3, theiler=found.theiler, replicates=5, choices=False)
    assert found.samples == 2000 and found.m_max.estimates["D"][0] == whole.D


def test_a_piece_that_is_too_short_has_no_value() -> None:
    slow = np.sin(np.arange(1200) / 40) + 0.01 * np.random.default_rng(1).standard_normal(1200)
    found = q.convergence(slow, tau=100, m_max=10, replicates=0)
    assert math.isnan(found.m_max.estimates["E_core"][-1].value)
    assert found.to_dict()["m_max"]["estimates"]["E_core"][-1]["value"] is None


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(q.QuantifyError, match="samples = 10"):
        q.convergence(HENON, samples=10)
