"""The barrel: a roller driven by two weights inside it, the simplest body that can do something."""

from __future__ import annotations

from dataclasses import dataclass

from robots.body import Body
from robots.camera import Camera
from robots.inner_weights import InnerWeights, InnerWeightsConfig
from robots.urdf import Vector, capsule, hoop, link, sphere

WOOD: Vector = (0.6, 0.42, 0.25)


@dataclass(frozen=True, kw_only=True)
class BarrelConfig(InnerWeightsConfig):
    """Body, servos and world of the barrel.

    Examples
    --------
    >>> from robots import Barrel, BarrelConfig
    >>> Barrel(BarrelConfig(length=1.0)).config.length
    1.0
    """

    length: float = 0.5
    """Length of the barrel without its round ends [m]."""


class Barrel(InnerWeights):
    """A roller of .7 kg and .2 m radius with two weights on crossed sliders through its axle.

    After Der & Martius, The Playful Machine (2012). It lies along y and rolls along x.

    Actions (2): set points of the weights on the axes x and z in units of the limit .1 m, in [-1, 1];
    power 5 N.

    Observations (4), with coloured noise of amplitude .02:

    =====  ====================================  ==============  =============
    index  sensor                                unit            bound
    =====  ====================================  ==============  =============
    0, 1   positions of the weights              position/limit  2.6 + noise
    2, 3   vertical components of the two axes   1               1.001 + noise
    =====  ====================================  ==============  =============

    Reward and episode: see `RobotEnv`.

    Examples
    --------
    It rolls towards its weights:

    >>> from robots import Barrel
    >>> env = Barrel()
    >>> s, _ = env.reset(seed=0)
    >>> for _ in range(40):
    ...     s, *_ = env.step([1.0, 0.0])
    >>> env.motion()["x"] > 0.01
    True
    """

    Config = BarrelConfig
    config: BarrelConfig
    axes = ("x", "z")
    view = Camera(distance=1.6)

    @classmethod
    def body(cls, config: BarrelConfig) -> Body:
        """Shell along y, drawn as three hoops; the weights slide side by side."""
        radius, length = config.radius, config.length
        hoops = [(rod, WOOD) for y in (-1, 0, 1) for rod in hoop("y", 0.98 * radius, y * length / 2)]
        solid = capsule(radius, length, along="y")
        shell = link("shell", config.shell_mass, solid, visible=False, decoration=hoops)
        middles = [(0.0, side * length / 4, 0.0) for side in (-1, 1)]
        return cls.assemble(config, shell, sphere(radius / 5), middles)
