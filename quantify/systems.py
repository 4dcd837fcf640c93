"""Systems whose complexity is known: what every estimator is tried on first.

Each system is a small immutable value with one verb, ``sample(n, rng)``. `rng` is a `numpy.random.Generator`
or a seed; equal seeds give equal series. `AutoRegressive` also knows its entropies exactly.

Examples
--------
>>> from quantify import systems
>>> systems.Henon().sample(1000, rng=1).shape
(1000, 2)
>>> f"{systems.AR2.PI(2):.3f}"
'7.479'
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.linalg import toeplitz

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError


def _check_length(n: int) -> int:
    if n != int(n) or n < 1:
        raise QuantifyError(f"n = {n} samples asked for; n must be a whole number of at least 1.")
    return int(n)


def _check_finite(x: Floats, what: str) -> Floats:
    bad = np.flatnonzero(~np.isfinite(x).reshape(len(x), -1).all(axis=1))
    if len(bad):
        raise QuantifyError(
            f"{what} diverged at sample {bad[0]}; use parameters with a bounded attractor or a smaller step."
        )
    return x


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
        if not 0 < self.step <= self.sampling:
            raise QuantifyError(f"step = {self.step} must be above 0 and at most the sampling time.")
        if abs(self.sampling / self.step - self.substeps) > 1e-6 * self.substeps:
            raise QuantifyError(f"sampling = {self.sampling} must be a whole number of steps of {self.step}.")
        if not self.noise >= 0:
            raise QuantifyError(f"noise = {self.noise} is a standard deviation and cannot be negative.")

    @property
    def substeps(self) -> int:
        """Integration steps between two samples."""
        return round(self.sampling / self.step)

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
        n = _check_length(n)
        rng = np.random.default_rng(rng)
        start = rng.standard_normal(3)
        steps = round(transient / self.step)
        parameters = (self.s, self.r, self.b, self.step, self.noise)
        start = _lorenz(start, 2, steps, *parameters, rng)[1] if steps else start
        return _check_finite(_lorenz(start, n, self.substeps, *parameters, rng), "The Lorenz system")


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
class Henon:
    """The Hénon map x' = 1 - a x² + y, y' = b x.

    With the standard parameters its correlation dimension is 1.21 and its entropy rate .419 nats per step.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.systems import Henon
    >>> x, y = Henon().sample(1000, rng=1).T
    >>> np.allclose(x[1:], 1 - 1.4 * x[:-1] ** 2 + y[:-1])
    True
    """

    a: float = 1.4
    b: float = 0.3

    def sample(self, n: int, rng: Rng, *, transient: int = 1000) -> Floats:
        """States x, y on the attractor, as an (n, 2) array; the initial state is drawn near the origin."""
        n = _check_length(n)
        x, y = np.random.default_rng(rng).uniform(-0.1, 0.1, 2)
        return _check_finite(_henon(x, y, n + transient, self.a, self.b)[transient:], "The Hénon map")


@njit(cache=True)
def _henon(x, y, n, a, b):  # type: ignore[no-untyped-def]
    out = np.empty((n, 2))
    for i in range(n):
        out[i, 0], out[i, 1] = x, y
        x, y = 1 - a * x * x + y, b * x
    return out


@dataclass(frozen=True)
class AutoRegressive:
    """A Gaussian process x_n = a_1 x_{n-1} + ... + a_p x_{n-p} + xi_n whose entropies are known exactly.

    Seen with delay tau (every tau-th sample), H_m is that of a Gaussian vector whose covariance is the
    Toeplitz matrix of the autocovariances at lags 0, tau, ..., (m-1) tau; h, E and PI follow from H by the
    paper's definitions. All are differential entropies in nats. For tau > 1 the process is no longer Markov
    of order p, and E_m and PI_m go on rising beyond m = p (the paper's appendix assumes that they do not).

    Attributes
    ----------
    a : tuple of float
        Coefficients a_1 .. a_p.
    sigma : float
        Standard deviation of the innovations xi.

    Examples
    --------
    One value tells as much about the next as all before it; seen at every second step, less.

    >>> from quantify.systems import AutoRegressive
    >>> process = AutoRegressive((0.6,))
    >>> [f"{process.PI(m):.3f}" for m in (1, 2)], f"{process.PI(1, tau=2):.3f}"
    (['0.223', '0.223'], '0.069')
    """

    a: tuple[float, ...]
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", tuple(float(v) for v in self.a))
        if not self.a or not np.isfinite(self.a).all():
            raise QuantifyError(f"a = {self.a} must hold at least one finite coefficient.")
        if not self.sigma > 0:
            raise QuantifyError(f"sigma = {self.sigma} must be positive.")
        largest = np.abs(np.roots([1.0, *(-v for v in self.a)])).max()
        if largest >= 1:
            raise QuantifyError(
                f"a = {self.a} is not stationary: its largest root has modulus {largest:.6g}; "
                "choose coefficients whose roots are all below 1."
            )

    def sample(self, n: int, rng: Rng) -> Floats:
        """A series of n values, stationary from the first one on."""
        n = _check_length(n)
        rng = np.random.default_rng(rng)
        p = len(self.a)
        start = rng.multivariate_normal(np.zeros(p), toeplitz(self.autocovariance(p - 1)), method="cholesky")
        if n <= p:
            return np.asarray(start[:n])
        xi = self.sigma * rng.standard_normal(n - p)
        return np.asarray(_autoregression(np.concatenate([start, xi]), np.array(self.a)))

    def autocovariance(self, max_lag: int) -> Floats:
        """Autocovariances at lags 0..max_lag, by the Yule-Walker equations and the process's recursion."""
        p = len(self.a)
        equations = np.eye(p + 1)
        for k in range(p + 1):
            for j, a in enumerate(self.a, start=1):
                equations[k, abs(k - j)] -= a
        first = np.linalg.solve(equations, np.eye(p + 1)[0] * self.sigma**2)
        r = np.concatenate([first, np.empty(max(0, max_lag - p))])
        for k in range(p + 1, max_lag + 1):
            r[k] = np.dot(self.a, r[k - p : k][::-1])
        return r[: max_lag + 1]

    def H(self, m: int, *, tau: int = 1) -> float:
        """Block entropy of m values tau apart."""
        _check_order(m, 0, tau)
        if m == 0:
            return 0.0
        K = toeplitz(self.autocovariance((m - 1) * tau)[::tau])
        return float(0.5 * (m * np.log(2 * np.pi * np.e) + np.linalg.slogdet(K)[1]))

    def h(self, m: int, *, tau: int = 1) -> float:
        """Conditional entropy of a value given the m before it, h_m = H_{m+1} - H_m."""
        _check_order(m, 0, tau)
        return self.H(m + 1, tau=tau) - self.H(m, tau=tau)

    def E(self, m: int, *, tau: int = 1) -> float:
        """Excess entropy E_m = H_m - m h_{m-1}; E_1 = 0."""
        _check_order(m, 1, tau)
        return self.H(m, tau=tau) - m * self.h(m - 1, tau=tau)

    def PI(self, m: int, *, tau: int = 1) -> float:
        """Predictive information of m past about m future values, PI_m = 2 H_m - H_2m."""
        _check_order(m, 1, tau)
        return 2 * self.H(m, tau=tau) - self.H(2 * m, tau=tau)

    def C(self, m: int, eps: ArrayLike, *, tau: int = 1) -> Floats:
        """Correlation sums C_m(eps): the probability that two independent stretches are within eps.

        Their difference is Gaussian with covariance 2 K, and the average runs over the box |u_i| <= 1:

            C_m(eps) = (eps / sqrt(pi))^m |K|^(-1/2) < exp(-eps^2 u' K^-1 u / 4) >

        It is taken over 2^15 quasi-random u, which is good to .1 % while eps is not much larger than the
        smallest standard deviation of any combination of the m values; beyond, few u count. For
        eps -> 0 entropies of C differ from those above by a constant per step, and E and PI do not differ.
        """
        from scipy.stats.qmc import Sobol  # slow to import

        _check_order(m, 1, tau)
        e = np.atleast_1d(np.asarray(eps, dtype=float))
        K = toeplitz(self.autocovariance((m - 1) * tau)[::tau])
        u = 2 * Sobol(m, scramble=False).random_base2(15) + 2.0**-15 - 1
        q = np.einsum("ij,ij->i", u @ np.linalg.inv(K), u)
        mean = np.array([np.exp(-(v**2) / 4 * q).mean() for v in e])
        return np.asarray(mean * np.exp(m * np.log(e / np.sqrt(np.pi)) - 0.5 * np.linalg.slogdet(K)[1]))


@njit(cache=True)
def _autoregression(x, a):  # type: ignore[no-untyped-def]
    """Turn p start values and the innovations after them into the series, in place."""
    p = len(a)
    for i in range(p, len(x)):
        for j in range(p):
            x[i] += a[j] * x[i - 1 - j]
    return x


def _check_order(m: int, least: int, tau: int) -> None:
    if m < least:
        raise QuantifyError(f"m = {m} must be at least {least}.")
    if tau < 1:
        raise QuantifyError(f"tau = {tau} must be at least 1.")


AR2 = AutoRegressive((1.991843, -0.994793))
"""The paper's autoregressive model of the Lorenz attractor: PI_2 = 7.479 at delay 1, 3.359 at delay 10."""


@dataclass(frozen=True)
class UniformNoise:
    """Independent values, uniform on [low, high): every D_m = m, and all memory is zero.

    Examples
    --------
    >>> from quantify.systems import UniformNoise
    >>> x = UniformNoise(-1, 1).sample(1000, rng=1)
    >>> x.shape, bool((abs(x) <= 1).all())
    ((1000,), True)
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise QuantifyError(f"low = {self.low} must be below high = {self.high}.")

    def sample(self, n: int, rng: Rng) -> Floats:
        """n independent values."""
        return np.random.default_rng(rng).uniform(self.low, self.high, _check_length(n))


@dataclass(frozen=True)
class QuasiPeriodic:
    """A sum of sines with incommensurate frequencies: a torus with one dimension per frequency, and no
    entropy rate.

    Attributes
    ----------
    frequencies : tuple of float
        Cycles per sample; by default one slow cycle and its golden-ratio companion.
    amplitudes : tuple of float

    Examples
    --------
    >>> from quantify.systems import QuasiPeriodic
    >>> bool(abs(QuasiPeriodic(amplitudes=(1.0, 0.5)).sample(1000, rng=1)).max() <= 1.5)
    True
    """

    frequencies: tuple[float, ...] = (0.01, 0.01 * (1 + 5**0.5) / 2)
    amplitudes: tuple[float, ...] = (1.0, 1.0)

    def __post_init__(self) -> None:
        if not self.frequencies or len(self.frequencies) != len(self.amplitudes):
            raise QuantifyError(
                f"{len(self.frequencies)} frequencies and {len(self.amplitudes)} amplitudes given; "
                "there must be one amplitude for each frequency, and at least one."
            )

    def sample(self, n: int, rng: Rng) -> Floats:
        """n values; the phases are drawn at random."""
        phases = np.random.default_rng(rng).uniform(0, 2 * np.pi, len(self.frequencies))
        angles = 2 * np.pi * np.outer(np.arange(_check_length(n)), self.frequencies) + phases
        return np.asarray(np.sin(angles) @ np.array(self.amplitudes))
