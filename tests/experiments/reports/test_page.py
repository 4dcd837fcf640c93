"""The page of a report, as far as it can be looked at without a browser."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from matplotlib.figure import Figure

import quantify as q
from experiments.errors import FileError
from experiments.reports.report import Report, embedded, packed, page, render, report
from experiments.reports.results import Behaviour, Results
from experiments.reports.tables import Section, Table
from tests.experiments.reports.copies import copy_run


def test_arrays_survive_packing() -> None:
    values = np.array([[1 / 3, np.nan, -0.0], [1e300, 5e-324, np.inf]])
    back = packed(values, "f8")
    assert back["shape"] == [2, 3]
    read = np.frombuffer(base64.b64decode(back["base64"]), "<f8").reshape(2, 3)
    assert read.tobytes() == values.tobytes()


def test_the_page_is_one_file_with_one_plot_library(html: Path) -> None:
    text = html.read_text(encoding="utf-8")
    assert text.count("* plotly.js v") == 1
    outside = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
    assert not re.search(r'(src|href)="(?!#)', outside) and "@import" not in outside and "url(" not in outside


def test_the_table_needs_no_script(html: Path, result: q.Quantification) -> None:
    text = html.read_text(encoding="utf-8")
    table = text[text.index('<table id="summary">') : text.index("</table>")]
    assert f"{result.E_core.value:.2f} ± {result.E_core.sampling:.2f}" in table
    assert f"{result.E_mem.value:.2f} ± {result.E_mem.sampling:.2f}" in table
    # Where there is no scaling region there is no dimension.
    assert np.isnan(result.D.value) == (not result.scaling_region) and "nan" not in table
    assert result.predictive_information is not None
    quoted = result.predictive_information.quoted
    assert f"{quoted.value:.2f}<small>half the data {quoted.half:.2f}</small>" in table
    for caveat in result.caveats:
        assert caveat.replace("'", "&#39;") in table
    assert "No result: the recording stopped after 3,000 steps: the simulation blew up at step 7." in table


def test_names_cannot_break_the_page() -> None:
    nasty = "</script><img src=x onerror=alert(1)> & {{data}}"
    text = page(Results([Behaviour(nasty, nasty, nasty)], []), [nasty], nasty)
    shown = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
    assert "<img" not in shown and "&lt;/script&gt;" in shown and shown.count("{{data}}") == 6
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, flags=re.S)
    assert data and json.loads(data[1])["behaviours"][0]["label"] == nasty


def test_a_page_with_nothing_to_show_says_so(small_run: Path, tmp_path: Path) -> None:
    path = copy_run(small_run, tmp_path / "bare.h5", results=False)
    with h5py.File(path, "r+") as file:
        for name in ("behaviours", "frozen"):
            del file[name]
        file["learning"].attrs.update(status="stopped", reason="C is not finite at step 17")
    text = report(Report((path,), out=tmp_path / "r.html")).read_text(encoding="utf-8")
    assert "Nothing to show yet" in text
    assert "no controller was frozen: learning stopped after 600 steps: C is not finite at step 17" in text


def test_a_page_that_cannot_be_written_is_noticed_before_the_filming(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.reports.report._films", lambda *_: pytest.fail("filmed"))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        report(Report((small_run,), out=tmp_path / "file" / "r.html"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give at least one run file"),
        (["none.h5"], "none.h5 does not exist"),
        (["none.json"], "none.json does not exist"),
        (["data.csv"], "data.csv holds no results"),
        (["other.json"], "other.json is no result"),
        (["compare.json"], "compare.json is no result of `selforg quantify` or `selforg progress`; give run"),
        (["entry.json"], "entry.json is no result"),
        (["broken.json"], "broken.json cannot be read as JSON"),
        (["film.mp4"], "film.mp4 belongs to no behaviour"),
        (["data.csv", "-o", "r.pdf"], "r.pdf must end in .html"),
        (["data.csv", "r.html"], "to write it, say -o r.html"),
        (["data.csv", "--seconds", "-1"], "--seconds is -1"),
    ],
)
def test_wrong_requests(refused: Callable[..., str], arguments: list[str], message: str) -> None:
    for name, text in (("data.csv", "1\n2\n"), ("other.json", "{}"), ("broken.json", "{"), ("film.mp4", "")):
        Path(name).write_text(text)
    Path("compare.json").write_text('{"settings": {}, "rows": [{"robot": "snake", "seed": 1}]}')
    Path("entry.json").write_text('{"function": "experiments.behaviour:behaviour", "result": {}}')
    assert message in refused("report", *arguments)


def test_a_section_stands_before_the_table() -> None:
    table = Table(
        {"what": "", "ours <b>": "median & interval"}, [["a\nb", "1 | 2"]], caption="so <far>", wide=(1,)
    )
    section = Section("Paper beside ours", table, sentences=["One.", "  On one scale."])
    text = page(Results([Behaviour("x", "y", "not there")], []), ["none"], before=section)
    start = text[text.index("<h3>") : text.index('<table id="summary">')]
    for part in (
        "<h3>Paper beside ours</h3>",
        '<th scope="col">what</th>',
        '<th scope="col" class="words"><abbr title="median &amp; interval">ours &lt;b&gt;</abbr></th>',
        '<td data-name="what">a b</td><td class="words" data-name="ours &lt;b&gt;">1 | 2</td>',
        '<p class="soft">so &lt;far&gt;</p>',
        '<li>One.</li>\n<li class="more">On one scale.</li>',
    ):
        assert part in start
    assert table.markdown().splitlines()[-1] == "| a b | 1 \\| 2 |"


def test_a_study_has_a_page_of_its_own() -> None:
    figure = Figure(figsize=(1, 1))
    sections = [Section("Runs", Table({"seed": ""}, [["1"]]), "Below the table."), Section("Words")]
    told = {"title": "<Mine>", "command": "selforg mine", "versions": {"python": "3", "numpy": "2"}}
    text = render("study.html", **told, sections=sections, sentences=["So."], figure=embedded(figure))
    assert "<title>&lt;Mine&gt;</title>" in text and "--accent" in text and "<li>So.</li>" in text
    assert 'src="data:image/png;base64,iVBOR' in text and '<p class="soft">Below the table.</p>' in text
    assert "<code>selforg mine</code> with python 3, numpy 2." in text
