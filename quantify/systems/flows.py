"""Flows: the Lorenz and the Rössler system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from quantify.aliases import Floats, Rng
from quantify.systems.checks import check_finite, check_length, check_noise, check_sampling


@dataclass(frozen=True)
class Lorenz:
    """The Lorenz system, with or without dynamic noise.

        dx/dt = s (y - x),   dy/dt = r x - y - x z,   dz/dt = x y - b z

    (the paper prints -x y; the attractor needs +x y). Integrated by Runge-Kutta of fourth order with a fixed
    step.

    Attributes
    ----------
    s, r, b : float
        The standard parameters by default.
    step : float
        Time step of the integration.
    sampling : float
        Time between two samples, a whole number of steps.
    noise : float
        Standard deviation of the Gaussian noise added to x, y and z before each integration step.

    Examples
    --------
    >>> from quantify.systems import Lorenz
    >>> states = Lorenz(noise=0.01).sample(500, rng=1)
    >>> states.shape, bool(abs(states[:, 0]).max() < 25)
    ((500, 3), True)
    """

    s: float = 10.0
    r: float = 28.0
    b: float = 8 / 3
    step: float = 5e-4
    sampling: float = 0.01
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_sampling(self.step, self.sampling)
        check_noise(self.noise)

    @property
    def substeps(self) -> int:
        """Integration steps between two samples."""
        return check_sampling(self.step, self.sampling)

    def sample(self, n: int, rng: Rng, *, transient: float = 50.0) -> Floats:
        """States x, y, z on the attractor.

        Parameters
        ----------
        n : int
            Number of samples.
        rng : numpy.random.Generator or int
            Draws the initial state and the dynamic noise.
        transient : float
            Time that passes before the first sample.

        Returns
        -------
        (n, 3) array
        """
        n = check_length(n)
        rng = np.random.default_rng(rng)
        start = rng.standard_normal(3)
        steps = round(transient / self.step)
        parameters = (self.s, self.r, self.b, self.step, self.noise)
        start = _lorenz(start, 2, steps, *parameters, rng)[1] if steps else start
        return check_finite(_lorenz(start, n, self.substeps, *parameters, rng), "The Lorenz system")


@njit(cache=True)
def _lorenz(start, n, substeps, s, r, b, step, noise, rng):  # type: ignore[no-untyped-def]
    """Samples every `substeps` steps, the first being `start`."""
    out = np.empty((n, 3))
    x, y, z = start
    half = step / 2
    for i in range(n):
        out[i, 0], out[i, 1], out[i, 2] = x, y, z
        if i == n - 1:
            break
        for _ in range(substeps):
            if noise > 0:
                x += noise * rng.standard_normal()
                y += noise * rng.standard_normal()
                z += noise * rng.standard_normal()
            kx1, ky1, kz1 = s * (y - x), r * x - y - x * z, x * y - b * z
            u, v, w = x + half * kx1, y + half * ky1, z + half * kz1
            kx2, ky2, kz2 = s * (v - u), r * u - v - u * w, u * v - b * w
            u, v, w = x + half * kx2, y + half * ky2, z + half * kz2
            kx3, ky3, kz3 = s * (v - u), r * u - v - u * w, u * v - b * w
            u, v, w = x + step * kx3, y + step * ky3, z + step * kz3
            kx4, ky4, kz4 = s * (v - u), r * u - v - u * w, u * v - b * w
            x += step / 6 * (kx1 + 2 * kx2 + 2 * kx3 + kx4)
            y += step / 6 * (ky1 + 2 * ky2 + 2 * ky3 + ky4)
            z += step / 6 * (kz1 + 2 * kz2 + 2 * kz3 + kz4)
    return out


@dataclass(frozen=True)
class Roessler:
    """The Rössler system.

        dx/dt = -y - z,   dy/dt = x + a y,   dz/dt = b + z (x - c)

    Integrated by Runge-Kutta of fourth order with a fixed step. One turn takes about 6 time units.

    Attributes
    ----------
    a, b, c : float
        The standard parameters by default.
    step : float
        Time step of the integration.
    sampling : float
        Time between two samples, a whole number of steps.

    Examples
    --------
    >>> from quantify.systems import Roessler
    >>> x, y, z = Roessler().sample(500, rng=1).T
    >>> bool(abs(x).max() < 13), bool(z.min() > 0)
    (True, True)
    """

    a: float = 0.2
    b: float = 0.2
    c: float = 5.7
    step: float = 0.01
    sampling: float = 0.1

    def __post_init__(self) -> None:
        check_sampling(self.step, self.sampling)

    def sample(self, n: int, rng: Rng, *, transient: float = 500.0) -> Floats:
        """States x, y, z on the attractor, as an (n, 3) array, after the time `transient`."""
        n = check_length(n)
        start = np.random.default_rng(rng).uniform(-1, 1, 3)
        steps, substeps = round(transient / self.step), check_sampling(self.step, self.sampling)
        parameters = (self.a, self.b, self.c, self.step)
        start = _roessler(start, 2, steps, *parameters)[1] if steps else start
        return check_finite(_roessler(start, n, substeps, *parameters), "The Rössler system")


@njit(cache=True)
def _roessler(start, n, substeps, a, b, c, step):  # type: ignore[no-untyped-def]
    """Samples every `substeps` steps, the first being `start`."""
    out = np.empty((n, 3))
    x, y, z = start
    half = step / 2
    for i in range(n):
        out[i, 0], out[i, 1], out[i, 2] = x, y, z
        if i == n - 1:
            break
        for _ in range(substeps):
            kx1, ky1, kz1 = -y - z, x + a * y, b + z * (x - c)
            u, v, w = x + half * kx1, y + half * ky1, z + half * kz1
            kx2, ky2, kz2 = -v - w, u + a * v, b + w * (u - c)
            u, v, w = x + half * kx2, y + half * ky2, z + half * kz2
            kx3, ky3, kz3 = -v - w, u + a * v, b + w * (u - c)
            u, v, w = x + step * kx3, y + step * ky3, z + step * kz3
            kx4, ky4, kz4 = -v - w, u + a * v, b + w * (u - c)
            x += step / 6 * (kx1 + 2 * kx2 + 2 * kx3 + kx4)
            y += step / 6 * (ky1 + 2 * ky2 + 2 * ky3 + ky4)
            z += step / 6 * (kz1 + 2 * kz2 + 2 * kz3 + kz4)
    return out
