"""Entropies, excess entropy, dimension and predictive information from correlation sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quantify.aliases import Floats
from quantify.correlation import CorrelationSums
from quantify.correlation.result import scales_in_words


@dataclass(frozen=True, repr=False)
class Entropies:
    """Information-theoretic curves over the scale eps, in nats.

    Every array has one column per eps. NaN means missing: a correlation sum that enters the value is zero.

    Attributes
    ----------
    eps : (n_eps,) array, descending
    H : (M, n_eps) array, rows m = 1..M
        Block entropies H_m = -ln C_m.
    h : (M, n_eps) array, rows m = 0..M-1
        Conditional entropies h_0 = H_1, h_m = H_{m+1} - H_m (paper, eq. for h_m^(2)).
    delta_h : (M - 1, n_eps) array, rows m = 1..M-1
        delta_h_m = h_{m-1} - h_m: what the m-th step of the past adds to the prediction.
    E : (M, n_eps) array, rows m = 1..M
        Excess entropies E_m = H_m - m h_{m-1} = sum_{k<m} k delta_h_k; E_1 = 0.
    D : (M, n_eps) array, rows m = 1..M
        Local dimension -dH_m / d ln eps: the difference quotient over the two neighbouring scales
        (over one neighbour at both ends of the grid).
    PI : (M // 2, n_eps) array, rows m = 1..M // 2
        Predictive information PI_m = 2 H_m - H_2m between m steps of past and of future.

    Examples
    --------
    >>> from quantify import correlation_sums, entropies
    >>> from quantify.systems import Henon
    >>> curves = entropies(correlation_sums(Henon().sample(2000, 1)[:, 0], tau=1, m_max=4, eps=[1.0, 0.5]))
    >>> curves
    <Entropies: m = 1..4, 2 scales from 1 down to 0.5, in nats>
    >>> curves.h.shape, curves.delta_h.shape, curves.PI.shape
    ((4, 2), (3, 2), (2, 2))
    """

    eps: Floats
    H: Floats
    h: Floats
    delta_h: Floats
    E: Floats
    D: Floats
    PI: Floats
    unit: str = "nats"

    def __repr__(self) -> str:
        return f"<Entropies: {scales_in_words(len(self.H), self.eps)}, in {self.unit}>"


def entropies(sums: CorrelationSums) -> Entropies:
    """Turn correlation sums into entropies and everything that is made of their differences.

    Parameters
    ----------
    sums : CorrelationSums
        C_m(eps); zeros mean missing and become NaN in every quantity they enter.

    Returns
    -------
    Entropies

    Examples
    --------
    Independent values have no memory: every conditional entropy is the same, and nothing predicts anything.

    >>> import numpy as np
    >>> from quantify import correlation_sums, entropies
    >>> from quantify.systems import UniformNoise
    >>> curves = entropies(correlation_sums(UniformNoise().sample(3000, 1), tau=1, m_max=3, eps=[0.2, 0.1]))
    >>> bool(np.abs(curves.delta_h).max() < 0.02)
    True
    >>> [round(float(D)) for D in curves.D[:, 0]]  # and they fill every dimension
    [1, 2, 3]
    """
    C = np.asarray(sums.C, dtype=float)
    eps = np.asarray(sums.eps, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        # 0 - ln C rather than -ln C: C = 1 gives 0, not -0.
        H = np.where(C > 0, 0.0 - np.log(C), np.nan)
    M = len(H)
    h = np.diff(H, axis=0, prepend=0.0)
    m = np.arange(1, M)[:, None]
    E = np.vstack([np.zeros_like(H[:1]), (m + 1) * H[:-1] - m * H[1:]])
    x = np.log(eps)
    i = np.arange(len(x))
    left, right = np.maximum(i - 1, 0), np.minimum(i + 1, len(x) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        D = (H[:, right] - H[:, left]) / (x[left] - x[right])
    half = M // 2
    return Entropies(
        eps=eps, H=H, h=h, delta_h=h[:-1] - h[1:], E=E, D=D, PI=2 * H[:half] - H[1 : 2 * half : 2]
    )
