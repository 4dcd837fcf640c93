"""Rules by name, and a user's own rule by import path."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from controllers.base import Controller
from controllers.baselines import Babbling, Identity, Random, Sine
from controllers.config import RuleConfig
from controllers.dep import DEP, DEPNorm
from controllers.errors import ControllerError
from controllers.homeokinesis import Homeokinesis
from controllers.tipi import TiPI
from controllers.ulr import ULR

REGISTRY: dict[str, type[Controller]] = {
    "ulr": ULR,
    "tipi": TiPI,
    "homeokinesis": Homeokinesis,
    "dep": DEP,
    "dep_norm": DEPNorm,
    "random": Random,
    "identity": Identity,
    "sine": Sine,
    "babbling": Babbling,
}


def find(name: str) -> type[Controller]:
    """Give the class of a registered rule, or a user's own as ``my_module:MyRule``.

    Raises
    ------
    ControllerError
        When there is no such rule, or the class is not a `Controller`.

    Examples
    --------
    >>> from controllers import find
    >>> find("tipi").Config().tau
    2
    >>> find("controllers.base:Frozen").__name__
    'Frozen'
    """
    if name in REGISTRY:
        return REGISTRY[name]
    module_name, colon, class_name = name.partition(":")
    if not (colon and module_name and class_name):
        raise ControllerError(
            f"there is no controller {name!r}; choose one of {', '.join(REGISTRY)}, "
            "or name your own as my_module:MyRule."
        )
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # What the user's own module fails to import is a mistake in there, to be seen in full.
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ControllerError(
            f"controller {name!r}: module {module_name!r} cannot be imported ({error}); "
            "is its folder on PYTHONPATH?"
        ) from error
    if not hasattr(module, class_name):
        raise ControllerError(f"controller {name!r}: {module_name!r} has no {class_name!r}; check the name.")
    found = getattr(module, class_name)
    if not (isinstance(found, type) and issubclass(found, Controller)):
        raise ControllerError(
            f"controller {name!r}: {class_name!r} in {module_name!r} is {found!r}; "
            "make it a subclass of controllers.Controller."
        )
    return found


def make(
    name: str,
    n_sensors: int,
    n_motors: int,
    config: RuleConfig | Mapping[str, Any] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Controller:
    """Make a controller by name.

    Parameters
    ----------
    name : str
        A key of `REGISTRY`, or ``my_module:MyRule``.
    n_sensors, n_motors : int
        Sizes of s and a.
    config : RuleConfig or mapping, optional
        An instance of the rule's `Config`, or its fields by name; the defaults if left out.
    rng : numpy.random.Generator or int, optional
        Source of randomness, which the controller then owns, or a seed for one; 0 if left out.

    Raises
    ------
    ControllerError
        When there is no such rule, or a value is refused.

    Examples
    --------
    >>> from controllers import make
    >>> ulr = make("ulr", n_sensors=19, n_motors=18, config={"eps": 0.003})
    >>> ulr.step([0.0] * 19).shape
    (18,)
    """
    rule = find(name)
    if isinstance(config, Mapping):
        config = rule.Config.from_mapping(config)
    return rule(n_sensors, n_motors, config, rng)
