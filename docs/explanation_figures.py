"""Pictures of the start page and of docs/explanation: python docs/explanation_figures.py [NAME ...]"""

import json
import sys
from collections import deque
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import controllers
import quantify as q
from quantify import plots
from quantify.statistics import median, smallest_p

OUT = Path(__file__).parent / "figures" / "explanation"
DPI = 120
COMMON = (0.4, 1.6)


def learning() -> Any:
    """Core complexity over learning time, for the start page."""
    numbers = OUT.parents[1] / "results/learning-curve-hexapod-high.json"
    found = json.loads(numbers.read_text(encoding="utf-8"))
    t, middle, lo, hi = np.array(
        [(one["minutes"], *(one["common"][key] for key in ("value", "lo", "hi"))) for one in found["curve"]]
    ).T
    figure, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
    ax.fill_between(t, lo, hi, color=plots.MEMORY, alpha=0.2, lw=0, label="five seeds")
    ax.plot(t, middle, "o-", color=plots.MEMORY, ms=4, label="median")
    ax.set(xlabel="learning time [min]", ylabel="core complexity [nats]", ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left")
    return figure


def scales() -> Any:
    """A motion and the same motion made smaller: on scales of the sensor, and on scales of its spread."""
    x = q.systems.Lorenz().sample(40_000, 1)[:, 0]
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.9), sharey=True, layout="constrained")
    for size, colour, words in ((1, plots.STATE, "as it is"), (1 / 3, plots.MEMORY, "a third of the size")):
        found = q.decompose(q.correlation_sums(size * x, tau=10, m_max=8))
        for ax, unit in zip(axes, (1.0, float(np.std(size * x))), strict=True):
            ax.plot(
                found.eps / unit, found.E_core, color=colour, lw=2, ls="-" if size == 1 else "--", label=words
            )
    axes[0].axvspan(*COMMON, color="0.9", zorder=0)
    axes[0].set(
        xscale="log", xlabel="ε in the unit of the sensor", ylabel="core complexity [nats]", ylim=(0, None)
    )
    axes[1].set(xscale="log", xlabel="ε in standard deviations")
    axes[0].legend(frameon=False)
    return figure


def intervals() -> Any:
    """The same process again and again, each time with its interval."""
    found = [
        q.quantify(q.systems.Henon().sample(4000, seed)[:, 0], tau=1, m_max=6).E_core for seed in range(1, 13)
    ]
    figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
    values = np.array([one.value for one in found])
    ends = np.array([one.interval for one in found])
    ax.errorbar(
        np.arange(1, len(found) + 1), values, np.abs(ends.T - values), fmt="o", color=plots.MEMORY, capsize=3
    )
    ax.axhline(values.mean(), color="0.3", lw=1)
    ax.set(xlabel="realisation", ylabel="E_core [nats]", xticks=range(1, 13))
    return figure


def ulr() -> Any:
    """One joint that answers after four steps, with and without the term that holds the weight."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.7), layout="constrained")
    steps, shown = 12_000, 60
    for alpha, colour in ((4.0, plots.MEMORY), (0.0, plots.STATE)):
        rule = controllers.make("ulr", 1, 1, {"alpha": alpha})
        rng, sent = np.random.default_rng(1), deque([0.0] * 4, maxlen=4)
        C, s = np.empty(steps), np.empty(steps)
        for t in range(steps):
            s[t] = sent[0] + 0.05 * rng.normal()
            sent.append(float(rule.step(s[t : t + 1])[0]))
            C[t] = rule.C[0, 0]
        axes[0].plot(C, color=colour, label=f"α = {alpha:g}")
        axes[1].plot(s[-shown:], color=colour, lw=1)
    axes[0].axhline(1, color="0.6", lw=0.8, ls=":")
    axes[0].set(xlabel="step", ylabel="weight C")
    axes[0].legend(frameon=False)
    axes[1].set(xlabel=f"step, the last {shown}", ylabel="sensor")
    return figure


def small_samples() -> Any:
    """What so many seeds can show at best."""
    n = np.arange(2, 16)
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.8), layout="constrained")
    axes[0].plot(n, [median(np.arange(k), 1.0).coverage for k in n], "o-", color=plots.MEMORY)
    axes[0].axhline(0.95, color="0.6", lw=0.8, ls=":")
    axes[0].set(
        xlabel="values",
        ylabel="probability",
        title="the range of all values holds the median",
        ylim=(0.45, 1.02),
    )
    for tests, colour in ((1, "0.2"), (3, plots.MEMORY), (15, plots.STATE)):
        p = np.minimum(1, [tests * smallest_p(int(k)) for k in n])
        axes[1].plot(n, p, "o-", color=colour, ms=4, label="one test" if tests == 1 else f"{tests} tests")
    axes[1].axhline(0.05, color="0.6", lw=0.8, ls=":")
    axes[1].set(xlabel="pairs of seeds", ylabel="smallest p", yscale="log", title="all of them agree")
    axes[1].legend(frameon=False)
    return figure


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for draw in (learning, scales, intervals, ulr, small_samples):
        if draw.__name__ in sys.argv[1:] or len(sys.argv) == 1:
            draw().savefig(OUT / f"{draw.__name__}.png", dpi=DPI)
