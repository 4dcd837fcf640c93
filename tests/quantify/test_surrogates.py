"""Each surrogate keeps what it should keep and destroys the rest."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantify import QuantifyError, surrogates
from quantify.delays import autocorrelation
from quantify.ksg import neighbours
from quantify.surrogates.pseudo_periodic import _staying
from quantify.surrogates.pseudo_periodic import _walk as pseudo_periodic_walk
from quantify.surrogates.twins import _recurrences
from quantify.systems import AutoRegressive, Henon, Lorenz
from tests import naive

KINDS = [surrogates.shuffle, surrogates.phase, surrogates.iaaft]
EVERY = [*KINDS, surrogates.pseudo_periodic]


def power(x):
    return np.abs(np.fft.rfft(x, axis=0)) ** 2


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("shape", [(500,), (501,), (500, 1), (501, 3)])
def test_shape_seed_and_input_are_respected(kind, shape):
    x = np.random.default_rng(0).standard_normal(shape)
    before = x.copy()
    made = kind(x, 1)
    assert made.shape == x.shape and made.dtype == np.float64
    np.testing.assert_array_equal(made, kind(x, np.random.default_rng(1)))
    assert not np.array_equal(made, kind(x, 2)) and not np.array_equal(made, x)
    np.testing.assert_array_equal(x, before)


@settings(max_examples=30, deadline=None)
@given(st.integers(10, 300), st.integers(0, 100))
def test_distribution_is_kept_exactly_by_shuffle_and_iaaft(n, seed):
    x = np.random.default_rng(seed).exponential(size=n)
    for kind in (surrogates.shuffle, surrogates.iaaft):
        np.testing.assert_array_equal(np.sort(kind(x, seed)), np.sort(x))


@settings(max_examples=30, deadline=None)
@given(st.integers(10, 300), st.integers(0, 100))
def test_spectrum_and_mean_are_kept_exactly_by_phase(n, seed):
    x = np.random.default_rng(seed).exponential(size=n).cumsum()
    made = surrogates.phase(x, seed)
    np.testing.assert_allclose(power(made), power(x), rtol=1e-9, atol=1e-9 * power(x).max())
    assert made.mean() == pytest.approx(x.mean())


def test_phase_keeps_the_linear_relations_between_observables():
    x = Lorenz().sample(2000, 1)
    made = surrogates.phase(x, 1)
    cross = [np.fft.rfft(v[:, 0]) * np.conj(np.fft.rfft(v[:, 1])) for v in (x, made)]
    np.testing.assert_allclose(cross[1], cross[0], rtol=1e-8, atol=1e-8 * np.abs(cross[0]).max())


def test_shuffle_keeps_samples_together():
    x = np.arange(200.0).reshape(100, 2)
    made = surrogates.shuffle(x, 1)
    np.testing.assert_array_equal(made[:, 1] - made[:, 0], 1.0)


def test_iaaft_keeps_the_spectrum_nearly():
    # A skewed series with memory: the exponential of an AR(1) process.
    x = np.exp(AutoRegressive((0.9,)).sample(10_000, 1) / 4)

    def error(made):
        return np.sum((np.sqrt(power(made)) - np.sqrt(power(x))) ** 2) / np.sum(power(x - x.mean()))

    # One round leaves .06 of the power wrong; measured after convergence: 1.3e-6.
    assert error(surrogates.iaaft(x, 1, iterations=1)) > 1e-2
    made = surrogates.iaaft(x, 1)
    assert error(made) < 1e-4
    # An error of 1e-4 of the power moves no autocorrelation by more than 2 sqrt(1e-4).
    np.testing.assert_allclose(autocorrelation(made, 20), autocorrelation(x, 20), atol=0.02)


def test_shuffle_destroys_the_memory():
    x = AutoRegressive((0.9,)).sample(10_000, 1)
    # An independent series of 10,000 has autocorrelations of sd .01; 20 of them stay below 4 sd.
    assert np.abs(autocorrelation(surrogates.shuffle(x, 1), 20)[1:]).max() < 0.04


@pytest.mark.parametrize("kind", KINDS)
def test_the_determinism_of_henon_is_destroyed(kind):
    def surprise(x):
        """What is left of x_{n+1} when 1 - 1.4 x_n² + .3 x_{n-1} is taken away."""
        return (x[2:] - 1 + 1.4 * x[1:-1] ** 2 - 0.3 * x[:-2]).std()

    x = Henon().sample(2000, 1)[:, 0]
    assert surprise(x) < 1e-12
    assert surprise(kind(x, 1)) > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_refused(kind):
    with pytest.raises(QuantifyError, match="sample 4"):
        kind(np.where(np.arange(50) == 4, np.nan, np.arange(50.0)), 0)
    with pytest.raises(QuantifyError, match="different value"):
        kind(np.zeros(50), 0)


def test_iterations_must_be_positive():
    with pytest.raises(QuantifyError, match="iterations = 0"):
        surrogates.iaaft(np.arange(50.0), 0, iterations=0)


# ---- pseudo-periodic, twin and cycle surrogates


def noisy_cycle(n=1000, seed=1):
    return np.sin(0.3 * np.arange(n)) + 0.05 * np.random.default_rng(seed).standard_normal(n)


@pytest.mark.parametrize("rho", [0.05, 0.5])
def test_pseudo_periodic_steps_have_the_probabilities_of_the_definition(rho):
    rng = np.random.default_rng(1)
    z = rng.standard_normal((2, 100))  # several leaves of the tree
    tree = neighbours.build(z[:, :-1])
    at, draws = 7, 20_000
    seen = np.array([pseudo_periodic_walk(z, tree, at, 2, rho, 0, rng)[1] for _ in range(draws)])
    expected = draws * naive.successor_probabilities(z, at, rho)
    counts = np.bincount(seen, minlength=100)
    often = expected > 5
    chi2 = np.sum((counts[often] - expected[often]) ** 2 / expected[often])
    # Chi-square with as many degrees of freedom as cells: 4 standard deviations above its mean.
    assert chi2 < often.sum() + 4 * np.sqrt(2 * often.sum())
    assert counts[~often].sum() < expected[~often].sum() + 4 * np.sqrt(expected[~often].sum()) + 1
    assert counts[expected == 0].sum() == 0


def test_staying_on_the_trajectory_has_the_probability_of_the_definition():
    z = np.random.default_rng(2).standard_normal((3, 80))
    rhos = np.array([2.0, 0.5, 0.1, 0.01])
    watched = np.array([0, 5, 78])
    expected = [[naive.successor_probabilities(z, i, rho)[i + 1] for rho in rhos] for i in watched]
    np.testing.assert_allclose(_staying(z, watched, rhos), expected, rtol=1e-12)


def test_the_noise_radius_makes_most_pieces_of_two():
    x = noisy_cycle()

    def pieces_of_two(rho):
        """Stretches of exactly two samples that follow one another in the series, too."""
        place = {value: i for i, value in enumerate(x)}
        found = 0
        for seed in range(4):
            at = np.array([place[v] for v in surrogates.pseudo_periodic(x, seed, tau=5, rho=rho)])
            follows = np.concatenate([[False], np.diff(at) == 1, [False]])
            found += np.sum(~follows[:-2] & follows[1:-1] & ~follows[2:])
        return found

    rho = surrogates.noise_radius(x, tau=5)
    # The maximum is flat: a factor of 4 off costs a third or more.
    assert pieces_of_two(rho) > 1.3 * max(pieces_of_two(rho / 4), pieces_of_two(4 * rho))


@pytest.mark.parametrize("kind", ["cloud", "lattice"])
def test_twins_are_those_of_the_recurrence_matrix(kind):
    z = np.random.default_rng(3).standard_normal((2, 60))
    z = np.round(z) if kind == "lattice" else z
    keys = np.random.default_rng(0).integers(0, 2**64, 60, dtype=np.uint64)
    for threshold in (0.0, 0.5, 1.0, 10.0):
        _, found = np.unique(_recurrences(z, threshold, keys), return_inverse=True)
        expected = np.array(naive.twin_groups(z, threshold))
        np.testing.assert_array_equal(np.equal.outer(found, found), np.equal.outer(expected, expected))


def test_a_twin_surrogate_goes_on_behind_itself_or_a_twin():
    x = np.round(noisy_cycle(400), 1)
    group = surrogates.find_twins(x, tau=5)
    assert len(np.unique(group)) < len(group)
    y = surrogates.twin(x, 1, tau=5, twins=group)
    np.testing.assert_array_equal(y, surrogates.twin(x, 1, tau=5))
    allowed = {
        (x[i + 10], x[j + 11])
        for g in np.unique(group)
        for i in np.flatnonzero(group == g)
        for j in np.flatnonzero(group[:-1] == g)
    }
    last = len(group) - 1
    unusual = sum((a, b) not in allowed for a, b in pairwise(y))
    # Only behind the last state, which has no successor, it goes on elsewhere.
    assert unusual <= np.sum(y == x[last + 10])


def test_series_without_twins_are_refused():
    with pytest.raises(QuantifyError, match="has a twin"):
        surrogates.twin(np.random.default_rng(1).standard_normal(200), 0, tau=1, rate=0.5)


@pytest.mark.parametrize("shape", [(500,), (400, 3)])
def test_ends_match_as_well_as_in_any_stretch(shape):
    x = np.random.default_rng(4).standard_normal(shape).cumsum(axis=0)
    found = surrogates.match_ends(x)
    rows = np.atleast_2d(x.T)
    scaled = rows / rows.std(axis=1, keepdims=True)
    mismatch, length, start = naive.match_ends(scaled, shape[0] // 10)
    assert (found.start, found.stop) == (start, start - length)
    assert found.after == pytest.approx(np.sqrt(mismatch / len(rows))) and found.after < found.before
    assert found.cut == pytest.approx(1 - (found.stop - found.start) / shape[0]) and found.cut <= 0.1


def test_cycles_keep_every_round_and_change_their_order():
    x = noisy_cycle()
    rounds = surrogates.find_rounds(x)
    y = surrogates.cycle_shuffle(x, 1)
    np.testing.assert_array_equal(y, surrogates.cycle_shuffle(x, np.random.default_rng(1), rounds=rounds))
    np.testing.assert_array_equal(np.sort(y), np.sort(x))
    before, after = slice(None, rounds.start[0]), slice(rounds.start[-1], None)
    np.testing.assert_array_equal(y[before], x[before])
    np.testing.assert_array_equal(y[after], x[after])
    place = {value: i for i, value in enumerate(x)}
    at = np.array([place[v] for v in y])
    joints = at[1:][np.diff(at) != 1]
    assert set(joints) <= set(rounds.start.tolist()) and len(joints) > 0.7 * len(rounds.start)
    # The phase stays: 21 samples a round, and no joint is off by more than part of one.
    assert np.corrcoef(x, y)[0, 1] > 0.97
    two = surrogates.cycle_shuffle(np.stack([x, 2 * x + 1], axis=1), 1)
    np.testing.assert_array_equal(two[:, 1], 2 * two[:, 0] + 1)


def test_series_without_rounds_are_refused():
    alternating = (-1.0) ** np.arange(300) + 0.1 * np.random.default_rng(1).standard_normal(300)
    for x in (np.arange(300.0) ** 2, alternating):
        with pytest.raises(QuantifyError, match="another null"):
            surrogates.cycle_shuffle(x, 0)


@pytest.mark.parametrize("kind", [surrogates.pseudo_periodic, surrogates.twin])
def test_states_need_samples_and_whole_numbers(kind):
    x = noisy_cycle(60)
    for settings_, message in (({"m": 9}, "60 samples"), ({"m": 0}, "m = 0"), ({"tau": 0}, "tau = 0")):
        with pytest.raises(QuantifyError, match=message):
            kind(x, 0, **{"tau": 6} | settings_)
    with pytest.raises(QuantifyError, match=r"rho|rate"):
        kind(x, 0, tau=2, **({"rho": -1.0} if kind is surrogates.pseudo_periodic else {"rate": 2.0}))
