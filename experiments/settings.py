"""Settings of a command: a dataclass whose field docs are its help, filled from a file and from flags."""

from __future__ import annotations

import dataclasses
import shlex
import tomllib
import types
import typing
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro

from experiments.errors import ExperimentError, nearest

T = TypeVar("T")
# Options that say where and how a command runs; all others decide what comes out.
ASIDE = frozenset({"out", "quiet", "jobs", "config", "json", "replace", "keep", "backend", "scheduler"})


def parse_settings(words: list[str]) -> dict[str, Any]:
    """KEY=VALUE words as a dict; values are read as in TOML (1, .5, true), anything else is a string."""
    settings = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise ValueError(f"{word!r} is not KEY=VALUE")
        settings[key] = _value(text)
    return settings


def _value(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text.lower(), text)


Settings = Annotated[
    dict[str, Any],
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="KEY=VALUE ...",
        instance_from_str=parse_settings,
        is_instance=lambda instance: isinstance(instance, dict),
        str_from_instance=lambda instance: [f"{key}={value}" for key, value in instance.items()],
    ),
]


def read_toml(path: Path, cls: type[Any]) -> dict[str, Any]:
    """The settings of a command from a TOML file; unknown keys and wrong types are errors."""
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise ExperimentError(f"cannot read the configuration {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{path} is not valid TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    hints = typing.get_type_hints(cls)
    values = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in hints:
            raise ExperimentError(f"{path}: unknown key {key!r}; {nearest(name, hints)}")
        try:
            values[name] = _coerce(value, hints[name])
        except TypeError as error:
            raise ExperimentError(f"{path}: {key} = {value!r} must be {error}") from error
    return values


def _coerce(value: Any, hint: Any) -> Any:
    """A TOML value as the type of a field; raises TypeError with the name of what was wanted."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        for option in args:
            if option is not type(None):
                return _coerce(value, option)
    if origin is tuple:
        if not isinstance(value, list):
            raise TypeError("a list")
        if Ellipsis not in args and len(value) != len(args):
            raise TypeError(f"a list of {len(args)}")
        return tuple(_coerce(item, args[0]) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise TypeError("a table")
        return value
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if origin is typing.Literal:
        if value not in args:
            raise TypeError(f"one of {', '.join(map(repr, args))}")
        return value
    fits = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    if not fits:
        words = {
            str: "a string",
            int: "a whole number",
            float: "a number",
            bool: "true or false",
            Path: "a string",
        }
        raise TypeError(words[hint])
    return value


def defaults(cls: type[T], values: Mapping[str, Any]) -> T:
    """An instance with `values`, and with tyro's "missing" where a required field has none."""
    filled = dict(values)
    for f in dataclasses.fields(cls):  # type: ignore[arg-type]
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if required and f.name not in filled:
            filled[f.name] = tyro.MISSING
    return cls(**filled)


def build(cls: type[T], values: Mapping[str, Any], what: str) -> T:
    """A settings object of a body or a rule from names and values, with clear errors."""
    known = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise ExperimentError(f"{what} has no setting {name!r}; {nearest(name, known)}")
    fitted = {
        name: float(value) if isinstance(known[name].default, float) and isinstance(value, int) else value
        for name, value in values.items()
    }
    try:
        return cls(**fitted)
    except (TypeError, ValueError) as error:
        raise ExperimentError(str(error)) from error


@cache
def _table() -> dict[str, Any]:
    with open(Path(__file__).parent / "defaults.toml", "rb") as file:
        return tomllib.load(file)


def experiment_defaults(robot: str, controller: str, part: str) -> dict[str, Any]:
    """Settings of `part` ("body" or "rule") that differ from the class defaults for this robot and rule."""
    return dict(_table().get(robot, {}).get(controller, {}).get(part, {}))


def outcome(config: Any) -> dict[str, Any]:
    """The settings that decide what comes out, as plain JSON values."""
    return {key: plain(value) for key, value in dataclasses.asdict(config).items() if key not in ASIDE}


def command(name: str, config: Any) -> str:
    """The words that give the same result again: what is positional, and what differs from the defaults."""
    hints = typing.get_type_hints(type(config), include_extras=True)
    words = ["selforg", name]
    for f in dataclasses.fields(config):
        value = getattr(config, f.name)
        flag = f.name.replace("_", "-")
        if tyro.conf.Positional in typing.get_args(hints[f.name])[1:]:
            words.append(_word(value))
        elif f.name in ASIDE or value == f.default or (value == {} and f.default_factory is dict):
            continue
        elif isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, Mapping):
            words += [f"--{flag}", *(f"{key}={_word(item)}" for key, item in value.items())]
        else:
            words += [f"--{flag}", *map(_word, value if isinstance(value, tuple) else (value,))]
    return shlex.join(words)


def _word(value: Any) -> str:
    """A value as it is typed; str gives every digit of a float."""
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")


def plain(value: Any) -> Any:
    """Tuples as lists and paths as strings, as they come back from JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value.item() if hasattr(value, "item") else value


def difference(stored: Mapping[str, Any], asked: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Where two configurations differ, one sentence part per setting."""
    found = []
    for key in sorted({*stored, *asked}):
        a, b = stored.get(key), asked.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += difference(a, b, f"{prefix}{key}.")
        elif a != b:
            found.append(f"{prefix}{key} is {a!r} there and {b!r} here")
    return found
