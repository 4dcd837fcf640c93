"""What pytest leaves out where an engine is not installed; one process where no number is asked for.

The processes of the test run keep all cores busy: more of them, which take seconds to start, would only wait.
"""

import importlib.util
import os

import pytest

os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")  # what joblib counts where a test says nothing of --jobs

FIRST = (
    "tests/experiments/pipeline/test_quantify.py",
    "tests/controllers/test_every_rule.py",
    "tests/robots/",
)
"""Two processes that come to the same kernels at once both compile them: the first two files take those of
the quantifier and of the rules apart, and robots, which have none, are next."""
NEED_PYBULLET = ["robots/bullet_world.py", "robots/quiet.py"]
collect_ignore = [] if importlib.util.find_spec("pybullet") else NEED_PYBULLET


def pytest_report_header() -> list[str]:
    return [f"left out, for PyBullet is not installed: {', '.join(collect_ignore)}"] if collect_ignore else []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((i for i, path in enumerate(FIRST) if item.nodeid.startswith(path)), len(FIRST))

    items.sort(key=place)
