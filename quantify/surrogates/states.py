"""The states that surrogates walk over: delay vectors of a series, and the series that a walk makes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quantify.aliases import Counts, Floats
from quantify.delays import choose_delay
from quantify.errors import QuantifyError
from quantify.inputs import as_series, check_whole
from quantify.ksg.coordinates import embed

FEWEST = 20


@dataclass(frozen=True)
class States:
    """Delay vectors of a series.

    Attributes
    ----------
    x : (d, N) array
        The series.
    z : (m d, n) array
        A delay vector in each column; its newest sample is that of time i + N - n.
    stand_in : int
        The vector nearest to the last one, which has no successor: a walk that comes there goes on from here.
    shape : tuple
        Of the series as it was given.
    """

    x: Floats
    z: Floats
    stand_in: int
    shape: tuple[int, ...]

    @classmethod
    def of(cls, series: ArrayLike, tau: int | None, m: int) -> States:
        """Those of a series; `tau` by default as `choose_delay` says."""
        x = as_series(series)
        tau = choose_delay(series).tau if tau is None else tau
        check_whole("tau", tau, 1)
        check_whole("m", m, 1)
        if x.shape[1] < (m - 1) * tau + FEWEST:
            raise QuantifyError(
                f"{x.shape[1]} samples are too few for m = {m}, tau = {tau}: "
                f"{(m - 1) * tau + FEWEST} are needed. Use a longer series, smaller m or tau."
            )
        z = np.ascontiguousarray(embed(x, m, tau))
        nearest = np.abs(z[:, :-1] - z[:, -1:]).max(axis=0).argmin()
        return cls(x, z, int(nearest), np.shape(series))

    def along(self, path: Counts) -> Floats:
        """The series that is seen on a walk over the states, in the shape of the original."""
        seen = self.x[:, path + self.x.shape[1] - self.z.shape[1]]
        return np.ascontiguousarray(seen.T).reshape(self.shape)
