"""The engines that move the bodies: which there are, which is the default here, and how a world is opened."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys

from robots.body import Body
from robots.config import RobotConfig
from robots.errors import RobotError
from robots.world import World

ENGINES = ("pybullet", "mujoco")
"""The engines by name, which is that of their library as well."""


def default_engine() -> str:
    """Engine of a body whose maker names none: PyBullet where it comes ready-made, else MuJoCo.

    PyBullet has no wheel beyond Python 3.11: where it is newer, PyBullet is used if it is asked for.

    Examples
    --------
    >>> from robots import default_engine
    >>> default_engine() in ("pybullet", "mujoco")
    True
    """
    old = sys.version_info < (3, 12)
    return "pybullet" if old and importlib.util.find_spec("pybullet") else "mujoco"


def find_engine(name: str | None) -> str:
    """This engine, or the default for None; refuses one that does not exist or is not installed.

    Examples
    --------
    >>> from robots import RobotError, find_engine
    >>> try:
    ...     find_engine("ode")
    ... except RobotError as error:
    ...     print(error)
    engine is 'ode': choose 'pybullet' or 'mujoco'
    """
    name = default_engine() if name is None else name
    if name not in ENGINES:
        raise RobotError(f"engine is {name!r}: choose {' or '.join(map(repr, ENGINES))}")
    if importlib.util.find_spec(name) is None:
        other = ENGINES[1 - ENGINES.index(name)]
        raise RobotError(f"engine is {name!r}: it is not installed; pip install {name}, or choose {other!r}")
    return name


def engine_version(name: str) -> str:
    """Version of an engine's library; empty where it is not installed.

    Examples
    --------
    >>> from robots import default_engine, engine_version
    >>> engine_version(default_engine()) > ""
    True
    """
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def open_world(engine: str, body: Body, config: RobotConfig, render_mode: str | None = None) -> World:
    """A world of this engine; the library is loaded when its first world is opened."""
    if engine == "mujoco":
        from robots.mujoco_world import MujocoWorld

        return MujocoWorld(body, config, render_mode)
    from robots.bullet_world import BulletWorld

    return BulletWorld(body, config, render_mode)
