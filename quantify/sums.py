"""The correlation sums of a time series, and how they were obtained."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class BlockCounts:
    """Pair counts split by the blocks of the time axis in which the two points lie.

    Resampling whole blocks re-uses these counts, so that a bootstrap of the correlation sums
    never looks at the series again.

    Attributes
    ----------
    close : (B, B, m_max, n_eps) float64
        Estimated number of pairs closer than eps with one point in block a and the other in block b, a <= b;
        zero below the diagonal.
    total : (B, B) float64
        Number of all admissible pairs of that block pair.
    """

    close: Floats
    total: Floats

    def resampled(self, rng: np.random.Generator) -> Floats:
        """Correlation sums of a series put together from blocks drawn with replacement.

        A pair of two different blocks is weighted by the product of their multiplicities; pairs inside a
        block by its multiplicity alone, because two copies of one block are not independent and would put
        false coincidences at distance zero.

        Returns
        -------
        (m_max, n_eps) array
        """
        n_blocks = len(self.total)
        w = rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks)).astype(float)
        weight = np.triu(np.outer(w, w), 1) + np.diag(w)
        total = (weight * self.total).sum()
        return np.asarray(np.tensordot(weight, self.close, axes=2) / total)


@dataclass(frozen=True)
class CorrelationSums:
    """C_m(eps) for m = 1..m_max: the share of pairs of delay vectors at most eps apart.

    Attributes
    ----------
    eps : (n_eps,) float64, descending, in the unit of the series
    C : (m_max, n_eps) float64
        Row m-1 holds C_m; 0 means that no pair was found (missing).
    pairs : (m_max, n_eps) int64
        Number of close pairs that were counted.
    examined : (m_max, n_eps) int64
        Number of pairs among which they were counted: all admissible pairs in exact mode, where
        C = pairs / examined. Random shares of different size are joined, so C differs a little there.
    error : (m_max, n_eps) float64
        Relative standard error of C against counting all pairs: 0 where all pairs were counted, NaN
        where it is unknown (files of other programs).
    tau, theiler : int
        Delay, and the largest time difference |i - j| of pairs left out, in samples.
        None where the source does not tell.
    n, d : int
        Samples of the series and observables per sample (n is None where the source does not tell).
    resolution : float
        Smallest non-zero distance between two values of the series; eps below it carry no information.
    settings : dict
        Everything else that was chosen or derived, in plain values.
    blocks : BlockCounts or None
        Counts per pair of time blocks, for error bars.
    """

    eps: Floats
    C: Floats
    pairs: Counts
    examined: Counts
    error: Floats
    tau: int | None = None
    theiler: int | None = None
    n: int | None = None
    d: int = 1
    resolution: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    blocks: BlockCounts | None = field(default=None, repr=False)

    @property
    def m_max(self) -> int:
        """Largest embedding dimension (in time steps, not in coordinates)."""
        return len(self.C)

    def resampled(self, rng: np.random.Generator) -> CorrelationSums:
        """One block-bootstrap replicate of these sums (see `BlockCounts.resampled`).

        Raises
        ------
        ValueError
            If the sums carry no block counts.
        """
        if self.blocks is None:
            raise ValueError("These correlation sums carry no block counts; compute them with blocks >= 2.")
        return replace(self, C=self.blocks.resampled(rng), blocks=None)
