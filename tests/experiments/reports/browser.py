"""A real browser for the tests of pages."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# Set where a browser must be there: then its absence fails the tests instead of skipping them.
REQUIRED = os.environ.get("SELFORG_BROWSER") == "required"


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
        tab.set_default_timeout(120_000)  # on a busy machine a page takes its time
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
