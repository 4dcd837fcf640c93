"""A newcomer's first minutes by the clock, every command as printed: from a clone to an own rule.

    python benchmarks/newcomer_clock.py [--out docs/results/newcomer-clock.json]

Clones the last commit into a new folder and types there, in this order: `make demo` of the README, until
there is a picture of learning progress; what the tutorial says of a series of one's own, until it is
quantified; and the first commands of the page on rules, until a rule of one's own is compared with ULR.
Packages come from wherever pip finds them; a slow line is part of the time. Takes about ten minutes; on a
busy machine the times say nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def blocks(page: str) -> list[tuple[str, str]]:
    """Kind and text of the blocks of code of a page."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```(.*?)\n(.*?)^```$", text, re.S | re.M)


def types(commands: str, folder: Path, clone: Path) -> None:
    """Type commands after `source .venv/bin/activate`; the first that fails ends all."""
    path = f"{clone / '.venv/bin'}:{os.environ['PATH']}"
    subprocess.run(["bash", "-e", "-c", commands], cwd=folder, env={**os.environ, "PATH": path}, check=True)


def follow(page: str, commands: int, folder: Path, clone: Path) -> None:
    """Do what a page says, up to its so many-th block of commands."""
    for kind, text in blocks(page):
        if kind == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            (folder / (name[1] if name else "block.py")).write_text(text, encoding="utf-8")
            if not name:
                types("python block.py", folder, clone)
        elif commands:
            types(text, folder, clone)
            commands -= 1
        if not commands:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs/results/newcomer-clock.json")
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory() as scratch:
        folder, clone = Path(scratch), Path(scratch) / "selforg"
        load, start = os.getloadavg()[0], time.monotonic()
        minutes = {}
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        types("make demo", clone, clone)
        (picture,) = clone.glob("runs/demo/*-progress.png")
        done = time.monotonic() - (time.time() - picture.stat().st_mtime)
        minutes["clone to a picture of learning progress"] = done - start
        follow("tutorial/series", 1, folder, clone)
        minutes["to a series of one's own, quantified"] = time.monotonic() - start
        follow("howto/rule", 1, folder, clone)
        minutes["to a rule of one's own, compared with ULR"] = time.monotonic() - start
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    document = {
        "minutes": {what: round(seconds / 60, 1) for what, seconds in minutes.items()},
        "commit": commit.stdout.strip(),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "load_before": round(load, 1),
    }
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
