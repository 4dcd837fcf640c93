"""Plain values for JSON, and back."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath
from types import MappingProxyType

import numpy as np
import pytest

from quantify import ScalingFit
from quantify.plain import from_plain, to_plain


class Lookup(Mapping):
    """A mapping that is no dict."""

    def __getitem__(self, key):
        return {"a": 1}[key]

    def __iter__(self):
        return iter(["a"])

    def __len__(self):
        return 1


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.array([[1.5, np.nan], [np.inf, -np.inf]]), [[1.5, None], [None, None]]),
        (np.array([1, 2], dtype=np.int64), [1, 2]),
        ((np.float32(0.5), np.int8(3), np.bool_(True)), [0.5, 3, True]),
        (float("nan"), None),
        (Path("runs") / "a.h5", str(Path("runs") / "a.h5")),
        (PureWindowsPath("c:/runs"), "c:\\runs"),
        (OrderedDict(b=1, a=Path("x")), {"b": 1, "a": "x"}),
        (MappingProxyType({1: (2,)}), {"1": [2]}),
        pytest.param(Lookup(), {"a": 1}, id="mapping"),
        ("text", "text"),
        (None, None),
        (True, True),
    ],
    ids=repr,
)
def test_everything_becomes_what_json_can_hold(value, plain):
    found = to_plain(value)
    assert found == plain and type(found) is type(plain)
    assert json.loads(json.dumps(found, allow_nan=False)) == plain


def test_what_has_no_plain_form_is_left_for_json_to_refuse():
    with pytest.raises(TypeError):
        json.dumps(to_plain({"set": {1, 2}}))


def test_a_flat_class_comes_back():
    fit = ScalingFit(D=2.0, const=float("nan"), eps=(0.1, 1.0), i=(3, 9), n_points=7)
    back = from_plain(to_plain(fit.__dict__), ScalingFit)
    assert back.eps == fit.eps and back.i == fit.i and np.isnan(back.const)
