"""Robots by name: what is no name is refused in words."""

import pytest

from robots import RobotError, find


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hexapot", "there is no robot 'hexapot'"),
        (":Walker", "name both the module and the class"),
        ("my_robots:", "name both the module and the class"),
        ("no_such_module:Walker", "is not to be found"),
        ("math:pi", "must be a subclass of gymnasium.Env"),
        ("live:my_robots:Walker", "hand it over once more"),
    ],
)
def test_a_name_that_is_none(name: str, message: str) -> None:
    with pytest.raises(RobotError, match=message):
        find(name).make()
