"""Predictive information by nearest neighbours (Kraskov, Stögbauer and Grassberger).

- `estimate`: `predictive_information` itself
- `quote`: the number to quote, with its error
- `result`: `PredictiveInformation` over m and eta, and the number `Quoted`
- `mutual_information`: the estimator
- `coordinates`: delay vectors of past and future, canonical coordinates
- `neighbours`: nearest neighbours and neighbour counts in the max norm, by a k-d tree
"""

from quantify.ksg.estimate import predictive_information
from quantify.ksg.quote import quote
from quantify.ksg.result import PredictiveInformation, Quoted

__all__ = ["PredictiveInformation", "Quoted", "predictive_information", "quote"]
