"""The whole in one call: textbook systems, uncertainties, caveats, plain values and back."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from quantify import Quantification, QuantifyError, correlation_sums, quantify, quantify_sums
from quantify.ksg import predictive_information
from quantify.quantification.caveats import RULES, Evidence, find_caveats
from quantify.systems import AutoRegressive, Henon, Lorenz, QuasiPeriodic, UniformNoise
from tests.known_sums import ideal_sums

N = 20_000
CHANGE = {"stationary": False, "feature": "mean", "change": 1000, "transient": 2000}


@pytest.fixture(scope="module")
def lorenz():
    return quantify(Lorenz().sample(N, 1)[:, 0], tau=10, m_max=10)


def test_lorenz(lorenz):
    # Scatter of 12 realisations of this length: D .08, E_core .07 (2.09 on average); the literature has D =
    # 2.06.
    assert lorenz.D.value == pytest.approx(2.06, abs=0.2)
    assert lorenz.E_core.value == pytest.approx(2.1, abs=0.4)
    assert lorenz.E_core.value == pytest.approx(lorenz.E_state.value + lorenz.E_mem.value)
    assert (
        lorenz.range.deterministic == 1
        and lorenz.range.default
        and lorenz.range.octaves == pytest.approx(2, abs=0.1)
    )
    assert lorenz.sums.blocks is not None and lorenz.settings["range_from"] == "flattest deterministic"


@pytest.mark.parametrize("name", ["E_state", "E_mem", "E_core", "D"])
def test_each_number_has_three_uncertainties(lorenz, name):
    e = getattr(lorenz, name)
    assert e.value == getattr(lorenz.range, name)
    assert 0 < e.sampling < 1 and 0 <= e.spread < 1
    low, high = e.interval
    assert low < high and high - low == pytest.approx(4 * e.sampling, rel=0.5)
    low, high = e.s_min_interval
    assert low <= e.value <= high


def test_henon():
    q = quantify(Henon().sample(N, 1)[:, 0], tau=1, m_max=6)
    # Known: 1.21 +- .05 (correlation dimension); sampling error .02.
    assert q.D.value == pytest.approx(1.21, abs=0.06)
    assert q.range.kappa < 0.2


def test_noise_is_called_noise():
    q = quantify(UniformNoise().sample(N, 1), tau=1, m_max=4)
    assert q.settings["range_from"] == "smallest reliable scales"
    # Twelve times the sampling error that is reported.
    assert q.E_core.value == pytest.approx(0, abs=0.02) and abs(q.D.value) < 0.1
    assert any("told from noise" in text for text in q.caveats)
    assert "told from noise" in q.summary()


def test_an_autoregressive_process_is_called_stochastic_and_its_excess_entropy_is_memory():
    """x_n = .7 x_{n-1} + noise: E = PI_1 = -ln(1 - .49) / 2 = .337 nats, at scales below the noise."""
    process = AutoRegressive((0.7,))
    q = quantify(process.sample(N, 2), tau=1, m_max=3)
    # Twice the sampling error of .02.
    assert q.E_mem.value == pytest.approx(0.337, abs=0.04)
    assert q.E_core.value == pytest.approx(process.E(3), abs=0.04)
    assert any("told from noise" in text for text in q.caveats)


def test_two_observables_of_one_system():
    """x and z of Lorenz: the slopes sum to min(d, D) = 2; after division by d, kappa is near 0."""
    q = quantify(Lorenz().sample(N, 1)[:, [0, 2]], tau=10, m_max=6)
    assert q.sums.d == 2 and q.range.kappa == pytest.approx(0, abs=0.15)
    # 2.06 is approached from below: the range lies at large scales.
    assert q.D.value == pytest.approx(2.06, abs=0.25)


def test_a_doubled_observable_changes_nothing_but_kappa():
    x = Lorenz().sample(3000, 1)[:, 0]
    kw = {"tau": 10, "m_max": 6, "theiler": 100, "replicates": 0, "stationarity": False}
    one, two = quantify(x, **kw), quantify(np.stack([x, x], axis=1), eps_range=(1, 8), **kw)
    assert np.array_equal(one.sums.C, two.sums.C)
    assert 1 - two.decomposition.kappa == pytest.approx((1 - one.decomposition.kappa) / 2)


def test_unit_and_sign_of_the_series_do_not_matter():
    x = Lorenz().sample(5000, 3)[:, 0]
    one, two = (quantify(s, tau=10, m_max=8, replicates=20) for s in (x, -4 * x))
    assert two.range.lo == pytest.approx(4 * one.range.lo)
    for name in ("E_state", "E_mem", "E_core", "D"):
        a, b = getattr(one, name), getattr(two, name)
        assert (b.value, b.sampling, b.spread) == pytest.approx((a.value, a.sampling, a.spread), abs=1e-9)


def test_the_delay_is_chosen_and_stated():
    q = quantify(Lorenz().sample(5000, 1)[:, 0], m_max=5, replicates=0)
    # The first minimum of the mutual information: about 18 (paper), from few data 12 to 22.
    assert 10 <= q.settings["tau"] <= 24 and q.settings["tau_from"] == "minimum of the mutual information"


def test_same_seed_same_result():
    x = Lorenz().sample(3000, 1)[:, 0]
    one, two = (quantify(x, tau=10, m_max=6, replicates=10, rng=7).to_dict() for _ in range(2))
    assert one == two


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
    assert np.isnan(q.E_core.sampling) and "?" in q.summary()
    assert q.E_core.value == pytest.approx(0.9, abs=0.02) and q.caveats == ()
    assert "Nothing speaks against" in q.summary()
    assert Quantification.from_dict(q.to_dict()).to_dict() == q.to_dict()


def test_summary_names_what_matters(lorenz):
    text = lorenz.summary()
    for word in (
        "E_state",
        "E_mem",
        "E_core",
        "D ",
        "sampling",
        "over eps",
        "s_min",
        "kappa",
        "drift",
        "octaves",
        "nats",
    ):
        assert word in text
    assert max(len(line) for line in text.splitlines()) <= 100


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


def evidence(**changes):
    """Nothing wrong, but for the changes: fields of the range, of E_core, of the sums or of the settings."""
    q = quantify_sums(ideal_sums())
    parts, r, core, sums, stationarity = q.decomposition, q.range, q.E_core, q.sums, None
    for name, value in changes.items():
        if name == "stationarity":
            stationarity = value
        elif name == "resolution":
            sums = replace(sums, resolution=value)
        elif name == "examined":
            sums = replace(sums, examined=np.full_like(sums.examined, value))
        elif name == "all_stochastic":
            parts = replace(parts, deterministic=np.zeros_like(parts.deterministic))
        elif name == "last_term":
            parts = replace(parts, delta_h=np.vstack([parts.delta_h[:-1], 0 * parts.delta_h[-1:] + value]))
        elif name == "second_core":
            below = parts.eps < r.lo / 1.01
            E = np.where(below, value, parts.E_core)
            parts = replace(parts, E_core=E, E_mem=E - parts.E_state, m_u=parts.m_u + below)
        elif hasattr(core, name):
            core = replace(core, **{name: value})
        else:
            r = replace(r, **{name: value})
    return Evidence(sums, parts, r, core, stationarity)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"all_stochastic": True}, "told from noise"),
        ({"deterministic": 0.5}, "are stochastic"),
        ({"kappa": 0.4}, "in part only"),
        ({"octaves": 1.0}, "should span two"),
        ({"hi": 8.0}, "coarsest"),
        ({"second_core": 5.0}, "E_core is 5.00"),
        ({"examined": 10_000}, "wanted"),
        ({"resolution": 0.1}, "quantised"),
        ({"stationarity": CHANGE}, "not stationary: its mean changes, most at sample 1,000.*first 2,000"),
        ({"stationarity": CHANGE | {"transient": None}}, "not stationary.*quantify parts"),
        ({"sampling": 0.5}, "too short"),
        ({"s_min_interval": (0.9, 1.6)}, "depends on s_min"),
        ({"drift": 0.5}, "no plateau"),
        ({"no_fit": 0.7}, "no straight segment"),
        ({"last_term": 0.1}, "memory reaches beyond"),
    ],
)
def test_every_caveat(changes, words):
    found = find_caveats(evidence(**changes))
    assert any(re.search(words, text) for text in found), found


def test_no_caveat_without_a_reason():
    assert find_caveats(evidence()) == ()
    assert find_caveats(evidence(stationarity={"stationary": True})) == ()
    assert len(RULES) == len({rule.__name__ for rule in RULES})


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (np.r_[np.zeros(10), np.nan, np.ones(500)], "nan"),
        (np.ones(1000), "only 1"),
        (np.zeros((3, 4, 5)), "shape"),
        (np.random.default_rng(0).normal(size=30), "too few"),
        (np.random.default_rng(5).integers(0, 4, 2000), "quantised in steps of 1"),
    ],
)
def test_bad_series(series, words):
    with pytest.raises(QuantifyError, match=words):
        quantify(series, tau=5, m_max=10)


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
        assert q.caveats
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
    assert p.quoted.value == p.PI[0].max() and p.quoted.eta == p.eta[0]
    # The bias of KSG with half as many neighbours: ln 2 at most in what is not yet resolved.
    assert p.quoted.value - np.log(2) < p.quoted.half < p.quoted.value + 0.1
    assert f"{p.quoted.value:.2f} nats at m = {p.quoted.m}" in q.summary()


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


# ---- in a notebook


def test_repr_is_one_line(lorenz):
    for value in (lorenz, lorenz.sums, lorenz.entropies, lorenz.decomposition):
        text = repr(value)
        assert text.startswith(f"<{type(value).__name__}: ") and "\n" not in text and len(text) < 160
    assert f"E_core {lorenz.E_core.value:.2f}" in repr(lorenz)
    assert f"eps {lorenz.range.lo:.3g} to {lorenz.range.hi:.3g}" in repr(lorenz)
    assert "20,000 samples, tau = 10" in repr(lorenz.sums) and "m = 1..10" in repr(lorenz.sums)
    for caveats, words in (((), "no caveats>"), (("a",), "1 caveat>"), (("a", "b"), "2 caveats>")):
        assert repr(replace(lorenz, caveats=caveats)).endswith(words)


class Table(HTMLParser):
    """Text of every cell by row, of the paragraphs and of the list; complains of tags that do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.paragraphs, self.items = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        for kind, where in (("p", self.paragraphs), ("li", self.items)):
            if tag == kind:
                where.append("")
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif self.open[-1] == "p":
            self.paragraphs[-1] += data
        elif self.open[-1] == "li":
            self.items[-1] += data


def read_table(q):
    table = Table()
    table.feed(q._repr_html_())
    table.close()
    assert not table.open
    return table


def test_notebooks_show_numbers_uncertainties_range_and_caveats(lorenz):
    table = read_table(lorenz)
    assert [row[0] for row in table.rows[1:]] == ["E_state", "E_mem", "E_core", "D"]
    core, e = table.rows[3], lorenz.E_core
    low, high = e.s_min_interval
    assert core[1:] == [
        f"{e.value:.2f}",
        f"± {e.sampling:.2f}",
        f"± {e.spread:.2f}",
        f"{low:.2f} to {high:.2f}",
    ]
    assert f"eps {lorenz.range.lo:.3g} to {lorenz.range.hi:.3g}" in table.paragraphs[0]
    assert table.items == list(lorenz.caveats)


def test_notebooks_show_text_as_text(lorenz):
    odd = "<script>alert('x')</script> & more"
    q = replace(lorenz, caveats=(odd,), settings=lorenz.settings | {"range_from": "<b>mine</b>"})
    assert "<script>" not in q._repr_html_() and "<b>" not in q._repr_html_()
    table = read_table(q)
    assert table.items == [odd] and "<b>mine</b>" in table.paragraphs[0]


def test_notebooks_say_that_nothing_speaks_against_a_result(lorenz):
    table = read_table(replace(lorenz, caveats=()))
    assert table.items == [] and table.paragraphs[-1] == "Nothing speaks against these numbers."
