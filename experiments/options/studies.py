"""What the studies of many runs can be asked for; the docs of the fields are the help."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from experiments.settings import (
    ASIDE,
    Changes,
    Learner,
    Parallel,
    Physics,
    Reading,
    Scale,
    Scales,
    SeedList,
    Seeds,
    settings,
)

ScaleKind = Literal["common", "relative", "auto"]
Part = Literal["lorenz", "ar2", "snake", "hexapod"]
"""A table of the paper."""


@settings
class Convergence(Reading):
    """Does the number still move? Complexity over embedding, delay and length."""

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """A run file; or a series as in `selforg quantify`."""
    freeze: float | None = None
    """Behaviour of a run by its freeze time in minutes; the last recorded one if not given."""
    sensor: str = ""
    """Column by index (from 0) or name; the robot's default for run files."""
    tau: int | None = None
    """Delay around which others are tried; as in `selforg quantify` if not given."""
    m_max: int | None = None
    """Largest embedding around which others are tried; the robot's default for run files, else 10."""
    samples: int = 20_000
    """Samples, from the middle of a longer series, with which embedding and delay are varied."""
    replicates: int = 50
    """Errors that are drawn, up and down, for every sampling error."""
    out: Path | None = field(default=None, metadata=ASIDE)
    """Name of the figure (.png or .pdf); numbers go beside it as .json. Default: FILE.convergence.png."""


@settings
class Progress(Learner, Changes, Seeds, Parallel):
    """Learn, record and quantify: the table and the picture of learning progress."""

    minutes: float = 8.0
    """Length of learning in simulated minutes."""
    freeze: tuple[float, ...] = (2.0, 4.0, 8.0)
    """Minutes at which the controller is frozen, recorded and quantified."""
    seeds: SeedList = field(default=(1,), kw_only=True)
    """One run per seed, by number: 1 2 3, or 1:10 for all from 1 to 10."""
    samples: int = 1_000_000
    """Samples to record per behaviour."""
    transient: int = 10_000
    """Samples to discard before recording."""
    eps_range: tuple[float, float] | None = None
    """Scales to average over; chosen for each behaviour if not given."""
    common: tuple[float, float] = (0.1, 0.4)
    """Scales on which core complexity is compared as well, the same for all behaviours."""
    out: Path = field(default=Path("runs"), metadata=ASIDE)
    """Folder for runs, table and picture."""
    replace: bool = field(default=False, metadata=ASIDE)
    """Learn and record anew what was made with other settings or another source of your rule."""


@settings
class Compare(Scales, Physics, Seeds, Scale):
    """Rank controllers by the core complexity of what they do, over seeds."""

    robots: tuple[str, ...] = ("hexapod", "snake")
    """Bodies."""
    controllers: tuple[str, ...] = ("ulr", "tipi", "dep", "homeokinesis", "random", "sine")
    """Learning rules and baselines by name, or your own as my_module:MyRule."""
    seeds: SeedList = field(default=tuple(range(1, 11)), kw_only=True)
    """Seeds by number: 1 2 3, or 1:10 for all from 1 to 10. All controllers get the same ones."""
    minutes: float = 8.0
    """Length of learning in simulated minutes."""
    freeze: float | None = None
    """Minute at which the controller is frozen; the end of learning if not given."""
    samples: int = 200_000
    """Samples to record per behaviour."""
    transient: int = 10_000
    """Samples to discard before recording."""
    rank: ScaleKind = "auto"
    """Scales by which controllers are ranked; the others are shown beside. auto: those on which each
    behaviour is deterministic, so that none wins by its noise."""
    surrogates: Annotated[bool, tyro.conf.arg(help_behavior_hint="(default: they are scored)")] = True
    """Leave out the IAAFT surrogates: of every recording one is scored beside it."""
    nulls: int | None = None
    """Test E_core against so many surrogates of a cycle with noise, or of a linear process for what does not
    go in rounds (19 at least; 99 take a minute for each recording). Not tested if not given."""
    learning: Annotated[bool, tyro.conf.arg(help_behavior_hint="(default: both are compared)")] = True
    """Leave out the comparison with learning on: as many samples again, while each rule goes on."""
    preset: str | None = None
    """Settings by name for the rules that have this preset (docs/controllers.md); others keep theirs."""
    tune: int = 0
    """Runs to find settings for each controller and robot, the same number for all; 0: the defaults."""
    body_of: str = "ulr"
    """All controllers get the body settings that this one has by default."""
    out: Path = field(default=Path("runs/compare"), metadata=ASIDE)
    """Folder for table, figure, page, and the results of single runs."""
    replace: bool = field(default=False, metadata=ASIDE)
    """Replace table, figure and page of another comparison in that folder; single runs are kept anyway."""
    runs: tuple[Path, ...] = ()
    """Compare the recordings of these run files, the last or that of --freeze, and run nothing."""
    seconds: float = field(default=3.0, metadata=ASIDE)
    """Length of the films on the page, of each robot under each controller one; 0 for none."""
    keep: bool = field(default=False, metadata=ASIDE)
    """Keep the run files (30 MB per 200,000 samples of the hexapod)."""


@settings
class LearningCurve(Learner, Scales, Changes, Seeds, Scale):
    """Complexity against learning time: freeze a robot at many moments."""

    every: float = 0.5
    """Minutes of learning between two freezes; the end of learning is one in any case."""
    minutes: float = 8.0
    """Length of learning in simulated minutes."""
    seeds: SeedList = field(default=tuple(range(1, 6)), kw_only=True)
    """Seeds by number: 1 2 3, or 1:10 for all from 1 to 10."""
    samples: int = 50_000
    """Samples to record per behaviour."""
    transient: int = 5_000
    """Samples to discard before recording."""
    surrogates: bool = False
    """Score an IAAFT surrogate of every recording as well."""
    out: Path = field(default=Path("runs/learning-curve"), metadata=ASIDE)
    """Folder for results; figure and numbers of an earlier curve with this robot and rule are replaced."""
    keep: bool = field(default=False, metadata=ASIDE)
    """Keep the run files."""


@settings
class Reproduce(Physics, Scale):
    """Rebuild the paper's tables and figures from nothing, and say what agrees.

    Robots always run on this machine; --backend dask is for the series of lorenz and ar2.
    """

    part: Annotated[
        tyro.conf.Positional[Literal[Part, "all"]],
        tyro.conf.arg(metavar="lorenz|ar2|snake|hexapod|all"),
    ] = "all"
    """Which table."""
    quick: bool = False
    """Fewer samples: minutes instead of hours. What that costs in accuracy is said with the result."""
    samples: int | None = None
    """Samples per series or behaviour; the paper's number if not given."""
    seeds: SeedList = ()
    """Seeds by number: 1 2 3, or 1:10; those of the table's settings, at least five, if not given."""
    n_seeds: int | None = None
    """So many seeds instead: 1, 2, ..."""
    seconds: float = field(default=3.0, metadata=ASIDE)
    """Length of the films on the page; 0 for none."""
    out: Path = field(default=Path("runs/paper"), metadata=ASIDE)
    """Folder for runs, tables, pages and figures; an interrupted command goes on from there."""


@settings
class Emergence(Learner, Changes, Seeds, Scale):
    """Let a robot learn with many seeds and see what it does when frozen."""

    robot: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ROBOT")] = "hexapod"
    """hexapod or snake."""
    seeds: SeedList = field(default=tuple(range(1, 11)), kw_only=True)
    """Seeds by number: 1 2 3, or 1:10 for all from 1 to 10."""
    minutes: float = 8.0
    """Length of learning in simulated minutes."""
    freeze: tuple[float, ...] = ()
    """Minutes at which the controller is frozen; 2 4 8 if not given, as far as learning goes."""
    samples: int = 10_000
    """Samples of each frozen behaviour that are looked at."""
    transient: int = 10_000
    """Samples before those, while the behaviour settles after freezing."""
    controls: bool = False
    """Change one thing at a time instead, and check the physics: what does it take?"""
    push: bool = False
    """Push the frozen robot from the side: does it change into another mode?"""
    impulse: float = 5.0
    """Size of the push [N s]: a robot of 1 kg is set to move at so many m/s."""
    engines: bool = False
    """Learn in both engines instead, seed by seed: which findings hang on one simulator?"""
    complexity: int = 0
    """With --engines: of how many seeds complexity is measured as well, from 100,000 samples each."""
    out: Path = field(default=Path("runs/emergence"), metadata=ASIDE)
    """Folder of the results; finished seeds are not computed again."""


@settings
class Explore(Learner, Scales, Physics, Scale):
    """Many bodies and rules: where does complexity grow?"""

    space: Path | None = None
    """TOML file with the settings of body and rule to draw and their limits; what comes along for the robot
    if not given (docs/atlas.md)."""
    n: int = 500
    """How many settings."""
    freeze: tuple[float, ...] = (2.0, 4.0, 8.0)
    """Minutes of learning at which controllers are frozen, recorded and quantified."""
    samples: int = 15_000
    """Samples to record per behaviour."""
    transient: int = 1_500
    """Samples to discard before recording."""
    draw: int = 1
    """Seed of the settings that are drawn."""
    seeds: SeedList = field(default=(101,), kw_only=True)
    """Seeds with which every setting learns."""
    search: Literal["design", "map-elites"] = "design"
    """design: settings that fill the space evenly. map-elites: vary those that are rare and good (pyribs)."""
    measures: tuple[str, str] = ("D", "E_core")
    """With map-elites: the two quantities, at the last freeze time, over which behaviours are kept."""
    goal: str = "-kappa"
    """With map-elites: of two alike in both keep the larger in this, with - the smaller; or growth."""
    batch: int = 32
    """With map-elites: settings that are tried at a time; decides what is found, not only how fast."""
    again: Path | None = None
    """Numbers (.json) of an earlier exploration: take its best settings instead of drawing any."""
    best: int = 10
    """With --again: how many, those first in which E_core grows by the rule on common and relative scales."""
    settings: tuple[int, ...] = ()
    """With --again: these settings, by their numbers in the table and on the page, instead of the best."""
    push: float = 0.0
    """Push every frozen behaviour from the side [N s], and see what it does then; snake only. 0: none."""
    films: int = field(default=12, metadata=ASIDE)
    """Films on the page: of so many cells of the plane, the farther apart the sooner; the rest on demand."""
    seconds: float = field(default=3.0, metadata=ASIDE)
    """Length of a film."""
    out: Path = field(default=Path("runs/explore"), metadata=ASIDE)
    """Folder for table, page, and the results of single settings; what was interrupted goes on from there."""


Kind = Literal["run", "recording", "result", "study"]
Column = Literal["name", "robot", "controller", "seed", "engine", "state", "E_core", "age", "size"]


@settings
class Runs:
    """List every run, recording, result and study below a folder."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")] = Path()
    """Where to look, and in all folders below; here if not given."""
    kind: tuple[Kind, ...] = ()
    """Only these kinds; all if not given."""
    robot: str = ""
    """Only those of this robot."""
    controller: str = ""
    """Only those of this learning rule."""
    seed: int | None = None
    """Only those of this seed."""
    state: str = ""
    """Only those whose state begins so: complete, stopped, interrupted, running, frozen, damaged, ..."""
    sort: Column = "name"
    """Sort by this column."""
    reverse: bool = False
    """The other way round: the largest, the youngest, ... first."""
