"""When not to trust a quantification: every sentence has its reason."""

import re
from dataclasses import replace

import numpy as np
import pytest

from quantify import correlation_sums, decompose, entropies, quantify_sums
from quantify.quantification.caveats import RULES, Evidence, find_caveats, sampled
from quantify.quantification.stochastic import close_decision
from quantify.systems import AutoRegressive
from tests.known_sums import ideal_sums

N = 20_000
AR2 = AutoRegressive((1.6, -0.8))
CHANGE = {"stationary": False, "feature": "mean", "change": 1000, "transient": 2000}


SHORTER = {"half": {"E_core": 0.3}, "quarter": {"E_core": 0.1}}


def evidence(**changes):
    """Nothing wrong, but for the changes: fields of the range, of E_core, of the sums or of the settings."""
    q = quantify_sums(ideal_sums())
    parts, r, core, sums, stationarity = q.decomposition, q.range, q.E_core, q.sums, None
    others = {}
    for name, value in changes.items():
        if name == "stationarity":
            stationarity = value
        elif name == "resolution":
            sums = replace(sums, resolution=value)
        elif name == "examined":
            sums = replace(sums, examined=np.full_like(sums.examined, value))
        elif name in ("scaling_region", "convergence"):
            others[name] = value
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
    return Evidence(sums, parts, r, core, stationarity, **others)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scaling_region": False}, "told from noise"),
        (
            {"convergence": {"half": {"E_core": 0.3}, "quarter": {"E_core": 0.1}}, "sampling": 0.01},
            "still rises",
        ),
        ({"kappa": 0.4}, "in part only"),
        ({"octaves": 0.9}, "should span two"),
        ({"hi": 8.0}, "coarsest"),
        ({"second_core": 5.0}, "E_core is 5.00"),
        ({"examined": 10_000}, "wanted"),
        ({"resolution": 0.1}, "quantised"),
        ({"stationarity": CHANGE}, "its mean changes, most at sample 1,000.*first 2,000 samples .--start"),
        ({"stationarity": CHANGE | {"transient": None}}, "not stationary.*parts of it .--start, --stop"),
        ({"sampling": 0.5}, "too short"),
        ({"choices": {"tau": (0.9, 1.6)}}, "depends on choices.*delay"),
        ({"drift": 0.5}, "no plateau"),
        ({"no_fit": 0.7}, "no straight segment"),
        ({"last_term": 0.1}, "memory reaches beyond"),
    ],
)
def test_every_caveat(changes, words):
    found = find_caveats(evidence(**changes))
    assert any(re.search(words, text) for text in found), found


def test_scales_that_a_share_of_the_pairs_gave_up_are_named_where_they_matter():
    e = evidence(drift=0.5)
    shorter = replace(e.parts, eps=e.parts.eps[:-8], settings=e.parts.settings | {"eps_min_from": "pairs"})
    ends = (shorter.eps[-1], e.sums.eps[-1])
    told = sampled(replace(e, parts=shorter))
    assert re.search("ends at eps = {:.2g}; .* reach {:.2g}, .*exact=True".format(*ends), told)
    assert sampled(replace(evidence(), parts=shorter)) is None  # a plateau: they change nothing
    assert sampled(replace(e, parts=replace(shorter, eps=e.parts.eps[:-2]))) is None


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (True, "that the series is called stochastic.*might not be"),
        (False, "is not called.*might be called so"),
    ],
)
def test_a_verdict_that_chance_may_turn_round_is_told(limit, words):
    e = replace(evidence(scaling_region=False), growth=0.26, limit=limit)
    assert any(re.search(f"{words}", text) and "grows by 0.26" in text for text in find_caveats(e))


def test_a_decision_is_close_within_two_errors_of_the_limit(monkeypatch):
    """h of an AR(2) process grows with H_1 as noise does: far from the limit, wherever that is but there."""
    sums = correlation_sums(AR2.sample(6000, 1), tau=1, m_max=4, theiler=30)
    parts, curves = decompose(sums), entropies(sums)
    assert close_decision(parts, curves, sums) is None
    monkeypatch.setattr("quantify.quantification.stochastic.LEAST_GROWTH", -9.0)
    monkeypatch.setattr("quantify.quantification.stochastic.SURE", 1e9)
    growth = close_decision(parts, curves, sums)
    assert 0.5 < growth < 1.2
    monkeypatch.setattr("quantify.quantification.stochastic.SURE", 2.0)
    for off, close in ((0.0, True), (1e-4, True), (0.5, False), (-0.5, False)):
        monkeypatch.setattr("quantify.quantification.stochastic.LEAST_GROWTH", growth + off)
        assert (close_decision(parts, curves, sums) is not None) == close


def test_no_caveat_without_a_reason():
    assert find_caveats(evidence()) == ()
    assert find_caveats(evidence(stationarity={"stationary": True})) == ()
    assert len(RULES) == len({rule.__name__ for rule in RULES})
