"""Learn, freeze, record, quantify, compare: the experiments, for scripts and notebooks.

    import experiments as ex

    run = ex.learn("hexapod", minutes=8, freeze=(2, 4, 8), seed=1)
    run.record(samples=100_000)
    run.quantify()["8min"]
    run.plot()

- `learn`, `open_run`, `behaviour` -> `Run`: one run, everything one does with it; `keep` keeps a behaviour
- `runs` -> what there is below a folder
- `progress`, `learning_curve`, `compare`, `explore`, `emergence`, `reproduce`, `convergence` -> a study of
  many runs or numbers, with its table (`to_dict()`, `to_frame()`), `figure()` and `report(path)`

The rooms behind this door, each of which may import those above it: `runfiles` (files that survive), `sweeps`
(many tasks), `pipeline` (learn, record, quantify), `reports` (pages, figures, films), `studies`, `commands`
(the command line, in `cli`).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.errors import ExperimentError, FileError, nearest

if TYPE_CHECKING:
    import gymnasium

    from controllers import Controller
    from experiments.run import Progress, Run
    from experiments.studies.atlas.atlas import Atlas
    from experiments.studies.comparison.comparison import Comparison
    from experiments.studies.inventory import Inventory
    from experiments.studies.learning_curve import Curve
    from experiments.studies.progress import LearningProgress
    from experiments.studies.study import Study

__all__ = [
    "ExperimentError",
    "FileError",
    "Run",
    "behaviour",
    "compare",
    "convergence",
    "emergence",
    "explore",
    "keep",
    "learn",
    "learning_curve",
    "open_run",
    "progress",
    "reproduce",
    "runs",
]
# Imports stand inside the functions: help on the command line, which passes through here, is to be quick.


def __getattr__(name: str) -> Any:
    if name == "Run":
        from experiments.run import Run

        return Run
    raise AttributeError(f"module 'experiments' has no attribute {name!r}")


def learn(
    robot: str | gymnasium.Env[Any, Any],
    controller: str | type[Controller] = "ulr",
    minutes: float = 8.0,
    freeze: Sequence[float] = (2.0, 4.0, 8.0),
    seed: int = 1,
    body: Mapping[str, Any] | None = None,
    rule: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    progress: Progress = None,
    **settings: Any,
) -> Run:
    """Let a robot learn and freeze its controller at chosen times; goes on where a file was left, or ended.

    Parameters
    ----------
    robot : str or gymnasium.Env
        A robot by name, my_module:MyRobot, the id of a Gymnasium environment, or an environment. One that
        cannot be stored and restored cannot go on after an interruption.
    controller : str or class
        A rule by name, my_module:MyRule, or a subclass of `controllers.Controller`.
    minutes : float
        Length of learning in simulated minutes.
    freeze : sequence of float
        Minutes at which a copy of the controller is frozen.
    seed : int
        Seed of everything random.
    body, rule : mapping
        Settings that differ from the defaults.
    out : path
        File to write; runs/ROBOT-CONTROLLER-SEED.h5 if not given.
    progress : bool or callable
        True for a bar, or a function that gets what is done and wanted.
    **settings
        Further ones of `selforg learn`: `preset`, `interval`, `measure`, `checkpoint`, `replace`.

    Raises
    ------
    ExperimentError
        When a setting does not fit, or the file holds another experiment.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = learn("barrel", minutes=0.05, freeze=[0.05], out=f"{folder}/barrel.h5")
    ...     run, run.sensors("learning").shape
    (<Run barrel.h5: barrel under ulr, seed 1; frozen at 0.05min; nothing recorded>, (150, 4))
    """
    from experiments.run import start_run

    settings |= {"minutes": minutes, "freeze": tuple(freeze), "seed": seed, "out": Path(out) if out else None}
    settings |= {"body": dict(body or {}), "rule": dict(rule or {})}
    return start_run(robot, controller, settings, progress)


def open_run(path: str | Path, robot: gymnasium.Env[Any, Any] | None = None) -> Run:
    """A run that was learned before; with its environment, if that was handed over as an object.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = open_run(behaviour("snake-crawl", folder).path)
    ...     run.robot, list(run.frozen)
    ('snake', ['8min'])
    """
    from experiments.run import Run, as_body

    return Run(path, None if robot is None else as_body(robot))


def behaviour(name: str, folder: str | Path = "runs", engine: str | None = None) -> Run:
    """A behaviour that comes along, or your own (`keep`), as a run of one controller, copied to a folder.

    Those that come along were learned in each engine: "pybullet" or "mujoco"; None is the usual one here.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     jump = behaviour("hexapod-jump", folder)
    ...     jump.frozen["8min"].act([0.0] * 19).shape
    (18,)
    """
    from experiments.run import Run
    from experiments.runfiles.library import fetch

    return Run(fetch(name, Path(folder), engine))


def runs(folder: str | Path = ".", **settings: Any) -> Inventory:
    """Every run, recording, result and study below a folder, as `selforg runs`.

    Settings as on the command line: `kind`, `robot`, `controller`, `seed`, `state`, `sort`, `reverse`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = behaviour("snake-crawl", folder)
    ...     [(item.kind, item.name, item.state) for item in runs(folder)]
    [('run', 'snake-crawl.h5', 'left out'), ('recording', 'snake-crawl.h5 8min', 'frozen, not recorded')]
    """
    from experiments.studies.inventory import Runs, runs

    return runs(Runs(Path(folder), **settings))


def keep(run: Run | str | Path, name: str, freeze: float, about: str = "") -> Path:
    """Keep a frozen behaviour of a run under a name that `behaviour` and all commands know; its file.

    It goes to the user's own folder, that of data of one's own, or $SELFORG_BEHAVIOURS.

    Examples
    --------
    >>> try:
    ...     keep("runs/hexapod-ulr-1.h5", "hexapod-jump", freeze=8)
    ... except ExperimentError as error:
    ...     print(error)
    --name hexapod-jump: it comes along, or is no name for a file; choose another
    """
    from experiments.studies.emergence.library import keep_as

    path = Path(run) if isinstance(run, str | Path) else run.path
    return keep_as(name, path, freeze, about)


def progress(robot: str, progress: Progress = None, **settings: Any) -> LearningProgress:
    """Learn, record and quantify: complexity against learning time, as `selforg progress`.

    Settings as on the command line: `controller`, `minutes`, `freeze`, `seeds`, `samples`, `out`, ...

    Examples
    --------
    >>> import tempfile
    >>> small = {"minutes": 0.1, "freeze": [0.1], "samples": 1500, "transient": 0, "jobs": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = progress("barrel", out=folder, **small)
    >>> [row["name"] for row in found.to_dict()["rows"]]
    ['0.1min']
    """
    return _study("progress", {"robot": robot, **settings}, progress)


def learning_curve(robot: str, progress: Progress = None, **settings: Any) -> Curve:
    """Freeze a learning robot at many times: complexity against learning time, as `selforg learning-curve`.

    Settings as on the command line: `controller`, `every`, `minutes`, `seeds`, `samples`, `out`, ...

    Examples
    --------
    >>> import tempfile
    >>> small = {"every": 0.05, "minutes": 0.05, "seeds": [1], "samples": 1500, "transient": 0, "jobs": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(learning_curve("barrel", out=folder, **small).to_dict()["curve"])
    1
    """
    return _study("learning_curve", {"robot": robot, **settings}, progress)


def convergence(source: str | Path, progress: Progress = None, **settings: Any) -> Study:
    """Does the number still move? A series of a file over embedding, delay, length: `selforg convergence`.

    Settings as on the command line: `freeze`, `sensor`, `tau`, `m_max`, `samples`, `out`, ... For a series
    that is at hand as an array there is `quantify.convergence`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savetxt(f"{folder}/sine.txt", np.sin(np.arange(2000) / 5))
    ...     found = convergence(f"{folder}/sine.txt", tau=8, m_max=3, replicates=5)
    >>> [row["value"] for row in found.to_dict()["rows"] if row["varied"] == "m_max"]
    [3, 5, 7]
    """
    return _study("convergence", {"source": str(source), **settings}, progress)


def compare(progress: Progress = None, **settings: Any) -> Comparison:
    """Rank controllers by the core complexity of what they make robots do, as `selforg compare`.

    Settings as on the command line: `robots`, `controllers`, `seeds`, `minutes`, `samples`, `out`, ...

    Examples
    --------
    >>> import tempfile
    >>> small = {"minutes": 0.05, "samples": 1500, "transient": 0, "surrogates": False, "learning": False}
    >>> small |= {"seconds": 0, "jobs": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = compare(robots=["barrel"], controllers=["sine"], seeds=[1], out=folder, **small)
    >>> found.to_frame()[["robot", "controller", "seed"]].values.tolist()
    [['barrel', 'sine', 1]]
    """
    return _study("comparison.compare", settings, progress)


def explore(robot: str, progress: Progress = None, **settings: Any) -> Atlas:
    """Draw many bodies and rules, let each learn, and see where complexity grows, as `selforg explore`.

    Settings as on the command line: `space`, `n`, `freeze`, `samples`, `search`, `goal`, `out`, ...

    Examples
    --------
    >>> import tempfile
    >>> small = {"n": 1, "freeze": [0.02, 0.04], "samples": 1600, "transient": 0, "films": 0, "jobs": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atlas = explore("snake", out=folder, **small)
    >>> [(row["setting"], row["minutes"]) for row in atlas.to_dict()["rows"]]
    [(0, 0.02), (0, 0.04)]
    """
    return _study("atlas.explore", {"robot": robot, **settings}, progress)


def emergence(robot: str = "hexapod", progress: Progress = None, **settings: Any) -> Study:
    """Learn with many seeds and look at what emerges, as `selforg emergence`.

    Settings as on the command line: `seeds`, `minutes`, `freeze`, `samples`, `controls`, `push`, `out`, ...

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = emergence(seeds=[1], minutes=0.05, samples=1000, transient=0, jobs=1, out=folder)
    >>> found.to_dict()["rows"][0]["frozen"]["0.05min"]["mode"]
    'up-down'
    """
    return _study("emergence.emergence", {"robot": robot, **settings}, progress)


def reproduce(part: str, progress: Progress = None, **settings: Any) -> Study:
    """Rebuild "lorenz", "ar2", "snake" or "hexapod", a table of the paper, as `selforg reproduce`.

    Settings as on the command line: `quick`, `samples`, `seeds`, `seconds`, `out`, ...

    Examples
    --------
    >>> try:
    ...     reproduce("lorentz")
    ... except ExperimentError as error:
    ...     print(error)
    there is no part 'lorentz'; did you mean 'lorenz'? known: ar2, hexapod, lorenz, snake
    """
    from experiments.studies.reproduction.table import PARTS

    if part not in PARTS:
        raise ExperimentError(f"there is no part {part!r}; {nearest(part, PARTS)}")
    (found,) = _study("reproduction.reproduce", {"part": part, **settings}, progress)
    return found


def _study(module: str, values: dict[str, Any], progress: Progress) -> Any:
    """Call the study that a module is named after, with settings where lists stand for tuples."""
    from experiments.run import listening

    study, name = importlib.import_module(f"experiments.studies.{module}"), module.split(".")[-1]
    settings = getattr(study, name.title().replace("_", ""))
    known = settings.__dataclass_fields__
    for key in values:
        if key not in known:
            raise ExperimentError(f"there is no setting {key!r}; {nearest(key, known)}")
    fitted = {
        key: tuple(value) if isinstance(value, list | range) else value for key, value in values.items()
    }
    if "out" in values:
        fitted["out"] = Path(values["out"])
    return getattr(study, name)(settings(**fitted), listening(progress))
