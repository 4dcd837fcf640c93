"""Rules of strange users: checked at the start, contained while they run, never trusted in silence."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from controllers import Controller, ControllerError, Frozen, make, rehearse
from controllers.registry import REGISTRY
from experiments.cli import main
from experiments.errors import ExperimentError
from experiments.pipeline.learn import Learn, learn
from experiments.runfiles.growing import GrowingFile
from experiments.runfiles.run_file import open_run_file


class Reshaped(Controller):
    def update(self, s):
        if self.t == 3:
            self.C = np.zeros((1, 1))


class Single(Controller):
    def update(self, s):
        self.C = self.C.astype(np.float32)


class Listed(Controller):
    def set_up(self):
        self.h = [0.0] * self.n_motors


class Acting(Controller):
    def act(self, s):
        return np.full(self.n_motors, 0.25)


class OneNumber(Controller):
    def step(self, s, learn=True):
        return 0.5


class Words(Controller):
    def step(self, s, learn=True):
        return np.array(["0.5"] * self.n_motors)


class Hidden(Controller):
    def set_up(self):
        self.mean = 0.0

    def update(self, s):
        self.mean += 0.1 * (s[0] - self.mean)
        self.C += self.mean


class Noisy(Controller):
    """Noise that the state does not hold."""

    def update(self, s):
        self.C += np.random.default_rng().normal(size=self.C.shape)


class LocalFreeze(Controller):
    def freeze(self):
        class Inner(Frozen):
            pass

        return Inner(self.C, self.h)


class Unmade(Controller):
    def set_up(self):
        raise RuntimeError("no such luck")


class Leaving(Controller):
    def set_up(self):
        sys.exit(0)


class Objects(Controller):
    memory = (*Controller.memory, "log")

    def set_up(self):
        self.log = {}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Reshaped, "learning step 3: C and h are (1, 1) float64, (3,) float64; they must stay"),
        (Single, "learning step 0: C and h are (3, 4) float32"),
        (Listed, "set_up: C and h are (3, 4) float64, (3,) list"),
        (Acting, "Acting acts otherwise than what it freezes to"),
        (OneNumber, "the action of OneNumber has shape ()"),
        (Words, "the action of Words has shape (3,) and type <U3"),
        (Hidden, "Hidden cannot be resumed: a copy made by from_state(state()) differs in C after 1 steps"),
        (Noisy, "Noisy cannot be resumed"),
        (LocalFreeze, "<locals>.Inner, which could not be found again"),
        (Objects, "'log', which is no number"),
    ],
)
def test_what_cannot_be_stored_or_frozen_is_refused_at_the_start(
    rule: type[Controller], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ControllerError) as info:
        controller = rule(4, 3)
        rehearse(lambda: controller)
        for _ in range(5):
            controller.step(np.ones(4))
    assert words in str(info.value)
    with pytest.raises(ExperimentError):
        learn(Learn("hexapod", controller=f"{__name__}:{rule.__name__}", out=tmp_path / "r.h5"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rule", [Unmade, Leaving])
def test_a_rule_that_cannot_be_made_is_one_line(rule: type[Controller], refused: Callable[..., str]) -> None:
    words = refused("learn", "hexapod", "--controller", f"{__name__}:{rule.__name__}", "--out", "r.h5")
    assert f"does not work: {'SystemExit' if rule is Leaving else 'RuntimeError'} in" in words


@pytest.mark.parametrize("name", REGISTRY)
def test_our_own_rules_can_be_trusted(name: str) -> None:
    rehearse(lambda: make(name, 7, 6, rng=3))


class OwnFreeze(Controller):
    """Acts with twice the weights, and says how to freeze that."""

    def act(self, s):
        return np.tanh(2 * (self.C @ self._read(s)) + 0.5)

    def freeze(self):
        return Frozen(2 * self.C, self.h + 0.5)


def test_an_own_act_is_used_and_an_own_freeze_is_believed(tmp_path: Path) -> None:
    rehearse(lambda: OwnFreeze(4, 3))
    path = learn(
        Learn("barrel", f"{__name__}:OwnFreeze", minutes=0.05, freeze=(0.05,), out=tmp_path / "r.h5")
    )
    with open_run_file(path) as run:
        np.testing.assert_allclose(run.learning.actions[:], np.tanh(0.5), rtol=1e-6)


class LateHidden(Controller):
    """State outside of `memory` that shows long after any rehearsal."""

    def set_up(self):
        self.seen = 0

    def update(self, s):
        self.seen += 1
        if self.seen > 90:
            self.C[0, 0] = 0.01 * self.seen


def test_a_resumed_run_equals_an_uninterrupted_one_whatever_a_rule_hides(tmp_path: Path, monkeypatch) -> None:
    lesson = {"controller": f"{__name__}:LateHidden", "minutes": 0.1, "freeze": (0.1,), "checkpoint": 100}
    whole = learn(Learn("barrel", **lesson, out=tmp_path / "whole.h5"))
    kept = GrowingFile.commit

    def commit(self, steps, state):
        kept(self, steps, state)
        if steps == 200:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(GrowingFile, "commit", commit)
        learn(Learn("barrel", **lesson, out=tmp_path / "cut.h5"))
    cut = learn(Learn("barrel", **lesson, out=tmp_path / "cut.h5"))
    with open_run_file(whole) as one, open_run_file(cut) as two:
        assert np.array_equal(one.learning.tracks["C"][:], two.learning.tracks["C"][:])
        assert np.array_equal(one.frozen["0.1min"].controller["C"], two.frozen["0.1min"].controller["C"])
        assert one.learning.tracks["C"][:].any()


class LateExit(Controller):
    def update(self, s):
        if self.t == 120:
            sys.exit(0)


class LateMistake(Controller):
    def update(self, s):
        if self.t == 120:
            {}["no such key"]


class LateNumber(Controller):
    """One number for all motors, long after any rehearsal."""

    def step(self, s, learn=True):
        a = super().step(s, learn)
        return 0.5 if self.t == 121 else a


@pytest.mark.parametrize("rule", ["LateExit", "LateMistake", "LateNumber"])
def test_what_a_rule_raises_ends_the_run_with_a_status_and_a_reason(
    rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.h5"
    words = ["learn", "barrel", "--controller", f"{__name__}:{rule}", "--minutes", "0.1", "--freeze", "0"]
    for extra in ([], ["--json"]):
        assert main([*words, "--quiet", "--out", str(path), *extra]) == 3
        error = capsys.readouterr().err.strip()
        assert "\n" not in error and "learning ended after 120 of 300 steps" in error
        assert "the controller broke down at step 120" in error
        assert ("the action has shape ()" if rule == "LateNumber" else "test_strange_rules.py line") in error
    with open_run_file(path) as run:
        assert run.learning.status == "stopped" and run.learning.steps == 120
        assert len(run.learning.sensors[:]) == 120


def test_a_rule_that_cannot_be_imported_is_one_line(tmp_path: Path, refused: Callable[..., str]) -> None:
    for name, text, error in (
        ("broken", "from controllers import Controller\nclass Rule(Controller:\n", "SyntaxError"),
        ("leaving", "import sys\nsys.exit(0)\n", "SystemExit"),
    ):
        (tmp_path / f"my_{name}_rule.py").write_text(text)
        words = refused("learn", "hexapod", "--controller", f"my_{name}_rule:Rule")
        assert f"cannot be imported: {error} in my_{name}_rule.py line 2" in words
