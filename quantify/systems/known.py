"""What follows from known block entropies, whatever the process: h, E and PI."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.systems.checks import check_order

# Stretches of one series are not independent; means over so many parts of it nearly are.
BATCHES = 32


class KnownEntropies(ABC):
    """A process with a smooth density p_m of m values tau apart, whose block entropies H_m are known.

    Correlation sums converge to entropies of order 2 (Rényi), most other estimators look for Shannon's:

        order 2:  C_m(eps) -> (2 eps)^m <p_m>,   H_m = -ln <p_m>          for eps -> 0
        Shannon:                                 H_m = -<ln p_m>

    in nats. For Gaussian processes the two differ by (1 - ln 2) / 2 per value, so E and PI are the same
    numbers. For all others they differ; `H`, `h`, `E` and `PI` are then of order 2, and `shannon_PI` gives
    the other.
    """

    @abstractmethod
    def H(self, m: int, *, tau: int = 1) -> float:
        """Block entropy of m values tau apart, of order 2 except for Gaussian processes."""

    @abstractmethod
    def sample(self, n: int, rng: Rng) -> Floats:
        """A series of n values."""

    def log_density(self, x: Floats, *, tau: int = 1) -> Floats:
        """ln p_m of each row of x, which holds m values tau apart."""
        raise QuantifyError(f"{type(self).__name__} does not know its density; use E and PI.")

    def h(self, m: int, *, tau: int = 1) -> float:
        """Conditional entropy of a value given the m before it, h_m = H_{m+1} - H_m."""
        check_order(m, 0, tau)
        return self.H(m + 1, tau=tau) - self.H(m, tau=tau)

    def E(self, m: int, *, tau: int = 1) -> float:
        """Excess entropy E_m = H_m - m h_{m-1}; E_1 = 0."""
        check_order(m, 1, tau)
        return self.H(m, tau=tau) - m * self.h(m - 1, tau=tau)

    def PI(self, m: int, *, tau: int = 1) -> float:
        """Predictive information of m past about m future values, PI_m = 2 H_m - H_2m."""
        check_order(m, 1, tau)
        return 2 * self.H(m, tau=tau) - self.H(2 * m, tau=tau)

    def shannon_PI(self, m: int, *, tau: int = 1, samples: int = 20_000, rng: Rng = 0) -> tuple[float, float]:
        """Shannon's mutual information of m past and m future values, and its standard error.

        The mean of ln p(past, future) - ln p(past) - ln p(future) over `samples` stretches of one series. The
        densities are exact (for `Noisy` converged), the mean is a Monte Carlo one; its error comes from 32
        parts of the series. The limit of long stretches is the limit of Shannon's E_m, too.
        """
        check_order(m, 1, tau)
        x = self.sample(samples * 2 * m * tau, rng).reshape(samples, 2 * m, tau)[:, :, 0]
        past, future = (self.log_density(part, tau=tau) for part in (x[:, :m], x[:, m:]))
        means = [
            part.mean() for part in np.array_split(self.log_density(x, tau=tau) - past - future, BATCHES)
        ]
        return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(BATCHES))
