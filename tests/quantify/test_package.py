"""The package as a whole: how its modules hang together, what it exports, how it refuses bad input."""

import ast
import importlib
import inspect
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

import quantify as q

ROOT = Path(__file__).parents[2]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "quantify").rglob("*.py"))
}


def imported_modules(path):
    """Modules of the package that a module imports, at the top, in a function or for its types alone."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else node.module for name in names}
    return found & set(FILES)


def chapter(module):
    """The module or folder directly below the package."""
    return ".".join(module.split(".")[:2])


def test_no_module_imports_itself_in_a_roundabout_way():
    graph = {module: imported_modules(path) for module, path in FILES.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(FILES)  # raises CycleError
    chapters: dict[str, set[str]] = {}
    for module, others in graph.items():
        chapters.setdefault(chapter(module), set()).update(chapter(o) for o in others)
    for module, others in chapters.items():
        others.discard(module)
    list(TopologicalSorter(chapters).static_order())


@pytest.mark.parametrize("name", ["entropies", "stationarity", "quantify"])
def test_exported_functions_are_not_hidden_by_modules_of_their_name(name):
    for module in FILES:
        importlib.import_module(module)
    assert inspect.isfunction(getattr(q, name))


SERIES = np.random.default_rng(0).standard_normal(300)


@pytest.mark.parametrize(
    "call",
    [
        lambda: q.quantify([[1, 2], [3]]),
        lambda: q.quantify(SERIES, eps=["wide", "narrow"]),
        lambda: q.quantify(SERIES, tau=2.5),
        lambda: q.correlation_sums(SERIES, tau=1, m_max=2, workers=-1),
        lambda: q.predictive_information(SERIES, tau=1, m=[[1], [2, 3]]),
        lambda: q.predictive_information(SERIES, tau=1, m=1, eta="loud"),
        lambda: q.predictive_information(SERIES, tau=1, m=1, points="many"),
        lambda: q.SegmentRule(1),
        lambda: q.systems.Lorenz(noise=-1),
    ],
)
def test_bad_input_is_a_quantify_error(call):
    with pytest.raises(q.QuantifyError):
        call()


@pytest.mark.parametrize("series", [["a", "b", "c"], SERIES > 0, SERIES + 0j, [None, 1.0, 2.0]])
def test_wrong_types_are_both_kinds_of_error(series):
    with pytest.raises(q.DtypeError, match="dtype") as caught:
        q.choose_delay(series)
    assert isinstance(caught.value, q.QuantifyError) and isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError) and issubclass(q.TiseanFormatError, q.QuantifyError)


def test_a_bug_is_not_taken_for_bad_input(monkeypatch):
    def broken(*_, **__):
        raise ValueError("operands could not be broadcast together")

    monkeypatch.setattr("quantify.quantification.pipeline.fit_scaling", broken)
    with pytest.raises(ValueError, match="broadcast") as caught:
        q.quantify(SERIES, tau=1, m_max=2, replicates=0)
    assert not isinstance(caught.value, q.QuantifyError)
