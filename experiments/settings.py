"""Settings of a command: a dataclass whose field docs are its help, filled from flags or a TOML file."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
import shlex
import tomllib
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import tyro

from experiments.errors import ExperimentError, nearest, refusing

T = TypeVar("T")
ASIDE = {"aside": True}
"""Metadata of a field that says where or how to work, and decides nothing about what comes out."""


@typing.dataclass_transform(frozen_default=True, field_specifiers=(field,))
def settings(cls: type[T]) -> type[T]:
    """A frozen dataclass whose positional fields come first, before those of the groups that it inherits."""
    made = dataclass(frozen=True)(cls)
    known: dict[str, Any] = made.__dataclass_fields__  # type: ignore[attr-defined]
    first = [name for name in known if not known[name].kw_only]
    named = [name for base in made.__mro__ for name in inspect.get_annotations(base) if name in known]
    made.__dataclass_fields__ = {name: known[name] for name in dict.fromkeys(first + named)}  # type: ignore[attr-defined]
    return made


def parse_settings(words: list[str]) -> dict[str, Any]:
    """KEY=VALUE words as a dict; values are read as in TOML (1, .5, true), anything else is a string."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise ValueError(f"{word!r} is not KEY=VALUE")
        found[key] = {"true": True, "false": False}.get(text.lower(), text)
        for convert in (float, int):  # the last that fits counts
            with suppress(ValueError):
                found[key] = convert(text)
    return found


KeysAndValues = Annotated[
    dict[str, Any],
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="KEY=VALUE ...",
        instance_from_str=parse_settings,
        is_instance=lambda instance: isinstance(instance, dict),
        str_from_instance=lambda instance: [f"{key}={value}" for key, value in instance.items()],
    ),
]


MOST_SEEDS = 10_000
"""More than anybody can wait for; they are all listed before the first begins."""


def parse_seeds(words: Sequence[str | int]) -> tuple[int, ...]:
    """Seeds by number, 1:10 for all from 1 to 10; each once.

    >>> parse_seeds(["7", "1:3"])
    (7, 1, 2, 3)
    """
    found: list[int] = []
    for word in map(str, words):
        first, colon, last = word.partition(":")
        try:
            low, high = int(first), int(last if colon else first)
        except ValueError:
            raise ValueError(f"{word!r} is no seed: give numbers, or 1:10 for all from 1 to 10") from None
        if not 0 <= low <= high < 2**63:
            raise ValueError(f"{word!r}: seeds are 0 or more, less than 2^63, and the smaller comes first")
        if high - low >= MOST_SEEDS:
            raise ValueError(f"{word!r} names {high - low + 1:,} seeds; ask for {MOST_SEEDS:,} at most")
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))


def seed_words(seeds: Sequence[int]) -> list[str]:
    """Seeds as they are typed: the shortest words for them.

    >>> seed_words((1, 2, 3, 7))
    ['1:3', '7']
    """
    words: list[str] = []
    for _, group in itertools.groupby(enumerate(seeds), lambda pair: pair[1] - pair[0]):
        run = [seed for _, seed in group]
        words += [f"{run[0]}:{run[-1]}"] if len(run) > 2 else map(str, run)
    return words


def _seeds_of(value: Any) -> Any:
    """What a TOML file gives as seeds: a list, or words."""
    try:
        return parse_seeds(value.split() if isinstance(value, str) else value)
    except TypeError:
        words = f'seeds = {value}: give a list, [1, 2] or "1:10", or n_seeds = {value} for a count'
        raise ValueError(words) from None


SeedList = Annotated[
    tuple[int, ...],
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="SEED|FIRST:LAST ...",
        instance_from_str=parse_seeds,
        is_instance=lambda instance: isinstance(instance, tuple),
        str_from_instance=lambda instance: seed_words(instance),
    ),
]


# Groups of settings that several commands share.


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """Which seeds: one run each, the same for all that is compared."""

    seeds: SeedList = (1,)
    """Seeds by number: 1 2 3, or 1:10 for all from 1 to 10."""
    n_seeds: int | None = None
    """So many seeds instead: 1, 2, ..."""


def with_seeds(config: T) -> T:
    """The same settings with every seed named once; refuses what names none."""
    given: Any = config
    seeds, number = given.seeds, given.n_seeds
    default = next(f.default for f in dataclasses.fields(given) if f.name == "seeds")
    if number is not None:
        if not 1 <= number <= MOST_SEEDS:
            raise ExperimentError(f"--n-seeds is {number}; it must be at least 1, and {MOST_SEEDS:,} at most")
        if seeds != default:
            raise ExperimentError("--seeds and --n-seeds say the same: give one of them")
        seeds = range(1, number + 1)
    elif isinstance(seeds, int):
        raise ExperimentError(f"seeds is {seeds}; give a list, [{seeds}], or n_seeds={seeds} for a count")
    if not seeds:
        raise ExperimentError("--seeds names no seed; give at least one")
    with refusing(ValueError):
        words = seeds.split() if isinstance(seeds, str) else tuple(seeds)
        return dataclasses.replace(given, seeds=parse_seeds(words), n_seeds=None)


def lone_seed_words(seeds: Sequence[int]) -> str:
    """What to say where a lone number may have been meant as a count, as it once was; empty otherwise."""
    if len(seeds) != 1 or seeds[0] < 2:
        return ""
    return f"note: --seeds {seeds[0]} is the one seed {seeds[0]}; for so many seeds say --n-seeds {seeds[0]}"


@dataclass(frozen=True)
class Learner:
    """Who learns: the first settings of a command, which may go without a name."""

    robot: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ROBOT")]
    """Body to learn with, such as hexapod or snake."""
    controller: str = "ulr"
    """Learning rule by name, or your own as my_module:MyRule."""


@dataclass(frozen=True, kw_only=True)
class Physics:
    """What simulates the bodies."""

    engine: Literal["pybullet", "mujoco"] | None = None
    """Engine that simulates the body; pybullet on Python 3.11, mujoco where that has no wheel."""


@dataclass(frozen=True, kw_only=True)
class Transplant:
    """Where frozen controllers act."""

    engine: Literal["pybullet", "mujoco"] | None = field(default=None, metadata=ASIDE)
    """Engine that simulates the body; that in which it learned if not given."""
    transplant: bool = field(default=False, metadata=ASIDE)
    """Let a controller act in another engine than it learned in, as RUN.ENGINE.h5: what becomes of it?"""


@dataclass(frozen=True, kw_only=True)
class Changes(Physics):
    """What differs from the defaults of the robot and the rule."""

    body: KeysAndValues = field(default_factory=dict)
    """Settings of the body that differ from its defaults; preset=lpzrobots stands for a whole set of them."""
    rule: KeysAndValues = field(default_factory=dict)
    """Settings of the learning rule that differ from its defaults."""
    preset: str | None = None
    """Settings of the rule by name, such as authors-hexapod (docs/controllers.md); its defaults otherwise."""


@dataclass(frozen=True, kw_only=True)
class Own:
    """What of the user's own may be used beside what comes along."""

    module: tuple[str, ...] = field(default=(), metadata=ASIDE)
    """Modules of your own that a run may name (a robot, what a rule freezes to); no other is imported."""


@dataclass(frozen=True, kw_only=True)
class Parallel:
    """How many processes work."""

    jobs: int = field(default=0, metadata=ASIDE)
    """Parallel processes on this machine; 0 for one per core."""


@dataclass(frozen=True, kw_only=True)
class Scale(Parallel):
    """Where many tasks run."""

    backend: Literal["local", "dask"] = field(default="local", metadata=ASIDE)
    """local: processes on this machine. dask: the workers of a Dask cluster."""
    scheduler: str | None = field(default=None, metadata=ASIDE)
    """Address of the Dask scheduler, such as tcp://10.0.0.1:8786."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Which part of a series."""

    start: int | str = 0
    """Leave out what is before: a number of samples, or a time such as 150s or 2.5min."""
    stop: int | str | None = None
    """Leave out what is behind: a number of samples from the beginning, or a time such as 600s."""


@dataclass(frozen=True, kw_only=True)
class Reading(Part):
    """How a series of the user's is read."""

    time: str = ""
    """Column with the times of the samples, for rate and gaps; one called time, t, date, ... if not given."""
    rate: float | None = None
    """Samples per second, where there is no such column."""
    missing: Literal["refuse", "split", "interpolate"] = "refuse"
    """Missing values: refuse them; split there, and take the longest stretch without a gap; interpolate."""


@dataclass(frozen=True, kw_only=True)
class Scales:
    """Scales on which complexities are compared."""

    common: tuple[float, float] = (0.1, 0.4)
    """Scales common to all behaviours, in units of the sensor."""
    relative: tuple[float, float] = (0.2, 0.8)
    """Scales in units of each behaviour's standard deviation."""


LARGEST = 1e9
"""Of any number of minutes, seconds or samples: far more than anybody waits for, and no overflow anywhere."""


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
    values = {}
    known = [f.name for f in dataclasses.fields(cls)]
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in known:
            raise ExperimentError(f"{path}: unknown key {key!r}; {nearest(name, known)}")
        if name == "seeds":
            with refusing(ValueError):
                values[name] = _seeds_of(value)
            continue
        values[name] = checked(cls, name, value, f"{path}: {key}")
    return values


def checked(cls: type[Any], name: str, value: Any, what: str) -> Any:
    """A plain value as a setting of a command has it; refuses one of another type."""
    import pydantic

    hint = typing.get_type_hints(cls, include_extras=True)[name]
    try:
        # As JSON: files have its types, lists that stand for tuples and strings that stand for paths.
        text = json.dumps(value, default=str)
        return pydantic.TypeAdapter(hint).validate_json(text, strict=True)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        missing = f"item {first['loc'][-1]} is missing" if first["type"] == "missing" else ""
        wrong = missing or first["msg"].replace("Input should be", "it should be")
        raise ExperimentError(f"{what} = {value!r} does not fit: {wrong}") from error


def unfilled(cls: type[T], values: Mapping[str, Any]) -> T:
    """An instance with `values`, and with tyro's "missing" where a required field has none."""
    missing = inspect.Parameter.empty
    required = [p.name for p in inspect.signature(cls).parameters.values() if p.default is missing]
    return cls(**dict.fromkeys(required, tyro.MISSING) | dict(values))


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
    with refusing(TypeError, ValueError):
        return cls(**fitted)


def experiment_defaults(robot: str, controller: str, part: str) -> dict[str, Any]:
    """Settings of `part` ("body" or "rule") that differ from the class defaults for this robot and rule."""
    table = tomllib.loads(Path(__file__).with_name("defaults.toml").read_text(encoding="utf-8"))
    return dict(table.get(robot, {}).get(controller, {}).get(part, {}))


def deciding(config: Any) -> dict[str, Any]:
    """The settings that decide what comes out, as plain JSON values."""
    from quantify.plain import to_plain

    values = dataclasses.asdict(config)
    return {f.name: to_plain(values[f.name]) for f in dataclasses.fields(config) if "aside" not in f.metadata}


def command(name: str, config: Any, usual: Mapping[str, Any] | None = None) -> str:
    """The words that give the same result again: what is positional, and what is not default or `usual`."""
    from quantify.plain import to_plain

    hints = typing.get_type_hints(type(config), include_extras=True)
    words = ["selforg", name]
    for f in dataclasses.fields(config):
        value, flag = getattr(config, f.name), f.name.replace("_", "-")
        default = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
        if tyro.conf.Positional in typing.get_args(hints[f.name])[1:]:
            words += map(_word, value if isinstance(value, tuple) else (value,))
        elif "aside" in f.metadata or to_plain(value) == to_plain((usual or {}).get(f.name, default)):
            continue
        elif isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif f.name == "seeds":
            words += ["--seeds", *seed_words(value)]
        elif isinstance(value, Mapping):
            words += [f"--{flag}", *(f"{key}={_word(item)}" for key, item in value.items())]
        else:
            words += [f"--{flag}", *map(_word, value if isinstance(value, list | tuple) else (value,))]
    return shlex.join(words)


def _word(value: Any) -> str:
    """A value as it is typed; str gives every digit of a float."""
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")


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
