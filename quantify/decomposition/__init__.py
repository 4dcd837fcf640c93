"""The excess entropy split into state, memory and eps-dependent part.

- `algorithm`: `decompose` itself
- `result`: `Decomposition` at every scale, `ScalingRange` for the means over a range of scales
- `terms`: smooth delta_h by its fits, find the eps-dependent terms m_l..m_u and their constants
- `ranges`: runs of deterministic scales, and the window where E_core is flattest
"""

from quantify.decomposition.algorithm import decompose
from quantify.decomposition.result import Decomposition, ScalingRange

__all__ = ["Decomposition", "ScalingRange", "decompose"]
