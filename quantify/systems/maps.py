"""Maps: Hénon, logistic, skew tent and Ikeda."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.systems.checks import check_finite, check_length, check_order


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
        n = check_length(n)
        x, y = np.random.default_rng(rng).uniform(-0.1, 0.1, 2)
        return check_finite(_henon(x, y, n + transient, self.a, self.b)[transient:], "The Hénon map")


@njit(cache=True)
def _henon(x, y, n, a, b):  # type: ignore[no-untyped-def]
    out = np.empty((n, 2))
    for i in range(n):
        out[i, 0], out[i, 1] = x, y
        x, y = 1 - a * x * x + y, b * x
    return out


@dataclass(frozen=True)
class Logistic:
    """The logistic map x' = r x (1 - x).

    At r = 4 the density 1 / (pi sqrt(x (1 - x))) is known, the Lyapunov exponent is ln 2, and the correlation
    dimension is 1, which is approached slowly: C_1 goes as -eps ln eps.

    Examples
    --------
    >>> import numpy as np
    >>> from quantify.systems import Logistic
    >>> x = Logistic(3.9).sample(1000, rng=1)
    >>> np.allclose(x[1:], 3.9 * x[:-1] * (1 - x[:-1]))
    True
    """

    r: float = 4.0

    def __post_init__(self) -> None:
        if not 0 <= self.r <= 4:
            raise QuantifyError(f"r = {self.r} must lie between 0 and 4, where the map stays in [0, 1].")

    def sample(self, n: int, rng: Rng, *, transient: int = 1000) -> Floats:
        """n values; the first one is drawn between 0 and 1 and followed over the transient."""
        n = check_length(n)
        return np.asarray(_logistic(np.random.default_rng(rng).uniform(), n + transient, self.r)[transient:])


@njit(cache=True)
def _logistic(x, n, r):  # type: ignore[no-untyped-def]
    out = np.empty(n)
    for i in range(n):
        out[i] = x
        x = r * x * (1 - x)
    return out


@dataclass(frozen=True)
class SkewTent:
    """The skew tent map x' = x / a for x < a, else (1 - x) / (1 - a): chaos whose numbers are exact.

    The density is uniform. Two orbits that are close separate by 1 / a or 1 / (1 - a) in each step, with
    probabilities a and 1 - a. Hence for small eps, as long as no fold comes between,

        C_m(eps) = 2 eps (a² + (1 - a)²)^(m-1)

    so that D = 1, every h_m with m >= 1 is K = -ln(a² + (1 - a)²), E_m = -ln(2 eps) - K for all m >= 2, and
    state, memory and core complexity are zero: all of the excess entropy says how finely one looks.

    Examples
    --------
    >>> from quantify.systems import SkewTent
    >>> tent = SkewTent(0.4)
    >>> f"{tent.K:.3f}", f"{tent.E(5, 0.001):.3f}"
    ('0.654', '5.561')
    """

    a: float = 0.4

    def __post_init__(self) -> None:
        if not 0 < self.a < 1 or self.a == 0.5:
            raise QuantifyError(
                f"a = {self.a} must lie between 0 and 1 and not be .5, where binary numbers fall to 0."
            )

    @property
    def K(self) -> float:
        """Entropy rate of order 2."""
        return float(-np.log(self.a**2 + (1 - self.a) ** 2))

    def H(self, m: int, eps: ArrayLike) -> Floats:
        """Block entropy of m values at the small scale eps."""
        check_order(m, 1, 1)
        return np.asarray(-np.log(2 * np.asarray(eps, dtype=float)) + (m - 1) * self.K)

    def E(self, m: int, eps: ArrayLike) -> Floats:
        """Excess entropy at the small scale eps, E_m = m H_{m-1} - (m - 1) H_m."""
        check_order(m, 2, 1)
        return m * self.H(m - 1, eps) - (m - 1) * self.H(m, eps)

    def PI(self, m: int, eps: ArrayLike) -> Floats:
        """Predictive information at the small scale eps, PI_m = 2 H_m - H_2m."""
        return 2 * self.H(m, eps) - self.H(2 * m, eps)

    def sample(self, n: int, rng: Rng) -> Floats:
        """n values, stationary from the first one on."""
        return np.asarray(_skew_tent(np.random.default_rng(rng).uniform(), check_length(n), self.a))


@njit(cache=True)
def _skew_tent(x, n, a):  # type: ignore[no-untyped-def]
    out = np.empty(n)
    for i in range(n):
        out[i] = x
        x = x / a if x < a else (1 - x) / (1 - a)
    return out


@dataclass(frozen=True)
class Ikeda:
    """The Ikeda map of a laser's ring cavity.

        t = .4 - 6 / (1 + x² + y²),   x' = 1 + u (x cos t - y sin t),   y' = u (x sin t + y cos t)

    Examples
    --------
    >>> from quantify.systems import Ikeda
    >>> states = Ikeda().sample(1000, rng=1)
    >>> states.shape, bool(abs(states).max() < 3)
    ((1000, 2), True)
    """

    u: float = 0.9

    def sample(self, n: int, rng: Rng, *, transient: int = 1000) -> Floats:
        """States x, y on the attractor, as an (n, 2) array; the initial state is drawn near the origin."""
        n = check_length(n)
        x, y = np.random.default_rng(rng).uniform(-0.1, 0.1, 2)
        return check_finite(_ikeda(x, y, n + transient, self.u)[transient:], "The Ikeda map")


@njit(cache=True)
def _ikeda(x, y, n, u):  # type: ignore[no-untyped-def]
    out = np.empty((n, 2))
    for i in range(n):
        out[i, 0], out[i, 1] = x, y
        t = 0.4 - 6 / (1 + x * x + y * y)
        x, y = 1 + u * (x * np.cos(t) - y * np.sin(t)), u * (x * np.sin(t) + y * np.cos(t))
    return out
