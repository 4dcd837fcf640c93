"""The state of a random generator as an array of numbers that goes into a stored controller.

Stored states hold the words in the order below, *lower* halves first. Snapshots of bodies hold the same six
words with the upper halves first (robots/randomness.py): neither may change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from controllers.errors import ControllerError

WORDS = 6
"""Numbers that hold the state of a generator."""
WORD = 2**64


def generator_to_words(rng: np.random.Generator) -> NDArray[np.uint64]:
    """Give the state of a PCG64 generator: lower, upper half of state and of increment, then the spare draw.

    Raises
    ------
    ControllerError
        When the generator is of another kind.
    """
    state: Any = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise ControllerError(
            f"a {state['bit_generator']} generator cannot be stored; use numpy.random.default_rng(seed)."
        )
    value, inc = state["state"]["state"], state["state"]["inc"]
    words = [value % WORD, value // WORD, inc % WORD, inc // WORD, state["has_uint32"], state["uinteger"]]
    return np.array(words, dtype=np.uint64)


def generator_from_words(words: np.ndarray) -> np.random.Generator:
    """Give a generator that goes on where the stored one was.

    Raises
    ------
    ControllerError
        When these are not the words of a generator.
    """
    if words.shape != (WORDS,):
        raise ControllerError(
            f"stored rng has shape {words.shape} instead of ({WORDS},); the state is mixed up."
        )
    lower, upper, inc_lower, inc_upper, has_uint32, uinteger = (int(word) for word in words)
    generator = np.random.PCG64()
    generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": lower + WORD * upper, "inc": inc_lower + WORD * inc_upper},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
    return np.random.Generator(generator)
