"""Robots for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from robots import RobotEnv
from tests.robots.helpers import make


@pytest.fixture
def env(name: str, engine: str) -> Iterator[RobotEnv]:
    robot = make(name, engine)
    yield robot
    robot.close()
