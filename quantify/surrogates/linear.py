"""Linear surrogates: the same distribution, the same spectrum, or both; and ends that match."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.inputs import as_series

# Samples at both ends that `match_ends` may cut, together: a share of the series, and at most so many.
CUT_SHARE = 0.1
CUT_MOST = 2000


def shuffle(series: ArrayLike, rng: Rng) -> Floats:
    """The samples in random order: keeps the distribution, destroys all dependence in time.

    Several observables (columns) of a sample stay together.

    Parameters
    ----------
    series : (N,) or (N, d) array
    rng : numpy.random.Generator or int

    Returns
    -------
    array of the shape of `series`

    Examples
    --------
    >>> from quantify.surrogates import shuffle
    >>> sorted(shuffle([1.0, 2.0, 3.0, 5.0], 0).tolist())
    [1.0, 2.0, 3.0, 5.0]
    """
    x = as_series(series)
    return _like(series, np.random.default_rng(rng).permutation(x, axis=1))


def phase(series: ArrayLike, rng: Rng) -> Floats:
    """Random phases in Fourier space: keeps mean and power spectrum exactly, makes the series linear and
    Gaussian.

    Several observables get the same phases added, so that their cross-spectra (all linear relations) are kept
    as well.

    Parameters
    ----------
    series : (N,) or (N, d) array
        First and last value should match (`match_ends`): a jump between them acts like one within the series.
    rng : numpy.random.Generator or int

    Returns
    -------
    array of the shape of `series`

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.surrogates import phase
    >>> from quantify.systems import Henon
    >>> x = Henon().sample(1000, 1)[:, 0]
    >>> y = phase(x, 0)
    >>> np.allclose(np.abs(np.fft.rfft(x)), np.abs(np.fft.rfft(y)))  # the same power at every frequency
    True
    """
    from scipy import fft  # slow to import, so only where it is needed

    x = as_series(series)
    n = x.shape[1]
    spectrum = fft.rfft(x, axis=1)
    angles = np.random.default_rng(rng).uniform(0, 2 * np.pi, spectrum.shape[1])
    angles[0] = 0.0  # the mean
    if n % 2 == 0:
        angles[-1] = 0.0  # the highest frequency of an even length is real
    return _like(series, fft.irfft(spectrum * np.exp(1j * angles), n, axis=1))


def iaaft(series: ArrayLike, rng: Rng, *, iterations: int = 200) -> Floats:
    """Keeps the distribution exactly and the power spectrum nearly: a linear Gaussian process seen through a
    monotone map.

    Iterative amplitude-adjusted Fourier transform (Schreiber & Schmitz 1996): impose the spectrum, then the
    ranks, and again, until the order of the values does not change any more. Several observables are treated
    one by one, which destroys the relations between them.

    Parameters
    ----------
    series : (N,) or (N, d) array
        First and last value should match (`match_ends`): a jump between them acts like one within the series.
    rng : numpy.random.Generator or int
    iterations : int
        At most so many rounds, at least 1.

    Returns
    -------
    array of the shape of `series`

    Examples
    --------
    >>> from quantify.surrogates import iaaft
    >>> from quantify.systems import UniformNoise
    >>> x = UniformNoise().sample(500, 1)
    >>> sorted(iaaft(x, 0)) == sorted(x)  # the same values, in another order
    True
    """
    if iterations < 1:
        raise QuantifyError(f"iterations = {iterations} must be at least 1.")
    x = as_series(series)
    rng = np.random.default_rng(rng)
    return _like(series, np.stack([_iaaft(values, rng, iterations) for values in x]))


def _iaaft(values: Floats, rng: np.random.Generator, iterations: int) -> Floats:
    from scipy import fft

    ascending = np.sort(values)
    amplitude = np.abs(fft.rfft(values))
    surrogate = rng.permutation(values)
    order = np.argsort(surrogate, kind="stable")
    for _ in range(iterations):
        spectrum = fft.rfft(surrogate)
        size = np.abs(spectrum)
        direction = np.where(size > 0, spectrum / np.where(size > 0, size, 1.0), 1.0)
        previous, order = order, np.argsort(fft.irfft(amplitude * direction, len(values)), kind="stable")
        surrogate[order] = ascending
        if np.array_equal(previous, order):
            break
    return surrogate


@dataclass(frozen=True)
class MatchedEnds:
    """The stretch of a series whose ends fit together best.

    Attributes
    ----------
    start, stop : int
        The stretch is ``series[start:stop]``.
    cut : float
        Share of the series that is left out.
    before, after : float
        Mismatch of the whole series and of the stretch: root mean square, over the observables, of the jump
        from end to beginning and of the difference of the slopes there, in standard deviations.
    """

    start: int
    stop: int
    cut: float
    before: float
    after: float


def match_ends(series: ArrayLike) -> MatchedEnds:
    """The stretch of a series that can be continued by itself: end and beginning match in value and slope.

    Fourier surrogates take a series for periodic; a jump between its ends would spread over all their
    frequencies. Of all stretches that leave out at most a tenth of the series (and 2,000 samples) the one
    with the smallest mismatch is taken,

        sum over observables of  ((x_0 - x_last)^2 + ((x_1 - x_0) - (x_last - x_last-1))^2) / variance,

    the longest one, if tied.

    Parameters
    ----------
    series : (N,) or (N, d) array

    Returns
    -------
    MatchedEnds

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.surrogates import match_ends
    >>> x = np.sin(2 * np.pi * np.arange(1030) / 100)  # ten periods and a bit
    >>> found = match_ends(x)
    >>> found.stop - found.start, found.after < 0.1 < 1 < found.before
    (1001, True)
    """
    x = as_series(series)
    n = x.shape[1]
    scaled = x / x.std(axis=1, keepdims=True)
    most = min(int(CUT_SHARE * n), CUT_MOST, n - 3)
    if most < 0:
        raise QuantifyError(f"{n} samples are too few to match the ends; at least 3 are needed.")
    mismatch, start, stop = _match_ends(scaled, most)
    whole = _mismatch(scaled, 0, n)
    return MatchedEnds(
        int(start),
        int(stop),
        1 - (stop - start) / n,
        float(np.sqrt(whole / len(x))),
        float(np.sqrt(mismatch / len(x))),
    )


@njit(cache=True)
def _mismatch(x, start, stop):  # type: ignore[no-untyped-def]
    """Squares of the jump and of the change of slope from the end of a stretch to its beginning."""
    total = 0.0
    for values in x:
        first, last = values[start], values[stop - 1]
        total += (first - last) ** 2 + ((values[start + 1] - first) - (last - values[stop - 2])) ** 2
    return total


@njit(cache=True)
def _match_ends(x, most):  # type: ignore[no-untyped-def]
    """Smallest mismatch of all stretches that leave out at most `most` samples, and where it is."""
    n = x.shape[1]
    best, where = np.inf, (0, n)
    for cut in range(most + 1):  # the longest first
        for start in range(cut + 1):
            found = _mismatch(x, start, n - cut + start)
            if found < best:
                best, where = found, (start, n - cut + start)
    return best, where[0], where[1]


def _like(series: ArrayLike, x: Floats) -> Floats:
    """(d, N) array in the shape of the series it was made from."""
    return np.ascontiguousarray(x.T).reshape(np.shape(series))
