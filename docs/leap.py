"""Draw the animation at the top of the README: what was frozen, beside core complexity over learning time.

python docs/leap.py [OUT.webp] [--curve NUMBERS.json] [--stages SOURCE:MINUTES ...] [--scales common]

NUMBERS.json is what `selforg learning-curve` writes. A stage is a shipped behaviour or a run file, and the
minute at which it was frozen: the curve grows to that minute while it is seen. A minute or two. The usual
stages are those of

selforg learn hexapod-high --engine mujoco --seed 21 --freeze 1 2 8 --out runs/leap.h5
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

from experiments.reports.video import pictures
from experiments.runfiles.library import find_behaviour
from experiments.runfiles.run_file import open_run_file

HERE = Path(__file__).parent
SIZE = (400, 300)
"""Pixels of each half."""
FPS, SECONDS, REST = 25, 2.4, 0.6
"""Pictures per second (in real time: a leap takes half a second), seconds per stage, and of these at rest."""
BLUE, RED = "#2b6cb0", "#d1495b"
WORDS = {
    "common": "scales common to all",
    "relative": "scales relative to the spread",
    "auto": "automatic scales",
}


def film(source: str, minutes: float, seconds: float) -> list[Image.Image]:
    """A frozen behaviour, in real time, after half a minute in which it settles."""
    path = Path(source) if source.endswith(".h5") else find_behaviour(source, None)
    with open_run_file(path) as run:
        _, frozen = run.frozen_at(minutes)
        shots = pictures(run.robot, run.config["body"], frozen, 30, seconds, FPS, (2 * SIZE[0], 2 * SIZE[1]))
        images = [Image.fromarray(shot).resize(SIZE, Image.Resampling.LANCZOS) for shot in shots]
    for image in images:
        words = f"frozen after {minutes:g} {'minute' if minutes == 1 else 'minutes'} of learning"
        ImageDraw.Draw(image).text((SIZE[0] - 16, 20), words, fill=(40, 40, 40), font_size=16, anchor="rm")
    return images


def plot(curve: list[dict[str, Any]], scales: str, now: float) -> Image.Image:
    """Median and interval over seeds up to a time; what is to come is grey."""
    t = np.array([point["minutes"] for point in curve])
    value, lo, hi = (np.array([point[scales][key] for point in curve]) for key in ("value", "lo", "hi"))
    dpi = 100
    figure = Figure(figsize=(SIZE[0] / dpi, SIZE[1] / dpi), dpi=dpi, layout="constrained")
    ax = figure.subplots()
    past = np.linspace(t[0], max(now, t[0]), 200)
    ax.plot(t, value, color="0.88", lw=1.5)
    ax.fill_between(past, np.interp(past, t, lo), np.interp(past, t, hi), color=BLUE, alpha=0.18, lw=0)
    ax.plot(past, np.interp(past, t, value), color=BLUE, lw=2.2)
    if now >= t[0]:
        ax.plot(now, np.interp(now, t, value), "o", color=RED, ms=8)
    ax.set(xlim=(0, t[-1] * 1.03), ylim=(0, hi.max() * 1.08))
    ax.set_xlabel("minutes of learning", fontsize=11)
    ax.set_title(f"core complexity [nats], {WORDS[scales]}", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def main() -> None:
    """Put films and curve side by side."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("out", nargs="?", type=Path, default=HERE / "figures/leap.webp")
    ask.add_argument("--curve", type=Path, default=HERE / "results/learning-curve-hexapod-high.json")
    ask.add_argument("--stages", nargs="+", default=["runs/leap.h5:1", "runs/leap.h5:2", "runs/leap.h5:8"])
    ask.add_argument("--scales", choices=WORDS, default="common")
    asked = ask.parse_args()
    curve = [
        point for point in json.loads(asked.curve.read_text())["curve"] if point[asked.scales] is not None
    ]
    before, whole = 0.0, []
    for stage in asked.stages:
        source, _, minutes = stage.rpartition(":")
        grows = np.linspace(before, float(minutes), round((SECONDS - REST) * FPS))
        for k, shot in enumerate(film(source, float(minutes), SECONDS)):
            both = Image.new("RGB", (2 * SIZE[0], SIZE[1]), "white")
            both.paste(shot, (0, 0))
            both.paste(plot(curve, asked.scales, grows[min(k, len(grows) - 1)]), (SIZE[0], 0))
            whole.append(both)
        before = float(minutes)
    look = {"quality": 42, "method": 4, "duration": 1000 // FPS, "loop": 0}
    whole[0].save(asked.out, save_all=True, append_images=whole[1:], **look)
    print(f"{asked.out}: {len(whole)} pictures, {asked.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
