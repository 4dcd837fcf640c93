"""Several processes and one file: nothing is mixed, nothing is overwritten, a link is its file."""

import io
import os
import shutil
import threading
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.cli import main
from experiments.errors import FileError
from experiments.pipeline import learn as learning
from experiments.pipeline import record as recording
from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record
from experiments.runfiles.atomic import replacing, write_text, writing
from experiments.runfiles.growing import GrowingFile
from experiments.runfiles.run_file import open_run_file
from experiments.runfiles.salvage import Salvage, salvage
from tests.experiments.children import start

LESSON: dict[str, Any] = {"minutes": 0.05, "freeze": (0.05,), "checkpoint": 50}


class Killed(BaseException):
    """Ends a run as a kill would: without a last word."""


def half_learned(path: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """A run that was killed after a few checkpoints."""
    with monkeypatch.context() as patch:
        kept = GrowingFile.commit

        def commit(self: GrowingFile, steps: int, state: Any) -> None:
            if steps > 60:
                raise Killed
            kept(self, steps, state)

        patch.setattr(GrowingFile, "commit", commit)
        with pytest.raises(Killed):
            learn(Learn("barrel", **LESSON | changes, out=path))


def short(path: Path, samples: int = 60, **changes: Any) -> Record:
    return Record((path,), samples, transient=0, checkpoint=50, jobs=1, **changes)


def sensors(path: Path, name: str = "0.05min") -> np.ndarray:
    with open_run_file(path) as run:
        return run.behaviours[name].sensors[:]


def just_before(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, happens: Callable[[], object]
) -> None:
    """Let something happen once, at the moment at which a function of a module is called."""
    kept, done = getattr(module, name), []

    def called(*arguments: Any, **named: Any) -> Any:
        if not done:
            done.append(True)
            happens()
        return kept(*arguments, **named)

    monkeypatch.setattr(module, name, called)


def test_learning_does_not_go_on_with_what_another_began_meanwhile(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "k.h5"
    just_before(monkeypatch, learning, "writing", lambda: half_learned(path, monkeypatch))
    with pytest.raises(FileError, match=r"holds another experiment: body.gravity"):
        learn(Learn("barrel", **LESSON, body={"gravity": 3.0}, out=path))
    with open_run_file(path) as run:
        assert run.learning.status == "running" and run.config["body"]["gravity"] != 3.0


def test_a_run_that_another_finished_meanwhile_is_finished(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "k.h5"
    wish = Learn("barrel", **LESSON, out=path)
    just_before(monkeypatch, learning, "writing", lambda: learn(wish))
    assert learn(wish) == path
    with open_run_file(path) as run:
        assert run.learning.complete


def test_recordings_stay_beside_a_run_that_was_replaced_meanwhile(tmp_path: Path, monkeypatch) -> None:
    path, other = tmp_path / "d.h5", tmp_path / "other.h5"
    learn(Learn("barrel", **LESSON, out=path))
    learn(Learn("barrel", **LESSON, seed=7, out=other))
    before = other.read_bytes()
    just_before(monkeypatch, recording, "merge", lambda: os.replace(other, path))
    with pytest.raises(FileError, match=r"no longer the run that was recorded.*stays in .*0.05min.part"):
        record(short(path))
    assert path.read_bytes() == before
    assert (tmp_path / "d.h5.0.05min.part").exists()


def test_a_run_that_is_replaced_while_its_copy_is_written_is_not_overwritten(tmp_path, monkeypatch) -> None:
    path, other = tmp_path / "d.h5", tmp_path / "other.h5"
    learn(Learn("barrel", **LESSON, out=path))
    learn(Learn("barrel", **LESSON, seed=7, out=other))
    before = other.read_bytes()
    just_before(monkeypatch, recording, "_stationarity", lambda: os.replace(other, path))
    with pytest.raises(FileError, match="no longer the file that it was"):
        record(short(path))
    assert path.read_bytes() == before


def test_a_recording_made_meanwhile_is_replaced_only_on_demand(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "d.h5"
    learn(Learn("barrel", **LESSON, out=path))
    kept = recording.writing
    just_before(monkeypatch, recording, "writing", lambda: record(short(path)))
    with pytest.raises(FileError, match=r"holds another recording of 0.05min: samples is 60 there and 50"):
        record(short(path, 50))
    assert len(sensors(path)) == 60
    monkeypatch.setattr(recording, "writing", kept)
    just_before(monkeypatch, recording, "writing", lambda: record(short(path, 50, replace=True)))
    record(short(path, 50, replace=True))
    assert len(sensors(path)) == 50
    monkeypatch.setattr(recording, "writing", kept)
    just_before(monkeypatch, recording, "writing", lambda: record(short(path, 60)))
    record(short(path, 70))  # more of the same goes on, also with what was recorded meanwhile
    assert len(sensors(path)) == 70


# Links.


def test_a_link_is_its_file(tmp_path: Path) -> None:
    """What is learned, recorded or locked through a link is learned, recorded or locked."""
    (tmp_path / "far").mkdir()
    link, path = tmp_path / "link.h5", tmp_path / "far" / "run.h5"
    link.symlink_to(path)
    assert learn(Learn("barrel", **LESSON, out=link)) == path
    with writing(link), pytest.raises(FileError, match="being written"), writing(path, 0.1):
        pass
    record(short(link))
    assert link.is_symlink() and len(sensors(path)) == len(sensors(link)) == 60
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["link.h5"]


def test_one_file_under_two_names_is_one_run(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    learn(Learn("barrel", **LESSON, out=Path("a.h5")))
    Path("link.h5").symlink_to("a.h5")
    names = (Path("a.h5"), tmp_path / "a.h5", Path("link.h5"))
    record(Record(names, 60, transient=0, jobs=1))
    assert len(sensors(Path("a.h5"))) == 60


def test_a_growing_file_with_two_names_is_not_written(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.h5"
    half_learned(path, monkeypatch)
    os.link(path, tmp_path / "b.h5")
    with pytest.raises(FileError, match=r"has 2 names \(hard links\)"):
        learn(Learn("barrel", **LESSON, out=tmp_path / "b.h5"))


def test_pages_go_through_links_and_devices_stay(tmp_path: Path) -> None:
    link = tmp_path / "page.html"
    link.symlink_to(tmp_path / "real.html")
    write_text(link, "text")
    assert link.is_symlink() and (tmp_path / "real.html").read_text() == "text"
    os.mkfifo(tmp_path / "pipe.html")
    with pytest.raises(FileError, match="is no file that could be replaced"):
        write_text(tmp_path / "pipe.html", "text")


# Two writers of what has no lock of its own.


def test_writers_of_one_file_wait_for_one_another(tmp_path: Path) -> None:
    """Eight threads, twenty texts each: at every moment the file is one of them, and nothing is left."""
    path, texts = tmp_path / "x.txt", [str(i) * 20_000 for i in range(8)]
    write_text(path, texts[0])

    written = []

    def write(text: str) -> None:
        for _ in range(20):
            written.append(write_text(path, text))

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_text() in texts
    assert len(written) == 160
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"]


def test_a_name_that_a_killed_process_left_behind_is_used_again(tmp_path: Path) -> None:
    (tmp_path / ".x.tmp.txt").write_text("half of something much longer")
    write_text(tmp_path / "x.txt", "text")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x.txt", "text")]


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 125 + ".json")  # 255 bytes, all that a name may have
    assert write_text(path, "text").read_text() == "text"


def test_two_salvages_to_one_name_do_not_overwrite_each_other(tmp_path: Path, monkeypatch) -> None:
    learn(Learn("barrel", **LESSON, out=tmp_path / "a.h5"))
    with pytest.raises(FileError, match="exists already"), replacing(tmp_path / "n.h5", new=True) as name:
        name.write_text("late")
        shutil.copy(tmp_path / "a.h5", tmp_path / "n.h5")
    assert salvage(Salvage(tmp_path / "a.h5", tmp_path / "m.h5"))["learning/sensors"].rows == 150


def test_a_command_that_waits_for_another_experiment_to_be_killed(tmp_path: Path, monkeypatch) -> None:
    """The real thing: a process looks before there is a file, and gets the lock when there is another's."""
    path, other = tmp_path / "k.h5", tmp_path / "other.h5"
    half_learned(other, monkeypatch)
    heard, tell = os.pipe()
    words = ["learn", "barrel", "--minutes", "0.05", "--freeze", "0.05", "--seed", "2"]
    words += ["--checkpoint", "50", "--out", str(path)]

    def second() -> str:
        said = io.StringIO()
        just_before(monkeypatch, learning, "writing", lambda: os.write(tell, b"!"))
        with redirect_stderr(said):
            return f"{main([*words, '--quiet'])} {said.getvalue()}"

    with writing(path):
        child = start(second, 60)
        assert os.read(heard, 1) == b"!"
        os.replace(other, path)
    assert child.end().startswith(f"2 selforg: {path} holds another experiment: seed is 1 there and 2 here")
    with open_run_file(path) as run:
        assert run.seed == 1 and run.learning.status == "running"


# A run that is moved away under the writer's hands.


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_a_run_that_is_gone_is_noticed_at_the_next_checkpoint(tmp_path: Path, monkeypatch, what: str) -> None:
    path, whole = tmp_path / "run.h5", tmp_path / "whole.h5"
    learn(Learn("barrel", **LESSON, out=whole))
    kept = GrowingFile.append

    def append(self: GrowingFile, name: str, rows: Any, step: int) -> None:
        if step == 50 and name == "sensors":
            if what == "deleted":
                path.unlink()
            elif what == "moved":
                path.rename(tmp_path / "elsewhere.h5")
            else:
                shutil.copy(whole, tmp_path / "copy.h5")
                os.replace(tmp_path / "copy.h5", path)
        kept(self, name, rows, step)

    with (
        monkeypatch.context() as patch,
        pytest.raises(FileError, match=r"its 100 steps are in .*run.saved.h5"),
    ):
        patch.setattr(GrowingFile, "append", append)
        learn(Learn("barrel", **LESSON, out=path))
    if what == "replaced":
        assert path.read_bytes() == whole.read_bytes()
    learn(Learn("barrel", **LESSON, out=tmp_path / "run.saved.h5"))
    with open_run_file(whole) as one, open_run_file(tmp_path / "run.saved.h5") as two:
        assert np.array_equal(one.learning.sensors[:], two.learning.sensors[:])
