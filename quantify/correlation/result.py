"""The correlation sums of a time series, and how they were obtained."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from quantify.aliases import Counts, Floats
from quantify.correlation.noise import SIZE, Noise, noise_of
from quantify.errors import QuantifyError
from quantify.gaussian import GaussianTwin


@dataclass(frozen=True)
class BlockCounts:
    """Pair counts split by the blocks of the time axis in which the two points lie.

    They tell how far chance may have moved the correlation sums, without another look at the series.

    Attributes
    ----------
    close : (B, B, m_max, n_eps) float64
        Estimated number of pairs closer than eps with one point in block a and the other in block b, a <= b;
        zero below the diagonal.
    total : (B, B) float64
        Number of all admissible pairs of that block pair.

    Examples
    --------
    >>> from quantify import correlation_sums
    >>> from quantify.systems import Henon
    >>> sums = correlation_sums(Henon().sample(2000, 1)[:, 0], tau=1, m_max=2, theiler=5, blocks=4)
    >>> sums.blocks.total.shape, bool(sums.blocks.total.sum() == sums.all_pairs)
    ((4, 4), True)
    """

    close: Floats
    total: Floats

    @cached_property
    def noise(self) -> Noise:
        """How far the correlation sums may be off by chance, and how to draw such errors."""
        return noise_of(self.close, self.total)

    def cut(self, dimensions: slice, scales: slice) -> BlockCounts:
        """Some embedding dimensions and scales alone."""
        return BlockCounts(self.close[:, :, dimensions, scales], self.total)

    def resampled(self, rng: np.random.Generator) -> Floats:
        """The correlation sums with an error drawn anew, as another series of the same length would have it.

        Returns
        -------
        (m_max, n_eps) array
        """
        C = self.close.sum(axis=(0, 1)) / self.total.sum()
        error = self.noise.errors(self.noise.draws(1, rng), 1 / SIZE)[0]
        return np.asarray(C * np.exp(error))


@dataclass(frozen=True, repr=False)
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
    twin : GaussianTwin or None
        The Gaussian process with the series' autocovariances, for limits of small scales.

    Examples
    --------
    Made by `correlation_sums` or `read_tisean`; from a table of another program:

    >>> import numpy as np
    >>> from quantify import CorrelationSums
    >>> pairs = np.array([[400, 100], [200, 20]])
    >>> examined = np.full_like(pairs, 1000)
    >>> CorrelationSums(np.array([1.0, 0.5]), pairs / examined, pairs, examined, np.zeros((2, 2)))
    <CorrelationSums: m = 1..2, 2 scales from 1 down to 0.5>
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
    blocks: BlockCounts | None = None
    twin: GaussianTwin | None = None

    def __repr__(self) -> str:
        known = [
            f"{self.n:,} samples" if self.n is not None else "",
            f"{self.d} observables" if self.d > 1 else "",
            f"tau = {self.tau}" if self.tau is not None else "",
            f"theiler = {self.theiler}" if self.theiler is not None else "",
            scales_in_words(self.m_max, self.eps),
            str(self.settings.get("mode", "")),
        ]
        return f"<CorrelationSums: {', '.join(word for word in known if word)}>"

    @property
    def m_max(self) -> int:
        """Largest embedding dimension (in time steps, not in coordinates)."""
        return len(self.C)

    @property
    def all_pairs(self) -> float:
        """Number of all admissible pairs of delay vectors, whether all were counted or only a share."""
        return float(self.blocks.total.sum() if self.blocks is not None else self.examined.max())

    def first(self, m_max: int) -> CorrelationSums:
        """The first embedding dimensions alone."""
        arrays = {name: getattr(self, name)[:m_max] for name in ("C", "pairs", "examined", "error")}
        return replace(self, **arrays, blocks=self.blocks and self.blocks.cut(slice(m_max), slice(None)))

    def every(self, step: int) -> CorrelationSums:
        """Every so many scales alone, from the largest on."""
        names = ("C", "pairs", "examined", "error")
        arrays = {name: getattr(self, name)[:, ::step] for name in names}
        blocks = self.blocks and self.blocks.cut(slice(None), slice(None, None, step))
        return replace(self, eps=self.eps[::step], **arrays, blocks=blocks)

    def resampled(self, rng: np.random.Generator) -> CorrelationSums:
        """These sums as another series of the same kind might give them (see `BlockCounts.resampled`).

        Raises
        ------
        QuantifyError
            If the sums carry no block counts.
        """
        if self.blocks is None:
            raise QuantifyError(
                "These correlation sums carry no block counts; compute them with blocks >= 2."
            )
        return replace(self, C=self.blocks.resampled(rng), blocks=None)

    def off_by(self, error: Floats) -> CorrelationSums:
        """These sums with an error of ln C, (m_max, n_eps)."""
        return replace(self, C=self.C * np.exp(error), blocks=None)


def scales_in_words(m_max: int, eps: Floats) -> str:
    """Embedding dimensions and scales of a set of curves, for a short repr."""
    return f"m = 1..{m_max}, {len(eps)} scales from {eps[0]:.3g} down to {eps[-1]:.3g}"
