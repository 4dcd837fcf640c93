"""The Python door: what the README promises runs; own bodies and own rules."""

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import h5py
import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import controllers
import experiments as ex
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.loop import Loop
from experiments.pipeline.record import Wanted, record_one
from experiments.run import Run
from quantify import Quantification
from robots import Barrel

ROOT = Path(__file__).parents[2]
# The same words with smaller numbers: seconds instead of minutes.
SMALLER = {
    "minutes=8": "minutes=0.2",
    "(2, 4, 8)": "(0.05, 0.1, 0.2)",
    '"8min"': '"0.2min"',
    "100_000": "2_500, transient=100",
    "freeze=8": "freeze=0.2, seconds=0.2, skip=0",
    '"report.html"': '"report.html", seconds=0',
}


def snippet() -> str:
    """The Python door as the README shows it."""
    (found,) = re.findall(
        r"```python\n(import experiments as ex\n.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    return found


def smaller(code: str) -> str:
    for words, fewer in SMALLER.items():
        code = code.replace(words, fewer)
    return code


@pytest.fixture(scope="module")
def run(small_run: Path) -> Run:
    return ex.open_run(small_run)


@pytest.mark.guard
def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = snippet()
    assert all(words in code for words in SMALLER)
    backend = matplotlib.get_backend()
    names: dict[str, Any] = {}
    exec(smaller(code), names)
    assert matplotlib.get_backend() == backend
    assert names["run"].path == tmp_path / "runs/hexapod-ulr-1.h5"
    assert (tmp_path / "report.html").stat().st_size > 1e6 and (tmp_path / "jump.mp4").stat().st_size > 1e3


def test_a_run_tells_what_it_holds(run: Run) -> None:
    assert repr(run) == (
        "<Run small-1.h5: hexapod under ulr, seed 1; frozen at 0.1min, 0.2min; recorded 0.1min, 0.2min>"
    )
    html = run._repr_html_()
    assert "3,000 samples recorded, E_core" in html and "600 steps, complete" in html
    assert run.sensors("0.2min").shape == (3000, 19) and run.actions(0.2).shape == (3000, 18)
    assert run.sensors("learning").shape == (600, 19)
    C, h = run.weights()
    assert C.shape[1:] == (18, 19) and h.shape[1:] == (18,)
    # The body is looked at 25 times a second.
    assert len(run.motion(0.1)["z"]) == 1500 and run.names()[0] == "right hind up/down"
    with pytest.raises(ex.FileError, match="no behaviour '8min'"):
        run.sensors("8min")


def test_frozen_controllers_act(run: Run) -> None:
    frozen = run.frozen
    assert list(frozen) == ["0.1min", "0.2min"] and "0.1min, 0.2min" in repr(frozen)
    s = run.sensors("0.2min")[0]
    assert np.allclose(frozen["0.2min"].act(s), np.tanh(run.weights()[0][-1] @ s), atol=0.05)
    assert np.array_equal(frozen[0.2].act(s), frozen["0.2min"].act(s))


def test_known_results_are_handed_out(run: Run) -> None:
    found = run.quantify(m_max=5, replicates=3)
    assert list(found) == ["0.1min", "0.2min"] and all(isinstance(r, Quantification) for r in found.values())
    assert "<table" in found["0.2min"]._repr_html_() and "<table" in found._repr_html_()


@pytest.mark.parametrize("figure", ["progress", "learning", "traces"])
def test_a_plot_is_a_figure(run: Run, figure: Any) -> None:
    assert isinstance(run.plot(figure), Figure)


class Hebb(controllers.Controller):
    """A rule of the user's, in twenty words."""

    def update(self, s: np.ndarray) -> None:
        self.C += 0.001 * (self.act(s)[:, None] * s - 0.1 * self.C)


def test_a_rule_and_a_body_of_the_users(tmp_path: Path) -> None:
    """Objects in place of names: the same run as with names, where there are names."""
    done: list[tuple[float, float]] = []
    options: dict[str, Any] = {"minutes": 0.1, "freeze": [0.1]}
    body = Barrel(Barrel.Config(gravity=5.0))
    run = ex.learn(body, Hebb, out=tmp_path / "own.h5", progress=lambda a, b: done.append((a, b)), **options)
    assert done[-1] == (300, 300) and run.robot == "barrel" and run.controller.endswith("test_door:Hebb")
    assert run.config["body"]["gravity"] == 5.0
    named = ex.learn("barrel", Hebb, body={"gravity": 5.0}, out=tmp_path / "named.h5", **options)
    assert np.array_equal(run.sensors("learning"), named.sensors("learning"))
    assert run.record(samples=50, transient=0).sensors(0.1).shape == (50, 4)


class Drifting(gym.Env[Any, Any]):
    """An environment of the user's that knows nothing of robots."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2, 1), np.float64)
    action_space = gym.spaces.Box(0.0, 10.0, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = self.np_random.normal(size=(2, 1))
        return self.x, {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.x = 0.9 * self.x + 0.1 * (action[:, None] - 5)
        return self.x, 0.0, False, False, {}


def test_any_environment_learns_and_is_recorded(tmp_path: Path) -> None:
    run = ex.learn(Drifting(), minutes=0.05, freeze=[0.05], out=tmp_path / "plain.h5")
    assert run.robot.startswith("live:") and run.sensors("learning").shape == (150, 2)
    assert run.record(samples=100, transient=0).sensors(0.05).shape == (100, 2)
    later = ex.open_run(run.path)
    with pytest.raises(ex.ExperimentError, match=r"hand it over once more"):
        later.record(samples=200, transient=0, replace=True)
    again = ex.open_run(run.path, robot=Drifting())
    assert again.record(samples=200, transient=0, replace=True).sensors(0.05).shape == (200, 2)


def test_an_environment_by_its_id(tmp_path: Path) -> None:
    options: dict[str, Any] = {"minutes": 0.05, "freeze": [0.05]}
    run = ex.learn(gym.make("Pendulum-v1", g=5.0), out=tmp_path / "a.h5", **options)
    assert run.robot == "Pendulum-v1" and run.config["body"] == {"g": 5.0}
    named = ex.learn("Pendulum-v1", body={"g": 5.0}, out=tmp_path / "b.h5", **options)
    assert np.array_equal(run.sensors("learning"), named.sensors("learning"))
    with pytest.raises(ex.ExperimentError, match="cannot be made with"):
        ex.learn("Pendulum-v1", body={"gravity": 5.0}, out=tmp_path / "c.h5", **options)


def test_a_recording_of_such_an_environment_begins_with_a_reset(tmp_path: Path) -> None:
    """Whatever the live one has been through, and whatever an interrupted recording left behind."""
    live = ex.learn(gym.make("Pendulum-v1"), minutes=0.1, freeze=[0.05, 0.1], out=tmp_path / "a.h5")
    named = ex.learn("Pendulum-v1", minutes=0.1, freeze=[0.05, 0.1], out=tmp_path / "b.h5")
    half = Wanted(named.path, "0.1min", 100, 0, 0.2, 3000)
    record_one(half)  # complete, but not merged, as a kill may leave it
    with h5py.File(half.part, "r+") as file:
        file["behaviours/0.1min/sensors"][:] = 0
    for run in (live, named):
        run.record(samples=100, transient=0, jobs=1)
    for name in ("0.05min", "0.1min"):
        assert np.array_equal(live.sensors(name), named.sensors(name)) and live.sensors(name).any()
    assert np.array_equal(live.sensors("0.05min")[0], live.sensors("0.1min")[0])


def test_an_interrupted_run_of_such_an_environment_is_not_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Learn("Pendulum-v1", minutes=0.1, freeze=(), checkpoint=50, out=tmp_path / "p.h5")
    advance, calls = Loop.advance, []

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return advance(*arguments)

    monkeypatch.setattr(Loop, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(config)
    monkeypatch.undo()
    with pytest.raises(ex.FileError, match=r"interrupted at step 50, .*delete the file"):
        learn(config)


def test_unknown_settings_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ex.ExperimentError, match=r"gravity.* for a robot by name"):
        ex.learn(Barrel(), body={"gravity": 3.0}, out=tmp_path / "x.h5")
    with pytest.raises(KeyError, match=r"8; frozen at 0\.1min, 0\.2min"):
        run.frozen[8]
    with pytest.raises(ex.ExperimentError, match="did you mean 'minutes'"):
        ex.compare(minuts=3)
    with pytest.raises(ex.ExperimentError, match="did you mean 'hexapod'"):
        ex.learn("hexapot")
