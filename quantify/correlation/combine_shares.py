"""Put random shares of different size together into one C_m(eps).

Where two shares meet, the less sure one is corrected by regression on the surer one.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np

from quantify.aliases import Counts, Floats


class Share:
    """What a random share of the pairs says about C, for a group of dimensions and a range of scales.

    Attributes
    ----------
    counts : (B, B, group, n_eps) int64, pairs counted, by time block
    total : (group, n_eps) int64, all of them
    examined : float, pairs that the share holds, close or not
    C : (group, n_eps) float64
    variance : (group, n_eps) float64, of ln C against all pairs
    split : (B, B, group, n_eps) float64, the part of the close pairs that each pair of time blocks has
    clumping : float, how many times larger variances of differences of ln C are than with independent pairs
    """

    clumping = 1.0

    def __init__(self, counts: Counts, examined: float, all_pairs: float, excluded: float = 0.0) -> None:
        """`excluded`: pairs of the Theiler window, if how many of them `examined` lacks is left to chance."""
        share = examined / all_pairs
        self.counts = counts
        self.total = counts.sum(axis=(0, 1))
        self.examined, self.all_pairs = examined, all_pairs
        self.C = np.minimum(self.total / examined, 1.0)
        self.variance = np.zeros(self.total.shape)
        if share < 1:
            with np.errstate(divide="ignore"):
                poisson = np.maximum(1 - self.C, 1 / self.total) / self.total
            self.variance = (1 - share) * (poisson + excluded / (examined * all_pairs))

    @property
    def split(self) -> Floats:
        return np.divide(self.counts, self.total, out=np.zeros(self.counts.shape), where=self.total > 0)

    def nothing(self, n_eps: int) -> Share:
        """The same share at so many scales at which it holds no pair."""
        shape = (*self.counts.shape[:-1], n_eps)
        return Share(np.zeros(shape, np.int64), self.examined, self.all_pairs)

    def part(self, dimensions: slice, scales: slice) -> Share:
        """The same share, for some of its dimensions and scales."""
        part = copy(self)
        part.counts = self.counts[:, :, dimensions, scales]
        part.total, part.C, part.variance = (
            array[dimensions, scales] for array in (self.total, self.C, self.variance)
        )
        return part


class Linked(NamedTuple):
    """The ranges of scales of one group, put together.

    Attributes
    ----------
    C, variance : (group, n_eps) arrays
    alone : (group, n_eps) array, the variance before
    p : (n_eps,) array, the coefficient of regression for the largest dimension
    split : (B, B, group, n_eps) array, as in `Share`
    """

    C: Floats
    variance: Floats
    alone: Floats
    p: Floats
    split: Floats


def link_ranges(shares: list[Share]) -> Linked:
    """Put the ranges of scales of one group together.

    The last scale s of each range, its rarest, is also the first of the next one, where it is common and much
    surer: the range follows it by regression. Pairs are nested, so that errors of one sample have the
    covariance v_k and the coefficient p = v_k / v_s (N_s / N_k where both are rare),

        ln C_k -> ln C_k + p (ln C_s - ln own_s),   variance (1 - p) v_k + p^2 error_s^2

    which is never worse than before. So do the parts that pairs of blocks have, or else these would keep the
    noise of the range alone, and jump where ranges meet.
    """
    end = shares[-1]
    parts = [Linked(end.C, end.variance, end.variance, np.zeros(end.C.shape), end.split)]
    for part in shares[-2::-1]:
        after, split = parts[-1], part.split
        sure, least = after.C[:, :1], after.variance[:, :1]
        own, v = part.C[:, -1:], part.variance[:, -1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            follows = (own > 0) & (sure > 0) & (least <= v) & (v > 0)
            p = np.where(follows, np.minimum(part.variance / v, 1.0), 0.0)
            C = part.C * np.exp(p * np.where(follows, np.log(sure / own), 0.0))
            variance = np.where(follows, (1 - p) * part.variance + p**2 * least, part.variance)
        split += p * (after.split[..., :1] - split[..., -1:])
        parts.append(Linked(*(array[..., :-1] for array in (C, variance, part.variance, p, split))))
    whole = Linked(*(np.concatenate(columns[::-1], axis=-1) for columns in zip(*parts, strict=True)))
    return whole._replace(p=whole.p[-1])


def join_group(group: Linked, C: Floats, error: Floats, split: Floats, first: bool) -> None:
    """Enter a group into C, error and split (rows from the group's smallest dimension on, modified).

    The group's last row is the dimension s that it shares with the one of larger dimensions entered before.
    The surer of the two values of C_s is kept, and the other group follows it by regression:

        ln C_m = ln own_m + c (ln C_s - ln own_s),   variance v_m - c^2 (v_s - error_s^2),         m < s
        ln C_m = ln C_m + (ln own_s - ln C_s),       variance error_m^2 - error_s^2 + v_s,         m > s

    Pairs are nested, so that errors of one sample have the coefficient c = q = v_m / v_s. Linking took away a
    part of their common error, which leaves c = q (1 - f) / (1 - p), where f is the share of the pairs of s
    that are within the linked scale in m dimensions: p if m = s, nearly 1 if m is much smaller; f = p^q has
    both. This is never worse than the separate values and lets h_m pass smoothly from group to group. The
    parts that pairs of blocks have follow in the same way.
    """
    own, variance, alone, p, parts = group
    last = len(own) - 1
    if not first:
        with np.errstate(divide="ignore", invalid="ignore"):
            shared, before = C[last].copy(), error[last] ** 2
            both = (own[last] > 0) & (shared > 0)
            gap = np.where(both, np.log(shared / own[last]), 0.0)

            follow = both & (before <= variance[last])
            q = np.where(follow & (alone[last] > 0), alone / alone[last], 0.0)
            c = np.where(p < 1, q * (1 - p**q) / (1 - p), q**2)
            own = own * np.exp(c * gap)
            other = np.where(both, split[:, :, last] - parts[:, :, last], 0.0)[:, :, None]
            parts = parts + np.where(follow, c, 0.0) * other
            own[last] = np.where(follow, shared, own[last])
            gained = np.where(follow, variance[last] - before, 0.0)
            variance = np.maximum(variance - c**2 * gained, 0.0)

            larger = error[last + 1 :] ** 2
            lead = both & ~follow & (larger >= before)
            C[last + 1 :] *= np.exp(np.where(lead, -gap, 0.0))
            split[:, :, last + 1 :] -= np.where(lead, other, 0.0)
            # Never quite 0: a ratio of 1 in the sample is not known to be 1 among all pairs.
            smaller = np.maximum(larger - before + variance[last], 0.01 * larger)
            error[last + 1 :] = np.sqrt(np.where(lead, smaller, larger))
    C[: last + 1], error[: last + 1], split[:, :, : last + 1] = own, np.sqrt(variance), parts


def monotone(C: Floats, error: Floats) -> Floats:
    """Where shares of different size meet, their errors must not make C grow towards smaller eps or larger m.

    Nor may they carry it above 1. Values that are exact stay as they are.
    """
    C = np.minimum(C, 1.0)
    floor = np.where(error == 0, C, 0.0)
    floor = np.maximum.accumulate(np.maximum.accumulate(floor[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
    return np.asarray(np.minimum.accumulate(np.minimum.accumulate(np.maximum(C, floor), axis=1), axis=0))
