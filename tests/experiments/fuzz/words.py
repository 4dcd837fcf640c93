"""Strange command lines and configuration files."""

from __future__ import annotations

import glob
import importlib
import json
import random
import shlex
import shutil
import typing
from pathlib import Path

from experiments.cli import COMMANDS
from experiments.runfiles.run_file import open_run_file
from tests.experiments.fuzz.cases import Case, End, Family

NASTY = [
    *("", " ", "-", "--", "-1", "0", "1", "2", "7", "nan", "inf", "-inf", "1e308", "1e-308", "1e-5", "0.05"),
    *("99999999999999999999999", "-99999999999999999999999", "1_000", "0x10", "²", "٣", "½", "1,5", "True"),
    *("None", "null", "[]", "{}", "()", "a=b", "=", "a=", "=b", "gravity=x", "gravity=nan", "gravity=1e999"),
    *("control_step=0", "control_step=-1", "control_step=1e-9", "substeps=0", "substeps=2.5", "engine=none"),
    *(
        "noise=-1",
        "noise=inf",
        "ä" * 300,
        "a\nb",
        "a\tb",
        "\x1b[31mred",
        "\udcff",
        "\u202eabc",
        "'",
        '"',
        "\\",
    ),
    *("..", ".", "/", "/dev/null", "/dev/full", "/proc/self/mem", "folder", "empty", "none.h5", "run.h5"),
    *(
        "run.h5:/learning/sensors",
        "run.h5:",
        ":/x",
        "series.csv",
        "series.csv:/x",
        "*",
        "~",
        "$HOME",
        "%s",
        "{0}",
    ),
    *(
        "os:system",
        "nothing:Nothing",
        "controllers:Frozen",
        "controllers.ulr:ULR",
        ":",
        "a:",
        ":b",
        "json:loads",
    ),
    *("--help", "-h", "--version", "--json", "--quiet", "--config", "--config=", "--config=none.toml", "-o"),
    *("out.pdf", "out.png", "out.svg", "out.html", "out.mp4", "out.h5", "nowhere/deep/out.h5", "out.gif"),
    *(
        "pybullet",
        "mujoco",
        "hexapod",
        "snake",
        "barrel",
        "ulr",
        "sine",
        "homeokinesis",
        "0.1",
        "0.1min",
        "all",
    ),
]
# Commands that end soon, of which pieces are replaced, lost or added.
USUAL = {
    "learn": ["learn barrel --minutes 0.02 --freeze 0.02 --checkpoint 20 --out out.h5"],
    "record": [
        "record run.h5 --samples 300 --transient 0 --checkpoint 100",
        "record run.h5 --samples 30 --replace",
    ],
    "quantify": [
        "quantify run.h5 --m-max 2 --tau 1 --replicates 0 --predictive 0",
        "quantify series.csv --sensor b --m-max 2 --tau 1 --replicates 0 --predictive 0",
        "quantify run.h5:/learning/sensors --sensor 0 --m-max 2 --replicates 2 --predictive 100",
    ],
    "progress": ["progress barrel --minutes 0.02 --freeze 0.02 --samples 300 --transient 0 --out progress"],
    "compare": [
        "compare --robots barrel --controllers ulr --seeds 1 --minutes 0.02 --samples 300 --out compared"
    ],
    "learning-curve": ["learning-curve barrel --seeds 1 --minutes 0.02 --samples 300 --out curve"],
    "emergence": ["emergence barrel --seeds 1 --minutes 0.02 --out emerged"],
    "reproduce": ["reproduce lorenz --quick --out reproduced"],
    "plot": ["plot run.h5 --figure traces -o out.svg"],
    "report": ["report run.h5 --seconds 0 -o out.html"],
    "video": ["video run.h5 out.png --seconds 0.1 --skip 0"],
    "runs": ["runs", "runs --kind run recording --sort size"],
    "show": ["show run.h5"],
    "export": ["export run.h5 out"],
    "bodies": ["bodies --robot barrel"],
    "behaviours": ["behaviours --folder shelf"],
    "salvage": ["salvage run.h5 out.h5"],
}


WHOLE = ["-1", "0", "1", "2", "3", "7", "50", "300", str(2**31), str(2**63), "9" * 30, "-" + "9" * 30]
REAL = [
    *("-1", "0", "0.02", "0.1", "0.05", "1", "50", "1e-9", "1e-308", "1e9", "1e308", "nan", "inf", "-inf"),
    *("0.30000000000000004", "1e-5", "123456.789"),
]


def options(command: str) -> dict[str, str]:
    """The flags that a command has, and what each takes: "int", "tuple[float, ...]" and so on."""
    module = importlib.import_module(f"experiments.{COMMANDS[command][0]}")
    hints = typing.get_type_hints(getattr(module, command.title().replace("-", "")), include_extras=True)
    flags = {name: str(hint) for name, hint in hints.items() if "Positional" not in str(hint)}
    flags["json"] = "bool"
    return {f"--{name.replace('_', '-')}": hint for name, hint in flags.items()}


def fitting(hint: str, rng: random.Random) -> list[str]:
    """Values that the parser takes, though the command may not; anything where its type says little."""
    if "bool" in hint:
        return []
    if "dict" in hint:
        keys = [
            "gravity",
            "noise",
            "control_step",
            "substeps",
            "eps",
            "alpha",
            "engine",
            "servo_speed",
            "x",
            "",
        ]
        return [f"{rng.choice(keys)}={rng.choice(REAL + NASTY)}" for _ in range(rng.randint(0, 2))]
    if "Literal" in hint:
        known = [word.strip("' ]") for word in hint.partition("Literal[")[2].partition("]")[0].split(",")]
        return [rng.choice(known)]
    some = REAL if "float" in hint else WHOLE if "int" in hint else NASTY
    count = 2 if "tuple[float, float]" in hint else rng.randint(0, 3) if "tuple" in hint else 1
    return [rng.choice(some) for _ in range(count)]


def furnish(samples: Path, folder: Path) -> None:
    """What commands find in their folder."""
    for path in samples.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    (folder / "folder").mkdir()
    (folder / "shelf").mkdir()
    (folder / "empty").touch()


def missing(end: End, words: list[str], folder: Path) -> str:
    """What a command that says it was successful did not leave behind."""
    if "--help" in words or "-h" in words:
        return "" if end.out else "no help"
    if "--json" in words:
        try:
            json.loads(end.out)
        except ValueError as error:
            return f"no JSON: {error}"
    name = words[0]
    if name in ("show", "bodies", "quantify", "salvage", "plot") and not end.out.strip():
        return "no word about the result"
    if name == "learn":
        out = _after("--out", words)
        runs = [path for path in folder.rglob("*.h5") if path.name != "half.h5" or out == "half.h5"]
        for path in runs:
            with open_run_file(path) as run:
                if not run.learning.complete or len(run.learning.sensors[:]) != run.learning.wanted:
                    return f"{path} is not complete"
    if name in ("report", "plot") and not any(
        _pictures(folder / _after(flag, words)) or list(folder.glob("*.pdf")) for flag in ("-o", "--out")
    ) and not (folder / "report.html").exists():  # fmt: skip
        return "there is no page or picture"
    return ""


def _pictures(out: Path) -> list[Path]:
    """A picture, or several with their names added."""
    alike = f"{glob.escape(out.stem)}*{glob.escape(out.suffix)}"
    return [path for path in out.parent.glob(alike) if path.is_file()]


def _after(flag: str, words: list[str]) -> str:
    return words[words.index(flag) + 1] if flag in words[:-1] else "none"


def command_lines(samples: Path) -> Family:
    """Usual commands with words replaced, lost, doubled or added."""

    def command_line(rng: random.Random, folder: Path) -> Case:
        furnish(samples, folder)
        name = rng.choice(list(USUAL))
        words = shlex.split(rng.choice(USUAL[name]))
        for _ in range(rng.choice([1, 1, 2, 3])):
            at = rng.randrange(len(words))
            match rng.choices(
                ["fit", "value", "replace", "lose", "double", "swap", "add"], [12, 2, 2, 1, 1, 1, 1]
            )[0]:
                case "replace":
                    words[at] = rng.choice(NASTY)
                case "fit":
                    flag, hint = rng.choice(list(options(name).items()))
                    words += [flag, *fitting(hint, rng)]
                case "value":
                    words += [rng.choice(list(options(name))), rng.choice(NASTY)]
                case "lose" if len(words) > 1:
                    del words[at]
                case "double":
                    words.insert(at, words[at])
                case "swap":
                    other = rng.randrange(len(words))
                    words[at], words[other] = words[other], words[at]
                case _:
                    words.insert(at + 1, rng.choice(NASTY))
        if rng.random() < 0.3:
            words.append("--json")
        return Case([*words, "--quiet"], "command line", lambda end: missing(end, words, folder))

    return command_line


LITERALS = [
    *("1", "-1", "0", "0.5", "nan", "inf", "-inf", "1e400", "99999999999999999999999", "true", "''", "'x'"),
    *("'nan'", "'run.h5'", "[]", "[1]", "[1, 'x']", "[[1]]", "[0.02, 0.01]", "{}", "{ a = 1 }", "1979-05-27"),
    *(
        "07:32:00",
        "1979-05-27T07:32:00Z",
        "0x10",
        "1_0",
        "'''a\nb'''",
        "'\u202e'",
        '"\\u0000"',
        "{ gravity = 'x' }",
    ),
    *(
        "{ gravity = [1] }",
        "{ gravity = { b = 1 } }",
        "'" + "x" * 5000 + "'",
        "[" * 200 + "]" * 200,
        "",
        "@",
        "'",
    ),
]


def toml(hint: str, rng: random.Random) -> str:
    """A value of the type that a setting has, as TOML writes it."""
    words = fitting(hint, rng)
    if "bool" in hint:
        return rng.choice(["true", "false"])
    if "dict" in hint:
        return f"{{ gravity = {rng.choice(REAL)} }}"
    quoted = words if "float" in hint or "int" in hint else [json.dumps(word) for word in words]
    return f"[{', '.join(quoted)}]" if "tuple" in hint else quoted[0]


def configurations(samples: Path) -> Family:
    """TOML files with strange keys and values, half of a file, or no TOML at all."""

    def configuration(rng: random.Random, folder: Path) -> Case:
        furnish(samples, folder)
        name = rng.choice(["learn", "record", "quantify", "report", "export", "compare", "progress", "show"])
        keys = {option.removeprefix("--"): hint for option, hint in options(name).items()}
        lines = []
        for _ in range(rng.choice([1, 1, 2, 4])):
            key = rng.choice(list(keys))
            value = toml(keys[key], rng)
            if rng.random() < 0.3:
                key = rng.choice([key, key, "nothing", "a.b", "'a b'", "[table]", "[[list]]", ""])
                value = rng.choice(LITERALS)
            lines.append(f"{key} = {value}" if not key.startswith("[") else key)
        data = "\n".join(lines).encode()
        match rng.choice([*[""] * 9, "cut", "flip", "bytes", "mark", "utf-16"]):
            case "cut":
                data = data[: rng.randrange(len(data) + 1)]
            case "flip":
                data = flipped(data, rng, 3)
            case "bytes":
                data = rng.randbytes(40)
            case "mark":
                data = b"\xef\xbb\xbf" + data
            case "utf-16":
                data = data.decode().encode("utf-16")
        (folder / "c.toml").write_bytes(data)
        words = shlex.split(USUAL[name][0])
        # What the command line says beats the file; without it, the file alone counts.
        words = words if rng.random() < 0.5 else [word for word in words[:2] if not word.startswith("-")]
        words += ["--config", "c.toml"]
        return Case([*words, "--quiet"], repr(data), lambda end: missing(end, words, folder))

    return configuration


def flipped(data: bytes, rng: random.Random, bits: int) -> bytes:
    """Some bits of the data the other way round."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, bits)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)
