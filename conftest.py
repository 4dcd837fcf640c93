"""What pytest leaves out where an engine is not installed; one process where no number is asked for.

The processes of the test run keep all cores busy: more of them, which take seconds to start, would only wait.
"""

import importlib.util
import os

os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")  # what joblib counts where a test says nothing of --jobs

NEED_PYBULLET = ["robots/bullet_world.py", "robots/quiet.py"]
collect_ignore = [] if importlib.util.find_spec("pybullet") else NEED_PYBULLET


def pytest_report_header() -> list[str]:
    return [f"left out, for PyBullet is not installed: {', '.join(collect_ignore)}"] if collect_ignore else []
