"""The rules are what their equations say: twins in naive.py, and gradients of what they climb or descend."""

import dataclasses

import numpy as np
import pytest

from controllers import REGISTRY, make
from controllers.algebra import cholesky, cholesky_solve, clipped, dot
from tests import naive


def sensors(n, n_sensors, seed=1):
    """Sensor values that wander for about twenty steps, jitter, and lie in [-1, 1]."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((2, n, n_sensors))
    wander = np.zeros(n_sensors)
    values = np.empty((n, n_sensors))
    for t in range(n):
        wander = 0.95 * wander + 0.2 * noise[0, t]
        values[t] = np.tanh(wander + 0.05 * noise[1, t])
    return values


# --- twins ---

# Rates are high, so that weights travel far and every guard is hit; each setting takes another branch.
SETTINGS = [
    ("ulr", {}),
    ("ulr", {"eps": 0.1, "d": 1, "eps_h": 0.05, "decay": 1e-3}),
    ("ulr", {"eps": 0.5, "alpha": 0.0, "d": 9, "clip": 0.01, "c": 1e-3}),
    ("tipi", {"eps_C": 0.01}),
    ("tipi", {"eps_C": 0.02, "tau": 6, "extended": True, "damping": 0.01, "clip_A": 0.01, "clip_ds": 1.0}),
    (
        "tipi",
        {
            "eps_C": 0.1,
            "tau": 3,
            "eps_Sigma": 0.0,
            "Sigma_0": 1.0,
            "metric": False,
            "alpha": 2.0,
            "g_floor": 0.1,
        },
    ),
    ("homeokinesis", {"eps_C": 0.05}),
    ("homeokinesis", {"log_error": False, "extended": True, "cause": 0.01, "damping": 0.01, "alpha": 0.5}),
    ("homeokinesis", {"log_scale": 0.3, "log_floor": 0.01, "native": 0.7, "damping": 0.1, "S_0": 0.2}),
    ("dep", {"rate": 0.01}),
    ("dep", {"rate": 0.05, "d": 3, "kappa": 3.0, "eps_h": 0.2, "eps_M": 0.5}),
    ("dep", {"norm": "global", "kappa": 9.0, "eps_M": 0.05, "clip_C": 2.0}),
    ("dep_norm", {}),
    ("dep_norm", {"count": "all"}),
    ("dep_norm", {"norm": "none", "rate": 0.1, "kappa": 20.0, "d": 2, "c": 0.1}),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=lambda x: x if isinstance(x, str) else str(x))
@pytest.mark.parametrize(("n_sensors", "n_motors"), [(1, 1), (4, 3)])
def test_rule_equals_its_naive_twin(name, settings, n_sensors, n_motors):
    s = sensors(1000 if name == "ulr" else 300, n_sensors)
    controller = make(name, n_sensors, n_motors, settings)
    config = dataclasses.asdict(controller.config)
    for start in ("rotation", "wave"):
        config.pop(start, None)
    C, h = getattr(naive, name)(s.tolist(), n_motors, **config)
    moved = []
    for x in s:
        controller.step(x)
        moved.append((controller.C.copy(), controller.h.copy()))
    # Sums in another order and another tanh: 1e-16 a step. The sensor values are given, so errors are not
    # amplified by a body; weights and a model that move as fast as here amplify them by ten in 100 steps.
    np.testing.assert_allclose([x for x, _ in moved], C, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose([x for _, x in moved], h, rtol=1e-9, atol=1e-11)
    assert np.ptp(C, axis=0).max() > 0.01, "the comparison needs weights that moved"


def test_ulr_equals_its_twin_at_the_size_of_the_hexapod():
    s = sensors(1000, 19)
    controller = make("ulr", 19, 18)
    config = dataclasses.asdict(controller.config)
    del config["rotation"], config["wave"]
    C, _ = naive.ulr(s.tolist(), 18, **config)
    for x in s:
        controller.step(x)
    np.testing.assert_allclose(controller.C, C[-1], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", ["ulr", "tipi", "homeokinesis", "dep", "dep_norm"])
def test_constant_sensors_teach_nothing_but_forgetting(name):
    """Without velocity and with a perfect model every driving term is zero; only decay remains."""
    still = {"eps_A": 0.0, "damping": 0.0}
    settings = {"ulr": {"decay": 0.0}, "homeokinesis": still, "tipi": still}.get(name, {})
    controller = make(name, 3, 2, settings)
    C = controller.C.copy()
    for _ in range(50):
        controller.step(np.zeros(3))
    assert np.array_equal(controller.C, C)


def test_ulr_one_step_by_hand():
    """One joint, d = 1, s = 0, .2, .5: chi = .3 / .4, v_{t-1} = .2, s_{t-1} = .2, C = .5."""
    ulr = make("ulr", 1, 1, {"d": 1, "C_0": 0.5, "eps": 0.01, "decay": 0.001, "alpha": 2.0, "eps_h": 0.1})
    for s in (0.0, 0.2, 0.5):
        ulr.step([s])
    chi, a = 0.75, np.tanh(0.1)
    gamma = 2 * 2.0 * chi * 0.5 * 0.2
    assert ulr.C[0, 0] == pytest.approx(0.5 + 0.01 * (chi * 0.2 - gamma * a * 0.2) - 0.001 * 0.5, rel=1e-14)
    assert ulr.h[0] == pytest.approx(-0.1 * gamma * a, rel=1e-14)


def test_ulr_keeps_the_symmetries_of_the_body():
    """Joints in another order and with another sense of rotation learn the same, in that order and sense."""
    rng = np.random.default_rng(6)
    order, sense = rng.permutation(6), rng.choice([-1.0, 1.0], 6)
    T = np.eye(6)[order] * sense  # a = T b for the actions of the two bodies, likewise for the joint sensors
    T_s = np.eye(7)
    T_s[:6, :6] = T  # the seventh sensor has no motor
    one, other = (make("ulr", 7, 6, {"eps": 0.05}) for _ in range(2))
    for s in sensors(1000, 7):
        # another order of summation in |v| and C v: 1e-16 a step
        np.testing.assert_allclose(other.step(T_s @ s), T @ one.step(s), atol=1e-11)
    np.testing.assert_allclose(other.C, T @ one.C @ T_s.T, atol=1e-11)
    assert np.abs(one.C - 0.6 * np.eye(6, 7)).max() > 0.1


def test_ulr_clips_each_element_but_not_the_decay():
    ulr = make("ulr", 2, 2, {"d": 1, "eps": 10.0, "decay": 0.1, "clip": 0.02})
    for s in sensors(3, 2):
        ulr.step(s)
    np.testing.assert_allclose(np.abs(ulr.C - 0.9 * 0.6 * np.eye(2)), 0.02, rtol=1e-12)


# --- gradients ---

# The exact rule: no floor under g', no guard in reach, no metric, alpha = 1, the model held fixed.
EXACT = {"alpha": 1.0, "g_floor": 0.0, "clip_C": 1e6, "clip_h": 1e6, "eps_A": 0.0, "damping": 0.0, "S_0": 0.0}


def numerical_gradient(function, x, step=1e-5):
    """Central differences; the error is of the order step^2 = 1e-10 plus rounding 1e-16 / step."""
    gradient = np.empty_like(x)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (function(up) - function(down)) / (2 * step)
    return gradient


def small_loop(controller, n_sensors, seed):
    """Give a controller a random C, h, A, S and run it without learning C, so that its window is full."""
    rng = np.random.default_rng(seed)
    controller.C[...] += 0.3 * rng.standard_normal(controller.C.shape)
    controller.h[...] = 0.2 * rng.standard_normal(controller.h.shape)
    controller.A[...] += 0.3 * rng.standard_normal(controller.A.shape)
    controller.S[...] = 0.3 * rng.standard_normal(controller.S.shape)
    return sensors(12, n_sensors, seed)


def propagated_noise(tipi, C, h, history, xis):
    """Give ds_t for the weights C, h with the sensor values, the noise and the model held fixed."""
    tau = len(xis)
    ds = np.zeros(tipi.n_sensors)
    for k in range(tau, 0, -1):  # l = t - k
        g = 1.0 - np.tanh(C @ history[k] + h) ** 2
        ds = (tipi.A @ np.diag(g) @ C + tipi.S) @ ds + xis[k - 1]
    return ds


@pytest.mark.parametrize("tau", [2, 3, 6])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_tipi_climbs_the_gradient_of_its_objective(n, tau):
    """With Sigma given, the step is eps_C/(tau - 1) times the gradient of 1/2 ds_t^T Sigma^-1 ds_t."""
    settings = EXACT | {"tau": tau, "metric": False, "clip_ds": 1e6, "eps_Sigma": 0.3, "ridge": 0.0}
    tipi = make("tipi", n, n, settings | {"eps_C": 0.0})
    s = small_loop(tipi, n, seed=10 * n + tau)
    for x in s:
        tipi.step(x)
    learning = type(tipi).from_state(tipi.state() | {"config.eps_C": np.array(1.0)})
    learning.learn(0.3 * np.ones(n))
    inverse = np.linalg.inv(learning.Sigma)

    def objective(C, h):
        ds = propagated_noise(tipi, C, h, learning.history, learning.xis)
        return 0.5 * ds @ inverse @ ds

    dC = numerical_gradient(lambda C: objective(C, tipi.h), tipi.C) / (tau - 1)
    dh = numerical_gradient(lambda h: objective(tipi.C, h), tipi.h) / (tau - 1)
    scale = np.abs(dC).max()
    np.testing.assert_allclose(learning.C - tipi.C, dC, rtol=1e-6, atol=1e-7 * scale)
    np.testing.assert_allclose(learning.h - tipi.h, dh, rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.parametrize("n", [2, 4])
def test_tipi_steps_average_to_the_gradient_of_the_log_determinant(n):
    """Over many windows with Sigma their covariance, the mean step is the gradient of 1/2 ln |Sigma(C)|.

    That is the predictive information itself, up to the noise entropy, which does not depend on C.
    """
    tau, windows = 3, 50
    settings = EXACT | {
        "tau": tau,
        "metric": False,
        "clip_ds": 1e6,
        "eps_Sigma": 0.0,
        "Sigma_0": 1.0,
        "ridge": 0.0,
    }
    tipi = make("tipi", n, n, settings | {"eps_C": 0.0})
    s = small_loop(tipi, n, seed=n)
    seen, pasts = [], []
    for x in np.concatenate([s, sensors(windows, n, seed=3)]):
        tipi.step(x)
        seen.append((tipi.history.copy(), tipi.xis.copy()))
        pasts.append([x.copy() for x in (tipi.actions, tipi.gs, tipi.Ls)])
    seen = seen[-windows:]

    def covariance(C):
        ds = np.array([propagated_noise(tipi, C, tipi.h, *window) for window in seen])
        return ds.T @ ds / windows

    expected = numerical_gradient(lambda C: 0.5 * np.linalg.slogdet(covariance(C))[1], tipi.C)
    mean = np.zeros_like(tipi.C)
    for (history, xis), past in zip(seen, pasts[-windows:], strict=True):
        one = type(tipi).from_state(
            tipi.state() | {"config.eps_C": np.array(1.0), "Sigma": covariance(tipi.C)}
        )
        one.history[...], one.xis[...] = history, xis
        one.actions[...], one.gs[...], one.Ls[...] = past
        one.move_weights()
        mean += (one.C - tipi.C) / windows
    np.testing.assert_allclose(mean * (tau - 1), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [1, 2, 4])
def test_homeokinesis_descends_the_time_loop_error(n, seed):
    """The step is -eps_C/2 times the gradient of E = |L^-1 xi|^2 for given xi, A, S."""
    settings = EXACT | {"log_error": False, "ridge": 0.0}
    still = make("homeokinesis", n, n, settings | {"eps_C": 0.0})
    for x in small_loop(still, n, seed):
        still.step(x)
    learning = type(still).from_state(still.state() | {"config.eps_C": np.array(1.0)})
    learning.learn(0.3 * np.ones(n))
    s, xi = learning.history[1], learning.xis[0]

    def error(C, h):
        g = 1.0 - np.tanh(C @ s + h) ** 2
        v = np.linalg.solve(still.A @ np.diag(g) @ C + still.S, xi)
        return v @ v

    dC = -0.5 * numerical_gradient(lambda C: error(C, still.h), still.C)
    dh = -0.5 * numerical_gradient(lambda h: error(still.C, h), still.h)
    scale = np.abs(dC).max()
    np.testing.assert_allclose(learning.C - still.C, dC, rtol=1e-5, atol=1e-6 * scale)
    np.testing.assert_allclose(learning.h - still.h, dh, rtol=1e-5, atol=1e-6 * scale)


def test_logarithmic_error_only_scales_the_step():
    steps = []
    for log_error in (False, True):
        one = make("homeokinesis", 3, 3, EXACT | {"C_0": 1.0, "eps_C": 1e-3, "log_error": log_error})
        C = one.C.copy()
        for s in sensors(2, 3):
            one.step(s)
        steps.append(one.C - C)
        xi, s = one.xis[0], one.history[1]
    # at C = A = 1, S = 0: L = diag(g'), with its regularised inverse g' / (g'^2 + ridge)
    g = 1.0 - np.tanh(s) ** 2
    v = g / (g**2 + 1e-8) * xi
    np.testing.assert_allclose(steps[1], steps[0] * 0.1 / (v @ v + 0.001), rtol=1e-9)


def test_forward_model_learns_the_world():
    """In s' = R a + T s + b with moving actions, A, S, b become R, T, b."""
    rng = np.random.default_rng(4)
    R, T, b = np.array([[0.5, -0.4], [0.3, 0.6]]), np.array([[0.2, 0.1], [-0.1, 0.1]]), np.array([0.1, -0.2])
    tipi = make("tipi", 2, 2, {"eps_C": 0.0, "C_0": 0.0, "extended": True, "eps_A": 0.05, "damping": 0.0})
    s = np.zeros(2)
    for _ in range(20000):
        tipi.h[...] = rng.standard_normal(2)  # babbling through h
        s = R @ tipi.step(s) + T @ s + b
    for learned, true in ((tipi.A, R), (tipi.S, T), (tipi.b, b)):
        np.testing.assert_allclose(learned, true, atol=1e-8)
    assert tipi.inspect()["model_error"] < 1e-8


def test_inverse_model_of_dep_learns_the_world():
    """In s_{t+1} = R a_t the inverse model becomes R^-1."""
    rng = np.random.default_rng(4)
    R = np.array([[0.6, -0.5], [0.5, 0.6]])
    dep = make("dep", 2, 2, {"rate": 0.0, "decay_h": 0.0, "eps_M": 0.1, "clip_M": 1.0})
    s = np.zeros(2)
    for _ in range(3000):
        dep.h[...] = rng.standard_normal(2)  # babbling through h
        s = R @ dep.step(s)
    np.testing.assert_allclose(dep.M, np.linalg.inv(R), atol=1e-10)


# --- algebra ---


@pytest.mark.parametrize("n", [1, 2, 19])
def test_cholesky_solves(n):
    rng = np.random.default_rng(n)
    B = rng.standard_normal((n, n))
    M, x = B @ B.T, rng.standard_normal(n)
    y = cholesky_solve(cholesky(M, 0.1), x)
    np.testing.assert_allclose((M + 0.1 * np.eye(n)) @ y, x, atol=1e-12)  # condition number below 1e3


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5), (5, 3)])
def test_products_with_a_matrix_and_its_transpose(rows, columns):
    rng = np.random.default_rng(rows)
    M, x, y = rng.standard_normal((rows, columns)), rng.standard_normal(columns), rng.standard_normal(rows)
    np.testing.assert_allclose(dot(M, x), M @ x, atol=1e-14)  # five terms, summed in another order
    np.testing.assert_allclose(dot(M.T, y), M.T @ y, atol=1e-14)


def test_cholesky_of_what_is_not_positive_definite_is_nan():
    assert np.isnan(cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.0)[1, 1])


def test_clip_does_not_hide_nan():
    assert [clipped(x, 1.0) for x in (-np.inf, -2.0, -0.5, 0.5, 2.0)] == [-1.0, -1.0, -0.5, 0.5, 1.0]
    assert np.isnan(clipped(np.nan, 1.0))


def test_every_rule_that_learns_has_a_twin():
    moving = {name for name, rule in REGISTRY.items() if rule.update is not REGISTRY["identity"].update}
    assert moving == {name for name, _ in SETTINGS}
