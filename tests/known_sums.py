"""Correlation sums made from curves that are known, for tests of what is computed from them."""

import numpy as np

from quantify import CorrelationSums


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
