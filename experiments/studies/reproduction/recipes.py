"""The paper's tables as settings: how each column was made, its printed numbers, and the same from new data.

The settings are the files in experiments/paper/.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from typing import Any, Literal, get_args

import numpy as np

import quantify as q
from quantify.scaling import all_pairs

Part = Literal["lorenz", "ar2", "snake", "hexapod"]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Recipe:
    """The choices behind one column of the paper's tables.

    Attributes
    ----------
    range : (float, float)
        Scales that were averaged over.
    eps_min, s_min, kappa_max, quantile, remove_negative
        As in `quantify.decompose`.
    fit_points, fit_octaves : int or None, float or None
        Length of the short fits, on the paper's grid in points, on any grid in octaves; one of them.
    line_points, line_octaves, line_quantile
        The same for the straight pieces of E_M that give D and const.
    """

    range: tuple[float, float]
    eps_min: float
    s_min: float
    kappa_max: float
    quantile: float
    remove_negative: bool
    line_quantile: float
    fit_points: int | None = None
    fit_octaves: float | None = None
    line_points: int | None = None
    line_octaves: float | None = None


def read_part(name: str) -> dict[str, Any]:
    """The settings of a part (`PARTS`), as in its file."""
    file = resources.files("experiments.studies.reproduction") / "paper" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def recipe(column: Mapping[str, Any]) -> Recipe:
    """The recipe in a column of a settings file."""
    known = {f.name for f in fields(Recipe)}
    given = {key: value for key, value in column.items() if key in known}
    return Recipe(**given | {"range": tuple(given["range"])})


def decomposition_settings(r: Recipe) -> dict[str, Any]:
    """A recipe as the arguments of `quantify.decompose`."""
    keys = ("eps_min", "s_min", "kappa_max", "quantile", "remove_negative")
    width = {"fit_points": r.fit_points} if r.fit_points else {"fit_octaves": r.fit_octaves}
    return {key: getattr(r, key) for key in keys} | width


def evaluate(sums: q.CorrelationSums, r: Recipe) -> dict[str, float | None]:
    """One column of a table from correlation sums: D, const, E_state, E_mem, E_core and their quality.

    D and const belong to the longest straight piece of E_M that overlaps the range (the paper chose by hand
    among several; this picks the same ones on its data). They are None if there is none.
    """
    mean = q.decompose(sums, **decomposition_settings(r)).over(*r.range)
    values: dict[str, float | None] = {
        name: float(getattr(mean, name))
        for name in ("E_state", "E_mem", "E_core", "E_core_sd", "drift", "kappa", "deterministic", "no_fit")
    }
    lines = q.fit_scaling(
        sums,
        eps_min=r.eps_min,
        quantile=r.line_quantile,
        **({"fit_points": r.line_points} if r.line_points else {"fit_octaves": r.line_octaves or 2.0}),
    )
    line = longest_overlapping(lines, r.range)
    return values | {"D": line.D if line else None, "const": line.const if line else None}


def longest_overlapping(
    lines: tuple[q.ScalingFit, ...], eps_range: tuple[float, float]
) -> q.ScalingFit | None:
    """The longest straight piece that shares scales with a range."""
    lo, hi = eps_range
    touching = [line for line in lines if line.eps[0] < hi and line.eps[1] > lo]
    return max(touching, key=lambda line: line.eps[1] / line.eps[0], default=None)


def crossover(
    sums: q.CorrelationSums, *, m: int, pairs: float, plateau_m: int, plateau: tuple[float, float]
) -> float:
    """The scale eps* below which noise hides the deterministic dynamics (paper, eq. eps_ast).

        ln eps* = h_m^c - h_KS

    h_m^c is the mean of h_m + ln eps over the smallest octave with at least `pairs` close pairs in m + 1
    dimensions; h_KS the mean of h_{plateau_m} over the scales `plateau`. 0, not reached, if h_m does not grow
    as -ln eps in that octave but at less than half that rate; NaN if no scale has so many pairs.
    """
    e = q.entropies(sums)
    enough = sums.C[m] * all_pairs(sums) >= pairs
    if enough.sum() < 2:
        return math.nan
    smallest = float(sums.eps[enough].min())
    octave = (e.eps >= smallest) & (e.eps <= 2 * smallest)
    x, h = np.log(e.eps[octave]), e.h[m][octave]
    if -np.polynomial.Polynomial.fit(x, h, 1).convert().coef[1] < 0.5:
        return 0.0
    flat = (e.eps >= plateau[0]) & (e.eps <= plateau[1])
    return float(np.exp(np.mean(h + x) - np.nanmean(e.h[plateau_m][flat])))
