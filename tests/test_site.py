"""What the site makes of the program itself, and what its pages are in a browser."""

import doctest
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

import quantify
from experiments.cli import COMMANDS
from experiments.reports.glossary import glossary
from tests.experiments.reports.browser import Opened, chromium  # noqa: F401

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
WIDE, NARROW = 1280, 390
DARK = 60
"""Below this, of 255, a colour is dark."""


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site() -> ModuleType:
    pytest.importorskip("mkdocs", reason="the site is made with `make docs`")
    return load(DOCS / "site_pages.py")


def test_every_command_and_setting_has_its_words(site: ModuleType) -> None:
    text = site.commands()
    for name in COMMANDS:
        assert f"## selforg {name}\n" in text
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    # Every setting is explained, whatever group it is inherited from.
    assert [row for row in rows if row.endswith("|  |")] == []


def test_every_picture_of_the_glossary_is_there(site: ModuleType) -> None:
    for entry in glossary().values():
        assert not entry.picture or (DOCS / "figures" / f"{entry.picture}.png").exists()
    assert all(f"{{ #{name} }}" in site.words() for name in glossary())


def test_no_block_of_the_how_to_pages_is_left_out_unseen() -> None:
    """What one is told to type is played (tests/newcomer/play.py), or stands in a list with its reason."""
    play = load(ROOT / "tests/newcomer/play.py")
    played = {page for some in play.PAGES for page in some}
    told = {
        f"{path.parent.name}/{path.stem}"
        for room in ("tutorial", "howto")
        for path in (DOCS / room).glob("*.md")
    }
    assert told | {"data", "scale", "files", "install"} == played
    for page in played:
        blocks = play.all_blocks(DOCS / f"{page}.md")
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        # Commands, Python, and what a command says; nothing else, and no fence that was overlooked.
        assert {kind for kind, _ in blocks} <= {"", "python", "text"} and text.count("```") == 2 * len(blocks)
    for page, reasons in play.LEFT_OUT.items():
        path = ROOT / "README.md" if page == "README" else DOCS / f"{page}.md"
        for words in reasons:
            assert words in path.read_text(encoding="utf-8"), f"{words!r} is no longer in {page}"


@pytest.mark.parametrize("page", sorted((DOCS / "explanation").glob("*.md")), ids=lambda path: path.stem)
def test_examples_of_the_explanations_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("```python\n") == text.count("```python\n>>> ")
    # The fence that ends a block is no part of what is printed.
    examples = doctest.DocTestParser().get_doctest(text.replace("```", ""), {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(examples).failed == 0


@pytest.mark.guard
def test_the_blocks_of_the_quantifier_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    series = quantify.systems.Lorenz().sample(3000, 1)[:, 0]
    for kind, code in load(ROOT / "tests/newcomer/play.py").all_blocks(DOCS / "quantifier.md"):
        if kind == "python":
            exec(compile(code.replace("=99", "=19"), "docs/quantifier.md", "exec"), {"series": series})
    assert (tmp_path / "result.png").stat().st_size > 10_000


def test_no_page_has_python_that_nobody_runs() -> None:
    play = load(ROOT / "tests/newcomer/play.py")
    run = {page for some in play.PAGES for page in some}
    # In tests of their own: here, in tests/controllers/test_docs.py, and in tests/robots/test_sheet.py.
    run |= {"quantifier", "explanation/statistics", "controllers", "robots"}
    pages = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")}
    has = {name for name, path in pages.items() if any(kind == "python" for kind, _ in play.all_blocks(path))}
    assert has <= run


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_output_and_say_that_they_are_small(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert "**Sizes are small**" in notebook.cells[0].source
    for cell in notebook.cells:
        assert not cell.get("outputs") and not cell.get("execution_count")


@pytest.fixture(scope="module")
def built(made_once: Callable[..., Path]) -> Path:
    """The site, strictly: a link that leads nowhere fails, and so does a cell of a notebook."""
    pytest.importorskip("mkdocs", reason="the site is made with `make docs`")

    def fill(folder: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder / "site"],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    return made_once("site", fill) / "site"


@pytest.mark.guard
def test_notebooks_are_shown_with_what_they_give(built: Path) -> None:
    for path in NOTEBOOKS:
        page = (built / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        pictures = sorted((built / "notebooks").glob(f"{path.stem}-*.png"))
        assert len(pictures) >= 2 and all(f'src="{picture.name}"' in page for picture in pictures)
        assert 'class="language-text' in page and "Traceback" not in page
        # Nobody is told in which folder it was run.
        assert str(Path.home()) not in page and "/tmp/" not in page


@pytest.mark.guard
def test_every_page_in_a_browser(built: Path, chromium: Any) -> None:  # noqa: F811
    """No errors, nothing from elsewhere, no wider than the window, light and dark."""
    pages, wrong = sorted(built.rglob("*.html")), []
    for scheme in ("light", "dark"):
        context = chromium.new_context(
            viewport={"width": WIDE, "height": 900}, offline=True, color_scheme=scheme
        )
        page = Opened(context.new_page())
        for path in pages:
            name = f"{path.relative_to(built)}, {scheme}"
            page.tab.set_viewport_size({"width": WIDE, "height": 900})
            page.tab.goto(path.as_uri())
            for width in (WIDE, NARROW):
                page.tab.set_viewport_size({"width": width, "height": 900})
                content = page.tab.evaluate("document.documentElement.scrollWidth")
                if content > width:
                    wrong.append(f"{name}: {content} wide in a window of {width}")
            paper = page.tab.evaluate(
                "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
            )
            if (max(paper[:3]) < DARK) != (scheme == "dark"):
                wrong.append(f"{name}: paper of colour {paper}")
            wrong += [f"{name}: {problem}" for problem in page.problems]
            page.problems.clear()
        elsewhere = [url for url in page.requests if not url.startswith(("file:", "blob:", "data:"))]
        wrong += [f"{scheme}: {url} was asked for" for url in elsewhere]
        context.close()
    assert wrong == [] and len(pages) > 30


@pytest.mark.guard
@pytest.mark.parametrize("start", ["index.html", "notebooks/own-rule.html"])
def test_search_finds_a_word(built: Path, chromium: Any, start: str) -> None:  # noqa: F811
    context = chromium.new_context(viewport={"width": WIDE, "height": 900}, offline=True)
    page = Opened(context.new_page())
    page.tab.goto((built / start).as_uri())
    page.tab.locator(".md-search__input").focus()  # the index is read when somebody is about to search
    page.tab.wait_for_function(
        "!/nitializing/.test(document.querySelector('.md-search-result__meta').innerText)"
    )
    page.tab.locator(".md-search__input").press_sequentially("surrogate")
    page.tab.locator(".md-search-result__item").first.wait_for()
    found = page.tab.locator(".md-search-result__list").inner_text()
    assert "surrogate" in found.casefold()
    page.tab.locator(".md-search-result__link").first.click()
    page.tab.wait_for_url("**/*.html*")
    context.close()
    assert page.problems == []


@pytest.mark.guard
def test_the_film_on_the_start_page_plays(built: Path, chromium: Any) -> None:  # noqa: F811
    context = chromium.new_context(viewport={"width": WIDE, "height": 900}, offline=True)
    page = Opened(context.new_page())
    page.tab.goto((built / "index.html").as_uri())
    page.tab.wait_for_function("document.querySelector('video').currentTime > 0.1")
    context.close()
    assert page.problems == [] and (built / "figures/hexapod-leap.mp4").stat().st_size < 1e6
