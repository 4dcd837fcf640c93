"""Pseudo-periodic surrogates: the cycle of a series, followed with small random jumps between its rounds."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from quantify.aliases import Floats, Rng
from quantify.inputs import check_positive
from quantify.ksg import neighbours
from quantify.surrogates.states import States

# States at which the choice of the noise radius looks; its criterion is a mean over them.
WATCHED = 256
# The search for it goes down so many octaves from the extent of the series, by steps of 2, then of 2^(1/8).
OCTAVES, FINE = 30, 8


def pseudo_periodic(
    series: ArrayLike, rng: Rng, *, tau: int | None = None, m: int = 3, rho: float | None = None
) -> Floats:
    """A noisy cycle with the shape of this one: keeps what happens within a round, destroys what one round
    says about the next.

    Small, Yu and Harrison (2001): the surrogate walks over the delay vectors z_i of the series. From where it
    is, s, it goes on behind a vector close by,

        s -> z_{j+1}   with a probability proportional to exp(-|z_j - s| / rho),

    so that it follows the flow but jumps between neighbouring rounds and forgets its exact state. The null
    hypothesis is a limit cycle with noise that has no memory. Distances are max norms; no vector is left out,
    however far away.

    Parameters
    ----------
    series : (N,) or (N, d) array
        Observables in units that make one distance meaningful for all of them.
    rng : numpy.random.Generator or int
    tau, m : int
        Delay (default: `choose_delay`) and length of the delay vectors.
    rho : float, optional
        Noise radius, in the unit of the series. Default: `noise_radius`.

    Returns
    -------
    array of the shape of `series`

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.surrogates import pseudo_periodic
    >>> x = np.sin(0.3 * np.arange(2000)) + 0.05 * np.random.default_rng(1).standard_normal(2000)
    >>> y = pseudo_periodic(x, 0)
    >>> bool(np.isin(y, x).all())  # values of the series, in another order
    True
    >>> peaks = [int(np.abs(np.fft.rfft(v))[1:].argmax()) + 1 for v in (x, y)]
    >>> abs(peaks[0] - peaks[1]) < 5  # and still the same rhythm
    True
    """
    states = States.of(series, tau, m)
    radius = _noise_radius(states.z) if rho is None else rho
    check_positive("rho", radius)
    generator = np.random.default_rng(rng)
    z = states.z
    tree = neighbours.build(z[:, :-1])
    start = int(generator.integers(z.shape[1] - 1))
    return states.along(_walk(z, tree, start, states.x.shape[1], radius, states.stand_in, generator))


@njit(cache=True)
def _walk(z, tree, at, steps, rho, stand_in, rng):  # type: ignore[no-untyped-def]
    """Numbers of the states that a surrogate visits, from the state `at` on.

    A leaf of the tree is drawn by the largest weight that its box allows, a state in it at random, and that
    is kept with the share that its own weight is of the largest: together exactly the weights
    exp(-distance / rho), at the cost of one look at every leaf instead of every state.
    """
    points, number, low, high, size = tree
    leaves, dim, _ = points.shape
    path = np.empty(steps, np.int64)
    gap, bound = np.empty(leaves), np.empty(leaves)
    for step in range(steps):
        path[step] = at
        if at == z.shape[1] - 1:
            at = stand_in
        total = 0.0
        for leaf in range(leaves):
            apart = 0.0
            for d in range(dim):
                apart = max(apart, low[leaves + leaf, d] - z[d, at], z[d, at] - high[leaves + leaf, d])
            gap[leaf] = apart
            if apart < 700 * rho:  # beyond, the exponential is zero
                total += size[leaves + leaf] * np.exp(-apart / rho)
            bound[leaf] = total
        while True:
            leaf = min(np.searchsorted(bound, rng.random() * total, side="right"), leaves - 1)
            place = int(rng.random() * size[leaves + leaf])
            apart = 0.0
            for d in range(dim):
                apart = max(apart, abs(points[leaf, d, place] - z[d, at]))
            if rng.random() < np.exp((gap[leaf] - apart) / rho):
                break
        at = number[leaf, place] + 1
    return path


def noise_radius(series: ArrayLike, *, tau: int | None = None, m: int = 3) -> float:
    """The noise radius of pseudo-periodic surrogates that have most short pieces of the series in them.

    The criterion of Small, Yu and Harrison: a surrogate with a small rho repeats long stretches of the
    series, one with a large rho nothing at all; in between, pieces of exactly two samples are most frequent.
    With p_i = 1 / sum_j exp(-|z_j - z_i| / rho), the probability to stay on the trajectory at state i, their
    expected share is the mean of p (1 - p)^2, which is computed instead of counted: from 256 states, equally
    spaced in time.

    Parameters
    ----------
    series, tau, m
        As in `pseudo_periodic`.

    Returns
    -------
    float
        In the unit of the series.

    Examples
    --------
    Twice as many rounds lie half as far apart:

    >>> import numpy as np
    >>> from quantify.surrogates import noise_radius
    >>> x = np.sin(0.3 * np.arange(8000))
    >>> 1.5 < noise_radius(x[:2000]) / noise_radius(x[:4000]) < 2.5
    True
    """
    return _noise_radius(States.of(series, tau, m).z)


def _noise_radius(z: Floats) -> float:
    watched = np.unique(np.linspace(0, z.shape[1] - 2, WATCHED).astype(np.int64))
    extent = float(np.ptp(z, axis=1).max())
    rhos = extent / 2.0 ** np.arange(OCTAVES)
    for _ in range(2):
        p = _staying(z, watched, rhos)
        best = float(rhos[np.argmax((p * (1 - p) ** 2).mean(axis=0))])
        rhos = best * 2.0 ** (np.arange(-FINE, FINE + 1) / FINE)
    return best


@njit(cache=True)
def _staying(z, watched, rhos):  # type: ignore[no-untyped-def]
    """Probability to stay on the trajectory, (watched, rhos), at the given states for descending rhos."""
    dim, n = z.shape
    p = np.empty((len(watched), len(rhos)))
    for w in range(len(watched)):
        weight = np.zeros(len(rhos))
        for j in range(n - 1):
            apart = 0.0
            for d in range(dim):
                apart = max(apart, abs(z[d, j] - z[d, watched[w]]))
            for r in range(len(rhos)):
                if apart < 40 * rhos[r]:  # beyond, 1e17 states together weigh less than one
                    weight[r] += np.exp(-apart / rhos[r])
        p[w] = 1 / weight
    return p
