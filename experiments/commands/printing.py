"""What commands print, by the name of the command; those that are not here say all while they work."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.console import console, put, room
from experiments.errors import BrokenDown, ExperimentError
from experiments.feedback import Feedback
from experiments.options.commands import FOLDER
from experiments.options.keys import Key, key_lines
from experiments.runfiles.run_file import open_run_file
from experiments.runfiles.salvage import UNSURE

if TYPE_CHECKING:
    from experiments.commands.looking import Behaviours, Show
    from experiments.options.commands import Explain, Robots, Rules
    from experiments.pipeline.quantify import Quantified
    from experiments.runfiles.salvage import Salvage, Saved
    from experiments.studies.comparison.compare import Comparison
    from experiments.studies.inventory import Inventory
    from experiments.studies.study import Study


def quantify(found: Quantified, config: object, feedback: Feedback) -> None:
    """The summaries, and where the results are."""
    for name, sensors in found.sensors.items():
        put(*([name] if name else []), sensors.summary())
    for name, result in found.items():
        if not found.sensors:
            said = name in ("", ", ".join(result.settings.get("sensors", ())))  # in the first line anyway
            put(*([] if said else [name]), result.summary(min(room() or 100, 100)))
        if name in found.files:
            feedback.say(f"written to {found.files[name]}")


def progress(found: Study, config: object, feedback: Feedback) -> None:
    """The table and where everything is; notes what speaks against the numbers."""
    _explained(found, feedback)
    picture, numbers = found.files
    runs = dict.fromkeys(row["run"] for row in found.document["rows"])
    put(f"picture: {picture}\nnumbers: {numbers}\nruns:    {', '.join(runs)}")


def convergence(found: Study, config: object, feedback: Feedback) -> None:
    """All numbers, what has settled and what has not."""
    for table in found.tables():
        console().print(table.terminal())
    put("\n".join([*found.sentences(), found.written()]))


def learning_curve(found: Study, config: object, feedback: Feedback) -> None:
    """The medians at every time; notes which runs have no numbers."""
    _explained(found, feedback)
    put(found.written())


def _explained(found: Study, feedback: Feedback) -> None:
    for table in found.tables():
        console().print(table.terminal(table.columns))
    for sentence in found.sentences():
        feedback.say(sentence)


def compare(found: Comparison, config: object, feedback: Feedback) -> None:
    """Rankings, differences and findings; notes which runs have no numbers."""
    from experiments.studies.comparison.comparison import failure_words, narrow, run_words

    for robot, summary in found.summaries().items():
        console().print(found.ranking(robot).terminal(narrow(summary)))
        if len(found.document["settings"]["controllers"]) > 1:
            pairs = found.pairs(robot)
            console().print(pairs.terminal(pairs.columns))
        for sentence in summary["findings"]:
            put(f"- {sentence}")
    for row in found.all_rows():
        if row["reason"]:
            feedback.say(f"{run_words(row)}: {failure_words(row)}")
    put(found.written())


def emergence(found: Study, config: object, feedback: Feedback) -> None:
    """The table and the verdict."""
    for table in found.tables():
        console().print(table.terminal())
    put("\n".join(found.sentences()))


def explore(found: Study, config: object, feedback: Feedback) -> None:
    """Shares, the settings in which complexity grows most, and what matters."""
    for table in found.tables()[:2]:
        columns = {head: head for head in table.heads if head != "drawn"}
        console().print(table.terminal(columns))
    put("\n".join(found.sentences()), found.written())


def reproduce(studies: list[Study], config: object, feedback: Feedback) -> None:
    """The tables, and what they say."""
    for study in studies:
        for shown in (*(table.terminal() for table in study.tables()), *study.sentences()):
            console().print(shown)
        put(study.written())


def behaviours(found: dict[str, dict[str, Any]], config: Behaviours, feedback: Feedback) -> None:
    """What a check found, or the tables of what is stated, and how each was made."""
    from experiments.studies.emergence.library import check_sentences, tables

    if config.check:
        put("\n".join(line for name, one in found.items() for line in check_sentences(name, one)))
        return
    for table in tables(found):
        console().print(table.terminal())
    for name, item in found.items():
        own = "" if FOLDER in Path(item["path"]).parents else f" (your own, {item['path']})"
        put(f"{name}: {item['about'] or item['robot']}. {item['command']}{own}")
    put("film one: selforg video --behaviour NAME out.mp4; record it: selforg record --behaviour NAME")


def plot(written: list[Path], config: object, feedback: Feedback) -> None:
    """The files."""
    put("\n".join(map(str, written)))


def runs(found: Inventory, config: object, feedback: Feedback) -> None:
    """The table, and how many there are."""
    if len(found):
        console().print(found.table().terminal())
    files = sum(item.size > 0 for item in found)
    feedback.say(f"{len(found)} found, in {files} files; `selforg show FILE` looks into one")


def show(found: dict[str, Any], config: Show, feedback: Feedback) -> None:
    """The contents of a run, or the datasets of another file."""
    from experiments.reports.tables import Table

    if "datasets" in found:
        put(f"{config.file}: an HDF5 file, not a run")
        for name, words in found["datasets"].items():
            put(f"  {name}  {words}")
        return
    out = console()
    out.print(f"{config.file}: {found['run']}", style="bold")
    out.print(found["channels"])
    heads = dict.fromkeys(("phase", "samples", "wanted", "transient", "state"), "")
    out.print(Table(heads, found["recordings"]).terminal())
    for name, words in found["results"].items():
        out.print(f"{name}: {words}")
    libraries = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    out.print(f"made with {libraries}", style="dim")


def salvage(saved: dict[str, Saved], config: Salvage, feedback: Feedback) -> None:
    """The rows saved, of how many, and what is lost."""
    for name, one in saved.items():
        lost = f", {one.of - one.rows:,} lost" if one.rows < one.of else ""
        lost += "" if one.checked else f"; {UNSURE}"
        put(f"{one.rows:>12,} of {one.of:,} rows of {name}{lost}")
    put(f"saved to {config.out}")


def robots(found: dict[str, dict[str, Any]], config: Robots, feedback: Feedback) -> None:
    """The robots in a line each, or one with its settings."""
    use = f"let it learn: selforg learn {config.name} --body KEY=VALUE"
    use += f"; its data sheet: selforg bodies --robot {config.name}"
    _kinds(found, use, "selforg robots NAME")


def rules(found: dict[str, dict[str, Any]], config: Rules, feedback: Feedback) -> None:
    """The rules in a line each, or one with its settings."""
    use = f"use it: selforg learn hexapod --controller {config.name} --rule KEY=VALUE"
    _kinds(found, use, "selforg rules NAME")


def explain(found: dict[str, dict[str, Any]], config: Explain, feedback: Feedback) -> None:
    """One word at length, or the beginning of every one."""
    if config.word:
        for name, entry in found.items():
            console().print(f"{entry['symbol']}: {entry['title']}", style="bold", markup=False)
            for text in filter(None, (entry["short"], entry["more"])):
                console().print(text, markup=False, highlight=False)
            if entry["picture"]:
                put(f"with a picture: glossary.html#{name} of the site (make docs)")
        return
    width = max(len(name) for name in found)
    for name, entry in found.items():
        put(f"{name:<{width}}  {entry['title']}")
    put("one at length: selforg explain WORD")


def _kinds(found: dict[str, dict[str, Any]], use: str, more: str) -> None:
    width = max(map(len, found))
    for name, one in found.items():
        put(f"{name:<{width}}  {one['about']}")
    for one in found.values():
        if "keys" not in one:
            put(f"the settings of one: {more}")
            return
        put(*key_lines({name: Key(**key) for name, key in one["keys"].items()}), use)


def bodies(found: Path | dict[str, str], config: object, feedback: Feedback) -> None:
    """The data sheets, or where the picture is."""
    put(f"wrote {found}" if isinstance(found, Path) else "\n\n".join(found.values()))


def doctor(found: dict[str, str], config: object, feedback: Feedback) -> None:
    """What the checks found."""
    for name, words in found.items():
        if name != "ready":
            put(f"{name:11s}  {words}")
    wrong = found["ready"].partition(": ")[2]
    put(f"Not ready: {wrong}." if wrong else "Ready: everything works.")


def what_next(command: str, result: Any, config: Any) -> str:
    """The last line of a command: what to do with what came out; empty where nothing suggests itself."""
    if command == "learn":
        with open_run_file(result) as run:
            left = [name for name in run.frozen if name not in run.behaviours]
        return f"next: selforg {'record' if left else 'quantify'} {_typed(result)}" if run.frozen else ""
    if command == "record":
        return f"next: selforg quantify {_typed(result[0])}" if len(result) == 1 else ""
    if command == "quantify":
        data = Path(config.source) if Path(config.source).suffix == ".h5" else None
        files = [data] if data and data.exists() else list(result.files.values())
        return f"next: selforg report {' '.join(map(_typed, files))} -o report.html" if files else ""
    if command == "salvage":
        return f"next: selforg show {_typed(config.out)}"
    made = [result] if command == "report" else getattr(result, "files", ())
    pages = [path for path in made if isinstance(path, Path) and path.suffix == ".html"]
    return f"next: open {pages[0]} in a browser" if pages else ""


def _typed(path: Path) -> str:
    return shlex.quote(str(path))


def failures(command: str, result: Any) -> list[ExperimentError]:
    """What is no success although there is a result; a run that broke down is stored, with its reason."""
    if command not in ("learn", "record"):
        said = [error for kind in ("failures", "unstored") for error in getattr(result, kind, {}).values()]
        return said + _failed_rules(getattr(result, "document", {}))
    found: list[ExperimentError] = []
    for path in [result] if command == "learn" else result:
        with open_run_file(path) as run:
            for one in (run.learning, *run.behaviours.values()):
                if one.status == "stopped" and (command == "record") != (one is run.learning):
                    steps = f"{one.name} ended after {one.steps} of {one.wanted} steps"
                    found.append(BrokenDown(f"{path}: {steps}: {one.reason}"))
    return found


def _failed_rules(document: dict[str, Any]) -> list[ExperimentError]:
    """Runs of a study in which a rule of the user's own failed: a mistake to be mended."""
    from experiments.pipeline.loop import CONTROLLER

    found: list[ExperimentError] = []
    for row in document.get("rows", []):
        rule = str(row.get("controller") or document.get("settings", {}).get("controller", ""))
        if ":" in rule and CONTROLLER in str(row.get("reason", "")):
            found.append(
                BrokenDown(f"{rule}, seed {row.get('seed')}: {row['reason']}; mend it and run again")
            )
    return found
