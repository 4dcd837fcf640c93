"""Correlation sums C_m(eps), all embedding dimensions in one pass.

- `estimate`: `correlation_sums` itself: checks the input, chooses the scales, counts, returns the result
- `result`: `CorrelationSums`, and the `BlockCounts` that give error bars
- `pairs`: which pairs there are to count, and the series laid out for it
- `all_pairs`: counts every pair, 64 at a time (short series, and ``exact=True``)
- `choose_shares`: of a long series, how large a random share of the pairs to count at which scale
- `diagonals`, `random_pairs`, `strips`: count a share: pairs on diagonals, single pairs if the delay is long,
  and close pairs inside random classes
- `combine_shares`: shares of different size put together into one C_m(eps)
- `bins`, `bit_kernels`, `pair_histogram`: from a distance to the scales that it is within
"""

from quantify.correlation.estimate import correlation_sums
from quantify.correlation.result import BlockCounts, CorrelationSums

__all__ = ["BlockCounts", "CorrelationSums", "correlation_sums"]
