"""The Gaussian process that has the autocovariances of a series: its entropies are known at every scale.

Beside the curves of the series they tell what looking with resolution eps hides of any linear process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quantify.aliases import Floats

# Combinations of values that vary by less than this share of the largest variance are rounding.
LEAST_VARIANCE = 1e-9
# Delay vectors that are multiplied at a time; of many sensors only so many that a second is enough.
CHUNK, MOST_PRODUCTS = 16_384, 1e10


@dataclass(frozen=True)
class GaussianTwin:
    """The Gaussian process with the covariances of a series.

    Attributes
    ----------
    sd : (d,) array
        Standard deviations of the observables, in the unit of the series.
    correlations : (m_max d, m_max d) array
        Of delay vectors: all observables of one time, then those of a delay later, and so on.

    Examples
    --------
    An AR(1) process is its own twin. Of what one value tells about the next, .22 nats, most is hidden from
    who looks with a resolution of twice the standard deviation (1.25):

    >>> import numpy as np
    >>> from quantify.gaussian import gaussian_twin
    >>> from quantify.systems import AutoRegressive
    >>> twin = gaussian_twin(AutoRegressive((0.6,)).sample(20_000, 1)[None], tau=1, m_max=2)
    >>> twin.hidden("PI", 1, np.array([2.5, 1.25, 0.125])).round(2)
    array([0.18, 0.07, 0.  ])
    """

    sd: Floats
    correlations: Floats

    def covariance(self, m: int, unit: float) -> Floats:
        """Covariance of m values of all observables, a delay apart, over unit², (m d, m d)."""
        sd = np.tile(self.sd / unit, m)
        return self.correlations[: len(sd), : len(sd)] * sd[:, None] * sd

    def entropies(self, m: int, eps: Floats) -> tuple[Floats, float] | None:
        """H_m(eps) without its m d ln(2 eps), and the limit of that for eps -> 0.

        The difference of two stretches is Gaussian with covariance 2 K. C_m is the probability that it lies
        in the box of half width eps, (2 eps)^(m d) times the density at 0 that is left when every coordinate
        is smeared out over such an interval. Were that done by a Gaussian of the same variance, eps² / 3,
        it would be that of the covariance S = 2 K + eps² / 3. For the shape of the interval a factor for each
        coordinate makes up: that of one coordinate alone with what the others leave of its variance,
        1 / (S^-1)_ii. That is exact for independent values, and to order eps^4 for all.

        None if some combination of the values does not vary.
        """
        from scipy.special import erf  # slow to import

        unit = float(eps.min())
        variances, directions = np.linalg.eigh(2 * self.covariance(m, unit))
        if not variances[0] > LEAST_VARIANCE * variances[-1]:
            return None
        width = (eps / unit) ** 2 / 3
        smeared = variances[:, None] + width
        left = 1 / (directions**2 @ (1 / smeared))
        alone = np.maximum(left - width, LEAST_VARIANCE * left)
        shape = np.log(erf(np.sqrt(1.5 * width / alone)) * np.sqrt(np.pi * left / (6 * width)))
        unit_of_sizes = len(variances) * np.log(unit)
        H = 0.5 * np.log(smeared).sum(axis=0) - shape.sum(axis=0) + unit_of_sizes
        return H, float(0.5 * np.log(variances).sum() + unit_of_sizes)

    def hidden(self, curve: Literal["E", "PI"], m: int, eps: Floats) -> Floats:
        """E_m(0) - E_m(eps) or PI_m(0) - PI_m(eps) of the process; 0 if it has no such limit."""
        # E_m = m H_{m-1} - (m - 1) H_m, PI_m = 2 H_m - H_2m
        terms = ((m, m - 1), (1 - m, m)) if curve == "E" else ((2, m), (-1, 2 * m))
        total = np.zeros(len(eps))
        for factor, dimension in terms:
            found = self.entropies(dimension, eps)
            if found is None:
                return np.zeros(len(eps))
            total += factor * (found[1] - found[0])
        return total


def gaussian_twin(x: Floats, tau: int, m_max: int) -> GaussianTwin | None:
    """The twin of a series, (d, N), for m_max values tau apart; None if an observable is constant.

    Covariances are those of the delay vectors. Autocovariances over n, whatever the lag, are simpler, but
    shrink with the lag, which counts where a smooth series hardly varies in some direction.
    """
    n = x.shape[1] - (m_max - 1) * tau
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sd = x.std(axis=1)
        z = (x - x.mean(axis=1, keepdims=True)) / sd[:, None]
        if not (np.isfinite(sd).all() and np.isfinite(z).all()):
            return None
    size = len(x) * m_max
    total, seen = np.zeros((size, size)), 0
    step = max(1, int(n * size**2 / MOST_PRODUCTS))
    for start in range(0, n, CHUNK * step):
        at = np.arange(start, min(start + CHUNK * step, n), step)
        vectors = np.concatenate([z[:, at + k * tau] for k in range(m_max)])
        total += vectors @ vectors.T
        seen += len(at)
    return GaussianTwin(sd, total / seen)
