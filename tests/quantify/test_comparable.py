"""Numbers by which series are compared."""

import numpy as np
import pytest

import quantify as q
from quantify.comparable import comparable
from quantify.systems import Henon

OPTIONS = {"tau": 1, "m_max": 4}


@pytest.mark.long
def test_the_same_behaviour_at_twice_the_size_has_the_same_numbers_on_relative_scales() -> None:
    series = Henon().sample(1500, 1)[:, 0]
    small, large = (
        comparable(
            x, q.quantify(x, replicates=0, **OPTIONS), (0.4, 1.6), (0.2, 0.8), surrogate=False, **OPTIONS
        )
        for x in (series, 2 * series)
    )
    assert large["relative"]["lo"] == pytest.approx(2 * small["relative"]["lo"], rel=1e-12)
    # The grids of scales do not coincide.
    assert large["relative"]["D"] == pytest.approx(small["relative"]["D"], abs=0.05)
    assert "surrogate" not in small and small["PI"] > 0


def test_a_surrogate_is_quantified_on_the_scales_of_the_series() -> None:
    series = Henon().sample(1500, 1)[:, 0]
    result = q.quantify(series, replicates=0, **OPTIONS)
    found = comparable(series, result, (0.2, 0.8), (0.2, 0.8), **OPTIONS)
    assert found["auto"]["E_core"] == result.range.E_core
    assert found["surrogate"]["auto"]["lo"] == result.range.lo
    assert found["common"] == result.decomposition.over_scales(0.2, 0.8)
    assert found["relative"]["hi"] == pytest.approx(0.8 * np.std(series), rel=1e-12)
