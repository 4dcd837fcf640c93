"""What every controller promises: a rule is tested by being registered."""

import numpy as np
import pytest

import controllers
from controllers import REGISTRY, Controller, ControllerError, Frozen, RuleConfig, make

N_SENSORS, N_MOTORS = 5, 4
OPEN_LOOP = {"sine", "babbling"}
LEARNS = {"ulr", "tipi", "homeokinesis", "dep", "dep_norm"}
every_rule = pytest.mark.parametrize("name", REGISTRY)
closed_loop = pytest.mark.parametrize("name", [name for name in REGISTRY if name not in OPEN_LOOP])
rules_that_learn = pytest.mark.parametrize("name", [name for name in REGISTRY if name in LEARNS])


def sensors(n, seed=1, n_sensors=N_SENSORS):
    """Sensor values as an environment gives them: smooth, scaled, float32."""
    steps = np.random.default_rng(seed).standard_normal((n, n_sensors))
    return (0.5 * np.tanh(0.3 * np.cumsum(steps, axis=0))).astype(np.float32)


def same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[k], other[k]) and one[k].dtype == other[k].dtype for k in one
    )


@pytest.fixture
def learned(name):
    controller = make(name, N_SENSORS, N_MOTORS, rng=3)
    for s in sensors(100):
        controller.step(s)
    return controller


# --- acting ---


@every_rule
def test_actions_are_bounded_float64_vectors(name, learned):
    for s in sensors(50, seed=2):
        a = learned.step(s)
        assert a.shape == (N_MOTORS,) and a.dtype == np.float64
        assert np.abs(a).max() <= 1.0


@every_rule
def test_acting_and_learning_one_after_the_other_is_a_step(name):
    """In this order, but for DEP: its authors let it learn from s before it acts on it."""
    one, other = (make(name, N_SENSORS, N_MOTORS, rng=3) for _ in range(2))
    assert one.learns_first == name.startswith("dep")
    for s in sensors(60):
        if one.learns_first:
            one.learn(s)
        a = one.act(s)
        if not one.learns_first:
            one.learn(s)
        assert np.array_equal(a, other.step(s))
    assert same(one.state(), other.state())


@closed_loop
def test_action_is_tanh_of_C_s_plus_h(name, learned):
    learned.h[...] = 0.1
    for s in sensors(20, seed=2):
        # 1e-15: a dot product of five numbers, summed in another order
        np.testing.assert_allclose(learned.act(s), np.tanh(learned.C @ s + learned.h), rtol=1e-14, atol=1e-15)


@closed_loop
def test_without_learning_nothing_in_the_state_changes(name, learned):
    before = learned.state()
    for s in sensors(50, seed=2):
        learned.step(s, learn=False)
        learned.act(s)
    learned.inspect()
    assert same(before, learned.state())


@every_rule
def test_only_rules_that_learn_move_C(name, learned):
    fresh = make(name, N_SENSORS, N_MOTORS, rng=3)
    assert np.array_equal(fresh.C, learned.C) == (name not in LEARNS)


# --- freezing ---


@every_rule
def test_frozen_acts_the_same_and_stays_the_same(name, learned):
    frozen = learned.freeze()
    reference = type(learned).from_state(learned.state())
    before = None if name in OPEN_LOOP else frozen.state()
    for s in sensors(50, seed=2):
        assert np.array_equal(frozen.step(s), reference.act(s))
        frozen.learn(s)
    if name not in OPEN_LOOP:
        assert isinstance(frozen, Frozen) and set(before) == {"C", "h"}
        assert same(before, frozen.state())


@rules_that_learn
def test_frozen_does_not_follow_its_origin(name, learned):
    frozen = learned.freeze()
    C = frozen.C.copy()
    for s in sensors(50, seed=2):
        learned.step(s)
    assert np.array_equal(frozen.C, C) and not np.array_equal(learned.C, C)


def test_frozen_weights_are_read_only_copies():
    C, h = np.eye(2, 3), np.zeros(2)
    frozen = Frozen(C, h)
    C[0, 0] = 7.0
    assert frozen.C[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        frozen.C[0, 0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        frozen.h[0] = 2.0


def test_frozen_takes_its_own_state_alone():
    """The C and h of an open loop are zero: as frozen weights they would make a robot that does nothing."""
    ulr = make("ulr", 3, 2)
    restored = Frozen.from_state(ulr.freeze().state())
    assert np.array_equal(restored.C, ulr.C) and restored.freeze() is restored
    for name in ("ulr", "sine"):
        with pytest.raises(ControllerError, match=r"C and h alone.*then freeze\(\)"):
            Frozen.from_state(make(name, 3, 2).state())


@pytest.mark.parametrize(
    ("C", "h", "words"),
    [
        (np.eye(2), np.zeros(3), r"\(2, 2\) and h of shape \(3,\)"),
        (np.zeros(2), np.zeros(2), r"C of shape \(2,\)"),
        (np.array([[1.0, np.nan]]), np.zeros(1), r"C\[0, 1\] is not finite"),
        (np.eye(1), np.array([np.inf]), r"h\[0\] is not finite"),
    ],
)
def test_frozen_refuses_weights_that_cannot_act(C, h, words):
    with pytest.raises(ControllerError, match=words):
        Frozen(C, h)


# --- storing ---


@every_rule
def test_learning_goes_on_bit_by_bit_from_the_state(name):
    s = sensors(300)
    for stop in (0, 1, 3, 100):  # also before the history of a rule is complete
        original = make(name, N_SENSORS, N_MOTORS, rng=3)
        for x in s[:stop]:
            original.step(x)
        resumed = type(original).from_state(original.state())
        assert same(original.state(), resumed.state())
        assert all(np.array_equal(original.step(x), resumed.step(x)) for x in s[stop:])
        assert same(original.state(), resumed.state())


@every_rule
def test_state_is_a_plain_dict_of_numeric_arrays_of_its_own(name, learned):
    state = learned.state()
    assert type(state) is dict
    assert all(isinstance(x, np.ndarray) and x.dtype.kind in "iufb" for x in state.values())
    before = {k: x.copy() for k, x in state.items()}
    for s in sensors(20, seed=2):
        learned.step(s)
    assert same(before, state), "the state must not move with the controller"


def test_settings_are_part_of_the_state():
    config = controllers.DEPConfig(norm="row", d=7, rate=0.01)
    restored = controllers.DEP.from_state(make("dep", 4, 3, config).state())
    assert restored.config == config


def test_generator_goes_on_where_it_was():
    rng = np.random.default_rng(5)
    rng.integers(10, dtype=np.uint32)  # leaves half a word behind, which is part of the state too
    rng.standard_normal(7)
    one = make("babbling", 3, 2, rng=rng)
    other = type(one).from_state(one.state())
    drawn = [c.rng.integers(2**31, size=5, dtype=np.uint32) for c in (one, other)]
    assert np.array_equal(*drawn)


def test_other_generators_are_refused_when_storing():
    controller = make("ulr", 3, 2, rng=np.random.Generator(np.random.MT19937(1)))
    with pytest.raises(ControllerError, match=r"MT19937.*default_rng"):
        controller.state()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x.pop("history"), "lacks history"),
        (lambda x: x.update(C=np.zeros((2, 2))), r"stored C has shape \(2, 2\)"),
        (lambda x: x.update(C=np.full((2, 3), np.nan)), r"C\[0, 0\] is not finite"),
        (lambda x: x.update(rng=np.zeros(5, np.uint64)), r"stored rng has shape \(5,\)"),
        (lambda x: x.update({"config.eps": np.array(-1.0)}), r"eps = -1.0 is outside \[0, 10\]"),
        (lambda x: x.update({"config.nonsense": np.array(1.0)}), "no field 'nonsense'"),
    ],
)
def test_damaged_states_are_refused(change, words):
    state = make("ulr", 3, 2).state()
    change(state)
    with pytest.raises(ControllerError, match=words):
        controllers.ULR.from_state(state)


# --- bad values ---


@every_rule
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_sensor_values_that_are_not_finite_are_named(name, learned, value):
    s = sensors(1)[0]
    s[3] = value
    for method in (learned.act, learned.step, learned.freeze().act):
        with pytest.raises(ControllerError, match=f"(action|learning step) [0-9]+: sensor 3 is {value}"):
            method(s)
    before = learned.state()
    with pytest.raises(ControllerError, match="learning step 100: sensor 3"):
        learned.learn(s)
    assert same(before, learned.state()), "a refused value must leave no trace"


@every_rule
def test_sensor_values_of_another_shape_are_refused(name, learned):
    with pytest.raises(ControllerError, match=r"shape \(3,\).*\(5,\)"):
        learned.step(np.zeros(3))


@closed_loop
def test_weights_that_are_not_finite_are_named(name, learned):
    learned.C[1, 2] = np.nan
    with pytest.raises(
        ControllerError, match=r"action [0-9]+: C\[1, 2\] is not finite; .*Lower the learning rate"
    ):
        learned.act(sensors(1)[0])


@closed_loop
def test_infinite_weights_are_found_though_tanh_hides_them(name, learned):
    getattr(learned, "K" if name.startswith("dep") else "C")[1, 2] = np.inf
    with pytest.raises(ControllerError, match=r"learning step 100: [A-Za-z]+\[[0-9, ]+\] is not finite"):
        learned.step(np.full(N_SENSORS, 0.3))


class Diverging(Controller):
    """A rule whose A grows without bound, and makes C overflow with its square."""

    memory = ("A", *Controller.memory)

    def set_up(self):
        self.A = np.ones(1)

    def update(self, s):
        self.A *= 1e3
        with np.errstate(over="ignore"):
            self.C[...] = self.A**2


def test_learning_that_overflows_stops_at_the_culprit():
    """What overflows is named with what grew without bound before."""
    diverging = Diverging(3, 2)
    with pytest.raises(
        ControllerError,
        match=r"learning step 51: C\[0, 0\] is not finite; .*are in A, 1e\+156.*Lower the learning rate",
    ):
        for s in sensors(100, n_sensors=3):
            diverging.learn(s)


@pytest.mark.parametrize(("n_sensors", "n_motors"), [(0, 1), (3, 0), (-1, 2), (2.5, 2)])
def test_sizes_must_be_positive_ints(n_sensors, n_motors):
    with pytest.raises(ControllerError, match="positive int"):
        make("ulr", n_sensors, n_motors)


@pytest.mark.parametrize("name", ["ulr", "dep"])
def test_a_motor_without_sensor_needs_a_learned_model(name):
    with pytest.raises(ControllerError, match="joint sensor for every motor"):
        make(name, 2, 3)
    make("tipi", 2, 3).step(np.zeros(2))
    make("dep", 2, 3, {"eps_M": 0.1}).step(np.zeros(2))


def test_rotation_couples_the_axes_of_each_joint():
    C = make("ulr", 5, 4, {"C_0": 1.0, "rotation": 0.6}).C
    block = np.array([[1.0, -0.6], [0.6, 1.0]])
    expected = np.zeros((4, 5))
    expected[:2, :2] = expected[2:, 2:4] = block
    assert np.array_equal(C, expected)
    with pytest.raises(ControllerError, match=r"rotation = 0\.6 needs joints of two axes.*set rotation to 0"):
        make("ulr", 5, 3, {"rotation": 0.6})


@pytest.mark.parametrize("name", ["ulr", "identity"])
def test_wave_couples_each_axis_to_the_next_joint_and_the_one_before(name):
    C = make(name, 7, 6, {"C_0": 1.0, "wave": 0.3}).C
    expected = np.eye(6, 7)
    expected[[2, 3, 4, 5], [0, 1, 2, 3]] = 0.3
    expected[[0, 1, 2, 3], [2, 3, 4, 5]] = -0.3
    assert np.array_equal(C, expected)
    with pytest.raises(ControllerError, match=r"wave = 0\.3 needs joints of two axes.*set wave to 0"):
        make(name, 5, 3, {"wave": 0.3})


# --- inspecting ---


@every_rule
def test_inspect_tells_what_one_plots(name, learned):
    seen = learned.inspect()
    assert set(seen) == {"C_norm", "C_singular_values", "L_eigenvalues", "model_error", "gamma"}
    assert seen["C_norm"] == pytest.approx(np.sqrt(np.sum(seen["C_singular_values"] ** 2)), rel=1e-12)
    assert seen["L_eigenvalues"].shape == (N_SENSORS,) and seen["gamma"].shape == (N_MOTORS,)
    assert np.isfinite(seen["model_error"]) == (name in LEARNS)
    assert np.isfinite(seen["gamma"]).all() == (name in {"ulr", "tipi", "homeokinesis"})
    assert np.isfinite(make(name, N_SENSORS, N_MOTORS).inspect()["L_eigenvalues"]).all()


def test_loop_eigenvalues_by_hand():
    """A rotation by phi with a gain c has the eigenvalues c exp(+-i phi); saturation shrinks them."""
    c, phi = 1.3, 0.4
    C = c * np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])
    frozen = Frozen(C, np.zeros(2))
    at_rest = frozen.inspect()
    np.testing.assert_allclose(
        np.sort_complex(at_rest["L_eigenvalues"]), c * np.exp([-1j * phi, 1j * phi]), rtol=1e-14
    )
    np.testing.assert_allclose(at_rest["C_singular_values"], [c, c], rtol=1e-14)
    one = Frozen([[2.0]], [0.0]).inspect(s=[0.5])
    assert one["L_eigenvalues"][0] == pytest.approx(2.0 * (1 - np.tanh(1.0) ** 2), rel=1e-14)


def test_model_error_and_gamma_of_ulr_by_hand():
    config = {"d": 1, "C_0": 0.5, "eps": 0.0, "decay": 0.0, "alpha": 1.0, "c": 0.1}
    ulr = make("ulr", 1, 1, config)
    for s in (0.0, 0.2, 0.5):
        ulr.step([s])
    seen = ulr.inspect()
    assert seen["model_error"] == pytest.approx(0.5 - np.tanh(0.1), rel=1e-14)
    assert seen["gamma"][0] == pytest.approx(2 * (0.3 / 0.4) * (0.5 * 0.2), rel=1e-14)


# --- restarting ---


@rules_that_learn
def test_after_a_restart_no_velocity_spans_the_gap(name, learned):
    """A jump between two runs would teach a velocity that never was; forgetting leaves C alone at first."""
    jumped = type(learned).from_state(learned.state())
    learned.restart()
    C = learned.C.copy()
    far = -0.9 * np.ones(N_SENSORS)
    learned.step(far)
    jumped.step(far)
    assert np.array_equal(learned.C, C)
    assert not np.array_equal(jumped.C, C)
    for s in sensors(50, seed=2):
        learned.step(s)
    assert not np.array_equal(learned.C, C)


# --- a rule of one's own ---


def test_base_class_is_a_controller_that_stays_at_rest():
    still = Controller(3, 2, RuleConfig())
    assert np.array_equal(still.step(np.ones(3)), np.zeros(2))
