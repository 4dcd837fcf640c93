"""Play a newcomer: every recipe of README, tutorial and how-to, and whatever once tripped somebody.

    python tests/newcomer/play.py [PART ...]

It works in a fresh folder with the `selforg` of the interpreter that runs it, as installed, and nothing else.
Recipes are those of the pages word by word, but for sizes, which are small: some minutes in all. No block is
left out but for those in `LEFT_OUT` and what needs a module of `ELSEWHERE`, each with its reason. It ends
with a list of what is not as it should be, and with status 1 if there is anything on it.
"""

from __future__ import annotations

import fcntl
import glob
import importlib.util
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
PAGES = (
    ("tutorial/robot", "tutorial/series", "howto/agent"),
    ("howto/resume", "howto/show", "files"),
    *(("howto/rule",), ("howto/robot",), ("howto/behaviours",), ("howto/engines",)),
    *(("data",), ("howto/policy",), ("scale",), ("install",)),
)
"""Those that are read one after the other, in a folder of their own."""
LEFT_OUT = {
    "README": {"make ": "it is what brings the newcomer here; `.ci/run` begins with it"},
    "install": {
        "make demo": "it is what brings the newcomer here",
        "cd selforg": "the same",
        "pip install .": "done before this is played",
    },
    "scale": {
        "pip install": "installs",
        "dask ": "a cluster; tests/test_cluster.py starts one and does the same",
        "--backend dask": "the same",
        "sbatch": "SLURM",
        "sweep(function, configs": "the names stand for what a reader has; tests/experiments/sweeps has them",
    },
}
"""By page: words of a line or of a block of Python that is not run, and why."""
ELSEWHERE = {
    "stable_baselines3": "no part of selforg",
    "dask_jobqueue": "no part of selforg",
    "pandas": "an extra; with the tests it is there",
}
"""Modules without which a block of Python is only compiled."""
SELFORG = Path(sys.executable).with_name("selforg")
# What is added to a recipe of the README, and what its words become, so that it takes seconds.
SMALL = [
    (r"^(selforg learn hexapod(?: --engine mujoco --out \S+)?)$", r"\1 --minutes 0.3 --freeze 0.1 0.2 0.3"),
    (r"^(selforg progress .*)", r"\1 --minutes 0.3 --freeze 0.1 0.2 0.3"),
    (r"--samples 10000 --transient 1000", "--samples 3000 --transient 100"),
    (r"--surrogates 99", "--surrogates 19"),
    (r"lorenz.csv --sensor x --m-max 10", "lorenz.csv --sensor x --m-max 4 --stop 3000"),
    (r"--minutes 8 --freeze 2 4 8", "--minutes 0.3 --freeze 0.1 0.2 0.3"),
    (r"--minutes 16 --freeze 2 4 8 16", "--minutes 0.4 --freeze 0.1 0.2 0.3 0.4"),
    (r"--minutes 2 --freeze 2\b", "--minutes 0.1 --freeze 0.1"),
    (r"(video .*)--freeze 2\b", r"\1--freeze 0.1"),
    (r"(--keep .*)--freeze 8", r"\1--freeze 0.3"),
    (r"(record (?:runs|--behaviour).*)--samples 2000000", r"\1--samples 4000 --transient 100"),
    (r"(video .*)--freeze 8", r"\1--freeze 0.3"),
    (r"(selforg video .*)", r"\1 --seconds 0.4 --skip 0"),
    (r"(record (?:runs|--behaviour).*)--samples 10+$", r"\1--samples 3000 --transient 100"),
    (r"(record .*--transplant)", r"\1 --samples 1000 --transient 0"),
    (r"(selforg quantify .*)", r"\1 --replicates 10 --predictive 500"),
    (r"--m-max 15", "--m-max 5"),
    (r"(selforg convergence .*)", r"\1 --samples 2000 --replicates 0 --m-max 4"),
    (r"(selforg report .*)", r"\1 --seconds 0.2"),
    (r"--seeds 1:(3|10) --samples 20+", "--seeds 1:2 --samples 1500 --minutes 0.1 --transient 0"),
    (r"(selforg compare --runs .*)", r"\1 --out runs/again --no-surrogates"),
    (r"--every 0.5 --seeds 1:5", "--every 0.1 --minutes 0.1 --seeds 1 --samples 1500 --transient 0"),
    (r"(emergence .*)--seeds 1:10", r"\1--seeds 1 --minutes 0.2 --samples 1000 --transient 0"),
    (r"reproduce all --quick", "reproduce ar2 --quick --samples 6000 --seeds 1 --seconds 0"),
]
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    status: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """Its last line."""
        return (self.err.strip() or self.out.strip()).splitlines()[-1]


class Newcomer:
    """Types commands in a folder, and notes what is not as it should be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wrong: list[str] = []
        self.typed = ""
        here = {"PATH": f"{SELFORG.parent}:{os.environ['PATH']}", "HOME": str(folder / "home")}
        self.environment = {**os.environ, **here, "PYTHONPATH": ""}
        self.environment.pop("COLUMNS", None)
        (folder / "home").mkdir()

    def expect(self, right: bool, words: str) -> None:
        """Note down what is wrong."""
        if not right:
            self.wrong.append(f"{self.typed}: {words}")
            print(f"    NOT AS IT SHOULD BE: {words}", flush=True)

    def types(self, command: str, status: int = 0) -> Said:
        """Run a command in a pipe; it must end with this status, and never with a traceback."""
        self.typed = command
        start = time.monotonic()
        words = shlex.split(command, comments=True)
        paths = {word: sorted(glob.glob(word, root_dir=self.folder)) for word in words if "*" in word}
        piped = ["bash", "-c", command] if "|" in words else []
        done = subprocess.run(
            piped or [one for word in words for one in paths.get(word) or [word]],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"{time.monotonic() - start:6.1f} s  {command}", flush=True)
        said = Said(done.returncode, done.stdout, done.stderr)
        why = said.last if said.err else ""
        self.expect(said.status == status, f"status {said.status}, not {status}: {why}")
        self.expect("Traceback" not in said.err, "a traceback")
        self.expect("build time" not in said.out + said.err, "pybullet greets")
        self.expect(not COLOURS.search(said.out + said.err), "colours in a pipe")
        if status == 2:
            self.expect(len(said.err.strip().splitlines()) == 1, "a refusal of more than one line")
        return said

    def sees(self, command: str, width: int) -> list[str]:
        """The lines of a command on a terminal of so many columns; none may be wider."""
        self.typed = f"{command}  ({width} columns)"
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        start = time.monotonic()
        process = subprocess.Popen(
            shlex.split(command), cwd=self.folder, env=self.environment | {"TERM": "xterm"},
            stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # so a terminal on Linux says that nobody writes to it any more
                break
            if not part:
                break
            shown += part
        self.expect(process.wait() == 0, f"status {process.returncode}")
        print(f"{time.monotonic() - start:6.1f} s  {self.typed}", flush=True)
        lines = [COLOURS.sub("", line) for line in re.split(r"[\r\n]+", shown.decode())]
        for line in lines:
            self.expect(len(line) <= width, f"a line of {len(line)} columns: {line!r}")
        return lines

    def writes(self, name: str, text: str) -> None:
        """Put a file into the folder."""
        (self.folder / name).write_text(text)


def small(recipe: str) -> str:
    """A recipe of the README with small sizes."""
    recipe = recipe.partition("  #")[0].strip()
    for pattern, replacement in SMALL:
        recipe = re.sub(pattern, replacement, recipe)
    return recipe


def blocks(kind: str, page: Path = README) -> list[str]:
    """The blocks of code of a page of a kind ("" for commands)."""
    return [text for one, text in all_blocks(page) if one == kind]


def all_blocks(page: Path) -> list[tuple[str, str]]:
    """Kind and text of the blocks of code of a page, in their order."""
    found = re.findall(r"^( *)```(.*?)\n(.*?)^ *```$", page.read_text(encoding="utf-8"), re.S | re.M)
    return [(kind, re.sub(f"^{indent}", "", text, flags=re.M)) for indent, kind, text in found]


def reason(page: str, text: str) -> str:
    """Why a line or a block of a page is not run; empty if it is."""
    return next((why for words, why in LEFT_OUT.get(page, {}).items() if words in text), "")


def runs(newcomer: Newcomer, page: str, code: str) -> None:
    """Run a block of Python, or keep it as the file that its first line names."""
    if name := re.match(r"# (my_\w+\.py)\n", code):
        newcomer.writes(name[1], code)
        return
    wanted = re.findall(r"^(?:import|from) (\w+)", code, re.M)
    missing = [one for one in wanted if one in ELSEWHERE and importlib.util.find_spec(one) is None]
    why = reason(page, code) or (f"{missing[0]}: {ELSEWHERE[missing[0]]}" if missing else "")
    if why:
        compile(code, page, "exec")
        print(f"  left out  a block of {page}: {why}", flush=True)
        return
    newcomer.writes("block.py", code.replace("8min", "0.3min"))
    newcomer.types(f"{sys.executable} block.py")


def data(newcomer: Newcomer, gap: bool = True) -> None:
    """The user's own data that the pages speak of: a table as people have them, and an HDF5 file."""
    source = f"""
import gzip, h5py, numpy as np
t, rng = np.arange(4000), np.random.default_rng(1)
speed = np.sin(t / 7) + 0.3 * np.sin(t / 3) + 0.1 * rng.normal(size=len(t))
rows = ["time,ant,speed,left,right,note"]
for i, v in enumerate(speed):
    value = "NA" if {gap} and i == 1700 else f"{{v:.5f}}"
    rows.append(f"{{i / 2:.1f}},a{{i % 3}},{{value}},{{v + 0.1:.4f}},{{v**2 + 0.01 * (i % 5):.4f}},ok")
open("ants.csv", "w").write("\\n".join(rows) + "\\n")
gzip.open("ants.csv.gz", "wt").write("\\n".join(rows) + "\\n")
with h5py.File("data.h5", "w") as file:
    file["session3/joints"] = np.stack([speed + k for k in range(6)], axis=1)
"""
    subprocess.run([sys.executable, "-c", source], cwd=newcomer.folder, check=True)


def recipes(newcomer: Newcomer) -> None:
    """Every command of the README, in its order."""
    data(newcomer)
    for block in blocks("python"):
        if block.startswith("# my_rules.py"):
            newcomer.writes("my_rules.py", block)
    for line in "".join(blocks("")).splitlines():
        if reason("README", line):
            continue
        if "--sensor speed" in line and "--missing" not in line and "convergence" not in line:
            newcomer.expect("1 of 4,000" in newcomer.types(small(line), 2).err, "what is missing is not said")
            line = line.replace("ants.csv", "ants.csv --missing interpolate")
        elif "ants.csv" in line and "--missing" not in line:
            line = line.replace("ants.csv", "ants.csv --missing interpolate")
        said = newcomer.types(small(line))
        newcomer.expect(bool(said.out.strip() or said.err.strip()), "says nothing")
    for name in ("jump.mp4", "report.html", "figures.pdf", "crawl.mp4", "runs/compare/compare.html"):
        path = newcomer.folder / name
        newcomer.expect(path.exists() and path.stat().st_size > 1000, f"{name} is empty or missing")


def wrong(newcomer: Newcomer) -> None:
    """What was plainly wrong."""
    said = newcomer.types("selforg emergence hexapod --seeds 1 --minutes 0.2 --samples 1000 --transient 0")
    newcomer.expect("first jumps while learning: none in 1 seed" in said.out, said.out[-200:])
    short = newcomer.types("selforg quantify runs/hexapod-ulr-1.h5 --replicates 10 --predictive 500 --json")
    pages = len(short.out.splitlines()) / max(1, len(json.loads(short.out or "[]")))
    newcomer.expect(0 < pages < 120, f"{pages:.0f} lines of JSON for a behaviour, without being asked for")
    newcomer.expect("right hind up/down" in short.out, "the sensor is not named")
    newcomer.expect(short.out.lstrip().startswith("{"), "no JSON")
    later = "--sensor speed --missing interpolate --start 500 --replicates 0 --predictive 0"
    advice = newcomer.types(f"selforg quantify ants.csv {later}")
    newcomer.expect("3,500 samples" in advice.out, "the first 500 samples cannot be left out")
    quick = newcomer.types("selforg reproduce ar2 --quick --samples 6000 --seeds 1 --seconds 0")
    newcomer.expect("too few" in quick.out, "a quick run does not say that it is too short to tell")
    measured = newcomer.types("selforg export runs/hexapod-ulr-1.h5 table")
    newcomer.expect(not measured.out or "table" in measured.out, "where the tables are is not said")


def in_the_way(newcomer: Newcomer) -> None:
    """What was hard to find, to read, or to wait for."""
    for width in (80, 120):
        for command in ("", "learn hexapod", "rules ulr", "compare", "quantify"):
            lines = newcomer.sees(f"selforg {command} --help", width)
            if command == "learn hexapod":
                words = " ".join(" ".join(lines).split())
                newcomer.expect("Rules: ulr" in words and "downwards [m/s²]" in words, "no rules or units")
            newcomer.expect("default: True" not in " ".join(lines), "a flag that is on by default")
        newcomer.sees("selforg show runs/hexapod-ulr-1.h5", width)
        newcomer.sees("selforg doctor", width)
        newcomer.sees(f"selforg learn barrel --minutes 1 --freeze 1 --out runs/seen-{width}.h5", width)
    start = time.process_time(), os.times()
    newcomer.types("selforg video --help")
    used = os.times().children_user - start[1].children_user
    newcomer.expect(used < 1.0, f"help takes {used:.1f} s of processor time")
    newcomer.types("selforg robots")
    newcomer.types("selforg rules my_rules:Hebb")
    compare = "selforg compare --robots barrel --controllers sine --seeds 1 --samples 1500 --transient 0"
    newcomer.types(f"{compare} --minutes 0.05 --no-surrogates --out runs/barrel")
    again = newcomer.types(f"{compare} --minutes 0.1 --no-surrogates --out runs/barrel", 2)
    newcomer.expect("--replace" in again.err, "no way out is named")
    verdict = newcomer.types("selforg doctor").out.splitlines()[-1]
    newcomer.expect(verdict.startswith("Ready"), f"no verdict at the end: {verdict}")
    typo = newcomer.types("selforg learn hexapodd", 2)
    newcomer.expect("did you mean 'hexapod'?" in typo.err, typo.err)


def own_rule(newcomer: Newcomer) -> None:
    """A rule of one's own that breaks."""
    newcomer.writes(
        "broken.py",
        "from controllers import Controller\nclass Rule(Controller):\n    steps = 0\n"
        "    def update(self, s):\n        self.steps += 1\n        self.C[0] = 1 / (self.steps < 300)\n",
    )
    learn = "selforg learn barrel --controller broken:Rule --minutes 0.2 --freeze 0.2"
    newcomer.expect("broken.py line 6" in newcomer.types(learn, 3).err, "where it broke is not said")
    newcomer.expect("--replace" in newcomer.types(learn, 3).err, "no way out is named")
    (rule,) = [block for block in blocks("python") if block.startswith("# my_rules.py")]
    newcomer.writes("my_rules.py", rule)
    learn = "selforg learn barrel --controller my_rules:Hebb --minutes 0.1 --freeze 0.1"
    newcomer.types(learn)
    newcomer.expect("nothing to do" in newcomer.types(learn).err, "what is done is done again")
    newcomer.writes("my_rules.py", rule.replace("0.001", "0.002"))
    newcomer.expect("--replace" in newcomer.types(learn, 2).err, "an edited rule is not noticed")
    newcomer.types(f"{learn} --replace")


def again(newcomer: Newcomer) -> None:
    """What one goes on with: runs that are prolonged, behaviours that are kept, files that are damaged."""
    learn = "selforg learn barrel --freeze 0.1 --out runs/long.h5"
    newcomer.types(f"{learn} --minutes 0.1")
    newcomer.expect("goes on" in newcomer.types(f"{learn} --minutes 0.2").err, "a run begins anew")
    newcomer.types("selforg record runs/long.h5 --samples 500 --transient 0")
    newcomer.types("selforg record runs/long.h5 --samples 1000 --transient 0")
    listed = newcomer.types("selforg runs --json").out
    newcomer.expect("long.h5" in listed and bool(json.loads(listed)), "a run is not listed")
    newcomer.types("selforg behaviours --keep runs/long.h5 --freeze 0.1 --name mine")
    newcomer.types("selforg video --behaviour mine mine.mp4 --seconds 0.2 --skip 0")
    whole = (newcomer.folder / "runs/long.h5").read_bytes()
    (newcomer.folder / "cut.h5").write_bytes(whole[: len(whole) * 7 // 10])
    saved = newcomer.types("selforg salvage cut.h5 saved.h5")
    newcomer.expect(bool(re.search(r"[\d,]+ of [\d,]+ rows", saved.out)), "what is lost is not counted")


def pages(newcomer: Newcomer) -> None:
    """Every command and every block of Python of the tutorial and the how-to pages, each in its order."""
    home = newcomer.folder
    for number, some in enumerate(PAGES):
        newcomer.folder = home / f"pages-{number}"
        newcomer.folder.mkdir()
        if "data" in some:
            data(newcomer, gap=False)
        for page in some:
            for kind, text in all_blocks(README.parent / "docs" / f"{page}.md"):
                if kind == "python":
                    runs(newcomer, page, text)
                for line in text.splitlines() if not kind else ():
                    if why := reason(page, line):
                        print(f"  left out  {line.strip()}: {why}", flush=True)
                    else:
                        newcomer.types(small(line))
    newcomer.folder = home
    for name in (
        "0/jump.mp4",
        "0/report.html",
        "0/lorenz.html",
        "1/strip.png",
        "1/figures.pdf",
        "1/figure.pdf",
    ):
        newcomer.expect((home / f"pages-{name}").exists(), f"{name} is missing")


PARTS: tuple[Callable[[Newcomer], None], ...] = (recipes, pages, wrong, in_the_way, own_rule, again)


def main() -> int:
    """Play all parts; the exit status."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="newcomer-") as folder:
        newcomer = Newcomer(Path(folder))
        for part in [one for one in PARTS if one.__name__ in sys.argv[1:] or len(sys.argv) == 1]:
            print(f"-- {(part.__doc__ or '').strip()}", flush=True)
            part(newcomer)
    print(f"{time.monotonic() - start:.0f} s; {len(newcomer.wrong) or 'nothing'} not as it should be")
    print(*(f"- {words}" for words in newcomer.wrong), sep="\n")
    return bool(newcomer.wrong)


if __name__ == "__main__":
    sys.exit(main())
