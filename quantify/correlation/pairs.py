"""Which pairs of delay vectors are to be counted, and how the series lies in memory for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quantify.aliases import Counts, Floats


@dataclass(frozen=True)
class PairProblem:
    """The pairs of delay vectors to count, by time block, for m = 1..m_max and each scale.

    Attributes
    ----------
    x : (d, N) float64
    tau, m_max, theiler : int
        As in `correlation_sums`.
    eps : (n_eps,) float64, strictly descending
    block_length : int
        Delay vectors per block of the time axis.
    """

    x: Floats
    tau: int
    m_max: int
    theiler: int
    eps: Floats
    block_length: int

    @property
    def n(self) -> int:
        """Number of delay vectors."""
        return self.x.shape[1] - (self.m_max - 1) * self.tau

    @property
    def n_blocks(self) -> int:
        """Number of blocks of the time axis."""
        return -(-self.n // self.block_length)

    @property
    def all_pairs(self) -> int:
        """Number of admissible pairs."""
        return (self.n - self.theiler) * (self.n - self.theiler - 1) // 2

    @property
    def excluded(self) -> int:
        """Number of pairs that the Theiler window leaves out."""
        return self.n * (self.n - 1) // 2 - self.all_pairs

    @property
    def block_pairs(self) -> Floats:
        """Number of admissible pairs with the earlier point in block a and the later in block b, (B, B)."""
        edges = np.minimum(np.arange(self.n_blocks + 1) * self.block_length, self.n)

        def ordered(i_end: int, j_end: int) -> int:
            """Pairs with i < i_end, j < j_end, j - i > theiler."""
            longest = j_end - 1 - self.theiler  # number of partners of i = 0
            terms = min(i_end, max(longest, 0))
            return terms * longest - terms * (terms - 1) // 2

        upto = np.array([[ordered(int(i), int(j)) for j in edges] for i in edges])
        return np.diff(np.diff(upto, axis=0), axis=1).astype(float)

    @cached_property
    def layout(self) -> Layout:
        """The series laid out for the neighbour search."""
        return lay_out(self.x, self.tau)

    def no_counts(self, m_max: int | None = None, n_bins: int | None = None) -> Counts:
        """A table of zeros, (B, B, m_max, n_bins)."""
        m_max = self.m_max if m_max is None else m_max
        n_bins = len(self.eps) if n_bins is None else n_bins
        return np.zeros((self.n_blocks, self.n_blocks, m_max, n_bins), np.int64)


class Layout(NamedTuple):
    """A series laid out by phase: samples that are tau apart lie side by side.

    A delay vector is then a contiguous piece of memory. Points are named by their place in this layout.

    Attributes
    ----------
    z : (tau * W, d) float64, padded with NaN
        Place p holds sample (p mod W) tau + p div W.
    order : (N,) int32, the places that sort the first observable
    """

    z: Floats
    order: NDArray[np.int32]


def lay_out(x: Floats, tau: int) -> Layout:
    """Lay out a (d, N) series so that samples that are tau apart are neighbours."""
    d, n_samples = x.shape
    width = -(-n_samples // tau)
    z = np.full((tau * width, d), np.nan)
    t = np.arange(n_samples)
    z[t % tau * width + t // tau] = x.T
    return Layout(z, np.argsort(z[:, 0])[:n_samples].astype(np.int32))


class Counted(NamedTuple):
    """Close pairs that were counted, and the correlation sums that follow.

    Attributes
    ----------
    close : (B, B, m_max, n_eps) float64, close pairs among all, by time block
    pairs, examined : (m_max, n_eps) int64
    C, error : (m_max, n_eps) float64
    """

    close: Floats
    pairs: Counts
    examined: Counts
    C: Floats
    error: Floats


class Threads(ThreadPoolExecutor):
    """Threads, and into how many tasks work is cut for them: several each, so that all end together."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.tasks = 4 * workers if workers > 1 else 1
