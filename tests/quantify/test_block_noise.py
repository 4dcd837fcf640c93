"""What the blocks of a series tell of the error of its correlation sums."""

import numpy as np
import pytest

from quantify.correlation import correlation_sums
from quantify.correlation.noise import covariance, variances
from quantify.systems import Henon
from tests import naive


def test_blocks_add_up() -> None:
    x = Henon().sample(1500, 2)[:, 0]
    sums = correlation_sums(x, tau=2, m_max=3, theiler=9, exact=True, blocks=7)
    n = 1500 - 4
    assert sums.blocks.total.sum() == (n - 9) * (n - 10) / 2
    total = sums.blocks.total.sum()
    np.testing.assert_allclose(sums.blocks.close.sum(axis=(0, 1)) / total, sums.C, rtol=1e-12)
    length = -(-n // 7)
    block = np.arange(n) // length
    i, j = np.triu_indices(n, 10)
    expected = np.zeros((7, 7))
    np.add.at(expected, (block[i], block[j]), 1)
    np.testing.assert_array_equal(sums.blocks.total, expected)


def test_noise_equals_the_analysis_of_variance() -> None:
    sums = correlation_sums(Henon().sample(600, 3)[:, 0], tau=1, m_max=2, eps=[0.5, 0.2], theiler=5, blocks=8)
    noise = sums.blocks.noise
    for m, k in ((0, 0), (0, 1), (1, 0), (1, 1)):
        of_points, of_pairs = naive.noise_of_pairs(sums.blocks.close[:, :, m, k], sums.blocks.total)
        assert noise.variances.points[m, k] == pytest.approx(of_points, rel=1e-9)
        assert noise.variances.pairs[m, k] == pytest.approx(of_pairs, rel=1e-9)
    # Errors that are drawn: pairs of blocks count more or less, with a variance of 1.5 for each block of
    # theirs, in common, and of .5 alone. 4,000 draws: a standard deviation is known to 1.1 %.
    drawn = noise.errors(noise.draws(4000, np.random.default_rng(0)))
    a, b = np.triu_indices(8)
    chance = noise.chance.reshape(len(a), -1)
    expected = 0.5 * (chance**2).sum(axis=0)
    for block in range(8):
        expected += 1.5 * chance[(a == block) | (b == block)].sum(axis=0) ** 2
    np.testing.assert_allclose(drawn.reshape(4000, -1).std(axis=0), np.sqrt(expected), rtol=0.05)


def test_a_covariance_has_the_variances_on_its_diagonal() -> None:
    """Of numbers one by one; and of two that are the same, all entries are."""
    z = np.random.default_rng(0).standard_normal((36, 1)) + np.arange(36)[:, None] % 8
    one = covariance(z, 8)[0, 0]
    assert one == pytest.approx(variances(z, 8).total[0], rel=1e-6)
    np.testing.assert_allclose(covariance(np.hstack([z, z]), 8), np.full((2, 2), one), rtol=1e-6)


def test_what_repeats_itself_is_no_noise() -> None:
    """The blocks of a torus differ in their phases, by rule: its correlation sums are known far better."""
    t = np.arange(6000)
    x = np.sin(0.1 * t) + np.sin(0.1 * np.sqrt(3) * t)
    sums = correlation_sums(x, tau=8, m_max=4, eps=[0.5], theiler=50, blocks=16)
    close, total = sums.blocks.close, sums.blocks.total
    scatter = (close[0, 1:, 3, 0] / total[0, 1:]).std() / sums.C[3, 0]
    assert sums.blocks.noise.sd[3, 0] < scatter / 4


def test_replicates_have_the_right_size() -> None:
    """Its spread over replicates agrees with the spread over independent realisations."""
    eps = [0.5, 0.1]

    def realise(seed):
        return correlation_sums(Henon().sample(4000, seed)[:, 0], tau=1, m_max=2, eps=eps, theiler=5)

    realised = [np.log(realise(seed).C[1]) for seed in range(40)]
    one = realise(99)
    rng = np.random.default_rng(0)
    replicates = [np.log(one.resampled(rng).C[1]) for _ in range(200)]
    ratio = np.std(replicates, axis=0) / np.std(realised, axis=0)
    # 16 blocks and 40 realisations: each spread is known to about 20 %.
    assert ((ratio > 0.5) & (ratio < 1.8)).all(), ratio
