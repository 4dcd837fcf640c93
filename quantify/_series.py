"""What every estimator asks of a time series."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quantify.sums import Floats


def as_series(series: ArrayLike) -> Floats:
    """Check a series of shape (N,) or (N, d) and return it as a contiguous float64 array of shape (d, N).

    Raises
    ------
    TypeError
        If it does not hold real numbers.
    ValueError
        If it has another shape, holds NaN or infinity, or an observable takes fewer than three values.
    """
    x = np.asarray(series)
    if x.dtype.kind not in "fiu":
        raise TypeError(f"series has dtype {x.dtype}; real numbers (float or integer) are needed.")
    if x.ndim not in (1, 2) or x.size == 0:
        raise ValueError(f"series has shape {x.shape}; (N,) or (N, d) with at least one sample is needed.")
    x = np.ascontiguousarray((x[:, None] if x.ndim == 1 else x).T, dtype=np.float64)
    if x.shape[0] > x.shape[1]:
        raise ValueError(
            f"series has {x.shape[1]} samples of {x.shape[0]} observables; "
            "time runs along the first axis: transpose it."
        )
    if not np.isfinite(x).all():
        c, t = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(
            f"series holds {x[c, t]} at sample {t} (observable {c}); "
            "remove or interpolate such samples first."
        )
    for c, values in enumerate(x):
        # Most series show their third value at once; only a suspicious one is sorted.
        different = len(np.unique(values[:1000]))
        if different < 3:
            different = len(np.unique(values))
        if different < 3:
            raise ValueError(
                f"observable {c} takes only {different} different value(s); "
                "entropies over scales need at least 3."
            )
    return x


def resolution_of(x: Floats) -> float:
    """Smallest non-zero distance between two values of any observable of a (d, N) series."""
    gaps = [np.diff(np.sort(values)) for values in x]
    return float(min(gap[gap > 0].min() for gap in gaps))
