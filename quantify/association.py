"""What goes with what, in intervals that hold for any distribution: shares, rank correlations.

A rank correlation is a mean over pairs that overlap. Hoeffding (1963) has shown that such a mean scatters no
more than one over half as many independent pairs as there are values would be allowed to; his bound in terms
of the relative entropy gives an interval that holds the truth at least as often as is said, whatever is
behind the values and however few they are. It is wider than one that is only right for many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quantify.errors import QuantifyError


@dataclass(frozen=True)
class Within:
    """A value, and an interval that holds the true one with at least the probability that was asked for."""

    value: float
    lo: float
    hi: float
    n: int
    """Values it was made of."""


def share(found: int, of: int, confidence: float = 0.95) -> Within:
    """A share with the exact interval of Clopper and Pearson.

    Parameters
    ----------
    found, of : int
        In how many of how many cases.
    confidence : float

    Examples
    --------
    >>> from quantify.association import share
    >>> three = share(3, 10)
    >>> round(three.lo, 4), round(three.hi, 4)
    (0.0667, 0.6525)
    """
    from scipy.stats import beta

    if not 0 <= found <= of or of < 1:
        raise QuantifyError(f"{found} of {of} is no share; 0 <= found <= of and of >= 1 are needed.")
    tail = (1 - confidence) / 2
    lo = 0.0 if found == 0 else float(beta.ppf(tail, found, of - found + 1))
    hi = 1.0 if found == of else float(beta.ppf(1 - tail, found + 1, of - found))
    return Within(found / of, lo, hi, of)


def kendall(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Within:
    """Kendall's rank correlation: share of the pairs in which x and y rise together, less the opposite.

    Pairs with a tie count as 0 (tau-a). 0 for independent values, 1 if one rises with the other.

    Examples
    --------
    >>> from quantify.association import kendall
    >>> kendall([1, 2, 3, 4], [1, 3, 2, 4]).value
    0.6666666666666666
    """
    a, b = _known(x, y)
    n = len(a)
    signs = np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
    return _bounded(float(signs.sum()) / (n * (n - 1)), n // 2, n, confidence)


def superiority(x: ArrayLike, chosen: ArrayLike, confidence: float = 0.95) -> Within:
    """How x separates the chosen from the others: P(larger) - P(smaller) over pairs of one from each.

    The rank-biserial correlation: 1 if every chosen x is larger than every other, 0 if they are alike.

    Examples
    --------
    >>> from quantify.association import superiority
    >>> superiority([1, 2, 3, 4], [False, False, True, True]).value
    1.0
    """
    a, b = _known(x, np.asarray(chosen, dtype=float))
    ones, others = a[b > 0], a[b <= 0]
    if not len(ones) or not len(others):
        raise QuantifyError("All are chosen, or none is; some of both are needed.")
    signs = np.sign(ones[:, None] - others)
    return _bounded(float(signs.mean()), min(len(ones), len(others)), len(a), confidence)


def _known(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise QuantifyError(f"Two columns of at least 2 values are needed, not {a.shape} and {b.shape}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise QuantifyError("Some values are missing or infinite; leave their rows out.")
    return a, b


def _bounded(value: float, pairs: int, n: int, confidence: float) -> Within:
    """Hoeffding's interval for a mean in [-1, 1] that is worth so many independent pairs."""
    p, limit = (1 + value) / 2, math.log(2 / (1 - confidence)) / pairs

    def end(edge: float) -> float:
        """The last q from p towards the edge whose relative entropy to p is within the limit."""
        inside, outside = p, edge
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if _entropy(p, middle) <= limit else (inside, middle)
        return 2 * inside - 1

    return Within(value, min(value, end(0.0)), max(value, end(1.0)), n)


def _entropy(p: float, q: float) -> float:
    """Relative entropy of two coins, in nats."""
    parts = [(p, q), (1 - p, 1 - q)]
    if any(a > 0 and b <= 0 for a, b in parts):
        return math.inf
    return sum(a * math.log(a / b) for a, b in parts if a > 0)
