"""Robots as Gymnasium environments: `gym.make("robots:selforg/Hexapod-v0")`.

`ROBOTS` is the registry by short name.

Examples
--------
>>> import gymnasium as gym
>>> env = gym.make("robots:selforg/Hexapod-v0")
>>> s, info = env.reset(seed=1)
>>> s, reward, terminated, truncated, info = env.step(env.action_space.sample())
>>> body = env.unwrapped
>>> sorted(body.motion())
['contacts', 'cx', 'cy', 'cz', 'spin', 'tilt', 'vx', 'vy', 'vz', 'x', 'y', 'z']
>>> list(ROBOTS)
['hexapod', 'hexapod-high', 'snake', 'spherical', 'barrel']
>>> sorted(ENGINES)
['mujoco', 'pybullet']
"""

from robots.barrel import Barrel, BarrelConfig
from robots.base import RobotEnv
from robots.config import RobotConfig
from robots.engines import ENGINES, default_engine, engine_version, find_engine
from robots.errors import RobotError
from robots.foreign import PlainBody, as_body, name_of
from robots.hexapod import Hexapod, HexapodConfig
from robots.hexapod_high import HexapodHigh, HexapodHighConfig
from robots.motion_summary import motion_in_windows, motion_in_words
from robots.observed import Description, Observed, longest_stays, peak
from robots.presets import body_preset
from robots.registry import ROBOTS, RobotEntry, describe, description_of, find, name_mode, registered_name
from robots.sheet import contact_sheet, data_sheet
from robots.snake import Snake, SnakeConfig
from robots.spherical import Spherical, SphericalConfig

__all__ = [
    "ENGINES",
    "ROBOTS",
    "Barrel",
    "BarrelConfig",
    "Description",
    "Hexapod",
    "HexapodConfig",
    "HexapodHigh",
    "HexapodHighConfig",
    "Observed",
    "PlainBody",
    "RobotConfig",
    "RobotEntry",
    "RobotEnv",
    "RobotError",
    "Snake",
    "SnakeConfig",
    "Spherical",
    "SphericalConfig",
    "as_body",
    "body_preset",
    "contact_sheet",
    "data_sheet",
    "default_engine",
    "describe",
    "description_of",
    "engine_version",
    "find",
    "find_engine",
    "longest_stays",
    "motion_in_windows",
    "motion_in_words",
    "name_mode",
    "name_of",
    "peak",
    "registered_name",
]
