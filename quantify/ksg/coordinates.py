"""Delay vectors of past and future, as they are or in canonical coordinates."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from quantify.aliases import Floats
from quantify.errors import QuantifyError


def embed(x: Floats, m: int, tau: int) -> Floats:
    """Delay vectors as columns, (m d, n): row j d + c holds observable c at t + j tau. A view if d = 1."""
    windows = sliding_window_view(x, (m - 1) * tau + 1, axis=1)[:, :, ::tau]  # (d, n, m)
    return windows.transpose(2, 0, 1).reshape(-1, windows.shape[1])


def canonical(columns: Floats) -> Floats:
    """Past and future in canonical variates, each pair scaled to an unpredicted standard deviation of 1."""
    both = columns - columns.mean(axis=1, keepdims=True)
    half = len(both) // 2
    K = both @ both.T / both.shape[1]
    singular = QuantifyError(
        f"The covariance of m = {half} values is singular, so there are no canonical coordinates; "
        "use a smaller m or coordinates='delay'."
    )
    try:
        past, future = np.linalg.cholesky(K[:half, :half]), np.linalg.cholesky(K[half:, half:])
    except np.linalg.LinAlgError:
        raise singular from None
    A, rho, B = np.linalg.svd(np.linalg.solve(past, np.linalg.solve(future, K[half:, :half]).T))
    if rho.max() >= 1 - 1e-12:
        raise singular
    scale = 1 / np.sqrt(1 - rho[:, None] ** 2)
    u, v = A.T @ np.linalg.solve(past, both[:half]), B @ np.linalg.solve(future, both[half:])
    return np.concatenate([scale * u, scale * v])
