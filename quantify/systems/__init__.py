"""Systems whose complexity is known: what every estimator is tried on first.

Each system is a small immutable value with one verb, ``sample(n, rng)``. `rng` is a `numpy.random.Generator`
or a seed; equal seeds give equal series. Many also know their entropies (`KnownEntropies`): H, h, E and PI
of m values tau apart, in the limit of small scales.

- `linear`: AutoRegressive, ARMA, FractionalNoise, VectorAutoRegressive; exact
- `hidden_markov`: HiddenMarkov, a chain of states seen through noise; exact
- `tori`: UniformNoise; QuasiPeriodic, with noise converged
- `noisy`: Noisy, any other system seen through noise; Monte Carlo with a standard error
- `maps`: Henon, Logistic, Ikeda; SkewTent, exact at small scales
- `flows`: Lorenz, Roessler

Examples
--------
>>> from quantify import systems
>>> systems.Henon().sample(1000, rng=1).shape
(1000, 2)
>>> f"{systems.AR2.PI(2):.3f}"
'7.479'
"""

from quantify.systems.flows import Lorenz, Roessler
from quantify.systems.hidden_markov import EVEN, GOLDEN_MEAN, HiddenMarkov
from quantify.systems.known import KnownEntropies
from quantify.systems.linear import (
    AR2,
    ARMA,
    AutoRegressive,
    FractionalNoise,
    GaussianProcess,
    VectorAutoRegressive,
)
from quantify.systems.maps import Henon, Ikeda, Logistic, SkewTent
from quantify.systems.noisy import Noisy
from quantify.systems.tori import QuasiPeriodic, UniformNoise

__all__ = [
    "AR2",
    "ARMA",
    "EVEN",
    "GOLDEN_MEAN",
    "AutoRegressive",
    "FractionalNoise",
    "GaussianProcess",
    "Henon",
    "HiddenMarkov",
    "Ikeda",
    "KnownEntropies",
    "Logistic",
    "Lorenz",
    "Noisy",
    "QuasiPeriodic",
    "Roessler",
    "SkewTent",
    "UniformNoise",
    "VectorAutoRegressive",
]
