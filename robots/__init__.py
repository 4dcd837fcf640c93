"""Robots as Gymnasium environments: `gym.make("robots:selforg/Hexapod-v0")`.

`ROBOTS` is the registry: whatever is in it is registered with Gymnasium, listed by `selforg bodies`
and tested. A new robot is one short file and one line below.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym

from robots.barrel import Barrel, BarrelConfig
from robots.base import RobotEnv
from robots.config import RobotConfig
from robots.hexapod import Hexapod, HexapodConfig
from robots.snake import Snake, SnakeConfig
from robots.spherical import Spherical, SphericalConfig

__all__ = [
    "ROBOTS",
    "Barrel",
    "BarrelConfig",
    "Hexapod",
    "HexapodConfig",
    "RobotConfig",
    "RobotEntry",
    "RobotEnv",
    "Snake",
    "SnakeConfig",
    "Spherical",
    "SphericalConfig",
]


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
        Delay of the embedding [steps].
    m_max
        Greatest embedding dimension.
    """

    id: str
    env: type[RobotEnv]
    sensor: int
    tau: int
    m_max: int

    @property
    def config(self) -> type[RobotConfig]:
        """Config class of the environment."""
        return self.env.Config


ROBOTS: dict[str, RobotEntry] = {
    "hexapod": RobotEntry("selforg/Hexapod-v0", Hexapod, sensor=0, tau=4, m_max=25),
    "snake": RobotEntry("selforg/Snake-v0", Snake, sensor=6, tau=8, m_max=19),
    "spherical": RobotEntry("selforg/Spherical-v0", Spherical, sensor=3, tau=8, m_max=15),
    "barrel": RobotEntry("selforg/Barrel-v0", Barrel, sensor=2, tau=8, m_max=15),
}

for _entry in ROBOTS.values():
    gym.register(_entry.id, f"{_entry.env.__module__}:{_entry.env.__name__}")
