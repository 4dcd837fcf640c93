"""Errors of numbers that rest on choices: means over draws, and steps of memory that are sure."""

import numpy as np
import pytest

from quantify.quantification.stochastic import soft_stop
from quantify.quantification.uncertainty import Replicates

B = 16


def replicates(number, seed=0, pairs=50):
    """Of a number that is a function of what the blocks contribute."""
    weights = np.random.default_rng(seed).standard_normal((pairs, B))
    weights -= weights.mean(axis=1, keepdims=True)
    up, down = (np.repeat([[number(w)] for w in sign * weights], 4, axis=1) for sign in (1, -1))
    return Replicates(up, down, weights)


def test_a_linear_number_has_the_error_of_its_influences():
    influence = np.linspace(-1, 2, B)
    influence -= influence.mean()  # all blocks more is nothing new
    found = replicates(lambda w: 3 + influence @ w)
    assert found.mean == pytest.approx([3.0] * 4)
    # Exact, whatever was drawn.
    assert found.mean_error == pytest.approx([np.linalg.norm(influence)] * 4)


def test_the_error_is_that_of_the_mean_over_the_draws():
    """A number that jumps by 1 where the sum x of the influences changes its sign; the true value is x = .5.

    Over series, x has the standard deviation 1. The mean over draws around x is Phi(x), far calmer than the
    jump, and the claimed error is its slope there, phi(x), times 1.
    """
    influence = np.ones(B) * np.repeat([1, -1], B // 2) / np.sqrt(B)
    rng = np.random.default_rng(3)
    claimed, jumps, means = [], [], []
    for seed, x in enumerate(0.5 + rng.standard_normal(300)):
        found = replicates(lambda w, x=x: float(x + influence @ w > 0), seed)
        claimed.append(found.mean_error[0])
        means.append(found.mean[0])
        jumps.append(float(x > 0))
    assert np.std(means) < 0.75 * np.std(jumps)
    # Phi(x) bends within an error of x. For x ~ N(.5, 1) its standard deviation is .274, and the root mean
    # square of phi(x) is .291 (by quadrature): ratio 1.06; 300 series leave 4 % to either.
    assert np.sqrt(np.mean(np.square(claimed))) / np.std(means) == pytest.approx(1.06, abs=0.15)


def test_what_errors_do_whichever_way_they_go_is_no_scatter():
    found = replicates(lambda w: w @ w)
    assert found.plain_error == pytest.approx([0.0] * 4) and found.mean_error == pytest.approx([0.0] * 4)


def test_draws_without_numbers_are_left_out():
    found = replicates(lambda w: np.nan if w[0] > 1 else w[0])
    assert (
        0 < found.usable.sum() < 50 and np.isfinite(found.mean).all() and np.isfinite(found.mean_error).all()
    )
    nothing = replicates(lambda w: np.nan)
    assert np.isnan(nothing.mean).all() and np.isnan(nothing.mean_error).all()


def test_few_draws_give_the_whole_scatter():
    found = replicates(lambda w: w[0] ** 3, pairs=10)
    assert np.array_equal(found.mean_error, found.plain_error)


def test_steps_of_memory_come_in_bit_by_bit():
    """As a larger m grows from surely nothing to surely something, its share grows from about 0 to 1."""
    errors = np.random.default_rng(1).standard_normal((400, 2)) * [0.01, 0.03]
    shares = [soft_stop(np.array([0.5, 0.5 + gain]), errors)[1] for gain in np.linspace(0, 0.2, 9)]
    assert shares[0] < 0.05 and shares[-1] > 0.99 and np.all(np.diff(shares) >= 0)
    assert max(np.diff(shares)) < 0.4
