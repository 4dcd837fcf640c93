"""The pictures of the glossary: python docs/glossary_figures.py"""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import quantify as q
from quantify import plots

OUT = Path(__file__).parent / "figures" / "glossary"
SOFT, DPI = "0.6", 160


def scale() -> Any:
    """The same series looked at coarsely and finely."""
    x = q.systems.Lorenz().sample(400, 1)[:, 0]
    figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.4), sharey=True, layout="constrained")
    for ax, eps, words in zip(axes, (8.0, 2.0), ("looked at coarsely", "looked at finely"), strict=True):
        for edge in np.arange(-24, 25, eps):
            ax.axhline(edge, color="0.88", lw=0.8)
        ax.plot(eps * (np.floor(x / eps) + 0.5), drawstyle="steps-mid", color=plots.STATE, lw=1.2)
        ax.plot(x, color=SOFT, lw=0.8)
        ax.set(title=f"{words}: ε = {eps:g}", xlabel="time [samples]")
    axes[0].set_ylabel("sensor")
    return figure


def dimension() -> Any:
    """Motions of one, two, and a little over two dimensions, and noise."""
    t = np.arange(6000) * 0.05
    torus = np.sin(t) + 0.6 * np.sin(np.sqrt(2) * 3 * t)
    noise = np.random.default_rng(1).normal(size=3000)
    shown = {
        "a cycle: D = 1": (np.sin(t), 20),
        "two rhythms: D = 2": (torus, 9),
        "Lorenz: D = 2.06": (q.systems.Lorenz().sample(6000, 1)[:, 0], 4),
        "noise: none": (noise, 1),
    }
    figure, axes = plt.subplots(1, 4, figsize=(8.4, 2.5), layout="constrained")
    for ax, (words, (x, tau)) in zip(axes, shown.items(), strict=True):
        style = {"marker": ",", "ls": "none"} if words.startswith("noise") else {"lw": 0.4}
        ax.plot(x[:-tau], x[tau:], color=plots.STATE, **style)
        ax.set(title=words, xticks=[], yticks=[], xlabel="now")
    axes[0].set_ylabel("a moment later")
    return figure


def parts() -> Any:
    """State, the part that depends on the scale, and memory."""
    result = q.quantify(q.systems.Lorenz().sample(100_000, 1)[:, 0], m_max=10, replicates=0, choices=False)
    found = result.decomposition
    figure, ax = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
    pieces = (found.E_mem, found.E_state, found.E_eps)
    names = ("memory", "state", "depends on the scale: not part of the core")
    colours = (plots.MEMORY, plots.STATE, "0.85")
    ax.stackplot(found.eps, *pieces, labels=names, colors=colours, alpha=0.8)
    ax.plot(found.eps, found.E_core, color="black", lw=1.5, label="core complexity")
    ax.set(xscale="log", xlabel="scale ε", ylabel="excess entropy [nats]", xlim=(found.eps[-1], found.eps[0]))
    ax.legend(frameon=False)
    return figure


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for draw in (scale, dimension, parts):
        draw().savefig(OUT / f"{draw.__name__}.png", dpi=DPI)
