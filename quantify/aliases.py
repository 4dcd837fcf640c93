"""Short names for the types that many signatures share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import matplotlib.figure

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Bools = NDArray[np.bool_]
Rng = np.random.Generator | int
Progress = Callable[[float, float], None]
# As a word: matplotlib is imported when something is drawn.
Figure: TypeAlias = "matplotlib.figure.Figure"
