"""What pytest leaves out where an engine is not installed, and says so."""

import importlib.util

NEED_PYBULLET = ["robots/bullet_world.py", "robots/quiet.py"]
collect_ignore = [] if importlib.util.find_spec("pybullet") else NEED_PYBULLET


def pytest_report_header() -> list[str]:
    return [f"left out, for PyBullet is not installed: {', '.join(collect_ignore)}"] if collect_ignore else []
