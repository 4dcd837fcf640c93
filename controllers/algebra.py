"""Small linear algebra for the kernels: deterministic, single-threaded, no allocation beyond the result."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


@njit(cache=True)
def clipped(x: float, limit: float) -> float:
    """Give x limited to [-limit, limit]; NaN stays NaN, so that no clip can hide it."""
    if x > limit:
        return limit
    if x < -limit:
        return -limit
    return x


@njit(cache=True)
def dot(M: Array, x: Array) -> Array:
    """Give M x; with M.T, a view, also the product with the transpose."""
    y = np.zeros(M.shape[0])
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            y[i] += M[i, j] * x[j]
    return y


@njit(cache=True)
def cholesky(M: Array, ridge: float) -> Array:
    """Give the lower triangular R with R R^T = M + ridge * identity; NaN if that is not positive definite."""
    n = len(M)
    R = np.zeros((n, n))
    for j in range(n):
        for i in range(j, n):
            x = M[i, j]
            for k in range(j):
                x -= R[i, k] * R[j, k]
            R[i, j] = np.sqrt(x + ridge) if i == j else x / R[j, j]
    return R


@njit(cache=True)
def cholesky_solve(R: Array, x: Array) -> Array:
    """Give y with R R^T y = x."""
    n = len(R)
    y = x.copy()
    for i in range(n):
        for k in range(i):
            y[i] -= R[i, k] * y[k]
        y[i] /= R[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            y[i] -= R[k, i] * y[k]
        y[i] /= R[i, i]
    return y
