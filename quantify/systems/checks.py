"""What the systems refuse, in one place."""

from __future__ import annotations

import numpy as np

from quantify.aliases import Floats
from quantify.errors import QuantifyError


def check_length(n: int) -> int:
    """A number of samples."""
    if n != int(n) or n < 1:
        raise QuantifyError(f"n = {n} samples asked for; n must be a whole number of at least 1.")
    return int(n)


def check_finite(x: Floats, what: str) -> Floats:
    """A series that did not diverge."""
    bad = np.flatnonzero(~np.isfinite(x).reshape(len(x), -1).all(axis=1))
    if len(bad):
        raise QuantifyError(
            f"{what} diverged at sample {bad[0]}; use parameters with a bounded attractor or a smaller step."
        )
    return x


def check_order(m: int, least: int, tau: int) -> None:
    """A number of values and their distance in samples."""
    if m < least:
        raise QuantifyError(f"m = {m} must be at least {least}.")
    if tau < 1:
        raise QuantifyError(f"tau = {tau} must be at least 1.")


def check_noise(noise: float) -> None:
    """A standard deviation that may be zero."""
    if not noise >= 0:
        raise QuantifyError(f"noise = {noise} is a standard deviation and cannot be negative.")


def check_sampling(step: float, sampling: float) -> int:
    """Steps of integration between two samples."""
    if not 0 < step <= sampling:
        raise QuantifyError(f"step = {step} must be above 0 and at most the sampling time.")
    substeps = round(sampling / step)
    if abs(sampling / step - substeps) > 1e-6 * substeps:
        raise QuantifyError(f"sampling = {sampling} must be a whole number of steps of {step}.")
    return substeps
