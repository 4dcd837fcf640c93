"""Random numbers that need no memory: the hash of a counter and a seed."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def random_bits(i, salt):  # type: ignore[no-untyped-def]
    """64 random bits for number i, by the mixing hash splitmix64."""
    z = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + salt
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
