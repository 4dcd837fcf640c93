"""Predictive information by nearest neighbours (Kraskov, Stögbauer and Grassberger).

- `estimate`: `predictive_information` itself
- `result`: `PredictiveInformation` over m and eta, and the number `Quoted` from it
- `coordinates`: delay vectors of past and future, canonical coordinates
- `neighbours`: nearest neighbours and neighbour counts in the max norm, by a k-d tree
"""

from quantify.ksg.estimate import predictive_information
from quantify.ksg.result import PredictiveInformation, Quoted

__all__ = ["PredictiveInformation", "Quoted", "predictive_information"]
