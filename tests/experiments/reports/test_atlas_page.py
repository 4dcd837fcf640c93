"""The page of an exploration in a browser."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.studies.atlas.atlas import Atlas
from tests.experiments.reports.browser import Opened

pytestmark = pytest.mark.guard
N = 2000


def made(n: int, path: Path) -> Path:
    """A page with so many points, words that would break a page among them."""
    rng = np.random.default_rng(1)
    rows, lives = [], []
    for i in range(n):
        gravity = float(rng.uniform(3, 10))
        row = {"setting": i, "seed": 1, "minutes": 8.0, "body.gravity": gravity, "reason": "", "pushed": None}
        row |= {"mode": "jumping" if gravity < 6 else "<!--<script>", "std": 0.4, "PI": None}
        row |= {"D_common": float(rng.uniform(0, 3)), "E_core_common": float(rng.uniform(0, 4))}
        row |= {"E_core_relative": 1.0, "growth": 0.1, "growth_relative": None}
        life = {"setting": i, "seed": 1, "point": {"body": {"gravity": gravity}, "rule": {}}, "reason": ""}
        life |= {"growth": 0.1, "growth_relative": None, "grows": False, "grows_relative": False}
        life |= {"rich": False, "modes": [row["mode"]], "key": f"key{i}", "command": f"selforg learn {i}"}
        rows.append(row)
        lives.append(life)
    settings = {"robot": "hexapod", "controller": "ulr", "common": [0.1, 0.4], "measures": ["D", "E_core"]}
    document = {"settings": settings, "rows": rows, "lives": lives, "matters": [], "axes": ["body.gravity"]}
    document |= {"command": "selforg explore", "versions": {"selforg": "0"}}
    curve = {"eps": [0.1, 0.2], "E_state": [0.0, 0.1], "E_mem": [1.0, 0.5], "kappa": [0.1, 0.2]}
    return Atlas(document, films={"0/1/8": b"no film"}, curves=[curve] * n).report(path)


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(N, tmp_path_factory.mktemp("atlas") / "atlas.html")


def opened(chromium: Any, path: Path, n: int, width: int) -> tuple[Opened, float]:
    """A page with n points, and the processor time that it took until they were there [s]."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = Opened(context.new_page())
    session = context.new_cdp_session(page.tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.tab.goto(path.as_uri())
    assert page.tab.locator("#count").inner_text().startswith(f"{n} of {n}")
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return page, metrics["TaskDuration"]


@pytest.mark.parametrize("width", [390, 1280])
def test_a_click_shows_a_behaviour_and_filters_leave_some_out(
    chromium: Any, atlas: Path, tmp_path: Path, width: int
) -> None:
    page, many = opened(chromium, atlas, N, width)
    _, few = opened(chromium, made(20, tmp_path / "few.html"), 20, width)
    # A hundred times the points, and hardly more than it takes to load a page: drawn at once.
    assert many < 2 * few
    count = page.tab.locator("#count")
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= width
    page.tab.locator("label", has_text="jumping").locator("input").uncheck()
    left = page.tab.evaluate("rows.filter((row) => row.mode !== 'jumping').length")
    assert count.inner_text().startswith(f"{left} of {N}")
    page.tab.locator("#filter").select_option("body.gravity")
    page.tab.locator("#low").fill("8")
    left = page.tab.evaluate("rows.filter((row) => row['body.gravity'] >= 8).length")
    assert count.inner_text().startswith(f"{left} of {N}")
    page.tab.locator("#colour").select_option("body.gravity")
    page.tab.locator("#plane .point").first.click(force=True)
    told = page.tab.evaluate("told")
    detail = page.tab.locator("#detail")
    assert f"Setting {told}, seed 1" in detail.inner_text()
    assert f"selforg learn {told}" in detail.inner_text() and f"store/key{told}/kept" in detail.inner_text()
    assert detail.locator(".js-plotly-plot").count() == 2
    page.tab.context.close()
    assert page.problems == []
    assert [url for url in page.requests if not url.startswith(("file:", "blob:", "data:"))] == []
