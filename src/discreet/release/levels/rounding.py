"""Counts that are whole, not negative, and still add up: for readers who need such, at the price of a bias.

From the coarsest level down, each node's whole count is divided among its children. They are rounded down, and what is
left goes to the largest remainders: every count is then next to the combined one. Where that is not possible, as
negative counts were raised to zero, the others are first moved by one amount, and none below zero, so that they add up
(the projection on a simplex).

Where two levels overlap, as the totals of the rows and of the columns of a table, the counts are made not negative with
the totals as they are, by projections on the rows and on the columns in turn, and then have a controlled rounding
(:mod:`.controlled`). Where more levels overlap, as in a cube of three columns, such a rounding need not exist: the
grand total is divided among all leaves at once, and every other total is a sum of leaves.
"""

from __future__ import annotations

import numpy as np

from ...exact.arrays import Array, IntArray
from .controlled import controlled_rounding
from .shape import Shape

#: Tables of two overlapping levels with more counts of leaves than this are rounded like those of more levels.
MOST_CONTROLLED = 100_000

#: How often counts are projected on rows and columns, at most, and on how many leaves in all.
_MOST_TURNS, _MOST_PROJECTED = 200, 4_000_000


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
    margins = _two_margins(shape) if flat.size <= MOST_CONTROLLED else None
    for measure in range(flat.shape[1]):
        column = flat[:, measure].astype(kind)
        if margins is None:
            found[live, measure] = _rounded(shape, column, unit)[live]
        else:
            rows, columns = (np.unique(nodes[live], return_inverse=True)[1] for nodes in margins)
            values = _not_negative(column[live], rows, columns)
            found[live, measure] = controlled_rounding(values, rows, columns, unit)
    return found.reshape(leaves.shape)


def _two_margins(shape: Shape) -> tuple[IntArray, IntArray] | None:
    """The two nodes that each leaf is in, where there are two overlapping levels beside the total; else None."""
    between = [k for k, columns in enumerate(shape.levels) if k and columns]
    if shape.is_tree or len(between) != 2:
        return None
    first, second = between
    return shape.node_of_leaf[first], shape.node_of_leaf[second]


def _not_negative(values: Array, rows: IntArray, columns: IntArray) -> Array:
    """Values that are not negative, with the sums of rows and columns that the given ones have.

    Sums that are negative are raised to zero at the cost of the others. Projections on the rows and on the columns in
    turn come close to all sums; where cells that cannot exist leave no way to have them, the last are those of the
    columns.
    """
    if (values >= 0).all():
        return values
    total = np.array([max(values.sum(), 0)], dtype=values.dtype)
    wanted = []
    for nodes in (rows, columns):
        sums: Array = np.zeros(int(nodes.max()) + 1, dtype=values.dtype)
        np.add.at(sums, nodes, values)
        wanted.append((nodes, _divided(sums, np.zeros(len(sums), np.int64), total, 1)))
    for _ in range(max(1, min(_MOST_TURNS, _MOST_PROJECTED // len(values)))):
        before = values
        for nodes, sums in wanted:
            values = _divided(values, nodes, sums, 1)
        if np.array_equal(values, before):
            break
    return values


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
    """Whole numbers near ``values / unit`` that add up to the total of each parent: next to them where possible."""
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
    raised = np.maximum(own, 0)
    least, most = (np.add.reduceat(one, begins) for one in (raised // unit, -(-raised // unit)))
    near = (least <= totals[group[begins]]) & (totals[group[begins]] <= most)  # next to the values adds up
    near = np.repeat(near.astype(bool), np.diff(np.append(begins, len(own))))
    number, moved = np.where(near, 1, number), np.where(near, 0, moved)
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
