"""The complexity of a time series in one call, with uncertainties and caveats.

- `pipeline`: `quantify` a series, or `quantify_sums` correlation sums
- `uncertainty`: how the three uncertainties of a number are obtained
- `caveats`: the rules that say, in words, when not to trust a result
- `result`: `Quantification`, which can be read, saved and drawn
- `summary`: a result as text and as a table for notebooks
"""

from quantify.quantification.pipeline import quantify, quantify_sums
from quantify.quantification.result import Quantification
from quantify.quantification_data import Estimate

__all__ = ["Estimate", "Quantification", "quantify", "quantify_sums"]
