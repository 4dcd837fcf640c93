"""Pairs on diagonals drawn at random: all if asked for, each once, with errors that are what they say."""

import numpy as np
import pytest

from quantify.correlation import correlation_sums, diagonals
from quantify.correlation.diagonals import count_diagonals, draw_bundles, draw_diagonals
from quantify.correlation.pairs import PairProblem, Threads
from quantify.systems import Henon, Lorenz
from tests import naive
from tests.known_sums import geometric


def problem_of(x, tau, m_max, theiler, eps, blocks):
    x = np.asarray(x).reshape(len(x), -1)
    n = len(x) - (m_max - 1) * tau
    return PairProblem(np.ascontiguousarray(x.T), tau, m_max, theiler, eps, -(-n // blocks))


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(("tau", "theiler"), [(1, 0), (1, 7), (3, 1), (3, 8), (7, 30)])
def test_all_bundles_hold_all_pairs(d, tau, theiler) -> None:
    x = Lorenz().sample(1501, 4)[:, :d]
    eps = geometric(40, 8, 30)
    problem = problem_of(x, tau, 6, theiler, eps, 4)
    exact = correlation_sums(x, tau=tau, m_max=6, eps=eps, theiler=theiler, exact=True, blocks=4)
    with Threads(2) as threads:
        rng = np.random.default_rng(0)
        counts, parts = count_diagonals(problem, draw_bundles(problem, np.inf, rng), rng, threads)
        share = draw_diagonals(problem, np.inf, rng, threads)
    assert (counts[..., 0].sum(axis=(0, 1)) == problem.all_pairs).all()
    np.testing.assert_array_equal(counts[..., 1:].sum(axis=(0, 1)), exact.pairs)
    if tau == 1:  # else blocks begin a few samples later
        np.testing.assert_array_equal(counts[..., 1:], exact.blocks.close)
    np.testing.assert_allclose(parts.sum(axis=0), 0, atol=1e-6 * problem.all_pairs)
    assert share.examined == problem.all_pairs and not share.variance.any()


@pytest.mark.parametrize("tau", [1, 4])
def test_some_bundles_equal_the_naive_twin(tau, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagonals, "FEWEST_BUNDLES", 5)
    x = Henon().sample(700, 3)[:, 0]
    eps = geometric(2.0, 5, 12)
    problem = problem_of(x, tau, 3, 9, eps, 4)
    rng = np.random.default_rng(1)
    bundles = draw_bundles(problem, problem.all_pairs / 8, rng)
    with Threads(2) as threads:
        counts, _ = count_diagonals(problem, bundles, rng, threads)
    found, total = naive.bundle_counts(x, tau, 3, eps, 9, bundles)
    assert 0 < total < problem.all_pairs / 2
    assert (counts[..., 0].sum(axis=(0, 1)) == total).all()
    np.testing.assert_array_equal(counts[..., 1:].sum(axis=(0, 1)), found)


def errors_of(x, tau, theiler, share, draws, monkeypatch):
    """Errors of ln C over draws, (draws, m, eps), and the shares."""
    monkeypatch.setattr(diagonals, "FEWEST_BUNDLES", 1000)
    eps = geometric(np.ptp(x), 6, 13)
    problem = problem_of(x, tau, 8, theiler, eps, 16)
    exact = correlation_sums(x, tau=tau, m_max=8, eps=eps, theiler=theiler, exact=True)
    with Threads(2) as threads:
        found = [
            draw_diagonals(problem, share * problem.all_pairs, np.random.default_rng(i), threads)
            for i in range(draws)
        ]
    assert all(0.9 < one.examined / problem.all_pairs / share < 1.1 for one in found)
    return np.log([one.C / exact.C for one in found]), found


def test_bundles_are_unbiased_and_their_errors_are_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    error, found = errors_of(Henon().sample(30_000, 1)[:, 0], 1, 5, 0.25, 20, monkeypatch)
    error = error[..., 1:]  # at the largest scale all pairs are close
    mean, se = error.mean(axis=0), error.std(axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(mean) < 5 * se).all()  # 96 cells, Student's t with 19 degrees of freedom
    claimed = np.sqrt(np.mean([one.variance for one in found], axis=0))[:, 1:]
    # A dozen independent cells of 20 draws each.
    assert 0.8 < np.sqrt(np.mean((error / claimed) ** 2)) < 1.4


def test_entropies_are_surer_than_their_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of neighbouring dimensions cancel, as far as their pairs are the same."""
    error, found = errors_of(Lorenz().sample(30_000, 1)[:, 0], 10, 50, 0.25, 6, monkeypatch)
    sums, steps = (np.sqrt(np.mean(some[:, 3:, 1:] ** 2)) for some in (error, np.diff(error, axis=1)))
    assert steps < sums / 3  # a quarter to a fifth
    # Few pairs of a bundle say the same about the step from one dimension to the next.
    assert all(1 <= one.clumping < 6 for one in found)
