"""Gaussian processes: AR, ARMA, long memory, several channels. Their covariances hold their entropies."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.linalg import solve_discrete_lyapunov, toeplitz
from scipy.special import gammaln

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.systems.checks import check_length, check_order
from quantify.systems.known import KnownEntropies


class GaussianProcess(KnownEntropies):
    """A Gaussian process whose entropies follow from its covariance.

    H_m is the differential entropy of a Gaussian vector, Shannon's, in nats; that of order 2 is lower by
    (1 - ln 2) / 2 per value, so E and PI are the same for both.
    """

    @abstractmethod
    def covariance(self, m: int, *, tau: int = 1) -> Floats:
        """Covariance of m values tau apart, all observables of each."""

    def H(self, m: int, *, tau: int = 1) -> float:
        """Block entropy of m values tau apart."""
        check_order(m, 0, tau)
        if m == 0:
            return 0.0
        K = self.covariance(m, tau=tau)
        return float(0.5 * (len(K) * np.log(2 * np.pi * math.e) + np.linalg.slogdet(K)[1]))

    def C(self, m: int, eps: ArrayLike, *, tau: int = 1) -> Floats:
        """Correlation sums C_m(eps): the probability that two independent stretches are within eps.

        Their difference is Gaussian with covariance 2 K, and the average runs over the box |u_i| <= 1:

            C_m(eps) = (eps / sqrt(pi))^m |K|^(-1/2) < exp(-eps^2 u' K^-1 u / 4) >

        It is taken over 2^15 quasi-random u, which is good to .1 % while eps is not much larger than the
        smallest standard deviation of any combination of the m values; beyond, few u count. For
        eps -> 0 entropies of C differ from those above by a constant per step, and E and PI do not differ.
        """
        from scipy.stats.qmc import Sobol  # slow to import

        check_order(m, 1, tau)
        e = np.atleast_1d(np.asarray(eps, dtype=float))
        K = self.covariance(m, tau=tau)
        size = len(K)
        u = 2 * Sobol(size, scramble=False).random_base2(15) + 2.0**-15 - 1
        q = np.einsum("ij,ij->i", u @ np.linalg.inv(K), u)
        mean = np.array([np.exp(-(v**2) / 4 * q).mean() for v in e])
        return np.asarray(mean * np.exp(size * np.log(e / np.sqrt(np.pi)) - 0.5 * np.linalg.slogdet(K)[1]))


class OneObservable(GaussianProcess):
    """A Gaussian process of one observable, which its autocovariances define."""

    @abstractmethod
    def autocovariance(self, max_lag: int) -> Floats:
        """Autocovariances at lags 0..max_lag."""

    def covariance(self, m: int, *, tau: int = 1) -> Floats:
        """Covariance of m values tau apart."""
        return np.asarray(toeplitz(self.autocovariance((m - 1) * tau)[::tau]))


@dataclass(frozen=True)
class AutoRegressive(OneObservable):
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
        n = check_length(n)
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


@njit(cache=True)
def _autoregression(x, a):  # type: ignore[no-untyped-def]
    """Turn p start values and the innovations after them into the series, in place."""
    p = len(a)
    for i in range(p, len(x)):
        for j in range(p):
            x[i] += a[j] * x[i - 1 - j]
    return x


AR2 = AutoRegressive((1.991843, -0.994793))
"""The paper's autoregressive model of the Lorenz attractor: PI_2 = 7.479 at delay 1, 3.359 at delay 10."""


@dataclass(frozen=True)
class ARMA(OneObservable):
    """A moving average of an autoregressive process, x_n = u_n + b_1 u_{n-1} + ... + b_q u_{n-q} with
    u_n = a_1 u_{n-1} + ... + a_p u_{n-p} + xi_n. Without `a` it is a moving average of white noise.

    An autoregressive process seen through white noise is of this kind, too. Its past never ends: E_m and
    PI_m go on rising with m, though soon by little.

    Attributes
    ----------
    a, b : tuple of float
    sigma : float
        Standard deviation of xi.

    Examples
    --------
    >>> from quantify.systems import ARMA
    >>> process = ARMA(b=(0.8,))
    >>> [f"{process.PI(m):.3f}" for m in (1, 2, 20)]
    ['0.136', '0.264', '0.511']
    """

    a: tuple[float, ...] = ()
    b: tuple[float, ...] = ()
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", tuple(float(v) for v in self.b))
        if not np.isfinite(self.b).all():
            raise QuantifyError(f"b = {self.b} must hold finite coefficients.")
        object.__setattr__(self, "_u", AutoRegressive(self.a or (0.0,), self.sigma))
        object.__setattr__(self, "a", self._u.a if self.a else ())  # type: ignore[attr-defined]

    def sample(self, n: int, rng: Rng) -> Floats:
        """A series of n values, stationary from the first one on."""
        u = self._u.sample(check_length(n) + len(self.b), rng)  # type: ignore[attr-defined]
        return np.convolve(u, (1.0, *self.b), mode="valid")

    def autocovariance(self, max_lag: int) -> Floats:
        """Autocovariances at lags 0..max_lag: those of u, weighted by the products of the b."""
        b = np.array([1.0, *self.b])
        q = len(self.b)
        r = self._u.autocovariance(max_lag + q)  # type: ignore[attr-defined]
        weights = np.correlate(b, b, mode="full")
        lags = np.abs(np.arange(max_lag + 1)[:, None] + np.arange(-q, q + 1))
        return np.asarray(r[lags] @ weights)


@dataclass(frozen=True)
class FractionalNoise(OneObservable):
    """Long memory: white noise integrated d times, (1 - B)^d x = xi, with 0 < d < 1/2.

    Autocorrelations fall as k^(2d-1), too slowly to be summed. What the k-th step of the past adds to the
    prediction, -ln(1 - (d / (k - d))²) / 2, falls as 1 / k², so that E_m and PI_m grow as d² ln(m) / 2
    without limit: of such a process one can only ask E and PI of a stated m.

    Examples
    --------
    >>> from quantify.systems import FractionalNoise
    >>> [f"{FractionalNoise(0.4).E(m):.3f}" for m in (2, 20, 200)]
    ['0.294', '0.548', '0.737']
    """

    d: float
    sigma: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.d < 0.5:
            raise QuantifyError(f"d = {self.d} must lie between 0 and 1/2, where the process is stationary.")
        if not self.sigma > 0:
            raise QuantifyError(f"sigma = {self.sigma} must be positive.")

    def sample(self, n: int, rng: Rng) -> Floats:
        """A series of n values, exact: half a period of a Gaussian series with a circulant covariance."""
        n = check_length(n)
        rng = np.random.default_rng(rng)
        r = self.autocovariance(n)
        # The eigenvalues are positive: r is convex and falls.
        power = np.fft.rfft(np.concatenate([r, r[-2:0:-1]])).real
        return np.asarray(np.fft.irfft(np.sqrt(power) * np.fft.rfft(rng.standard_normal(2 * n)))[:n])

    def autocovariance(self, max_lag: int) -> Floats:
        """Autocovariances at lags 0..max_lag, r_k = r_{k-1} (k - 1 + d) / (k - d)."""
        k = np.arange(1, max_lag + 1)
        variance = self.sigma**2 * np.exp(gammaln(1 - 2 * self.d) - 2 * gammaln(1 - self.d))
        return variance * np.cumprod(np.concatenate([[1.0], (k - 1 + self.d) / (k - self.d)]))


@dataclass(frozen=True)
class VectorAutoRegressive(GaussianProcess):
    """Several channels that drive one another, x_n = A x_{n-1} + xi_n, with white xi of covariance Q.

    Attributes
    ----------
    A : tuple of tuples of float
    Q : tuple of tuples of float, optional
        Default: the identity.

    Examples
    --------
    >>> from quantify.systems import VectorAutoRegressive
    >>> process = VectorAutoRegressive(((0.5, 0.4), (-0.4, 0.5)))
    >>> process.sample(100, rng=1).shape, f"{process.PI(1):.3f}"
    ((100, 2), '0.528')
    """

    A: tuple[tuple[float, ...], ...]
    Q: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        A, Q = self._matrices()
        if A.ndim != 2 or A.shape[0] != A.shape[1] or Q.shape != A.shape:
            raise QuantifyError(
                f"A has shape {A.shape} and Q {Q.shape}; both must be square and of one size."
            )
        largest = np.abs(np.linalg.eigvals(A)).max()
        if not largest < 1:
            raise QuantifyError(
                f"A is not stationary: its largest eigenvalue is {largest:.6g}; choose all below 1."
            )
        if not np.allclose(Q, Q.T) or np.linalg.eigvalsh(Q).min() <= 0:
            raise QuantifyError(f"Q = {self.Q} must be symmetric with positive eigenvalues.")

    def _matrices(self) -> tuple[Floats, Floats]:
        A = np.array(self.A, dtype=float)
        return A, np.eye(len(A)) if self.Q is None else np.array(self.Q, dtype=float)

    def sample(self, n: int, rng: Rng) -> Floats:
        """A series of n states, stationary from the first one on."""
        n = check_length(n)
        rng = np.random.default_rng(rng)
        A, Q = self._matrices()
        x = rng.standard_normal((n, len(A))) @ np.linalg.cholesky(Q).T
        x[0] = rng.multivariate_normal(np.zeros(len(A)), self.covariance(1), method="cholesky")
        return np.asarray(_vector_autoregression(x, A))

    def covariance(self, m: int, *, tau: int = 1) -> Floats:
        """Covariance of m states tau apart, written one after the other."""
        A, Q = self._matrices()
        now = solve_discrete_lyapunov(A, Q)
        # <x_{n+k} x_n'> = A^k <x x'>
        lagged = [np.linalg.matrix_power(A, k * tau) @ now for k in range(m)]
        return np.block([[lagged[i - j] if i >= j else lagged[j - i].T for j in range(m)] for i in range(m)])


@njit(cache=True)
def _vector_autoregression(x, A):  # type: ignore[no-untyped-def]
    """Turn a start state and the innovations after it into the series, in place."""
    for i in range(1, len(x)):
        for j in range(A.shape[0]):
            for k in range(A.shape[1]):
                x[i, j] += A[j, k] * x[i - 1, k]
    return x
