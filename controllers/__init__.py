"""The controller a = tanh(C s + h) and the rules that move C and h."""

from controllers.base import Controller, Frozen
from controllers.config import ControllerError, Range, RuleConfig
from controllers.registry import REGISTRY, find, make
from controllers.ulr import ULR, ULRConfig

__all__ = [
    "REGISTRY",
    "ULR",
    "Controller",
    "ControllerError",
    "Frozen",
    "Range",
    "RuleConfig",
    "ULRConfig",
    "find",
    "make",
]
