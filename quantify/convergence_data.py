"""What sweeps over the embedding, the delay and the length of a series found."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from quantify.plain import to_plain
from quantify.quantification_data import Estimate


@dataclass(frozen=True)
class Sweep:
    """The four numbers for several values of one setting, all else being equal.

    Attributes
    ----------
    setting : str
        "m_max", "tau" or "n", the number of samples.
    chosen : int
        The value that the other sweeps use.
    values : tuple of int
        In rising order.
    estimates : dict of tuple of Estimate
        By quantity ("E_core", ...), one estimate for each value; NaN where the series is too short.
    region : tuple of bool
        Whether there is a scaling region; without, the number is of another kind (`Quantification`).

    Examples
    --------
    >>> from quantify.convergence_data import Sweep
    >>> from quantify import Estimate
    >>> rising = [Estimate(v, 0.1, (v - 0.2, v + 0.2), 0.0, (v, v)) for v in (1.0, 1.9, 2.0)]
    >>> Sweep("m_max", 6, (4, 6, 8), {"E_core": tuple(rising)}, (True,) * 3).settled_from()
    6
    """

    setting: str
    chosen: int
    values: tuple[int, ...]
    estimates: dict[str, tuple[Estimate, ...]]
    region: tuple[bool, ...]

    def settled_from(self, quantity: str = "E_core") -> int | None:
        """The smallest value from which on every 95 % interval holds the last number; None: it still moves.

        The last value alone settles nothing, and a number of another kind (`region`) agrees with none.
        """
        found = self.estimates[quantity]
        last, since = found[-1].value, None
        rows = zip(self.values, found, self.region, strict=True)
        for value, e, region in reversed(list(rows)[:-1]):
            if region != self.region[-1] or not e.interval[0] <= last <= e.interval[1]:
                break
            since = value
        return since

    def extent(self, quantity: str = "E_core") -> tuple[float, float]:
        """Smallest and largest number over scaling regions; NaN if there is none."""
        rows = zip(self.estimates[quantity], self.region, strict=True)
        numbers = [e.value for e, region in rows if region and math.isfinite(e.value)]
        return (min(numbers), max(numbers)) if numbers else (math.nan, math.nan)

    @property
    def sentence(self) -> str:
        """What became of core complexity, in words."""
        words = {"m_max": "steps looked at together (m_max)", "tau": "delay (tau)", "n": "samples"}
        span = f"{words[self.setting]} {self.values[0]:,} to {self.values[-1]:,}"
        without = [f"{v:,}" for v, region in zip(self.values, self.region, strict=True) if not region]
        if len(without) == len(self.values):
            return f"{span}: no scaling region anywhere."
        said = ["E_core {:.2f} to {:.2f} nats".format(*self.extent())]
        if self.setting != "tau":  # no delay is the limit of others
            since = self.settled_from()
            said.append("still moves" if since is None else f"settled from {since:,} on")
        if without:
            said.append(f"no scaling region at {', '.join(without)}")
        return f"{span}: {', '.join(said)}."


@dataclass(frozen=True)
class Convergence:
    """How the four numbers depend on m_max, on tau and on the length of the series.

    Attributes
    ----------
    m_max, tau, n : Sweep
    samples : int
        Samples behind the sweeps over m_max and tau, from the middle of the series.
    theiler : int
        The same for all.

    Examples
    --------
    >>> from quantify import Convergence, convergence
    >>> from quantify.systems import Logistic
    >>> found = convergence(Logistic().sample(2000, 1), m_max=3, replicates=5)
    >>> Convergence.from_dict(found.to_dict()).n == found.n
    True
    """

    m_max: Sweep
    tau: Sweep
    n: Sweep
    samples: int
    theiler: int

    @property
    def sweeps(self) -> tuple[Sweep, Sweep, Sweep]:
        """All three."""
        return self.m_max, self.tau, self.n

    def sentences(self) -> list[str]:
        """What moves and what has settled, in words."""
        return [sweep.sentence for sweep in self.sweeps]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON (None for NaN)."""
        return to_plain(asdict(self) | {"sentences": self.sentences()})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Convergence:
        """A result from `to_dict`."""
        sweeps = {name: _sweep(values[name]) for name in ("m_max", "tau", "n")}
        return cls(**sweeps, samples=values["samples"], theiler=values["theiler"])


def _sweep(values: dict[str, Any]) -> Sweep:
    estimates = {
        name: tuple(Estimate.from_dict(one) for one in found) for name, found in values["estimates"].items()
    }
    plain = (tuple(values[name]) for name in ("values", "region"))
    return Sweep(values["setting"], values["chosen"], next(plain), estimates, next(plain))
