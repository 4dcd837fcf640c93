"""Bodies as text: links with mass, inertia and colour, and the joints between them, in URDF.

A robot's body is generated from its config, so that every length and mass is a number of the config
and nothing else. All shapes are solid and of uniform density. Lengths in m, masses in kg, angles in rad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import cos, pi, sin
from xml.etree import ElementTree

from robots.errors import RobotError

Vector = tuple[float, float, float]
ZERO: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Shape:
    """A solid in the frame of its link.

    `geometry` is URDF, `inertia` the moments about the link's axes per kilogramme [m²], `xyz` the centre,
    `rpy` the turn of the geometry's own z-axis.
    """

    geometry: str
    inertia: Vector
    xyz: Vector = ZERO
    rpy: Vector = ZERO


def box(x: float, y: float, z: float, xyz: Vector = ZERO) -> Shape:
    """Cuboid with the edge lengths x, y, z."""
    inertia = ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)
    return Shape(f'<box size="{x!r} {y!r} {z!r}"/>', inertia, xyz)


def sphere(radius: float, xyz: Vector = ZERO) -> Shape:
    """Ball."""
    return Shape(f'<sphere radius="{radius!r}"/>', (0.4 * radius**2,) * 3, xyz)


def capsule(radius: float, length: float, xyz: Vector = ZERO, along: str = "x") -> Shape:
    """Cylinder of the given length along one axis of the link with two half balls on its ends."""
    cylinder, caps = pi * radius**2 * length, 4 / 3 * pi * radius**3
    density = 1 / (cylinder + caps)
    axial = density * (cylinder * radius**2 / 2 + caps * 0.4 * radius**2)
    # Each half ball's centre of mass is 3/8 radius outside the cylinder's end.
    across = density * (
        cylinder * (radius**2 / 4 + length**2 / 12)
        + caps * (0.4 * radius**2 + length**2 / 4 + 3 / 8 * length * radius)
    )
    moments = {"x": (axial, across, across), "y": (across, axial, across), "z": (across, across, axial)}
    turn = {"x": (0.0, pi / 2, 0.0), "y": (pi / 2, 0.0, 0.0), "z": ZERO}
    return Shape(f'<capsule radius="{radius!r}" length="{length!r}"/>', moments[along], xyz, turn[along])


def hoop(normal: str, radius: float, height: float = 0.0, n: int = 24) -> list[Shape]:
    """Ring of n thin rods perpendicular to an axis, centred on it at the given height; to be drawn only."""
    thickness, length = 0.02 * radius, 2 * pi * radius / n
    rods = []
    for angle in (2 * pi * k / n for k in range(n)):
        a, b = radius * cos(angle), radius * sin(angle)
        # A rod lies along its own z-axis: turn that into the ring's tangent.
        place: dict[str, tuple[Vector, Vector]] = {
            "x": ((height, a, b), (angle, 0.0, 0.0)),
            "y": ((b, height, a), (0.0, angle % pi - pi / 2, 0.0)),
            "z": ((a, b, height), (pi / 2, 0.0, angle)),
        }
        centre, turn = place[normal]
        rods.append(replace(capsule(thickness, length), xyz=centre, rpy=turn))
    return rods


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


def link(
    name: str,
    mass: float,
    shape: Shape | None = None,
    *,
    colour: Vector = (0.7, 0.7, 0.7),
    inertia: Vector | None = None,
    decoration: Sequence[tuple[Shape, Vector]] = (),
    visible: bool = True,
) -> str:
    """Describe a rigid part.

    Parameters
    ----------
    name
        Name of the link.
    mass
        Mass [kg].
    shape
        Solid that collides, is drawn and gives the moments of inertia; None for a bare mass.
    colour
        Red, green, blue in [0, 1].
    inertia
        Principal moments [kg m²] that replace those of the shape.
    decoration
        Shapes with their colours that are only drawn.
    visible
        Whether the shape itself is drawn.
    """
    origin = "" if shape is None else f'<origin xyz="{_numbers(shape.xyz)}" rpy="{_numbers(shape.rpy)}"/>'
    if inertia is None:
        if shape is None:
            raise RobotError(f"link {name!r} has no shape: state its inertia")
        inertia = (mass * shape.inertia[0], mass * shape.inertia[1], mass * shape.inertia[2])
    ixx, iyy, izz = (repr(float(i)) for i in inertia)
    moments = f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/>'
    # Without a turn: the simulator reports the base in the frame of its inertia.
    centre = f'<origin xyz="{_numbers(ZERO if shape is None else shape.xyz)}"/>'
    parts = [f'<inertial>{centre}<mass value="{float(mass)!r}"/>{moments}</inertial>']
    drawn = [(shape, colour)] if shape is not None and visible else []
    for i, (solid, rgb) in enumerate([*drawn, *decoration]):
        at = f'<origin xyz="{_numbers(solid.xyz)}" rpy="{_numbers(solid.rpy)}"/>'
        paint = f'<material name="{name}{i}"><color rgba="{_numbers(rgb)} 1"/></material>'
        parts.append(f"<visual>{at}<geometry>{solid.geometry}</geometry>{paint}</visual>")
    if shape is not None:
        parts.append(f"<collision>{origin}<geometry>{shape.geometry}</geometry></collision>")
    return f'<link name="{name}">{"".join(parts)}</link>\n'


def joint(
    name: str,
    parent: str,
    child: str,
    axis: Vector,
    stop: float,
    *,
    xyz: Vector = ZERO,
    rpy: Vector = ZERO,
    kind: str = "revolute",
) -> str:
    """Connect two links by a hinge (`revolute`) or a slider (`prismatic`) with hard stops at ±stop."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{_numbers(xyz)}" rpy="{_numbers(rpy)}"/><axis xyz="{_numbers(axis)}"/>'
        f'<limit lower="{-stop!r}" upper="{stop!r}" effort="0" velocity="0"/></joint>\n'
    )


def robot(name: str, parts: Sequence[str]) -> str:
    """Complete URDF document of the links and joints."""
    return f'<?xml version="1.0"?>\n<robot name="{name}">\n{"".join(parts)}</robot>\n'


@lru_cache(maxsize=16)
def on_balls(urdf: str) -> str:
    """The same robot with two balls in place of each capsule that collides, the round ends of the capsule.

    On a plane a capsule lies on its ends, so nothing changes but what Bullet makes of it. Bullet remembers
    several points of a capsule, which turn with it, and those behind the axle drive it on: left to itself, a
    rolling capsule is ten times as fast after ten seconds. Of a ball it knows one point, below the centre.

    Examples
    --------
    >>> from robots.urdf import capsule, link, on_balls, robot
    >>> roller = robot("roller", [link("shell", 1.0, capsule(0.2, 0.5, along="y"))])
    >>> on_balls(roller).count("<sphere")
    2
    """
    document = ElementTree.fromstring(urdf)
    for part in document.iter("link"):
        for solid in part.findall("collision"):
            shape, origin = solid.find("geometry/capsule"), solid.find("origin")
            if shape is None or origin is None:
                continue
            part.remove(solid)
            x, y, z = map(float, origin.get("xyz", "0 0 0").split())
            roll, pitch, yaw = map(float, origin.get("rpy", "0 0 0").split())
            # The geometry's own z-axis, turned.
            along = (
                cos(yaw) * sin(pitch) * cos(roll) + sin(yaw) * sin(roll),
                sin(yaw) * sin(pitch) * cos(roll) - cos(yaw) * sin(roll),
                cos(pitch) * cos(roll),
            )
            for half in (-float(shape.get("length", 0)) / 2, float(shape.get("length", 0)) / 2):
                end = _numbers([at + half * to for at, to in zip((x, y, z), along, strict=True)])
                ball = ElementTree.SubElement(part, "collision")
                ElementTree.SubElement(ball, "origin", xyz=end)
                geometry = ElementTree.SubElement(ball, "geometry")
                ElementTree.SubElement(geometry, "sphere", radius=shape.get("radius", ""))
    ElementTree.indent(document)  # Bullet's reader fails on very long lines
    return ElementTree.tostring(document, encoding="unicode")
