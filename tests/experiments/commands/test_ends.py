"""However a command is started, it ends with one line and a status: no traceback, no hang, nothing lost."""

import ctypes
import inspect
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import controllers.compiled
import quantify.compiled
from experiments.cli import main
from quantify.compiled import _private

ROOT = Path(__file__).parents[3]
SELFORG = [sys.executable, "-m", "experiments.cli"]


def selforg(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SELFORG, *words], text=True, stderr=subprocess.PIPE, timeout=120, **options)


@pytest.mark.guard
def test_closed_full_and_narrow_output(learned_run: Path, tmp_path: Path) -> None:
    closed = selforg(["show", str(learned_run)], preexec_fn=lambda: os.close(1))
    assert (closed.returncode, closed.stderr) == (2, "selforg: standard output is closed\n")
    with open("/dev/full", "w") as full:
        done = selforg(["show", str(learned_run)], stdout=full)
    assert (done.returncode, done.stderr) == (2, "selforg: No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` does when it has enough
    gone = selforg(["show", str(learned_run)], stdout=writer)
    os.close(writer)
    assert (gone.returncode, gone.stderr) == (141, "")
    plain = {"COLUMNS": "0", "PYTHONIOENCODING": "ascii"}
    named = shutil.copy(learned_run, tmp_path / "gewöhnt.h5")  # a letter that ASCII has not
    for words, changes, said in (
        (["learn", "--help"], {"COLUMNS": "5"}, "usage: selforg learn"),
        (["show", str(named)], plain, "gew\\xf6hnt.h5: hexapod under ulr"),
    ):
        done = selforg(words, stdout=subprocess.PIPE, env=os.environ | changes)
        assert done.returncode == 0 and said in done.stdout, (changes, done.stdout, done.stderr)
        assert len(done.stdout.splitlines()) > 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--minutes", "1e308"], "minutes is 1e+308"),
        (["--seed", "99999999999999999999999"], "less than 2^63"),
        (["--interval", "1e300"], "interval is 1e+300"),
        (["--freeze", "0.1000001", "0.1000002"], "first six digits"),
    ],
)
def test_numbers_beyond_all_limits(refused: Callable[..., str], words: list[str], message: str) -> None:
    assert message in refused("learn", "barrel", *words)


def test_a_folder_that_cannot_be_made(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out, why in (("file/x.h5", "there is a file of this name"), ("file/a/x.h5", "Not a directory")):
        words = f"cannot make the folder {Path(out).parent}: {why}; choose another place"
        assert words in refused("learn", "barrel", "--out", out)


def test_odd_columns_and_archives(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 9)
    np.savez(tmp_path / "z.npz", x=np.zeros(3))
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    assert "no column '²'" in refused("quantify", "x.csv", "--sensor", "²")
    # What a file begins with counts, not what it is called.
    assert "z.npy has 3 samples" in refused("quantify", "z.npy")
    assert "both above 0 and finite" in refused(
        "quantify", "x.csv", "--sensor", "a", "--m-max", "2", "--eps-range", "0.1", "inf"
    )


@pytest.mark.guard
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_a_series_in_an_odd_unit_has_the_same_complexity(
    scale: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(1).normal(size=600)
    found = []
    for factor in (1.0, scale):
        np.savetxt(tmp_path / "x.csv", factor * x)
        words = "--m-max 2 --tau 1 --replicates 2 --predictive 100 --json --quiet"
        assert main(["quantify", str(tmp_path / "x.csv"), *words.split()]) == 0
        (result,) = json.loads(capsys.readouterr().out).values()
        found.append(result)
    one, other = found
    for name in ("E_state", "E_mem", "E_core"):
        # The last bits of the values are rounded anew, and a pair in a million may count at another scale.
        assert other[name]["value"] == pytest.approx(one[name]["value"], abs=1e-6)
    assert other["range"]["hi"] == pytest.approx(scale * one["range"]["hi"], rel=1e-6)


@pytest.mark.guard
def test_a_full_disk_leaves_no_half_figure(small_run: Path, tmp_path: Path) -> None:
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # noqa: E731
    words = ["plot", str(small_run), "--figure", "progress", "-o", str(tmp_path / "f.pdf")]
    done = selforg(words, preexec_fn=limit)
    assert done.returncode == 2 and done.stderr.endswith("f.pdf: File too large\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.guard
def test_a_read_only_installation_without_a_home(tmp_path: Path) -> None:
    """Each package works alone, though compiled code can be kept neither beside it nor in the home."""
    (tmp_path / "tmp").mkdir()
    leave_out = shutil.ignore_patterns("__pycache__")
    for name in ("robots", "controllers", "quantify", "experiments"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=leave_out)
    folders = [path for path in (tmp_path, *tmp_path.rglob("*")) if path.is_dir() and path.name != "tmp"]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "MPL"))}
    env |= {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    codes = {
        "robots": "robots.data_sheet('barrel')",
        "controllers": "controllers.make('identity', 4, 3).step([0.0] * 4)",
        "quantify": "quantify.S_MIN",
        "experiments.cli": "experiments.cli.main(['--help'])",
    }
    for folder in folders:
        folder.chmod(0o555)
    found = {}
    for name, code in codes.items():
        look = f"place = {name}.__file__; print(os.access(os.path.dirname(place), os.W_OK), place)"
        command = [sys.executable, "-P", "-c", f"import os, {name}; {code}; {look}"]
        found[name] = subprocess.run(
            command, env=env, cwd=tmp_path, preexec_fn=obey_permissions, capture_output=True, text=True
        )
    for folder in folders:
        folder.chmod(0o755)
    for name, done in found.items():
        assert done.returncode == 0 and not done.stderr, (name, done.stderr)
        *_, writable, place = done.stdout.split()
        assert Path(place).is_relative_to(tmp_path)
        if writable == "True":
            pytest.skip("this user may write everywhere")
    # One folder for all commands, which nobody else may enter; what was compiled is found again.
    (kept,) = (tmp_path / "tmp").iterdir()
    assert kept.name == f"selforg-{os.geteuid()}" and kept.stat().st_mode & 0o777 == 0o700
    assert list(kept.rglob("base.act*.nbi"))


def test_code_that_others_could_have_put_there_is_not_run(tmp_path: Path) -> None:
    ours = _private(tmp_path / "ours")
    assert ours == _private(ours) == tmp_path / "ours"
    ours.chmod(0o770)
    (tmp_path / "link").symlink_to(tmp_path)
    for wrong in (ours, tmp_path / "link"):
        assert _private(wrong).parent == Path(tempfile.gettempdir())
    assert inspect.getsource(controllers.compiled) == inspect.getsource(quantify.compiled)


def obey_permissions() -> None:
    """Take from a child of root the right to write where nobody may (CAP_DAC_OVERRIDE)."""
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP
