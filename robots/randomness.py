"""Coloured noise, and the state of its generator as an array of numbers that can be resumed exactly.

Snapshots in files hold the words in the order below, *upper* halves first. The stored states of controllers
hold the same six words with the lower halves first (controllers/generator.py): neither may change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robots.errors import RobotError

WORDS = 6
"""Numbers that hold the state of a generator."""
LOWER_HALF = 2**64 - 1


def pack_generator(generator: np.random.Generator) -> NDArray[np.uint64]:
    """State of a PCG64 generator: the upper and lower halves of state and increment, then the spare draw."""
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise RobotError(
            f"a {state['bit_generator']} generator cannot go into a snapshot: "
            "use numpy.random.default_rng(seed)"
        )
    now, increment = state["state"]["state"], state["state"]["inc"]
    halves = [now >> 64, now & LOWER_HALF, increment >> 64, increment & LOWER_HALF]
    return np.array([*halves, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def unpack_generator(words: NDArray[np.uint64]) -> np.random.Generator:
    """Generator that goes on where the packed one was."""
    upper, lower, inc_upper, inc_lower, has_spare, spare = (int(word) for word in words)
    bits = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": upper << 64 | lower, "inc": inc_upper << 64 | inc_lower},
        "has_uint32": has_spare,
        "uinteger": spare,
    }
    return np.random.Generator(bits)


class ColouredNoise:
    """Bounded noise with memory: x <- (1 - rate) x + amplitude sqrt(rate) u with u uniform in [-1, 1].

    Its standard deviation is amplitude / sqrt(3 (2 - rate)), its bound amplitude / sqrt(rate). Random
    numbers are drawn in blocks, which is faster; what is drawn is the same.
    """

    BLOCK = 256

    def __init__(self, n: int, amplitude: float, rate: float) -> None:
        self._n, self._kick = n, 2 * amplitude * rate**0.5
        self._keep = np.full(n, 1 - rate)  # an array: numpy converts a number at each step
        self.value = np.zeros(n)

    def start(self, generator: np.random.Generator, value: NDArray[np.float64] | None = None) -> None:
        """Go on from a value (zero by default) with a generator that nobody else uses from now on."""
        self._generator = generator
        self._row = self.BLOCK
        self.value = np.zeros(self._n) if value is None else np.array(value, dtype=float)

    def step(self) -> NDArray[np.float64]:
        """The next value."""
        if self._row == self.BLOCK:
            self._words = pack_generator(self._generator)
            self._values = list(self._kick * (self._generator.random((self.BLOCK, self._n)) - 0.5))
            value = self.value
            for kick in self._values:  # which becomes the value
                value = np.add(kick, self._keep * value, kick)
            self._row = 0
        self.value = self._values[self._row]
        self._row += 1
        return self.value

    def words(self) -> NDArray[np.uint64]:
        """State that the generator would be in had it drawn no more than was used."""
        if self._row == self.BLOCK:
            return pack_generator(self._generator)
        used: Any = unpack_generator(self._words)
        used.bit_generator.advance(self._row * self._n)
        return pack_generator(used)
