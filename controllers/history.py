"""What rules that look back have in common: the last few sensor values, newest first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numba import njit

from controllers.base import Array, Controller
from controllers.errors import ControllerError


@njit(cache=True)
def push(history: Array, s: Array) -> None:
    """Put s before the rows of history and drop the oldest: afterwards history[k] is s_{t-k}."""
    for k in range(len(history) - 1, 0, -1):
        for j in range(s.size):
            history[k, j] = history[k - 1, j]
    for j in range(s.size):
        history[0, j] = s[j]


class HistoryController(Controller, ABC):
    """A controller that keeps the last `span` sensor values; its rule moves once they are complete.

    Attributes
    ----------
    history : ndarray, shape (span, n_sensors)
        ``history[k]`` is s_{t-k}.
    filled : int
        How many rows of the history are of consecutive steps since the start or the last `restart`.

    Examples
    --------
    Hebb's rule on velocities, for as many motors as sensors:

    >>> import numpy as np
    >>> from controllers import HistoryController
    >>> class Hebb(HistoryController):
    ...     def span(self):
    ...         return 3
    ...     def update(self, s):
    ...         if self.remember(s):  # history[k] is s_{t-k}
    ...             now, before = -np.diff(self.history, axis=0)
    ...             self.C += 0.1 * np.outer(now, before)
    >>> hebb = Hebb(n_sensors=1, n_motors=1)
    >>> for s in (0.0, 0.5, 1.0):
    ...     _ = hebb.step([s])
    >>> hebb.C
    array([[0.025]])
    """

    memory: ClassVar[tuple[str, ...]] = (*Controller.memory, "history", "filled")

    def set_up(self) -> None:
        """Start with an empty history; a rule that overrides this calls it first."""
        self.history: Array = np.zeros((self.span(), self.n_sensors))
        self.filled = 0

    @abstractmethod
    def span(self) -> int:
        """Give the number of sensor values that the rule looks at."""

    def need_joint_sensors(self, remedy: str) -> None:
        """Refuse a body with motors that have no sensor of their own joint; for `set_up`."""
        if self.n_sensors < self.n_motors:
            raise ControllerError(
                f"{self.n_sensors} sensors for {self.n_motors} motors: {type(self).__name__} needs a joint "
                f"sensor for every motor; add the missing sensors or {remedy}."
            )

    def remember(self, s: Array) -> bool:
        """Take in s; True once the history is complete."""
        push(self.history, s)
        self.filled = min(self.filled + 1, len(self.history))
        return self.filled == len(self.history)

    def restart(self) -> None:
        """Forget past sensor values, not what was learned."""
        self.history[...] = 0.0
        self.filled = 0

    def _last_s(self) -> Array | None:
        return self.history[0] if self.filled else None

    def _model_error(self) -> float:
        """Give the norm of xi_t = s_t - A a_{t-1} for the model in which each joint follows its motor."""
        if self.filled < 2:
            return float("nan")
        A, S = self._model()
        a = np.tanh(self.C @ self.history[1] + self.h)
        return float(np.linalg.norm(self.history[0] - A @ a - S @ self.history[1]))
