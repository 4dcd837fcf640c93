"""What `selforg learn`, `record` and `quantify` can be asked for; the docs of the fields are the help."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from experiments.settings import ASIDE, Changes, Own, Parallel, Reading, Transplant, settings


@settings
class Learn(Changes):
    """Run a learning experiment and freeze the controller at chosen times."""

    robot: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ROBOT")]
    """Body to learn with, such as hexapod or snake, or your own as my_module:MyRobot."""
    controller: str = "ulr"
    """Learning rule by name, or your own as my_module:MyRule."""
    minutes: float = 8.0
    """Length of the experiment in simulated minutes; a shorter run in the file goes on from its end."""
    freeze: tuple[float, ...] = (2.0, 4.0, 8.0)
    """Minutes at which a copy of the controller is frozen."""
    seed: int = 1
    """Seed of everything random."""
    out: Path | None = field(default=None, metadata=ASIDE)
    """File to write; runs/ROBOT-CONTROLLER-SEED.h5, with the preset if there is one, if not given."""
    interval: float = 1.0
    """Seconds between two stored values of C and h."""
    measure: float | None = None
    """Seconds between two measurements of the body from outside (height, tilt, ground contacts); .04 if not
    given, or what the file was begun with."""
    checkpoint: int = 3000
    """Control steps between two checkpoints, from which an interrupted run goes on."""
    replace: bool = field(default=False, metadata=ASIDE)
    """Learn anew what was learned with other settings or another source of your rule, or broke down."""

    @property
    def path(self) -> Path:
        """Where the run goes."""
        name = file_name(self.robot, self.controller, self.engine, self.preset)
        return self.out or Path("runs") / f"{name}-{self.seed}.h5"


def file_name(robot: str, controller: str, engine: str | None = None, preset: str | None = None) -> str:
    """Robot, rule and preset as the beginning of a file's name; the engine if it is not the usual one here.

    A user's own robots and rules have a colon, which becomes a dot.
    """
    from robots import default_engine

    other = "" if engine in (None, default_engine()) else f"-{engine}"
    named = f"-{preset}" if preset else ""
    return f"{robot}-{controller}{named}{other}".replace(":", ".").replace("/", ".")


@settings
class Record(Transplant, Own, Parallel):
    """Record how frozen controllers behave, from where each was frozen."""

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN.h5")] = ()
    """Run files written by `selforg learn`."""
    samples: int = 1_000_000
    """Samples to record per behaviour (50 per simulated second); a shorter recording goes on from its end."""
    freeze: tuple[float, ...] = ()
    """Freeze times to record, in minutes; all of the run if not given."""
    transient: int = 10_000
    """Samples to discard before recording, while the behaviour settles after freezing."""
    measure: float | None = None
    """Seconds between two measurements of the body from outside (height, tilt, ground contacts); .04 if not
    given, or what the file was begun with."""
    checkpoint: int = 3000
    """Control steps between two checkpoints, from which an interrupted recording goes on."""
    stationarity: str = ""
    """Sensor to test for stationarity, by index or name, or "all"; the robot's default if not given."""
    replace: bool = field(default=False, metadata=ASIDE)
    """Record again what was recorded with other settings."""
    behaviour: tuple[str, ...] = ()
    """Behaviours by name, that come along or your own; each is recorded into runs/NAME.h5."""


@settings
class Quantify(Reading):
    """Measure the complexity of recorded behaviours, or of any time series."""

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """A run file; .csv, text, .npy, .npz, FILE.h5:/group/dataset, TISEAN's .c2; - for standard input."""
    freeze: tuple[float, ...] = ()
    """Behaviours of a run by freeze time in minutes; all recorded ones if not given."""
    sensor: str = ""
    """Column by index (from 0) or name; several together as a,b,c or all; a run has its robot's default."""
    each: bool = False
    """Quantify each of these sensors (all, if none is named) by itself, and say whether they agree."""
    tau: int | None = None
    """Delay of the embedding in samples; the robot's default for run files, else chosen from the data."""
    m_max: int | None = None
    """Largest embedding; the robot's default for run files, else 10."""
    theiler: int | None = None
    """Pairs at most this many samples apart in time are left out; chosen from the data if not given."""
    eps_range: tuple[float, float] | None = None
    """Scales to average over, smallest and largest; all plausible ranges if not given."""
    s_min: float | None = None
    """Slope above which a term depends on eps; averaged over .05 to .1 if not given."""
    replicates: int = 200
    """Errors that are drawn, up and down, for the sampling error; fewer than 50: a rough one, 0: none."""
    predictive: int = 10_000
    """Points, at most, for the predictive information by nearest neighbours; 0 for none. More are slow."""
    surrogates: int = 0
    """Surrogate series to compare with: is this more than, say, a cycle with noise? 99 take a minute."""
    null: Literal["shuffle", "phase", "iaaft", "cycles", "pseudo-periodic", "twins"] | None = None
    """Which surrogates; cycles if the series goes in rounds, else iaaft."""
    exact: bool = False
    """Count all pairs, instead of a share where they are many."""
    full: bool = field(default=False, metadata=ASIDE)
    """With --json: all curves, too."""
