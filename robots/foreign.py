"""Bodies that are not in the registry: a user's own robot, or any Gymnasium environment."""

from __future__ import annotations

import dataclasses
import importlib
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from robots.base import RobotEnv
from robots.errors import RobotError

LIVE = "live:"
"""Begins the name of a body that was handed over as an object, and that no name can make again."""


class PlainBody:
    """Any Gymnasium environment with boxes of numbers, used like a robot; it cannot be stored and restored.

    Motor values in [-1, 1] are stretched to the bounds of its action space. A run with it cannot go on after
    an interruption, and the recording of a frozen controller begins with a reset.

    Examples
    --------
    >>> import gymnasium as gym
    >>> from robots import PlainBody
    >>> body = PlainBody(gym.make("Pendulum-v1").unwrapped)
    >>> body.sensor_names, body.motor_names
    (('s0', 's1', 's2'), ('a0',))
    >>> s, _ = body.reset(seed=1)
    >>> s, _, ended, _, _ = body.step([1.0])
    """

    resumable = False

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        for what, space in (("observations", env.observation_space), ("actions", env.action_space)):
            if not isinstance(space, gym.spaces.Box) or space.dtype is None or space.dtype.kind != "f":
                raise RobotError(f"the {what} of {env} are {space}: boxes of real numbers are needed")
        self._env = env
        box: Any = env.action_space
        low, high = np.asarray(box.low, float).ravel(), np.asarray(box.high, float).ravel()
        bounded = np.isfinite(low) & np.isfinite(high)
        self._centre, self._half = np.where(bounded, [low + high, high - low], [[0.0], [2.0]]) / 2
        self.sensor_names = tuple(f"s{i}" for i in range(int(np.prod(env.observation_space.shape or ()))))
        self.motor_names = tuple(f"a{i}" for i in range(len(low)))
        self.sensor_units = ("",) * len(self.sensor_names)
        step = getattr(env, "dt", None) or 1 / (env.metadata.get("render_fps") or 50)
        self.config = SimpleNamespace(control_step=float(step))
        self._seed = 0
        self._s: NDArray[np.float32] | None = None

    def reset(self, seed: int | None = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin anew."""
        self._seed = self._seed if seed is None else seed
        s, info = self._env.reset(seed=self._seed)
        self._s = flat = np.asarray(s, np.float32).ravel()
        return flat, info

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One control step; the end of an episode is the end of the run."""
        wanted = (self._centre + self._half * np.asarray(action)).reshape(self._env.action_space.shape or ())
        s, reward, ended, cut, info = self._env.step(wanted.astype(self._env.action_space.dtype))
        self._s = flat = np.asarray(s, np.float32).ravel()
        return flat, float(reward), bool(ended or cut), False, {"reason": "the episode ended"} | info

    def motion(self) -> dict[str, float]:
        """Nothing is known about it from outside."""
        return {}

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Its seed: more cannot be stored."""
        return {"seed": np.array(self._seed)}

    def forget(self) -> None:
        """Let the next `restore` begin with a reset."""
        self._s = None

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Go on, or begin with a reset if it never began or was told to forget."""
        return self.reset(int(snapshot["seed"]))[0] if self._s is None else self._s

    def render(self) -> Any:
        """A picture, if it was made with the render mode "rgb_array"."""
        return self._env.render()

    def close(self) -> None:
        """Close it."""
        self._env.close()


def as_body(env: gym.Env[Any, Any]) -> Any:
    """An environment as experiments use it: itself, if it can be stored and restored, or else wrapped.

    Examples
    --------
    >>> from robots import Barrel, as_body
    >>> type(as_body(Barrel())).__name__
    'Barrel'
    """
    inner = env.unwrapped
    return inner if isinstance(inner, RobotEnv) else PlainBody(inner)


def name_of(env: gym.Env[Any, Any]) -> tuple[str, dict[str, Any]]:
    """Name and settings under which an environment like this one can be made again, if it can.

    Examples
    --------
    >>> import gymnasium as gym
    >>> from robots import name_of
    >>> name_of(gym.make("Pendulum-v1", g=5.0))
    ('Pendulum-v1', {'g': 5.0})
    """
    inner = env.unwrapped
    cls = f"{type(inner).__module__}:{type(inner).__qualname__}"
    if isinstance(inner, RobotEnv):
        return cls, dataclasses.asdict(inner.config) | {"engine": inner.engine}
    if env.spec is not None and env.spec.id in gym.registry:
        return env.spec.id, {key: value for key, value in env.spec.kwargs.items() if key != "render_mode"}
    return LIVE + cls, {}


def load(name: str) -> type[Any]:
    """A user's environment class, named as my_module:MyRobot.

    Examples
    --------
    >>> from robots.foreign import load
    >>> load("robots:Snake").__name__
    'Snake'
    """
    if name.startswith(LIVE):
        raise RobotError(
            f"{name.removeprefix(LIVE)} was handed over as an object, which no name can make again: hand it "
            "over once more (open_run(path, robot=...))"
        )
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise RobotError(f"robot {name!r} is not my_module:MyRobot: name both the module and the class")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0] and error.name != module_name:
            raise
        raise RobotError(
            f"robot {name!r}: module {module_name!r} is not to be found: is its folder on PYTHONPATH?"
        ) from error
    cls = getattr(module, attribute, None)
    if not (isinstance(cls, type) and issubclass(cls, gym.Env)):
        raise RobotError(
            f"robot {name!r}: {attribute!r} in {module_name!r} is {cls!r}: it must be a subclass of "
            "gymnasium.Env"
        )
    return cls
