"""Settings of every rule: ranges, documentation, what is refused."""

import ast
import dataclasses
import inspect
import textwrap
import typing

import numpy as np
import pytest

import controllers
from controllers import REGISTRY, ControllerError, Range, make


def numeric_fields():
    for name, rule in REGISTRY.items():
        for field, hint in typing.get_type_hints(rule.Config, include_extras=True).items():
            if typing.get_origin(hint) is typing.Annotated:
                yield pytest.param(rule.Config, field, hint, id=f"{name}.{field}")


@pytest.mark.parametrize(("config", "field", "hint"), list(numeric_fields()))
def test_every_number_has_a_range_and_is_refused_outside(config, field, hint):
    kind, limits = typing.get_args(hint)
    assert isinstance(limits, Range) and limits.low < limits.high
    for value in (kind(limits.low), kind(limits.high)):
        config(**{field: value})
    for value in (limits.low - 1, limits.high * 2 + 1):
        with pytest.raises(ControllerError) as error:
            config(**{field: kind(value)})
        for word in (config.__name__, field, repr(kind(value)), str(limits)):
            assert word in str(error.value)
    for value in (float("nan"), "1", None, True):
        with pytest.raises(ControllerError, match=field):
            config(**{field: value})


@pytest.mark.parametrize("name", REGISTRY)
def test_every_field_is_documented_with_its_range(name):
    config = REGISTRY[name].Config
    documented = {}
    for owner in config.__mro__:
        if dataclasses.is_dataclass(owner):
            body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0].body
            for node, after in zip(body, [*body[1:], None], strict=True):
                if isinstance(node, ast.AnnAssign):
                    is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                    documented.setdefault(node.target.id, after.value.value if is_text else "")
    hints = typing.get_type_hints(config, include_extras=True)
    for field in dataclasses.fields(config):
        text = documented[field.name]
        assert len(text) > 20, f"{name}: {field.name} is not documented"
        if typing.get_origin(hints[field.name]) is typing.Annotated:
            assert f"in {hints[field.name].__metadata__[0]}" in text, f"{name}: {field.name}: {text}"


def test_settings_are_frozen_and_checked():
    config = controllers.ULRConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.eps = 1.0
    with pytest.raises(ControllerError, match="norm = 'column' is not one of 'global', 'row', 'none'"):
        controllers.DEPConfig(norm="column")
    with pytest.raises(ControllerError, match="metric = 1 is not a bool"):
        controllers.TiPIConfig(metric=1)
    with pytest.raises(ControllerError, match=r"d = 4\.0 is not an int"):
        controllers.ULRConfig(d=4.0)
    with pytest.raises(ControllerError, match=r"no field 'epsilon'; its fields are eps, alpha"):
        make("ulr", 3, 2, {"epsilon": 0.1})
    with pytest.raises(ControllerError, match=r"TiPI takes a TiPIConfig, not ULRConfig.*TiPI.Config"):
        make("tipi", 3, 2, config)


def test_ulr_starts_with_the_settings_of_the_hexapod():
    assert dataclasses.asdict(controllers.ULRConfig()) == {
        "eps": 0.0026, "alpha": 4.0, "d": 4, "decay": 5e-5, "c": 0.1, "C_0": 0.6, "rotation": 0.0,
        "wave": 0.0, "clip": 0.015, "eps_h": 0.0,
    }  # fmt: skip


def test_a_stored_word_that_is_none_is_refused():
    arrays = controllers.DEPConfig().to_arrays() | {"norm": np.array([255], np.uint8)}
    with pytest.raises(ControllerError, match=r"stored norm is not a word .*the state is mixed up"):
        controllers.DEPConfig.from_arrays(arrays)
