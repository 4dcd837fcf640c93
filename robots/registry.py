"""All robots by name: how they are found, quantified by default, and described.

A new robot is one short file and one line below: whatever is in `ROBOTS` is registered with Gymnasium, listed
by `selforg bodies` and tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from robots.barrel import Barrel
from robots.base import RobotEnv
from robots.config import RobotConfig
from robots.errors import RobotError
from robots.foreign import as_body, load, name_of
from robots.hexapod import Hexapod
from robots.hexapod_high import HexapodHigh
from robots.observed import Description, Observed
from robots.snake import Snake
from robots.spherical import Spherical


@dataclass(frozen=True)
class RobotEntry:
    """A registered robot and how its behaviour is quantified by default.

    Attributes
    ----------
    id
        Name of the environment for `gymnasium.make`.
    env
        Environment class.
    sensor
        Index of the sensor whose time series is quantified.
    tau
        Delay of the embedding [steps]; None to choose it from the data.
    m_max
        Greatest embedding dimension.

    Examples
    --------
    >>> from robots import ROBOTS, RobotEntry, Snake
    >>> ROBOTS["snake"] == RobotEntry("selforg/Snake-v0", Snake, sensor=6, tau=8, m_max=19)
    True
    >>> env = ROBOTS["snake"].env(ROBOTS["snake"].config(noise=0.0))
    """

    id: str
    env: Any = None
    sensor: int = 0
    tau: int | None = None
    m_max: int = 10

    @property
    def config(self) -> type[RobotConfig] | None:
        """Config class of the environment; None for one that is no robot, which takes any keywords."""
        env = self._class()
        return env.Config if env is not None and issubclass(env, RobotEnv) else None

    @property
    def description(self) -> Description | None:
        """What to look for in this robot, if that has been stated."""
        env = self._class()
        return env.description if env is not None and issubclass(env, RobotEnv) else None

    def make(self, settings: Mapping[str, Any] | None = None, render_mode: str | None = None) -> Any:
        """A body with these settings, of which `engine` may be one, without Gymnasium's wrappers.

        Examples
        --------
        >>> from robots import find
        >>> find("snake").make({"gravity": 3.0}).config.gravity
        3.0
        """
        given = dict(settings or {})
        if self.config is not None:
            engine = given.pop("engine", None)
            given = {"config": self.config(**given)} | ({"engine": engine} if engine else {})
        if render_mode is not None:
            given["render_mode"] = render_mode
        env = self._class()
        try:
            return as_body(
                gym.make(self.id, disable_env_checker=True, **given) if env is None else env(**given)
            )
        except TypeError as error:
            raise RobotError(f"{self.id} cannot be made with {dict(settings or {})}: {error}") from error

    def _class(self) -> type[Any] | None:
        return self.env or (None if self.id in gym.registry else load(self.id))

    def source(self) -> type[Any] | None:
        """Class whose code the body is; None where Gymnasium makes it by a function.

        Examples
        --------
        >>> from robots import find
        >>> find("Pendulum-v1").source().__name__
        'PendulumEnv'
        """
        if (found := self._class()) is not None:
            return found
        maker = gym.spec(self.id).entry_point
        made = load(maker) if isinstance(maker, str) else maker
        return made if isinstance(made, type) else None


ROBOTS: dict[str, RobotEntry] = {
    "hexapod": RobotEntry("selforg/Hexapod-v0", Hexapod, sensor=0, tau=4, m_max=25),
    "hexapod-high": RobotEntry("selforg/HexapodHigh-v1", HexapodHigh, sensor=0, tau=4, m_max=25),
    "snake": RobotEntry("selforg/Snake-v0", Snake, sensor=6, tau=8, m_max=19),
    "spherical": RobotEntry("selforg/Spherical-v0", Spherical, sensor=3, tau=8, m_max=15),
    "barrel": RobotEntry("selforg/Barrel-v0", Barrel, sensor=2, tau=8, m_max=15),
}

for _entry in ROBOTS.values():
    gym.register(_entry.id, f"{_entry.env.__module__}:{_entry.env.__name__}")


def find(robot: str) -> RobotEntry:
    """Entry of a robot by name: of the registry, my_module:MyRobot, or the id of a Gymnasium environment.

    A user's module is imported when a body is made, not here.

    Raises
    ------
    RobotError
        When there is no such robot.

    Examples
    --------
    >>> from robots import find
    >>> find("barrel").id
    'selforg/Barrel-v0'
    >>> find("Pendulum-v1").make().motor_names
    ('a0',)
    """
    if robot in ROBOTS:
        return ROBOTS[robot]
    if robot not in gym.registry and ":" not in robot:
        raise RobotError(
            f"there is no robot {robot!r}: choose one of {', '.join(ROBOTS)}, or name your own as "
            "my_module:MyRobot"
        )
    return RobotEntry(robot)


def registered_name(env: gym.Env[Any, Any]) -> tuple[str, dict[str, Any]]:
    """As `name_of`, with the short name of a robot of the registry.

    Examples
    --------
    >>> from robots import Snake, registered_name
    >>> registered_name(Snake())[0]
    'snake'
    """
    name, settings = name_of(env)
    known = {entry.env: short for short, entry in ROBOTS.items()}
    return known.get(type(env.unwrapped), name), settings


def description_of(robot: str) -> Description:
    """What to look for in a robot, and what to call it.

    Raises
    ------
    RobotError
        When there is no such robot, or nobody has said what to look for in it.

    Examples
    --------
    >>> from robots import description_of
    >>> description_of("hexapod").mode({"airtime": 0.4, "peak_share": 0.9, "std_x1": 0.5})
    'jumping'
    """
    found = find(robot).description
    if found is None:
        known = ", ".join(name for name, entry in ROBOTS.items() if entry.description)
        raise RobotError(
            f"what to look for is stated for {known}, not for {robot!r}: give its class a description"
        )
    return found


def describe(robot: str, observed: Observed) -> dict[str, str | float]:
    """The numbers of a behaviour, and its name in `mode`; refuses a robot without `description_of`.

    Examples
    --------
    A hexapod that lies still:

    >>> import numpy as np
    >>> from robots import Observed, describe
    >>> still = {"z": np.full(100, 0.3), "tilt": np.zeros(100), "contacts": np.full(100, 6.0)}
    >>> found = describe("hexapod", Observed(50.0, 1, np.zeros((100, 19)), still, 18))
    >>> found["mode"], found["airtime"]
    ('quiet', 0.0)
    """
    description = description_of(robot)
    numbers = description.numbers(observed)
    return {"mode": description.mode(numbers), **numbers}


def name_mode(robot: str, numbers: dict[str, float]) -> str:
    """The name of what the numbers tell, by criteria that are stated with each robot's description.

    Examples
    --------
    >>> from robots import name_mode
    >>> name_mode("snake", {"roll": -0.8, "joint_std": 0.5, "speed": 0.1})
    'rolling'
    """
    return description_of(robot).mode(numbers)
