"""Robots, rules and their settings, read from the sources: nothing is imported, so that help is quick."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import math
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from experiments.errors import ExperimentError, nearest
from experiments.settings import experiment_defaults

REGISTRIES = {"robots": "ROBOTS", "controllers": "REGISTRY"}
"""By package the name of the table in its module `registry`."""
COMMON = {"robots": ("robots.config", "RobotConfig"), "controllers": ("controllers.config", "RuleConfig")}
"""By package the settings that all of its kinds have."""


@dataclass(frozen=True)
class Key:
    """A setting of a body or a rule."""

    default: str
    about: str
    """What it is, with its unit and its range."""


@dataclass(frozen=True)
class Kind:
    """A robot or a rule."""

    about: str
    keys: dict[str, Key]


def known(package: str) -> list[str]:
    """Names of the robots or of the rules that come along.

    >>> known("robots")[:2], "ulr" in known("controllers")
    (['hexapod', 'hexapod-high'], True)
    """
    return list(_registered(package))


def kind(package: str, name: str) -> Kind:
    """A robot ("robots") or a rule ("controllers") by name, or a user's own as my_module:MyClass.

    >>> kind("controllers", "ulr").keys["eps"].about.partition(",")[0]
    'Learning rate of C per step'
    """
    module, colon, class_name = name.partition(":")
    if not colon:
        if name not in known(package):
            what = {"robots": "robot", "controllers": "rule"}[package]
            raise ExperimentError(f"unknown {what} {name!r}; {nearest(name, known(package))}")
        module, class_name = f"{package}.registry", _registered(package)[name]
    found = _find(module, class_name)
    if found is None:
        raise ExperimentError(f"{module} has no class {class_name!r} in this folder or on the path")
    about = (ast.get_docstring(found[1]) or "").partition("\n")[0]
    return Kind(about, _fields(*_config(*found, package)))


def keys_in_words(robot: str | None, rule: str) -> str:
    """The end of a command's help: which robots and rules there are, and what --body and --rule take.

    Of the robot and the rule that are asked for, if they are known, else what all have in common.
    """
    lines = _wrapped(f"Robots: {', '.join(known('robots'))}. `selforg robots NAME` says more.", "")
    lines += _wrapped(f"Rules: {', '.join(known('controllers'))}. `selforg rules NAME` says more.", "")
    whose = f"the {robot}" if robot else "every robot (name one before --help for its own)"
    bodies = kind("robots", robot).keys if robot else _fields(*COMMON["robots"])
    parts = {
        f"--body KEY=VALUE, of {whose}, with defaults:": (bodies, "body"),
        f"--rule KEY=VALUE, of {rule}, with defaults:": (kind("controllers", rule).keys, "rule"),
    }
    for head, (keys, part) in parts.items():
        usual = experiment_defaults(robot, rule, part) if robot else {}
        lines += ["", *_wrapped(head, "")]
        lines += list(key_lines(keys, usual)) or ["  none"]
    return "\n".join(lines)


def key_lines(keys: dict[str, Key], usual: dict[str, object] | None = None) -> Iterator[str]:
    """A setting and its default, what it is, its unit and range; `usual` has defaults that differ."""
    for name, key in keys.items():
        start = f"  {name}={(usual or {}).get(name, key.default)}"
        yield from _wrapped(f"{start:<28} {key.about}", " " * 29)


def _wrapped(text: str, indent: str) -> list[str]:
    width = min(shutil.get_terminal_size().columns, 110)
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True)


@cache
def _registered(package: str) -> dict[str, str]:
    """Names and classes of a package's table."""
    for node in _parsed(f"{package}.registry").body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == REGISTRIES[package]:
            assert isinstance(node.value, ast.Dict)
            named = zip(node.value.keys, node.value.values, strict=True)
            # A rule stands for itself; a robot is the second argument of its entry.
            return {
                ast.literal_eval(key): ast.unparse(value.args[1] if isinstance(value, ast.Call) else value)
                for key, value in named
                if key is not None
            }
    raise AssertionError(f"{package}.registry has no {REGISTRIES[package]}")


@cache
def _parsed(module: str) -> ast.Module:
    """The source of a module, none of whose packages is imported; empty if there is none."""
    top, *inner = module.split(".")
    # A user's own may lie in the current folder, which is not on the path of an installed command.
    spec = importlib.util.find_spec(top) or PathFinder.find_spec(top, [str(Path.cwd())])
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    path = origin.parent.joinpath(*inner).with_suffix(".py") if origin and inner else origin
    if path is None or path.suffix != ".py" or not path.exists():
        return ast.Module([], [])
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}") from error


def _find(module: str, name: str) -> tuple[str, ast.ClassDef] | None:
    """The class of that name, and the module where it stands, from which it may be imported."""
    for node in _parsed(module).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return module, node
    for node in _parsed(module).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _find(node.module, alias.name)
    return None


def _config(module: str, node: ast.ClassDef, package: str) -> tuple[str, str]:
    """Module and name of the settings class that a robot or a rule states, or inherits."""
    for item in node.body:
        targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", None)]
        value = getattr(item, "value", None)
        if isinstance(value, ast.Name) and any(isinstance(t, ast.Name) and t.id == "Config" for t in targets):
            return module, value.id
        if isinstance(item, ast.ClassDef) and item.name == "Config":
            return module, f"{node.name}.Config"
    for base in node.bases:
        found = _find(module, ast.unparse(base).rpartition(".")[2])
        if found is not None and (stated := _config(*found, package)) != COMMON[package]:
            return stated
    return COMMON[package]


def _fields(module: str, name: str) -> dict[str, Key]:
    """The fields of a settings class, those that it inherits last."""
    outer, _, inner = name.partition(".")
    found = _find(module, outer)
    if found is None:
        return {}
    module, node = found
    if inner:
        node = next(item for item in node.body if isinstance(item, ast.ClassDef) and item.name == inner)
    above: dict[str, Key] = {}
    for base in node.bases:
        above |= _fields(module, ast.unparse(base).rpartition(".")[2])
    own: dict[str, Key] = {}
    zero = _may_be_zero(module, node)
    for item, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        if not (isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value):
            continue
        annotation = ast.unparse(item.annotation)
        if annotation.startswith("ClassVar"):
            continue
        text = after.value if isinstance(after, ast.Expr) else None
        words = inspect.cleandoc(str(text.value)) if isinstance(text, ast.Constant) else ""
        limits = _limits(annotation, item.target.id in zero if zero else None, words)
        own[item.target.id] = Key(_typed(item.value), " ".join(f"{words} {limits}".split()))
    return own | {key: one for key, one in above.items() if key not in own}


def _typed(value: ast.expr) -> str:
    """A default as it is typed after KEY=."""
    if isinstance(value, ast.BinOp):
        return f"{_calculated(value):.6g}"
    constant = value.value if isinstance(value, ast.Constant) else ast.unparse(value)
    return str(constant).lower() if isinstance(constant, bool) else str(constant)


def _calculated(value: ast.expr) -> float:
    """A number that is written as a product or quotient, such as pi / 4."""
    if isinstance(value, ast.BinOp):
        left, right = _calculated(value.left), _calculated(value.right)
        return left / right if isinstance(value.op, ast.Div) else left * right
    return math.pi if isinstance(value, ast.Name) else float(ast.literal_eval(value))


def _may_be_zero(module: str, node: ast.ClassDef) -> set[str]:
    """Fields of a robot's settings that may be 0; empty for a rule, whose fields state their range."""
    found: set[str] = set()
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and ast.unparse(item.target) == "MAY_BE_ZERO":
            assert item.value is not None
            strings = (one.value for one in ast.walk(item.value) if isinstance(one, ast.Constant))
            found |= {one for one in strings if isinstance(one, str)}
    for base in node.bases:
        if above := _find(module, ast.unparse(base).rpartition(".")[2]):
            found |= _may_be_zero(*above)
    return found


def _limits(annotation: str, may_be_zero: bool | None, words: str) -> str:
    """The range of a setting in words, unless its words state it."""
    if annotation == "bool":
        return "true or false."
    if "Literal[" in annotation:
        return f"One of {annotation.partition('[')[2].rstrip(']')}."
    if "Range(" in annotation:
        return "" if "in [" in words else f"In [{annotation.partition('Range(')[2].partition(')')[0]}]."
    if may_be_zero is None:
        return ""
    return "0 or more." if may_be_zero else "Above 0."
