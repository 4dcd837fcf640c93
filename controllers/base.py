"""The protocol that all controllers share, and `Frozen`, the controller that only acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from controllers.config import RuleConfig
from controllers.errors import ControllerError
from controllers.generator import generator_from_words, generator_to_words

Array = NDArray[np.float64]
FLOAT64 = np.dtype(np.float64)


@njit(cache=True)
def act(C: Array, h: Array, s: Array, a: Array) -> bool:
    """Write a = tanh(C s + h); False when a sensor value or an action is not finite."""
    finite = True
    for j in range(s.size):
        finite &= np.isfinite(s[j])  # tanh would turn an infinite sensor into a harmless looking 1
    for i in range(a.size):
        z = h[i]
        for j in range(s.size):
            z += C[i, j] * s[j]
        a[i] = np.tanh(z)
        finite &= not np.isnan(a[i])
    return finite


@njit(cache=True)
def _all_finite(x: Array) -> bool:
    finite = True
    for value in x.flat:
        finite &= np.isfinite(value)
    return finite


class Controller:
    """Act with a = tanh(C s + h); a rule that moves C and h is a subclass with its own `update`.

    A subclass names its settings in `Config`, makes its arrays and the first C in `set_up`, lists in
    `memory` the attributes that its future depends on, causes before effects, and moves C and h in place
    in `update(s)`. Checks, freezing, storing and inspecting come from here.

    Parameters
    ----------
    n_sensors, n_motors : int
        Sizes of s and a. Sensor i < n_motors is the joint that motor i moves; further sensors have no motor.
    config : RuleConfig, optional
        Settings of the rule, an instance of its `Config`; the defaults if left out.
    rng : numpy.random.Generator or int, optional
        Source of randomness, which the controller then owns, or a seed for one; 0 if left out.

    Attributes
    ----------
    C, h : ndarray of float64, shapes (n_motors, n_sensors) and (n_motors,)
        The live weights: they move while the controller learns, so copy what you want to keep.
    gamma : ndarray, shape (n_motors,)
        The channel-specific rates of the last step, for those who look on; NaN where a rule has none.
    t : int
        Number of learning steps so far.

    Raises
    ------
    ControllerError
        When sizes, settings, sensor values or weights are not usable.

    Examples
    --------
    A rule that lets C grow:

    >>> from controllers import Controller
    >>> class Growing(Controller):
    ...     def set_up(self):
    ...         self.C[0, 0] = 1.0
    ...     def update(self, s):
    ...         self.C *= 1.1
    >>> growing = Growing(n_sensors=2, n_motors=1)
    >>> a = growing.step([0.5, 0.0])  # acts on s, then learns from it
    >>> print(a.round(3), growing.C)
    [0.462] [[1.1 0. ]]
    """

    Config: ClassVar[type[RuleConfig]] = RuleConfig
    memory: ClassVar[tuple[str, ...]] = ("C", "h", "t")
    learns_first: ClassVar[bool] = False
    """Whether a step learns from s before it acts on it."""

    def __init__(
        self,
        n_sensors: int,
        n_motors: int,
        config: RuleConfig | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        for name, size in (("n_sensors", n_sensors), ("n_motors", n_motors)):
            if not isinstance(size, int | np.integer) or size < 1:
                raise ControllerError(f"{name} = {size!r} is not a positive int; count those of the body.")
        config = self.Config() if config is None else config
        if not isinstance(config, self.Config):
            raise ControllerError(
                f"{type(self).__name__} takes a {self.Config.__name__}, not {config!r}; "
                f"use {type(self).__name__}.Config(...)."
            )
        self.n_sensors, self.n_motors, self.config = int(n_sensors), int(n_motors), config
        self.rng = np.random.default_rng(0 if rng is None else rng)
        self.C: Array = np.zeros((n_motors, n_sensors))
        self.h: Array = np.zeros(n_motors)
        self.gamma: Array = np.full(self.n_motors, np.nan)
        self.t = 0
        self._acted = 0  # only for messages: acting must leave the state alone
        self.set_up()
        self._check_weights("set_up")

    def set_up(self) -> None:
        """Make the arrays of the rule and the C that it starts from; sizes, `config` and `rng` are there."""

    def act(self, s: ArrayLike) -> Array:
        """Give the action a = tanh(C s + h) for the sensor values s; changes nothing."""
        return self._act(self._read(s))

    def learn(self, s: ArrayLike) -> None:
        """Take in the next sensor values and move C and h by one step of the rule.

        The values are those of consecutive control steps; call `restart` when they are not.
        """
        self._learn(self._read(s))

    def step(self, s: ArrayLike, learn: bool = True) -> Array:
        """Act on s, then learn from it: the same as `act(s)` and `learn(s)` one after the other.

        The action is that of the weights before learning, or, for a rule that `learns_first`, after it. With
        `learn=False` nothing in the state changes.
        """
        values = self._read(s)
        if learn and self.learns_first:
            self._learn(values)
            return self.act(values)
        a = self.act(values)
        if learn:
            self._learn(values)
        return a

    def update(self, s: Array) -> None:
        """Move C and h in place by one step of the rule; the base class leaves them fixed."""

    def restart(self) -> None:
        """Forget past sensor values, not what was learned: call it when s_t does not follow s_{t-1}."""

    def freeze(self) -> Controller:
        """Give a controller that acts like this one now and never learns."""
        return Frozen(self.C, self.h)

    def state(self) -> dict[str, np.ndarray]:
        """Give everything that the future depends on, settings included, as a dict of numeric arrays."""
        state = {"n_sensors": np.array(self.n_sensors), "n_motors": np.array(self.n_motors)}
        state |= {f"config.{name}": array for name, array in self.config.to_arrays().items()}
        state |= {name: np.array(getattr(self, name)) for name in self.memory}
        state["rng"] = generator_to_words(self.rng)
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, ArrayLike]) -> Self:
        """Make the controller that `state()` described; it goes on bit for bit as the original would have.

        Raises
        ------
        ControllerError
            When an entry is missing, has another shape than the settings imply, or is not finite.
        """
        arrays = {name: np.asarray(value) for name, value in state.items()}
        needed = ["n_sensors", "n_motors", "rng", *cls.memory]
        if missing := [name for name in needed if name not in arrays]:
            raise ControllerError(
                f"this state lacks {', '.join(missing)}; was it stored by {cls.__name__}.state()?"
            )
        config = {n.removeprefix("config."): x for n, x in arrays.items() if n.startswith("config.")}
        self = cls(
            int(arrays["n_sensors"]),
            int(arrays["n_motors"]),
            cls.Config.from_arrays(config),
            generator_from_words(arrays["rng"]),
        )
        self._load(arrays)
        # making the controller may have drawn from its generator
        self.rng = generator_from_words(arrays["rng"])
        return self

    def inspect(self, s: ArrayLike | None = None) -> dict[str, Any]:
        """Give the quantities that one plots while a controller learns; costs nothing until it is called.

        Parameters
        ----------
        s : array_like, optional
            Sensor values at which the loop is linearised; the last learned ones if left out, or rest if none.

        Returns
        -------
        dict
            ``C_norm``: Frobenius norm of C. ``C_singular_values``: its spectrum, largest first.
            ``L_eigenvalues``: complex eigenvalues of the loop Jacobian L = A diag(g') C + S, largest modulus
            first. ``model_error``: norm of xi, the last prediction error. ``gamma``: the channel-specific
            rates of the last step, one per motor. What a rule does not have, or not yet, is NaN.
        """
        values = self._last_s() if s is None else self._read(s)
        if values is None:
            values = np.zeros(self.n_sensors)
        A, S = self._model()
        g = 1.0 - np.tanh(self.C @ values + self.h) ** 2
        eigenvalues = np.linalg.eigvals(A @ (g[:, None] * self.C) + S).astype(complex)
        return {
            "C_norm": float(np.linalg.norm(self.C)),
            "C_singular_values": np.linalg.svd(self.C, compute_uv=False),
            "L_eigenvalues": eigenvalues[np.argsort(-np.abs(eigenvalues), kind="stable")],
            "model_error": self._model_error(),
            "gamma": self.gamma.copy(),
        }

    def _last_s(self) -> Array | None:
        """Give the last sensor values that were learned from, if any."""
        return None

    def _model(self) -> tuple[Array, Array]:
        """Give A and S of the forward model s^ = A a + S s + b; here each joint follows its motor."""
        return np.eye(self.n_sensors, self.n_motors), np.zeros((self.n_sensors, self.n_sensors))

    def _model_error(self) -> float:
        return float("nan")

    def _read(self, s: ArrayLike) -> Array:
        values = np.asarray(s, dtype=np.float64)
        if values.shape != (self.n_sensors,):
            raise ControllerError(
                f"sensor values of shape {values.shape} do not fit; "
                f"this controller reads shape ({self.n_sensors},)."
            )
        return values

    def _check_weights(self, when: str) -> None:
        """Refuse what a rule may have put in the place of C or h: kernels trust their shapes."""
        C, h = self.C, self.h
        if not (
            type(C) is type(h) is np.ndarray
            and C.shape == (self.n_motors, self.n_sensors)
            and h.shape == (self.n_motors,)
            and C.dtype == h.dtype == FLOAT64
        ):
            found = ", ".join(f"{np.shape(x)} {getattr(x, 'dtype', type(x).__name__)}" for x in (C, h))
            raise ControllerError(
                f"{when}: C and h are {found}; they must stay arrays of float64 with shapes "
                f"{(self.n_motors, self.n_sensors)} and {(self.n_motors,)}: move them in place, C[...] = ..."
            )

    def _act(self, s: Array) -> Array:
        self._check_weights(f"action {self._acted}")
        a = np.empty(self.n_motors)
        if not act(self.C, self.h, s, a):
            self._refuse_sensors(s, f"action {self._acted}")
            self._refuse_weights(f"action {self._acted}")
            i = int(np.flatnonzero(np.isnan(a))[0])
            raise ControllerError(
                f"action {self._acted}: row {i} of C s + h overflows; scale the sensors to about [-1, 1]."
            )
        self._acted += 1
        return a

    def _learn(self, s: Array) -> None:
        if not _all_finite(s):
            self._refuse_sensors(s, f"learning step {self.t}")
        self.update(s)
        self._check_weights(f"learning step {self.t}")
        for name in self.memory:
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and not _all_finite(value):
                self._refuse_weights(f"learning step {self.t}")
        self.t += 1

    def _refuse_sensors(self, s: Array, when: str) -> None:
        for j in np.flatnonzero(~np.isfinite(s)):
            raise ControllerError(
                f"{when}: sensor {j} is {s[j]}; stop the run and look at the body, "
                "whose simulation has probably blown up."
            )

    def _refuse_weights(self, when: str) -> None:
        arrays = {n: x for n in self.memory if isinstance(x := getattr(self, n), np.ndarray)}
        for name, value in arrays.items():
            if not np.isfinite(value).all():
                where = ", ".join(map(str, np.argwhere(~np.isfinite(value))[0]))
                # what overflowed is often the victim of another array that grew without bound before
                sizes = {n: np.abs(x[np.isfinite(x)]).max(initial=0.0) for n, x in arrays.items()}
                largest = max(sizes, key=lambda n: sizes[n])
                raise ControllerError(
                    f"{when}: {name}[{where}] is not finite; the largest finite values are in {largest}, "
                    f"{sizes[largest]:.2g}. Lower the learning rate or tighten the clip, and start again "
                    "from a stored state."
                )

    def _load(self, arrays: Mapping[str, np.ndarray]) -> None:
        for name in self.memory:
            mine, stored = getattr(self, name), arrays[name]
            if np.shape(mine) != stored.shape:
                raise ControllerError(
                    f"stored {name} has shape {stored.shape}, but the settings imply {np.shape(mine)}; "
                    "the state is mixed up."
                )
            if isinstance(mine, np.ndarray):
                mine[...] = stored
            else:
                setattr(self, name, type(mine)(stored))
        self._refuse_weights("stored state")


class Frozen(Controller):
    """Act with fixed weights: exactly a = tanh(C s + h), and nothing else.

    Parameters
    ----------
    C : array_like, shape (n_motors, n_sensors)
    h : array_like, shape (n_motors,)
        Copied; the attributes of the same name are read-only.

    Examples
    --------
    >>> from controllers import Frozen
    >>> frozen = Frozen(C=[[1.2, 0.0]], h=[0.1])
    >>> frozen.act([0.5, 0.3]).round(3)
    array([0.604])
    >>> sorted(frozen.state())
    ['C', 'h']
    """

    memory = ("C", "h")

    def __init__(self, C: ArrayLike, h: ArrayLike) -> None:
        weights, bias = np.array(C, dtype=np.float64, order="C"), np.array(h, dtype=np.float64)
        if weights.ndim != 2 or bias.shape != weights.shape[:1]:
            raise ControllerError(
                f"C of shape {weights.shape} and h of shape {bias.shape} do not fit; "
                "give (n_motors, n_sensors) and (n_motors,)."
            )
        super().__init__(weights.shape[1], weights.shape[0])
        self._C, self._h = weights, bias
        self.C, self.h = weights.view(), bias.view()
        self.C.flags.writeable = self.h.flags.writeable = False
        self._refuse_weights("frozen weights")

    def _act(self, s: Array) -> Array:
        # The same as the parent's with the writable arrays, for which the kernel is compiled.
        a = np.empty(self.n_motors)
        if not act(self._C, self._h, s, a):
            return super()._act(s)
        self._acted += 1
        return a

    def _learn(self, s: Array) -> None:
        """Leave everything as it is."""

    def freeze(self) -> Frozen:
        """Give itself."""
        return self

    def state(self) -> dict[str, np.ndarray]:
        """Give C and h."""
        return {"C": self.C.copy(), "h": self.h.copy()}

    @classmethod
    def from_state(cls, state: Mapping[str, ArrayLike]) -> Self:
        """Make the controller from a stored C and h.

        Raises
        ------
        ControllerError
            When the state is not that of a frozen controller.
        """
        if set(state) != set(cls.memory):
            raise ControllerError(
                f"this state holds {', '.join(state)}, but a frozen controller has C and h alone; restore it "
                "with the class that stored it, then freeze()."
            )
        return cls(state["C"], state["h"])
