"""Correlation sums of a share of the pairs: equal to all of them where it can be, unbiased elsewhere."""

import itertools

import numpy as np
import pytest

from quantify.correlation import correlation_sums, random_pairs
from quantify.correlation.choose_shares import SamplingTarget, groups
from quantify.correlation.combine_shares import Share
from quantify.correlation.estimate import share_accuracy, share_effort
from quantify.correlation.pairs import PairProblem, Threads
from quantify.correlation.random_pairs import draw_pairs
from quantify.correlation.strips import count_in_classes
from quantify.systems import Henon, Lorenz
from tests.known_sums import geometric, random_shares


@pytest.mark.parametrize("exact", [True, False])
def test_any_number_of_threads_gives_the_same(exact) -> None:
    x = Lorenz().sample(20_000 if not exact else 3000, 2)[:, 0]
    runs = [random_shares(x, tau=10, m_max=9, theiler=5, exact=exact, workers=w) for w in (1, 2, 3)]
    assert runs[0].settings["mode"] == ("all pairs" if exact else "random shares")
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].pairs, other.pairs)
        np.testing.assert_array_equal(runs[0].C, other.C)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("group", [(1, 1), (2, 2), (2, 4), (4, 9), (8, 12)])
def test_one_class_counts_all_pairs(d, group) -> None:
    """The neighbour search with a single class is an exact count, for every group of dimensions."""
    x = Lorenz().sample(1500, 4)[:, :d] + 0.0
    eps = geometric(40, 8, 40)
    tau, m_max, theiler = 3, 12, 7
    sums = correlation_sums(x, tau=tau, m_max=m_max, eps=eps, theiler=theiler, exact=True, blocks=4)
    n = len(x) - (m_max - 1) * tau
    problem = PairProblem(np.ascontiguousarray(x.T), tau, m_max, theiler, eps, -(-n // 4))
    with Threads(2) as threads:
        found, share = count_in_classes(problem, group, eps, 1, np.random.default_rng(0), threads)
    assert share == 1
    rows = slice(group[0] - 1, group[1])
    np.testing.assert_array_equal(found, sums.blocks.close[:, :, rows])


def test_random_pairs_are_all_the_admissible_ones_equally_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """All distances differ, and so tell which pair was drawn."""
    x = 2.0 ** np.arange(12)
    theiler, n = 3, 12
    i, j = np.triu_indices(n, theiler + 1)
    gaps = np.sort(x[j] - x[i])[::-1]
    assert len(np.unique(gaps)) == len(gaps) == 36
    problem = PairProblem(x[None], 2, 1, theiler, gaps, n)
    monkeypatch.setattr(random_pairs, "RANDOM_PAIRS", 3000)
    with Threads(2) as threads:
        drawn = draw_pairs(problem, np.random.default_rng(0), threads)
    often = -np.diff(drawn.total[0], append=0)
    assert often.sum() == drawn.examined  # no other pair
    # A thousand each, which scatter by 3 %.
    np.testing.assert_allclose(often, 3000 * n / 36, rtol=0.13)


def test_random_pairs_are_unbiased() -> None:
    x = Henon().sample(8000, 1)[:, 0]
    n = len(x) - 6
    eps = geometric(1.0, 3, 8)
    problem = PairProblem(x[None], 2, 4, 10, eps, -(-n // 5))
    exact = correlation_sums(x, tau=2, m_max=4, eps=eps, theiler=10, exact=True, blocks=5)
    with Threads(2) as threads:
        drawn = [draw_pairs(problem, np.random.default_rng(seed), threads) for seed in range(50)]
    draws = [share.C / exact.C - 1 for share in drawn]
    mean, se = np.mean(draws, axis=0), np.std(draws, axis=0) / np.sqrt(50)
    assert (np.abs(mean) < 4 * se).all()  # 32 cells
    # The standard deviation of 50 draws scatters by 10 %; drawing tile by tile makes it a little smaller.
    np.testing.assert_allclose(np.std(draws, axis=0), np.sqrt(drawn[0].variance), rtol=0.45)
    # By blocks of time as well: 50 x 32,000 draws leave Poisson errors of 1.5 % in the rarest cells compared.
    found = np.mean([share.counts for share in drawn], axis=0) / drawn[0].examined * problem.all_pairs
    many = exact.blocks.close > 1e5
    np.testing.assert_allclose(found[many], exact.blocks.close[many], rtol=0.06)


def test_groups_cover_all_dimensions_and_overlap() -> None:
    flow = np.full((25, 5), 10_000)
    noise = np.maximum(10.0 ** (8 - np.arange(25))[:, None] * np.ones(5), 0).astype(np.int64)
    for n in (1000, 10**6):
        for rough in (flow, noise, noise[:7], 0 * flow):
            found = groups(n, rough)
            assert found[:2] == [(1, 1), (2, found[1][1])] and found[-1][1] == len(rough)
            assert all(a[1] == b[0] for a, b in itertools.pairwise(found[1:]))
    assert groups(10**6, flow) == [(1, 1), (2, 25)]  # equally many pairs in all dimensions: one search
    assert len(groups(1000, noise)) > 5
    assert [groups(1000, flow[:m]) for m in (1, 2)] == [[(1, 1)], [(1, 1), (2, 2)]]


@pytest.fixture(scope="module")
def shared_and_exact():
    x = Lorenz().sample(30_000, 1)[:, 0]
    eps = geometric(np.ptp(x), 13, 80)
    arguments = dict(tau=10, m_max=10, eps=eps, theiler=50)
    return random_shares(x, **arguments), correlation_sums(x, exact=True, **arguments)


def test_shares_keep_their_promise(shared_and_exact) -> None:
    shares, exact = shared_and_exact
    many = exact.pairs >= 1e4
    deviation = np.abs(shares.C[many] / exact.C[many] - 1)
    assert shares.settings["mode"] == "random shares"
    # Half of the pairs on diagonals, and all where they are few: the largest deviation was .0008 to .0014 in
    # four draws. It was ten times as large with random classes alone.
    assert deviation.max() < 0.004
    uncertain = many & (shares.error > 0)
    z = (shares.C[uncertain] / exact.C[uncertain] - 1) / shares.error[uncertain]
    # Bundles that are evenly spaced scatter less than their parts say: .35 to .67 in four draws.
    assert 0.2 < np.sqrt(np.mean(z**2)) < 1.2
    np.testing.assert_array_equal(shares.C[shares.error == 0], exact.C[shares.error == 0])


def test_blocks_follow_where_shares_meet(shared_and_exact) -> None:
    """What pairs of blocks say is as sure as C: it must not keep the noise of each range of scales alone."""
    shares, exact = shared_and_exact
    exact = correlation_sums(
        Lorenz().sample(30_000, 1)[:, 0], exact=True, blocks=16, tau=10, m_max=10, eps=exact.eps, theiler=50
    )
    total = exact.blocks.total
    with np.errstate(divide="ignore", invalid="ignore"):
        part = shares.blocks.close / shares.blocks.close.sum(axis=(0, 1)), exact.blocks.close / exact.pairs
    many = (exact.pairs >= 1e5) & (shares.error > 0)
    expected = (total / total.sum())[:, :, None, None]
    noise = np.divide((part[0] - part[1]) ** 2, expected, out=np.zeros_like(part[0]), where=expected > 0)
    # In units of the noise of counting so many of all pairs, with 136 pairs of blocks in many cells: a fifth
    # to a quarter in four draws, since neighbouring diagonals of a flow are alike.
    counting = 1 / shares.pairs[many] - 1 / exact.pairs[many]
    size = noise.sum(axis=(0, 1))[many] / counting / (total > 0).sum()
    assert 0.05 < np.median(size) < 0.6


def test_a_share_without_pairs_has_none_at_smaller_scales() -> None:
    share = Share(np.zeros((2, 2, 3, 4), np.int64), 1e5, 1e9)
    rest = share.nothing(6)
    assert rest.total.shape == (3, 6) and not rest.total.any() and np.isinf(rest.variance).all()


def test_shares_are_surer_where_entropies_are_small() -> None:
    target = SamplingTarget(0.002, 1e4, 30.0)
    C = np.exp([-0.1, -4.0, -6.0, -8.0, -12.0])
    for m_lo, expected in ((1, [0.25, 0.5, 0.75, 1, 1]), (3, [0.4, 2 / 3, 1, 1, 1])):
        np.testing.assert_allclose(np.sqrt(target.variance(C, m_lo)) / 0.002, expected)


def test_shares_of_a_shorter_series_are_surer() -> None:
    """For they take no longer: fewer points are to be sorted, and more often all pairs are counted."""
    assert share_accuracy(10**7) == share_accuracy(10**6) == 0.001
    assert share_accuracy(10**6 // 16) == 0.0005 and share_effort(10**6 // 16) == 16 * share_effort(10**7)
    x = Henon().sample(12_000, 2)[:, 0]
    eps = geometric(1.0, 3, 8)
    usual, rough = (random_shares(x, tau=1, m_max=2, eps=eps, theiler=5, accuracy=a) for a in (None, 0.01))
    assert usual.settings["accuracy"] == share_accuracy(12_000) == 0.0005
    assert (usual.error <= rough.error).all() and (usual.error < rough.error).any()


def test_all_pairs_leave_no_doubt_even_if_none_is_close(shared_and_exact) -> None:
    shares, exact = shared_and_exact
    all_counted = shares.examined == exact.examined
    assert (exact.pairs[all_counted] == 0).any()
    assert (shares.error[all_counted] == 0).all()


def test_shares_are_unbiased() -> None:
    x = Henon().sample(8000, 1)[:, 0]
    eps = geometric(0.5, 3, 10)
    problem = PairProblem(x[None], 1, 4, 10, eps, len(x) - 3)
    exact = correlation_sums(x, tau=1, m_max=4, eps=eps, theiler=10, exact=True)
    with Threads(2) as threads:
        draws = []
        for seed in range(50):
            found, share = count_in_classes(problem, (2, 4), eps, 40, np.random.default_rng(seed), threads)
            draws.append(found.sum(axis=(0, 1)) / share / problem.all_pairs / exact.C[1:] - 1)
    mean, se = np.mean(draws, axis=0), np.std(draws, axis=0) / np.sqrt(50)
    assert (np.abs(mean) < 4 * se).all()  # 30 cells
    predicted = np.sqrt(39 / 40 / (exact.pairs[1:] / 40))
    # The standard deviation of 50 draws scatters by 10 %.
    np.testing.assert_allclose(np.std(draws, axis=0), predicted, rtol=0.4)


def test_the_seed_decides() -> None:
    x = Lorenz().sample(20_000, 2)[:, 0]
    one, same, other = (random_shares(x, tau=10, m_max=3, theiler=50, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.C, same.C)
    assert (one.C != other.C).any()
