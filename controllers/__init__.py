"""The controller a = tanh(C s + h) and the rules that move C and h.

`REGISTRY` holds the rules by name, `PRESETS` named settings of them with their sources.

Examples
--------
>>> import controllers
>>> list(controllers.REGISTRY)
['ulr', 'tipi', 'homeokinesis', 'dep', 'dep_norm', 'random', 'identity', 'sine', 'babbling']
>>> ulr = controllers.make("ulr", n_sensors=19, n_motors=18)
>>> a = ulr.step([0.0] * 19)
>>> frozen = ulr.freeze()
>>> list(controllers.PRESETS["dep"])
['authors-hexapod', 'authors-humanoid', 'ours']
"""

from controllers.compiled import find_place

find_place()  # before any kernel is declared

# ruff: noqa: E402
from controllers.base import Controller, Frozen
from controllers.baselines import (
    Babbling,
    BabblingConfig,
    Identity,
    IdentityConfig,
    Random,
    RandomConfig,
    Sine,
    SineConfig,
)
from controllers.config import Range, RuleConfig
from controllers.dep import DEP, DEPConfig, DEPNorm, DEPNormConfig
from controllers.errors import ControllerError
from controllers.history import HistoryController
from controllers.homeokinesis import Homeokinesis, HomeokinesisConfig
from controllers.presets import PRESETS, Preset, preset
from controllers.registry import REGISTRY, find, make
from controllers.rehearsal import rehearse
from controllers.tipi import TiPI, TiPIConfig
from controllers.ulr import ULR, ULRConfig

__all__ = [
    "DEP",
    "PRESETS",
    "REGISTRY",
    "ULR",
    "Babbling",
    "BabblingConfig",
    "Controller",
    "ControllerError",
    "DEPConfig",
    "DEPNorm",
    "DEPNormConfig",
    "Frozen",
    "HistoryController",
    "Homeokinesis",
    "HomeokinesisConfig",
    "Identity",
    "IdentityConfig",
    "Preset",
    "Random",
    "RandomConfig",
    "Range",
    "RuleConfig",
    "Sine",
    "SineConfig",
    "TiPI",
    "TiPIConfig",
    "ULRConfig",
    "find",
    "make",
    "preset",
    "rehearse",
]
