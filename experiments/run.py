"""A run as an object: what was learned, recorded and measured, and everything one does with it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from controllers import Controller
from experiments.console import Terminal
from experiments.errors import ExperimentError
from experiments.feedback import SILENT, Advance, Feedback
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.loop import OBSERVED, thaw
from experiments.pipeline.quantify import Quantified, Quantify, quantify
from experiments.pipeline.record import Record, record
from experiments.runfiles.contents import FrozenState, Recording
from experiments.runfiles.results import quantification
from experiments.runfiles.run_file import RunFile, label, open_run_file
from robots import as_body, registered_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.options.reports import Kind

Progress = bool | Advance | None
"""True: bars on the terminal or in the notebook. A function: called with what is done and wanted in all."""


def listening(progress: Progress) -> Feedback:
    """Who hears how work goes."""
    return Feedback(progress) if callable(progress) else Terminal() if progress else SILENT


def start_run(
    robot: str | gym.Env[Any, Any],
    controller: str | type[Controller],
    settings: dict[str, Any],
    progress: Progress,
) -> Run:
    """Let a robot learn; see `experiments.learn`."""
    body, rule = None, None
    if not isinstance(robot, str):
        if settings["body"]:
            raise ExperimentError(
                f"the settings {settings['body']} are for a robot by name; {robot} has its own"
            )
        body = as_body(robot)
        robot, settings["body"] = registered_name(robot)
    if not isinstance(controller, str):
        rule = controller
        controller = f"{rule.__module__}:{rule.__qualname__}"
    config = Learn(robot, controller, **settings)
    return Run(learn(config, listening(progress), body=body, rule=rule), body)


class FrozenControllers(Mapping[str, Controller]):
    """The frozen controllers of a run by freeze time, "8min" or 8; each acts, and none learns."""

    def __init__(self, states: dict[str, FrozenState]) -> None:
        self._states = states

    def __getitem__(self, time: str | float) -> Controller:
        if _name(time) not in self._states:
            raise KeyError(f"{time!r}; frozen at {', '.join(self) or 'no time'}")
        return thaw(self._states[_name(time)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def __repr__(self) -> str:
        return f"<controllers frozen at {', '.join(self) or 'no time'}>"


class Run:
    """A run file as an object. The file is read when it is asked, so that what others add to it is seen.

    Parameters
    ----------
    path : str or Path
        A file written by `learn`.
    body : optional
        The live environment that learned, where no name can make it again.

    Examples
    --------
    >>> import experiments as ex
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = ex.Run(ex.behaviour("hexapod-jump", folder.name).path)
    >>> run
    <Run hexapod-jump.h5: hexapod under ulr, seed 1; frozen at 8min; nothing recorded>
    >>> run.frozen["8min"].act([0.0] * 19).shape
    (18,)
    """

    def __init__(self, path: str | Path, body: Any = None) -> None:
        self.path = Path(path).absolute()
        self._body = body
        with self.open() as file:
            self.robot, self.controller = file.robot, file.controller
            self.seed, self.config = file.seed, file.config

    def open(self) -> RunFile:
        """The file itself, open for reading; use it in a `with` block."""
        return open_run_file(self.path)

    def record(
        self,
        samples: int = 1_000_000,
        freeze: tuple[float, ...] = (),
        transient: int = 10_000,
        *,
        progress: Progress = None,
        **settings: Any,
    ) -> Run:
        """Record the frozen behaviours, all or those of some freeze times; returns this run.

        One that was interrupted, or has fewer samples, goes on where it was.

        Parameters
        ----------
        samples, freeze, transient, **settings
            As in `selforg record`: `jobs`, `replace`, `stationarity`, ...
        progress : bool or callable
            True for bars, or a function that gets what is done and wanted.
        """
        config = Record((self.path,), samples, tuple(freeze), transient, **settings)
        record(config, listening(progress), body=self._body)
        return self

    def quantify(self, *, progress: Progress = None, **settings: Any) -> Quantified:
        """The complexity of the recorded behaviours, by freeze time; what is known is not computed again.

        Settings as in `selforg quantify`: `freeze`, `sensor` ("a,b" or "all": together), `each`, `start`,
        `stop`, `tau`, `m_max`, `eps_range`, ...; `progress` as in `record`.
        """
        found = quantify(Quantify(str(self.path), **settings), listening(progress))
        for name, error in found.failures.items():
            if not found:
                raise error
            warnings.warn(f"{name} has no result: {error}", stacklevel=2)
        for name, error in found.unstored.items():
            warnings.warn(f"the result of {name} is not stored: {error}", stacklevel=2)
        return found

    @property
    def frozen(self) -> FrozenControllers:
        """The frozen controllers by freeze time."""
        with self.open() as file:
            return FrozenControllers(file.frozen)

    @property
    def recorded(self) -> tuple[str, ...]:
        """Freeze times whose behaviour is recorded."""
        with self.open() as file:
            return tuple(file.behaviours)

    def sensors(self, time: str | float) -> NDArray[np.float32]:
        """All sensors of a recording ("8min" or 8; "learning" for the learning phase), a row per step."""
        with self._recording(time) as recording:
            return recording.sensors[:]

    def actions(self, time: str | float) -> NDArray[np.float32]:
        """All motor values of a recording."""
        with self._recording(time) as recording:
            return recording.actions[:]

    def motion(self, time: str | float) -> dict[str, NDArray[np.float32]]:
        """What was noted down about the body from outside, by name: height, tilt, contacts, ..."""
        with self._recording(time) as recording:
            rows = recording.tracks.get(OBSERVED)
            return {} if rows is None else dict(zip(rows.names, rows[:].T, strict=True))

    def weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """C and h over learning time."""
        with self.open() as file:
            return file.learning.tracks["C"][:], file.learning.tracks["h"][:]

    def names(self) -> tuple[str, ...]:
        """Names of the sensors."""
        with self.open() as file:
            return file.learning.sensors.names

    def plot(self, figure: Kind = "progress", common: tuple[float, float] | None = None) -> Figure:
        """A figure: "progress" of learning, controller and body while "learning", "traces" of behaviours."""
        from experiments.reports.figures import draw
        from experiments.reports.results import read_results

        figures = draw(read_results([self.path]), (figure,), common)
        if not figures:
            raise ExperimentError(f"{self!r} has nothing to draw as {figure!r}; record and quantify it first")
        return next(iter(figures.values()))

    def report(self, path: str | Path = "report.html", **settings: Any) -> Path:
        """Write one page with table, interactive plots and films; settings as in `selforg report`."""
        from experiments.reports.report import Report, report

        return report(Report((self.path,), Path(path), **settings))

    def video(self, path: str | Path, freeze: float | None = None, **settings: Any) -> Path:
        """Film a frozen behaviour, the last if no freeze time is given; settings as in `selforg video`."""
        from experiments.reports.video import Video, video

        return video(Video(self.path, Path(path), freeze=freeze, **settings))

    @contextmanager
    def _recording(self, time: str | float) -> Iterator[Recording]:
        with self.open() as file:
            yield file.learning if time == "learning" else file.behaviour(_name(time))

    def __repr__(self) -> str:
        frozen, recorded = ", ".join(self.frozen) or "no time", ", ".join(self.recorded)
        words = f"recorded {recorded}" if recorded else "nothing recorded"
        what = f"{self.robot} under {self.controller}, seed {self.seed}"
        return f"<Run {self.path.name}: {what}; frozen at {frozen}; {words}>"

    def _repr_html_(self) -> str:
        with self.open() as file:
            phases = {"learning": f"{file.learning.steps:,} steps, {file.learning.status}"}
            for name in file.frozen:
                recording = file.behaviours.get(name)
                phases[name] = "frozen" if recording is None else f"{recording.steps:,} samples recorded"
                if name in file.results:
                    result = quantification(file.results[name], file.path)
                    phases[name] += f", E_core {result.E_core.value:.2f} nats"
        rows = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in phases.items())
        what = f"{self.robot} under {self.controller}, seed {self.seed}"
        return f"<p><b>{escape(what)}</b> ({escape(str(self.path))})</p><table>{rows}</table>"


def _name(time: str | float) -> str:
    return time if isinstance(time, str) else label(time)
