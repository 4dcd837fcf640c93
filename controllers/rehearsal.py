"""Rehearse a rule before it is trusted with hours: can it be stored, resumed and frozen?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from controllers.base import Array, Controller
from controllers.errors import ControllerError
from controllers.registry import find

PAUSES = (0, 3, 40)
"""Steps before each copy that is made from the state of the controller."""
STEPS = 12
"""Steps for which a copy must go on as the original does."""


def rehearse(make: Callable[[], Controller], freezes: bool = True) -> None:
    """Refuse a rule whose copies do not go on as it does, or that freezes to something that acts otherwise.

    A few steps with random sensor values: a copy made by ``from_state(state())`` must act and learn like the
    original. If it `freezes`, so must a copy of what it freezes to, whose class must be found again by name;
    and unless the rule has a `freeze` of its own, that must act as the rule did. A rule that breaks down with
    a ControllerError, or over its arithmetic, may do so if its copy does: the values are not those of a body.

    Raises
    ------
    ControllerError
        When the rule is refused.

    Examples
    --------
    A rule with a memory that it does not list:

    >>> from controllers import Controller, ControllerError, rehearse
    >>> class Forgetful(Controller):
    ...     def set_up(self):
    ...         self.mean = 0.0
    ...     def update(self, s):
    ...         self.mean += 0.1 * (s[0] - self.mean)
    ...         self.C += self.mean
    >>> try:
    ...     rehearse(lambda: Forgetful(2, 1))
    ... except ControllerError as error:
    ...     print(str(error).partition(":")[0])
    Forgetful cannot be resumed
    """
    controller = make()
    rule, rng = type(controller).__name__, np.random.default_rng(1)
    for pause in PAUSES:
        s = rng.uniform(-1.0, 1.0, (pause + STEPS, controller.n_sensors))
        if any(isinstance(_outcome(controller, values), str) for values in s[:pause]):
            return
        frozen, copy = controller.freeze() if freezes else None, _copy(controller)
        # A rule that learns first acts on with other weights than it freezes to.
        still = copy.step(s[pause], learn=False) if controller.learns_first else None
        acted = _agree(f"{rule} cannot be resumed", controller, copy, s[pause:])
        acted = acted if still is None else still
        if frozen is None:
            continue
        _refuse_lost(rule, frozen)
        kept = _agree(f"what {rule} freezes to cannot be stored", frozen, _copy(frozen), s[pause:])
        own = type(controller).freeze is not Controller.freeze
        if not own and acted is not None and kept is not None and not _close(acted, kept):
            raise ControllerError(
                f"{rule} acts otherwise than what it freezes to, a = tanh(C s + h): its first motor value is "
                f"{acted[0]:.3g} instead of {kept[0]:.3g}; give it a freeze() of its own."
            )


def _agree(words: str, one: Controller, two: Controller, s: Array) -> Array | None:
    """The first action of two controllers, refused if they do not go on alike; None if both broke down."""
    first = None
    for k, values in enumerate(s):
        a, b = _outcome(one, values), _outcome(two, values)
        if isinstance(a, str) or isinstance(b, str):
            wrong = "" if a == b else "where it breaks down"
        else:
            wrong = next((name for name in a if name not in b or not _close(a[name], b[name])), "")
            first = a["a"] if first is None else first
        if wrong:
            raise ControllerError(
                f"{words}: a copy made by from_state(state()) differs in {wrong} after {k + 1} steps; "
                "list in `memory` all that its future depends on."
            )
        if isinstance(a, str):
            break
    return first


def _copy(controller: Controller) -> Controller:
    """The controller as it would come back from a file."""
    stored = {name: np.array(value) for name, value in controller.state().items()}
    for name, value in stored.items():
        if value.dtype.kind not in "biufc":
            raise ControllerError(f"state() of {type(controller).__name__} has {name!r}, which is no number.")
    return type(controller).from_state(stored)


def _outcome(controller: Controller, s: Array) -> dict[str, np.ndarray] | str:
    """Action and state after a step, or the words with which it broke down."""
    try:
        a = np.asarray(controller.step(s))
    except (ControllerError, ArithmeticError) as error:
        controller._check_weights(str(error).partition(":")[0])  # of another shape: that is no break-down
        return str(error)
    if a.shape != (controller.n_motors,) or a.dtype.kind not in "iuf":
        raise ControllerError(
            f"the action of {type(controller).__name__} has shape {a.shape} and type {a.dtype}; "
            f"this body takes {controller.n_motors} real numbers."
        )
    return {"a": a} | {name: np.array(value) for name, value in controller.state().items()}


def _close(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays agree but for rounding: a matrix product may add up in another order."""
    if np.array_equal(x, y):  # nearly always, and many times as quick
        return True
    return x.shape == y.shape and np.allclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True)


def _refuse_lost(rule: str, frozen: object) -> None:
    kind = type(frozen)
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        known = isinstance(frozen, Controller) and find(name) is kind
    except ControllerError:
        known = False
    if not known:
        raise ControllerError(
            f"{rule} freezes to {name}, which could not be found again; freeze() must give a "
            "Controller whose class stands at the top level of a module."
        )
