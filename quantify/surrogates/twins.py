"""Twin surrogates: another course of the same dynamics, changing places with states that are just like it."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from quantify.aliases import Counts, Floats, Rng
from quantify.errors import QuantifyError
from quantify.surrogates.states import States

# Pairs of states from whose distances the recurrence threshold is taken.
PAIRS = 200_000
# Recurrence rates that are tried.
RATES = (0.02, 0.05, 0.1, 0.2)


def twin(
    series: ArrayLike,
    rng: Rng,
    *,
    tau: int | None = None,
    m: int = 3,
    rate: float | None = None,
    twins: Counts | None = None,
) -> Floats:
    """Another trajectory of the same dynamics: keeps all structure in space and time, destroys the relation
    to anything recorded at the same time.

    Thiel, Romano, Kurths, Rolfs and Kliegl (2006): two states are twins if they are close to exactly the same
    states of the record, so that their pasts and futures may be exchanged. The surrogate walks along the
    series; at a state with twins it goes on behind any of them, itself included, with equal probability.

    Parameters
    ----------
    series : (N,) or (N, d) array
        Observables in units that make one distance meaningful for all of them.
    rng : numpy.random.Generator or int
    tau, m : int
        Delay (default: `choose_delay`) and length of the delay vectors.
    rate : float, optional
        Recurrence rate: the share of pairs of states that count as close. Default: that of .02, .05, .1 and
        .2 at which most states have twins.
    twins : array, optional
        What `find_twins` found, to make many surrogates of one series.

    Returns
    -------
    array of the shape of `series`

    Raises
    ------
    QuantifyError
        If no two states are twins, as in a long or noisy series: there is nothing to exchange.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.surrogates import twin
    >>> from quantify.systems import Lorenz
    >>> x = Lorenz().sample(2000, 1)[:, 0]
    >>> y = twin(x, 0)
    >>> bool(np.isin(y, x).all()), bool(np.abs(np.diff(y)).max() < 2 * np.abs(np.diff(x)).max())  # no jumps
    (True, True)
    """
    states = States.of(series, tau, m)
    group = _find_twins(states.z, rate) if twins is None else np.asarray(twins)
    n = states.z.shape[1]
    if group.shape != (n,):
        raise QuantifyError(f"twins has shape {group.shape}; this series has {n} states.")
    if group.max() == n - 1:
        raise QuantifyError(
            f"None of the {n} states has a twin; use a shorter or smoother series, or other surrogates."
        )
    generator = np.random.default_rng(rng)
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(group.max() + 2))
    start = int(generator.integers(n - 1))
    return states.along(_walk(group, order, first, start, states.x.shape[1], states.stand_in, generator))


@njit(cache=True)
def _walk(group, order, first, at, steps, stand_in, rng):  # type: ignore[no-untyped-def]
    """Numbers of the states that a surrogate visits, from the state `at` on; order[first[g]:first[g + 1]] are
    the states of group g.
    """
    last = len(group) - 1
    path = np.empty(steps, np.int64)
    for step in range(steps):
        path[step] = at
        if at == last:
            at = stand_in
        start, end = first[group[at]], first[group[at] + 1]
        at = order[start + int(rng.random() * (end - start))]
        at = (stand_in if at == last else at) + 1
    return path


def find_twins(series: ArrayLike, *, tau: int | None = None, m: int = 3, rate: float | None = None) -> Counts:
    """Which states of a series are twins of which: states of one group are close to exactly the same states.

    Parameters
    ----------
    series, tau, m, rate
        As in `twin`.

    Returns
    -------
    (N - (m - 1) tau,) int array
        Number of the group of each state; most states are alone in theirs.

    Examples
    --------
    A series of exact period 4 has four groups, each of all the states of one phase:

    >>> import numpy as np
    >>> from quantify.surrogates import find_twins
    >>> find_twins(np.tile([0.0, 1.0, 3.0, 2.0], 20), tau=1, m=2)[:6].tolist()
    [0, 1, 2, 3, 0, 1]
    """
    return _find_twins(States.of(series, tau, m).z, rate)


def _find_twins(z: Floats, rate: float | None) -> Counts:
    if rate is None:
        return min((_find_twins(z, rate) for rate in RATES), key=np.max)  # fewest groups
    if not 0 < rate < 1:
        raise QuantifyError(f"rate = {rate} must lie between 0 and 1.")
    n = z.shape[1]
    # Pairs at all distances in time: i against i + lag, each lag as often as any other.
    steps = np.arange(min(PAIRS, n * (n - 1) // 2))
    lag = 1 + steps % (n - 1)
    i = (steps * 0.6180339887498949 % 1 * (n - lag)).astype(np.int64)
    threshold = float(np.quantile(np.abs(z[:, i] - z[:, i + lag]).max(axis=0), rate))
    # A column of the recurrence matrix is known by the sum of random 64-bit keys of its states: different
    # columns share one with a probability of 2^-64.
    keys = np.random.default_rng(0).integers(0, 2**64, n, dtype=np.uint64)
    _, first, group = np.unique(_recurrences(z, threshold, keys), return_index=True, return_inverse=True)
    by_time = np.empty(len(first), np.int64)
    by_time[np.argsort(first)] = np.arange(len(first))  # groups in the order in which they appear
    return by_time[group]


@njit(cache=True)
def _recurrences(z, threshold, keys):  # type: ignore[no-untyped-def]
    """Sum of the keys of all states that are at most `threshold` away, for every state."""
    dim, n = z.shape
    total = keys.copy()
    for i in range(n):
        for j in range(i):
            apart = 0.0
            for d in range(dim):
                apart = max(apart, abs(z[d, i] - z[d, j]))
            if apart <= threshold:
                total[i] += keys[j]
                total[j] += keys[i]
    return total
