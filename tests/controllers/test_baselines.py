"""The controllers that do not learn do what they are asked for."""

import numpy as np
import pytest

from controllers import make


@pytest.mark.parametrize(("n_sensors", "n_motors"), [(1, 1), (19, 18), (3, 5)])
def test_random_weights_have_the_spectral_radius_asked_for(n_sensors, n_motors):
    random = make("random", n_sensors, n_motors, {"radius": 1.5}, rng=7)
    assert np.abs(random.inspect()["L_eigenvalues"]).max() == pytest.approx(1.5, rel=1e-10)
    assert not np.array_equal(random.C, make("random", n_sensors, n_motors, rng=8).C)


def test_identity_feeds_each_joint_back_to_its_motor():
    assert np.array_equal(make("identity", 3, 2, {"C_0": 0.7}).C, [[0.7, 0, 0], [0, 0.7, 0]])


def test_sine_has_the_phases_asked_for():
    config = {"amplitude": 0.4, "period": 20.0, "axes": 2, "lag": 0.3, "axis_lag": 1.0}
    sine = make("sine", 5, 4, config)
    a = np.array([sine.act(np.zeros(5)) for _ in range(60)])
    k, lags = np.arange(60), np.array([0.0, 1.0, 0.3, 1.3])
    # 1e-14: sin at phases up to 20 rad, each known to 2e-15
    np.testing.assert_allclose(a, 0.4 * np.sin(2 * np.pi * k[:, None] / 20.0 - lags), atol=1e-14)


def test_babbling_has_the_spread_and_correlation_asked_for():
    babbling = make("babbling", 1, 200, {"std": 0.1, "correlation": 5.0}, rng=2)
    a = np.array([babbling.act([0.0]) for _ in range(500)])
    x = np.arctanh(a) / 0.1
    # 200 motors x 500 steps / (2 x 5) steps per independent value = 10,000: sigma is about 1 % of either
    assert x.std() == pytest.approx(1.0, abs=0.03)
    assert np.mean(x[1:] * x[:-1]) == pytest.approx(np.exp(-1 / 5), abs=0.04)
    white = make("babbling", 1, 200, {"correlation": 0.0}, rng=2)
    b = np.arctanh([white.act([0.0]) for _ in range(500)]) / 0.5
    assert np.mean(b[1:] * b[:-1]) == pytest.approx(0.0, abs=0.015)  # 1e5 products: sigma .003
