"""Windows: each engine's own viewer on a virtual screen, and what is said where there is no screen."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from robots import ROBOTS, RobotError
from robots.camera import has_display
from tests.robots.helpers import every_engine

ROOT = Path(__file__).parents[2]
SCRIPT = """
import numpy as np
from tests.robots.helpers import actions, make
plain, shown = make("hexapod", {engine!r}), make("hexapod", {engine!r}, render_mode="human")
for env in (plain, shown):
    env.reset(seed=0)
for action in actions(plain, 10):
    assert np.array_equal(plain.step(action)[0], shown.step(action)[0])
assert shown.render() is None
shown.reset(seed=1)
shown.step(action)
shown.close()
print("the same, seen and unseen")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="DISPLAY names a screen on Linux")
@every_engine
def test_without_a_screen_a_window_is_refused_in_words(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("", ":4711", "unix:4711", "nonsense"):
        monkeypatch.setenv("DISPLAY", name)
        with pytest.raises(RobotError, match=rf"no display answers \(DISPLAY is '{name}'\); set DISPLAY"):
            ROBOTS["barrel"].env(engine=engine, render_mode="human")


@pytest.mark.skipif(sys.platform != "linux", reason="DISPLAY names a screen on Linux")
def test_a_screen_is_one_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0/tmp/.X11-unix/X4711")
        server.listen()
        monkeypatch.setenv("DISPLAY", ":4711.0")
        assert has_display()
    assert not has_display()


@pytest.mark.guard
@pytest.mark.skipif(not shutil.which("xvfb-run"), reason="a virtual screen is needed: install xvfb")
@every_engine
def test_what_happens_is_the_same_in_a_window(engine: str) -> None:
    words = [
        "xvfb-run",
        "-a",
        "-s",
        "-screen 0 320x240x24",
        sys.executable,
        "-c",
        SCRIPT.format(engine=engine),
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "the same, seen and unseen" in done.stdout
