"""What the page of a report does in a browser."""

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quantify as q
from experiments.cli import main
from experiments.reports.report import Report, page, report
from experiments.reports.results import Results
from experiments.reports.video import FILM
from experiments.runfiles.run_file import open_run_file
from tests.experiments.reports.browser import Opened
from tests.experiments.reports.copies import copy_run

EXACT = 1e-6


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
    assert len(found) == 10
    noise = r.kappa > result.decomposition.settings["kappa_max"]
    assert np.isnan(found["D.mean"]) if noise else found["D.mean"] == pytest.approx(r.D, abs=EXACT)
    for name in ("E_state", "E_mem", "E_core"):
        assert found[f"{name}.mean"] == pytest.approx(getattr(r, name), abs=EXACT)
        assert found[f"{name}.sd"] == pytest.approx(getattr(r, f"{name}_sd"), abs=EXACT)
    assert found["E_core.drift"] == pytest.approx(r.drift, abs=EXACT)
    # Python keeps the drift of the sum only: those of the parts add up to it, and memory's is a plain fit.
    assert found["E_state.drift"] + found["E_mem.drift"] == pytest.approx(r.drift, abs=EXACT)
    inside = (result.decomposition.eps >= lo) & (result.decomposition.eps <= hi)
    x, y = np.log(result.decomposition.eps[inside]), result.decomposition.E_mem[inside]
    assert found["E_mem.drift"] == pytest.approx(np.polyfit(x, y, 1)[0], abs=EXACT)
    words = re.search(r"(\d+) scales, (\S+) octaves;.* κ (\S+), (\d+) %", panel.inner_text())
    assert words and int(words[1]) == r.n
    shown = [float(word.replace("−", "-")) for word in words.groups()[1:]]
    # As far as rounding to the digits shown goes.
    for value, true, digit in zip(
        shown, (r.octaves, r.kappa, 100 * r.deterministic), (0.1, 0.01, 1), strict=True
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


@pytest.mark.guard
def test_nothing_from_a_file_breaks_the_page(chromium: Any, found: Results, tmp_path: Path) -> None:
    """Names that would open or end a script element, in every place that text from files can have."""
    nasty = "<!--<script>'\"&</script><img src=x onerror=alert(1)>"
    b, (learning,) = found.behaviours[0], found.learning
    assert b.result is not None and b.sensors is not None
    names = (nasty, *b.sensors.names[1:])
    told = {"label": nasty, "what": nasty, "problem": nasty, "channel": f"{nasty} [1]", "group": nasty}
    result = replace(b.result, settings=b.result.settings | {"range_from": nasty})
    b = replace(b, **told, command=nasty, result=result, sensors=replace(b.sensors, names=names))
    learning = replace(learning, label=f"{nasty}: {nasty}", sensors=names)
    path = tmp_path / "nasty.html"
    path.write_text(page(Results([b], [learning]), [nasty], nasty), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    opened = Opened(context.new_page())
    opened.tab.goto(path.as_uri())
    opened.tab.evaluate("plots.forEach(box => box.draw())")
    assert opened.tab.evaluate("data.behaviours[0].sensors.names[0]") == nasty
    assert opened.tab.locator("h1").inner_text() == nasty
    assert opened.tab.locator("#summary small", has_text=nasty).count() == 2
    assert opened.tab.evaluate("plots.every(box => box.querySelector('.main-svg'))")
    assert opened.tab.locator("img[src=x]").count() == 0
    context.close()
    assert opened.problems == []


@pytest.mark.guard
def test_the_range_can_be_dragged(opened: Opened, result: q.Quantification) -> None:
    panel = opened.panel()
    start = opened.chosen(panel)
    # The range of the quoted number is an average of ranges; the handles stand at the nearest scales.
    eps, ends = result.decomposition.eps, (result.range.lo, result.range.hi)
    assert start == tuple(eps[np.argmin(np.abs(np.log(eps / end)))] for end in ends)
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


@pytest.mark.guard
def test_keys_and_typed_numbers_move_the_range(opened: Opened, result: q.Quantification) -> None:
    panel, eps = opened.panel(), result.decomposition.eps
    lo, hi = panel.locator('.handle[data-end="lo"]'), panel.locator('.handle[data-end="hi"]')
    at = int(np.argmin(np.abs(np.log(eps / result.range.hi))))
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


@pytest.mark.guard
def test_the_command_repeats_the_chosen_range(opened: Opened, small_run: Path, tmp_path: Path) -> None:
    panel = opened.panel()
    assert "--eps-range" not in panel.locator("code").inner_text()
    drag(opened, panel.locator('.handle[data-end="hi"]'), 40)
    opened.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel.locator("button.clip").click()
    command = opened.tab.evaluate("navigator.clipboard.readText()")
    assert command == panel.locator("code").inner_text()
    words = shlex.split(command)
    assert words[:3] == ["selforg", "quantify", str(small_run)]
    for end in words[words.index("--eps-range") + 1 :]:
        assert len(end.replace(".", "").lstrip("0")) <= 4, "no more digits than are read"
    copy = tmp_path / "copy.h5"
    shutil.copy(small_run, copy)
    assert main(["quantify", str(copy), *words[3:], "--quiet"]) == 0
    with open_run_file(copy) as again:
        repeated = q.Quantification.from_dict(again.results["0.1min"]["result"])
    shown = opened.numbers(panel)
    for name in ("E_state", "E_mem", "E_core"):
        assert shown[f"{name}.mean"] == pytest.approx(getattr(repeated, name).value, abs=EXACT)


@pytest.mark.guard
@pytest.mark.parametrize("width", [1280, 390])
def test_the_table_is_whole_and_the_page_no_wider_than_the_window(opened: Opened, width: int) -> None:
    opened.tab.set_viewport_size({"width": width, "height": 900})
    opened.panel()
    wide = "node => [node.scrollWidth, node.clientWidth]"
    content, room = opened.tab.locator("html").evaluate(wide)
    assert content <= room
    content, room = opened.tab.locator(".scroll:has(#summary)").evaluate(wide)
    assert content <= room or width < 1280


@pytest.mark.guard
def test_how_to_read_it_comes_before_the_numbers(opened: Opened) -> None:
    places = [opened.tab.locator(name).bounding_box()["y"] for name in ("#reading", "#summary")]
    assert places[0] < places[1] and places[0] < 300
    assert not opened.tab.locator("#reading dl").is_visible()
    opened.tab.locator("nav a", has_text="How to read this").click()
    assert opened.tab.locator("#reading dl").is_visible()


@pytest.mark.guard
def test_a_dark_page_has_light_plots_on_paper(opened: Opened) -> None:
    """Contrast between ink and paper, of the page and of a plot, on the screen and in print."""
    looks = """() => {
      const style = getComputedStyle(document.body), box = document.querySelector(".panel.main .plot");
      const lines = box.data.find((trace) => trace.name === "noise κ").line.color;
      return [style.color, style.backgroundColor, lines, box.layout.paper_bgcolor];
    }"""

    def light(colour: str) -> float:
        numbers = [int(one, 16) for one in re.findall(r"[0-9a-f]{2}", colour)] if colour[0] == "#" else []
        return float(np.mean(numbers or [float(one) for one in re.findall(r"[\d.]+", colour)[:3]]))

    opened.panel()
    for scheme, event in (("light", ""), ("dark", ""), ("dark", "beforeprint"), ("dark", "afterprint")):
        opened.tab.emulate_media(color_scheme=scheme)
        if event:
            opened.tab.evaluate(f"window.dispatchEvent(new Event('{event}'))")
        opened.panel()
        opened.tab.wait_for_timeout(300)
        ink, paper, line, plot = map(light, map(_six, opened.tab.evaluate(looks)))
        dark = scheme == "dark" and event != "beforeprint"
        assert (ink > 200) == (line > 200) == dark and (paper < 60) == (plot < 60) == dark
    assert not opened.problems


def _six(colour: str) -> str:
    """#abc as #aabbcc."""
    return re.sub(r"^#(.)(.)(.)$", r"#\1\1\2\2\3\3", colour)


@pytest.mark.guard
def test_noise_has_no_dimension(opened: Opened, found: Results) -> None:
    panel, kappa = opened.panel(), found.behaviours[0].result.decomposition.kappa
    grey = np.flatnonzero(kappa > 0.5)
    assert len(grey)
    eps = float(found.behaviours[0].result.decomposition.eps[grey[0]])
    for end in ("lo", "hi"):
        panel.locator(f'input[data-end="{end}"]').fill(repr(eps))
        panel.locator(f'input[data-end="{end}"]').press("Enter")
    assert "no dimension" in panel.inner_text()


@pytest.mark.guard
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


@pytest.mark.guard
def test_the_table_sorts_and_what_is_missing_stays_last(opened: Opened) -> None:
    def column(i: int) -> list[str]:
        return opened.tab.evaluate(
            "i => [...document.getElementById('summary').tBodies]"
            ".map(body => body.rows[0].cells[i]?.dataset.sort ?? '')",
            i,
        )

    def numbers(values: list[str]) -> list[float]:
        """Those that there are, which all come before what is missing."""
        there = [float(value) for value in values if value]
        assert len(there) < len(values) and not any(values[len(there) :])
        return there

    head = opened.tab.locator("#summary thead th")
    for i in (1, 4, 5, 7):
        head.nth(i).locator("button").click()
        assert head.nth(i).get_attribute("aria-sort") == "ascending"
        values = numbers(column(i))
        assert values == sorted(values)
        head.nth(i).locator("button").press("Enter")
        assert head.nth(i).get_attribute("aria-sort") == "descending"
        values = numbers(column(i))
        assert values == sorted(values, reverse=True)
    head.nth(0).locator("button").click()
    assert column(0) == sorted(column(0))


@pytest.mark.guard
def test_the_film_plays(opened: Opened) -> None:
    assert opened.tab.locator("video").count() == 2
    film = opened.tab.locator("video").first
    film.scroll_into_view_if_needed()
    opened.tab.wait_for_function("document.querySelector('video').readyState >= 2")
    assert film.evaluate("v => [v.videoWidth, v.videoHeight]") == [*FILM]
    film.evaluate("v => v.play()")
    opened.tab.wait_for_function("document.querySelector('video').currentTime > 0.1")
    assert film.evaluate("v => v.error") is None
    assert opened.tab.locator("#films").count() == 1
    assert "No film was asked for." in opened.tab.locator("#behaviours").inner_text()


@pytest.mark.guard
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


@pytest.mark.guard
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
    for name, values in (("memory", "E_mem"), ("state", "E_state"), ("grows as ε shrinks", "E_eps")):
        shown = opened.tab.evaluate(
            "name => [...plots.find(b => b.kind === 'decomposition').data.find(t => t.name === name).y]", name
        )
        np.testing.assert_array_equal(shown, getattr(result.decomposition, values))


@pytest.mark.guard
def test_it_fits_a_narrow_screen(chromium: Any, html: Path) -> None:
    context = chromium.new_context(viewport={"width": 420, "height": 900}, offline=True)
    page = Opened(context.new_page())
    page.tab.goto(html.as_uri())
    page.tab.evaluate("plots.forEach(box => box.draw())")
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 420
    context.close()
    assert page.problems == []


@pytest.mark.guard
def test_ten_behaviours_open_quickly(chromium: Any, small_run: Path, html: Path, tmp_path: Path) -> None:
    paths = [copy_run(small_run, tmp_path / f"run-{i}.h5") for i in range(5)]
    film = html.with_name("film.mp4")
    files = tuple(part for path in paths for part in (path, film, film))
    page = report(Report(files, out=tmp_path / "ten.html", seconds=0))
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
