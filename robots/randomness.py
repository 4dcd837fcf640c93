"""The state of a random generator as an array of numbers, to be stored anywhere and resumed exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = 6
HALF = 2**64 - 1


def pack_generator(generator: np.random.Generator) -> NDArray[np.uint64]:
    """State of a PCG64 generator: the upper and lower halves of state and increment, then the spare draw."""
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(f"snapshots need a generator of kind PCG64, not {state['bit_generator']}")
    now, increment = state["state"]["state"], state["state"]["inc"]
    halves = [now >> 64, now & HALF, increment >> 64, increment & HALF]
    return np.array([*halves, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def unpack_generator(words: NDArray[np.uint64]) -> np.random.Generator:
    """Generator that goes on where the packed one was."""
    a, b, c, d, has_spare, spare = (int(word) for word in words)
    bits = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": a << 64 | b, "inc": c << 64 | d},
        "has_uint32": has_spare,
        "uinteger": spare,
    }
    return np.random.Generator(bits)
