"""The gate for data: every defect has a sentence, clean series have none, and no digit changes."""

import json
import re
import warnings

import numpy as np
import pytest

from quantify import QuantifyError, look_over
from quantify.gate.samples import wild_samples
from quantify.systems import AR2, Henon, Lorenz, QuasiPeriodic, UniformNoise
from tests import naive

N = 20_000
LORENZ = Lorenz().sample(N, 1)
X = LORENZ[:, 0]


def kinds(series, **options):
    return [finding.kind for finding in look_over(series, **options).findings]


def changed(place, values, of=X):
    x = of.copy()
    x[place] = values
    return x


@pytest.mark.parametrize(
    "series",
    [
        *(
            X,
            LORENZ,
            X.astype(np.float32),
            Henon().sample(N, 1),
            AR2.sample(N, 1),
            QuasiPeriodic().sample(N, 1),
        ),
        *(UniformNoise().sample(300, 1), X[:20], LORENZ[:5]),
        np.sin(np.arange(N) / 7) ** 9,
    ],
    ids=["lorenz", "states", "float32", "henon", "ar2", "torus", "short", "tiny", "few states", "spikes"],
)
def test_clean_series_have_no_finding(series):
    report = look_over(series)
    assert report.sentences == () and report.scale == 1
    assert report.series.shape == np.shape(series) and np.array_equal(report.series, series)
    assert report.tamed() is report.series


@pytest.mark.parametrize(
    ("series", "kind", "words", "facts"),
    [
        (
            changed(777, 20 * X.max()),
            "outliers",
            "362 at sample 777 is the worst",
            {"count": 1, "samples": [777]},
        ),
        (np.round(X, 1), "ties", "98 % .* in steps of 0.1", {"different": 360}),
        (np.repeat(X, 2), "held samples", "comes 2 times in a row.*keep one of every 2", {"times": 2}),
        (
            X[np.arange(N) * 5 // 6],
            "held samples",
            "17 % of the samples equal the one before",
            {"times": None},
        ),
        (
            np.r_[X, X],
            "repeated stretch",
            "20,000 to 39,999 are an exact copy of samples 0 to 19,999",
            {"lag": N},
        ),
        (
            changed(slice(12_000, 13_000), X[3000:4000]),
            *("repeated stretch", "12,000 to 12,999 are an exact copy of samples 3,000 to 3,999"),
            {"copy": [12_000, 13_000]},
        ),
        (
            np.tile(X[:100], 200),
            "period",
            "every 100 samples, 200 times: it is exactly periodic",
            {"lag": 100},
        ),
        (np.sin(np.arange(N) * np.pi / 50), "period", "every 100 samples.*exactly periodic", {"lag": 100}),
        (np.tile(X, 3), "period", "3 times: a record was pasted several times", {"lag": N}),
        (
            changed(slice(N // 2, N), X[N // 2]),
            *("constant stretches", "1 stretch is constant, 50 % of the samples.* 10,000 samples, begins at"),
            {"stretches": [[N // 2, N // 2]]},
        ),
        (np.clip(X, -10, 10), "saturation", "13 % of the samples are -10 and 14 % .* are 10", {}),
        (X * 1e-300, "magnitude", "divided by 2\\^-993", {}),
        (X * 1e300, "magnitude", "divided by 2\\^1000", {}),
    ],
    ids=[
        *("outlier", "rounded", "doubled", "upsampled", "twice", "copied", "tiled", "sine", "pasted"),
        *("half constant", "clipped", "small", "large"),
    ],
)
def test_each_defect_has_one_sentence(series, kind, words, facts):
    report = look_over(series)
    assert [finding.kind for finding in report.findings] == [kind]
    assert re.search(words, report.sentences[0]), report.sentences[0]
    assert facts.items() <= report.findings[0].facts.items()
    said = json.loads(json.dumps(report.facts))
    assert said["samples"] == len(series) and said[kind.replace(" ", "_")] == [report.findings[0].facts]


def bursts(rng):
    """Five bursts of 20 samples, 30 times as large as the rest."""
    x = rng.standard_normal(N)
    x[(rng.integers(0, N - 20, 5)[:, None] + np.arange(20)).ravel()] *= 30
    return x


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.standard_cauchy(N),
        lambda rng: np.exp(2 * rng.standard_normal(N)),
        lambda rng: rng.standard_t(2, N),
        lambda rng: rng.standard_normal(N) * np.where(rng.random(N) < 0.005, 30, 1),
        bursts,
    ],
    ids=["cauchy", "lognormal", "student", "mixture", "bursts"],
)
def test_heavy_tails_and_bursts_are_not_accused(draw):
    """The largest of a heavy-tailed sample may be far from the second; one in 100 may be accused."""
    assert sum(wild_samples(draw(np.random.default_rng(seed))).any() for seed in range(100)) <= 1


def test_an_excursion_of_the_whole_signal_is_no_outlier():
    x = X.copy()
    x[5000:5015] += 400 * np.hanning(15)
    assert "outliers" not in kinds(x)


@pytest.mark.parametrize("n", [300, 2000, N])
def test_one_wild_sample_changes_neither_the_largest_scale_nor_the_tamed_series(n):
    x = X[:n]
    dirty = changed(n // 3, -1e5, x)
    report, clean = look_over(dirty), look_over(x)
    # One of n samples less: quantiles move by far less than a step of the grid of scales, 9 %.
    assert report.largest_scale == pytest.approx(clean.largest_scale, rel=0.005)
    assert report.largest_scale < np.ptp(x)
    assert np.flatnonzero(report.wild).tolist() == [n // 3] and report.series[n // 3] == -1e5
    t = n // 3
    assert report.tamed()[t] == pytest.approx((x[t - 1] + x[t + 1]) / 2)
    assert np.array_equal(np.delete(report.tamed(), t), np.delete(x, t))


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-1060, 2.0**1018])
def test_extreme_magnitudes_are_the_same_series(factor):
    """Powers of two: every digit comes back, unless the given series itself had lost some below 2^-1074."""
    report = look_over(LORENZ * factor)
    assert 1 <= np.abs(report.series).max() < 2
    assert np.array_equal(report.series * report.scale, LORENZ * factor)
    if factor > 2.0**-1020:
        ratio = report.series / LORENZ
        assert (
            np.all(ratio == ratio[0, 0])
            and report.largest_scale == ratio[0, 0] * look_over(LORENZ).largest_scale
        )


def test_columns_are_named():
    names = ["hip", "knee", "foot", "again", "mix"]
    x = np.column_stack([LORENZ, 3 - 2 * LORENZ[:, 0], LORENZ[:, 1] - LORENZ[:, 2]])
    (finding,) = look_over(x, names=names).findings
    assert "2 of 5 columns tell nothing new: 'again' is a copy, in another unit, of 'hip'" in finding.sentence
    assert "'mix' is a mix of 'knee' and 'foot'" in finding.sentence and finding.facts["rank"] == 3
    assert "'column 2' is a copy of 'column 1'" in look_over(LORENZ[:, [0, 1, 1]]).sentences[0]
    assert kinds(np.column_stack([LORENZ, LORENZ.sum(axis=1).astype(np.float32)])) == ["redundant columns"]
    assert kinds(np.column_stack([LORENZ, LORENZ.sum(axis=1) + 1e-3 * UniformNoise().sample(N, 0)])) == []


def test_a_gait_seen_by_twelve_sensors_has_rank_two():
    gait = np.sin(np.arange(5000)[:, None] / 7.3 + np.arange(12))
    (finding,) = look_over(gait).findings
    assert finding.kind == "redundant columns" and finding.facts["rank"] == 2
    assert "10 of 12 columns" in finding.sentence and "and 6 more" in finding.sentence


def test_units_and_the_column_of_a_defect_are_named():
    x = LORENZ * [1, 1e4, 1]
    report = look_over(x, names=["a", "b", "c"])
    assert "'a' (34.6), 'c' (38.1) spread less than a hundredth of 'b'" in report.sentences[0]
    assert report.findings[0].facts["narrow"] == [0, 2]
    assert (
        look_over(np.column_stack([X, np.repeat(X[: N // 2], 2)]), names=["a", "b"])
        .sentences[0]
        .startswith("Each sample of 'b' comes 2 times")
    )


def test_columns_that_hardly_move_or_have_extreme_units_are_no_trouble():
    rare = np.zeros((50_000, 2))
    rare[7::10_001], rare[8::10_001], rare[20_000, 1] = 1, 2, 3
    x = np.column_stack([rare, np.sin(np.arange(50_000) / 7)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "redundant columns" not in kinds(x)
        assert kinds(LORENZ * [1e200, 1e-200, 1]) == ["magnitude", "units"]
        assert kinds(changed(77, 1e308, -X * 1e305)) == ["magnitude", "outliers"]


def test_a_stretch_is_a_copy_only_if_all_columns_are():
    both, one = LORENZ.copy(), LORENZ.copy()
    both[12_000:13_000] = both[3000:4000]
    one[12_000:13_000, 0] = one[3000:4000, 0]
    assert kinds(both) == ["repeated stretch"] and "repeated stretch" not in kinds(one)


@pytest.mark.parametrize("seed", range(5))
def test_copies_are_those_that_trying_every_lag_finds(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(400)
    length, (a, b) = rng.integers(64, 120), rng.integers(0, 130, 2)
    x[b + 140 : b + 140 + length] = x[a : a + length]
    lag, start, longest = naive.longest_copy(x)
    facts = look_over(x).findings[0].facts
    assert (facts["lag"], facts["start"], facts["copy"][1] - facts["copy"][0]) == (lag, start, longest)


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (
            np.arange(N) * 0.01 + 3 * (np.arange(N) >= 9000),
            "1 gap .about 300 samples missing., the longest after sample 8,999",
        ),
        (
            np.arange(N) - 5 * (np.arange(N) >= 400),
            "1 times time stands still or goes back, first after sample 399",
        ),
        (np.arange(N) + UniformNoise(-0.3, 0.3).sample(N, 0), "of the steps off by more than a tenth"),
        (
            np.datetime64("2024-01-01")
            + np.arange(N) * np.timedelta64(10, "ms") * (1 + (np.arange(N) > 15_000)),
            "samples 0 to 15,000",
        ),
    ],
    ids=["gap", "back", "jitter", "dates"],
)
def test_gaps_in_time_are_counted_and_placed(time, words):
    report = look_over(X, time=time)
    assert [finding.kind for finding in report.findings] == ["time"]
    assert re.search(words, report.sentences[0]), report.sentences[0]


def test_even_times_pass_though_they_are_rounded():
    assert kinds(X, time=np.round(np.arange(N) * 0.01, 3)) == []
    assert kinds(X, time=(np.arange(N) * 0.01).astype(np.float32)) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": np.arange(5)}, r"time has shape \(5,\)"),
        ({"time": np.where(np.arange(N) == 7, np.nan, np.arange(N))}, "time holds nan at sample 7"),
        ({"names": ["a", "b"]}, "2 names are given for 1 columns"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(QuantifyError, match=message):
        look_over(X, **options)
