"""The whole in one call: textbook systems, uncertainties, caveats, plain values and back."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quantify import Quantification, QuantifyError, correlation_sums, quantify, quantify_sums
from quantify.ksg import predictive_information
from quantify.systems import AutoRegressive, Henon, Lorenz, QuasiPeriodic, UniformNoise
from tests.known_sums import ideal_sums

N = 20_000
CHANGE = {"stationary": False, "feature": "mean", "change": 1000, "transient": 2000}


@pytest.fixture(scope="module")
def lorenz():
    return quantify(Lorenz().sample(N, 1)[:, 0], tau=10, m_max=10)


def test_lorenz(lorenz):
    # Scatter of realisations of this length: D .08, E_core .2; the literature has D = 2.06.
    assert lorenz.D.value == pytest.approx(2.06, abs=0.2)
    assert lorenz.E_core.value == pytest.approx(lorenz.E_state.value + lorenz.E_mem.value)
    assert lorenz.range.deterministic > 0.95 and lorenz.range.default and lorenz.range.octaves > 1.5
    assert lorenz.sums.blocks is not None and lorenz.settings["range_from"] == "all plausible ranges"
    assert lorenz.scaling_region and lorenz.E is None and lorenz.stochastic_below is None


@pytest.mark.parametrize("name", ["E_state", "E_mem", "E_core", "D"])
def test_each_number_has_its_uncertainties(lorenz, name):
    e = getattr(lorenz, name)
    assert e.value == getattr(lorenz.range, name)
    assert 0 < e.sampling < 1 and 0 <= e.spread < 1
    low, high = e.interval
    # Student's factor for 15 degrees of freedom, up and down, times a mean of which the error is one half;
    # over a jump more, but not many times more.
    assert 2.13 / 2**0.5 * e.sampling < e.value - low < 6 * e.sampling
    assert 2.13 / 2**0.5 * e.sampling < high - e.value < 6 * e.sampling
    assert set(e.choices) == {"tau", "m_max", "s_min"} and e.choices["s_min"] == e.s_min_interval
    for low, high in e.choices.values():
        assert low <= e.value <= high
    assert e.choice_interval[0] <= min(low for low, _ in e.choices.values())


def test_henon():
    q = quantify(Henon().sample(N, 1)[:, 0], tau=1, m_max=6)
    # Known: 1.21 +- .05 (correlation dimension); sampling error .02.
    assert q.D.value == pytest.approx(1.21, abs=0.06)
    assert q.range.kappa < 0.2


def test_noise_is_called_noise():
    q = quantify(UniformNoise().sample(N, 1), tau=1, m_max=4)
    assert q.settings["range_from"] == "no scaling region" and not q.scaling_region
    # Four times the sampling error that is reported.
    assert q.E_core.value == pytest.approx(0, abs=0.02) and np.isnan(q.D.value)
    assert "No scaling region" in q.summary() and "stochastic below eps" in q.summary()


def test_an_autoregressive_process_is_called_stochastic_and_its_excess_entropy_is_memory():
    """x_n = .7 x_{n-1} + noise: E = PI_1 = -ln(1 - .49) / 2 = .337 nats, at scales below the noise."""
    process = AutoRegressive((0.7,))
    q = quantify(process.sample(N, 2), tau=1, m_max=3)
    # Twice the sampling error of .02.
    assert q.E_mem.value == q.E_core.value == q.PI.value == pytest.approx(0.337, abs=0.04)
    assert q.E.value == pytest.approx(process.E(3), abs=0.04) and q.E_state.value == 0
    low, high = q.PI.interval
    assert low < process.PI(3) < high and not q.scaling_region


def test_half_and_quarter_of_the_data_are_measured_too():
    x = Henon().sample(8000, 1)[:, 0]
    q = quantify(x, tau=1, m_max=5, theiler=5, choices=False)
    (one, two) = (
        quantify(part, tau=1, m_max=5, theiler=5, replicates=0, choices=False)
        for part in (x[:4000], x[4000:])
    )
    # The parts are cut at blocks of delay vectors, some samples off.
    assert q.convergence["half"]["E_core"] == pytest.approx(
        (one.E_core.value + two.E_core.value) / 2, abs=0.05
    )
    assert set(q.convergence) == {"half", "quarter"}


def test_the_delay_is_chosen_and_stated():
    q = quantify(Lorenz().sample(5000, 1)[:, 0], m_max=5, replicates=0)
    # The first minimum of the mutual information: about 18 (paper), from few data 12 to 22.
    assert 10 <= q.settings["tau"] <= 24 and q.settings["tau_from"] == "minimum of the mutual information"


def test_same_seed_same_result():
    x = Lorenz().sample(3000, 1)[:, 0]
    one, two = (quantify(x, tau=10, m_max=6, replicates=10, rng=7).to_dict() for _ in range(2))
    assert one == two


@pytest.mark.guard
def test_the_sampling_error_is_what_realisations_scatter_by():
    """Twelve realisations of Hénon: their standard deviation against the mean of what each claims."""
    settings = {"tau": 1, "m_max": 6, "theiler": 10, "eps_range": (0.02, 0.08), "replicates": 50}
    results = [quantify(Henon().sample(8000, seed)[:, 0], **settings) for seed in range(12)]
    for name in ("E_core", "D"):
        scatter = np.std([getattr(q, name).value for q in results], ddof=1)
        claimed = np.mean([getattr(q, name).sampling for q in results])
        # Measured .89 and .99. A standard deviation of twelve is known to 20 %.
        assert 0.5 < claimed / scatter < 2, name


def test_plain_values_and_back(lorenz):
    saved = json.loads(json.dumps(lorenz.to_dict(), allow_nan=False))
    back = Quantification.from_dict(saved)
    assert back.to_dict() == saved
    assert back.summary() == lorenz.summary()
    assert back.E_core == lorenz.E_core and back.range == lorenz.range and back.scaling == lorenz.scaling
    assert np.array_equal(back.decomposition.E_core, lorenz.decomposition.E_core)


def test_sums_without_blocks_have_no_sampling_error():
    q = quantify_sums(ideal_sums())
    assert np.isnan(q.E_core.sampling) and "not known" in q.summary()
    assert q.E_core.value == pytest.approx(0.9, abs=0.02) and q.caveats == ()
    assert "Nothing speaks against" in q.summary()
    assert Quantification.from_dict(q.to_dict()).to_dict() == q.to_dict()


def test_progress_ends_at_its_total():
    seen = []
    quantify(
        Henon().sample(3000, 1)[:, 0],
        tau=1,
        m_max=4,
        replicates=5,
        progress=lambda done, total: seen.append(done / total),
    )
    assert seen[-1] == 1 and all(a <= b for a, b in pairwise(seen))


def fresh(code, **environment):
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_import_is_quick_and_draws_nothing():
    """CPU seconds of the import alone, so that a busy machine does not matter."""
    seconds, plots = fresh(
        "import sys, time; t = time.process_time(); import quantify; "
        "print(time.process_time() - t, 'matplotlib' in sys.modules)"
    ).split()
    assert float(seconds) < 1 and plots == "False"


@pytest.mark.guard
def test_without_compiling():
    out = fresh(
        "import numpy as np; from quantify import quantify; from quantify.systems import Henon; "
        "print(quantify(Henon().sample(150, 1)[:, 0], tau=1, m_max=2, replicates=2, theiler=5).summary())",
        NUMBA_DISABLE_JIT="1",
    )
    assert "E_core" in out


def test_sums_and_series_agree():
    x = Henon().sample(3000, 1)[:, 0]
    sums = correlation_sums(x, tau=1, m_max=4, theiler=10, rng=np.random.default_rng(0), blocks=16)
    direct = quantify(x, tau=1, m_max=4, theiler=10, stationarity=False)
    assert quantify_sums(sums).range == direct.range


def test_where_all_pairs_are_counted_no_seed_matters():
    x = Henon().sample(1500, 1)[:, 0]
    one, two = (quantify(x, tau=1, m_max=4, replicates=10, stationarity=False, rng=seed) for seed in (1, 2))
    assert one.E_core == two.E_core and one.D == two.D


def trembling_sine(n):
    """A periodic movement measured with noise."""
    rng = np.random.default_rng(4)
    return np.sin(2 * np.pi * np.arange(n) / 97.3) + 0.01 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("series", "dimension"),
    [
        # Dimensions are those of textbooks; 5,000 samples leave .3.
        (Lorenz().sample(5000, 5)[:, 0], 2.06),
        (Henon().sample(5000, 5)[:, 0], 1.21),
        (QuasiPeriodic().sample(5000, 5), 2.0),
        (trembling_sine(5000), 1.0),
        (UniformNoise().sample(5000, 5), None),
        (AutoRegressive((1.991843, -0.994793)).sample(5000, 5), None),
        (Lorenz().sample(10000, 5).astype(np.float32)[::2, 0], 2.06),
    ],
    ids=["lorenz", "henon", "torus", "sine", "noise", "ar2", "float32, not contiguous"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_defaults_need_no_tuning(series, dimension):
    """Every kind of series gives a result, or says in words what is wrong with it."""
    q = quantify(series)
    assert "E_core" in q.summary()
    if dimension is None:
        assert not q.scaling_region and "No scaling region" in q.summary()
    else:
        assert q.D.value == pytest.approx(dimension, abs=0.3)


def test_plot(lorenz):
    """The panels of the page; that they are drawn is seen in the tests of the plots."""
    titles = {ax.get_title(loc="left") for ax in lorenz.plot().axes}
    assert {"Dimension", "Excess entropy", "Decomposition of the excess entropy"} <= titles


@pytest.fixture(scope="module")
def henon():
    return Henon().sample(5000, 1)[:, 0]


def test_predictive_information_is_scanned_over_the_scales(henon):
    q = quantify(henon, tau=1, m_max=4, predictive=2000, replicates=0)
    p = q.predictive_information
    assert p.m.tolist() == [1, 2] and len(p.eta) == 8
    assert p.eta[0] == pytest.approx(q.decomposition.settings["eps_min"] / 4)
    assert p.eta[-1] == pytest.approx(2 * henon.std())
    # More noise, less information: the map is one-to-one, so that even the smallest step of eta can be seen.
    assert (np.diff(p.PI, axis=0) < 0).all()
    # The same numbers from the estimator itself, with the settings that the result states.
    again = predictive_information(
        henon, tau=1, m=[1, 2], k=p.k, eta=p.eta[:1], theiler=p.theiler, points=2000, half=False, rng=3
    )
    assert again.settings["stride"] == p.settings["stride"] == 3
    # Another noise, far below what 1,666 points resolve.
    np.testing.assert_allclose(p.PI[0], again.PI[0], atol=0.05)
    assert p.largest.value == p.PI[0].max() and p.largest.eta == p.eta[0]
    # The bias of KSG with half as many neighbours: ln 2 at most in what is not yet resolved.
    assert p.largest.value - np.log(2) < p.largest.half < p.largest.value + 0.1
    assert (p.quoted.k, p.quoted.eta, p.quoted.coordinates) == (4, 0.0, "canonical")
    assert f"{p.quoted.value:.2f} nats between {p.quoted.m} past and" in " ".join(q.summary().split())


def test_a_scan_survives_the_file(henon):
    q = quantify(henon[:1500], tau=1, m_max=4, predictive=1000, replicates=0)
    back = Quantification.from_dict(json.loads(json.dumps(q.to_dict())))
    one, other = q.predictive_information, back.predictive_information
    for name in ("PI", "half", "m", "eta"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.quoted == other.quoted and back.summary() == q.summary()
    page = back.plot()
    (panel,) = (ax for ax in page.axes if ax.get_title(loc="left") == "Predictive information")
    np.testing.assert_array_equal(panel.containers[1].lines[0].get_ydata(), one.PI[:, 1])


def test_a_series_too_short_for_neighbours_has_no_scan(henon):
    assert quantify(henon[:300], tau=1, m_max=3, predictive=1000, replicates=0).predictive_information is None


def test_rounded_values_do_not_spoil_the_scan(henon):
    """Repeated values have no density; noise of the size of the steps gives them one."""
    q = quantify(np.round(henon, 1), tau=1, m_max=4, predictive=2000, replicates=0)
    assert np.isfinite(q.predictive_information.PI).all()
    assert q.predictive_information.eta[0] >= 0.1


@pytest.mark.guard
def test_surrogates_come_with_the_result() -> None:
    x = 1e300 * np.sin(0.3 * np.arange(1500)) + 1e299 * np.random.default_rng(1).standard_normal(1500)
    done: list[float] = []
    settings: dict[str, Any] = {"tau": 5, "m_max": 3, "replicates": 0, "choices": False}
    result = quantify(x, surrogates=19, progress=lambda now, total: done.append(now / total), **settings)
    core = result.null_tests["E_core"]
    assert core.null == "cycles" and core.n == 19 and list(result.null_tests) == ["E_core", "D"]
    assert core.lo > 1e297  # in the unit of the series, however large
    assert core.sentence in " ".join(result.summary().split()) and done == sorted(done) and done[-1] == 1.0
    plain = result.to_dict()
    assert Quantification.from_dict(plain).to_dict()["null_tests"] == plain["null_tests"]
    assert quantify(x, surrogates=19, null="shuffle", **settings).null_tests["E_core"].null == "shuffle"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"surrogates": 18}, "surrogates = 18 must be a whole number of at least 19"),
        ({"surrogates": 10**30}, "must be at most 9,999"),
        ({"surrogates": 19, "null": "circles"}, "choose one of shuffle"),
    ],
)
def test_surrogates_that_cannot_be_are_refused_before_anything_is_counted(
    wrong: dict[str, Any], message: str
) -> None:
    done: list[float] = []
    with pytest.raises(QuantifyError, match=message):
        quantify(np.arange(1500) % 7.0, progress=lambda now, total: done.append(now), **wrong)
    assert not done


def test_a_stored_result_of_which_half_gives_no_number_can_be_told_again() -> None:
    """JSON has no NaN."""
    found = quantify(Henon().sample(2000, 1)[:, 0], tau=1, m_max=4, replicates=5, predictive=0)
    parts = {"half": {"E_core": math.nan}, "quarter": {"E_core": 0.5}}
    found = replace(found, convergence=parts, scaling_region=True)
    again = type(found).from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.brief() == found.brief() and again.summary() == found.summary()
