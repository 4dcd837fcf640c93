"""Correlation sums from known curves, or counted in a known way, for tests of what is made of them."""

import numpy as np
import pytest

from quantify import CorrelationSums
from quantify.correlation import correlation_sums, estimate


def make_sums(eps, C, d=1, resolution=0.0, total=10**12):
    """Correlation sums from a table of C over eps, as if all of `total` pairs had been counted."""
    C = np.asarray(C, dtype=float)
    return CorrelationSums(
        eps=np.asarray(eps, dtype=float),
        C=C,
        pairs=np.rint(C * total).astype(np.int64),
        examined=np.full(C.shape, total, dtype=np.int64),
        error=np.zeros(C.shape),
        d=d,
        resolution=resolution,
    )


def ideal_sums(D=2.3, M=8, n=121, c1=0.4):
    """A noiseless system of dimension D below eps = 1: h_m = (slope) x - plateaus, the paper's four cases.

    Local dimensions D_m = min(m, D) give h_m a slope of 1 up to m = 1, D - 2 at m = 2, and 0 above;
    delta_h_1 keeps the plateau c1, and memory is .1 at m = 5.
    """
    eps = np.geomspace(16, 2**-8, n)
    x = np.maximum(0, -np.log(eps))
    slope = np.diff(np.minimum(np.arange(M + 1), D))
    h = slope[:, None] * x + 0.6
    h[1:] -= c1
    h[5:] -= 0.1
    return make_sums(eps, np.exp(-np.cumsum(h, axis=0)), total=10**18)


def geometric(top: float, octaves: float, n: int) -> np.ndarray:
    """So many scales from `top` down by so many octaves."""
    return top * 2.0 ** -np.linspace(0, octaves, n)


def random_shares(x, **arguments) -> CorrelationSums:
    """As for a long series, whose pairs are too many to be counted all."""
    arguments = {"accuracy": estimate.LONG_ACCURACY, **arguments}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "SMALL_WORK", 0)
        return correlation_sums(x, **arguments)
