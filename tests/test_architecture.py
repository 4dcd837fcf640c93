"""The arrows between packages, rooms and modules point one way; imports inside functions count, too."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What each package may import beside itself and the standard library.
PACKAGES = {
    "robots": {"pybullet", "mujoco", "numpy", "gymnasium"},
    "controllers": {"numpy", "numba"},
    "quantify": {"numpy", "scipy", "numba", "llvmlite", "h5py", "matplotlib"},
}
# What each room of `experiments` may import of it, beside itself. A module at the top is a room of its own;
# "" is the door, `experiments/__init__.py`.
ROOMS = {
    "errors": set(),
    "feedback": set(),
    "settings": {"errors"},
    "options": {"errors", "settings"},
    "console": {"feedback"},
    "runfiles": {"errors", "settings", "options"},
    "sweeps": {"errors", "feedback", "settings", "options", "runfiles"},
    "pipeline": {"errors", "feedback", "settings", "options", "runfiles", "sweeps"},
    "reports": {"errors", "feedback", "settings", "options", "console", "runfiles", "sweeps", "pipeline"},
    "studies": {
        *("errors", "feedback", "settings", "options", "console"),
        *("runfiles", "sweeps", "pipeline", "reports"),
    },
    "run": {"errors", "feedback", "options", "console", "runfiles", "pipeline", "reports"},
    "": {"errors", "run", "runfiles", "studies"},
    "commands": {
        *("errors", "feedback", "settings", "options", "console"),
        *("runfiles", "sweeps", "pipeline", "reports", "studies"),
    },
    "cli": {"errors", "feedback", "settings", "options", "console", "commands"},
}
# Packages that only some rooms need to know.
ONLY = {
    "robots": {"options", "pipeline", "reports", "studies", "commands", "run"},
    "controllers": {"pipeline", "reports", "studies", "commands", "run", ""},
}


def modules() -> dict[str, Path]:
    """All modules of the four packages by name."""
    found = {}
    for package in (*PACKAGES, "experiments"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(source: str, known: set[str]) -> set[str]:
    """Modules that a source imports anywhere: `from package import module` is of the module, if it is one."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, "relative imports hide where things are"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.add(inner if inner in known else node.module)
    return names


def room(name: str) -> str:
    """Room of a module of `experiments`."""
    return name.split(".")[1] if "." in name else ""


def forbidden(name: str, imported: set[str]) -> list[str]:
    """What a module imports although it may not, one sentence each."""
    package = name.partition(".")[0]
    wrong = []
    for other in sorted(imported):
        top = other.partition(".")[0]
        if top == "experiments" and package == "experiments":
            here, there = room(name), room(other)
            if here != there and there not in ROOMS[here]:
                wrong.append(f"{name} of the room {here!r} imports {other}")
        elif package in PACKAGES and top not in {package, *PACKAGES[package], *sys.stdlib_module_names}:
            wrong.append(f"{name} imports {other}")
        elif top in ONLY and package == "experiments" and room(name) not in ONLY[top]:
            wrong.append(f"{name} of the room {room(name)!r} imports {other}")
    return wrong


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in a circle; empty if none do."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imports(path.read_text(), set(known)) for name, path in known.items()}


def test_every_arrow_is_allowed(graph: dict[str, set[str]]) -> None:
    assert [sentence for name, found in graph.items() for sentence in forbidden(name, found)] == []


def test_nothing_imports_itself_in_a_circle(graph: dict[str, set[str]]) -> None:
    assert cycle({name: {other for other in found if other in graph} for name, found in graph.items()}) == []


def test_imports_by_name_stand_where_they_hide_nothing() -> None:
    """At the doors, which nothing else imports, for a user's modules, in the quantifier's own contents."""
    users = {name for name, path in modules().items() if "import_module(" in path.read_text()}
    doors, foreign = {"experiments", "experiments.cli"}, {"robots.foreign", "controllers.registry"}
    assert users == doors | foreign | {"experiments.pipeline.loop", "quantify"}
    assert not any({"", "cli"} & allowed for allowed in ROOMS.values())


@pytest.mark.parametrize(
    ("name", "source", "found"),
    [
        ("experiments.runfiles.hdf5", "from experiments.pipeline.learn import learn", 1),
        ("experiments.pipeline.learn", "def f():\n    from experiments.studies import progress", 1),
        ("experiments.sweeps.sweep", "import robots", 1),
        ("experiments.studies.progress", "from experiments.pipeline.learn import learn", 0),
        ("quantify.ksg", "import robots", 1),
        ("robots.snake", "def f():\n    import experiments.cli", 1),
        ("controllers.ulr", "import numpy, math", 0),
    ],
)
def test_a_wrong_arrow_is_found(name: str, source: str, found: int) -> None:
    assert len(forbidden(name, imports(source, set(modules())))) == found


def test_a_circle_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) and not cycle({"a": {"b"}, "b": set()})


def test_the_hall_has_few_doors_and_no_module_is_long() -> None:
    beside = [path.name for path in (ROOT / "experiments").glob("*.py") if path.name != "__init__.py"]
    assert len(beside) <= 8, beside
    long = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    assert {name: lines for name, lines in long.items() if lines > 400} == {}
    rooms = [path for path in (ROOT / "experiments").iterdir() if (path / "__init__.py").exists()]
    for path in rooms:
        assert "May import" in (path / "__init__.py").read_text(), path
    assert {path.name for path in rooms} | {Path(name).stem for name in beside} | {""} == set(ROOMS)


def test_help_imports_no_arrays_physics_or_compiler() -> None:
    """What help of any command imports; half a second is all that it may take."""
    source = "import sys; from experiments.cli import COMMANDS, main\n"
    source += "from experiments.options import commands, pipeline, reports, studies\n"
    source += "sys.argv = ['selforg', 'learn', '--help']\n"
    source += "try: main()\nexcept SystemExit: pass\n"
    source += "print('imported:', *sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    imported = set(done.stdout.rpartition("imported:")[2].split())
    heavy = {"numpy", "scipy", "numba", "h5py", "matplotlib", "pybullet", "mujoco", "gymnasium", "joblib"}
    assert "tyro" in imported and not heavy & imported
