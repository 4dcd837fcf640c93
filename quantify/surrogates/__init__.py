"""Surrogate series: what is left of a result when all but one property of the series is destroyed.

- `linear`: `shuffle`, `phase`, `iaaft` keep the distribution, the spectrum, or both; `match_ends`
- `cycles`: `cycle_shuffle`, the rounds of an oscillation in random order
- `pseudo_periodic`: a cycle with noise, and its `noise_radius`
- `twins`: `twin`, another course of the same dynamics
- `states`: the delay vectors that the last two walk over

Examples
--------
A chaotic map predicts itself; the linear process with the same values and spectrum hardly does.

>>> from quantify import predictive_information, surrogates
>>> from quantify.systems import Henon
>>> x = Henon().sample(1500, 1)[:, 0]
>>> two = (predictive_information(y, tau=1, m=1, k=4).PI[0, 0] for y in (x, surrogates.iaaft(x, rng=0)))
>>> chaotic, linear = two
>>> bool(chaotic > 1 > 0.2 > linear)
True
"""

from quantify.surrogates.cycles import Rounds, cycle_shuffle, find_rounds
from quantify.surrogates.linear import MatchedEnds, iaaft, match_ends, phase, shuffle
from quantify.surrogates.pseudo_periodic import noise_radius, pseudo_periodic
from quantify.surrogates.twins import find_twins, twin

__all__ = [
    "MatchedEnds",
    "Rounds",
    "cycle_shuffle",
    "find_rounds",
    "find_twins",
    "iaaft",
    "match_ends",
    "noise_radius",
    "phase",
    "pseudo_periodic",
    "shuffle",
    "twin",
]
