"""Nearest neighbours and neighbour counts in the max norm, exact, for all points of a set at once.

The points are sorted into the leaves of a balanced k-d tree and searched leaf against leaf: the points of one
leaf share the walk through the tree, and a leaf that cannot be ruled out is compared as a block, which the
processor does several points at a time. Every bound is computed by the same subtractions as the distances it
bounds, and rounding is monotone, so that nothing is ever lost to rounding: the results equal those of
comparing all pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from quantify.aliases import Counts, Floats

LEAF = 32
"""Most points in a leaf; measured best for 1 to 12 coordinates (8 and 16 are up to 1.5 times slower)."""


class Tree(NamedTuple):
    """Points in the leaves of a balanced binary tree; node i has children 2i and 2i+1, the leaves come last.

    Attributes
    ----------
    points : (leaves, coordinates, places) float64
        The leaves' points; places without a point hold inf.
    number : (leaves, places) int64
        Which point of the set it is; -1 where there is none.
    low, high : (2 * leaves, coordinates) float64
        Bounding box of each node.
    size : (2 * leaves,) int64
        Number of points below each node.
    """

    points: Floats
    number: Counts
    low: Floats
    high: Floats
    size: Counts


def build(columns: Floats) -> Tree:
    """The tree of a set of points, one row of `columns` per coordinate."""
    n = columns.shape[1]
    leaves = 1
    while n > LEAF * leaves:
        leaves *= 2
    return Tree(*_fill(columns, _order(columns, leaves), leaves, -(-n // leaves)))


@njit(cache=True)
def _order(columns, leaves):  # type: ignore[no-untyped-def]
    """Order of the points in which leaf l holds the places l n / leaves up to (l + 1) n / leaves."""
    dim, n = columns.shape
    order = np.arange(n)
    key = np.empty(n)
    width = leaves
    while width > 1:
        for leaf in range(0, leaves, width):
            start, end = leaf * n // leaves, (leaf + width) * n // leaves
            middle = (leaf + width // 2) * n // leaves
            # Where to split decides speed alone: a sample is enough to find the widest coordinate.
            stride = max(1, (end - start) // 32)
            widest, spread = 0, -1.0
            for d in range(dim):
                low = high = columns[d, order[start]]
                for i in range(start, end, stride):
                    x = columns[d, order[i]]
                    low, high = min(low, x), max(high, x)
                if high - low > spread:
                    widest, spread = d, high - low
            for i in range(start, end):
                key[i] = columns[widest, order[i]]
            _select(key, order, start, end - 1, middle)
        width //= 2
    return order


@njit(cache=True)
def _select(key, order, low, high, middle):  # type: ignore[no-untyped-def]
    """Quickselect: afterwards no key before `middle` is larger than one from `middle` on."""
    while low < high:
        a, b, c = key[low], key[(low + high) // 2], key[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True)
def _fill(columns, order, leaves, places):  # type: ignore[no-untyped-def]
    """Copy the points into their leaves and bound every node by a box."""
    dim, n = columns.shape
    points = np.full((leaves, dim, places), np.inf)
    index = np.full((leaves, places), -1)
    low = np.full((2 * leaves, dim), np.inf)
    high = np.full((2 * leaves, dim), -np.inf)
    size = np.zeros(2 * leaves, np.int64)
    for leaf in range(leaves):
        start, end = leaf * n // leaves, (leaf + 1) * n // leaves
        node = leaves + leaf
        size[node] = end - start
        for c in range(end - start):
            index[leaf, c] = order[start + c]
        for d in range(dim):
            for c in range(end - start):
                x = columns[d, order[start + c]]
                points[leaf, d, c] = x
                low[node, d], high[node, d] = min(low[node, d], x), max(high[node, d], x)
    for node in range(leaves - 1, 0, -1):
        size[node] = size[2 * node] + size[2 * node + 1]
        for d in range(dim):
            low[node, d] = min(low[2 * node, d], low[2 * node + 1, d])
            high[node, d] = max(high[2 * node, d], high[2 * node + 1, d])
    return points, index, low, high, size


@njit(cache=True)
def _gap(low, high, a, b):  # type: ignore[no-untyped-def]
    """Smallest possible distance between a point of node a and one of node b.

    With `low` and `high` exchanged: the largest possible distance.
    """
    gap = 0.0
    for d in range(low.shape[1]):
        gap = max(gap, low[a, d] - high[b, d], low[b, d] - high[a, d])
    return gap


@njit(cache=True)
def _distances(points, leaf, q, other, out):  # type: ignore[no-untyped-def]
    """Distances of point q of a leaf to all places of another, a whole row at a time."""
    x = points[leaf, 0, q]
    for c in range(len(out)):
        out[c] = abs(points[other, 0, c] - x)
    for d in range(1, points.shape[1]):
        x = points[leaf, d, q]
        for c in range(len(out)):
            v = abs(points[other, d, c] - x)
            out[c] = out[c] if out[c] > v else v


@njit(cache=True)
def nearest(tree: Tree, k: int, theiler: int, split: int):  # type: ignore[no-untyped-def]
    """Distance of every point to its k-th nearest neighbour, and how far the k neighbours reach in two
    subspaces.

    Points whose indices differ by `theiler` or less are no neighbours of one another. Of two points equally
    far away the one with the smaller index is the nearer. The caller makes sure that every point has k
    neighbours.

    Returns
    -------
    distance : (n,) array
    extent : (2, n) array
        Largest distance to any of the k neighbours in the first `split` coordinates alone, and in the rest;
        not computed (zero) for split = 0.
    """
    points, index, low, high, size = tree
    leaves, dim, places = points.shape
    number = index.reshape(-1)
    distance = np.empty(size[1])
    extent = np.zeros((2, size[1]))
    best = np.empty((places, k))  # distances of the k nearest so far, ascending
    who = np.empty((places, k), np.int64)  # and where they are: leaf * places + place
    to = np.empty(places)
    stack = np.empty(64, np.int64)
    for leaf in range(leaves):
        home = leaves + leaf
        best[:] = np.inf
        who[:] = 0
        farthest = np.inf
        # Home first, then the other half of the parent, of its parent, ...: near leaves make the bounds small
        # early.
        branch = home
        stack[0] = home
        top = 1
        while True:
            while top > 0:
                top -= 1
                node = stack[top]
                if _gap(low, high, node, home) > farthest:
                    continue
                if node < leaves:
                    first = 2 * node
                    if _gap(low, high, first, home) > _gap(low, high, first + 1, home):
                        first += 1
                    stack[top], stack[top + 1] = first ^ 1, first
                    top += 2
                    continue
                other = node - leaves
                for q in range(size[home]):
                    bound = best[q, k - 1]
                    gap = 0.0
                    for d in range(dim):
                        x = points[leaf, d, q]
                        gap = max(gap, low[node, d] - x, x - high[node, d])
                    if gap > bound:
                        continue
                    _distances(points, leaf, q, other, to)
                    for c in range(size[node]):
                        v = to[c]
                        if v > bound or abs(index[leaf, q] - index[other, c]) <= theiler:
                            continue
                        j = k - 1
                        i = index[other, c]
                        if v == bound and i > number[who[q, j]]:
                            continue
                        while j > 0 and (
                            best[q, j - 1] > v or (best[q, j - 1] == v and number[who[q, j - 1]] > i)
                        ):
                            best[q, j], who[q, j] = best[q, j - 1], who[q, j - 1]
                            j -= 1
                        best[q, j], who[q, j] = v, other * places + c
                        bound = best[q, k - 1]
                farthest = 0.0
                for q in range(size[home]):
                    farthest = max(farthest, best[q, k - 1])
            if branch == 1:
                break
            stack[0] = branch ^ 1
            top = 1
            branch //= 2
        for q in range(size[home]):
            i = index[leaf, q]
            distance[i] = best[q, k - 1]
            for j in range(k if split else 0):
                other, c = who[q, j] // places, who[q, j] % places
                for d in range(dim):
                    side = 0 if d < split else 1
                    extent[side, i] = max(extent[side, i], abs(points[other, d, c] - points[leaf, d, q]))
    return distance, extent


@njit(cache=True)
def count(tree: Tree, radius):  # type: ignore[no-untyped-def]
    """Number of points strictly closer than `radius[i]` to point i, itself included if the radius allows."""
    points, index, low, high, size = tree
    leaves, dim, places = points.shape
    counts = np.empty(size[1], np.int64)
    here = np.empty(places, np.int64)
    r = np.empty(places)
    to = np.empty(places)
    stack = np.empty(64, np.int64)
    for leaf in range(leaves):
        home = leaves + leaf
        largest, smallest = 0.0, np.inf
        for q in range(size[home]):
            here[q] = 0
            r[q] = radius[index[leaf, q]]
            largest, smallest = max(largest, r[q]), min(smallest, r[q])
        shared = 0  # points that are close to all points of this leaf
        stack[0] = 1
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if _gap(low, high, node, home) >= largest:
                continue
            if _gap(high, low, node, home) < smallest:
                shared += size[node]
                continue
            if node < leaves:
                stack[top], stack[top + 1] = 2 * node, 2 * node + 1
                top += 2
                continue
            for q in range(size[home]):
                gap, reach = 0.0, 0.0
                for d in range(dim):
                    below, above = points[leaf, d, q] - low[node, d], high[node, d] - points[leaf, d, q]
                    gap, reach = max(gap, -below, -above), max(reach, below, above)
                if reach < r[q]:
                    here[q] += size[node]
                elif gap < r[q]:
                    _distances(points, leaf, q, node - leaves, to)
                    close = 0
                    for c in range(places):
                        close += to[c] < r[q]
                    here[q] += close
        for q in range(size[home]):
            counts[index[leaf, q]] = here[q] + shared
    return counts


@njit(cache=True)
def count_on_line(x, radius):  # type: ignore[no-untyped-def]
    """`count` for points on a line, by sorting and halving intervals."""
    n = len(x)
    order = np.argsort(x)
    ascending = x[order]
    counts = np.empty(n, np.int64)
    for place in range(n):
        i = order[place]
        v, r = x[i], radius[i]
        low, high = -1, place  # the first point that is close lies in (low, high]
        while high - low > 1:
            middle = (low + high) // 2
            if v - ascending[middle] < r:
                high = middle
            else:
                low = middle
        first = high
        low, high = place, n  # the last one in [low, high)
        while high - low > 1:
            middle = (low + high) // 2
            if ascending[middle] - v < r:
                low = middle
            else:
                high = middle
        counts[i] = low - first + 1 if r > 0 else 0
    return counts


@njit(cache=True)
def count_in_time(columns, radius, theiler):  # type: ignore[no-untyped-def]
    """`count` among the points that are at most `theiler` away in time."""
    dim, n = columns.shape
    counts = np.zeros(n, np.int64)
    for i in range(n):
        for j in range(max(0, i - theiler), min(n, i + theiler + 1)):
            d = 0
            while d < dim and abs(columns[d, i] - columns[d, j]) < radius[i]:
                d += 1
            counts[i] += d == dim
    return counts
