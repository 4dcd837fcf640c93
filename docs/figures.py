"""Draw the figures of docs/quantifier.md and docs/emergence.md: `python docs/figures.py`, two minutes."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.reports.video import Video, video
from quantify import correlation_sums, decompose, quantify
from quantify.systems import Lorenz

HERE = Path(__file__).parent / "figures"
N, TAU, M_MAX = 200_000, 10, 10


def lorenz() -> None:
    """Everything about the Lorenz system on one page."""
    series = Lorenz().sample(N, 1)[:, 0]
    quantify(series, tau=TAU, m_max=M_MAX).plot(series).savefig(HERE / "lorenz.png", dpi=90)


def noise() -> None:
    """Dynamic noise makes small scales stochastic, from the bottom up."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    levels = (0.0, 0.005, 0.02)
    for ax, level in zip(figure.subplots(1, len(levels), sharey=True), levels, strict=True):
        sums = correlation_sums(Lorenz(noise=level).sample(N, 1)[:, 0], tau=TAU, m_max=M_MAX)
        parts = decompose(sums, eps_min=0.03)
        stack = (parts.E_mem, parts.E_state, parts.E_eps)
        colours, labels = ("#2b6cb0", "#d1495b", "#efe2c0"), ("memory", "state", "eps-dependent")
        ax.stackplot(parts.eps, *stack, colors=colours, labels=labels)
        ax.fill_between(
            parts.eps,
            0,
            1,
            where=~parts.deterministic,
            transform=ax.get_xaxis_transform(),
            color="0.5",
            alpha=0.3,
        )
        ax.set(xscale="log", xlabel=r"$\epsilon$", title=f"noise {level:g}", xlim=(0.03, 40), ylim=(0, 12))
    figure.axes[0].set_ylabel("excess entropy [nats]")
    figure.axes[0].legend(loc="upper right")
    figure.savefig(HERE / "noise.png", dpi=90)


def threshold() -> None:
    """One slope that crosses s_min moves a whole term."""
    sums = correlation_sums(Lorenz().sample(N, 1)[:, 0], tau=TAU, m_max=M_MAX)
    s_min = np.linspace(0.02, 0.15, 66)
    ranges = [decompose(sums, s_min=float(s)).over(0.05, 0.2) for s in s_min]
    figure = Figure(figsize=(5.5, 3.2), layout="constrained")
    ax = figure.add_subplot()
    for name in ("E_core", "E_mem", "E_state"):
        ax.step(
            s_min, [getattr(r, name) for r in ranges], where="mid", label=f"${name.replace('_', '_{')}}}$"
        )
    ax.axvspan(0.05, 0.1, color="0.92", zorder=0)
    ax.set(
        xlabel="$s_{min}$",
        ylabel="nats",
        ylim=(0, None),
        title="Lorenz, eps .05 to .2; grey: the paper's choices",
    )
    ax.legend()
    figure.savefig(HERE / "s_min.png", dpi=90)


def strips() -> None:
    """Film strips of the behaviours that come with the project, each over one period."""
    for name, seconds in {
        "hexapod-updown": 0.66,
        "hexapod-jump": 0.52,
        "snake-roll": 3.4,
        "snake-crawl": 3.4,
    }.items():
        video(Video(HERE / f"{name}.png", behaviour=name, seconds=seconds))


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for draw in (lorenz, noise, threshold, strips):
        draw()
