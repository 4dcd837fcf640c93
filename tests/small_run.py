"""A small real run, recorded and quantified in seconds, for tests of figures and pages."""

from pathlib import Path

from experiments.pipeline.learn import Learn, learn
from experiments.pipeline.quantify import Quantify, quantify
from experiments.pipeline.record import Record, record


def make_small_run(folder: Path, seed: int = 1) -> Path:
    """Two freezes of a hexapod that hardly learned anything: enough for every quantity to exist."""
    path = folder / f"small-{seed}.h5"
    learn(Learn("hexapod", minutes=0.2, freeze=(0.1, 0.2), seed=seed, checkpoint=300, out=path, quiet=True))
    record(Record((path,), 3000, transient=100, jobs=1, quiet=True))
    quantify(Quantify(str(path), m_max=5, replicates=3, quiet=True), show=False)
    return path
