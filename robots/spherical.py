"""The spherical robot: a ball that rolls by shifting three weights inside it."""

from __future__ import annotations

from dataclasses import dataclass

from robots.body import Body
from robots.camera import Camera
from robots.inner_weights import COLOURS, InnerWeights, InnerWeightsConfig
from robots.urdf import ZERO, hoop, link, sphere


@dataclass(frozen=True, kw_only=True)
class SphericalConfig(InnerWeightsConfig):
    """Body, servos and world of the spherical robot.

    Examples
    --------
    >>> from robots import Spherical, SphericalConfig
    >>> heavy = Spherical(SphericalConfig(weight_mass=0.5))
    >>> _ = heavy.reset(seed=0)
    >>> round(sum(heavy.masses().values()), 6)  # the shell has .3 kg
    1.8
    """

    radius: float = 0.25
    """Radius of the shell [m]."""
    limit: float = 0.15
    """Range of the weights to either side of the centre [m]."""


class Spherical(InnerWeights):
    """A ball of .9 kg and .25 m radius with three weights on perpendicular sliders through its centre.

    After Der & Martius, The Playful Machine (2012). Weights pass through one another.

    Actions (3): set points of the weights on the axes x, y, z in units of the limit .15 m, in [-1, 1];
    power 5 N.

    Observations (6), with coloured noise of amplitude .02:

    =====  ======================================  ==============  =============
    index  sensor                                  unit            bound
    =====  ======================================  ==============  =============
    0..2   positions of the weights                position/limit  2.6 + noise
    3..5   vertical components of the three axes   1               1.001 + noise
    =====  ======================================  ==============  =============

    Reward and episode: see `RobotEnv`.

    Examples
    --------
    >>> from robots import Spherical, SphericalConfig
    >>> env = Spherical(SphericalConfig(noise=0.0))
    >>> s, _ = env.reset(seed=0)
    >>> [round(float(x), 6) + 0 for x in s]  # weights in the middle; only the z-axis points upwards
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    Config = SphericalConfig
    config: SphericalConfig
    axes = ("x", "y", "z")
    view = Camera(distance=1.4)

    @classmethod
    def body(cls, config: SphericalConfig) -> Body:
        """Shell around the origin, drawn as three hoops; a weight per axis."""
        radius, mass = config.radius, config.shell_mass
        hoops = [(rod, COLOURS[name]) for name in cls.axes for rod in hoop(name, 0.98 * radius)]
        hollow = (2 / 3 * mass * radius**2,) * 3
        shell = link("shell", mass, sphere(radius), inertia=hollow, decoration=hoops, visible=False)
        return cls.assemble(config, shell, sphere(radius / 6), [ZERO] * 3)
