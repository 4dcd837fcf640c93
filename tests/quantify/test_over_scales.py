"""Means over scales that are the same for series of different size."""

import numpy as np
import pytest

import quantify as q


@pytest.fixture(scope="module")
def parts() -> q.Decomposition:
    series = q.quantify(np.sin(np.arange(4000) * 0.37) + 0.01, tau=4, m_max=5, replicates=0)
    return series.decomposition


def test_a_range_inside_the_series_is_a_plain_mean(parts: q.Decomposition) -> None:
    found, expected = parts.over_scales(0.2, 0.8), parts.over(0.2, 0.8)
    assert found["E_core"] == expected.E_core and found["D"] == expected.D and found["covered"] == 1.0


def test_scales_larger_than_the_series_count_as_zero(parts: q.Decomposition) -> None:
    top = float(parts.eps[0])
    assert parts.over_scales(2 * top, 8 * top)["E_core"] == 0.0
    # Half of the octaves lie above the largest distance.
    half = parts.over_scales(top / 4, 4 * top)
    assert half["E_core"] == pytest.approx(parts.over(top / 4, top).E_core / 2)
    assert half["covered"] == 1.0


def test_scales_below_the_reliable_ones_are_left_out_and_said_to_be(parts: q.Decomposition) -> None:
    bottom = float(parts.eps[-1])
    partly = parts.over_scales(bottom / 2, 2 * bottom)
    assert partly["covered"] == pytest.approx(0.5)
    assert partly["E_core"] == parts.over(bottom, 2 * bottom).E_core
    assert parts.over_scales(bottom / 8, bottom / 2) == {"lo": bottom / 8, "hi": bottom / 2, "covered": 0.0}
