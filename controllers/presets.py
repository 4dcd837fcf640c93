"""Named settings of rules, each with its source: those of the rules' authors, and our own of before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controllers.errors import ControllerError


@dataclass(frozen=True)
class Preset:
    """Settings of a rule that differ from its defaults, and where they come from.

    Examples
    --------
    >>> from controllers import Preset
    >>> Preset({"tau": 5}, "somebody's thesis").settings["tau"]
    5
    """

    settings: Mapping[str, Any]
    source: str


_LPZ = "lpzrobots (Der, Martius and others)"
_DEP_HEXAPOD = Preset(
    {},
    "Der & Martius 2015 (PNAS 112 E6224), supplement, hexapod: tau_C .7 s, kappa 2.2, each motor normalised "
    "alone, h 0; their body has joint sensors only, and their program a rate of .05 and d = 4",
)
_DEP_HUMANOID = Preset(
    {"rate": 0.005, "kappa": 1.4, "norm": "global", "eps_h": 0.05},
    f"Der & Martius 2015, supplement, and {_LPZ}, simulation humanoid_DEP, crawling: tau_C 4 s, kappa 1.4",
)
PRESETS: Mapping[str, Mapping[str, Preset]] = {
    "tipi": {
        "authors": Preset({}, f"{_LPZ}, PiMax 1.0: its defaults; equations of Martius, Der & Ay 2013"),
        "authors-humanoid": Preset(
            {"eps_C": 2e-4, "eps_A": 0.1, "alpha": 6.0, "damping": 0.0},
            f"{_LPZ}, simulation humanoid-TiPI; there with sensor noise .01 and a gravity of 6 m/s^2",
        ),
        "ours": Preset(
            {"tau": 5, "metric": False, "ridge": 1e-3, "Sigma_0": 1.0, "S_0": 0.0, "damping": 0.0},
            "defaults of this package until 0.1, checked in loops of one and two joints; robots saturate",
        ),
    },
    "homeokinesis": {
        "authors": Preset(
            {"eps_C": 0.1, "eps_A": 0.1, "C_0": 1.0, "extended": True, "cause": 0.01, "log_error": False},
            f"{_LPZ}, Sox 1.1: its defaults; equations of The Playful Machine, 2012",
        ),
        "authors-hexapod": Preset(
            {}, f"{_LPZ}, simulation hexapod; there with sensor noise .05 and a gravity of 6 m/s^2"
        ),
        "authors-snake": Preset(
            {"eps_C": 0.05, "eps_A": 0.01, "alpha": 2.0, "C_0": 0.9, "extended": True, "cause": 0.01},
            f"{_LPZ}, snakes in its simulations; there with sensor noise and a boost of the motors",
        ),
        "ours": Preset(
            {
                **{"eps_C": 0.1, "C_0": 1.0, "S_0": 0.0, "g_floor": 0.05},
                **{"clip_C": 0.015, "ridge": 1e-3, "damping": 0.0},
            },
            "defaults of this package until 0.1, checked in loops of one and two joints",
        ),
    },
    "dep": {
        "authors-hexapod": _DEP_HEXAPOD,
        "authors-humanoid": _DEP_HUMANOID,
        "ours": Preset(
            {"rate": 2.5e-5, "kappa": 1.6, "d": 4, "norm": "global", "count": "all", "regularisation": 0.003},
            "defaults of this package until 0.1: so slow that the hexapod passes from up-down to jumping",
        ),
    },
    "dep_norm": {"authors-hexapod": _DEP_HEXAPOD, "authors-humanoid": _DEP_HUMANOID},
}
"""By rule and name."""


def preset(rule: str, name: str) -> Preset:
    """Give a preset of a rule by name.

    Raises
    ------
    ControllerError
        When the rule has no such preset.

    Examples
    --------
    >>> import controllers
    >>> humanoid = controllers.preset("dep", "authors-humanoid")
    >>> humanoid.settings["kappa"]
    1.4
    >>> dep = controllers.make("dep", 19, 18, humanoid.settings)
    """
    known = PRESETS.get(rule, {})
    if name not in known:
        raise ControllerError(f"{rule} has no preset {name!r}; it has {', '.join(known) or 'none'}.")
    return known[name]
