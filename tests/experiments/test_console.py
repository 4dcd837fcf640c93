"""What is seen of work under way: on terminals of two widths, and in a pipe."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from experiments import console
from experiments.feedback import Feedback
from experiments.pipeline.learn import Learn, learn
from experiments.sweeps.workers import meanwhile


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(width: int, clock: Clock, reports: list[tuple[float, float, float]]) -> str:
    """The line of a bar after reports of what is done and wanted, at such times; then 12 s without any."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    bars = console.progress_bars(screen)
    bars.get_time = clock
    task = bars.add_task("learn hexapod my_rules:Hebb seed 1", total=None, unit="steps", begun=reports[0][1])
    for at, done, total in reports:
        clock.now = at
        bars.update(task, completed=done, total=total)
    clock.now += 12
    with screen.capture() as captured:
        screen.print(bars.get_renderable())
    return captured.get().rstrip("\n")


@pytest.mark.parametrize("width", [80, 120])
def test_a_bar_is_one_line_in_which_time_left_comes_last(width: int) -> None:
    line = shown(width, Clock(), [(0, 0, 100), (2, 25, 100), (4, 50, 100)])
    assert "\n" not in line and len(line) <= width and line.startswith("learn hexapod")
    # Half is done after 4 s, and nothing more in the 12 s after: the rest takes 16 s at the pace of all that.
    assert re.search(r"50% +\d+ steps/s 16 s, about 16 s left *$", line)


def test_what_was_done_before_is_no_pace() -> None:
    line = shown(120, Clock(), [(0, 900, 1000), (38, 950, 1000)])
    assert line.rstrip().endswith("50 s, about 50 s left")


def test_a_pipe_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, said = Clock(), []
    monkeypatch.setattr(console.time, "monotonic", clock)
    terminal = console.Terminal()
    monkeypatch.setattr(terminal, "say", said.append)
    with terminal.bars() as bar:
        steps, tasks = bar("record 3 behaviours [steps]"), bar("compare [tasks]")
        for second in range(200):
            clock.now = second
            steps(100 * second, 20_000)
            tasks(second // 100, 8)
    assert said[:2] == [
        "record 3 behaviours: 5%, 10 s, about 190 s left".replace("190 s", "3 min"),
        "compare: 0 of 8 tasks, 10 s",
    ]
    assert len(said) == 8  # after 10, 30, 70 and 150 s
    assert said[-1] == "compare: 1 of 8 tasks, 2 min, about 18 min left"


def test_a_watched_file_is_looked_at_once_more_when_all_is_done() -> None:
    seen: list[str] = []
    state = "half done"
    with meanwhile(lambda: seen.append(state), 100.0):
        state = "done"
    assert seen == ["half done", "done"]


def test_learning_reports_between_its_checkpoints(tmp_path: Path) -> None:
    seen: list[tuple[float, float]] = []
    learn(
        Learn("barrel", minutes=0.2, freeze=(0.2,), out=tmp_path / "run.h5"),
        Feedback(lambda done, total: seen.append((done, total))),
    )
    assert seen[0] == (0, 600) and seen[-1] == (600, 600) and (400, 600) in seen
