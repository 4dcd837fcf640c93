"""A finished run that the tests of run files share."""

from pathlib import Path

import pytest

from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.record import Record, record


@pytest.fixture(scope="session")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the hexapod with one recorded behaviour."""
    path = tmp_path_factory.mktemp("run") / "run.h5"
    learn(Learn("hexapod", minutes=0.2, freeze=(0.1, 0.2), checkpoint=250, out=path, engine="mujoco"))
    record(Record((path,), samples=9000, transient=100, freeze=(0.2,), jobs=1))
    return path
