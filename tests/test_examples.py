"""Everything that the four packages export shows in an example how it is used; pytest runs the examples."""

import doctest
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import controllers
import experiments
import quantify
import robots

PACKAGES = (robots, controllers, quantify, experiments)
EXPORTED = [(package, name) for package in PACKAGES for name in package.__all__]


@pytest.mark.parametrize(("package", "name"), EXPORTED, ids=lambda x: getattr(x, "__name__", x))
def test_what_is_exported_has_an_example(package: ModuleType, name: str) -> None:
    found = getattr(package, name)
    own = found if inspect.isclass(found) or inspect.isfunction(found) or inspect.ismodule(found) else package
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(own) or "")
    shown = [e for e in examples if own is not package or name in e.source]
    assert shown, f"{package.__name__}.{name} has no example"


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_shipped(package: ModuleType) -> None:
    assert package.__file__ is not None
    assert Path(package.__file__).with_name("py.typed").exists()
