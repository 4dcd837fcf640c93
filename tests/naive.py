"""Slow, obvious versions of every fast kernel, written straight from the equations."""

import numpy as np

# --- systems ---


def lorenz(start, n, substeps, s, r, b, step, noise, rng):
    """Runge-Kutta of fourth order on vectors; Gaussian noise on the state before each step."""

    def slope(u):
        x, y, z = u
        return np.array([s * (y - x), r * x - y - x * z, x * y - b * z])

    u = np.array(start, dtype=float)
    samples = [u.copy()]
    for _ in range(n - 1):
        for _ in range(substeps):
            if noise > 0:
                u = u + noise * np.array([rng.standard_normal() for _ in range(3)])
            k1 = slope(u)
            k2 = slope(u + step / 2 * k1)
            k3 = slope(u + step / 2 * k2)
            k4 = slope(u + step * k3)
            u = u + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        samples.append(u.copy())
    return np.array(samples)


def henon(x, y, n, a, b):
    """The map, one state after the other."""
    states = [(x, y)]
    for _ in range(n - 1):
        x, y = states[-1]
        states.append((1 - a * x**2 + y, b * x))
    return np.array(states)
