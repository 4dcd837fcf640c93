"""What every estimator asks of a time series and of its settings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Floats
from quantify.errors import DtypeError, QuantifyError

ORDINARY = 400  # powers of two; room for squares, sums over any series, and twenty octaves of scales


def as_series(series: ArrayLike) -> Floats:
    """Check a series of shape (N,) or (N, d) and return it as a contiguous float64 array of shape (d, N).

    Raises
    ------
    DtypeError
        If it does not hold real numbers.
    QuantifyError
        If it has another shape, holds NaN or infinity, or an observable takes fewer than three values.
    """
    x = as_array("series", series)
    if x.dtype.kind not in "fiu":
        raise DtypeError(f"series has dtype {x.dtype}; real numbers (float or integer) are needed.")
    if x.ndim not in (1, 2) or x.size == 0:
        raise QuantifyError(f"series has shape {x.shape}; (N,) or (N, d) with at least one sample is needed.")
    x = np.ascontiguousarray((x[:, None] if x.ndim == 1 else x).T, dtype=np.float64)
    if x.shape[0] > x.shape[1]:
        raise QuantifyError(
            f"series has {x.shape[1]} samples of {x.shape[0]} observables; "
            "time runs along the first axis: transpose it."
        )
    if not np.isfinite(x).all():
        c, t = np.argwhere(~np.isfinite(x))[0]
        raise QuantifyError(
            f"series holds {x[c, t]} at sample {t} (observable {c}); "
            "remove or interpolate such samples first."
        )
    for c, values in enumerate(x):
        # Most series show their third value at once; only a suspicious one is sorted.
        different = len(np.unique(values[:1000]))
        if different < 3:
            different = len(np.unique(values))
        if different < 3:
            raise QuantifyError(
                f"observable {c} takes only {different} different value(s); "
                "entropies over scales need at least 3."
            )
    return x


def as_array(name: str, values: ArrayLike, dtype: type | None = None) -> np.ndarray:
    """The values as an array; nested lists of unequal length and words in place of numbers are refused."""
    try:
        return np.asarray(values, dtype=dtype)
    except (ValueError, TypeError) as error:
        raise QuantifyError(f"{name} cannot be read as an array: {error}") from None


def rescaled(x: Floats) -> tuple[Floats, float]:
    """The values in an ordinary magnitude, and the scale with which they are to be multiplied to get back.

    Squares and differences of values beyond 2^400 (about 1e120) overflow sooner or later, and of values
    that are all below 2^-400 they vanish. The scale is a power of two, so that no digit changes on either
    way; 1 for ordinary values, which are returned as they are.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1e300, -3e300])
    >>> ready, scale = rescaled(x)
    >>> bool(1 <= abs(ready).max() < 2), bool((ready * scale == x).all())
    (True, True)
    """
    exponent = int(np.frexp(max(x.max(), -x.min()))[1]) - 1
    if -ORDINARY <= exponent <= ORDINARY:
        return x, 1.0
    return np.ldexp(x, -exponent), float(np.ldexp(1.0, exponent))


def resolution_of(x: Floats) -> float:
    """Smallest non-zero distance between two values of any observable of a (d, N) series."""
    gaps = [np.diff(np.sort(values)) for values in x]
    return float(min(gap[gap > 0].min() for gap in gaps))


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse anything but a whole number of at least `least`, and of `most` at most."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise QuantifyError(f"{name} = {value!r} must be a whole number of at least {least}.")
    if most is not None and value > most:
        raise QuantifyError(f"{name} = {value} must be at most {most:,}.")


def check_positive(name: str, value: float) -> None:
    """Refuse anything but a finite number above 0."""
    if not (np.isfinite(value) and value > 0):
        raise QuantifyError(f"{name} = {value} must be a positive number.")
