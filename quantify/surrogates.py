"""Surrogate series: what is left of a result when all but one property of the series is destroyed.

Examples
--------
A chaotic map predicts itself; the linear process with the same values and spectrum hardly does.

>>> from quantify import predictive_information, surrogates
>>> from quantify.systems import Henon
>>> x = Henon().sample(1500, 1)[:, 0]
>>> two = (predictive_information(y, tau=1, m=1, k=4).quoted.value for y in (x, surrogates.iaaft(x, rng=0)))
>>> chaotic, linear = two
>>> chaotic > 1 > 0.2 > linear
True
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.inputs import as_series


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
        First and last value should match: a jump between them acts like one within the series.
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
        First and last value should match: a jump between them acts like one within the series.
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


def _like(series: ArrayLike, x: Floats) -> Floats:
    """(d, N) array in the shape of the series it was made from."""
    return np.ascontiguousarray(x.T).reshape(np.shape(series))
