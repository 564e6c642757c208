"""Counts that are whole, not negative, and still add up: for readers who need such, at the price of a bias.

From the coarsest level down, each node's whole count is divided among its children: their combined counts are moved by
one amount, and none below zero, so that they add up to it (the projection on a simplex), then rounded down, and what is
left goes to the largest remainders. Where levels overlap, the grand total is divided among all leaves at once and every
other count is a sum of leaves.
"""

from __future__ import annotations

import numpy as np

from ...exact.arrays import Array, IntArray
from .shape import Shape


def rounded_leaves(shape: Shape, leaves: Array, unit: int) -> IntArray:
    """Whole leaves from combined ones in units of ``1/unit``, a column for each measure.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.questions.groups import read_domain
    >>> shape = Shape(read_domain("site=1..3", ["site"]), ((0,), ()))
    >>> rounded_leaves(shape, np.array([[126], [-34], [8]]), 10).tolist()
    [[10], [0], [0]]
    """
    live = np.flatnonzero(shape.live)
    flat = leaves.reshape(len(leaves), -1)
    found: IntArray = np.zeros(flat.shape, np.int64)
    largest = max(int(flat.max()), -int(flat.min()))
    kind = np.int64 if largest * len(flat) < 2**62 else object
    for measure in range(flat.shape[1]):
        found[live, measure] = _rounded(shape, flat[:, measure].astype(kind), unit)[live]
    return found.reshape(leaves.shape)


def _rounded(shape: Shape, leaves: Array, unit: int) -> Array:
    chain = list(range(len(shape.levels) - 1, -1, -1)) if shape.is_tree else [0]
    sums = [shape.level_sums(leaves, level) for level in chain]
    if shape.is_tree:
        above = np.maximum((2 * sums[0] + unit) // (2 * unit), 0)
        parents = shape.node_of_leaf[chain[0]]
    else:
        total = leaves.sum()
        above = np.array([max((2 * total + unit) // (2 * unit), 0)], dtype=leaves.dtype)
        parents = np.zeros(len(leaves), np.int64)
    rest = zip(chain[1:], sums[1:], strict=True) if shape.is_tree else zip(chain, sums, strict=True)
    for level, values in rest:
        nodes = shape.node_of_leaf[level]
        parent = np.zeros(shape.sizes[level], np.int64)
        parent[nodes] = parents
        live = np.flatnonzero(shape.live_nodes[level])
        whole: Array = np.zeros(shape.sizes[level], dtype=leaves.dtype)
        whole[live] = _divided(values[live], parent[live], above, unit)
        above, parents = whole, nodes
    return np.asarray(above)


def _divided(values: Array, parent: IntArray, totals: Array, unit: int) -> Array:
    """Whole numbers near ``values / unit`` that add up to the total of each parent."""
    order = np.lexsort((-values, parent))
    own, group = values[order], parent[order]
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    starts = np.repeat(begins, np.diff(np.append(begins, len(own))))
    sums = np.cumsum(own)
    sums = sums - (sums[starts] - own[starts])
    rank = (np.arange(len(own)) - starts + 1).astype(own.dtype)
    excess = sums - totals[group] * unit
    kept = own * rank > excess  # those that stay above zero are the first of each group; the largest always does
    kept |= rank == 1
    last = starts + np.add.reduceat(kept.astype(np.int64), begins)[np.searchsorted(begins, starts)] - 1
    number, moved = rank[last], excess[last]
    scaled = np.maximum(own * number - moved, 0)
    floor, remainder = scaled // (number * unit), scaled % (number * unit)
    short = totals[group[begins]] - np.add.reduceat(floor, begins)
    again = np.lexsort((-remainder, group))
    place = np.empty(len(own), np.int64)
    place[again] = np.arange(len(own)) - starts
    floor = floor + (place < np.repeat(short, np.diff(np.append(begins, len(own)))))
    found: Array = np.zeros(len(own), dtype=own.dtype)
    found[order] = floor
    return found
