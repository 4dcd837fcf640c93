"""The excess entropy split into state, memory and eps-dependent part.

- `algorithm`: `decompose` itself
- `result`: `Decomposition` at every scale, `ScalingRange` for the means over a range of scales
- `terms`: smooth delta_h by its fits, find the eps-dependent terms m_l..m_u and their constants
- `split`: all of that in one compiled pass, for one set of curves or for many
- `ranges`: runs of deterministic scales, and how much each plausible range counts
"""

from quantify.decomposition.algorithm import S_MIN, decompose
from quantify.decomposition.result import Decomposition, ScalingRange

__all__ = ["S_MIN", "Decomposition", "ScalingRange", "decompose"]
