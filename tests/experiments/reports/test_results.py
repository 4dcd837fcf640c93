"""Results read back from files: each behaviour once, with its result or with what is missing."""

import json
from pathlib import Path

import h5py
import numpy as np

from experiments.pipeline.quantify import Quantify, quantify
from experiments.reports.report import _given_films
from experiments.reports.results import read_results
from experiments.runfiles.results import signed
from quantify.systems import Henon
from tests.experiments.reports.copies import copy_run


def test_what_is_missing_comes_with_the_command_that_makes_it(small_run: Path, tmp_path: Path) -> None:
    path = copy_run(small_run, tmp_path / "half.h5", results=False)
    with h5py.File(path, "r+") as file:
        del file["behaviours/0.2min"]
    first, second = read_results([path]).behaviours
    assert first.result is None and f"`selforg quantify {path}`" in first.problem
    assert second.result is None and f"`selforg record {path}`" in second.problem


def test_a_result_is_shown_once(small_run: Path) -> None:
    result = small_run.with_name("small-1.0.1min.complexity.json")
    found = read_results([small_run, result, small_run])
    assert [b.label for b in found.behaviours] == ["small-1 0.1min", "small-1 0.2min"]
    assert len(found.learning) == 1
    assert found.found_in == {small_run: [0, 1, 0, 1], result: [0]}
    alone = read_results([result]).behaviours[0]
    assert alone.series is not None and alone.minutes == 0.1


def test_results_with_other_settings_are_two(small_run: Path, tmp_path: Path) -> None:
    path = copy_run(small_run, tmp_path / "small-1.h5")
    document = json.loads(path.with_name("small-1.0.1min.complexity.json").read_text())
    document["settings"]["s_min"] = 0.05
    other = tmp_path / "other.complexity.json"
    other.write_text(json.dumps(signed(document)))
    found = read_results([path, other])
    assert [b.settings["s_min"] for b in found.behaviours] == [None, None, 0.05]
    assert found.behaviours[2].command == f"selforg quantify {path} --freeze 0.1 --m-max 5 --s-min 0.05 " + (
        "--replicates 3"
    )


def test_a_result_stands_without_its_run(small_run: Path, tmp_path: Path) -> None:
    path = copy_run(small_run, tmp_path / "small-1.h5")
    path.unlink()
    (b,) = read_results([tmp_path / "small-1.0.2min.complexity.json"]).behaviours
    assert b.result is not None and b.series is None and "the run file is not at hand" in b.what
    # The robot is not known, so neither are its defaults.
    assert "--sensor 0 --tau 4 --m-max 5" in b.command


def test_the_part_that_a_result_is_of_is_found_again(tmp_path: Path) -> None:
    x = Henon().sample(2000, 1)
    rows = "".join(f"{i / 50},{a:.17g},{b:.17g}\n" for i, (a, b) in enumerate(x))
    (tmp_path / "x.csv").write_text(f"time,a,b\n{rows}")
    wish = Quantify(f"{tmp_path}/x.csv", sensor="b,a", start="10s", stop=1500, tau=1, m_max=3, predictive=0)
    (path,) = quantify(wish).files.values()
    (found,) = read_results([path]).behaviours
    assert found.series is not None and np.array_equal(found.series, x[500:1500, 1])
    words = "--sensor b,a --tau 1 --m-max 3 --predictive 0 --start 10s --stop 1500"
    assert found.command == f"selforg quantify {tmp_path}/x.csv {words}"


def test_a_film_belongs_to_the_file_before_it(small_run: Path, tmp_path: Path) -> None:
    """Two runs of one name, in two folders: the film shows the second."""
    first, second = (copy_run(small_run, tmp_path / name / "x.h5", results=False) for name in "ab")
    film = tmp_path / "film.mp4"
    film.write_bytes(b"film")
    found = read_results([first, second])
    assert [b.label for b in found.behaviours] == 2 * ["x 0.1min", "x 0.2min"]
    assert _given_films((first, second, film), found) == {2: b"film"}


def test_results_of_any_series(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "map.csv", Henon().sample(2000, 1)[:, 0])
    quantify(Quantify(str(tmp_path / "map.csv"), tau=1, m_max=4, replicates=0))
    (b,) = read_results([tmp_path / "map.complexity.json"]).behaviours
    assert b.series is not None and b.command == f"selforg quantify {tmp_path}/map.csv --sensor 0 " + (
        "--tau 1 --m-max 4 --replicates 0"
    )
    (tmp_path / "map.csv").unlink()
    (b,) = read_results([tmp_path / "map.complexity.json"]).behaviours
    assert b.series is None and b.result is not None
