"""What the commands that look can be asked for; the docs of the fields are the help."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from experiments.settings import ASIDE, Own, Parallel, Physics, settings

FOLDER = Path(__file__).parents[1] / "runfiles" / "behaviours"
"""Of the behaviours that come along, in a folder for each engine."""


def comes_along(engine: str | None = None) -> Path:
    """Folder of the behaviours that come along, learned in this engine or in the one that is usual here."""
    from robots import default_engine

    return FOLDER / (engine or default_engine())


@settings
class Bodies(Physics):
    """Print the robots' data sheets: motors, sensors, limits, masses and defaults."""

    robot: str | None = None
    """Only this robot."""
    picture: Path | None = None
    """Write a contact sheet of the robots in their starting pose to this file (PNG)."""


@settings
class Doctor:
    """Check whether everything works on this machine, and how fast."""


@settings
class Show:
    """Print what a run file (or any HDF5 file) holds."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """File to look into; it may still be growing."""


@settings
class Behaviours(Own, Parallel):
    """List behaviours, your own too; check that they go on, or keep one of a run."""

    check: bool = False
    """Record each behaviour and compare the first tenth with the last: does it go on?"""
    samples: int = 1_000_000
    """Samples for --check."""
    transient: int = 10_000
    """Samples before those, while the behaviour settles after freezing."""
    name: tuple[str, ...] = ()
    """Only these behaviours; with --keep the name of the new one."""
    keep: Path | None = None
    """Run file of which one frozen controller is to be kept as a behaviour."""
    freeze: float | None = None
    """With --keep: its freeze time in minutes."""
    about: str = ""
    """With --keep: what one sees, in a few words."""
    engine: Literal["pybullet", "mujoco"] | None = None
    """Those that come along as learned in this engine; the usual one here if not given."""
    folder: Path | None = None
    """Only the behaviours of this folder; with --keep where the new one goes, in place of your own folder."""
    out: Path = field(default=Path("runs/behaviours"), metadata=ASIDE)
    """Where --check puts its recordings."""


@settings
class Salvage:
    """Copy the readable rows of a damaged run file into a new one."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The damaged file; it is not changed."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="NEW")]
    """The new file; it must not exist yet."""


@settings
class Robots:
    """List the robots, or every setting of one with default, unit and range."""

    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[ROBOT]")] = None
    """A robot by name, or your own as my_module:MyRobot."""


@settings
class Rules:
    """List the learning rules, or every setting of one with default and range."""

    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[RULE]")] = None
    """A rule by name, or your own as my_module:MyRule."""


@settings
class Explain:
    """Say what a quantity or a word of the tables means."""

    word: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[WORD]")] = ()
    """Such as kappa, E_core, eps or "no scaling region"; all of them in a line each if not given."""
