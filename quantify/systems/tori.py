"""Independent noise, and sums of sines with and without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quantify.aliases import Floats, Rng
from quantify.errors import QuantifyError
from quantify.systems.checks import check_length, check_noise, check_order
from quantify.systems.known import KnownEntropies
from quantify.systems.noisy import log_mixture, mean_density

# Stretches of different phases; their pairs are summed up.
MAX_STRETCHES = 50_000


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
        return np.random.default_rng(rng).uniform(self.low, self.high, check_length(n))


@dataclass(frozen=True)
class QuasiPeriodic(KnownEntropies):
    """A sum of sines with incommensurate frequencies: a torus with one dimension per frequency, and no
    entropy rate. One frequency makes a cycle.

    Seen through noise its entropies are finite. Given the phases, which are uniform, a stretch is Gaussian
    noise around a clean stretch: H_m is a sum over two sets of phases, of which a grid of steps not
    much wider than what the noise lets one tell gives all digits. No phase is ever known for sure, so that
    E_m and PI_m grow as ln(m) / 2 for each, without limit: one can only ask E and PI of a stated m.

    Attributes
    ----------
    frequencies : tuple of float
        Cycles per sample; by default one slow cycle and its golden-ratio companion. Of a frequency like 1/20
        one series only shows 20 phases; an irrational one shows all.
    amplitudes : tuple of float
    noise : float
        Standard deviation of the Gaussian noise that is added to each value.

    Examples
    --------
    >>> from quantify.systems import QuasiPeriodic
    >>> bool(abs(QuasiPeriodic(amplitudes=(1.0, 0.5)).sample(1000, rng=1)).max() <= 1.5)
    True
    >>> cycle = QuasiPeriodic((0.05 * 2**0.5,), (1.0,), noise=0.2)
    >>> [f"{cycle.E(m):.3f}" for m in (2, 4, 8)]
    ['0.661', '1.530', '2.353']
    """

    frequencies: tuple[float, ...] = (0.01, 0.01 * (1 + 5**0.5) / 2)
    amplitudes: tuple[float, ...] = (1.0, 1.0)
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not self.frequencies or len(self.frequencies) != len(self.amplitudes):
            raise QuantifyError(
                f"{len(self.frequencies)} frequencies and {len(self.amplitudes)} amplitudes given; "
                "there must be one amplitude for each frequency, and at least one."
            )
        check_noise(self.noise)

    def sample(self, n: int, rng: Rng) -> Floats:
        """n values; the phases are drawn at random."""
        rng = np.random.default_rng(rng)
        phases = rng.uniform(0, 2 * np.pi, len(self.frequencies))
        angles = 2 * np.pi * np.outer(np.arange(check_length(n)), self.frequencies) + phases
        x = np.sin(angles) @ np.array(self.amplitudes)
        return np.asarray(x + self.noise * rng.standard_normal(n) if self.noise else x)

    def _stretches(self, m: int, tau: int, width: float) -> Floats:
        """Clean stretches of m values for a grid of all phases, fine enough for Gaussians of this width.

        m values of slope A tell a phase to width / (A sqrt(m)). With a step of that size the trapezoidal rule
        errs by exp(-2 pi²) = 3e-9 at most.
        """
        if not self.noise:
            raise QuantifyError("Without noise the entropies are infinite; give noise > 0.")
        sizes = [max(16, int(np.ceil(2 * np.pi * abs(A) * np.sqrt(m) / width))) for A in self.amplitudes]
        if np.prod(sizes) > MAX_STRETCHES:
            raise QuantifyError(
                f"{len(sizes)} phases at noise {self.noise} and m = {m} need {np.prod(sizes):,} "
                f"stretches, of {MAX_STRETCHES:,}; use more noise, fewer frequencies or a smaller m."
            )
        x = np.zeros((1, m))
        for f, A, size in zip(self.frequencies, self.amplitudes, sizes, strict=True):
            angles = 2 * np.pi * (np.arange(size)[:, None] / size + f * tau * np.arange(m))
            x = (x[:, None] + A * np.sin(angles)).reshape(-1, m)
        return x

    def H(self, m: int, *, tau: int = 1) -> float:
        """Block entropy of order 2 of m values tau apart, -ln of the mean density."""
        check_order(m, 0, tau)
        if m == 0:
            return 0.0
        x = self._stretches(m, tau, np.sqrt(2) * self.noise)
        return float(-np.log(mean_density(x, x, self.noise)))

    def log_density(self, x: Floats, *, tau: int = 1) -> Floats:
        """ln p_m of each row of x."""
        return log_mixture(x, self._stretches(x.shape[1], tau, self.noise), self.noise)
