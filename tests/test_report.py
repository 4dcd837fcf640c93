"""The page of a report: what it says without a browser, and what it does in one."""

import base64
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from small_run import make_small_run

import quantify as q
from experiments.cli import main
from experiments.errors import FileError
from experiments.pipeline.quantify import Quantify, quantify
from experiments.reports.behaviours import Behaviour
from experiments.reports.page import packed, page
from experiments.reports.report import Report, _given_films, report
from experiments.reports.results import Results, read_results
from experiments.runfiles.run_file import open_run
from quantify.systems import Henon

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# Set where a browser must be there: then its absence fails the tests instead of skipping them.
REQUIRED = os.environ.get("SELFORG_BROWSER") == "required"
EXACT = 1e-6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small_run(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def unmeasured(run: Path) -> Path:
    """The same run with one result taken away, and one recording that broke off."""
    path = run.with_name("unmeasured.h5")
    shutil.copy(run, path)
    with h5py.File(path, "r+") as file:
        del file["results/0.2min"]
        file["behaviours/0.2min"].attrs.update(status="stopped", reason="the simulation blew up at step 7")
    return path


@pytest.fixture(scope="module")
def html(run: Path, unmeasured: Path) -> Path:
    """A report of four behaviours, one of them without result; two are filmed."""
    film = run.with_name("film.mp4")
    assert main(["video", str(run), str(film), "--freeze", "0.2", "--seconds", "0.5", "--quiet"]) == 0
    files = (run, film, film, unmeasured)
    return report(Report(files, out=run.with_name("report.html"), seconds=0, quiet=True))


@pytest.fixture(scope="module")
def result(run: Path) -> q.Quantification:
    with open_run(run) as opened:
        return q.Quantification.from_dict(opened.results["0.1min"]["result"])


# ---- without a browser


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
    assert f"{result.D.value:.2f} ± {result.D.sampling:.2f}" in table
    assert result.predictive_information is not None
    quoted = result.predictive_information.quoted
    assert f"{quoted.value:.2f}<small>half the data {quoted.half:.2f}</small>" in table
    for caveat in result.caveats:
        assert caveat.replace("'", "&#x27;") in table
    assert "No result: the recording stopped after 3,000 steps: the simulation blew up at step 7." in table


def test_names_cannot_break_the_page() -> None:
    nasty = "</script><img src=x onerror=alert(1)> & {{data}}"
    text = page(Results([Behaviour(nasty, nasty, nasty)], []), [nasty], nasty)
    shown = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
    assert "<img" not in shown and "&lt;/script&gt;" in shown and shown.count("{{data}}") == 6
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, flags=re.S)
    assert data and json.loads(data[1])["behaviours"][0]["label"] == nasty


def test_a_page_with_nothing_to_show_says_so(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.h5"
    shutil.copy(run, path)
    with h5py.File(path, "r+") as file:
        for name in ("results", "behaviours", "frozen"):
            del file[name]
        file["learning"].attrs.update(status="stopped", reason="C is not finite at step 17")
    text = report(Report((path,), out=tmp_path / "r.html", quiet=True)).read_text(encoding="utf-8")
    assert "Nothing to show yet" in text
    assert "no controller was frozen: learning stopped after 600 steps: C is not finite at step 17" in text


def test_what_is_missing_comes_with_the_command_that_makes_it(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.h5"
    shutil.copy(run, path)
    with h5py.File(path, "r+") as file:
        del file["results"], file["behaviours/0.2min"]
    first, second = read_results([path]).behaviours
    assert first.result is None and f"`selforg quantify {path}`" in first.problem
    assert second.result is None and f"`selforg record {path}`" in second.problem


def test_a_page_that_cannot_be_written_is_noticed_before_the_filming(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.reports.report._film", lambda *_: pytest.fail("filmed"))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        report(Report((run,), out=tmp_path / "file" / "r.html", quiet=True))


def test_a_result_is_shown_once(run: Path) -> None:
    beside = run.with_name("small-1.0.1min.complexity.json")
    found = read_results([run, beside, run])
    assert [b.label for b in found.behaviours] == ["small-1 0.1min", "small-1 0.2min"]
    assert len(found.learning) == 1
    alone = read_results([beside]).behaviours[0]
    assert alone.series is not None and alone.minutes == 0.1


def test_a_film_belongs_to_the_file_before_it(run: Path, tmp_path: Path) -> None:
    """Two runs of one name, in two folders: the film shows the second."""
    first, second, film = tmp_path / "a" / "x.h5", tmp_path / "b" / "x.h5", tmp_path / "film.mp4"
    for path in (first, second):
        path.parent.mkdir()
        shutil.copy(run, path)
    film.write_bytes(b"film")
    behaviours = read_results([first, second]).behaviours
    assert [b.label for b in behaviours] == 2 * ["x 0.1min", "x 0.2min"]
    assert _given_films((first, second, film), behaviours) == {2: b"film"}


def test_results_of_any_series(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "map.csv", Henon().sample(2000, 1)[:, 0])
    quantify(Quantify(str(tmp_path / "map.csv"), tau=1, m_max=4, replicates=0, quiet=True), show=False)
    (b,) = read_results([tmp_path / "map.complexity.json"]).behaviours
    assert b.series is not None and b.command == f"selforg quantify {tmp_path}/map.csv --sensor 0 " + (
        "--tau 1 --m-max 4 --replicates 0"
    )
    (tmp_path / "map.csv").unlink()
    (b,) = read_results([tmp_path / "map.complexity.json"]).behaviours
    assert b.series is None and b.result is not None


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
        (["data.csv", "--seconds", "-1"], "--seconds is -1"),
    ],
)
def test_wrong_requests(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("data.csv", "1\n2\n"), ("other.json", "{}"), ("broken.json", "{"), ("film.mp4", "")):
        Path(name).write_text(text)
    Path("compare.json").write_text('{"settings": {}, "rows": [{"robot": "snake", "seed": 1}]}')
    Path("entry.json").write_text('{"function": "experiments.studies.scoring:behaviour", "result": {}}')
    before = sorted(tmp_path.iterdir())
    assert main(["report", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("selforg: ") and message in error and "\n" not in error
    assert sorted(tmp_path.iterdir()) == before


# ---- in a browser


def find_browser() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def no_browser(reason: str) -> None:
    message = f"THE PAGE IS NOT TESTED IN A BROWSER: {reason}"
    if REQUIRED:
        pytest.fail(message)
    pytest.skip(message)


class Opened:
    """A page in the browser, with everything that went wrong in it."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab
        self.problems: list[str] = []
        self.requests: list[str] = []
        tab.on("console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: self.problems.append(str(error)))
        tab.on("request", lambda request: self.requests.append(request.url))

    def panel(self, i: int = 0) -> Any:
        """The i-th decomposition that can be dragged, scrolled into view and drawn."""
        panel = self.tab.locator(".panel.main:has(.plot)").nth(i)
        panel.scroll_into_view_if_needed()
        panel.locator(".handle").first.wait_for()
        return panel

    def chosen(self, panel: Any) -> tuple[float, float]:
        """The range between the handles, in full precision."""
        ends = [
            panel.locator(f'.handle[data-end="{end}"]').get_attribute("aria-valuenow") for end in ("lo", "hi")
        ]
        return float(ends[0]), float(ends[1])

    def numbers(self, panel: Any) -> dict[str, float]:
        """What the page says about the chosen range, in full precision."""
        cells = panel.locator("data").all()
        return {c.get_attribute("data-name"): float(c.evaluate("cell => cell.value")) for c in cells}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        no_browser("the Python package playwright is missing; pip install playwright")
    program = find_browser()
    if program is None:
        no_browser("no Chromium was found; `make browser` installs Debian's, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        except Error as error:
            no_browser(f"{program} does not start: {error}")
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any, html: Path) -> Iterator[Opened]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    page = Opened(context.new_page())
    page.tab.goto(html.as_uri())
    yield page
    context.close()
    assert page.problems == []
    assert [url for url in page.requests if not url.startswith(("file:", "blob:", "data:"))] == []


def agree(page: Opened, panel: Any, result: q.Quantification) -> None:
    """All numbers of the page equal those of Python for the same range."""
    lo, hi = page.chosen(panel)
    r, found = result.decomposition.over(lo, hi), page.numbers(panel)
    assert len(found) == 9
    for name in ("E_state", "E_mem", "E_core"):
        assert found[f"{name}.mean"] == pytest.approx(getattr(r, name), abs=EXACT)
        assert found[f"{name}.sd"] == pytest.approx(getattr(r, f"{name}_sd"), abs=EXACT)
    assert found["E_core.drift"] == pytest.approx(r.drift, abs=EXACT)
    # Python keeps the drift of the sum only: those of the parts add up to it, and memory's is a plain fit.
    assert found["E_state.drift"] + found["E_mem.drift"] == pytest.approx(r.drift, abs=EXACT)
    inside = (result.decomposition.eps >= lo) & (result.decomposition.eps <= hi)
    x, y = np.log(result.decomposition.eps[inside]), result.decomposition.E_mem[inside]
    assert found["E_mem.drift"] == pytest.approx(np.polyfit(x, y, 1)[0], abs=EXACT)
    words = re.search(r"(\d+) scales, (\S+) octaves; D (\S+); κ (\S+), (\d+) %", panel.inner_text())
    assert words and int(words[1]) == r.n
    shown = [float(word.replace("−", "-")) for word in words.groups()[1:]]
    # As far as rounding to the digits shown goes.
    for value, true, digit in zip(
        shown, (r.octaves, r.D, r.kappa, 100 * r.deterministic), (0.1, 0.01, 0.01, 1), strict=True
    ):
        assert value == pytest.approx(true, abs=0.51 * digit)


def drag(page: Opened, handle: Any, by: float) -> None:
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.tab.mouse.move(x, y)
    page.tab.mouse.down()
    page.tab.mouse.move(x + by / 2, y, steps=3)
    page.tab.mouse.move(x + by, y, steps=3)
    page.tab.mouse.up()


def test_the_range_can_be_dragged(opened: Opened, result: q.Quantification) -> None:
    panel = opened.panel()
    start = opened.chosen(panel)
    assert start == (result.range.lo, result.range.hi)
    agree(opened, panel, result)
    lo, hi = panel.locator('.handle[data-end="lo"]'), panel.locator('.handle[data-end="hi"]')
    drag(opened, hi, 60)
    assert opened.chosen(panel)[1] > start[1] and opened.chosen(panel)[0] == start[0]
    agree(opened, panel, result)
    drag(opened, lo, 35)
    assert opened.chosen(panel)[0] > start[0]
    agree(opened, panel, result)
    before = opened.chosen(panel)
    grip = panel.locator(".grip").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    opened.tab.mouse.move(x, y)
    opened.tab.mouse.down()
    opened.tab.mouse.move(x - 30, y, steps=4)
    opened.tab.mouse.up()
    moved = opened.chosen(panel)
    assert moved[0] < before[0] and moved[1] < before[1]
    # The whole range moved: as many octaves as before.
    assert moved[1] / moved[0] == pytest.approx(before[1] / before[0])
    agree(opened, panel, result)
    panel.locator("button.automatic").click()
    assert opened.chosen(panel) == start
    agree(opened, panel, result)


def test_keys_and_typed_numbers_move_the_range(opened: Opened, result: q.Quantification) -> None:
    panel, eps = opened.panel(), result.decomposition.eps
    lo, hi = panel.locator('.handle[data-end="lo"]'), panel.locator('.handle[data-end="hi"]')
    at = int(np.flatnonzero(eps == result.range.hi)[0])
    hi.focus()
    hi.press("ArrowRight")
    assert opened.chosen(panel)[1] == eps[max(at - 1, 0)]
    lo.focus()
    lo.press("Home")
    assert opened.chosen(panel)[0] == eps[-1]
    agree(opened, panel, result)
    middle = float(np.sqrt(eps[3] * eps[4]))
    panel.locator('input[data-end="hi"]').fill(repr(middle))
    panel.locator('input[data-end="hi"]').press("Enter")
    assert opened.chosen(panel) == (eps[-1], middle)
    agree(opened, panel, result)
    panel.locator('input[data-end="lo"]').fill(repr(middle * 0.9999))
    panel.locator('input[data-end="lo"]').press("Enter")
    assert "No scale of the grid lies in" in panel.inner_text()
    panel.locator('input[data-end="lo"]').fill("soon")
    panel.locator('input[data-end="lo"]').press("Enter")
    assert "soon is no scale" in panel.inner_text()


def test_the_command_repeats_the_chosen_range(opened: Opened, run: Path, tmp_path: Path) -> None:
    panel = opened.panel()
    assert "--eps-range" not in panel.locator("code").inner_text()
    drag(opened, panel.locator('.handle[data-end="hi"]'), 40)
    opened.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel.locator("button.clip").click()
    command = opened.tab.evaluate("navigator.clipboard.readText()")
    assert command == panel.locator("code").inner_text()
    words = shlex.split(command)
    assert words[:3] == ["selforg", "quantify", str(run)] and "--eps-range" in words
    copy = tmp_path / "copy.h5"
    shutil.copy(run, copy)
    assert main(["quantify", str(copy), *words[3:], "--quiet"]) == 0
    with open_run(copy) as again:
        repeated = q.Quantification.from_dict(again.results["0.1min"]["result"])
    shown = opened.numbers(panel)
    for name in ("E_state", "E_mem", "E_core"):
        assert shown[f"{name}.mean"] == pytest.approx(getattr(repeated, name).value, abs=EXACT)


def test_one_range_for_all_and_the_same_axes(opened: Opened) -> None:
    first = opened.panel(0)
    drag(opened, first.locator('.handle[data-end="hi"]'), 25)
    first.locator("button.everywhere").click()
    second = opened.panel(1)
    assert opened.chosen(second) == opened.chosen(first)
    limits = "panel => panel.querySelector('.plot').layout.{}.range"
    for axis in ("xaxis", "yaxis"):
        assert first.evaluate(limits.format(axis)) == second.evaluate(limits.format(axis))
    opened.tab.locator("#same").uncheck()
    opened.tab.wait_for_timeout(300)
    assert first.evaluate(limits.format("yaxis")) != second.evaluate(limits.format("yaxis"))


def test_the_table_sorts_and_what_is_missing_stays_last(opened: Opened) -> None:
    def column(i: int) -> list[str]:
        return opened.tab.evaluate(
            "i => [...document.getElementById('summary').tBodies]"
            ".map(body => body.rows[0].cells[i]?.dataset.sort ?? '')",
            i,
        )

    head = opened.tab.locator("#summary thead th")
    for i in (1, 4, 5, 7):
        head.nth(i).locator("button").click()
        assert head.nth(i).get_attribute("aria-sort") == "ascending"
        values = column(i)
        assert values[-1] == "" and [float(v) for v in values[:-1]] == sorted(float(v) for v in values[:-1])
        head.nth(i).locator("button").press("Enter")
        assert head.nth(i).get_attribute("aria-sort") == "descending"
        values = column(i)
        assert values[-1] == "" and [float(v) for v in values[:-1]] == sorted(
            map(float, values[:-1]), reverse=True
        )
    head.nth(0).locator("button").click()
    assert column(0) == sorted(column(0))


def test_the_film_plays(opened: Opened) -> None:
    assert opened.tab.locator("video").count() == 2
    film = opened.tab.locator("video").first
    film.scroll_into_view_if_needed()
    opened.tab.wait_for_function("document.querySelector('video').readyState >= 2")
    assert film.evaluate("v => [v.videoWidth, v.videoHeight]") == [640, 480]
    film.evaluate("v => v.play()")
    opened.tab.wait_for_function("document.querySelector('video').currentTime > 0.1")
    assert film.evaluate("v => v.error") is None
    assert opened.tab.locator("#films").count() == 1
    assert "No film was asked for." in opened.tab.locator("#behaviours").inner_text()


def test_every_plot_is_drawn_on_screen_and_on_paper(opened: Opened) -> None:
    opened.tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    counts = opened.tab.evaluate("[plots.length, plots.filter(box => box.querySelector('.main-svg')).length]")
    assert counts[0] == counts[1] >= 30
    wide = (
        "plots.filter(box => box._fullLayout.width > box.closest('.panel').clientWidth).map(box => box.kind)"
    )
    assert opened.tab.evaluate(wide) == []
    assert opened.tab.evaluate("document.body.scrollWidth") <= 720
    opened.tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert len(opened.tab.pdf()) > 50_000


def test_the_curves_are_those_of_python(opened: Opened, result: q.Quantification) -> None:
    opened.tab.evaluate("plots.forEach(box => box.draw())")
    kept = len(result.decomposition.eps)
    for kind, first in (("D", 1), ("h", 0), ("delta_h", 1), ("E", 1), ("PI", 1)):
        rows = getattr(result.entropies, kind)
        traces = opened.tab.evaluate(
            "kind => plots.find(b => b.kind === kind).data.map(t => [t.name, [...t.x], [...t.y]])", kind
        )
        shown = {name: (x, y) for name, x, y in traces if name and name.startswith("m = ")}
        assert len(shown) == len(rows)
        for m, row in enumerate(rows, start=first):
            x, y = shown[f"m = {m}"]
            # Pictures are embedded in single precision.
            np.testing.assert_allclose(x, result.entropies.eps[:kept], rtol=1e-6)
            np.testing.assert_allclose(np.array(y, dtype=float), row[:kept], rtol=1e-6, atol=1e-6)
    p = result.predictive_information
    assert p is not None and (np.diff(p.eta) > 0).all()
    traces = opened.tab.evaluate(
        "plots.find(b => b.kind === 'PI').data.filter(t => t.error_y)"
        ".map(t => [t.name, [...t.x], [...t.y], [...t.error_y.array], [...t.error_y.arrayminus]])"
    )
    assert [name for name, *_ in traces] == [f"KSG, m = {m}" for m in p.m]
    for i, (_, x, y, up, down) in enumerate(traces):
        np.testing.assert_allclose(x, p.eta / 2, rtol=1e-6)
        np.testing.assert_allclose(y, p.PI[:, i], rtol=1e-6)
        # The bar ends at the value from half the data, on whichever side that lies.
        np.testing.assert_allclose(np.array(y) + up - down, p.half.mean(axis=0)[:, i], rtol=1e-5, atol=1e-6)
    for name, values in (("memory", "E_mem"), ("state", "E_state"), ("ε-dependent", "E_eps")):
        shown = opened.tab.evaluate(
            "name => [...plots.find(b => b.kind === 'decomposition').data.find(t => t.name === name).y]", name
        )
        np.testing.assert_array_equal(shown, getattr(result.decomposition, values))


def test_it_fits_a_narrow_screen(chromium: Any, html: Path) -> None:
    context = chromium.new_context(viewport={"width": 420, "height": 900}, offline=True)
    page = Opened(context.new_page())
    page.tab.goto(html.as_uri())
    page.tab.evaluate("plots.forEach(box => box.draw())")
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 420
    context.close()
    assert page.problems == []


def test_ten_behaviours_open_quickly(chromium: Any, run: Path, tmp_path: Path) -> None:
    paths = []
    for i in range(5):
        paths.append(tmp_path / f"run-{i}.h5")
        shutil.copy(run, paths[-1])
    film = run.with_name("film.mp4")
    files = tuple(part for path in paths for part in (path, film, film))
    page = report(Report(files, out=tmp_path / "ten.html", seconds=0, quiet=True))
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.as_uri())
    tab.locator(".plot").first.scroll_into_view_if_needed()
    tab.locator(".js-plotly-plot").first.wait_for()
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    # Processor time of the page rather than time on the clock, which says how busy the machine is.
    assert metrics["TaskDuration"] < 3.0
