"""Several observables per sample, on a system whose answers are known."""

import numpy as np
import pytest

from quantify import correlation_sums, decompose, entropies
from quantify.systems import Henon

LO, HI = 0.0003, 0.02  # seven octaves: the steps of the Cantor set average out


@pytest.fixture(scope="module")
def sums():
    """The full state of the Hénon map, its second coordinate brought to the scale of the first."""
    state = Henon().sample(40_000, 1)
    return correlation_sums(state / np.ptp(state, axis=0), tau=1, m_max=4, theiler=20)


def test_dimension_is_that_of_the_attractor(sums) -> None:
    """With the state observed whole, the excess entropy falls with the attractor's own dimension."""
    inside = (sums.eps >= LO) & (sums.eps <= HI)
    D = -np.polyfit(np.log(sums.eps[inside]), entropies(sums).E[-1, inside], 1)[0]
    assert pytest.approx(1.21, abs=0.05) == D


def test_one_step_holds_the_whole_state(sums) -> None:
    """Two observables see the state at once: only the first term depends on eps, and nothing is left over."""
    parts = decompose(sums)
    inside = (parts.eps >= LO) & (parts.eps <= HI)
    assert (parts.m_l[inside] == 1).all() and (parts.m_u[inside] == 1).all()
    assert parts.deterministic[inside].all()
    # H_1 has the slope D, and so has the first term; the segments' slopes follow the Cantor set's steps.
    assert parts.over(LO, HI).kappa == pytest.approx(0, abs=0.06)
