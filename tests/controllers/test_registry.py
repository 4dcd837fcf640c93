"""Rules are found by name, a user's own by its import path."""

import sys

import numpy as np
import pytest

from controllers import ControllerError, make


def test_a_rule_of_ones_own_is_found_by_its_import_path(tmp_path, monkeypatch):
    (tmp_path / "my_rules.py").write_text(
        "from controllers import Controller\n"
        "class Mine(Controller):\n"
        "    def update(self, s):\n"
        "        self.h += 0.1\n"
        "class Other:\n"
        "    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    mine = make("my_rules:Mine", 3, 2)
    mine.step(np.zeros(3))
    assert np.array_equal(mine.h, [0.1, 0.1]) and mine.t == 1
    again = type(mine).from_state(mine.state())
    assert np.array_equal(again.h, mine.h) and again.t == mine.t
    with pytest.raises(ControllerError, match=r"'Other' in 'my_rules'.*subclass of controllers\.Controller"):
        make("my_rules:Other", 3, 2)
    with pytest.raises(ControllerError, match="'my_rules' has no 'Missing'; check the name"):
        make("my_rules:Missing", 3, 2)
    del sys.modules["my_rules"]
    (tmp_path / "broken_rules.py").write_text("import no_such_library\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):  # a mistake in there, seen in full
        make("broken_rules:Mine", 3, 2)


def test_unknown_names_are_refused_with_what_there_is():
    with pytest.raises(
        ControllerError, match=r"no controller 'ulrr'; choose one of ulr, tipi, .*my_module:MyRule"
    ):
        make("ulrr", 3, 2)
    with pytest.raises(ControllerError, match=r"'no_such_module' cannot be imported.*PYTHONPATH"):
        make("no_such_module:Rule", 3, 2)
    with pytest.raises(ControllerError, match=r"no controller ':Rule'; choose one of"):
        make(":Rule", 3, 2)
