"""The arrows between the packages point one way."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("robots", "controllers", "quantify", "experiments")
ALLOWED = {
    "robots": {"robots", "pybullet", "pybullet_utils", "pybullet_data", "numpy", "gymnasium"},
    "controllers": {"controllers", "numpy", "numba"},
    "quantify": {"quantify", "numpy", "scipy", "numba", "llvmlite", "matplotlib"},
}


def imported_packages(source: str) -> set[str]:
    """Top-level names of everything a module imports."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_package_imports_only_what_it_may(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.py")):
        foreign = imported_packages(path.read_text()) - ALLOWED[package] - set(sys.stdlib_module_names)
        assert not foreign, f"{path.relative_to(ROOT)} imports {sorted(foreign)}"
