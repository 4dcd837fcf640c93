"""Presets: accepted by their rules, with a source, and the authors' figures as they stand in their work."""

import dataclasses

import pytest

from controllers import PRESETS, REGISTRY, ControllerError, find, make, preset


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule in PRESETS for name in PRESETS[rule]])
def test_every_preset_fits_its_rule_and_names_its_source(rule, name):
    found = preset(rule, name)
    controller = make(rule, 7, 6, found.settings)
    controller.step([0.1] * 7)
    assert len(found.source) > 20
    defaults = dataclasses.asdict(find(rule).Config())
    assert all(defaults[key] != value for key, value in found.settings.items()), "states what differs alone"


def test_rules_of_others_start_with_their_authors_settings():
    """The figures as published: what a preset leaves out must not drift with a default."""
    assert set(PRESETS) < set(REGISTRY)
    model = {"alpha": 1.0, "rotation": 0.0, "S_0": 0.05, "extended": False, "cause": 0.0, "clip_h": 0.05,
             "clip_A": 0.1, "damping": 1e-5, "native": 1.2, "clip_damping": 0.05, "eps_A": 0.05}  # fmt: skip
    assert dataclasses.asdict(find("tipi").Config()) == model | {
        "eps_C": 0.001, "C_0": 1.0, "g_floor": 0.05, "clip_C": 0.015, "tau": 2, "clip_ds": 0.1,
        "eps_Sigma": 0.01, "Sigma_0": 0.01, "ridge": 1e-4, "metric": True,
    }  # fmt: skip
    assert dataclasses.asdict(find("homeokinesis").Config()) == model | {
        "eps_C": 0.105, "C_0": 1.2, "g_floor": 0.0, "clip_C": 0.05, "log_error": True, "log_scale": 0.1,
        "log_floor": 0.001, "ridge": 1e-8,
    }  # fmt: skip
    dep = {"rate": 0.02 / 0.7, "kappa": 2.2, "d": 1, "norm": "row", "row_share": 0.3, "count": "joints",
           "regularisation": 1e-12, "clip_C": 5.0, "eps_h": 0.0, "clip_h": 0.05, "decay_h": 0.001,
           "eps_M": 0.0, "clip_M": 0.05}  # fmt: skip
    assert dataclasses.asdict(find("dep").Config()) == pytest.approx(dep)
    assert dataclasses.asdict(find("dep_norm").Config()) == pytest.approx(dep | {"c": 0.001})


def test_an_unknown_preset_is_refused_with_what_there_is():
    with pytest.raises(
        ControllerError, match=r"tipi has no preset 'x'; it has authors, authors-humanoid, ours"
    ):
        preset("tipi", "x")
    with pytest.raises(ControllerError, match="ulr has no preset 'ours'; it has none"):
        preset("ulr", "ours")
