"""Small real runs that many tests look at; each is made once for all processes of the test run.

They must not be changed: `shutil.copy` one, with the results beside it, to change it.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock

from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.quantify import Quantify, quantify
from experiments.pipeline.record import Record, record

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("selforg", deadline=None)
hypothesis.settings.load_profile("selforg")


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """A kill is survived without it; that the power may fail while tests run is nobody's concern."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_behaviours_of_ones_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a developer has kept is neither seen nor touched, by the processes that tests start neither."""
    os.environ["SELFORG_BEHAVIOURS"] = str(tmp_path_factory.mktemp("own-behaviours"))


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A folder that is filled once, by `fill(folder)`, and then shared by all processes of the test run."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, fill: Callable[[Path], object]) -> Path:
        folder = base / f"shared-{name}"
        with FileLock(base / f"shared-{name}.lock"):
            if not (folder / "done").exists():
                folder.mkdir(exist_ok=True)
                fill(folder)
                (folder / "done").touch()
        return folder

    return made


def make_small_run(folder: Path, seed: int = 1) -> Path:
    """Two freezes of a hexapod that hardly learned anything: enough for every quantity to exist."""
    path = folder / f"small-{seed}.h5"
    learn(Learn("hexapod", minutes=0.2, freeze=(0.1, 0.2), seed=seed, checkpoint=300, out=path))
    record(Record((path,), 3000, transient=100, jobs=1))
    quantify(Quantify(str(path), m_max=5, replicates=3))
    return path


@pytest.fixture(scope="session")
def small_run(made_once: Callable[..., Path]) -> Path:
    """A hexapod frozen after .1 and .2 minutes, recorded for 3,000 samples and quantified."""
    return made_once("small-run", make_small_run) / "small-1.h5"


@pytest.fixture(scope="session")
def learned_run(made_once: Callable[..., Path]) -> Path:
    """A hexapod that has learned for .1 minutes, frozen twice, not recorded."""

    def fill(folder: Path) -> None:
        learn(Learn("hexapod", minutes=0.1, freeze=(0.05, 0.1), checkpoint=100, out=folder / "learned.h5"))

    return made_once("learned-run", fill) / "learned.h5"


@pytest.fixture(scope="session")
def recorded(made_once: Callable[..., Path]) -> Path:
    """A snake frozen after .1 and .3 minutes, recorded for 3,000 samples; not to be changed."""

    def fill(folder: Path) -> None:
        learn(Learn("snake", minutes=0.3, freeze=(0.1, 0.3), out=folder / "run.h5"))
        record(Record((folder / "run.h5",), samples=3000, transient=100, jobs=1))

    return made_once("recorded-snake", fill) / "run.h5"
