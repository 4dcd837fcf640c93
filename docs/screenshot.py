"""Photograph a report: python docs/screenshot.py report.html docs/figures/report.png

Needs Chromium (`make browser`).
"""

import io
import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1400, 2600


def main(page: Path, picture: Path) -> None:
    """Open the page, let everything in view be drawn, and save what a visitor sees first."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        tab.goto(page.resolve().as_uri())
        tab.locator(".panel.main .handle").first.wait_for()
        tab.wait_for_function("[...document.querySelectorAll('video')].every(film => film.readyState >= 2)")
        tab.wait_for_timeout(1000)
        plot = tab.locator(".panel.main .plot").first.bounding_box()
        height = plot["y"] + plot["height"] + 2
        shot = tab.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()
    whole = Image.open(io.BytesIO(shot)).convert("RGB")
    # A palette makes a small file; dithering keeps light colours what they are.
    whole.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.FLOYDSTEINBERG).save(
        picture, optimize=True
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
