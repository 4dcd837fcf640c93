"""Delay vectors of past and future, as they are or in canonical coordinates."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from quantify.aliases import Floats
from quantify.errors import QuantifyError

# Directions with less than this share of the largest variance hold nothing but rounding errors.
RANK = 1e-12


def embed(x: Floats, m: int, tau: int) -> Floats:
    """Delay vectors as columns, (m d, n): row j d + c holds observable c at t + j tau. A view if d = 1."""
    windows = sliding_window_view(x, (m - 1) * tau + 1, axis=1)[:, :, ::tau]  # (d, n, m)
    return windows.transpose(2, 0, 1).reshape(-1, windows.shape[1])


def canonical(columns: Floats) -> tuple[Floats, int]:
    """Past and future in canonical variates, each pair scaled to an unpredicted standard deviation of 1.

    Directions in which the past (or the future) does not vary, as of an observable that is a sum of others,
    are left out; the second value says how many coordinates the past has.
    """
    half = len(columns) // 2
    past, future = _whitened(columns[:half]), _whitened(columns[half:])
    A, rho, B = np.linalg.svd(past @ future.T / past.shape[1])
    if rho.max() >= 1 - 1e-12:
        raise QuantifyError(
            f"Past and future of m = {half} values share a linear combination: their covariance is singular, "
            "so there are no canonical coordinates; use a smaller m or coordinates='delay'."
        )
    scale = 1 / np.sqrt(1 - rho[:, None] ** 2)
    u, v = A.T @ past, B @ future
    u[: len(rho)] *= scale
    v[: len(rho)] *= scale
    return np.concatenate([u, v]), len(u)


def _whitened(columns: Floats) -> Floats:
    """Uncorrelated combinations of the rows with variance 1."""
    centred = columns - columns.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)  # units must not decide what counts as rounding
    centred = centred / np.where(spread > 0, spread, 1.0)
    variance, directions = np.linalg.eigh(centred @ centred.T / centred.shape[1])
    kept = variance > RANK * variance[-1]
    return np.asarray((directions[:, kept] / np.sqrt(variance[kept])).T @ centred)
