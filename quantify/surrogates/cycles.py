"""Cycle surrogates: the rounds of an oscillation in random order."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Counts, Floats, Rng
from quantify.errors import QuantifyError
from quantify.inputs import as_series

FEWEST_ROUNDS = 10
SHORTEST = 4  # samples in a round, below which its phase means nothing
CUTS = 16  # phases at which cutting is tried
CHOICE = 5  # rounds to choose from at each joint: few keep the phase, more mix better


@dataclass(frozen=True)
class Rounds:
    """Where the rounds of an oscillation begin.

    Attributes
    ----------
    start : (K + 1,) int array
        First sample of each of the K rounds, and the one after the last round.
    late : (K + 1,) float array
        Phase of these samples behind the exact beginning, in radians: between 0 and one sampling step.
    period : float
        Mean length of a round in samples.
    """

    start: Counts
    late: Floats
    period: float


def cycle_shuffle(series: ArrayLike, rng: Rng, *, rounds: Rounds | None = None) -> Floats:
    """The rounds of an oscillation in random order: keeps every round, destroys what one says about the next.

    The null hypothesis is a cycle with noise that is forgotten within a round, dynamic or of the measurement:
    its rounds are exchangeable. (Theiler 1995 shuffles cycles in this way.) So that the joints do not shift
    the phase by parts of a sampling step, a round is followed by one of the five that are left and begin most
    nearly where it ended. Samples before the first and after the last round stay. Columns stay together.

    Parameters
    ----------
    series : (N,) or (N, d) array
    rng : numpy.random.Generator or int
    rounds : Rounds, optional
        What `find_rounds` found, to make many surrogates of one series.

    Returns
    -------
    array of the shape of `series`

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.surrogates import cycle_shuffle
    >>> x = np.sin(0.3 * np.arange(2000)) + 0.05 * np.random.default_rng(1).standard_normal(2000)
    >>> y = cycle_shuffle(x, 0)
    >>> bool(np.array_equal(np.sort(x), np.sort(y))), bool(np.corrcoef(x, y)[0, 1] > 0.98)  # phase is kept
    (True, True)
    """
    x = as_series(series)
    found = find_rounds(series) if rounds is None else rounds
    generator = np.random.default_rng(rng)
    start, late = found.start, found.late
    left = np.argsort(late[:-1], kind="stable").tolist()
    wanted, pieces = late[0], [np.arange(start[0])]
    begins = [late[k] for k in left]
    while left:
        first = min(max(bisect_left(begins, wanted) - CHOICE // 2, 0), max(len(left) - CHOICE, 0))
        i = int(generator.integers(first, min(first + CHOICE, len(left))))
        begins.pop(i)
        k = left.pop(i)
        pieces.append(np.arange(start[k], start[k + 1]))
        wanted = late[k + 1]
    order = np.concatenate([*pieces, np.arange(start[-1], x.shape[1])])
    return np.ascontiguousarray(x[:, order].T).reshape(np.shape(series))


def find_rounds(series: ArrayLike) -> Rounds:
    """Cut an oscillation into rounds, where they are most alike.

    The phase is that of the analytic signal in a band around the strongest frequency, of several observables
    that of their first principal component. Of 16 phases the one is chosen at which the samples before and
    after the cut vary least from round to round.

    Raises
    ------
    QuantifyError
        If there are fewer than 10 rounds, or rounds of fewer than 4 samples.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.surrogates import find_rounds
    >>> rounds = find_rounds(np.sin(0.3 * np.arange(2000)))
    >>> round(rounds.period), len(rounds.start)  # 2 pi / .3 = 20.9
    (21, 95)
    """
    x = as_series(series)
    centred = x - x.mean(axis=1, keepdims=True)
    component = np.linalg.svd(centred, full_matrices=False)[2][0]
    phase = _phase(component)
    n = x.shape[1]
    best: tuple[float, Counts, Floats] | None = None
    for offset in np.arange(CUTS) * 2 * np.pi / CUTS:
        count = np.maximum.accumulate(np.floor((phase - offset) / (2 * np.pi)))
        start = np.flatnonzero(np.diff(count) > 0) + 1
        if len(start) <= FEWEST_ROUNDS or n < SHORTEST * len(start):
            raise QuantifyError(
                f"{n} samples have {max(len(start) - 1, 0)} rounds of an oscillation; at least "
                f"{FEWEST_ROUNDS} of at least {SHORTEST} samples each are needed. "
                "Use a longer series or another null."
            )
        spread = float(x[:, start].var(axis=1).sum() + x[:, start - 1].var(axis=1).sum())
        if best is None or spread < best[0]:
            best = spread, start, (phase[start] - offset) % (2 * np.pi)
    assert best is not None
    _, start, late = best
    return Rounds(start, late, float(np.diff(start).mean()))


def _phase(values: Floats) -> Floats:
    """Unwrapped phase of the oscillation at the strongest frequency, in radians."""
    from scipy import fft  # slow to import, so only where it is needed

    n = len(values)
    power = np.abs(fft.rfft(values * np.hanning(n))) ** 2
    strongest = int(np.argmax(np.convolve(power, np.ones(5), "same")[1:])) + 1
    frequency = np.arange(n)
    # As wide as half the frequency, to follow its changes, and below the second harmonic.
    band = 2 * np.exp(-0.5 * ((frequency - strongest) / (strongest / 2)) ** 2)
    band[(frequency == 0) | (frequency > 2 * strongest) | (frequency >= n / 2)] = 0.0
    return np.unwrap(np.angle(fft.ifft(fft.fft(values) * band)))
