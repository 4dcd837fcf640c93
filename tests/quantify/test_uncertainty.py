"""Errors of numbers that rest on choices: means over draws, and steps of memory that are sure."""

from dataclasses import replace

import numpy as np
import pytest

from quantify import correlation_sums, decompose
from quantify.correlation.noise import SIZE, WIDER, Noise, design, noise_of, root, variances
from quantify.decomposition.result import resolved_arguments
from quantify.quantification.choices import _numbers, vary
from quantify.quantification.stochastic import soft_stop
from quantify.quantification.uncertainty import (
    Replicates,
    errors_down_and_up,
    estimates,
    quoted_numbers,
    quoted_range,
    read,
    read_many,
    replicated,
)
from quantify.systems import Henon, Roessler

B = 16
P = B * (B + 1) // 2
# What the pairs of blocks add to a number, which is nothing on the whole, as chance has it.
U = np.repeat([1.0, -1.0], B // 2)
Z = np.where(design(B).a == design(B).b, 0.0, U[design(B).a] + U[design(B).b])
NOISE = Noise(np.zeros((P, 2, 3)), B)
RANGE = decompose(correlation_sums(Henon().sample(3000, 1)[:, 0], tau=1, m_max=4, theiler=5)).plausible()
FAR = replace(RANGE, E_state=5.0, E_mem=5.0, E_core=10.0)  # from 0, where intervals end


def replicates(number, seed=0, pairs=100, sizes=(1.0, WIDER)):
    """Of a number that is a function of how much the pairs of blocks count more or less."""
    rng = np.random.default_rng(seed)

    def one(size):
        draws = NOISE.draws(pairs, rng)
        weights = np.sqrt(size) * draws @ root(B)
        up, down = (np.repeat([[number(w)] for w in sign * weights], 6, axis=1) for sign in (1, -1))
        return Replicates(NOISE, draws, up, down, size)

    return tuple(one(size) for size in sizes)


def error(drawn):
    return quoted_numbers(RANGE, drawn)[1]


@pytest.mark.guard
@pytest.mark.parametrize(("points", "pairs"), [(1.0, 0.0), (1.0, 3.0), (0.0, 1.0)])
def test_a_linear_number_has_the_variance_of_its_points_and_pairs(points, pairs):
    """The shares of close pairs are 1 + u_a + u_b + e_ab, and ln of their mean is the number."""
    rng = np.random.default_rng(1)
    total = np.triu(np.full((B, B), 2.0)) - np.eye(B)
    claimed, actual = [], []
    for _ in range(100):
        u, e = 1e-3 * points * rng.standard_normal(B), 1e-3 * pairs * rng.standard_normal((B, B))
        close = (1 + u + u[:, None] + e) * total
        actual.append(np.log(close.sum() / total.sum()))
        noise = noise_of(close[:, :, None, None], total)
        near, wide = noise.draws(100, rng), noise.draws(100, rng)
        z, again = (noise.added(d, noise.errors(d)[:, 0]) for d in (near, wide))
        claimed.append(variances(z, B, again).total[0])
    # Both variances are known to about a sixth with 100 series, the smaller one, of two noisy numbers, is a
    # little too large.
    assert 0.7 < np.sqrt(np.mean(claimed)) / np.std(actual) < 1.35


@pytest.mark.parametrize("pairs", [60, 300])
def test_the_slope_of_a_linear_number_is_found_whatever_the_number_of_draws(pairs):
    """The ridge takes away the same share in all directions, and it is given back: right on average."""
    z = np.linspace(-1, 2, P)
    noise = Noise(np.zeros((P, 1, 1)), B)
    draws = [noise.draws(pairs, np.random.default_rng(seed)) for seed in range(30)]
    found = np.mean([noise.added(d, (d @ root(B) @ z)[:, None])[:, 0] for d in draws], axis=0)
    # In the units of the draws, where all directions are alike.
    found, z = root(B) @ found, root(B) @ z
    # 60 draws of 136 values and 30 times: chance leaves 1 / sqrt(60 x 30) = 2 % along z.
    assert found @ z / (z @ z) == pytest.approx(1.0, abs=0.1)


@pytest.mark.guard
def test_the_error_is_that_of_the_mean_over_the_draws():
    """A number that jumps by 1 where the sum x of what the pairs of blocks add changes its sign.

    Over series x has the mean .5 and the standard deviation s of one block's influence, and errors of twice
    that variance are drawn. The mean over them is Phi(x / (sqrt(2) s)), far calmer than the jump.
    """
    s = np.sqrt(variances(Z, B).total)
    rng = np.random.default_rng(3)
    claimed, jumps, means = [], [], []
    for seed, x in enumerate(s * (0.5 + rng.standard_normal(150))):
        drawn = replicates(lambda w, x=x: float(x + Z @ w > 0), seed)
        claimed.append(error(drawn)[0])
        means.append(drawn[0].mean[0])
        jumps.append(float(x > 0))
    assert np.std(means) < 0.75 * np.std(jumps)
    # By quadrature the ratio is .97 for a jump; 150 series leave 6 % to the scatter and as much to the claim.
    assert np.sqrt(np.mean(np.square(claimed))) / np.std(means) == pytest.approx(1.0, abs=0.25)


def test_over_given_scales_a_jump_counts_as_high_as_it_is():
    """The number of the test above as it is, without a mean: its error is the scatter over real errors."""
    s = np.sqrt(variances(Z, B).total)
    rng = np.random.default_rng(3)
    given, claimed, jumps = replace(RANGE, default=False), [], []
    for seed, x in enumerate(s * (0.5 + rng.standard_normal(150))):
        drawn = replicates(lambda w, x=x: float(x + Z @ w > 0), seed, sizes=(1 / SIZE,))
        claimed.append(quoted_numbers(given, drawn)[1][0])
        jumps.append(float(x > 0))
    # By quadrature .82, since errors of blocks alone are drawn with 3/4 of their variance; larger ones,
    # scaled down, would give .64. 150 series leave 6 % to the scatter and as much to the claim.
    assert np.sqrt(np.mean(np.square(claimed))) / np.std(jumps) == pytest.approx(0.82, abs=0.12)


def test_what_errors_do_whichever_way_they_go_is_no_scatter():
    drawn = replicates(lambda w: w @ w)
    assert drawn[0].scatter == pytest.approx([0.0] * 6) and error(drawn) == pytest.approx([0.0] * 4)


def test_draws_without_numbers_are_left_out():
    drawn = replicates(lambda w: np.nan if w[0] > 2 else w[0])
    assert 50 <= drawn[0].usable.sum() < 100
    assert np.isfinite(drawn[0].mean).all() and np.isfinite(error(drawn)).all()
    nothing = replicates(lambda w: np.nan)
    assert np.isnan(nothing[0].mean).all() and np.isnan(error(nothing)).all()


def test_few_draws_give_the_whole_scatter():
    drawn = replicates(lambda w: w[0] ** 3, pairs=20)
    assert np.array_equal(error(drawn), drawn[0].scatter[:4])
    assert drawn[0].scatter[0] == pytest.approx(np.sqrt(np.mean(drawn[0].half[:, 0] ** 2) / SIZE))


def test_the_draws_of_a_linear_number_lie_around_it_by_its_error():
    s = np.sqrt(Z @ root(B) @ root(B) @ Z / SIZE)
    # 3,200 values, opposite ones alike: a quantile of 2.5 % is known to .03 of a standard deviation or so.
    sides = errors_down_and_up(replicates(lambda w: 3 + Z @ w, pairs=800))
    assert sides == pytest.approx(np.full((2, 4), s), rel=0.06)


def test_the_draws_of_a_number_beside_a_jump_reach_over_it():
    """It jumps by 1 where .08 of the draws are beyond, so that its mean is .08 and the middle 95 % reach from
    0 to 1, brought to the real size of errors.
    """
    s = np.sqrt(variances(Z, B).total)
    drawn = replicates(lambda w: float(Z @ w > 2 * s), pairs=400)
    down, up = errors_down_and_up(drawn)[:, 0] * 1.96 * np.sqrt(SIZE)
    assert down == pytest.approx(0.08, abs=0.04) and up == pytest.approx(0.92, abs=0.04)


def test_what_the_smallest_scale_does_is_no_chance():
    """The number follows the pairs that are needed, and chance by a tenth as much."""
    pairs, times = 400, np.geomspace(0.5, 2, 400)
    rng, found = np.random.default_rng(0), []
    for size in (1.0, WIDER):
        draws = NOISE.draws(pairs, rng)
        up, down = (
            np.repeat(np.log(times)[:, None], 6, axis=1) + sign * 0.1 * draws[:, :1] for sign in (1, -1)
        )
        found.append(Replicates(NOISE, draws, up, down, size, times))
    # Errors are drawn with twice their variance, the second ones with 8/3 of it.
    s = 0.1 * np.sqrt((1 / SIZE + 1 / SIZE / WIDER) / 2)
    assert errors_down_and_up(tuple(found)) == pytest.approx(np.full((2, 4), s), rel=0.1)


def test_few_draws_have_no_sides():
    assert errors_down_and_up(replicates(lambda w: Z @ w, pairs=20)) is None


def test_an_interval_has_a_quarter_of_its_variance_by_the_draws_and_half_of_that_of_the_delay():
    sampling, by_tau = np.full(4, 0.1), np.repeat([[-0.1], [0.1]], 25, axis=0) * np.ones(4)
    parts = decompose(correlation_sums(Henon().sample(3000, 1)[:, 0], tau=1, m_max=4, theiler=5))
    factor = 2.131  # Student's for 15 degrees of freedom
    sides = np.array([[0.1] * 4, [1.0] * 4])
    core = estimates(parts, FAR, sampling, 15, {}, by_tau, sides)["E_core"]
    assert core.sampling == pytest.approx(0.1 * np.sqrt(2))
    for side, reach in zip((0.1, 1.0), np.abs(np.array(core.interval) - core.value), strict=True):
        # 95 of 100 delays give at most .1 more or less: 1.96 standard errors.
        delays = (0.1**2 + (0.1 / 1.96) ** 2) / 2
        assert reach == pytest.approx(factor * np.sqrt((3 * 0.1**2 + side**2) / 4 + delays), rel=1e-3)
    without = estimates(parts, FAR, sampling, 15, {})["E_core"]
    assert without.interval[1] - without.value == pytest.approx(factor * 0.1, rel=1e-3)
    least = estimates(parts, FAR, np.zeros(4), 15, {}, None, np.zeros((2, 4)))["E_core"]
    assert least.interval[1] - least.value == pytest.approx(factor * 0.001, rel=1e-3)


def test_no_complexity_is_below_0():
    """They are sums of terms that are none below 0, unless these are kept as they are; a slope may be."""
    sums = correlation_sums(Henon().sample(3000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    for remove_negative in (True, False):
        parts = decompose(sums, remove_negative=remove_negative)
        found = estimates(parts, RANGE, np.full(4, 3.0), 15, {"tau": np.full((1, 4), -9.0)})
        for name, e in found.items():
            low = e.interval[0], e.choices["tau"][0]
            assert low == (0.0, 0.0) if remove_negative and name != "D" else max(low) < -1.0


@pytest.mark.parametrize(("given", "region"), [(None, True), (None, False), ((0.05, 0.3), True)])
@pytest.mark.parametrize("d", [1, 2])
def test_many_at_once_equal_one_by_one(given, region, d):
    sums = correlation_sums(Henon().sample(1500, 2)[:, :d], tau=1, m_max=4, theiler=5, blocks=8)
    parts = decompose(sums, s_min=(0.05, 0.1))
    errors = sums.blocks.noise.errors(sums.blocks.noise.draws(5, np.random.default_rng(0)))
    found = read_many(sums, parts, errors, given, region)
    options = resolved_arguments(parts.settings)
    again = [decompose(sums.off_by(error), **options) for error in errors]
    expected = [read(one, given, region) for one in again]
    assert np.isfinite(expected).all()
    # Sums in another order.
    np.testing.assert_allclose(found[:, :4], expected, rtol=1e-9, atol=1e-12)
    if given is None and region:
        ends = [(one.plausible().lo, one.plausible().hi) for one in again]
        np.testing.assert_allclose(np.exp(found[:, 4:]), ends, rtol=1e-9)


def test_every_draw_has_a_smallest_scale_of_its_own():
    """That with so many times the pairs that are needed, by its own count of them."""
    sums = correlation_sums(Henon().sample(3000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    parts, times = decompose(sums, s_min=(0.05, 0.1)), np.geomspace(0.5, 2, 9)
    errors = 3 * sums.blocks.noise.errors(sums.blocks.noise.draws(9, np.random.default_rng(0)))
    assert parts.settings["eps_min_from"] == "pairs"
    expected, lengths = [], set()
    for error, more in zip(errors, times, strict=True):
        off = sums.off_by(error)
        enough = off.C[-1] * sums.all_pairs >= more * 10_000
        least = sums.eps[np.argmin(enough) - 1]
        lengths.add(float(least))
        expected.append(read(decompose(off, s_min=(0.05, 0.1), eps_min=least), None))
    assert len(lengths) > 5
    found = read_many(sums, parts, errors, None, times=times)
    np.testing.assert_allclose(found[:, :4], expected, rtol=1e-9, atol=1e-12)


def test_a_smallest_scale_that_is_given_is_that_of_all_draws():
    sums = correlation_sums(Henon().sample(3000, 1)[:, 0], tau=1, m_max=4, theiler=5)
    errors = sums.blocks.noise.errors(sums.blocks.noise.draws(5, np.random.default_rng(0)))
    parts = decompose(sums, eps_min=0.05)
    few, many = (read_many(sums, parts, errors, None, times=np.full(5, t)) for t in (0.5, 2.0))
    np.testing.assert_array_equal(few, many)


def test_a_scale_more_or_less_hardly_moves_the_number(monkeypatch):
    """The smallest scale of a three-dimensional Hénon map has just enough pairs, or just too few.

    Its decomposition jumps, by .031 nats; of the draws, which need half to twice as many pairs, one in a
    hundred at most loses a scale.
    """
    y = [0.1, 0.1, 0.1]
    while len(y) < 6000:
        y.append(1.76 - y[-2] ** 2 - 0.1 * y[-3])
    sums = correlation_sums(np.array(y[1000:]), tau=1, m_max=8, theiler=5)
    plain, quoted = [], []
    for wanted in (1 - 1e-9, 1 + 1e-9):
        limit = decompose(sums).settings["eps_min"]
        pairs = sums.C[-1, np.argmin(np.abs(sums.eps - limit))] * sums.all_pairs
        monkeypatch.setattr("quantify.scales.MIN_PAIRS", pairs * wanted)
        parts = decompose(sums, s_min=(0.05, 0.1))
        drawn = replicated(sums, parts, None, True, 100, np.random.default_rng(0))
        plain.append(read(parts, None)[2])
        quoted.append(quoted_numbers(quoted_range(parts, None), drawn)[0].E_core)
        monkeypatch.undo()
    assert abs(np.diff(plain)[0]) > 0.02
    assert abs(np.diff(quoted)[0]) < 0.002


def test_steps_of_memory_come_in_bit_by_bit():
    """As a larger m grows from surely nothing to surely something, its share grows from about 0 to 1."""
    errors = np.random.default_rng(1).standard_normal((400, 2)) * [0.01, 0.03]
    shares = [soft_stop(np.array([0.5, 0.5 + gain]), errors)[1] for gain in np.linspace(0, 0.2, 9)]
    assert shares[0] < 0.05 and shares[-1] > 0.99 and np.all(np.diff(shares) >= 0)
    assert max(np.diff(shares)) < 0.4


def test_chance_in_the_delay_counts_by_what_the_delays_give_that_it_would_have_chosen():
    """Half of the draws chose 13, half 14: the numbers scatter by half their difference."""
    x = Roessler().sample(4000, 1)[:, 0]
    eps = np.geomspace(20, 0.1, 40)
    by_tau = [correlation_sums(x, tau=t, m_max=5, eps=eps, theiler=40, blocks=8) for t in (13, 14)]
    drawn = np.repeat([13, 14], 25)
    choices, of_tau = vary(x, by_tau[0], None, choices=False, delays=drawn)
    assert choices == {}
    one, two = (_numbers(sums.every(2), None, {}) for sums in by_tau)
    assert of_tau[:25] == pytest.approx(0, abs=1e-12)
    assert of_tau[25:] == pytest.approx(np.broadcast_to(two - one, (25, 4)))
    assert abs(of_tau[-1, 2]) > 0.002
    for sure in (None, drawn[:25]):
        assert not vary(x, by_tau[0], None, choices=False, delays=sure)[1].any()


def test_a_delay_that_chance_might_have_chosen_is_inside_the_interval():
    """One in ten draws chose another delay, with which all numbers are 1 larger. The standard error knows
    little of that, .3; the interval reaches there, on that side more than on the other.
    """
    parts = decompose(correlation_sums(Henon().sample(3000, 1)[:, 0], tau=1, m_max=4, theiler=5))
    quoted = quoted_range(parts, None)
    other = np.repeat([[0.0], [1.0]], (45, 5), axis=0) * np.ones(4)
    known, unsure = (estimates(parts, quoted, np.full(4, 0.01), 15, {}, of)["E_core"] for of in (None, other))
    assert known.sampling == pytest.approx(0.01)
    assert unsure.sampling == pytest.approx(np.hypot(0.01, 0.3))
    low, high = np.array(unsure.interval) - unsure.value
    assert high > 0.87 and -low < high - 0.4
