"""Which settings decide over what a robot does: rank correlations, and a tree small enough to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quantify.aliases import Floats
from quantify.association import kendall, superiority
from quantify.plain import to_plain

LEAST = 5
"""Settings that must have an outcome, and that must not, before it is said what it hangs on."""
DEPTH = 2
FOLDS = 10
TELLS = 0.6
"""Score of a tree on unseen settings from which on its questions are told."""
Outcome = NDArray[np.bool_] | Floats


def what_matters(settings: Mapping[str, Floats], outcomes: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    """By outcome: its rank correlation with every setting, strongest first, and a tree that predicts it.

    A yes or no is correlated by `superiority`, a number by `kendall`; numbers that are missing are left out.
    """
    found = []
    for name, outcome in outcomes.items():
        known = np.isfinite(outcome.astype(float))
        y, columns = outcome[known], {key: column[known] for key, column in settings.items()}
        binary = outcome.dtype == bool
        enough = min(y.sum(), (~y).sum()) >= LEAST if binary else len(np.unique(y)) >= 2 * LEAST
        row: dict[str, Any] = {"outcome": name, "n": len(y), "yes": int(y.sum()) if binary else None}
        if enough:
            measure = superiority if binary else kendall
            ranked = {key: measure(column, y) for key, column in columns.items() if np.ptp(column)}
            order = sorted(ranked, key=lambda key: -abs(ranked[key].value))
            row |= {"correlations": {key: asdict(ranked[key]) for key in order}}
            row |= {"tree": _tree(columns, y) if binary else None}
        found.append(to_plain(row))
    return found


def _tree(columns: Mapping[str, Floats], y: NDArray[np.bool_]) -> dict[str, Any] | None:
    """A tree of few questions, its score on settings it has not seen, and the leaf with the largest share.

    `auc`: how often it ranks a setting with the outcome above one without, in ten-fold cross-validation; .5
    is guessing. None where scikit-learn is not installed.
    """
    try:
        from sklearn.model_selection import StratifiedKFold, cross_val_predict
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        return None
    names, X = list(columns), np.column_stack(list(columns.values()))
    leaf = max(LEAST, len(y) // 25)
    tree = DecisionTreeClassifier(
        max_depth=DEPTH, min_samples_leaf=leaf, class_weight="balanced", random_state=0
    )
    folds = StratifiedKFold(min(FOLDS, int(min(y.sum(), (~y).sum()))), shuffle=True, random_state=0)
    unseen = cross_val_predict(tree, X, y, cv=folds, method="predict_proba")[:, 1]
    auc = (superiority(unseen, y).value + 1) / 2
    made = tree.fit(X, y)
    leaves = made.apply(X)
    best = max(set(leaves.tolist()), key=lambda one: y[leaves == one].mean())
    inside = leaves == best
    return {
        "auc": auc,
        "questions": _way_to(made.tree_, best, names),
        "yes": int(y[inside].sum()),
        "of": int(inside.sum()),
    }


def _way_to(tree: Any, leaf: int, names: list[str]) -> list[str]:
    """The questions on the way to a leaf, as they are answered."""
    parents = {}
    for node, (left, right) in enumerate(zip(tree.children_left, tree.children_right, strict=True)):
        parents[left], parents[right] = (node, "at most"), (node, "above")
    words: list[str] = []
    while leaf in parents:
        leaf, side = parents[leaf]
        words.insert(0, f"{names[tree.feature[leaf]]} {side} {tree.threshold[leaf]:.3g}")
    return words


def sentences(found: list[dict[str, Any]]) -> list[str]:
    """What decides over each outcome, in words."""
    said = []
    for row in found:
        if "correlations" not in row:
            cases = f"{row['yes']} of {row['n']}" if row["yes"] is not None else f"{row['n']} numbers"
            said.append(f"{row['outcome']}: {cases}, too few to say what it hangs on")
            continue
        sure = {k: c for k, c in row["correlations"].items() if c["lo"] > 0 or c["hi"] < 0}
        shown = [
            f"{k} ({c['value']:+.2f}, {c['lo']:+.2f} to {c['hi']:+.2f})" for k, c in list(sure.items())[:4]
        ]
        said.append(
            f"{row['outcome']} goes with {', '.join(shown)}"
            if shown
            else f"{row['outcome']}: no single setting is shown to go with it"
        )
        if tree := row["tree"]:
            scored = f"ranks unseen settings rightly in {tree['auc']:.0%} of pairs (50% is guessing)"
            rule, base = " and ".join(tree["questions"]), row["yes"] / row["n"]
            said.append(
                f"  most often with {rule}: {tree['yes']} of {tree['of']}, of all {base:.0%}; a tree of "
                f"such questions {scored}"
                if tree["auc"] >= TELLS
                else f"  no rule of {DEPTH} questions foretells it: the best {scored}"
            )
    return said
