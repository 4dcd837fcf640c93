"""Copies of a shared run, with the results that stand beside it."""

import json
import shutil
from pathlib import Path

from experiments.runfiles.results import signed


def copy_run(run: Path, copy: Path, results: bool = True) -> Path:
    """Copy a run under another name; its results name the data they belong to."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(run, copy)
    if results:
        for path in run.parent.glob(f"{run.stem}.*.complexity.json"):
            document = json.loads(path.read_text().replace(f"{run.name}:", f"{copy.name}:"))
            name = copy.stem + path.name.removeprefix(run.stem)
            copy.with_name(name).write_text(json.dumps(signed(document)))
    return copy
