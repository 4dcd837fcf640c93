"""The paper's set of figures for one behaviour: phase plot, curves over the scale, decomposition.

Each function draws one panel into the axes it is given (or into a figure of its own) and returns the axes;
`quantification` puts all of them on one page. Scales are logarithmic and in the unit of the series, all else
in nats. One colour stands for one m in every panel. matplotlib is imported when something is drawn.

- `phase_plot`: the series in its delay embedding
- `scale_curves`: one curve per m over eps
- `pages`: the decomposition, and everything on one page
- `over_time`, `side_by_side`: many behaviours, as they follow one another and side by side
- `settling`: the numbers over the embedding, the delay and the length of the series
- `published_table`: published numbers beside new ones
- `style`: colours, axes and keys

Examples
--------
>>> from quantify import plots, quantify
>>> from quantify.systems import Henon
>>> result = quantify(Henon().sample(2000, 1)[:, 0], m_max=4, replicates=0)
>>> figure = plots.quantification(result)  # then figure.savefig("henon.pdf")
"""

from quantify.plots.over_time import ProgressPoint, medians, progress
from quantify.plots.pages import decomposition, quantification
from quantify.plots.phase_plot import SECTIONS, extrema, phase
from quantify.plots.published_table import published
from quantify.plots.scale_curves import (
    BELOW,
    conditional_entropies,
    delta_h,
    dimension,
    excess_entropy,
    predictive_information,
)
from quantify.plots.settling import convergence
from quantify.plots.side_by_side import counts, groups, plane
from quantify.plots.style import (
    MEMORY,
    SCALE,
    STATE,
    STOCHASTIC,
    STYLE,
    colour,
    colour_key,
    edges,
    new_figure,
    note,
)

__all__ = [
    "BELOW",
    "MEMORY",
    "SCALE",
    "SECTIONS",
    "STATE",
    "STOCHASTIC",
    "STYLE",
    "ProgressPoint",
    "colour",
    "colour_key",
    "conditional_entropies",
    "convergence",
    "counts",
    "decomposition",
    "delta_h",
    "dimension",
    "edges",
    "excess_entropy",
    "extrema",
    "groups",
    "medians",
    "new_figure",
    "note",
    "phase",
    "plane",
    "predictive_information",
    "progress",
    "published",
    "quantification",
]
