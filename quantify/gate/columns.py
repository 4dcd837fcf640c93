"""Several columns: units that differ, and columns that add nothing."""

from __future__ import annotations

import numpy as np

from quantify.aliases import Floats
from quantify.gate.finding import Finding
from quantify.inputs import rescaled

SPREADS = 100.0
SAME = 1e-6  # of a column's spread; what rounding to float32 leaves of an exact mix
ENOUGH = 10  # samples for each column
LISTED = 4  # columns in a sentence


def differing_units(spreads: Floats, names: tuple[str, ...]) -> Finding | None:
    """Columns whose spreads differ so much that one eps cannot serve all of them."""
    widest = int(spreads.argmax())
    small = np.flatnonzero(spreads < spreads[widest] / SPREADS)
    if len(small) == 0:
        return None
    listed = ", ".join(f"{names[c]!r} ({spreads[c]:.3g})" for c in small)
    return Finding(
        "units",
        f"Columns differ in their units: {listed} spread{'s' * (len(small) == 1)} less than a hundredth of "
        f"{names[widest]!r} ({spreads[widest]:.3g}). All columns share one eps, so that the narrow ones "
        "count for nothing at most scales. Divide each by its standard deviation, or give them one unit.",
        {"narrow": small.tolist(), "widest": widest, "spreads": spreads.tolist()},
    )


def redundant_columns(x: Floats, names: tuple[str, ...]) -> Finding | None:
    """Columns that are copies or linear mixes of those before them.

    What the columns before it leave of the variance of a column is 1 - r' R^-1 r, for correlations R among
    them and r with it; of a mix it is no more than rounding.
    """
    if x.shape[1] < ENOUGH * len(x):
        return None  # few samples are mixes of one another by chance
    z = np.stack([rescaled(values)[0] for values in x])  # each in its own unit
    z -= z.mean(axis=1, keepdims=True)
    size = np.sqrt(np.sum(z**2, axis=1, keepdims=True))
    z /= np.where(size > 0, size, 1.0)  # of a column in a far smaller unit nothing may be left
    # Not z @ z.T: its threads wait for one another on a busy machine.
    correlation = np.einsum("ct,kt->ck", z, z)
    kept: list[int] = []
    facts, said = [], []
    for c in range(len(x)):
        shared = correlation[kept, c]
        weights = np.linalg.lstsq(correlation[np.ix_(kept, kept)], shared, rcond=None)[0]
        if 1 - weights @ shared > SAME**2:
            kept.append(c)
            continue
        parts = [k for k, w in zip(kept, weights, strict=True) if abs(w) > 1e3 * SAME]
        facts.append({"column": c, "of": parts})
        if len(parts) == 1:
            unit = "" if np.array_equal(x[c], x[parts[0]]) else ", in another unit,"
            said.append(f"{names[c]!r} is a copy{unit} of {names[parts[0]]!r}")
        else:
            said.append(f"{names[c]!r} is a mix of " + " and ".join(repr(names[k]) for k in parts))
    if not facts:
        return None
    more = f"; and {len(said) - LISTED} more" if len(said) > LISTED else ""
    return Finding(
        "redundant columns",
        f"{len(said)} of {len(x)} columns tell nothing new: {'; '.join(said[:LISTED])}{more}. They only make "
        f"delay vectors longer; leave them out: {len(kept)} say all.",
        {"columns": facts, "rank": len(kept)},
    )
