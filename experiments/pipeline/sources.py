"""What a user's own rule or robot is: the source that it was imported from, by content.

A name says nothing about what a class does: its file may have been edited since. So every run, recording and
task of a sweep that uses code of the user's carries a SHA-256 of each module of the user's that the code is
made of. Code of ours counts by `revision`, a number at the class that is raised when its results change: the
version of the package would make all stored results worthless at every release, mostly for nothing.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from experiments.errors import ExperimentError, FileError

OURS = frozenset({"controllers", "robots", "quantify", "experiments"})
KNOWN = OURS | sys.stdlib_module_names | {"gymnasium", "numpy"}
"""Packages that count by their version."""
SEEN = "_seen_by_selforg"
Sources = dict[str, str]
"""SHA-256 of a source, by module (or module:Class where there is no module but a session)."""


def sources(*classes: type) -> Sources:
    """What classes are made of, beyond what comes along: a digest for each module of the user's.

    These are the modules that have the classes and their bases, and those that they import, unless they are
    installed packages. Of a class in a script or a notebook it is the class, and the functions, classes and
    constants beside it that it names. Data that a module reads are not looked at.

    Raises ExperimentError if a module in use is not what its file says (any more).
    """
    found: Sources = {}
    for cls in classes:
        own = cls.__module__.partition(".")[0]
        for base in cls.__mro__:
            top, place = base.__module__.partition(".")[0], f"{base.__module__}:{base.__qualname__}"
            if top in OURS:
                if (revision := vars(base).get("revision", 1)) != 1:
                    found[place] = f"revision {revision}"
            elif _place(base.__module__) is None or top == "__main__":
                if top not in KNOWN:
                    found[place] = _digest("\n".join(_pieces(base, set())))
            else:
                _gather(base.__module__, own, found)
    return dict(sorted(found.items()))


def changes(stored: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Which sources differ, in words ("my_rules"); empty if none does."""
    return ", ".join(name for name in sorted({*stored, *here}) if stored.get(name) != here.get(name))


def verify(wanted: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Refuse to compute a task with other sources than it names: a worker may have other files."""
    if differing := changes(wanted, here):
        raise FileError(f"{differing}: the source here is not the one that was asked for; use the same files")


def forget_changed(name: str) -> None:
    """Let a module of the user's be imported anew if its file, or that of one it imports, was edited since.

    A rule or robot that is asked for by name is what its file says.
    """
    if name.partition(".")[0] in KNOWN or name not in sys.modules:
        return
    found: Sources = {}
    _gather(name, name.partition(".")[0], found, check=False)
    loaded = {one: sys.modules[one] for one in found if one in sys.modules}
    if any(_edited(module) for module in loaded.values()):
        importlib.invalidate_caches()
        for one in loaded:
            del sys.modules[one]


def _gather(name: str, own: str, found: Sources, check: bool = True) -> None:
    """Add the digest of a module, and of those of the user's that it imports, to what was found."""
    path, top = _place(name), name.partition(".")[0]
    if name in found or path is None or top in KNOWN or (top != own and _installed(path)):
        return
    if path.suffix != ".py":
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return
    if check and name in sys.modules and _edited(sys.modules[name]):
        raise ExperimentError(
            f"{path.name} has changed since {name} was imported; importlib.reload({name}), or start Python "
            "anew"
        )
    text = _text(path)
    found[name] = _digest(text)
    for other in _imported(text, name, path):
        _gather(other, own, found, check)


def _imported(text: str, name: str, path: Path) -> Iterator[str]:
    """Names of modules, or of what is in them, that a source imports."""
    package = (name if path.name == "__init__.py" else name.rpartition(".")[0]).split(".")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join(filter(None, (*base, node.module)))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _place(name: str) -> Path | None:
    """File of a module, imported or not; None if there is no such module, or it has none."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
        return Path(file) if file else None
    spec = None
    if name.rpartition(".")[0] in ("", *sys.modules):  # else looking for it would import its package
        with suppress(ImportError, ValueError, AttributeError):
            spec = importlib.util.find_spec(name)
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _installed(path: Path) -> bool:
    folders = {sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib", "platstdlib")}
    return any(path.is_relative_to(folder) for folder in folders)


def _edited(module: ModuleType) -> bool:
    """Whether the file of a module has changed since it was seen, or says other functions or constants."""
    loader, file = getattr(module.__spec__, "loader", None), getattr(module, "__file__", None)
    if type(loader) is not SourceFileLoader or file is None:
        return False
    try:
        text = _text(Path(file))
        code = compile(text, file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return True
    # Noted down when it is seen first, mostly right after its import; a reload makes a new spec.
    spec: Any = module.__spec__
    if SEEN in vars(spec):
        return bool(vars(spec)[SEEN] != _digest(text))
    setattr(spec, SEEN, _digest(text))
    written = set(_codes(code))
    used = {one for one in _functions(vars(module).values(), module.__name__) if one.co_filename == file}
    differs = not used <= written or any(
        name in vars(module) and not _same(vars(module)[name], value)
        for name, value in _constants(text).items()
    )
    if differs:
        setattr(spec, SEEN, "")
    return differs


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and repr(a) == repr(b)


def _constants(text: str) -> dict[str, Any]:
    """Plain values that a source gives to names at its top, the last of each name."""
    found: dict[str, Any] = {}
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name):
                found.pop(target.id, None)
                with suppress(ValueError, TypeError):
                    found[target.id] = ast.literal_eval(getattr(node, "value", None))  # type: ignore[arg-type]
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _functions(values: Iterable[Any], module: str) -> Iterator[CodeType]:
    """Code of functions, and of the methods of classes, that a module has defined."""
    for value in list(values):
        inner = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(inner, FunctionType):
            yield inner.__code__
        elif isinstance(value, type) and value.__module__ == module:
            yield from _functions(vars(value).values(), module)


def _pieces(item: Any, seen: set[str]) -> Iterator[str]:
    """Source of a class or function of a session, and of what it names there."""
    try:
        text = textwrap.dedent(inspect.getsource(item))
        nodes = list(ast.walk(ast.parse(text)))
    except (OSError, TypeError, SyntaxError):  # typed at a prompt: what it was compiled to is left
        yield from map(_instructions, _functions([item], item.__module__))
        return
    yield text
    beside = vars(sys.modules.get(item.__module__, ModuleType("gone")))
    for node in nodes:
        if isinstance(node, ast.Name) and node.id not in seen and node.id in beside:
            seen.add(node.id)
            value = beside[node.id]
            if getattr(value, "__module__", None) == item.__module__ and hasattr(value, "__qualname__"):
                yield from _pieces(value, seen)
            elif isinstance(value, int | float | complex | str | bytes | tuple | list | dict):
                yield f"{node.id} = {value!r}"


def _instructions(code: CodeType) -> str:
    constants = [_instructions(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return repr((code.co_name, code.co_code, code.co_names, constants))


def _text(path: Path) -> str:
    """A source as Python reads it: in the encoding that it names, with one kind of line ends."""
    return importlib.util.decode_source(path.read_bytes())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
